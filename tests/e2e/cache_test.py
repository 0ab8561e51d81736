#!/usr/bin/python3 -B
"""Cache: the same order, augmentation and bytes in every place, whole or in part; and less work."""

import os
import re
import unittest

import make_cifar10
from harness import COMMAND, Folder, Run, run, runfile

RECORDS = 5 * 401
ROW = 3 * 32 * 32
GRAPH = "tests/e2e/cache.textproto"
EPOCHS = 2
NODE = re.compile(r"node \{ stage \{ \[type\.googleapis\.com/penstock\.Cache\].*\n")


class CacheTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.data = os.path.join(cls.folder.name, "data")
        os.mkdir(cls.data)
        make_cifar10.make(cls.data, make_cifar10.TRAIN, RECORDS // 5)
        with open(runfile(GRAPH), encoding="utf-8") as file:
            text = file.read()
        cls.without = os.path.join(cls.folder.name, "without.textproto")
        with open(cls.without, "w", encoding="utf-8") as file:
            file.write(NODE.sub("", text))
        cls.expected = cls.run_graph(cls.without)

    @classmethod
    def run_graph(cls, graph, *flags, device="host"):
        """Runs on the CPU, both epochs."""
        return Run(
            COMMAND,
            "run",
            graph,
            f"--data={cls.data}",
            f"--epochs={EPOCHS}",
            f"--device={device}",
            *flags,
        )

    def cached(self, place, size, *flags, device="host"):
        """A run with that Cache; its bytes must be those without."""
        settings = (f"--set=cache.place={place}", f"--set=cache.bytes={size}")
        result = self.run_graph(runfile(GRAPH), *settings, *flags, device=device)
        self.assertEqual(result.digests, self.expected.digests)
        return result.stats

    def test_what_is_compared_has_batches_and_no_cache(self):
        self.assertEqual(len(self.expected.batches), EPOCHS * -(-RECORDS // 300))
        self.assertEqual(sorted(self.expected.ids()), list(range(RECORDS)))
        self.assertNotEqual(self.expected.ids(0), self.expected.ids(1))

    def test_everything_fits(self):
        for place in ("HOST", "PINNED", "DEVICE", "AUTO"):
            with self.subTest(place=place):
                stats = self.cached(place, RECORDS * ROW)
                # Each file is read once, whatever the number of epochs.
                self.assertEqual(stats["bytes_read"], RECORDS * (ROW + 1))

    def test_a_part_fits(self):
        kept = 700
        for place in ("HOST", "PINNED", "DEVICE"):
            with self.subTest(place=place):
                stats = self.cached(place, kept * ROW + ROW - 1)
                read = kept + EPOCHS * (RECORDS - kept)
                self.assertEqual(stats["bytes_read"], read * (ROW + 1))

    def test_nothing_but_rows_that_are_not_kept_goes_up(self):
        self.assertEqual(self.cached("DEVICE", RECORDS * ROW)["bytes_uploaded"], 0)
        stats = self.cached("DEVICE", 700 * ROW)
        self.assertEqual(stats["bytes_uploaded"], EPOCHS * (RECORDS - 700) * ROW)
        self.assertEqual(stats["host_writes_per_byte"], 1.0)

    def test_rows_that_are_gathered_over_the_link_are_counted(self):
        for kept in (RECORDS, 700):
            stats = self.cached("PINNED", kept * ROW)
            self.assertEqual(stats["bytes_gathered"], EPOCHS * kept * ROW)
            self.assertEqual(stats["bytes_uploaded"], EPOCHS * (RECORDS - kept) * ROW)
        stats = self.cached("PINNED", RECORDS * ROW, device="sim,sim")
        self.assertEqual(stats["bytes_gathered"], EPOCHS * RECORDS * ROW)
        for place in ("HOST", "DEVICE"):
            self.assertEqual(self.cached(place, RECORDS * ROW)["bytes_gathered"], 0)

    def test_any_number_of_threads_and_several_devices(self):
        for threads in (1, 7):
            self.cached("DEVICE", RECORDS * ROW, f"--threads={threads}")
        for place in ("PINNED", "DEVICE"):
            self.cached(place, RECORDS * ROW, device="sim,sim")

    def test_pageable_slabs(self):
        with open(runfile(GRAPH), encoding="utf-8") as file:
            text = file.read()
        pin = "node { stage { [type.googleapis.com/penstock.Pin] { mode: PAGEABLE } } }\n"
        upload = "node { stage { [type.googleapis.com/penstock.Upload]"
        graph = os.path.join(self.folder.name, "pageable.textproto")
        with open(graph, "w", encoding="utf-8") as file:
            file.write(text.replace(upload, pin + upload))
        for place in ("PINNED", "DEVICE"):
            for size in (RECORDS * ROW, 700 * ROW):
                result = self.run_graph(
                    graph, f"--set=cache.place={place}", f"--set=cache.bytes={size}"
                )
                self.assertEqual(result.digests, self.expected.digests)

    def test_show_says_what_was_chosen_and_why(self):
        def shown(*flags):
            result = run(
                COMMAND, "show", runfile(GRAPH), f"--data={self.data}", "--device=host", *flags
            )
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout

        text = shown()
        self.assertIn(f"{RECORDS} of {RECORDS} samples in device memory", text)
        self.assertIn(f"because: all samples take {RECORDS * ROW} bytes, which fit", text)
        self.assertIn("memory: 32 batches in flight", text)
        text = shown(f"--set=cache.bytes={RECORDS * ROW - 1}")
        self.assertIn(f"{RECORDS - 1} of {RECORDS} samples in pinned memory", text)
        self.assertIn(f"because: all samples take {RECORDS * ROW} bytes, more than `bytes`", text)
        # Budgets: first there are fewer batches in flight, then the samples lie farther away.
        text = shown("--max_device=30MB")
        self.assertIn(f"{RECORDS} of {RECORDS} samples in device memory", text)
        self.assertIn("memory: 12 batches in flight", text)
        text = shown("--max_device=12MB")
        self.assertIn(f"{RECORDS} of {RECORDS} samples in pinned memory", text)
        self.assertRegex(text, f"samples take {RECORDS * ROW} bytes, the device has 4[0-9]{{6}}")
        self.assertIn("memory: 6 batches in flight", text)
        text = shown("--max_device=12MB", "--max_pinned=6MB")
        self.assertIn(f"{RECORDS} of {RECORDS} samples in host memory", text)
        self.assertIn(", and 6000000 bytes may be page-locked", text)

    def test_faults(self):
        def fault(text, *flags):
            graph = os.path.join(self.folder.name, "fault.textproto")
            with open(graph, "w", encoding="utf-8") as file:
                file.write(text)
            result = run(COMMAND, "run", graph, f"--data={self.data}", "--device=host", *flags)
            self.assertEqual(result.returncode, 2, result.stderr)
            return result.stderr

        with open(runfile(GRAPH), encoding="utf-8") as file:
            text = file.read()
        node = NODE.search(text).group()
        collate = "node { stage { [type.googleapis.com/penstock.Collate]"
        self.assertIn(
            "node 'cache': Cache keeps what a source gives; move it directly behind the source",
            fault(NODE.sub("", text).replace(collate, node + collate)),
        )
        self.assertIn(
            "node 'cache': bytes is 3071: not one sample of 3072 bytes fits",
            fault(text, "--set=cache.bytes=3071"),
        )
        other = text.replace(
            "RandomCrop] {\n      height: 32 width: 32 padding: 4 padding_mode: REFLECT",
            "CenterCrop] {\n      height: 32 width: 32",
        )
        self.assertIn(
            "place is DEVICE, but there is no gather form of "
            "[center_crop+random_horizontal_flip+normalize] on this device",
            fault(other, "--set=cache.place=DEVICE"),
        )

    def test_a_bad_sample_stops_the_start_and_is_named(self):
        folder = Folder()
        make_cifar10.make(folder.name, make_cifar10.TRAIN, 40)
        path = os.path.join(folder.name, "data_batch_3.bin")
        with open(path, "r+b") as file:
            file.seek(7 * (ROW + 1))
            file.write(b"\x0b")
        for place in ("HOST", "PINNED", "DEVICE"):
            result = run(
                COMMAND,
                "run",
                runfile(GRAPH),
                f"--data={folder.name}",
                "--device=host",
                f"--set=cache.place={place}",
            )
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(
                "node 'read_cifar10', sample 'data_batch_3.bin:7': label is 11, expected 0 to 9",
                result.stderr,
            )


if __name__ == "__main__":
    unittest.main()
