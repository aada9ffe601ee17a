// The headers that a kernel includes use this one instead of report.h: it compiles faster.
#pragma once

#include <source_location>

namespace emulator {

// A line of the kernel. Every function that a kernel calls takes one as its last, defaulted
// argument, and so knows its caller's file and line.
using Site = std::source_location;
#define EMULATOR_SITE emulator::Site where = emulator::Site::current()

} // namespace emulator
