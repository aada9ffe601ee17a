// What the CUDA headers of include/, the emulator's device headers and programs that were not
// written for the emulator (translated.h) need of the runtime.
#pragma once

#include "emulator/site.h"

#include <cuda_runtime_api.h>
#include <vector_types.h>

#include <cstddef>
#include <cstdint>

struct cudaLaunchConfig_st;

namespace emulator {
// Runs the kernel over the launch's grid, each thread calling call(context), if CUDA would start
// it. `kernel` tells which one it is. The context, of `bytes`, holds its parameters.
cudaError_t launch_kernel(const cudaLaunchConfig_st &config, const void *kernel,
                          void (*call)(const void *context), const void *context,
                          std::size_t bytes);

// How many clusters as configured are resident at once, 0 if none fits.
cudaError_t most_active_clusters(int *clusters, const void *kernel,
                                 const cudaLaunchConfig_st &config);

// Multiprocessors of the emulated device: as many clusters of one CTA are resident at once.
constexpr int MULTIPROCESSORS = 4;

// How many CTAs of that many threads and bytes of shared memory fit on a multiprocessor.
cudaError_t blocks_per_multiprocessor(int *blocks, int threads, std::size_t shared);

// Whether a copy to or from a variable of `size` bytes stays inside of it.
cudaError_t check_symbol(std::size_t offset, std::size_t bytes, std::size_t size);

// A launch by a kernel's address alone, whose parameters are not known: says so, and fails.
cudaError_t unknown_kernel();

// The shared address of an object in the current CTA's shared memory; fails with ADDRESS for
// anything else. (cvta.to.shared)
std::uint32_t shared_address(const void *object, Site where);

// The current CTA's dynamic shared memory; MISUSE if the launch requested less than `bytes`.
void *dynamic_shared(std::size_t bytes, Site where);

// The address of the object's place in the shared memory of CTA `rank`, which the threads of this
// CTA may access. (mapa.u64)
void *cluster_address(const void *object, int rank, Site where);

// The current CTA's rank in its cluster, and the cluster's CTAs.
int cluster_cta_rank();
int cluster_ctas();

// Waits for all threads of the launch: MISUSE if it has more than one cluster.
void grid_sync(Site where);

// griddepcontrol.wait: the launches before this one have ended.
void wait_for_launch_before();

// fence.proxy.async, of shared memory and of global memory: what the current thread did there by
// the generic proxy comes before what the async proxy does afterwards.
void fence_proxy_async(bool shared = true, bool global = false);

// setmaxnreg.inc (more) and .dec: MISUSE for a number that it does not take. A launch begins, of
// CTAs of `threads`, `ctas` of which must fit on a multiprocessor.
void setmaxnreg(bool more, int registers, Site where);
void set_register_pool(int threads, int ctas);

// How the plain reads of a thread are meant while one of these exists: they load a matrix, of which
// parts outside of the problem need not have been written; or what the kernel never writes
// (ld.global.nc).
inline bool matrix_read = false, constant_read = false;
template <bool &READ>
struct Reads { // no memory of the kernel's: the hooks of accesses.cpp must not see it
    __attribute__((no_sanitize("thread"))) Reads() { READ = true; }
    __attribute__((no_sanitize("thread"))) ~Reads() { READ = false; }
};
using MatrixRead = Reads<matrix_read>;
using ConstantRead = Reads<constant_read>;

// Lets other threads go first, perhaps. (__nanosleep)
void sleep();

// Emulated steps, the time of a trace: they show only what came before what. The number of this
// step, one more than the last one's.
std::uint32_t next_step();
void clock_read(Site where); // what a thread does then depends on the order

// Whether the pointer is one into the current CTA's shared memory.
bool is_shared(const void *address);

// ---------------------------------------------------------------------------- translated programs
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
// is aligned to the largest one, of 32 at least, and no better: a kernel that needs more has to
// ask.
bool declare_dynamic_shared(std::size_t alignment);

// A __grid_constant__ parameter of the current thread's kernel: TMA may read a map there.
void grid_constant(const void *parameter, std::size_t bytes);

// Whether a launch only asks the kernel for its attributes, which are noted: __cluster_dims__, and
// __launch_bounds__, of which the third is not used.
bool describes_kernel(dim3 cluster = dim3(0, 0, 0), int threads = 0, int ctas = 0,
                      int cluster_ctas = 0);
} // namespace emulator
