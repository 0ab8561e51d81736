#!/usr/bin/python3 -B
"""graphs/array delivers what numpy has written, to the last byte, in any size and order.

Names like G14 are those of the collection of cases that the issue lists.
"""

import os
import re
import struct
import subprocess
import unittest

import numpy

from harness import TIMEOUT_S, Folder, Run, assert_frugal, read_dump, run, runfile

PROGRAM = "graphs/array"
IN_ORDER = "--set=order.shuffle=NONE"
MIB = 1 << 20


def random_array(dtype, shape, seed=0):
    """Random bits, which may be NaNs too."""
    draw = numpy.random.default_rng(seed)
    size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    return draw.integers(0, 256, size, numpy.uint8).view(dtype).reshape(shape)


def bits(array):
    """The bytes of each row, so that NaNs are equal to themselves."""
    array = numpy.ascontiguousarray(array)
    return array.view(numpy.uint8).reshape(len(array), -1)


def save_with_header(path, array, header_bytes):
    """As numpy.save, but with a header of that many bytes."""
    text = repr({"descr": array.dtype.str, "fortran_order": False, "shape": array.shape})
    text = text.ljust(header_bytes - 11) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.write(array.tobytes())


def peak_memory(pid):
    """The most bytes that a process has had so far; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])
    except (OSError, TypeError):
        return 0


class ArrayTest(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.path = os.path.join(self.folder.name, "rows.npy")

    def run_array(self, *flags, dump=True):
        return Run(PROGRAM, f"--data={self.path}", "--device=host", *flags, dump=dump)

    def assert_rows(self, result, array, name="data", epoch=0):
        """Every row once, each with its id's bytes, and nothing else."""
        ids = result.ids(epoch)
        self.assertEqual(sorted(ids), list(range(len(array))))
        for batch in result.epoch(epoch):
            self.assertEqual(list(batch.tensors), [name])
            tensor = batch.tensors[name]
            self.assertEqual(tensor.dtype, array.dtype)
            self.assertEqual(tensor.shape, (len(batch.ids), *array.shape[1:]))
            self.assertEqual(batch.keys, [str(i) for i in batch.ids])
            numpy.testing.assert_array_equal(bits(tensor), bits(array[batch.ids]))

    def test_every_type_and_odd_rows(self):
        for dtype in "u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8".split():
            for shape in (1003,), (203, 3), (77, 5, 7):
                with self.subTest(dtype=dtype, shape=shape):
                    array = random_array(dtype, shape)
                    numpy.save(self.path, array)
                    result = self.run_array(IN_ORDER)
                    self.assertEqual(result.ids(), list(range(len(array))))
                    self.assert_rows(result, array)

    def test_images(self):
        array = random_array("u1", (300, 13, 11, 3))
        numpy.save(self.path, array)
        self.assert_rows(self.run_array(IN_ORDER), array, "image")
        self.assert_rows(
            self.run_array("--set=read_array.field=picture", "--set=collate.batch_size=7"),
            array,
            "picture",
        )

    def test_shuffled(self):
        array = random_array("f4", (1003, 257))
        numpy.save(self.path, array)
        result = self.run_array("--epochs=2", "--seed=5")
        for epoch in 0, 1:
            self.assert_rows(result, array, epoch=epoch)
            self.assertNotEqual(result.ids(epoch), sorted(result.ids(epoch)))
        self.assertNotEqual(result.ids(0), result.ids(1))
        assert_frugal(self, result.stats)

    def test_threads_and_ways_of_reading_change_no_byte(self):
        array = random_array("f4", (400, 5003))
        numpy.save(self.path, array)
        want = self.run_array("--threads=2")
        self.assert_rows(want, array)
        for flags in (
            ("--threads=1",),
            ("--threads=8",),
            ("--set=read_array.access=DIRECT",),
            ("--set=read_array.access=PAGE_CACHE", "--threads=8"),
        ):
            self.assertEqual(self.run_array(*flags).digests, want.digests, flags)

    def test_headers_of_any_length(self):
        array = random_array("u1", (130, 70001))
        for header_bytes in (100, 127, 128, 129, 511, 513, 4096, 5001):
            with self.subTest(header_bytes=header_bytes):
                save_with_header(self.path, array, header_bytes)
                numpy.testing.assert_array_equal(numpy.load(self.path), array)
                for access in ("PAGE_CACHE", "DIRECT"):
                    result = self.run_array(f"--set=read_array.access={access}")
                    self.assert_rows(result, array)

    def test_headerless(self):
        array = random_array("i2", (500, 33))
        with open(self.path, "wb") as file:
            file.write(b"\xee" * 21 + array.tobytes())
        flags = ("--set=read_array.raw.dtype=INT16", "--set=read_array.raw.offset=21")
        graph = runfile("graphs/array.textproto")
        with open(graph, encoding="utf-8") as text:
            changed = text.read().replace('path: "${data}"', 'path: "${data}" raw { shape: 33 }')
        own = os.path.join(self.folder.name, "own.textproto")
        with open(own, "w", encoding="utf-8") as text:
            text.write(changed)
        dump = os.path.join(self.folder.name, "dump")
        result = run(
            "tools/penstock", "run", own, f"--data={self.path}", "--device=host", IN_ORDER, *flags,
            f"--dump_npy={dump}",
        )  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = numpy.concatenate([batch.tensors["data"] for batch in read_dump(dump)])
        numpy.testing.assert_array_equal(rows, array)

    def test_offsets_beyond_32_bits(self):  # G14.
        shape, marked = (50000, 30000), (0, 17895, 35791, 49998, 49999)
        self.assertGreater(shape[0] * shape[1] * 4, 1 << 32)
        array = numpy.lib.format.open_memmap(self.path, "w+", "<f4", shape)  # Sparse.
        for row in marked:
            array[row] = numpy.arange(shape[1], dtype="f4") + row * 100.0
        array.flush()
        if os.stat(self.path).st_blocks * 512 > 1 << 30:
            self.skipTest("no sparse files here")
        world = -(-shape[0] // 32)  # Each rank has one batch.
        for row in marked:
            (batch,) = self.run_array(
                IN_ORDER, f"--world={world}", f"--rank={row * world // shape[0]}"
            ).batches
            self.assertIn(row, batch.ids)
            numpy.testing.assert_array_equal(batch.tensors["data"], array[batch.ids])
            self.assertEqual(batch.tensors["data"][batch.ids.index(row)][1], row * 100.0 + 1)

    def test_memory_is_that_of_the_seats(self):
        rows, batch, seats = 512, 8, 4
        numpy.save(self.path, random_array("f4", (rows, MIB // 4)))
        command = [
            runfile(PROGRAM), f"--data={self.path}", "--device=host", "--epochs=4",
            f"--set=collate.batch_size={batch}", f"--stats_json={self.folder.name}/stats.json",
        ]  # fmt: skip
        peak = 0
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None:
                peak = max(peak, peak_memory(process.pid))
        self.assertEqual(process.returncode, 0)
        stats = self.run_array(f"--set=collate.batch_size={batch}", "--epochs=2", dump=False).stats
        self.assertEqual(stats["bytes_read"], 2 * rows * MIB)
        self.assertEqual(stats["bytes_uploaded"], 2 * rows * MIB)
        self.assertEqual(stats["pinned_bytes_peak"], seats * batch * MIB)
        assert_frugal(self, stats)
        # The host device has a slab for each seat, too; the rest is the program.
        self.assertGreater(peak, 2 * seats * batch * MIB)
        self.assertLess(peak, 2 * seats * batch * MIB + 64 * MIB)

    # What is wrong with the file is said in one line with its name, and the run fails.

    def assert_refused(self, *parts, flags=(), code=1):
        result = run(PROGRAM, f"--data={self.path}", "--device=host", *flags)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, r"\Apenstock: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_bad_files(self):
        array = random_array("f4", (100, 7))
        structured = numpy.zeros(3, [("a", "f4"), ("b", "i8")])
        for name, bad, *parts in (
            ("order", numpy.asfortranarray(array), "ascontiguousarray"),
            ("big", array.astype(">f4"), "newbyteorder"),
            ("structured", structured, "structured"),
            ("text", numpy.array(["a", "b"]), "expected little-endian"),
            ("complex", numpy.zeros(3, "c8"), "expected little-endian"),
            ("bool", numpy.zeros(3, bool), "view('uint8')"),
            ("number", numpy.float32(3), "single number"),
            ("empty", numpy.zeros((0, 3), "f4"), "empty"),
        ):
            with self.subTest(name):
                numpy.save(self.path, bad)
                self.assert_refused(self.path, *parts)
        with self.subTest("objects"):
            numpy.save(self.path, numpy.array([{}, []], object), allow_pickle=True)
            self.assert_refused(self.path, "objects")

    def test_damaged_files(self):
        numpy.save(self.path, random_array("f4", (100, 7)))
        with open(self.path, "rb") as file:
            good = file.read()
        huge = good.replace(b"(100, 7)", b"(9223372036854775807, 9)").ljust(len(good))
        for name, content, *parts in (
            ("cut", good[:-1], "float32 [100, 7]", "2799", "99 of 100 rows"),
            ("no data", good[:128], "0 of 100 rows"),
            ("half a header", good[:70], "cut off after 70 of 128"),
            ("nothing", b"", "no .npy file"),
            ("zip", b"PK\3\4" + good, "no .npy file"),
            ("magic", b"\x93NUMPZ" + good[6:], "no .npy file"),
            ("version", good[:6] + b"\4\0" + good[8:], "version 4.0"),
            ("length", good[:6] + b"\2\0\xff\xff\xff\xff" + good[12:], "4294967307 bytes"),
            ("overflow", huge, "[9223372036854775807, 9] is too large to be true"),
        ):
            with self.subTest(name):
                with open(self.path, "wb") as file:
                    file.write(content)
                self.assert_refused(self.path, *parts)

    def test_missing_file_and_folder(self):
        self.assert_refused(self.path, "No such file", "--data")
        os.mkdir(self.path)
        self.assert_refused(self.path, "Is a directory")

    def test_wrong_options(self):
        numpy.save(self.path, random_array("f4", (100, 7)))
        self.assert_refused("leave raw out", flags=["--set=read_array.raw.offset=0"])
        self.assert_refused("raw.offset is -1", flags=["--set=read_array.raw.offset=-1"], code=2)

    def test_file_that_shrinks(self):
        numpy.save(self.path, random_array("f4", (4000, 1000)))
        process = subprocess.Popen(
            [runfile(PROGRAM), f"--data={self.path}", "--device=host", "--epochs=100000",
             "--progress=on"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        first = process.stderr.read(1)  # It runs.
        os.truncate(self.path, 4 * MIB)
        _, rest = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(
            first + rest,
            rf"node 'read_array', batch \d+, sample '\d+': {re.escape(self.path)}: \d+ of 4000 "
            r"bytes at offset \d+; the file has become shorter",
        )


if __name__ == "__main__":
    unittest.main()
