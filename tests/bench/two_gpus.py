"""Checks and rates of several GPUs, from outside the process. Part of the bundle.

    python3 two_gpus.py BUNDLE DATA [rates]

DATA is what make_data.py wrote. What needs two GPUs is skipped with its reason where there is one. "rates" also
measures, beside one device in the same call. Prints a line a check; exits with 1 if one failed.
"""
import glob
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

RECORD = 3073
# What the driver itself may take or give back meanwhile; a context takes hundreds.
NOISE_MIB = 16
# Of rates: some seconds, of which the first epoch, which reads and keeps, is a small part.
JPEG_EPOCHS = 400
CACHE = "\nnode { stage { [type.googleapis.com/penstock.Cache] { place: DEVICE bytes: 8589934592 } } }"


def smi(query, of="gpu"):
    """Rows of nvidia-smi's table."""
    text = subprocess.run(["nvidia-smi", f"--query-{of}={query}", "--format=csv,noheader,nounits"],
                          check=True, capture_output=True, text=True).stdout
    return [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]


def used_mib():
    return [int(row[0]) for row in smi("memory.used")]


def processes():
    """(pid, GPU's UUID) of all that nvidia-smi shows; in a container that may be nobody."""
    return {tuple(row) for row in smi("pid,gpu_uuid", of="compute-apps")}


class Checks:
    def __init__(self, bundle, data):
        self.bundle, self.data, self.failed = bundle, data, 0
        self.uuids = [row[0] for row in smi("uuid")]

    def command(self, graph, *flags):
        folder = "/cifar" if graph.startswith("cifar") else "/photos"
        return [f"{self.bundle}/bin/{graph}", f"--data={self.data}{folder}", "--progress=off", *flags]

    def run(self, command, **environment):
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})

    def check(self, name, why, good):
        self.failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {name}{'' if good else ': ' + str(why)}", flush=True)

    # F05: numbers that are not there.
    def absent_numbers(self):
        for visible, device, part in (
                ("0", "cuda:1", "asked for cuda:1, 1 device is visible (CUDA_VISIBLE_DEVICES=0)"),
                ("0", "cuda:99", "asked for cuda:99"), ("0", "cuda:-1", 'device "cuda:-1"'),
                ("0", "cuda:0,cuda:0", "expected each device once")):
            result = self.run(self.command("cifar10_train", f"--device={device}"), CUDA_VISIBLE_DEVICES=visible)
            self.check(f"{device} where CUDA_VISIBLE_DEVICES={visible}", result.stderr,
                       result.returncode == 2 and part in result.stderr)

    # F06: names of devices that are no numbers.
    def names(self):
        for uuid in self.uuids:
            result = self.run(self.command("cifar10_train", "--device=cuda:0", "--max_batches=20"),
                              CUDA_VISIBLE_DEVICES=uuid)
            self.check(f"CUDA_VISIBLE_DEVICES={uuid}", result.stderr, result.returncode == 0)

    def watch(self, command):
        """Runs it; gives its result, the most MiB used by GPU, and the UUIDs that have a new process."""
        before, seen, most = processes(), set(), used_mib()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            most = [max(pair) for pair in zip(most, used_mib())]
            seen |= {uuid for _, uuid in processes() - before}
        return process.returncode, process.stderr.read(), most, seen

    # F01: a run on cuda:1 alone leaves nothing on cuda:0, and neither does one that fails.
    def untouched(self, bad_data):
        slow = ("--device=cuda:1", "--epochs=3", "--compute_ms=5")
        bad = [f"{self.bundle}/bin/cifar10_train", f"--data={bad_data}", "--progress=off", *slow]
        for name, command, expected in (("a run", self.command("cifar10_train", *slow), 0), ("an error", bad, 1)):
            idle = used_mib()
            code, stderr, most, seen = self.watch(command)
            self.check(f"{name} on cuda:1 ends with {expected}", stderr, code == expected)
            self.check(f"{name} on cuda:1 takes memory there", (idle, most), most[1] > idle[1] + 10 * NOISE_MIB)
            self.check(f"{name} on cuda:1 takes none on cuda:0", (idle, most), most[0] <= idle[0] + NOISE_MIB)
            if seen:
                self.check(f"{name} on cuda:1 is a process there only", seen, seen == {self.uuids[1]})
            else:
                print(f"skipped: {name} on cuda:1 by process: nvidia-smi shows no processes here")

    # F02, F12: bytes, through kernels on both.
    def bytes(self):
        for graph in ("cifar10_train", "imagenet_train"):
            files = {}
            with tempfile.TemporaryDirectory() as temp:
                for devices in ("host", "cuda:1", "cuda:0,cuda:1"):
                    folder = f"{temp}/{devices}"
                    result = self.run(self.command(graph, f"--device={devices}", "--max_batches=9", "--seed=3",
                                                   f"--dump_npy={folder}"))
                    files[devices] = (result.returncode, result.stderr, contents(folder))
                expected = files.pop("host")
                for devices, got in files.items():
                    self.check(f"{graph} on {devices} as on the host", got[:2],
                               got[0] == 0 and len(expected[2]) > 0 and got[2] == expected[2])

    # Two processes share an epoch.
    def ranks(self):
        with tempfile.TemporaryDirectory() as temp:
            started = [subprocess.Popen(self.command(
                "cifar10_train", f"--device=cuda:{rank}", f"--rank={rank}", "--world=2", f"--dump_npy={temp}/{rank}",
                f"--stats_json={temp}/{rank}.json", "--set=collate.tail=PARTIAL"), stdout=subprocess.DEVNULL)
                for rank in range(2)]
            codes = [process.wait() for process in started]
            self.check("two ranks end well", codes, codes == [0, 0])
            ids = sorted(i for rank in range(2) for i in dumped_ids(f"{temp}/{rank}"))
            self.check("two ranks see each sample once", len(ids), ids == list(range(records(self.data + "/cifar"))))
            batches = [json.load(open(f"{temp}/{rank}.json"))["batches"] for rank in range(2)]
            self.check("two ranks have equally many batches", batches, batches[0] == batches[1] > 0)

    # I/O threads of a run on both are near them, by the kernel's own figures.
    def io_threads(self):
        allowed = os.sched_getaffinity(0)
        lists = [read_text(f"{gpu_folder(row[0])}/local_cpulist") for row in smi("pci.bus_id")[:2]]
        near = {frozenset(cpu_set(text) & allowed or allowed) for text in lists}
        command = self.command("imagenet_train", "--device=cuda:0,cuda:1", "--epochs=100000", "--compute_ms=20")
        found = self.look(command, io_threads_by_cpus)
        print(f"NUMA nodes: {len(glob.glob('/sys/devices/system/node/node[0-9]*')) or 1}; I/O threads: "
              f"{', '.join(f'{count} on CPUs {text}' for text, count in sorted(found.items()))}", flush=True)
        self.check("I/O threads are near the GPUs", lists, {frozenset(cpu_set(text)) for text in found} == near)

    # F07: with one GPU hidden, slabs still lie near the one that is used.
    def nodes(self):
        nodes = [gpu_node(row[0]) for row in smi("pci.bus_id")]
        if nodes[0] == nodes[1]:
            print(f"skipped: the node of slabs: both GPUs are on NUMA node {nodes[0]}")
            return
        command = self.command("imagenet_train", "--device=cuda:0", "--epochs=100000", "--compute_ms=20")
        pages = self.look(command, pages_of_largest, CUDA_VISIBLE_DEVICES="1")
        self.check(f"slabs lie on node {nodes[1]}", pages, max(pages, key=pages.get) == nodes[1])

    def look(self, command, at, **environment):
        """What `at` gives of the process once its first batches are done."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
        time.sleep(5)
        found = at(process.pid)
        process.terminate()
        process.wait()
        return found

    def rate(self, name, command, *flags):
        """Samples/s of one device and of two."""
        found = []
        for devices in ("cuda:0", "cuda:0,cuda:1"):
            with tempfile.NamedTemporaryFile() as stats:
                result = self.run([*command, f"--device={devices}", f"--stats_json={stats.name}", *flags])
                if result.returncode != 0:
                    self.check(name, result.stderr, False)
                    return
                found.append(json.load(open(stats.name)))
        one, two = (stats["samples_per_second"] for stats in found)
        cores = [stats["cpu_seconds"] / stats["seconds"] for stats in found]
        print(f"{name}: one device {one:,.0f}/s with {cores[0]:.1f} cores, two {two:,.0f}/s with {cores[1]:.1f}, "
              f"ratio {two / one:.2f}; {found[1]['verdict']}", flush=True)

    def rates(self):
        self.rate("cifar10_train", self.command("cifar10_train"), "--epochs=4000")
        print(f"reading alone: {read_rate(self.data + '/photos'):,.0f} files/s", flush=True)
        self.rate("imagenet_train", self.command("imagenet_train"), f"--epochs={JPEG_EPOCHS}")
        with open(f"{self.bundle}/graphs/imagenet_train.textproto", encoding="utf-8") as file:
            source = re.search(r"^node .*ReadImageFolder.*$", text := file.read(), re.M).group()
        with tempfile.NamedTemporaryFile("w", suffix=".textproto") as graph:
            graph.write(text.replace(source, source + CACHE))
            graph.flush()
            command = [f"{self.bundle}/bin/penstock", "run", graph.name, f"--data={self.data}/photos", "--progress=off"]
            self.rate("imagenet_train, kept on the device", command, f"--epochs={JPEG_EPOCHS}")
        subprocess.run([f"{self.bundle}/bin/link_bench", "0,1"], check=True)


def read_files(paths):
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        while os.read(descriptor, 1 << 20):
            pass
        os.close(descriptor)
    return len(paths)


def read_rate(folder):
    """Files/s of as many processes as there are cores, for those that read from the page cache."""
    paths = [f"{root}/{name}" for root, _, names in os.walk(folder) for name in names] * 20
    parts = [paths[i::4 * os.cpu_count()] for i in range(4 * os.cpu_count())]
    with multiprocessing.Pool() as pool:
        pool.map(read_files, [part[:9] for part in parts])  # All have started.
        start = time.time()
        return sum(pool.imap_unordered(read_files, parts)) / (time.time() - start)


def contents(folder):
    """All files by name."""
    found = {}
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        with open(f"{folder}/{name}", "rb") as file:
            found[name] = file.read()
    return found


def dumped_ids(folder):
    return [int(line.split("\t")[0]) for name in os.listdir(folder) if name.endswith(".ids.txt")
            for line in open(f"{folder}/{name}")]


def records(folder):
    return sum(os.path.getsize(f"{folder}/data_batch_{i}.bin") for i in range(1, 6)) // RECORD


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def cpu_set(text):
    """The kernel's "0-3,8" as a set."""
    ranges = [part.split("-") for part in text.split(",") if part]
    return {cpu for ends in ranges for cpu in range(int(ends[0]), int(ends[-1]) + 1)}


def io_threads_by_cpus(pid):
    """How many of a process's I/O threads may run on which CPUs, as the kernel lists them."""
    found = {}
    for task in glob.glob(f"/proc/{pid}/task/*"):
        status = read_text(f"{task}/status")
        if re.search(r"^Name:\s*penstock-io$", status, re.M):
            cpus = re.search(r"^Cpus_allowed_list:\s*(\S+)$", status, re.M).group(1)
            found[cpus] = found.get(cpus, 0) + 1
    return found


def gpu_folder(bus_id):
    """The kernel's folder of a GPU; nvidia-smi's domain has 8 digits, the kernel's 4."""
    domain, rest = bus_id.lower().split(":", 1)
    return f"/sys/bus/pci/devices/{domain[-4:]}:{rest}"


def gpu_node(bus_id):
    return int(read_text(f"{gpu_folder(bus_id)}/numa_node"))


def pages_of_largest(pid):
    """Of the mapping with the most memory: bytes by node."""
    best = {-1: 0}
    with open(f"/proc/{pid}/numa_maps") as maps:
        for line in maps:
            size = int(re.search(r"kernelpagesize_kB=(\d+)|$", line).group(1) or 4)
            nodes = {int(node): int(count) * size for node, count in re.findall(r"N(\d+)=(\d+)", line)}
            if sum(nodes.values()) > sum(best.values()):
                best = nodes
    return best


def make_bad(folder, source):
    """CIFAR-10 whose last record has no class."""
    for i in range(1, 6):
        data = np.fromfile(f"{source}/data_batch_{i}.bin", np.uint8)
        if i == 5:
            data[-RECORD] = 255
        data.tofile(f"{folder}/data_batch_{i}.bin")


def main(bundle, data, rates):
    checks = Checks(bundle, data)
    checks.absent_numbers()
    checks.names()
    if len(checks.uuids) < 2:
        print("skipped: contexts, bytes, ranks, I/O threads, nodes and rates of two GPUs: there is "
              f"{len(checks.uuids)} GPU")
    else:
        with tempfile.TemporaryDirectory() as bad:
            make_bad(bad, data + "/cifar")
            checks.untouched(bad)
        checks.bytes()
        checks.ranks()
        checks.io_threads()
        checks.nodes()
        if rates:
            checks.rates()
    print(f"{checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "rates" in sys.argv[3:])
