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
void fail_unless_allowed(const char *name, Mistake mistake, const std::string &what,
                         const std::vector<Note> &notes);

// A launch begins: its kernel's static __shared__ variables have no places yet.
void forget_static_shared();

// Whether an address is in a thread's local memory, and no __grid_constant__ parameter.
bool is_local(const void *address);

// The __cluster_dims__ of a translated kernel, 0 if it has none: `call` asks it.
dim3 cluster_described_by(void (*call)(const void *context), const void *context);

} // namespace emulator
