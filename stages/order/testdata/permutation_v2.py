"""Version 2 of the order of an epoch, written a second time from the comments of permutation.h.

Prints the numbers that permutation_test.cc pins; they must never change. Run it with
PYTHONPATH=stages/testdata.
"""

import draws


def mix(value):
    """The 32-bit finalizer of MurmurHash3."""
    value ^= value >> 16
    value = value * 0x85EBCA6B & draws.MASK32
    value ^= value >> 13
    value = value * 0xC2B2AE35 & draws.MASK32
    return value ^ value >> 16


def permutation(size, seed, epoch, positions):
    """Six Feistel rounds over the next even power of two (at least 2^8), walked until below `size`."""
    bits = max(1, (max(size, 2) - 1).bit_length())
    half = max(4, (bits + 1) // 2)
    mask = (1 << half) - 1
    seed_words = (seed & draws.MASK32, seed >> 32)
    keys = [
        draws.philox4x32((epoch & draws.MASK32, epoch >> 32, half, step), seed_words)[0]
        for step in range(6)
    ]

    def encrypt(value):
        left, right = value >> half, value & mask
        for key in keys:
            left, right = right, left ^ (mix(right ^ key) & mask)
        return left << half | right

    order = []
    for position in positions:
        value = encrypt(position)
        while value >= size:
            value = encrypt(value)
        order.append(value)
    return order


def fnv1a(numbers):
    value = 0xCBF29CE484222325
    for number in numbers:
        value = ((value ^ number) * 0x100000001B3) & draws.MASK64
    return value


def main():
    for size, seed, epoch in ((1, 0, 0), (2, 0, 0), (10, 0, 0), (10, 0, 1), (10, 1 << 40, 0)):
        order = permutation(size, seed, epoch, range(size))
        print(f"{size} seed {seed} epoch {epoch}: {order}")
    order = permutation(50000, 7, 3, range(50000))
    print(f"50000 seed 7 epoch 3: {order[:8]}, hash {fnv1a(order):#x}")
    for size in (1281167, 10**12, 1 << 62):
        order = permutation(size, 7, 1 << 33, (0, 1, size // 2, size - 1))
        print(f"{size} seed 7 epoch 2^33, first, second, middle, last: {order}")


if __name__ == "__main__":
    main()
