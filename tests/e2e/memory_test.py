#!/usr/bin/python3
"""What a long run takes of the machine's memory, seen from outside."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/e2e")
)
import numpy
from harness import Folder, runfile
from PIL import Image

PROGRAM = "graphs/imagenet_train"
PICTURES = 50
LARGE = (6000, 4000)
MIB = 1 << 20


def smooth(width, height, number):
    """A picture that compresses well, so that its pixels take the memory, and not its bytes."""
    x = numpy.linspace(0, 255, width)[None, :, None]
    y = numpy.linspace(0, 255, height)[:, None, None]
    return Image.fromarray(((x + y * (1, 2, 3) + number) % 256).astype("uint8"))


def peak_and_stats(data, epochs, threads, work):
    """Runs so many epochs; gives the peak of the resident bytes, and the statistics."""
    stats = os.path.join(work, "stats.json")
    program = subprocess.Popen(
        [
            runfile(PROGRAM),
            f"--data={data}",
            "--device=host",
            "--set=collate.batch_size=10",
            f"--epochs={epochs}",
            f"--threads={threads}",
            f"--stats_json={stats}",
        ],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode != 0:
        raise AssertionError(f"exit code {program.returncode}")
    with open(stats, encoding="utf-8") as document:
        return usage.ru_maxrss * 1024, json.load(document)


class MemoryTest(unittest.TestCase):
    """Case D11: one of 50 pictures is 6000 x 4000, the others are 100 x 100."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.data = os.path.join(cls.folder.name, "pictures")
        os.makedirs(os.path.join(cls.data, "class"))
        for number in range(PICTURES):
            size = LARGE if number == 17 else (100, 100)
            path = os.path.join(cls.data, "class", f"{number:02d}.jpg")
            smooth(*size, number).save(path, quality=90)

    def test_one_thread_takes_no_more_in_epoch_20_than_in_epoch_2(self):
        early, stats = peak_and_stats(self.data, 2, 1, self.folder.name)
        late, later_stats = peak_and_stats(self.data, 20, 1, self.folder.name)
        self.assertLess(late, 1.1 * early)
        self.assertEqual(later_stats["batches"], 100)
        self.assertEqual(later_stats["pinned_bytes_peak"], stats["pinned_bytes_peak"])

    def test_the_bound_is_by_thread_and_not_by_slot(self):
        one, _ = peak_and_stats(self.data, 10, 1, self.folder.name)
        two, stats = peak_and_stats(self.data, 10, 2, self.folder.name)
        self.assertGreater(stats["batches"], 0)
        # One more picture as a whole, at most.
        self.assertLess(two, one + LARGE[0] * LARGE[1] * 3 + 16 * MIB)


if __name__ == "__main__":
    unittest.main()
