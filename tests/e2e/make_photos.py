#!/usr/bin/python3
"""Cuts a class folder of JPEGs from the photographs of Debian's package mate-backgrounds.

    make_photos.py FOLDER [COUNT]

Each photograph is a class. As in a real data set, sizes, shapes and qualities vary, some files are
progressive, some are gray, and not all extensions are alike.
"""

import glob
import os
import random
import sys

from PIL import Image

PHOTOGRAPHS = "/usr/share/backgrounds/mate/nature/*.jpg"
SUBSAMPLING = {"4:4:4": 0, "4:2:0": 2}  # Pillow's numbers.


def cut(photograph, number, draw):
    """A random rectangle of 300 to 640 pixels a side, every third one upright."""
    short, long = sorted(draw.randint(300, 640) for _ in range(2))
    width, height = (short, long) if number % 3 == 0 else (long, short)
    left = draw.randint(0, photograph.width - width)
    top = draw.randint(0, photograph.height - height)
    image = photograph.crop((left, top, left + width, top + height))
    return image.convert("L") if number % 20 == 7 else image


def make(folder, count=520, seed=1):
    """Writes `count` files, evenly over the classes; gives their paths in byte order."""
    draw = random.Random(seed)
    photographs = sorted(glob.glob(PHOTOGRAPHS))
    assert photographs, f"{PHOTOGRAPHS}: nothing there; apt-get install mate-backgrounds"
    paths = []
    for i, path in enumerate(photographs):
        name = os.path.splitext(os.path.basename(path))[0]
        os.makedirs(os.path.join(folder, name))
        with Image.open(path) as photograph:
            photograph.load()
        for number in range(count * i // len(photographs), count * (i + 1) // len(photographs)):
            extension = "jpg" if number % 5 == 0 else "JPEG"
            paths.append(os.path.join(folder, name, f"{number:05d}.{extension}"))
            cut(photograph, number, draw).save(
                paths[-1],
                "JPEG",
                quality=draw.randint(85, 95),
                subsampling=draw.choice(list(SUBSAMPLING.values())),
                progressive=number % 16 == 3,
            )
    return sorted(paths, key=os.fsencode)


if __name__ == "__main__":
    make(sys.argv[1], *map(int, sys.argv[2:]))
