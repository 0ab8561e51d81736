#!/usr/bin/env python3
"""What DALI makes of a folder of photographs: RandomResizedCrop 224, flip, normalised float16 NCHW.

  PYTHONPATH=WHERE_DALI_IS dali_rates.py FOLDER [SECONDS]

The settings are the best that were found on a machine with one H200 and 16 cores: its hardware decoder beside
the host's threads, and the host alone. Prints one line a setting, `NAME: N images/s`. Not run where DALI is
not installed, which it says.
"""

import pathlib
import sys
import time

BATCH, WARM_UP_BATCHES = 256, 6
SETTINGS = [  # Name, device, threads, share of the hardware decoder.
    ("mixed, 8 threads, hardware 0.9", "mixed", 8, 0.9),
    ("mixed, 4 threads, hardware 1.0", "mixed", 4, 1.0),
    ("host, 16 threads", "cpu", 16, None),
]


def make_pipeline(dali, files, device, threads, hardware):
    fn, types = dali.fn, dali.types

    @dali.pipeline_def(batch_size=BATCH, num_threads=threads, device_id=0, prefetch_queue_depth=3, exec_dynamic=True)
    def photos():
        encoded, label = fn.readers.file(
            files=files, labels=list(range(len(files))), random_shuffle=True, initial_fill=2048, name="reader"
        )
        hints = {}
        if device == "mixed":
            hints = dict(hw_decoder_load=hardware, preallocate_width_hint=500, preallocate_height_hint=375)
        image = fn.decoders.image_random_crop(
            encoded,
            device=device,
            output_type=types.RGB,
            random_aspect_ratio=[0.75, 4 / 3],
            random_area=[0.08, 1.0],
            num_attempts=10,
            **hints,
        )
        image = fn.resize(image.gpu(), size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=True)
        image = fn.crop_mirror_normalize(
            image,
            dtype=types.FLOAT16,
            output_layout="CHW",
            mean=[123.675, 116.28, 103.53],
            std=[58.395, 57.12, 57.375],
            mirror=fn.random.coin_flip(),
        )
        return image, label.gpu()

    return photos()


def rate(dali, files, seconds, device, threads, hardware):
    pipeline = make_pipeline(dali, files, device, threads, hardware)
    pipeline.build()
    for _ in range(WARM_UP_BATCHES):
        pipeline.run()
    start, batches = time.time(), 0
    while time.time() - start < seconds:
        outputs = pipeline.run()
        if batches == 0:
            for output in outputs:
                output.as_cpu()
        batches += 1
    pipeline.run()[0].as_cpu()  # All before it is done then.
    return (batches + 1) * BATCH / (time.time() - start)


def main():
    folder, seconds = pathlib.Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    try:
        import nvidia.dali as dali
    except ImportError as error:
        print(f"DALI: not run ({error})")
        return
    files = sorted(str(path) for path in folder.rglob("*.jpg"))
    for name, device, threads, hardware in SETTINGS:
        images = rate(dali, files, seconds, device, threads, hardware)
        print(f"DALI {dali.__version__}, {name}: {images:.0f} images/s", flush=True)


if __name__ == "__main__":
    main()
