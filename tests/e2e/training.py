"""What every training graph must hold to, whatever its data."""

from harness import Run, assert_frugal

THREADS = (1, 3, 8)
WORLD = 3


class TrainingTests:
    """Mixed into a TestCase that sets `program`, `data`, `labels` by id, and a `batch` size."""

    host_writes = 1.0  # By the host, of each byte that goes up; see assert_frugal().

    @property
    def samples(self):
        return len(self.labels)

    def run_it(self, *flags):
        return Run(
            self.program,
            f"--data={self.data}",
            "--device=host",
            f"--set=collate.batch_size={self.batch}",
            *flags,
        )

    def test_threads_change_no_byte(self):
        first = self.run_it("--threads=1")
        self.assertEqual(first.stats["epochs"][0]["samples"], len(first.ids()))
        assert_frugal(self, first.stats, self.host_writes)
        for threads in THREADS[1:]:
            again = self.run_it(f"--threads={threads}")
            self.assertEqual(again.digests, first.digests, f"{threads} threads")
            assert_frugal(self, again.stats, self.host_writes)

    def test_epochs_differ_and_hold_each_sample_once(self):
        run = self.run_it("--epochs=2", "--set=collate.tail=PARTIAL")
        for epoch in (0, 1):
            self.assertEqual(sorted(run.ids(epoch)), list(range(self.samples)))
        self.assertFalse(run.ids(0) == run.ids(1), "both epochs have one order")
        # Not only their order: crops and flips are drawn anew. A few may be drawn alike.
        before, after = run.by_id("image", 0), run.by_id("image", 1)
        alike = sum((before[i] == after[i]).all() for i in before)
        self.assertLess(alike, self.samples / 20)
        labels = run.by_id("label", 0)
        self.assertEqual(labels, run.by_id("label", 1))
        self.assertEqual(labels, self.labels)
        assert_frugal(self, run.stats, self.host_writes)

    def test_ranks_share_an_epoch(self):
        runs = [
            self.run_it(f"--rank={rank}", f"--world={WORLD}", "--set=collate.tail=PARTIAL")
            for rank in range(WORLD)
        ]
        self.assertEqual(sorted(i for run in runs for i in run.ids()), list(range(self.samples)))
        self.assertEqual(len({len(run.batches) for run in runs}), 1, "ranks end together")
        # What a sample looks like does not depend on who reads it.
        alone = self.run_it("--set=collate.tail=PARTIAL").by_id("image")
        for run in runs:
            for i, image in run.by_id("image").items():
                self.assertTrue((image == alone[i]).all(), i)

    def test_seed(self):
        first = self.run_it("--max_batches=1")
        self.assertEqual(self.run_it("--max_batches=1", "--seed=0").digests, first.digests)
        self.assertNotEqual(self.run_it("--max_batches=1", "--seed=1").digests, first.digests)

    def test_tail_is_dropped(self):
        run = self.run_it()
        self.assertNotEqual(self.samples % self.batch, 0, "the data set must not fit")
        sizes = [len(batch.ids) for batch in run.batches]
        self.assertEqual(sizes, [self.batch] * (self.samples // self.batch))
        self.assertEqual(len(set(run.ids())), len(run.ids()))
