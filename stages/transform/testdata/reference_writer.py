"""What the scripts of this folder share: the output file, and images to work on.

A file is a sequence of arrays, each a line "name dtype shape" and the bytes;
references.h reads it. Nothing in it comes from Penstock's C++.
"""

import numpy as np

RNG = np.random.default_rng(7)


class Writer:
    def __init__(self, path):
        self._file = open(path, "wb")

    def add(self, name, array):
        array = np.ascontiguousarray(array)
        shape = ",".join(str(extent) for extent in array.shape)
        self._file.write(f"{name} {array.dtype.name} {shape}\n".encode())
        self._file.write(array.tobytes())


def noise(height, width, channels):
    return RNG.integers(0, 256, (height, width, channels), dtype=np.uint8)


def photo(height, width):
    """Smooth colours with some noise: as unlike plain noise as a photograph is."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [
        127 + 90 * np.sin(x / 37 + k) * np.cos(y / 23 - k) + RNG.normal(0, 9, (height, width))
        for k in range(3)
    ]
    return np.clip(np.stack(planes, axis=2), 0, 255).astype(np.uint8)
