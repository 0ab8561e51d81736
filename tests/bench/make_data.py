"""Makes the benchmarks' data: a class folder of photograph-like JPEGs, and CIFAR-10 in its binary layout.

    python3 make_data.py FOLDER [--photos 2000] [--cifar 50000]

Photographs: 500x375, 4:2:0, quality 92, spectra falling as in natural images (1 / f^1.1), about 110 KB each.
Fixed seeds. Needs numpy and Pillow.
"""
import argparse
import multiprocessing
import os

import numpy as np
from make_photographs import CLASSES, HEIGHT, WIDTH, picture, place

FALL = 1.1  # Less than photographs have: larger files.


def make_photo(job):
    path, seed = job
    picture(WIDTH, HEIGHT, seed, noise=0, fall=FALL).save(path, quality=92, subsampling=2)


def make_photos(folder, count):
    for i in range(min(count, CLASSES)):
        os.makedirs(f"{folder}/class{i}", exist_ok=True)
    jobs = [(place(folder, i), i) for i in range(count)]
    with multiprocessing.Pool() as pool:
        pool.map(make_photo, jobs, chunksize=16)


def make_cifar(folder, count):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(0)
    for i in range(5):
        records = rng.integers(0, 256, (count // 5, 3073), dtype=np.uint8)
        records[:, 0] %= 10
        records.tofile(f"{folder}/data_batch_{i + 1}.bin")
    records = rng.integers(0, 256, (count // 5, 3073), dtype=np.uint8)
    records[:, 0] %= 10
    records.tofile(f"{folder}/test_batch.bin")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--photos", type=int, default=2000)
    parser.add_argument("--cifar", type=int, default=50000)
    flags = parser.parse_args()
    make_photos(flags.folder + "/photos", flags.photos)
    make_cifar(flags.folder + "/cifar", flags.cifar)
