// What the instructions that copy check of the memory they name.
#pragma once

#include "emulator/report.h"

#include <cstddef>

namespace emulator {

// The current thread starts a copy, `copy`, from or to these bytes of global memory: fails with
// ADDRESS if they were freed or reach out of their allocation, as a plain access does.
void check_global(const void *begin, std::size_t bytes, const char *copy, Site where);

} // namespace emulator
