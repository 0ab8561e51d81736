#!/usr/bin/python3 -B
"""A CUDA driver that shows no device is an error that says so; no driver at all is a warning.

The argument says whether this build has CUDA.
"""

import ctypes
import sys
import unittest

import make_cifar10
from harness import Folder, run, runfile

FAKE_DRIVER = {"LD_LIBRARY_PATH": runfile("tests/e2e/fake_driver")}
NO_DEVICE = {**FAKE_DRIVER, "FAKE_CUDA_INIT": "100"}
BUILT_WITH_CUDA = True


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


class NoDeviceTest(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        make_cifar10.make(self.folder.name, make_cifar10.TEST, 20)

    def run_on(self, device, **environment):
        data = f"--data={self.folder.name}"
        return run("graphs/cifar10_eval", data, f"--device={device}", **environment)

    def assert_failed(self, result, *parts):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"\Apenstock: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertNotIn("samples", result.stdout, "it ran all the same")

    def test_driver_without_device(self):
        why = ("shows no usable device", "CUDA_ERROR_NO_DEVICE", "--device=host")
        self.assert_failed(self.run_on("auto", **NO_DEVICE), *why)
        self.assert_failed(self.run_on("auto", **FAKE_DRIVER), "counts 0 devices")
        if not BUILT_WITH_CUDA:
            why = ("built without CUDA",)
        self.assert_failed(self.run_on("cuda:0", **NO_DEVICE), *why)

    def test_driver_without_device_does_not_disturb_the_host(self):
        result = self.run_on("host", **NO_DEVICE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    @unittest.skipIf(has_driver(), "there is a driver")
    def test_no_driver(self):
        result = self.run_on("auto")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"\Apenstock: [^\n]*no CUDA driver[^\n]+CPU[^\n]*\n\Z")
        self.assertIn("20 samples", result.stdout)
        why = "no CUDA driver" if BUILT_WITH_CUDA else "built without CUDA"
        self.assert_failed(self.run_on("cuda:0"), why)


if __name__ == "__main__":
    BUILT_WITH_CUDA = sys.argv.pop() == "cuda"
    unittest.main()
