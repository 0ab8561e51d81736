"""Version 1 of the order of an epoch, written a second time from the comments of epoch.h.

Prints the numbers that epoch_test.cc pins; they must never change. Run it with
PYTHONPATH=stages/testdata.
"""

import draws


def permutation(size, seed, epoch, position):
    """Six Feistel rounds over the next even power of two, walked until below `size`."""
    bits = max(1, (max(size, 2) - 1).bit_length())
    half = (bits + 1) // 2
    mask = (1 << half) - 1
    key = (seed & draws.MASK32, seed >> 32)
    value = position
    while True:
        left, right = value >> half, value & mask
        for step in range(6):
            counter = (right & draws.MASK32, epoch & draws.MASK32, epoch >> 32, step)
            left, right = right, left ^ (draws.philox4x32(counter, key)[0] & mask)
        value = left << half | right
        if value < size:
            return value


def fnv1a(numbers):
    value = 0xCBF29CE484222325
    for number in numbers:
        value = ((value ^ number) * 0x100000001B3) & draws.MASK64
    return value


def main():
    for size, seed, epoch in ((1, 0, 0), (2, 0, 0), (10, 0, 0), (10, 0, 1), (10, 1 << 40, 0)):
        order = [permutation(size, seed, epoch, i) for i in range(size)]
        print(f"{size} seed {seed} epoch {epoch}: {order}")
    order = [permutation(50000, 7, 3, i) for i in range(50000)]
    print(f"50000 seed 7 epoch 3: {order[:8]}, hash {fnv1a(order):#x}")
    for size in (1281167, 10**12, 1 << 62):
        order = [permutation(size, 7, 1 << 33, i) for i in (0, 1, size // 2, size - 1)]
        print(f"{size} seed 7 epoch 2^33, first, second, middle, last: {order}")


if __name__ == "__main__":
    main()
