"""Rates of JPEG decoding into training batches, beside PyTorch and DALI in the same call.

    python3 jpeg_rates.py BUNDLE DATA [--only=CASE,...] [--runs=3] [--seconds=3] [--json=FILE] [--dali=PYTHONPATH]

DATA is what make_photographs.py wrote; it is best on tmpfs, or in the page cache. RandomResizedCrop 224, flip, and
float16 NCHW in the consumer's hands, batches of 256. Cases:

folder    plain/, shuffled, for several --threads and --io_threads; 250,000 images/s with at most 14 cores asked
first     time from a CUDA context to the first batch of that; 200 ms asked
resident  the same kept encoded on the device (Cache), from the second epoch; 380,000/s with at most 2 cores asked
pinned    the same kept in page-locked memory
noisy     noisy/, from the folder and resident; 200,000/s asked
large     large/, of 12 megapixels, resident and from page-locked memory; 8,000/s asked
one       batches of one image from page-locked memory, one after the other; under 2.5 ms asked
paced     4,000 images/s, from the folder and resident; under 0.15 cores asked
mixed     mixed/, every tenth file for the host. Expected is the lower one of the folder's rate and ten times the rate
          at which refused/ is decoded with as many threads, as each tenth image passes the host
torch     PyTorch's DataLoader with 16 workers: uint8 until the GPU, and Pillow; 25 and 40 times less asked
dali      dali_rates.py, where DALI is; 7 times less asked

Each of --runs runs counts; the table shows their median and their range, ratios are of medians.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
BATCH = 256
THREADS = ((2, 8), (4, 8), (4, 12), (8, 8))  # --threads and --io_threads of the folder's cases.
CASES = ["folder", "first", "resident", "pinned", "noisy", "large", "one", "paced", "mixed", "torch", "dali"]
STATS = "mean: [0.485, 0.456, 0.406] std: [0.229, 0.224, 0.225]"


# More than any of the folders has, and what is taken of page-locked memory.
CACHE_BYTES = 6 << 30


def graph(batch=BATCH, cache="", seats=0, device="DEVICE"):
    nodes = ["ReadImageFolder { root: '${data}' }", f"DecodeImage {{ device: {device} }}",
             "RandomResizedCrop { height: 224 width: 224 }", "RandomHorizontalFlip { }",
             f"Collate {{ batch_size: {batch} tail: DROP }}", "Upload { }",
             f"Normalize {{ {STATS} dtype: FLOAT16 layout: NCHW }}"]
    if cache:
        nodes.insert(1, f"Cache {{ place: {cache} bytes: {CACHE_BYTES} }}")
    lines = [f"node {{ stage {{ [type.googleapis.com/penstock.{name}] {options} }} }}"
             for name, options in (node.split(" ", 1) for node in nodes)]
    return "\n".join(["order { shuffle: FULL }", f"batches_in_flight: {seats}" if seats else "", *lines]) + "\n"


class Bench:
    def __init__(self, flags):
        self.flags = flags
        self.results = {}

    def feed(self, name, data, text, *arguments):
        """Runs feed_bench; keeps and prints its figures. Gives the median rate, or 0."""
        runs = []
        with tempfile.NamedTemporaryFile("w", suffix=".textproto") as file:
            file.write(text)
            file.flush()
            for _ in range(self.flags.runs):
                result = subprocess.run(
                    [f"{self.flags.bundle}/bin/feed_bench", file.name, f"{self.flags.data}/{data}", self.flags.device,
                     f"--seconds={self.flags.seconds}", *arguments], capture_output=True, text=True)
                if result.returncode != 0:
                    print(f"{name}: {result.stderr.strip()}", flush=True)
                    return 0
                runs.append(json.loads(result.stdout))
        self.results[name] = runs
        rates = sorted(run["samples_per_second"] for run in runs)
        at = {key: statistics.median(run[key] for run in runs) for key in runs[0] if key != "verdict"}
        on_host = at["decoded_host"] / max(1, at["decoded_host"] + at["decoded_device"])
        print(f"{name:<34} {statistics.median(rates):>9,.0f}/s ({rates[0]:,.0f} to {rates[-1]:,.0f}), "
              f"{at['cpu_cores']:.2f} cores, first batch {at['first_batch_ms']:.0f} ms, a batch "
              f"{at['batch_p50_ms']:.3f} ms (p95 {at['batch_p95_ms']:.3f}), on the host {on_host:.3f}, device memory "
              f"{at['device_bytes'] / 1e9:.1f} GB, allocations {at['allocations']:.0f}; {runs[-1]['verdict']}",
              flush=True)
        return statistics.median(rates)

    def folder(self):
        return max(self.feed(f"folder, {t} + {io} threads", "plain", graph(), f"--threads={t}", f"--io_threads={io}")
                   for t, io in THREADS)

    def first(self):
        self.feed("first batch", "plain", graph(), "--warm_seconds=0", "--seconds=0.01")

    def resident(self):
        return self.feed("resident, 2 threads", "plain", graph(cache="DEVICE"), "--threads=2", "--warm_epochs=1")

    def pinned(self):
        return self.feed("page-locked, 2 threads", "plain", graph(cache="PINNED"), "--threads=2", "--warm_epochs=1")

    def noisy(self):
        self.feed("noisy folder, 4 + 8 threads", "noisy", graph(), "--threads=4", "--io_threads=8")
        self.feed("noisy resident, 2 threads", "noisy", graph(cache="DEVICE"), "--threads=2", "--warm_epochs=1")

    def large(self):
        for place in ("DEVICE", "PINNED"):
            self.feed(f"12 megapixels, {place}, 2 threads", "large", graph(cache=place, batch=64), "--threads=2",
                      "--warm_epochs=1")

    def one(self):
        self.feed("batches of one", "noisy", graph(batch=1, cache="PINNED", seats=2), "--threads=2", "--warm_epochs=1",
                  "--one_by_one")

    def paced(self):
        self.feed("4,000/s of the folder", "plain", graph(), "--rate=4000")
        self.feed("4,000/s resident", "plain", graph(cache="DEVICE"), "--rate=4000", "--warm_epochs=1")

    def mixed(self):
        threads = ("--threads=14", "--io_threads=8")
        whole = self.feed("plain, 14 + 8 threads", "plain", graph(), *threads)
        host = self.feed("refused alone, on the host", "refused", graph(device="HOST"), *threads)
        got = self.feed("mixed, 14 + 8 threads", "mixed", graph(), *threads)
        if whole and host and got:
            expected = min(whole, 10 * host)
            print(f"mixed: expected min({whole:,.0f}, 10 x {host:,.0f}) = {expected:,.0f}/s, "
                  f"got {got / expected:.2f} of it", flush=True)

    def torch(self):
        with tempfile.TemporaryDirectory() as temp:
            out = temp + "/rates.json"
            result = subprocess.run([sys.executable, f"{HERE}/torch_jpeg_rates.py", f"{self.flags.data}/plain", out,
                                     str(self.flags.seconds)])
            if result.returncode != 0:
                return {}
            with open(out, encoding="utf-8") as file:
                return json.load(file)

    def dali(self):
        environment = dict(os.environ)
        if self.flags.dali:
            environment["PYTHONPATH"] = self.flags.dali
        result = subprocess.run([sys.executable, f"{HERE}/dali_rates.py", f"{self.flags.data}/plain",
                                 str(self.flags.seconds)], capture_output=True, text=True, env=environment)
        print(result.stdout.strip() or result.stderr.strip(), flush=True)
        found = re.findall(r"^(.+): ([\d,.]+) images/s", result.stdout, re.M)
        return {name: float(rate.replace(",", "")) for name, rate in found}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle")
    parser.add_argument("data")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--json", default="")
    parser.add_argument("--dali", default="")
    bench = Bench(parser.parse_args())
    ours, peers = 0, {}
    for case in bench.flags.only.split(","):
        result = getattr(bench, case)()
        if case == "folder":
            ours = result
        if case in ("torch", "dali"):
            peers.update(result)
    for name, rate in peers.items():
        ratio = f", folder {ours / rate:.1f} times that" if ours and rate else ""
        print(f"{name}: {rate:,.0f}/s{ratio}", flush=True)
    if bench.flags.json:
        with open(bench.flags.json, "w", encoding="utf-8") as file:
            json.dump({"penstock": bench.results, "peers": peers}, file, indent=1)


if __name__ == "__main__":
    main()
