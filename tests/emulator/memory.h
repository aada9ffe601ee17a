// For the tests of shared memory, mbarriers and plain accesses: a kernel's shared memory, seen from
// inside.
#pragma once

#include "units.h"

// What a report says beyond its first line.
inline void expect_report(const char *words, const std::function<void()> &kernels) {
    const Outcome outcome = outcome_of(kernels);
    EXPECT(outcome.status == 1 && outcome.report.find(words) != std::string::npos,
           "status %d, no '%s' in: %s", outcome.status, words, outcome.report.c_str());
}

inline void in_one_thread(const std::function<void()> &body) { run_kernel(1, 1, 8192, body); }

inline SharedMemory &shared() { return current->cta->shared; }

// Where the dynamic part begins: behind the static variables.
inline std::uint32_t dynamic_offset() { return shared().offset_of(shared().dynamic()); }
