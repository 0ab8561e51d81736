#!/usr/bin/python3 -B
"""Several devices, and several processes, share one graph's batches."""

import json
import os
import subprocess
import unittest

import make_cifar10
from harness import COMMAND, Folder, Run, assert_frugal, run, runfile

TRAIN = "graphs/cifar10_train"
RECORDS, BATCH = 81, 16  # Of each of five files.
SAMPLES = 5 * RECORDS
ALL = list(range(SAMPLES))
FLAGS = (f"--set=collate.batch_size={BATCH}", "--set=collate.tail=PARTIAL", "--epochs=2")
BATCHES = 2 * -(-SAMPLES // BATCH)


class DevicesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.data = cls.folder.name
        make_cifar10.make(cls.data, make_cifar10.TRAIN, RECORDS)

    def run_on(self, devices, *flags):
        return Run(TRAIN, f"--data={self.data}", f"--device={devices}", *FLAGS, *flags)

    def test_bytes_are_those_of_one_device(self):
        alone = self.run_on("sim")
        self.assertEqual(len(alone.batches), BATCHES)
        for devices in ("sim,sim", "host,sim,sim"):
            self.assertEqual(self.run_on(devices).digests, alone.digests, devices)
        for most in (0, 1, 2, 29, 30, 1000):
            flag = f"--max_batches={most}"
            both, one = self.run_on("sim,sim", flag), self.run_on("sim", flag)
            self.assertEqual(both.digests, one.digests, flag)
            self.assertEqual(len(both.batches), min(most, BATCHES))

    def test_statistics_are_of_all_and_of_each(self):
        uploads = "--set=cache.place=HOST"
        stats = self.run_on("sim,sim", uploads).stats
        alone = self.run_on("sim", uploads).stats
        self.assertEqual(stats["device"], "sim,sim")
        self.assertEqual(stats["samples"], 2 * SAMPLES)
        for key in ("batches", "samples", "bytes_uploaded", "host_writes_per_byte"):
            self.assertEqual(stats[key], alone[key], key)
        self.assertEqual(stats["bytes_read"], 2 * alone["bytes_read"])  # Each keeps its own copy.
        first, second = stats["devices"]
        self.assertEqual([first["device"], second["device"]], ["sim", "sim"])
        for key in ("batches", "samples", "bytes_read", "bytes_uploaded", "pinned_bytes_peak",
                    "device_bytes_peak"):
            self.assertEqual(first[key] + second[key], stats[key], key)
        self.assertEqual(stats["pinned_bytes_peak"], 2 * alone["pinned_bytes_peak"])
        # 26 batches an epoch, in turn.
        self.assertEqual((first["batches"], second["batches"]), (26, 26))
        self.assertEqual([epoch["samples"] for epoch in stats["epochs"]], [SAMPLES, SAMPLES])
        self.assertNotIn("devices", alone)
        for each in (first, second):
            assert_frugal(self, each)

    def test_two_processes_at_once(self):
        # Each with devices of its own, as one would start them by hand.
        for devices in ("sim", "sim,sim"):
            folders = [Folder(), Folder()]
            started = [
                subprocess.Popen(
                    [
                        runfile(TRAIN), f"--data={self.data}", f"--device={devices}", *FLAGS,
                        f"--rank={rank}", "--world=2", f"--dump_npy={folder.name}/npy",
                        f"--stats_json={folder.name}/stats.json",
                    ],
                    stdout=subprocess.DEVNULL,
                )
                for rank, folder in enumerate(folders)
            ]
            for process in started:
                self.assertEqual(process.wait(timeout=120), 0)
            ids, batches = [], []
            for folder in folders:
                ids += dumped_ids(f"{folder.name}/npy", epoch=1)
                with open(f"{folder.name}/stats.json", encoding="utf-8") as document:
                    batches.append(json.load(document)["batches"])
            self.assertEqual(sorted(ids), ALL)
            self.assertEqual(batches, [BATCHES // 2, BATCHES // 2])

    def test_bad_data_of_one_device_ends_the_run(self):
        folder = Folder()
        images, _ = make_cifar10.make(folder.name, make_cifar10.TRAIN, RECORDS)
        with open(os.path.join(folder.name, "data_batch_1.bin"), "r+b") as file:
            file.seek(3073 * 5)
            file.write(b"\xff")  # No class has this number.
        result = run(TRAIN, f"--data={folder.name}", "--device=sim,sim", *FLAGS, "--threads=2")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"\Apenstock: [^\n]*data_batch_1.bin[^\n]*255[^\n]*\n\Z")

    def test_wrong_devices(self):
        for devices, part in (
            ("sim,tpu", '"tpu"'),
            ("sim,", 'device ""'),
            (",", 'device ""'),
            ("", 'device ""'),
        ):
            result = run(TRAIN, f"--data={self.data}", f"--device={devices}")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(part, result.stderr)
        result = run(TRAIN, f"--data={self.data}", "--device=sim,host", "--sim_gb_per_s=1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--sim_gb_per_s", result.stderr)

    def test_plans_are_for_all(self):
        graph = runfile("graphs/cifar10_train.textproto")
        shown = run(COMMAND, "show", graph, f"--data={self.data}", "--device=sim,sim")
        self.assertIn("batches in flight on each of 2 devices", shown.stdout)
        mixed = run(COMMAND, "check", graph, f"--data={self.data}", "--device=sim,cuda:0")
        self.assertEqual(mixed.returncode, 2)
        self.assertIn("expected one kind", mixed.stderr)


def dumped_ids(folder, epoch):
    """All ids of an epoch that --dump_npy wrote."""
    ids = []
    for name in os.listdir(folder):
        if name.startswith(f"e{epoch:04d}_") and name.endswith(".ids.txt"):
            with open(os.path.join(folder, name), encoding="utf-8") as lines:
                ids += [int(line.split("\t")[0]) for line in lines]
    return ids


if __name__ == "__main__":
    unittest.main()
