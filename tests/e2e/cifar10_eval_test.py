#!/usr/bin/python3 -B
"""cifar10_eval delivers every record of a file that Penstock had no part in, in order."""

import unittest

import numpy

import make_cifar10
from harness import Folder, Run, assert_frugal

RECORDS = 10000
MEAN = numpy.array([0.4914, 0.4822, 0.4465]).reshape(3, 1, 1)
STD = numpy.array([0.2470, 0.2435, 0.2616]).reshape(3, 1, 1)


class Cifar10EvalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.images, cls.labels = make_cifar10.make(cls.folder.name, make_cifar10.TEST, RECORDS)
        cls.runs = {
            threads: Run(
                "graphs/cifar10_eval",
                f"--data={cls.folder.name}",
                "--device=host",
                f"--threads={threads}",
            )
            for threads in (1, 2, 8)
        }

    def test_every_record_in_order(self):
        at = 0
        for batch in self.runs[2].batches:
            rows = slice(at, at + len(batch.ids))
            self.assertEqual(batch.ids, list(range(rows.start, rows.stop)))
            self.assertEqual(batch.keys, [f"test_batch.bin:{i}" for i in batch.ids])
            numpy.testing.assert_array_equal(batch.tensors["label"], self.labels[rows])
            planes = self.images[rows].transpose(0, 3, 1, 2)
            expected = (planes / 255.0 - MEAN) / STD
            self.assertEqual(batch.tensors["image"].dtype, numpy.float32)
            self.assertLessEqual(numpy.abs(batch.tensors["image"] - expected).max(), 1e-6)
            at = rows.stop
        self.assertEqual(at, RECORDS)

    def test_threads_change_no_byte(self):
        for threads in (1, 8):
            self.assertEqual(self.runs[threads].digests, self.runs[2].digests, threads)

    def test_statistics(self):
        for run in self.runs.values():
            self.assertEqual(run.stats["samples"], RECORDS)
            assert_frugal(self, run.stats)


if __name__ == "__main__":
    unittest.main()
