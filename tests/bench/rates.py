"""Rates of the prebuilt graphs beside PyTorch's DataLoader, on the same files in the same call.

    python3 rates.py BUNDLE DATA [--device=cuda:0] [--epochs=5]

DATA is what make_data.py wrote. Prints one line a loader: samples a second, delivered in device memory, and
the ratio to PyTorch's best setting. PyTorch: 16 workers, pin_memory, persistent workers, non_blocking copies.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

CIFAR_STATS = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
IMAGENET_STATS = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def penstock(bundle, graph, data, device, epochs, *more):
    with tempfile.TemporaryDirectory() as temp:
        stats = temp + "/stats.json"
        subprocess.run([f"{bundle}/bin/{graph}", f"--data={data}", f"--device={device}", f"--epochs={epochs}",
                        f"--stats_json={stats}", "--progress=off", *more], check=True, stdout=subprocess.DEVNULL)
        with open(stats) as file:
            return json.load(file)


# A loader's epoch must be long beside what it prefetches (workers x prefetch_factor batches), or its rate is
# that of taking finished batches off a queue.
MIN_EPOCH_BATCHES = 200


def torch_rate(dataset, batch, workers, epochs):
    import torch
    from torch.utils.data import ConcatDataset, DataLoader
    repeats = -(-MIN_EPOCH_BATCHES * batch // len(dataset))
    loader = DataLoader(ConcatDataset([dataset] * repeats), batch_size=batch, shuffle=True, drop_last=True,
                        num_workers=workers, pin_memory=True, persistent_workers=True, prefetch_factor=2)
    best = 0
    for _ in range(epochs):
        start, samples = None, 0
        for image, label in loader:
            image, label = image.cuda(non_blocking=True), label.cuda(non_blocking=True)
            if start is None:  # Workers start, and the first batch is their latency.
                torch.cuda.synchronize()
                start = time.time()
            else:
                samples += len(label)
        torch.cuda.synchronize()
        best = max(best, samples / (time.time() - start))
    return best


def torch_cifar(folder):
    import numpy as np
    import torchvision.transforms as T
    from PIL import Image
    from torch.utils.data import Dataset
    records = np.concatenate([np.fromfile(f"{folder}/data_batch_{i}.bin", np.uint8) for i in range(1, 6)])
    records = records.reshape(-1, 3073)
    images = np.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    transform = T.Compose([T.RandomCrop(32, 4), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(*CIFAR_STATS)])

    class Cifar(Dataset):
        def __len__(self):
            return len(images)

        def __getitem__(self, i):
            return transform(Image.fromarray(images[i])), int(records[i, 0])
    return Cifar()


def torch_photos(folder, train):
    import torchvision.transforms as T
    from torchvision.datasets import ImageFolder
    end = [T.ToTensor(), T.Normalize(*IMAGENET_STATS)]
    start = ([T.RandomResizedCrop(224), T.RandomHorizontalFlip()] if train
             else [T.Resize(256), T.CenterCrop(224)])
    return ImageFolder(folder, T.Compose(start + end))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle")
    parser.add_argument("data")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--epochs", type=int, default=20)
    flags = parser.parse_args()
    workers = os.cpu_count()
    torch_epochs = 2  # The better one counts; the first pays for the workers' start.
    cifar, photos = flags.data + "/cifar", flags.data + "/photos"
    kept_epochs = 20 * flags.epochs  # Of milliseconds.
    cases = [("cifar10_train", cifar, torch_cifar(cifar), 128, kept_epochs),
             ("imagenet_train", photos, torch_photos(photos, True), 256, flags.epochs),
             ("imagenet_eval", photos, torch_photos(photos, False), 256, flags.epochs)]
    for graph, data, dataset, batch, epochs in cases:
        stats = penstock(flags.bundle, graph, data, flags.device, epochs)
        ours = stats["samples_per_second"]
        theirs = torch_rate(dataset, batch, workers, torch_epochs)
        print(f"{graph}: Penstock {ours:,.0f}/s, PyTorch ({workers} workers, pinned) {theirs:,.0f}/s, "
              f"ratio {ours / theirs:.1f}; first batch {stats['first_batch_seconds']:.3f} s, "
              f"start-up {stats['startup_seconds']:.3f} s, cpu {stats['cpu_seconds'] / stats['seconds']:.1f} cores, "
              f"host writes a byte {stats['host_writes_per_byte']}, "
              f"driver allocations {stats['driver_allocations_after_warmup']}; {stats['verdict']}", flush=True)


if __name__ == "__main__":
    main()
