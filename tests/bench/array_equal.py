"""Checks on a GPU machine that arrays arrive as numpy has written them.

    python3 array_equal.py BUNDLE [DEVICE]

Rows of several types and odd sizes, through the page cache and past it; and one batch of 2.6 GB (case
G14: offsets above 32 bits), whose last sample must be right. Needs 16 GB of memory. Exits with 1 at a
difference.
"""
import os
import subprocess
import sys
import tempfile

import numpy


def rows(bundle, device, path, folder, *flags):
    """The rows that graph `array` delivers in order, and their ids."""
    subprocess.run(
        [f"{bundle}/bin/array", f"--data={path}", f"--device={device}", f"--dump_npy={folder}", "--progress=off",
         *flags], check=True, stdout=subprocess.DEVNULL)
    tensors, ids = [], []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".npy"):
            tensors.append(numpy.load(f"{folder}/{name}", mmap_mode="r"))
        else:
            with open(f"{folder}/{name}", encoding="utf-8") as lines:
                ids += [int(line.split("\t")[0]) for line in lines]
    return tensors, ids


def small(bundle, device):
    draw = numpy.random.default_rng(1)
    good = True
    for dtype, shape in (("u1", (999, 32, 33, 3)), ("f4", (777, 4099)), ("f2", (500, 70001)), ("i8", (3000,))):
        size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
        array = draw.integers(0, 256, size, numpy.uint8).view(dtype).reshape(shape)
        for access in ("PAGE_CACHE", "DIRECT"):
            with tempfile.TemporaryDirectory() as temp:
                numpy.save(f"{temp}/a.npy", array)
                tensors, ids = rows(bundle, device, f"{temp}/a.npy", f"{temp}/dump", f"--set=read_array.access={access}")
                same = (sorted(ids) == list(range(len(array)))
                        and numpy.concatenate(tensors).tobytes() == array[ids].tobytes())
                print(f"array {dtype} {shape} {access}: {'equal' if same else 'DIFFERENT'}", flush=True)
                good = good and same
    return good


def large_batch(bundle, device):
    shape = (600, 1200, 1200, 3)
    with tempfile.TemporaryDirectory() as temp:
        array = numpy.lib.format.open_memmap(f"{temp}/a.npy", "w+", "u1", shape)  # Sparse.
        for row in (0, 496, 497, 598, 599):  # Around 2^31 bytes, and the end.
            array[row] = numpy.random.default_rng(row).integers(0, 256, shape[1:], numpy.uint8)
        array.flush()
        (tensor,), ids = rows(bundle, device, f"{temp}/a.npy", f"{temp}/dump", "--set=collate.batch_size=600",
                              "--set=batches_in_flight=2", "--set=order.shuffle=NONE")
        same = ids == list(range(600)) and all(numpy.array_equal(tensor[i], array[i]) for i in range(600))
    print(f"array, one batch of {array.nbytes} bytes: {'equal' if same else 'DIFFERENT'}", flush=True)
    return same


if __name__ == "__main__":
    DEVICE = sys.argv[2] if len(sys.argv) > 2 else "cuda:0"
    RESULTS = [small(sys.argv[1], DEVICE), large_batch(sys.argv[1], DEVICE)]
    sys.exit(0 if all(RESULTS) else 1)
