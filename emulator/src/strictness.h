// What differs for programs that were not written for the emulator (translated.h). The rungs keep
// rules that are stricter than PTX's.
#pragma once

#include "emulator/report.h"

#include <vector_types.h>

namespace emulator {

// Whether this program is one of those.
extern bool translated_program;

// A mistake of a translated program that the user may allow by its name, in EMULATOR_ALLOW (all:
// every one of them): then it is printed once for each place, and the program goes on. Otherwise it
// ends the program, as fail() does.
void fail_unless_allowed(const char *name, Mistake mistake, const std::vector<Note> &notes,
                         const char *what, ...) __attribute__((format(printf, 4, 5)));

// For a report that an address in shared memory is not aligned: what a program that declares less
// alignment than it needs should know. "shared-alignment" among the allowed names aligns all of it.
std::string hint_on_alignment();

// A launch begins: its kernel's static __shared__ variables have no places yet. With the dynamic
// part they may take `most` bytes.
void forget_static_shared(std::size_t most);

// Whether an address is in a thread's local memory, and no __grid_constant__ parameter.
bool is_local(const void *address);

// A kernel's __cluster_dims__ and __launch_bounds__; 0 where it has none.
struct KernelBounds {
    dim3 cluster{0, 0, 0};
    int threads = 0; // at most, of a CTA
    int ctas = 0;    // at least, of a multiprocessor
};

// Those of a translated kernel: `call` asks it.
KernelBounds bounds_of_kernel(void (*call)(const void *context), const void *context);

} // namespace emulator
