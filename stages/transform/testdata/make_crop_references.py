"""What the crops must give: numpy's and Pillow's pixels. Usage: MAKE OUTPUT."""

import math
import sys

import draws
import numpy as np
from PIL import Image
from portable_math import portable_exp, portable_log
from reference_writer import RNG, Writer, noise, photo


def center_crop(image, height, width):
    """torchvision's center_crop on an array."""
    have_height, have_width = image.shape[:2]
    if height > have_height or width > have_width:
        missing = max(0, height - have_height), max(0, width - have_width)
        image = np.pad(image, [(m // 2, (m + 1) // 2) for m in missing] + [(0, 0)])
        have_height, have_width = image.shape[:2]
    top = int(round((have_height - height) / 2.0))
    left = int(round((have_width - width) / 2.0))
    return image[top : top + height, left : left + width]


def write_center_crops(writer):
    for k in range(150):
        height, width, to_height, to_width = (int(n) for n in RNG.integers(1, 14, 4))
        image = noise(height, width, 3)
        case = np.array([height, width, to_height, to_width], np.int64)
        writer.add(f"center_crop/{k}/case", case)
        writer.add(f"center_crop/{k}/in", image)
        writer.add(f"center_crop/{k}/out", center_crop(image, to_height, to_width))


def pad_axis(array, before, after, mode, fill):
    """Pads axis 0. A reflection is cut out of an endless repetition: it may exceed the array."""
    size = array.shape[0]
    if mode == "constant":
        edge = np.broadcast_to(np.array(fill, np.uint8), array.shape[1:])
        return np.concatenate([[edge] * before + list(array) + [edge] * after])
    if mode == "edge":
        return np.concatenate([array[:1]] * before + [array] + [array[-1:]] * after)
    turn = array[::-1] if mode == "symmetric" else array[-2:0:-1] if size > 1 else array[:0]
    period = np.concatenate([array, turn])
    repeats = 2 + (before + after) // len(period) + 1
    start = -(-before // len(period)) * len(period) - before
    return np.concatenate([period] * (repeats + 1))[start : start + before + size + after]


def pad(image, left, top, right, bottom, mode, fill):
    image = pad_axis(image, top, bottom, mode, fill)
    return pad_axis(image.transpose(1, 0, 2), left, right, mode, fill).transpose(1, 0, 2)


def write_padded_crops(writer):
    """The whole padded image; a test cuts its crops out of it."""
    k = 0
    for mode in ("constant", "edge", "reflect", "symmetric"):
        for _ in range(40):
            height, width, to_height, to_width = (int(n) for n in RNG.integers(1, 12, 4))
            sides = [int(n) for n in RNG.integers(0, 9, 4)]
            fill = [int(n) for n in RNG.integers(0, 256, 3)]
            image = noise(height, width, 3)
            padded = pad(image, *sides, mode, fill)
            more_width = max(0, to_width - padded.shape[1])
            padded = pad(padded, more_width, 0, more_width, 0, mode, fill)
            more_height = max(0, to_height - padded.shape[0])
            padded = pad(padded, 0, more_height, 0, more_height, mode, fill)
            if mode == "constant" or min(height, width) > 8:
                check_against_numpy(image, sides, mode, fill)
            case = np.array([height, width, to_height, to_width, *sides, *fill], np.int64)
            writer.add(f"padded_crop/{k}/{mode}", case)
            writer.add(f"padded_crop/{k}/in", image)
            writer.add(f"padded_crop/{k}/padded", padded)
            k += 1


def check_against_numpy(image, sides, mode, fill):
    left, top, right, bottom = sides
    widths = ((top, bottom), (left, right))
    for c in range(3):
        kwargs = {"constant_values": fill[c]} if mode == "constant" else {}
        expected = np.pad(image[:, :, c], widths, mode, **kwargs)
        assert np.array_equal(pad(image, *sides, mode, fill)[:, :, c], expected)


def resized_crop_box(random, height, width, scale, ratio):
    """torchvision's RandomResizedCrop.get_params over Penstock's random numbers."""
    log_ratio = portable_log(ratio[0]), portable_log(ratio[1])
    for _ in range(10):
        area = float(height) * width * random.uniform(*scale)
        aspect = portable_exp(random.uniform(*log_ratio))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            y = random.uniform_int(height - h + 1)
            x = random.uniform_int(width - w + 1)
            return y, x, h, w, 0
    w, h = width, height
    if float(width) / float(height) < min(ratio):
        h = round(w / min(ratio))
    elif float(width) / float(height) > max(ratio):
        w = round(h * max(ratio))
    w, h = max(w, 1), max(h, 1)
    return (height - h) // 2, (width - w) // 2, h, w, 1


def write_resized_crops(writer):
    key = draws.random_key("random_resized_crop")
    rows = []
    for sample in range(3000):
        height, width = (int(n) for n in RNG.integers(1, 600, 2))
        if sample % 10 == 0:
            height, width = (5, 600) if sample % 20 else (2000, 3)
        random = draws.Random(3, sample % 5, sample, key)
        box = resized_crop_box(random, height, width, (0.08, 1.0), (3 / 4, 4 / 3))
        rows.append((3, sample % 5, sample, height, width, *box))
    writer.add("resized_crop/boxes", np.array(rows, np.int64))
    for k in range(12):
        image = photo(120 + 7 * k, 160 - 5 * k)
        random = draws.Random(9, 2, k, key)
        y, x, h, w, _ = resized_crop_box(random, *image.shape[:2], (0.08, 1.0), (3 / 4, 4 / 3))
        crop = Image.fromarray(image).crop((x, y, x + w, y + h))
        writer.add(f"resized_crop/{k}/in", image)
        writer.add(f"resized_crop/{k}/out", np.asarray(crop.resize((56, 48), Image.BILINEAR)))


def main():
    writer = Writer(sys.argv[1])
    write_center_crops(writer)
    write_padded_crops(writer)
    write_resized_crops(writer)


if __name__ == "__main__":
    main()
