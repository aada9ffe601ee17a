// Which thread wrote global memory.
#pragma once

#include "emulator/report.h"

#include <cstddef>
#include <cstdint>

namespace emulator {

// The output of the launches to come. A launch writes each of its elements once. An element that is
// written twice is work done twice, if the values are the same, or depends on the order of the two
// stores. From now on [begin, begin + bytes) is the output, of elements of 2 bytes or more; no
// bytes: there is none.
void output_watch(const void *begin, std::size_t bytes);

// A launch begins: nothing of the output has been written.
void output_launch();

// The thread has written these bytes, by a store or a plain access. HAZARD if the launch had
// written one of their elements before.
void output_written(const Thread &thread, const void *address, std::size_t bytes,
                    const Origin &where);

} // namespace emulator
