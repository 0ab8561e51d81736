#!/usr/bin/python3 -B
"""imagenet_eval gives what Pillow decodes and torchvision resizes and crops, to the last bit.

torchvision's geometry is written down here from its published source
(torchvision/transforms/functional.py); its resize of a PIL image is Pillow's own. Pillow and
Penstock decode with the same libjpeg-turbo, Debian's.
"""

import os
import unittest

import numpy
from PIL import Image

import make_photos
from harness import COMMAND, Folder, Run, assert_frugal, runfile

MEAN = numpy.array([0.485, 0.456, 0.406]).reshape(3, 1, 1)
STD = numpy.array([0.229, 0.224, 0.225]).reshape(3, 1, 1)


def resize(image, edge):
    """Resize(edge): the shorter side becomes `edge`, the longer one is rounded down."""
    width, height = image.size
    short, long = sorted((width, height))
    longer = int(edge * long / short)
    size = (edge, longer) if width <= height else (longer, edge)
    return image.resize(size, Image.BILINEAR)


def center_crop(image, side):
    """CenterCrop(side) of an image that is no smaller: round() takes the even neighbour."""
    left = int(round((image.width - side) / 2.0))
    top = int(round((image.height - side) / 2.0))
    return image.crop((left, top, left + side, top + side))


def expected(path):
    """What the graph must give for a file before normalisation."""
    with Image.open(path) as image:
        return numpy.asarray(center_crop(resize(image.convert("RGB"), 256), 224))


class ImagenetEvalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.paths = make_photos.make(cls.folder.name)
        cls.classes = sorted(os.listdir(cls.folder.name), key=os.fsencode)
        cls.pixels = [expected(path) for path in cls.paths]

    def check(self, run, compare):
        """Order, keys and labels; `compare` gets each batch's images and expected pixels."""
        at = 0
        for batch in run.batches:
            paths = self.paths[at : at + len(batch.ids)]
            keys = [os.path.relpath(path, self.folder.name) for path in paths]
            self.assertEqual(batch.ids, list(range(at, at + len(paths))))
            self.assertEqual(batch.keys, keys)
            labels = [self.classes.index(key.split("/")[0]) for key in keys]
            self.assertEqual(list(batch.tensors["label"]), labels)
            compare(batch.tensors["image"], numpy.stack(self.pixels[at : at + len(paths)]))
            at += len(paths)
        self.assertEqual(at, len(self.paths))
        self.assertGreaterEqual(at, 500)
        assert_frugal(self, run.stats)

    def test_pixels_before_normalisation(self):
        run = Run(
            COMMAND,
            "run",
            runfile("tests/e2e/imagenet_eval_pixels.textproto"),
            f"--data={self.folder.name}",
            "--device=host",
        )
        self.check(run, numpy.testing.assert_array_equal)
        self.assertEqual(run.batches[0].tensors["image"].dtype, numpy.uint8)

    def test_normalised(self):
        def compare(got, pixels):
            # In double, rounded once.
            values = (pixels.transpose(0, 3, 1, 2) * (1 / 255.0) - MEAN) / STD
            numpy.testing.assert_array_equal(got, values.astype(numpy.float32))
            self.assertEqual(got.dtype, numpy.float32)

        run = Run(
            "graphs/imagenet_eval",
            f"--data={self.folder.name}",
            "--device=host",
            "--set=collate.batch_size=32",
        )
        self.check(run, compare)


if __name__ == "__main__":
    unittest.main()
