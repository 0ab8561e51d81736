#!/usr/bin/python3 -B
"""Copies run while the consumer computes: with both equally long, a run takes as long as one.

Measured on a simulated device, whose clock is real time, so other load on the machine can only make
a run longer: of three runs one has to be good enough.
"""

import io
import os
import re
import subprocess
import unittest

from PIL import Image

from harness import COMMAND, Folder, Run, runfile

GB_PER_S = 1
EPOCHS, BATCHES, BATCH = 2, 200, 3
SIDE = 1024
BYTES = BATCH * SIDE * SIDE * 3
COPY_S = BYTES / (GB_PER_S * 1e9)
TOTAL_S = BATCHES * COPY_S  # Of copies, and of compute.
MOST_S = 1.1 * TOTAL_S
LEAST_OVERLAP = 0.9
ATTEMPTS = 3


class OverlapTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A gray JPEG of one colour: 3 MB to upload, and of all data the quickest to decode, since
        # the test is not about the host's work.
        cls.folder = Folder()
        content = io.BytesIO()
        Image.new("L", (SIDE, SIDE), 200).save(content, "JPEG")
        os.makedirs(os.path.join(cls.folder.name, "gray"))
        for number in range(BATCHES // EPOCHS * BATCH):
            with open(os.path.join(cls.folder.name, f"gray/{number:04d}.jpg"), "wb") as file:
                file.write(content.getvalue())
        for _ in range(ATTEMPTS):
            cls.stats = cls.measure()
            if cls.stats["seconds"] < MOST_S and cls.stats["overlap_fraction"] > LEAST_OVERLAP:
                break

    @classmethod
    def measure(cls):
        """The statistics of one run."""
        return Run(
            COMMAND,
            "run",
            runfile("tests/e2e/overlap.textproto"),
            f"--data={cls.folder.name}",
            f"--epochs={EPOCHS}",
            "--device=sim",
            f"--sim_gb_per_s={GB_PER_S}",
            f"--compute_ms={COPY_S * 1e3}",
            f"--set=collate.batch_size={BATCH}",
            dump=False,
        ).stats

    def test_a_run_takes_as_long_as_the_longer_of_both(self):
        self.assertEqual(self.stats["batches"], BATCHES)
        self.assertGreaterEqual(self.stats["bytes_uploaded"], BATCHES * BYTES)
        self.assertGreaterEqual(self.stats["seconds"], TOTAL_S)
        self.assertLess(self.stats["seconds"], MOST_S, self.stats["verdict"])
        self.assertGreater(self.stats["overlap_fraction"], LEAST_OVERLAP)

    def test_one_stream_without_overlap_takes_twice_that(self):
        output = subprocess.check_output(
            [runfile("tests/e2e/one_stream"), str(GB_PER_S), str(BYTES), str(BATCHES)], text=True
        )
        seconds = float(re.fullmatch(r"(\S+) s\n", output).group(1))
        self.assertGreaterEqual(seconds, 2 * TOTAL_S)
        self.assertLess(self.stats["seconds"], 0.6 * seconds)


if __name__ == "__main__":
    unittest.main()
