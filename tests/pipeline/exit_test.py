#!/usr/bin/python3
"""A pipeline in a static, and a program that ends: exit code 0 and not a word."""

import os
import subprocess
import unittest

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])


def runfile(path):
    """The place of a file of this workspace."""
    return os.path.join(RUNFILES, path)


class ExitTest(unittest.TestCase):
    """Runs exit_probe."""

    def leave(self, way, device):
        """What the probe prints that leaves in this way."""
        result = subprocess.run(
            [
                runfile("tests/pipeline/exit_probe"),
                runfile("graphs/cifar10_train.textproto"),
                runfile("tools/data/cifar10_sample"),
                device,
                way,
            ],
            capture_output=True,
            text=True,
            timeout=60,
            # A child lets go of what is its parent's, which a sanitizer calls a leak.
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"} if way == "fork" else None,
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""), (way, device))
        return result.stdout

    def test_fifty_times(self):
        """Case D22."""
        for i in range(50):
            way = ("main", "worker")[i % 2]
            self.assertEqual(self.leave(way, ("host", "sim")[i // 2 % 2]), "3 batches\n")

    def test_a_forked_child(self):
        """Case D19, with a child that ends its statics too."""
        for _ in range(10):
            self.assertEqual(self.leave("fork", "host"), "3 batches\n3 batches\n")


if __name__ == "__main__":
    unittest.main()
