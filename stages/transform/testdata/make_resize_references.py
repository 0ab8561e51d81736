"""What Resize must give: Pillow's pixels, torchvision's sizes. Usage: MAKE OUTPUT."""

import sys

import numpy as np
from PIL import Image

from reference_writer import RNG, Writer, noise, photo

FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "nearest": Image.NEAREST}


def pillow_resize(image, height, width, interpolation):
    planes = [
        np.asarray(Image.fromarray(image[:, :, c]).resize((width, height), interpolation))
        for c in range(image.shape[2])
    ]
    return np.stack(planes, axis=2)


# height, width, to height, to width
RESIZES = [
    (1, 1, 1, 1), (1, 1, 7, 5), (5, 7, 1, 1), (2, 2, 3, 3), (3, 3, 2, 2),
    (375, 500, 224, 298), (375, 500, 256, 341), (500, 333, 384, 256), (300, 280, 224, 224),
    (941, 3, 10, 3), (3, 941, 3, 10), (941, 60, 10, 10), (2000, 4, 100, 1), (900, 1, 10, 1),
    (1, 900, 1, 10), (32, 32, 224, 224), (8, 8, 137, 3), (64, 48, 64, 20), (64, 48, 30, 48),
    (48, 64, 48, 64), (17, 9, 9, 17), (9, 8, 8, 9), (10, 10, 20, 20), (20, 20, 10, 10),
    (7, 300, 14, 11), (255, 1, 1, 255), (100, 99, 99, 100),
]  # fmt: skip


def write_resizes(writer):
    cases = [(*sizes, 3) for sizes in RESIZES]
    for _ in range(150):
        sizes = [int(n) for n in RNG.integers(1, 90, 4)]
        cases.append((*sizes, int(RNG.integers(1, 5))))
    for k, case in enumerate(cases):
        height, width, to_height, to_width, channels = case
        image = noise(height, width, channels) if k % 2 else photo(height, width)
        image = image[:, :, :channels] if image.shape[2] >= channels else noise(height, width, 4)
        writer.add(f"resize/{k}/case", np.array(case, np.int64))
        writer.add(f"resize/{k}/in", image)
        for name, interpolation in FILTERS.items():
            result = pillow_resize(image, to_height, to_width, interpolation)
            writer.add(f"resize/{k}/{name}", result)
        writer.add(f"resize/{k}/two_taps", two_tap_resize(image, to_height, to_width))


def write_checkerboard(writer):
    board = (np.indices((256, 256)).sum(axis=0) % 2 * 255).astype(np.uint8)[:, :, None]
    writer.add("checkerboard/in", board)
    writer.add("checkerboard/bilinear", pillow_resize(board, 32, 32, Image.BILINEAR))


def two_tap_axis(array, size):
    """Linear between pixel centres along axis 0, with weights of 22 bits, edges repeated."""
    old = array.shape[0]
    if old == size:
        return array
    centre = (np.arange(size) + 0.5) * (old / size) - 0.5
    first = np.floor(centre)
    share = centre - first
    first = first.astype(np.int64)
    weights = [np.floor(w * (1 << 22) + 0.5).astype(np.int64) for w in (1 - share, share)]
    taps = [array[np.clip(first + t, 0, old - 1)].astype(np.int64) for t in range(2)]
    shape = (-1,) + (1,) * (array.ndim - 1)
    total = sum(tap * weight.reshape(shape) for tap, weight in zip(taps, weights))
    return np.clip((total + (1 << 21)) >> 22, 0, 255).astype(np.uint8)


def two_tap_resize(image, height, width):
    """What antialias: false means, as torchvision documents it."""
    across = two_tap_axis(image.transpose(1, 0, 2), width).transpose(1, 0, 2)
    return two_tap_axis(across, height)


def write_nearest(writer):
    """Every small pair of lengths: the index that Pillow picks."""
    rows = []
    for old in range(1, 65):
        row = Image.fromarray(np.arange(old, dtype=np.uint8)[None, :])
        for new in range(1, 65):
            picked = np.zeros(66, np.uint8)
            picked[:2] = old, new
            picked[2 : 2 + new] = np.asarray(row.resize((new, 1), Image.NEAREST))[0]
            rows.append(picked)
    writer.add("nearest", np.array(rows))


def torchvision_size(height, width, size, max_size):
    """The arithmetic of torchvision's _compute_resized_output_size (size None: the longer edge)."""
    short, long = (width, height) if width <= height else (height, width)
    if size is None:
        new_short, new_long = int(max_size * short / long), max_size
    else:
        new_short, new_long = size, int(size * long / short)
        if max_size is not None and new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def write_sizes(writer):
    rows = []
    for _ in range(4000):
        height, width = (int(n) for n in RNG.integers(1, 5000, 2))
        size = int(RNG.integers(1, 600))
        kind = int(RNG.integers(0, 3))
        max_size = size + int(RNG.integers(1, 300))
        if kind == 0:
            out = torchvision_size(height, width, size, None)
        elif kind == 1:
            out = torchvision_size(height, width, None, size)
        else:
            out = torchvision_size(height, width, size, max_size)
        rows.append((kind, height, width, size, max_size, *(max(1, n) for n in out)))
    writer.add("sizes", np.array(rows, np.int64))


def main():
    writer = Writer(sys.argv[1])
    write_resizes(writer)
    write_checkerboard(writer)
    write_nearest(writer)
    write_sizes(writer)


if __name__ == "__main__":
    main()
