#!/usr/bin/python3
"""Writes data sets in CIFAR-10's binary format, with nothing of Penstock in it.

    make_cifar10.py FOLDER RECORDS_PER_FILE

The format is that of https://www.cs.toronto.edu/~kriz/cifar.html: a label byte, then 1024 red, 1024
green and 1024 blue bytes, row by row.
"""

import os
import sys

import numpy

TEST = ["test_batch.bin"]
TRAIN = [f"data_batch_{i}.bin" for i in range(1, 6)]


def records(count, seed):
    """Random images [count, 32, 32, 3] and labels [count]."""
    generator = numpy.random.default_rng(seed)
    images = generator.integers(0, 256, (count, 32, 32, 3), numpy.uint8)
    return images, generator.integers(0, 10, count, numpy.uint8)


def write(path, images, labels):
    """Writes one file of records."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), 3072)
    numpy.concatenate([labels[:, None], planes], axis=1).tofile(path)


def make(folder, names, count, seed=10):
    """Writes `names` of `count` records each; gives all images and labels in file order."""
    parts = []
    for i, name in enumerate(names):
        parts.append(records(count, seed + i))
        write(os.path.join(folder, name), *parts[-1])
    return tuple(numpy.concatenate(part) for part in zip(*parts))


if __name__ == "__main__":
    make(sys.argv[1], TRAIN + TEST, int(sys.argv[2]))
