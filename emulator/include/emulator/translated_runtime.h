// What programs that were not written for the emulator (translated.h) need of the runtime.
#pragma once

#include "emulator/site.h"

#include <vector_types.h>

#include <cstddef>

namespace emulator {

// Takes the policy from the environment: EMULATOR_POLICY=lazy, or random with EMULATOR_SEED=3.
// Returns true.
bool policy_from_environment();

// Says that this program is one, and takes its policy from the environment. EMULATOR_ALLOW names
// what is reported once and does not end the program. Returns true.
bool begin_translated_program();

// The __shared__ variables of one declaration, in the current CTA's shared memory. Each type has
// its place, from its first use in a launch on.
void *static_shared(const void *type, std::size_t bytes, std::size_t alignment, Site where);

// The program declares dynamic shared memory of this alignment. All of it begins at an address that
// is aligned to the largest one, of 16 at least, and no better: a kernel that needs more has to
// ask.
bool declare_dynamic_shared(std::size_t alignment);

// A __grid_constant__ parameter of the current thread's kernel: TMA may read a map there.
void grid_constant(const void *parameter, std::size_t bytes);

// Whether a launch only asks the kernel for its attributes, which are noted: __cluster_dims__, and
// __launch_bounds__, of which the third is not used.
bool describes_kernel(dim3 cluster = dim3(0, 0, 0), int threads = 0, int ctas = 0,
                      int cluster_ctas = 0);

} // namespace emulator
