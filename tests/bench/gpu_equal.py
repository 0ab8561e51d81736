"""Checks on a GPU machine that a graph delivers the same bytes on cuda:0 as on the host.

    python3 gpu_equal.py BUNDLE DATA [GRAPH ...]

For each graph, float32 and float16: runs it on both devices with the same seed and compares every delivered
tensor byte for byte. Exits with 1 at a difference.
"""
import filecmp
import os
import subprocess
import sys
import tempfile


def dump(bundle, graph, data, device, dtype, folder):
    subprocess.run(
        [f"{bundle}/bin/{graph}", f"--data={data}", f"--device={device}", "--seed=5", "--max_batches=6",
         f"--set=normalize.dtype={dtype}", f"--dump_npy={folder}", "--progress=off"],
        check=True, stdout=subprocess.DEVNULL)


def main(bundle, root, graphs):
    failed = False
    for graph in graphs:
        data = root + ("/cifar" if graph.startswith("cifar") else "/photos")
        for dtype in ("FLOAT32", "FLOAT16", "BFLOAT16"):
            with tempfile.TemporaryDirectory() as temp:
                host, cuda = temp + "/host", temp + "/cuda"
                dump(bundle, graph, data, "host", dtype, host)
                dump(bundle, graph, data, "cuda:0", dtype, cuda)
                names = sorted(os.listdir(host))
                _, differ, missing = filecmp.cmpfiles(host, cuda, names, shallow=False)
                good = names and names == sorted(os.listdir(cuda)) and not differ and not missing
                print(f"{graph} {dtype}: {len(names)} files, {'equal' if good else 'DIFFERENT'}", flush=True)
                failed = failed or not good
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2],
         sys.argv[3:] or ["cifar10_train", "cifar10_eval", "imagenet_train", "imagenet_eval"])
