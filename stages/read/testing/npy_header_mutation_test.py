#!/usr/bin/python3 -B
"""Headers of .npy files, damaged at random, mean the same to Penstock and to numpy.

Whatever Penstock accepts, numpy accepts with the same type, shape and offset; and whatever numpy
writes for the types that Penstock has, Penstock accepts.
"""

import io
import os
import random
import struct
import subprocess
import tokenize
import unittest
import warnings

import numpy
from numpy.lib import format as npy

PROBE = os.path.join(
    os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "stages/read/npy_header_probe"
)
TYPES = "u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8".split()
SHAPES = [(), (0,), (1,), (7,), (3, 4), (50000, 32, 32, 3), (2**40, 2**20), (1,) * 32]
MUTANTS = 30000
# What a header is made of: mutants that stay near the language find more than random bytes.
PIECES = [
    b"'", b'"', b"{", b"}", b"(", b")", b"[", b",", b":", b" ", b"\n", b"0", b"1", b"9", b"-", b"L",
    b"True", b"False", b"'descr'", b"'shape'", b"'fortran_order'", b"'<f4'", b"'>f4'", b"'|O'",
    b"None", b"\\", b"\x00", b"\xff", b"#", b"_", b"()", b"(3)", b"(3,)", b", }",
]  # fmt: skip


def header(dtype, shape, version):
    """What numpy writes before the items."""
    out = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": shape}
    npy._write_array_header(out, described, version)  # Takes sizes that no memory has.
    return out.getvalue()


def numpy_verdict(start):
    """What numpy takes the header for, as the probe's line; "-" for what is not ours."""
    file = io.BytesIO(start)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            version = npy.read_magic(file)
            shape, column_major, dtype = npy._read_array_header(file, version)
    except (ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError):
        return "-"
    if column_major or dtype.byteorder == ">" or dtype.str[1:] not in TYPES:
        return "-"
    return f"{dtype.name} {file.tell()} {' '.join(map(str, shape))}"


def mutate(start, draw):
    """A copy with one or two changes, some of which mean nothing, and most of which keep the length."""
    data = bytearray(start)
    for _ in range(draw.randint(1, 2)):
        at = draw.randrange(6 if draw.random() < 0.1 else 10, len(data))
        kind = draw.random()
        if kind < 0.2:
            digits = [i for i in range(12, len(data)) if chr(data[i]).isdigit()]
            data[draw.choice(digits or [at])] = ord(draw.choice("0123456789"))
        elif kind < 0.5:
            ends = [i for i in range(12, len(data)) if data[i] in b" ,:(){}"]
            at = draw.choice(ends or [at])
            data[at:at] = draw.choice([b" ", b"  ", b" ", draw.choice(PIECES)])
        elif kind < 0.6:
            data[at] = draw.randrange(256)
        elif kind < 0.8:
            piece = draw.choice(PIECES)
            data[at : at + len(piece)] = piece
        else:
            del data[at : at + draw.randint(1, 12)]
    if draw.random() < 0.8 and data[6] == 1 and len(data) >= 10:
        data[8:10] = struct.pack("<H", len(data) - 10)
    return bytes(data)


class NpyHeaderMutationTest(unittest.TestCase):
    def verdicts(self, headers):
        blob = b"".join(struct.pack("<I", len(start)) + start for start in headers)
        result = subprocess.run([PROBE], input=blob, capture_output=True, check=True, timeout=60)
        lines = result.stdout.decode().split("\n")[:-1]
        self.assertEqual(len(lines), len(headers))
        return lines

    def test_what_numpy_writes(self):
        headers, wanted = [], []
        for version in (1, 0), (2, 0), (3, 0):
            for name in TYPES:
                dtype = numpy.dtype(name)
                for shape in SHAPES:
                    headers.append(header(dtype.str, shape, version))
                    extents = " ".join(map(str, shape))
                    wanted.append(f"{dtype.name} {len(headers[-1])} {extents}")
        self.assertEqual(self.verdicts(headers), wanted)
        self.assertEqual([numpy_verdict(start) for start in headers], wanted)

    def test_mutants(self):
        draw = random.Random(4)
        seeds = [
            header(numpy.dtype(name).str, shape, version)
            for version in ((1, 0), (2, 0), (3, 0))
            for name in TYPES
            for shape in SHAPES
        ]
        # Short ones, too: in numpy's padding most changes change nothing.
        text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n"
        short = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
        mutants = [mutate(draw.choice([short, draw.choice(seeds)]), draw) for _ in range(MUTANTS)]
        ours = self.verdicts(mutants)
        accepted = lenient = 0
        for start, verdict in zip(mutants, ours):
            theirs = numpy_verdict(start)
            if verdict == "-":
                lenient += theirs != "-"
                continue
            accepted += 1
            self.assertEqual(verdict.rstrip(), theirs.rstrip(), start)
        # The mutants are near enough: many are good, many are not, and few are Python of a form that
        # numpy never writes (comments, line breaks, types by other names).
        self.assertGreater(accepted, MUTANTS / 10)
        self.assertLess(accepted, MUTANTS * 9 / 10)
        self.assertLess(lenient, MUTANTS / 20)


if __name__ == "__main__":
    unittest.main()
