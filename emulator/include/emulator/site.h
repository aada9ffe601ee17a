// The headers that a kernel includes use this one instead of report.h: it compiles faster.
#pragma once

#include <cstdint>
#include <source_location>

// In a namespace of its own, so that a call with a Site finds none of emulator's functions.
namespace emulator::site {
// A line of the kernel. Every function that a kernel calls takes one as its last, defaulted
// argument, and so knows its caller's file and line.
struct Site : std::source_location {
    std::uintptr_t pc = 0; // the machine code after it, by which a report finds the calls around it

    [[gnu::always_inline]] static Site
    current(std::source_location line = source_location::current()) {
        Site site{line};
#if defined(__x86_64__)
        asm volatile("lea 0(%%rip), %0" : "=r"(site.pc));
#elif defined(__aarch64__)
        asm volatile("adr %0, .+4" : "=r"(site.pc));
#endif
        return site;
    }
};
} // namespace emulator::site

namespace emulator {
using site::Site;
#define EMULATOR_SITE emulator::Site where = emulator::Site::current()
} // namespace emulator
