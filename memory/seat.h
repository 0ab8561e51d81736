// Seat: one credit with its two slabs.
#pragma once

#include <cstddef>
#include <memory>

namespace penstock {

// Lent by a SeatPool to one batch at a time. Whoever holds a seat may use its memory; nobody else
// does.
struct Seat {
  int index = 0;
  std::byte* host = nullptr;
  std::byte* device = nullptr;
  // Pageable memory for encoded bytes that go to a host form; grows to the largest batch seen and
  // is kept. Its owner resizes it.
  std::unique_ptr<std::byte[]> staging;
  size_t staging_bytes = 0;
};

}  // namespace penstock
