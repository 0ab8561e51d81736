#!/usr/bin/python3
"""Case D22: a pipeline in a static, and a program that ends: exit code 0 and not a word, 50 times."""

import os
import subprocess
import unittest

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])


def runfile(path):
    """The place of a file of this workspace."""
    return os.path.join(RUNFILES, path)


class ExitTest(unittest.TestCase):
    """Runs exit_probe."""

    def test_fifty_times(self):
        for i in range(50):
            way = ("main", "worker")[i % 2]
            result = subprocess.run(
                [
                    runfile("tests/pipeline/exit_probe"),
                    runfile("graphs/cifar10_train.textproto"),
                    runfile("tools/data/cifar10_sample"),
                    ("host", "sim")[i // 2 % 2],
                    way,
                ],
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual((result.returncode, result.stderr), (0, ""), way)
            self.assertEqual(result.stdout, "3 batches\n")


if __name__ == "__main__":
    unittest.main()
