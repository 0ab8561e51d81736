#!/usr/bin/python3 -B
"""What is wrong with the data is said in one line that names the file, and the run fails.

Names like B17 are those of the collection of cases that the issue lists.
"""

import io
import os
import re
import time
import unittest

import numpy
from PIL import Image

import make_cifar10
from harness import COMMAND, Folder, Run, read_dump, run, runfile

FOLDER, CIFAR10 = "graphs/imagenet_eval", "graphs/cifar10_eval"
LIMIT_S = 10
BATCH = 4
FLAGS = ("--device=host", f"--set=collate.batch_size={BATCH}")


def encoded(number, kind="JPEG", **options):
    """The bytes of a small image that differs from one number to the next."""
    draw = numpy.random.default_rng(number)
    small = draw.integers(0, 256, (5, 6, 3), numpy.uint8)
    content = io.BytesIO()
    Image.fromarray(small).resize((300, 260), Image.BICUBIC).save(content, kind, **options)
    return content.getvalue()


class BadInputTest(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.root = os.path.join(self.folder.name, "data")
        os.makedirs(self.root)

    def write(self, path, content):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def write_good(self, count=10):
        for number in range(count):
            self.write(f"a/{number}.jpg", encoded(number))

    def assert_refused(self, program, *parts, data=None, code=1, good=0):
        """One line with all `parts`, soon; of the data the first `good` batches, and no more."""
        dump = os.path.join(self.folder.name, "dump")
        begin = time.monotonic()
        result = run(program, f"--data={data or self.root}", f"--dump_npy={dump}", *FLAGS)
        self.assertLess(time.monotonic() - begin, LIMIT_S)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, r"\Apenstock: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertNotIn("verdict", result.stdout, "it sums up as if all were well")
        delivered = [batch.ids for batch in read_dump(dump)]
        self.assertEqual(delivered, [list(range(BATCH * b, BATCH * (b + 1))) for b in range(good)])

    def good_run(self, *flags):
        return Run(FOLDER, f"--data={self.root}", *FLAGS, *flags)

    # The whole data set.

    def test_no_data_is_named(self):
        for name in ("imagenet_eval", "cifar10_eval"):
            graph = runfile(f"graphs/{name}.textproto")
            result = run(COMMAND, "run", graph, "--device=host")
            self.assertEqual(result.returncode, 2)
            self.assertRegex(
                result.stderr,
                rf"\Apenstock: {re.escape(graph)}:\d+:\d+: node '\w+': root: \$\{{data\}} has no "
                r"value; give it with --data PATH\n\Z",
            )

    def test_folder_that_is_not_there(self):
        for program in (FOLDER, CIFAR10):
            missing = os.path.join(self.root, "missing")
            self.assert_refused(program, missing, "No such file or directory", data=missing)

    def test_path_through_a_file(self):
        self.write("file", b"")
        through = os.path.join(self.root, "file/inner")
        for program in (FOLDER, CIFAR10):
            self.assert_refused(program, through, "Not a directory", data=through)

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_unreadable(self):
        self.write("a/0.jpg", encoded(0))
        os.chmod(os.path.join(self.root, "a"), 0)
        try:
            self.assert_refused(FOLDER, os.path.join(self.root, "a"), "Permission denied")
        finally:
            os.chmod(os.path.join(self.root, "a"), 0o700)

    def test_empty_folder(self):
        self.assert_refused(FOLDER, self.root, "no class folders")
        self.assert_refused(CIFAR10, os.path.join(self.root, "test_batch.bin"), "No such file")

    def test_folder_without_class_folders(self):
        self.write("0.jpg", encoded(0))
        self.write("1.jpg", encoded(1))
        self.assert_refused(FOLDER, self.root, "no class folders", "2 images", "labels: NONE")

    # CIFAR-10 (B33).

    def write_cifar10(self, *, labels=None, rest=b""):
        images, drawn = make_cifar10.records(10, seed=0)
        path = os.path.join(self.root, "test_batch.bin")
        make_cifar10.write(path, images, drawn if labels is None else labels)
        with open(path, "ab") as file:
            file.write(rest)
        return path

    def test_cifar10_with_a_broken_record(self):
        path = self.write_cifar10(rest=bytes(1000))
        self.assert_refused(CIFAR10, path, "1000 of 3073 bytes")

    def test_cifar100(self):
        path = os.path.join(self.root, "test_batch.bin")
        self.write("test_batch.bin", bytes(3074 * 4))
        self.assert_refused(CIFAR10, path, "is it CIFAR-100?")

    def test_empty_cifar10_file(self):
        self.write("test_batch.bin", b"")
        self.assert_refused(CIFAR10, os.path.join(self.root, "test_batch.bin"), "empty file")

    def test_label_12(self):
        self.write_cifar10(labels=numpy.uint8([0, 1, 2, 3, 4, 5, 12, 7, 8, 9]))
        self.assert_refused(
            CIFAR10, "sample 'test_batch.bin:6'", "label is 12, expected 0 to 9", good=1
        )

    # One file of a folder: what comes before its batch is delivered.

    def test_one_bad_file(self):
        whole = encoded(6)
        for case, name, content, *parts in (
            ("A32", "6.jpg", b"", "empty file"),
            ("A27", "6.jpg", whole[: len(whole) // 2], "truncated", f"{len(whole) // 2} bytes"),
            ("A33", "6.jpg", encoded(6, "WEBP"), "content is WebP"),
            ("A33", "6.jpg", b"<html><p>404</p></html>", "HTML", '"<html><p>404'),
            ("text", "6.jpg", b"not an image", "neither JPEG nor PNG", '"not an image'),
        ):
            with self.subTest(case, content=content[:12]):
                self.write_good()
                self.write(f"a/{name}", content)
                self.assert_refused(FOLDER, f"sample 'a/{name}'", *parts, good=1)

    def test_png_by_the_name_of_jpeg(self):  # A33.
        self.write("a/0.JPEG", encoded(3, "PNG"))
        self.write("a/1.png", encoded(3, "PNG"))
        self.write("a/2.png", encoded(4))
        self.write("a/3.JPEG", encoded(4))
        image = self.good_run().by_id("image")
        numpy.testing.assert_array_equal(image[0], image[1])
        numpy.testing.assert_array_equal(image[2], image[3])
        self.assertTrue((image[0] != image[2]).any())

    # Listing.

    def test_names_keep_their_case(self):  # B15.
        self.write("Class A/IMG_1.JPG", encoded(0))
        self.write("Class A/a.JpEg", encoded(1))
        (batch,) = self.good_run().batches
        self.assertEqual(batch.keys, ["Class A/IMG_1.JPG", "Class A/a.JpEg"])

    def test_empty_class(self):  # B17.
        self.write("a/0.jpg", encoded(0))
        self.write("a/1.jpg", encoded(1))
        os.makedirs(os.path.join(self.root, "b"))
        self.write("c/0.jpg", encoded(2))
        self.assert_refused(FOLDER, self.root, "no image in class folder 'b'", "allow_empty")
        (batch,) = self.good_run("--set=read_image_folder.allow_empty=true").batches
        self.assertEqual(list(batch.tensors["label"]), [0, 0, 2])

    def test_files_of_desktops(self):  # B19.
        for junk in (".DS_Store", "a/.DS_Store", "a/Thumbs.db"):
            self.write(junk, b"\0\0\0\1Bud1")
        self.write("a/1.jpg", encoded(1))
        (batch,) = self.good_run().batches
        self.assertEqual((batch.keys, list(batch.tensors["label"])), (["a/1.jpg"], [0]))


if __name__ == "__main__":
    unittest.main()
