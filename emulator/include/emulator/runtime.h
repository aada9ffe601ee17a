// What the CUDA headers of include/ and the emulator's device headers need of the runtime.
#pragma once

#include "emulator/site.h"

#include <cstddef>
#include <cstdint>

struct cudaLaunchConfig_st;

namespace emulator {

// Runs the kernel over the launch's grid, each thread calling call(context), if CUDA would start
// it; returns a cudaError_t. `kernel` tells which one it is.
int launch_kernel(const cudaLaunchConfig_st &config, const void *kernel,
                  void (*call)(const void *context), const void *context);

// How many clusters as configured are resident at once, 0 if none fits; returns a cudaError_t.
int most_active_clusters(int *clusters, const void *kernel, const cudaLaunchConfig_st &config);

// Remembers an error for cudaGetLastError, and returns it.
int failed(int error);

// The shared address of an object in the current CTA's shared memory; fails with ADDRESS for
// anything else. (cvta.to.shared)
std::uint32_t shared_address(const void *object, Site where);

// The current CTA's dynamic shared memory; MISUSE if the launch requested less than `bytes`.
void *dynamic_shared(std::size_t bytes, Site where);

// Reads what CTA `rank` of the cluster has at the object's place in its shared memory; LIFETIME if
// the peer isn't there. (ld.shared::cluster)
void cluster_read(void *to, const void *object, std::size_t bytes, int rank, Site where);

// The current CTA's rank in its cluster, and the cluster's CTAs.
int cluster_cta_rank();
int cluster_ctas();

// griddepcontrol.wait: the launches before this one have ended.
void wait_for_launch_before();

// fence.proxy.async: what the current thread wrote to shared memory reaches the async view.
void fence_proxy_async(Site where);

// An atomic operation of the current thread: no other thread comes between, and it is no race. Of
// int, unsigned, unsigned long long and float.
template <typename T>
T atomic_add(T *address, T value, Site where);

// atom.acq_rel.add of 1: what the current thread did before happens before what a later caller, of
// any CTA, does after.
int count_arrival(int *counter, Site where);

// Lets other threads go first, perhaps. (__nanosleep)
void sleep();

} // namespace emulator
