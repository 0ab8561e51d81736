"""Makes the folders of photographs that jpeg_rates.py measures with.

    python3 make_photographs.py FOLDER [--part=1.0]

FOLDER/plain    40,000 files of 500x375, 4:2:0, about 48 KB: 2,000 pictures, copied
FOLDER/noisy    8,000 of the same size with noise, about 80 KB
FOLDER/large    256 of 4000x3000, about 4 MB
FOLDER/refused  2,000 as in plain, but progressive, CMYK and PNG in turn
FOLDER/mixed    20,000, of which every tenth is one of `refused`

Each has ten classes. --part: so much of each. Fixed seeds. Needs numpy and Pillow, and 6 GB.
"""
import argparse
import multiprocessing
import os
import shutil

import numpy as np
from PIL import Image

CLASSES = 10
WIDTH, HEIGHT = 500, 375
FALL = 1.6  # Of a spectrum's heights with frequency.
SENSOR, NOISY = 2.4, 10.3  # Standard deviation of noise, for 48 and 80 KB a file.
COUNTS = {"plain": (2000, 40000), "noisy": (1000, 8000), "large": (32, 256), "refused": (600, 2000)}
MIXED, REFUSED_EACH = 20000, 10


def picture(width, height, seed, noise=SENSOR, fall=FALL):
    """Spectra that fall as those of photographs do, and noise on top."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
    frequency[0, 0] = 1
    planes, luma = [], None
    for _ in range(3):
        spectrum = (rng.normal(size=frequency.shape) + 1j * rng.normal(size=frequency.shape)) / frequency**fall
        plane = np.fft.irfft2(spectrum, s=(height, width))
        plane = (plane - plane.mean()) / plane.std()
        luma = plane if luma is None else 0.9 * luma + 0.2 * plane
        planes.append(128 + 50 * luma)
    pixels = np.stack(planes, -1)
    if noise:
        pixels += rng.normal(size=pixels.shape) * noise
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def large(seed):
    """A photograph of 12 megapixels: smooth in the small, with the noise of a sensor."""
    small = picture(1000, 750, seed).resize((4000, 3000), Image.BICUBIC)
    noise = np.random.default_rng(seed).normal(size=(3000, 4000, 1)) * 5
    return Image.fromarray(np.clip(np.asarray(small) + noise, 0, 255).astype(np.uint8))


def save(job):
    kind, path, seed = job
    if kind == "large":
        large(seed).save(path, "JPEG", quality=92, subsampling=2)
    elif kind != "refused":
        picture(WIDTH, HEIGHT, seed, NOISY if kind == "noisy" else SENSOR).save(path, "JPEG", quality=92, subsampling=2)
    elif seed % 3 == 0:
        picture(WIDTH, HEIGHT, seed).save(path, "JPEG", quality=92, subsampling=2, progressive=True)
    elif seed % 3 == 1:
        picture(WIDTH, HEIGHT, seed).convert("CMYK").save(path, "JPEG", quality=92)
    else:
        picture(WIDTH, HEIGHT, seed).save(path, "PNG", compress_level=3)


def place(folder, number):
    """Where a folder's file lies; its name says nothing of its content."""
    return f"{folder}/class{number % CLASSES}/{number:06d}.jpg"


def copy(job):
    shutil.copyfile(*job)


def make(folder, part):
    jobs, copies = [], []
    for name in [*COUNTS, "mixed"]:
        for i in range(CLASSES):
            os.makedirs(f"{folder}/{name}/class{i}", exist_ok=True)
    counts = {name: [max(CLASSES, int(count * part)) for count in both] for name, both in COUNTS.items()}
    for name, (pictures, files) in counts.items():
        root = f"{folder}/{name}"
        jobs += [(name, place(root, i), i) for i in range(min(pictures, files))]
        copies += [(place(root, i % pictures), place(root, i)) for i in range(pictures, files)]
    for i in range(int(MIXED * part)):
        name = "plain" if i % REFUSED_EACH else "refused"
        source = (i if i % REFUSED_EACH else i // REFUSED_EACH) % counts[name][0]
        copies.append((place(f"{folder}/{name}", source), place(f"{folder}/mixed", i)))
    jobs.sort(key=lambda job: job[0] != "large")  # They take longest.
    with multiprocessing.Pool() as pool:
        pool.map(save, jobs, chunksize=4)
        pool.map(copy, copies, chunksize=64)
    for name in [*COUNTS, "mixed"]:
        sizes = [entry.stat().st_size for i in range(CLASSES) for entry in os.scandir(f"{folder}/{name}/class{i}")]
        print(f"{name}: {len(sizes)} files, {sum(sizes) / len(sizes) / 1e3:.1f} KB each", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--part", type=float, default=1.0)
    flags = parser.parse_args()
    make(flags.folder, flags.part)
