// The headers that a kernel includes use this one instead of report.h: it compiles faster.
#pragma once

#include <cstdint>
#include <source_location>

namespace emulator {

// A line of the kernel. Every function that a kernel calls takes one as its last, defaulted
// argument, and so knows its caller's file and line.
struct Site : std::source_location {
    std::uintptr_t pc = 0; // the machine code there, by which a report finds the calls around it

    Site() = default;
    Site(const std::source_location &line, std::uintptr_t pc)
        : std::source_location(line), pc(pc) {}
    [[gnu::always_inline]] static Site
    current(const std::source_location &line = std::source_location::current()) {
        std::uintptr_t pc = 0;
#if defined(__x86_64__)
        asm volatile("lea 0(%%rip), %0" : "=r"(pc)); // of the next instruction
#elif defined(__aarch64__)
        asm volatile("adr %0, .+4" : "=r"(pc));
#endif
        return {line, pc};
    }
};
#define EMULATOR_SITE emulator::Site where = emulator::Site::current()

} // namespace emulator
