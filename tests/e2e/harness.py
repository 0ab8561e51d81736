"""Runs Penstock's programs as a user would, and reads back what they wrote."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import weakref
from typing import NamedTuple

import numpy

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
COMMAND = "tools/penstock"
TIMEOUT_S = 120


class Folder:
    """A temporary folder, removed with this object."""

    def __init__(self):
        self.name = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


class Batch(NamedTuple):
    """One delivered batch; `tensors` by name."""

    epoch: int
    number: int
    ids: list
    keys: list
    tensors: dict


def runfile(path):
    """The place of a file of this workspace that is part of the test's data."""
    return os.path.join(RUNFILES, path)


def run(program, *arguments, **environment):
    """Runs a program of this workspace; gives its CompletedProcess, with text."""
    return subprocess.run(
        [runfile(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, **environment},
    )


def read_dump(folder):
    """The batches that --dump_npy wrote into `folder`, in order of delivery."""
    batches = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".ids.txt"):
            continue
        stem = name[: -len(".ids.txt")]
        epoch, number = map(int, re.fullmatch(r"e(\d{4})_b(\d{8})", stem).groups())
        with open(os.path.join(folder, name), encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
        tensors = {
            file[len(stem) + 1 : -len(".npy")]: numpy.load(
                os.path.join(folder, file), mmap_mode="r"
            )
            for file in sorted(os.listdir(folder))
            if file.startswith(stem + ".") and file.endswith(".npy")
        }
        batches.append(
            Batch(epoch, number, [int(row[0]) for row in rows], [row[1] for row in rows], tensors)
        )
    return batches


def digests(folder):
    """A digest of each file in `folder`, by name."""
    result = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as content:
            result[name] = hashlib.sha256(content.read()).hexdigest()
    return result


class Run:
    """A run that must succeed: its statistics, and of what it wrote batches and files' digests."""

    def __init__(self, program, *flags, dump=True):
        self._folder = Folder()
        stats = os.path.join(self._folder.name, "stats.json")
        dumped = os.path.join(self._folder.name, "dump")
        if dump:
            flags += ("--dump_npy", dumped)
        result = run(program, *flags, "--stats_json", stats)
        if result.returncode != 0:
            raise AssertionError(f"{program} {flags} gave {result.returncode}: {result.stderr}")
        with open(stats, encoding="utf-8") as document:
            self.stats = json.load(document)
        self.batches = read_dump(dumped) if dump else []
        self.digests = digests(dumped) if dump else {}

    def epoch(self, number):
        """The batches of one epoch."""
        return [batch for batch in self.batches if batch.epoch == number]

    def ids(self, epoch=0):
        """All sample ids of one epoch, in order of delivery."""
        return [i for batch in self.epoch(epoch) for i in batch.ids]

    def by_id(self, tensor, epoch=0):
        """The rows of a tensor by sample id."""
        return {
            i: batch.tensors[tensor][row]
            for batch in self.epoch(epoch)
            for row, i in enumerate(batch.ids)
        }


# Seats of the graphs under test. Allocations are counted once each seat has been round twice.
MOST_SEATS = 6


def assert_frugal(test, stats, host_writes=1.0):
    """No allocation after warm-up, and every uploaded byte was written once by the host (0.0: none was)."""
    test.assertGreater(stats["batches"], 2 * MOST_SEATS, "too few to be warm")
    test.assertEqual(stats["driver_allocations_after_warmup"], 0)
    test.assertEqual(stats["host_writes_per_byte"], host_writes)
