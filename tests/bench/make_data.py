"""Makes the benchmarks' data: a class folder of photograph-like JPEGs, and CIFAR-10 in its binary layout.

    python3 make_data.py FOLDER [--photos 2000] [--cifar 50000]

Photographs: 500x375, 4:2:0, quality 92, spectra falling as in natural images (1 / f^1.1), about 110 KB each.
Fixed seeds. Needs numpy and Pillow.
"""
import argparse
import multiprocessing
import os

import numpy as np
from PIL import Image

HEIGHT, WIDTH, CLASSES = 375, 500, 10


def make_photo(job):
    path, seed = job
    rng = np.random.default_rng(seed)
    fy, fx = np.fft.fftfreq(HEIGHT)[:, None], np.fft.rfftfreq(WIDTH)[None]
    frequency = np.sqrt(fx * fx + fy * fy)
    frequency[0, 0] = 1
    planes, luma = [], None
    for _ in range(3):
        spectrum = (rng.normal(size=frequency.shape) + 1j * rng.normal(size=frequency.shape)) / frequency**1.1
        plane = np.fft.irfft2(spectrum, s=(HEIGHT, WIDTH))
        plane = (plane - plane.mean()) / plane.std()
        luma = plane if luma is None else 0.9 * luma + 0.2 * plane
        planes.append(np.clip(128 + 50 * luma, 0, 255))
    Image.fromarray(np.stack(planes, -1).astype(np.uint8)).save(path, quality=92, subsampling=2)


def make_photos(folder, count):
    jobs = []
    for i in range(count):
        os.makedirs(f"{folder}/class{i % CLASSES}", exist_ok=True)
        jobs.append((f"{folder}/class{i % CLASSES}/{i:06d}.jpg", i))
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
