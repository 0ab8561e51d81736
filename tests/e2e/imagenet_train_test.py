#!/usr/bin/python3 -B
"""imagenet_train: the same bytes for any number of threads, each sample once an epoch."""

import os
import unittest

import make_photos
from harness import Folder
from training import TrainingTests


class ImagenetTrainTest(TrainingTests, unittest.TestCase):
    program = "graphs/imagenet_train"
    batch = 24

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.data = cls.folder.name
        folders = [os.path.dirname(path) for path in make_photos.make(cls.data)]
        classes = sorted(set(folders), key=os.fsencode)
        cls.labels = {i: classes.index(folder) for i, folder in enumerate(folders)}


if __name__ == "__main__":
    unittest.main()
