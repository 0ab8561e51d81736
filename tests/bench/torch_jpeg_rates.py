"""PyTorch's loaders on a class folder of JPEGs: RandomResizedCrop 224 and flip, in device memory as float16.

    python3 torch_jpeg_rates.py FOLDER OUT.json [SECONDS]

"uint8": torchvision's decode_image, uint8 until the GPU, which normalises: its fastest way. "Pillow": the usual
one. 16 workers (or as many as there are cores), pin_memory, persistent, batches of 256, each measured for SECONDS
(3) once what was prefetched is used up. OUT.json gets name and images/s.
"""
import json
import os
import sys
import time

import torch
import torchvision.io
import torchvision.transforms.v2 as transforms
from PIL import Image
from torch.utils.data import DataLoader, Dataset

BATCH, PREFETCH = 256, 4
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Photographs(Dataset):
    def __init__(self, folder, way):
        self.paths = sorted(entry.path for root in os.scandir(folder) for entry in os.scandir(root.path))
        self.way = way
        steps = [transforms.RandomResizedCrop(224, antialias=True), transforms.RandomHorizontalFlip()]
        if way == "Pillow":
            steps += [transforms.ToImage(), transforms.ToDtype(torch.float32, scale=True),
                      transforms.Normalize(MEAN, STD)]
        self.transform = transforms.Compose(steps)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        if self.way == "Pillow":
            return self.transform(Image.open(self.paths[i]).convert("RGB")), i
        content = torchvision.io.read_file(self.paths[i])
        return self.transform(torchvision.io.decode_image(content, mode="RGB")), i


def rate(folder, way, seconds):
    torch.set_num_threads(1)
    workers = min(16, os.cpu_count())
    loader = DataLoader(Photographs(folder, way), batch_size=BATCH, shuffle=True, num_workers=workers, pin_memory=True,
                        persistent_workers=True, prefetch_factor=PREFETCH, drop_last=True)
    mean = torch.tensor(MEAN, device="cuda").view(1, 3, 1, 1) * 255
    std = torch.tensor(STD, device="cuda").view(1, 3, 1, 1) * 255
    batches, start = 0, 0.0
    for number, (image, _) in enumerate(loader):
        image = image.cuda(non_blocking=True)
        image = ((image.float() - mean) / std).half() if way == "uint8" else image.half()
        if number == workers * PREFETCH:  # From here on, batches come as they are made.
            torch.cuda.synchronize()
            start = time.time()
        elif start:
            batches += 1
            if time.time() - start > seconds:
                break
    torch.cuda.synchronize()
    return batches * BATCH / (time.time() - start)


if __name__ == "__main__":
    SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 3
    RATES = {f"PyTorch {way}": rate(sys.argv[1], way, SECONDS) for way in ("uint8", "Pillow")}
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        json.dump(RATES, out)
