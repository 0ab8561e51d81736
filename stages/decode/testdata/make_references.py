#!/usr/bin/python3
"""Makes the image files of the decoders' tests, and what each must decode to.

Usage: make_references.py FOLDER

For each file X.jpg or X.png that has to decode, FOLDER gets X.ppm: the pixels that
another program gives (djpeg of libjpeg-turbo-progs, Pillow), or that the file was made
from. Files without a .ppm are damaged or refused; the tests know them by name.
"""

import io
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy as np
from PIL import Image

OUT = pathlib.Path(sys.argv[1])


def picture(width, height, seed=1):
    """A picture with smooth areas, edges and noise, as RGB."""
    rng = np.random.default_rng([seed, width, height])
    coarse = rng.integers(0, 256, (height // 9 + 2, width // 7 + 2, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.BICUBIC), np.int32)
    y, x = np.mgrid[0:height, 0:width]
    edges = (((x * 3 + y * 5) // 16) % 2 * 60)[..., None]
    noise = rng.integers(-12, 13, (height, width, 3))
    return np.clip(smooth + edges + noise, 0, 255).astype(np.uint8)


def ppm(pixels):
    height, width, _ = pixels.shape
    return b"P6\n%d %d\n255\n" % (width, height) + np.ascontiguousarray(pixels, np.uint8).tobytes()


def write(name, data, pixels=None):
    (OUT / name).write_bytes(data)
    if pixels is not None:
        (OUT / name).with_suffix(".ppm").write_bytes(ppm(pixels))


def run(*command, data):
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.decode()}")
    return done.stdout


def cjpeg(pixels, *options):
    return run("cjpeg", *options, data=ppm(pixels))


def write_jpeg(name, data):
    """A JPEG whose pixels are djpeg's."""
    (OUT / name).write_bytes(data)
    (OUT / name).with_suffix(".ppm").write_bytes(run("djpeg", "-rgb", "-pnm", data=data))


def pillow_rgb(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def segment(marker, payload):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(payload) + 2) + payload


def after_soi(data, *segments):
    return data[:2] + b"".join(segments) + data[2:]


def segments_of(data):
    """(marker, begin, end) of each segment up to the first scan's."""
    at, found = 2, []
    while True:
        end = at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
        found.append((data[at + 1], at, end))
        if data[at + 1] == 0xDA:
            return found
        at = end


def without(data, marker):
    for found, begin, end in reversed(segments_of(data)):
        if found == marker:
            data = data[:begin] + data[end:]
    return data


def adobe(transform):
    return segment(0xEE, b"Adobe\x00\x64\x00\x00\x00\x00" + bytes([transform]))


def with_size(data, width, height):
    begin = next(b for m, b, _ in segments_of(data) if 0xC0 <= m <= 0xC2)
    return data[:begin + 5] + struct.pack(">HH", height, width) + data[begin + 9:]


SAMPLINGS = ["1x1", "2x1", "1x2", "2x2", "4x1", "4x2", "1x4", "3x1", "1x3", "2x2,1x2,1x2",
             "1x2,1x2,1x2", "2x2,2x1,1x2", "1x1,2x2,2x2", "4x1,2x1,1x1"]
SIZES = [(61, 45), (17, 9), (130, 99), (1, 1), (3, 70), (90, 2), (5, 5)]


def jpeg_samplings():
    for sampling in SAMPLINGS:
        tag = sampling.replace(",", "_")
        for width, height in SIZES:
            pixels = picture(width, height)
            write_jpeg(f"s_{tag}_{width}x{height}.jpg", cjpeg(pixels, "-sample", sampling))
        pixels = picture(101, 77)
        for kind in ["progressive", "arithmetic", "optimize"]:
            write_jpeg(f"s_{tag}_{kind}.jpg", cjpeg(pixels, "-sample", sampling, "-" + kind))
        write_jpeg(f"s_{tag}_restart.jpg", cjpeg(pixels, "-sample", sampling, "-restart", "1"))
    for sampling in ["1x1", "2x2", "2x1"]:
        gray = ["-grayscale", "-sample", sampling]
        write_jpeg(f"gray_{sampling}.jpg", cjpeg(picture(64, 64), *gray))
        write_jpeg(f"gray_{sampling}_odd.jpg", cjpeg(picture(61, 45), *gray, "-progressive"))
    for quality in ["1", "50", "100"]:
        write_jpeg(f"quality_{quality}.jpg", cjpeg(picture(150, 90), "-quality", quality))
    write_jpeg("tall.jpg", cjpeg(picture(61, 760), "-sample", "2x2"))
    write_jpeg("arithmetic_progressive.jpg",
               cjpeg(picture(61, 45), "-arithmetic", "-progressive"))
    # A progressive file that ends, properly, before the last bits: libjpeg smooths its blocks.
    scans = OUT / "scans.txt"
    scans.write_text("0,1,2: 0-0, 0, 1;\n0: 1-9, 0, 2;\n")
    write_jpeg("smoothed.jpg", cjpeg(picture(101, 77), "-scans", str(scans)))
    # Each component has a scan of its own.
    scans.write_text("0;\n1;\n2;\n")
    write_jpeg("three_scans.jpg", cjpeg(picture(101, 77), "-scans", str(scans)))
    scans.unlink()


def jpeg_colours():
    for name, ink in [("cmyk_red", (0, 255, 255, 0)), ("cmyk_mixed", (40, 80, 120, 60))]:
        out = io.BytesIO()
        Image.new("CMYK", (16, 16), ink).save(out, "JPEG", quality=100)
        for tag, data in [("", out.getvalue()), ("_no_adobe", without(out.getvalue(), 0xEE))]:
            write(f"{name}{tag}.jpg", data, pillow_rgb(data))
    # YCCK, which Pillow cannot write: Y, Cb and Cr of the inks in place of C, M and Y, inverted here
    # because Pillow inverts what it stores, and Adobe's marker with transform 2.
    out = io.BytesIO()
    inks = [(255, 0, 0, 0), (0, 255, 0, 0), (0, 0, 255, 0), (40, 80, 120, 60), (0, 0, 0, 255)]
    patches = np.repeat(np.array(inks, np.uint8), 32, 0)[None].repeat(32, 0)
    ycc = np.asarray(Image.fromarray(patches[..., :3]).convert("YCbCr"))
    stored = np.dstack([255 - ycc, patches[..., 3:]])
    Image.fromarray(stored, "CMYK").save(out, "JPEG", quality=100)
    data = after_soi(without(out.getvalue(), 0xEE), adobe(2))
    write("ycck.jpg", data, pillow_rgb(data))

    plain = cjpeg(picture(61, 45), "-quality", "90")
    write_jpeg("colour_rgb.jpg", cjpeg(picture(61, 45), "-rgb", "-quality", "95"))
    write_jpeg("colour_adobe0.jpg", after_soi(without(plain, 0xE0), adobe(0)))
    write_jpeg("colour_jfif_adobe0.jpg",
               plain[:20] + adobe(0) + plain[20:])
    profile = bytes(range(256)) * 254
    icc = [segment(0xE2, b"ICC_PROFILE\0" + bytes([i + 1, 2]) + profile[i * 32512:(i + 1) * 32512])
           for i in range(2)]
    write_jpeg("icc.jpg", after_soi(plain, *icc))
    bad_exif = segment(0xE1, b"Exif\0\0II*\0\xff\xff\xff\x7f")
    write_jpeg("exif_bad.jpg", after_soi(plain, bad_exif, segment(0xE1, b"Ex")))


def jpeg_headers():
    plain = cjpeg(picture(61, 45))
    write_jpeg("header_long_comment.jpg", after_soi(plain, segment(0xFE, b"x" * 65533)))
    write_jpeg("header_many_apps.jpg", after_soi(plain, *[segment(0xE5, b"y" * 90)] * 20))
    write_jpeg("header_fill_bytes.jpg", plain[:2] + b"\xff\xff\xff" + plain[2:])
    dht = b"".join(plain[b:e] for m, b, e in segments_of(plain) if m == 0xC4)
    write_jpeg("header_dht_first.jpg", after_soi(without(plain, 0xC4), dht))
    sof = next(b for m, b, _ in segments_of(plain) if m == 0xC0)
    write("refused_12_bits.jpg", plain[:sof + 4] + b"\x0c" + plain[sof + 5:])
    write("refused_lossless.jpg", plain[:sof + 1] + b"\xc3" + plain[sof + 2:])
    write("refused_no_tables.jpg", without(plain, 0xDB))
    write("refused_no_codes.jpg", without(cjpeg(picture(61, 45), "-optimize"), 0xC4))
    write("bomb_65500.jpg", with_size(cjpeg(picture(16, 16)), 65500, 65500))
    flat = cjpeg(np.full((1000, 1000, 3), 90, np.uint8), "-progressive")
    last = flat.rindex(b"\xff\xda")
    write("bomb_scans.jpg", flat[:-2] + flat[last:-2] * 10000 + b"\xff\xd9")


def jpeg_damage():
    clean = cjpeg(picture(64, 64), "-quality", "90")
    write_jpeg("clean.jpg", clean)
    write("damaged_half.jpg", clean[:len(clean) // 2])
    write("damaged_header.jpg", clean[:200])
    write("fine_no_eoi.jpg", clean[:-2], pillow_rgb(clean))
    write("fine_trailer.jpg", clean[:-2] + b"SEFT\x01" * 800, pillow_rgb(clean))
    write("fine_zeros_behind.jpg", clean + bytes(1000) + b"text", pillow_rgb(clean))
    write("fine_second_jpeg.jpg", clean + cjpeg(picture(8, 8)), pillow_rgb(clean))
    write("fine_stray_byte.jpg", clean[:-2] + b"\x7f" + clean[-2:], pillow_rgb(clean))
    write("fine_stray_bytes.jpg", clean[:-2] + b"\x12\x9a" + clean[-2:], pillow_rgb(clean))
    scan = segments_of(clean)[-1][2]
    middle = scan + (len(clean) - scan) // 2
    write("damaged_marker.jpg", clean[:middle] + b"\xff\xd9" + clean[middle:])
    large = cjpeg(picture(300, 200), "-quality", "95")
    middle = len(large) // 2
    write("damaged_bad_code.jpg", large[:middle] + b"\xff\x00" * 8 + large[middle + 16:])

    restart = cjpeg(picture(61, 45), "-restart", "1")
    write_jpeg("restart.jpg", restart)
    rst0, rst1 = restart.index(b"\xff\xd0"), restart.index(b"\xff\xd1")
    write("fine_before_rst1.jpg", restart[:rst1] + b"\x01\x02\x03\x04\x05" + restart[rst1:],
          pillow_rgb(restart))
    write("damaged_no_rst1.jpg", restart[:rst1] + restart[rst1 + 2:])
    write("damaged_rst7.jpg", restart[:rst0] + b"\xff\xd7" + restart[rst0 + 2:])

    progressive = cjpeg(picture(64, 64), "-progressive")
    write("fine_progressive_no_eoi.jpg", progressive[:-2], pillow_rgb(progressive))
    last = progressive.rindex(b"\xff\xda")
    write("damaged_scan_missing.jpg", progressive[:last])
    write("damaged_scan_cut.jpg", progressive[:last + 40])


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
          (1, 0, 2, 1)]  # Row, column, row step, column step (PNG, 8.2).


def png_rows(samples, depth):
    """`samples`: height x width x channels, as the rows of one pass; filter 0."""
    rows = b""
    for row in samples:
        flat = row.reshape(-1)
        if depth == 16:
            rows += b"\0" + flat.astype(">u2").tobytes()
        else:
            bits = (flat[:, None] >> np.arange(depth - 1, -1, -1)) & 1
            rows += b"\0" + np.packbits(bits.astype(np.uint8).reshape(-1)).tobytes()
    return rows


def png(samples, colour, depth, interlaced=False, extra=b"", idat_bytes=1 << 20):
    height, width, _ = samples.shape
    data = png_rows(samples, depth)
    if interlaced:
        parts = [samples[y::dy, x::dx] for y, x, dy, dx in PASSES]
        data = b"".join(png_rows(part, depth) for part in parts if part.size)
    packed = zlib.compress(data)
    idat = [packed[i:i + idat_bytes] for i in range(0, len(packed), idat_bytes)]
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
            + extra + b"".join(chunk(b"IDAT", part) for part in idat) + chunk(b"IEND", b""))


GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6


def png_kinds():
    rng = np.random.default_rng(7)
    for tag, interlaced in [("", False), ("_adam7", True)]:
        for width, height in [(5, 3), (1, 1), (1, 7), (3, 2), (61, 45)]:
            name = f"{width}x{height}{tag}"
            for depth in [1, 2, 4, 8, 16]:
                gray = rng.integers(0, 1 << depth, (height, width, 1))
                value = gray >> 8 if depth == 16 else gray * 255 // ((1 << depth) - 1)
                write(f"gray{depth}_{name}.png", png(gray, GRAY, depth, interlaced),
                      value.repeat(3, 2))
                if depth == 16:
                    continue
                palette = rng.integers(0, 256, (1 << depth, 3), dtype=np.uint8)
                extra = chunk(b"PLTE", palette.tobytes()) + chunk(b"tRNS", b"\0\x80")
                write(f"palette{depth}_{name}.png",
                      png(gray % len(palette), PALETTE, depth, interlaced, extra),
                      palette[gray[..., 0]])
            for depth in [8, 16]:
                deep = rng.integers(0, 1 << depth, (height, width, 4))
                high = deep >> (depth - 8)
                write(f"rgb{depth}_{name}.png",
                      png(deep[..., :3], RGB, depth, interlaced, chunk(b"tRNS", bytes(6))),
                      high[..., :3])
                write(f"rgba{depth}_{name}.png", png(deep, RGBA, depth, interlaced), high[..., :3])
                write(f"la{depth}_{name}.png", png(deep[..., :2], GRAY_ALPHA, depth, interlaced),
                      high[..., :1].repeat(3, 2))
    gray = np.array([0, 255, 256, 32768, 65535]).reshape(1, 5, 1)
    write("strip16.png", png(gray, GRAY, 16), (gray >> 8).repeat(3, 2))
    la = np.array([10, 0, 200, 255]).reshape(1, 2, 2)
    write("alpha_dropped.png", png(la, GRAY_ALPHA, 8), la[..., :1].repeat(3, 2))
    out = io.BytesIO()
    Image.fromarray(picture(61, 45)).save(out, "PNG")  # All filter types.
    write("pillow.png", out.getvalue(), picture(61, 45))


def png_chunks_and_damage():
    pixels = picture(64, 48)
    profile = chunk(b"iCCP", b"bad\0\0" + b"not zlib") + chunk(b"gAMA", struct.pack(">I", 10000))
    broken_text = chunk(b"tEXt", b"a\0b")[:-1] + b"\0"
    write("fine_profile.png", png(pixels, RGB, 8, extra=profile), pixels)
    write("fine_text_crc.png", png(pixels, RGB, 8, extra=broken_text), pixels)
    for name, size in [("one", 1 << 20), ("small", 100)]:
        clean = png(pixels, RGB, 8, idat_bytes=size)
        write(f"clean_{name}.png", clean, pixels)
        crc = len(clean) - 12 - 1  # The last byte before IEND.
        write(f"damaged_crc_{name}.png",
              clean[:crc] + bytes([clean[crc] ^ 1]) + clean[crc + 1:])
        write(f"damaged_half_{name}.png", clean[:len(clean) // 2])
        write(f"damaged_last_idat_cut_{name}.png", clean[:crc - 20])
    packed = zlib.compress(png_rows(pixels, 8))
    head = clean[:33]
    flipped = packed[:-1] + bytes([packed[-1] ^ 1])
    for name, parts in [("one", [flipped]), ("apart", [flipped[:-4], flipped[-4:]])]:
        idat = b"".join(chunk(b"IDAT", part) for part in parts)
        write(f"damaged_adler_{name}.png", head + idat + chunk(b"IEND", b""))
    short = zlib.compress(png_rows(pixels[:40], 8))
    write("damaged_short.png", head + chunk(b"IDAT", short) + chunk(b"IEND", b""))
    write("fine_more_data.png",
          head + chunk(b"IDAT", zlib.compress(png_rows(pixels, 8) + bytes(500))) +
          chunk(b"IEND", b""), pixels)
    write("fine_more_packed.png",
          head + chunk(b"IDAT", packed + b"junk") + chunk(b"IEND", b""), pixels)
    write("damaged_window.png",
          head + chunk(b"IDAT", b"\x18\x19" + packed[2:]) + chunk(b"IEND", b""))
    bomb = struct.pack(">IIBBBBB", 100000, 100000, 8, RGB, 0, 0, 0)
    write("bomb.png", clean[:8] + chunk(b"IHDR", bomb) + chunk(b"IDAT", b"\0" * 12) +
          chunk(b"IEND", b""))


def other_formats():
    image = Image.fromarray(picture(16, 16))
    for name in ["GIF", "WebP", "BMP", "TIFF"]:
        out = io.BytesIO()
        image.save(out, name.upper())
        write(f"other_{name}.jpg", out.getvalue())


OUT.mkdir(parents=True, exist_ok=True)
jpeg_samplings()
jpeg_colours()
jpeg_headers()
jpeg_damage()
png_kinds()
png_chunks_and_damage()
other_formats()
