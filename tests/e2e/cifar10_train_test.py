#!/usr/bin/python3 -B
"""cifar10_train: the same bytes for any number of threads, each sample once an epoch."""

import unittest

import make_cifar10
from harness import Folder
from training import TrainingTests


class Cifar10TrainTest(TrainingTests, unittest.TestCase):
    program = "graphs/cifar10_train"
    batch = 128
    host_writes = 0.0  # All samples are kept on the device.

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.data = cls.folder.name
        _, labels = make_cifar10.make(cls.data, make_cifar10.TRAIN, 401)
        cls.labels = dict(enumerate(labels))


if __name__ == "__main__":
    unittest.main()
