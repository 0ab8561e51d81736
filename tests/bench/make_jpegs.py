"""Makes JPEG files of every kind that the decoder on the device takes, and of those that it leaves to the host.

    python3 make_jpegs.py FOLDER [--few] [--encoder=PROGRAM]

FOLDER/taken gets some 2,300 files: all samplings, 1x1 to 5000x4000 pixels, qualities 1 to 100, restart
intervals, optimised tables, 16-bit quantisation, RGB as such, bytes behind the end, no end marker; of Pillow's
encoder and of libjpeg's own interface. FOLDER/refused gets progressive, arithmetic and CMYK files, files in several
scans, unusual samplings, and PNG. FOLDER.bad gets files that nobody decodes: of 12 bits. --few: a tenth of each, and
none of more than 1,100 pixels a side. The same bytes in every run. Needs numpy, Pillow, and encode_jpegs, which lies
in the bundle's bin.
"""
import argparse
import io
import multiprocessing
import os
import random
import subprocess

import numpy as np
from PIL import Image, ImageFile

SEED = 5
SAMPLINGS = ["1x1", "2x1", "2x2", "1x2", "4x1", "gray"]
MCU = {"1x1": 8, "2x1": 16, "2x2": 16, "1x2": 8, "4x1": 32, "gray": 8}  # Pixels a row.
# Around blocks and MCUs, thin ones, and what chroma's edges do at one and two samples.
SIZES = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 5), (4, 4), (5, 3), (7, 9), (8, 8), (9, 7), (15, 17), (16, 16),
         (17, 15), (31, 33), (32, 32), (33, 31), (48, 16), (64, 64), (65, 63), (129, 257), (255, 1), (1, 255),
         (257, 3), (6, 40), (333, 500), (500, 333), (500, 375), (1021, 763)]
LARGE = [(2000, 9), (9, 2000), (2048, 2048), (4000, 3000), (5000, 4000)]
QUALITIES = [1, 2, 5, 10, 25, 50, 75, 85, 90, 95, 98, 100]
CONTENTS = ["photo", "photo", "smooth", "noise", "edges", "flat"]
TRAILING = [b"\0" * 1000, b"and then some text", b"\xff\xd9", b"\xff"]
ImageFile.MAXBLOCK = 2**24  # Else Pillow fails on small images with large headers.
PROCESSES = max(2, os.cpu_count() or 2)


def line(path, **options):
    words = [name if value is True else f"{name}={value}" for name, value in options.items() if value is not False]
    return " ".join([path, *words])


def taken(folder, sizes, draw):
    """Lines for encode_jpegs: each sampling and size in several ways."""
    lines = []
    for sampling in SAMPLINGS:
        for width, height in sizes:
            large = width * height > 2**21
            row = -(-width // MCU[sampling])
            for restart in ([0, row] if large else [0, 0, 0, 0, 0, 0, 0, 1, 7, row]):
                number = len(lines)
                content = "noise" if large and restart else draw.choice(CONTENTS)
                colour = "gray" if sampling == "gray" else "rgb" if sampling == "1x1" and number % 3 == 0 else "ycc"
                # Gray files often carry a sampling that means nothing.
                shape = draw.choice(["1x1", "2x2"]) if sampling == "gray" else sampling
                name = f"{number:05d}_{sampling}_{width}x{height}_{content}_r{restart}.jpg"
                lines.append(line(f"{folder}/{name}", width=width, height=height, content=content, seed=number,
                                  quality=draw.choice(QUALITIES[:8] if large else QUALITIES), sampling=shape,
                                  restart=restart, colour=colour, optimise=draw.random() < 0.4,
                                  wide=draw.random() < 0.3))
    return lines


def refused(folder, count, draw):
    kinds = [{"progressive": True}, {"arithmetic": True}, {"colour": "cmyk"}, {"colour": "ycck", "sampling": "2x2"},
             {"scans": True}, {"sampling": "4x2"}, {"sampling": "1x4"}, {"progressive": True, "sampling": "2x2"},
             {"arithmetic": True, "progressive": True}, {"progressive": True, "colour": "gray"}]
    lines = []
    for i in range(count):
        kind = kinds[i % len(kinds)]
        name = "_".join(key if value is True else value for key, value in kind.items())
        size = {"width": draw.randint(1, 400), "height": draw.randint(1, 400)}
        lines.append(line(f"{folder}/{i:05d}_{name}.jpg", **size, seed=i, quality=draw.choice(QUALITIES), **kind))
    return lines


def picture(width, height, rng):
    """Spectra that fall as those of photographs do."""
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
    frequency[0, 0] = 1
    planes = []
    for _ in range(3):
        spectrum = (rng.normal(size=frequency.shape) + 1j * rng.normal(size=frequency.shape)) / frequency**1.1
        plane = np.fft.irfft2(spectrum, s=(height, width))
        planes.append(np.clip(128 + 50 * (plane - plane.mean()) / (plane.std() + 1e-9), 0, 255))
    return Image.fromarray(np.stack(planes, -1).astype(np.uint8))


def by_pillow(job):
    path, number = job
    draw = random.Random(number)
    rng = np.random.default_rng(number)
    image = picture(draw.randint(2, 700), draw.randint(2, 700), rng)
    options = {"quality": draw.choice(QUALITIES), "optimize": draw.random() < 0.3}
    if draw.random() < 0.15:
        image = image.convert("L")
    else:
        options["subsampling"] = draw.choice([0, 1, 2])
    content = io.BytesIO()
    if draw.random() < 0.2:  # Rows of MCUs, or that many MCUs.
        options[draw.choice(["restart_marker_rows", "restart_marker_blocks"])] = draw.randint(1, 9)
    if draw.random() < 0.2:
        options["exif"] = b"Exif\0\0" + bytes(draw.randrange(256) for _ in range(500))
    image.save(content, "JPEG", **options)
    content = content.getvalue()
    if number % 8 == 1:
        content += draw.choice(TRAILING)
    if number % 8 == 2:
        content += content  # A second picture behind the first (case A29).
    if number % 8 == 3:
        content = content[:-2]  # No end marker.
    with open(path, "wb") as file:
        file.write(content)


def twelve_bit(source, path):
    """A baseline file that says it has 12 bits a sample (case A26)."""
    with open(source, "rb") as file:
        content = bytearray(file.read())
    content[content.index(b"\xff\xc0") + 4] = 12
    with open(path, "wb") as file:
        file.write(content)


def encode(job):
    encoder, lines = job
    subprocess.run([encoder], input="\n".join(lines), text=True, check=True)


def make(folder, few, encoder):
    draw = random.Random(SEED)
    for name in ("/taken", "/refused", ".bad"):
        os.makedirs(folder + name, exist_ok=True)
    lines = taken(f"{folder}/taken", SIZES if few else SIZES + LARGE, draw)
    lines = lines[::10] if few else lines
    lines += refused(f"{folder}/refused", 20 if few else 200, draw)
    draw.shuffle(lines)  # So that large ones are shared out.
    pillow = [(f"{folder}/taken/pillow{i:05d}.jpg", i) for i in range(60 if few else 600)]
    with multiprocessing.Pool(PROCESSES) as pool:
        encoding = pool.map_async(encode, [(encoder, lines[i::4 * PROCESSES]) for i in range(4 * PROCESSES)],
                                  chunksize=1)
        pool.map(by_pillow, pillow, chunksize=8)
        encoding.get()
    rng = np.random.default_rng(SEED)
    for i in range(4 if few else 20):
        picture(draw.randint(2, 400), draw.randint(2, 400), rng).save(f"{folder}/refused/png{i}.png")
        twelve_bit(f"{folder}/taken/pillow{8 * i:05d}.jpg", f"{folder}.bad/bits12_{i}.jpg")
    for name in ("taken", "refused"):
        print(f"{len(os.listdir(f'{folder}/{name}'))} files in {name}")


if __name__ == "__main__":
    here = os.path.dirname(os.path.realpath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--encoder", default=os.path.join(os.path.dirname(here), "bin", "encode_jpegs"))
    flags = parser.parse_args()
    make(flags.folder, flags.few, flags.encoder)
