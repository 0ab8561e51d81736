#!/usr/bin/python3 -B
"""Images decoded on the device, here a simulated one: the bytes of the host plan, and who did it.

Names like A29 are those of the collection of cases that the issue lists.
"""

import io
import os
import shutil
import unittest

import make_photos
from PIL import Image

from harness import COMMAND, Folder, Run, run, runfile

TRAIN, EVAL = "graphs/imagenet_train", "graphs/imagenet_eval"
PHOTOS, BATCH = 70, 16
FLAGS = (f"--set=collate.batch_size={BATCH}", "--set=collate.tail=PARTIAL")
DEVICE = ("--device=sim", "--set=decode_image.device=DEVICE")


def is_for_the_device(path):
    """Whether it is a JPEG in one sequential scan of one or three components."""
    with Image.open(path) as image:
        return image.format == "JPEG" and image.mode != "CMYK" and "progressive" not in image.info


class DeviceDecodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.data = os.path.join(cls.folder.name, "data")
        os.makedirs(cls.data)
        cls.paths = make_photos.make(cls.data, PHOTOS)
        # Besides what photographs are like: files that the device leaves to the host, at the
        # beginning, the end and side by side in a batch; and what stands behind a picture (A29).
        for number, kind in ((0, "PNG"), (1, "CMYK"), (30, "PNG"), (PHOTOS - 1, "CMYK")):
            with Image.open(cls.paths[number]) as image:
                image = image.convert("CMYK" if kind == "CMYK" else "RGB")
            image.save(cls.paths[number], "PNG" if kind == "PNG" else "JPEG")
        for number, more in ((10, bytes(1000) + b"text"), (11, cls.read(cls.paths[12]))):
            with open(cls.paths[number], "ab") as file:
                file.write(more)
        cls.for_device = sum(map(is_for_the_device, cls.paths))
        assert 0 < cls.for_device < PHOTOS - 6, "some of each kind, and progressive ones too"

    @staticmethod
    def read(path):
        with open(path, "rb") as file:
            return file.read()

    def both(self, program, *flags):
        """A run by each plan; their bytes must be the same."""
        host = Run(program, f"--data={self.data}", "--device=host", *FLAGS, *flags)
        device = Run(program, f"--data={self.data}", *DEVICE, *FLAGS, *flags)
        self.assertEqual(device.digests, host.digests)
        return host.stats, device.stats

    def test_training_gives_the_hosts_bytes(self):
        host, device = self.both(TRAIN, "--epochs=2")
        self.assertEqual(host["images_decoded_device"], 0)
        self.assertEqual(host["images_decoded_host"], 2 * PHOTOS)
        self.assertEqual(device["images_decoded_device"], 2 * self.for_device)
        self.assertEqual(device["images_decoded_host"], 2 * (PHOTOS - self.for_device))
        self.assertEqual(device["driver_allocations_after_warmup"], 0)

    def test_evaluation_gives_the_hosts_bytes(self):
        for flags in ((), ("--set=normalize.dtype=FLOAT16", "--threads=1")):
            _, device = self.both(EVAL, *flags)
            self.assertEqual(device["images_decoded_device"], self.for_device)

    def with_cache(self):
        """The training graph, and Cache behind its source."""
        with open(runfile(f"{TRAIN}.textproto"), encoding="utf-8") as file:
            text = file.read()
        source = "node { stage { [type.googleapis.com/penstock.ReadImageFolder]"
        line = next(line for line in text.split("\n") if line.startswith(source))
        node = "node { stage { [type.googleapis.com/penstock.Cache] { bytes: 1 } } }"
        path = os.path.join(self.folder.name, "cached.textproto")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(line, f"{line}\n{node}"))
        return path

    def test_kept_files_change_no_byte(self):
        epochs = 4
        flags = (f"--data={self.data}", *FLAGS, f"--epochs={epochs}")
        host = Run(TRAIN, *flags, "--device=host")
        total = sum(os.path.getsize(path) for path in self.paths)
        self.assertEqual(host.stats["bytes_read"], epochs * total)
        for place, part in (("HOST", 1), ("PINNED", 1), ("DEVICE", 1), ("DEVICE", 4)):
            with self.subTest(place=place, part=part):
                cache = (f"--set=cache.place={place}", f"--set=cache.bytes={2 * total // part}")
                kept = Run(COMMAND, "run", self.with_cache(), *flags, *DEVICE, *cache)
                self.assertEqual(kept.digests, host.digests)
                # Which samples are kept when they come again depends on time; not that some are.
                self.assertLess(kept.stats["bytes_read"], (epochs - 0.5) * total)

    def damaged(self, number):
        """A copy of the data in which half of a file is missing; gives it and the file's key."""
        data = os.path.join(self.folder.name, f"damaged{number}")
        shutil.copytree(self.data, data)
        key = os.path.relpath(self.paths[number], self.data)
        path = os.path.join(data, key)
        os.truncate(path, os.path.getsize(path) // 2)
        return data, key

    def test_a_damaged_file_is_named_and_batches_before_it_are_delivered(self):
        number = next(i for i in range(2 * BATCH, PHOTOS) if is_for_the_device(self.paths[i]))
        data, key = self.damaged(number)
        dump = os.path.join(self.folder.name, "dump")
        result = run(EVAL, f"--data={data}", f"--dump_npy={dump}", *DEVICE, *FLAGS)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"\Apenstock: [^\n]+\n\Z")
        self.assertIn(f"batch {number // BATCH}, sample '{key}'", result.stderr)
        self.assertIn("truncated", result.stderr)
        images = [name for name in os.listdir(dump) if name.endswith(".image.npy")]
        self.assertEqual(len(images), number // BATCH)

    def test_damage_below_the_region_is_none(self):
        # What the host does not look at, the device does not complain about: the last bytes of a
        # picture of which the middle is kept.
        folder = Folder()
        os.makedirs(os.path.join(folder.name, "class"))
        tall = Image.effect_noise((300, 900), 60).convert("RGB")
        content = io.BytesIO()
        tall.save(content, "JPEG", quality=90)
        with open(os.path.join(folder.name, "class", "0.jpg"), "wb") as file:
            file.write(content.getvalue()[: len(content.getvalue()) * 9 // 10])
        flags = (f"--data={folder.name}", *FLAGS)
        host, device = Run(EVAL, *flags, "--device=host"), Run(EVAL, *flags, *DEVICE)
        self.assertEqual(device.digests, host.digests)


if __name__ == "__main__":
    unittest.main()
