"""Damages JPEG files in every way that occurs, and some more.

    python3 damage_jpegs.py IN OUT COUNT SEED [--most_bytes=65536]

OUT gets COUNT damaged copies of files from IN (below it, at most MOST_BYTES long), as NUMBER_KIND.jpg, and for
every three of them one good file, NUMBER_good.jpg: in the order of their names they share batches. The same
bytes for the same IN and SEED. Needs Python alone.
"""
import argparse
import os
import random
import re
import struct

GOOD_EACH = 4
RESTART = re.compile(rb"\xff[\xd0-\xd7]")


class Parts:
    """Where the parts of a JPEG file lie: (marker, begin, end) of segments, and the scan."""

    def __init__(self, content):
        self.segments, at = [], 2
        while content[at + 1] != 0xDA:
            end = at + 2 + struct.unpack(">H", content[at + 2:at + 4])[0]
            self.segments.append((content[at + 1], at, end))
            at = end
        self.sos = at
        self.scan = at + 2 + struct.unpack(">H", content[at + 2:at + 4])[0]
        self.end = len(content)
        self.restarts = [m.start() for m in RESTART.finditer(content, self.scan)]

    def within(self, *markers):
        """Offsets of the payloads of these segments."""
        return [i for marker, begin, end in self.segments if marker in markers for i in range(begin + 4, end)]


def flip(content, draw, places, most=3):
    content = bytearray(content)
    for _ in range(draw.randint(1, most)):
        content[draw.choice(places)] ^= 1 << draw.randrange(8)
    return bytes(content)


def cut(content, at, count=0, insert=b""):
    return content[:at] + insert + content[at + count:]


def noise(draw, count):
    return bytes(draw.randrange(256) for _ in range(count))


# Each takes content, its parts and random.Random, and gives damaged content.

def end_in_header(c, p, draw):
    return c[:draw.randint(0, p.scan)]


def end_at_segment(c, p, draw):
    return c[:draw.choice([begin for _, begin, _ in p.segments] + [p.sos, p.scan]) + draw.randint(0, 4)]


def end_in_scan(c, p, draw):
    return c[:draw.randint(p.scan, p.end)]


def end_near_end(c, p, draw):
    return c[:max(0, p.end - draw.randint(1, 20))]


def end_with_marker(c, p, draw):
    return end_in_scan(c, p, draw) + b"\xff\xd9"


def end_at_restart(c, p, draw):
    return c[:draw.choice(p.restarts) + draw.randint(0, 3)] if p.restarts else end_in_scan(c, p, draw)


def zeros_behind(c, p, draw):
    at = draw.randint(p.scan, p.end)
    return c[:at] + bytes(p.end - at)


def flip_anywhere(c, p, draw):
    return flip(c, draw, range(p.end), 8)


def flip_frame(c, p, draw):
    return flip(c, draw, p.within(0xC0, 0xC1), 1)


def flip_quantisation(c, p, draw):
    return flip(c, draw, p.within(0xDB))


def flip_huffman(c, p, draw):
    return flip(c, draw, p.within(0xC4))


def huffman_counts(c, p, draw):
    """A code gets another length; as many symbols are there as before."""
    content, (_, begin, _) = bytearray(c), draw.choice([part for part in p.segments if part[0] == 0xC4])
    lengths = range(begin + 5, begin + 21)
    content[draw.choice([i for i in lengths if content[i]])] -= 1
    content[draw.choice([i for i in lengths if content[i] < 255])] += 1
    return bytes(content)


def flip_lengths(c, p, draw):
    return flip(c, draw, [i for _, begin, _ in p.segments for i in range(begin, begin + 4)], 1)


def flip_scan_header(c, p, draw):
    return flip(c, draw, range(p.sos + 2, p.scan), 1)


def flip_scan_once(c, p, draw):
    return flip(c, draw, range(p.scan, p.end), 1)


def flip_scan(c, p, draw):
    return flip(c, draw, range(p.scan, p.end), 20)


def flip_late(c, p, draw):
    return flip(c, draw, range(max(p.scan, p.end - 12), p.end), 2)


def other_size(c, p, draw):
    begin = next(begin for marker, begin, _ in p.segments if 0xC0 <= marker <= 0xC2)
    height, width = struct.unpack(">HH", c[begin + 5:begin + 9])
    scale = draw.choice([0.5, 0.9, 1.1, 2, 4])
    size = [max(0, min(65535, int(side * scale) + draw.randint(-9, 9))) for side in (height, width)]
    return cut(c, begin + 5, 4, struct.pack(">HH", *size))


def no_segment(c, p, draw):
    _, begin, end = draw.choice(p.segments)
    return cut(c, begin, end - begin)


def restart_removed(c, p, draw):
    return cut(c, draw.choice(p.restarts), 2) if p.restarts else flip_scan(c, p, draw)


def restart_swapped(c, p, draw):
    if len(p.restarts) < 2:
        return flip_scan(c, p, draw)
    content, (a, b) = bytearray(c), draw.sample(p.restarts, 2)
    content[a + 1], content[b + 1] = content[b + 1], content[a + 1]
    return bytes(content)


def restart_other(c, p, draw):
    if not p.restarts:
        return flip_scan(c, p, draw)
    return cut(c, draw.choice(p.restarts) + 1, 1, bytes([0xD0 + draw.randrange(8)]))


def restart_twice(c, p, draw):
    at = draw.choice(p.restarts or [draw.randint(p.scan, p.end)])
    return cut(c, at, 0, b"\xff" + bytes([0xD0 + draw.randrange(8)]))


def interval_lost(c, p, draw):
    if len(p.restarts) < 2:
        return flip_scan(c, p, draw)
    i = draw.randrange(len(p.restarts) - 1)
    return cut(c, p.restarts[i], p.restarts[i + 1] - p.restarts[i])


def other_interval(c, p, draw):
    for marker, begin, _ in p.segments:
        if marker == 0xDD:
            return cut(c, begin + 4, 2, struct.pack(">H", draw.choice([0, 1, 2, 5, 100, 65535])))
    return cut(c, p.sos, 0, b"\xff\xdd\0\4" + struct.pack(">H", draw.randint(1, 50)))


def marker_in_scan(c, p, draw):
    return cut(c, draw.randint(p.scan, p.end), draw.choice([0, 2]), b"\xff" + bytes([draw.randint(1, 255)]))


def byte_ff(c, p, draw):
    return cut(c, draw.randint(p.scan, p.end - 1), 1, b"\xff")


def stuffing_lost(c, p, draw):
    places = [m.start() for m in re.finditer(rb"\xff\0", c[p.scan:])]
    return cut(c, p.scan + draw.choice(places) + 1, 1) if places else byte_ff(c, p, draw)


def fill_bytes(c, p, draw):
    return cut(c, draw.randint(p.scan, p.end), 0, b"\xff" * draw.randint(1, 9))


def bytes_lost(c, p, draw):
    return cut(c, draw.randint(p.scan, p.end), draw.randint(1, 40))


def bytes_inserted(c, p, draw):
    return cut(c, draw.randint(p.scan, p.end), 0, noise(draw, draw.randint(1, 40)))


def bytes_random(c, p, draw):
    count = draw.randint(1, 400)
    return cut(c, draw.randint(p.scan, p.end), count, noise(draw, count))


def block_of_zeros(c, p, draw):
    count = draw.choice([64, 512, 4096])
    return cut(c, draw.randint(p.scan, p.end), count, bytes(count))


def scan_random(c, p, draw):
    return c[:p.scan] + noise(draw, p.end - p.scan)


def scan_of_one_byte(c, p, draw):
    return c[:p.scan] + bytes([draw.choice([0, 0x55, 0xAA, 0xFE, 0xFF])]) * (p.end - p.scan)


def all_random(c, p, draw):
    return draw.choice([b"", c[:2], c[:20]]) + noise(draw, draw.randint(0, 2000))


def scan_twice(c, p, draw):
    return c[:p.end - 2] + c[p.sos:]


DAMAGES = [end_in_header, end_at_segment, end_in_scan, end_in_scan, end_near_end, end_with_marker, end_at_restart,
           zeros_behind, flip_anywhere, flip_frame, flip_quantisation, flip_huffman, huffman_counts, flip_lengths,
           flip_scan_header, flip_scan_once, flip_scan_once, flip_scan, flip_late, other_size, no_segment,
           restart_removed, restart_swapped, restart_other, restart_twice, interval_lost, other_interval,
           marker_in_scan, byte_ff, stuffing_lost, fill_bytes, bytes_lost, bytes_inserted, bytes_random,
           block_of_zeros, scan_random, scan_of_one_byte, all_random, scan_twice]


def sources(folder, most_bytes):
    paths = []
    for root, _, names in sorted(os.walk(folder)):
        paths += [os.path.join(root, name) for name in sorted(names) if name.lower().endswith((".jpg", ".jpeg"))]
    return [path for path in paths if os.path.getsize(path) <= most_bytes]


def make(into, out, count, seed, most_bytes):
    paths = sources(into, most_bytes)
    assert paths, f"{into}: no .jpg of at most {most_bytes} bytes"
    draw = random.Random(seed)
    # Of files with restart markers each third, whatever their share is.
    contents = {}
    with_restarts = [path for path in paths if "_r0" not in path] or paths
    os.makedirs(out, exist_ok=True)
    number = damaged = 0
    while damaged < count:
        path = draw.choice(with_restarts if number % 3 == 0 else paths)
        if path not in contents:
            with open(path, "rb") as file:
                contents[path] = file.read()
        content, kind = contents[path], "good"
        if number % GOOD_EACH:
            damage = DAMAGES[damaged % len(DAMAGES)]
            content, kind = damage(content, Parts(content), draw), damage.__name__
            damaged += 1
        with open(f"{out}/{number:06d}_{kind}.jpg", "wb") as file:
            file.write(content)
        number += 1
    print(f"{damaged} damaged files in {len(DAMAGES)} ways, {number - damaged} good ones")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("into", metavar="IN")
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--most_bytes", type=int, default=65536)
    flags = parser.parse_args()
    make(flags.into, flags.out, flags.count, flags.seed, flags.most_bytes)
