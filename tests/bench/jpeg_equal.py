"""Checks on a GPU machine that images decoded on the device give the bytes that the host's plan gives.

    python3 jpeg_equal.py BUNDLE [--device=cuda:0] [--size=HxW] FOLDER ...

A FOLDER has one folder a class, as make_jpegs.py and make_data.py (photos) leave them. Graphs that evaluate and
train, in uint8 before normalisation and in float16, bfloat16 and float32 behind it, run with DecodeImage on the
device and on the host, and every delivered tensor is compared byte for byte; counts say who decoded. Of
make_jpegs.py the device must have decoded all of `taken` (but images of more than 2 megapixels, which may be too
large for it) and none of `refused`. --size: the one size of all images, which are then tried as they are, too.
Exits with 1 at a difference.
"""
import argparse
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile

LARGE = 2**21  # Pixels.
STATS = "mean: [0.485, 0.456, 0.406] std: [0.229, 0.224, 0.225]"
CHAINS = {
    "eval": "Resize { shorter_edge: 256 } CenterCrop { height: 224 width: 224 }",
    "train": "RandomResizedCrop { height: 224 width: 224 } RandomHorizontalFlip { }",
    "odd": "RandomResizedCrop { height: 61 width: 333 } RandomHorizontalFlip { probability: 0.8 }",
    "squeezed": "Resize { size { height: 97 width: 140 } }",
    "middle": "CenterCrop { height: 200 width: 180 }",
    "enlarged": "RandomResizedCrop { height: 352 width: 400 }",
}
ENDS = {"uint8": "", **{f"{dtype} {layout}": f"Normalize {{ {STATS} dtype: {dtype} layout: {layout} }}"
                        for dtype, layout in (("FLOAT16", "NCHW"), ("BFLOAT16", "NHWC"), ("FLOAT32", "NCHW"))}}
STAGE = re.compile(r"(\w+) (\{(?:[^{}]|\{[^}]*\})*\})")


def graph(chain, end, batch):
    stages = ("ReadImageFolder { root: '${data}' } DecodeImage { } " + chain +
              f" Collate {{ batch_size: {batch} tail: PARTIAL }} Upload {{ }} " + end).replace("${data}", "@")
    nodes = [f"node {{ stage {{ [type.googleapis.com/penstock.{name}] {options} }} }}"
             for name, options in STAGE.findall(stages)]
    return "order { shuffle: FULL }\nbatches_in_flight: 4\n" + "\n".join(nodes).replace("@", "${data}") + "\n"


def run(bundle, text, data, device, place, folder):
    """Runs a graph; its tensors go to `folder`. Gives its statistics, or None."""
    os.makedirs(folder)
    path, stats = folder + ".textproto", folder + ".json"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    result = subprocess.run(
        [f"{bundle}/bin/penstock", "run", path, f"--data={data}", f"--device={device}", "--seed=5",
         f"--set=decode_image.device={place}", f"--dump_npy={folder}/dump", f"--stats_json={stats}", "--progress=off"],
        capture_output=True, text=True)
    if result.returncode != 0:
        print(f"{place} on {device} ended with {result.returncode}: {result.stderr}")
        return None
    with open(stats, encoding="utf-8") as file:
        return json.load(file)


def counts(data):
    """How many images the device must decode at least, and the host: None where that isn't known."""
    if sorted(os.listdir(data)) != ["refused", "taken"]:
        return 1, 0
    sizes = [re.search(r"_(\d+)x(\d+)_", name) for name in os.listdir(data + "/taken")]
    small = [size for size in sizes if not size or int(size[1]) * int(size[2]) <= LARGE]
    return len(small), len(os.listdir(data + "/refused"))


def compare(bundle, name, text, data, device):
    with tempfile.TemporaryDirectory() as temp:
        host = run(bundle, text, data, "host", "HOST", temp + "/host")
        other = run(bundle, text, data, device, "DEVICE", temp + "/device")
        if not host or not other:
            return False
        names = sorted(os.listdir(temp + "/host/dump"))
        _, differ, missing = filecmp.cmpfiles(temp + "/host/dump", temp + "/device/dump", names, shallow=False)
        same = names and names == sorted(os.listdir(temp + "/device/dump")) and not differ and not missing
    least_device, least_host = counts(data)
    decoded, left = other["images_decoded_device"], other["images_decoded_host"]
    fair = (decoded >= least_device and left >= least_host and host["images_decoded_device"] == 0
            and decoded + left == host["images_decoded_host"] == other["samples"])
    print(f"{os.path.basename(data)} {name}: {len(names)} files, {decoded} decoded on the device, {left} on the host, "
          f"{'equal' if same else 'DIFFERENT: ' + ' '.join((differ + missing)[:5])}"
          f"{'' if fair else ', and the COUNTS are wrong'}", flush=True)
    return bool(same and fair)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--size", default="")
    flags = parser.parse_args()
    good = True
    for data in flags.folders:
        data = data.rstrip("/")
        for name, chain in CHAINS.items():
            # All number types for those that users have; uint8 and one more for the others.
            for end in ENDS if name in ("eval", "train") else ("uint8", "FLOAT16 NCHW"):
                good &= compare(flags.bundle, f"{name} {end}", graph(chain, ENDS[end], 64), data, flags.device)
        if flags.size:
            for end in ("uint8", "FLOAT16 NCHW"):
                shape = ", ".join(flags.size.split("x"))
                plain = graph("", ENDS[end], f"64 shape: [{shape}, 3]")
                good &= compare(flags.bundle, f"whole {end}", plain, data, flags.device)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
