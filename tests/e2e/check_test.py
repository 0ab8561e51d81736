#!/usr/bin/python3 -B
"""`penstock check` lists all faults of a graph at once, each with its place, and exits with 2.

Names like G01 are those of the collection of cases that the issue lists.
"""

import os
import unittest

from harness import COMMAND, Folder, run, runfile

# Line, column, what is said.
FORM = [
    (2, 1, "batches_in_flight is 0, expected 2 to 1024"),  # G10
    (
        4,
        23,
        "node 'images': there is no stage 'penstock.DecodeJpg'; did you mean "  # G04
        "'penstock.DecodeImage'? Known stages: {stages}. A stage of your own: its target has to be "
        "in deps, with alwayslink = True",
    ),
    (5, 23, "node 'decode': input 'imgs' is no node; did you mean 'images'?"),  # G05
    (
        6,
        8,
        "node 'decode': the node at {graph}:5:1 has this name too; give one of them another",  # G09
    ),
    (
        6,
        75,
        "node 'decode': penstock.CenterCrop has no field 'heigth'; did you mean 'height'?",  # G01
    ),
    (
        7,
        57,
        "node 'collate': penstock.Collate has no field 'btach_size'; did you mean 'batch_size'?",
    ),
    (
        11,
        3,
        "node 'b': the nodes go in a cycle: b -> c -> a -> b; one of them has to read from another "
        "node",  # G06
    ),
    (
        18,
        3,
        "node 'self': the nodes go in a cycle: self -> self; one of them has to read from another "
        "node",
    ),
]
RANGE = "expected 1 to 2147483647"
VALUES = [
    (3, 1, f"node 'none': batch_size is not set, {RANGE}"),  # G12
    (4, 67, "node 'u1': streams is -1, expected 1 to 32, or 0 to let the planner choose"),  # G11
    (7, 52, f"node 'zero': batch_size is 0, {RANGE}"),
    (9, 67, "node 'u2': streams is 33, expected 1 to 32, or 0 to let the planner choose"),
    (9, 79, "node 'u2': piece_bytes is 2, expected 65536 to 1073741824"),  # All of a node's.
    (12, 52, f"node 'less': batch_size is -1, {RANGE}"),
    (14, 67, "node 'u3': piece_bytes is 1, expected 65536 to 1073741824"),
    (17, 52, f"node 'much': batch_size is 2147483648, {RANGE}"),
    (22, 52, f"node 'more': batch_size is 1000000000000, {RANGE}"),
]


class CheckTest(unittest.TestCase):
    maxDiff = None

    def assert_faults(self, name, faults, *flags):
        graph = runfile(f"tests/e2e/{name}")
        stages = [line.split()[0] for line in run(COMMAND, "stages").stdout.splitlines()]
        result = run(COMMAND, "check", graph, *flags)
        expected = [
            f"penstock: {graph}:{line}:{column}: "
            + what.format(graph=graph, stages=", ".join(stages))
            for line, column, what in faults
        ]
        self.assertEqual(result.stderr.splitlines(), expected)
        self.assertEqual((result.returncode, result.stdout), (2, ""))

    def test_form(self):
        self.assert_faults("faults_of_form.textproto", FORM, "--data=/data")

    def test_values_before_any_data_is_looked_at(self):
        self.assert_faults("faults_of_values.textproto", VALUES, "--data=/nowhere")

    def test_numbers_that_do_not_fit_their_type(self):  # G11: the text ends where they stand.
        for value, what in (("4294967295", "4294967295"), ('"4"', '"4"')):
            folder = Folder()
            graph = os.path.join(folder.name, "graph.textproto")
            with open(graph, "w", encoding="utf-8") as text:
                text.write(f"batches_in_flight: {value}\n")
            result = run(COMMAND, "check", graph)
            self.assertEqual(
                result.stderr,
                f"penstock: {graph}:1:20: batches_in_flight is {what}, expected an integer from 2 "
                "to 1024\n",
            )
            self.assertEqual(result.returncode, 2)

    def test_run_says_the_same(self):
        graph = runfile("tests/e2e/faults_of_form.textproto")
        checked = run(COMMAND, "check", graph, "--data=/data")
        started = run(COMMAND, "run", graph, "--data=/data", "--device=host")
        self.assertEqual((started.stderr, started.returncode), (checked.stderr, 2))


if __name__ == "__main__":
    unittest.main()
