// Whether a file is better read past the page cache.
#pragma once

#include <cstdint>

namespace penstock {

// Memory that the page cache may fill, bytes: what is available on the machine, or within the
// cgroup if that is less. INT64_MAX where neither can be read.
int64_t AvailableMemory();

// The share of a file that is in the page cache, 0 to 1, by pages spread over it. 1 where the
// kernel does not say: it tells only those who may write the file.
double ResidentShare(int descriptor, int64_t bytes);

// True for a file that is cold (less than half of it is resident) and would not stay if it were
// read (it is larger than half of AvailableMemory()). A cold file that does fit is worth caching:
// from the second epoch on it comes from memory, ten times as fast or more, and the first loses
// nothing by it (measured: rows of 1 MiB and of 100 KB in random order from a disk of 1.5 GB/s;
// past the cache they take half of the CPU's time, and no less time). A file that is resident comes
// from memory anyway. Small files always have false.
bool OutgrowsPageCache(int descriptor);

}  // namespace penstock
