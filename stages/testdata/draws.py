"""Penstock's random numbers written a second time, for tests to compare with.

Philox4x32-10 follows Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3"
(SC'11); the rest follows the comments of stages/random.h.
"""

MASK32 = (1 << 32) - 1
MASK64 = (1 << 64) - 1


def philox4x32(counter, key):
    """Ten rounds over four 32-bit words under a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0 = 0xD2511F53 * c0
        p1 = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (
            (p1 >> 32) ^ c1 ^ k0,
            p1 & MASK32,
            (p0 >> 32) ^ c3 ^ k1,
            p0 & MASK32,
        )
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


def random_key(name):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK64
    return value


class Random:
    """The draws of one node for one sample."""

    def __init__(self, seed, epoch, sample, key):
        mixed = philox4x32(
            (key & MASK32, key >> 32, sample >> 32, epoch >> 32),
            (seed & MASK32, seed >> 32),
        )
        self._key = mixed[:2]
        self._counter = [0, sample & MASK32, epoch & MASK32, mixed[2]]
        self._block = []

    def bits(self):
        if not self._block:
            self._block = list(philox4x32(self._counter, self._key))
            self._counter[0] += 1
        return self._block.pop(0)

    def uniform_int(self, n):
        """One of range(n): products that would favour some values are drawn again."""
        while True:
            product = self.bits() * n
            if (product & MASK32) >= (1 << 32) % n:
                return product >> 32

    def uniform01(self):
        high = self.bits()
        return ((high << 32 | self.bits()) >> 11) / (1 << 53)

    def uniform(self, low, high):
        return low + (high - low) * self.uniform01()
