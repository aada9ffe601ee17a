// What every device header builds on: the types, the function qualifiers, and a thread's warp.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define DEVICE __device__ __forceinline__

using bf16 = __nv_bfloat16;

// Bits of e4m3: kernels here only move them. (PTX ISA: Alternate Floating-Point Data Formats.)
struct e4m3 {
    uint8_t bits;
};

constexpr int WARP_THREADS = 32;
constexpr int WARPGROUP_THREADS = 128; // four consecutive warps, the first a multiple of four

// The calling thread's warp. Read from lane 0, so that the compiler knows that it is the same in
// all lanes and keeps it, and every branch on it, in uniform registers.
DEVICE int warp_index() { return __shfl_sync(0xffffffffu, int(threadIdx.x) / WARP_THREADS, 0); }

// The calling thread's warpgroup, uniform like warp_index().
DEVICE int warpgroup_index() { return warp_index() / (WARPGROUP_THREADS / WARP_THREADS); }

// The first of the two rows, of a wgmma's 64, whose sums the calling thread holds; the other is 8
// on.
DEVICE int accumulator_row() {
    const int thread = threadIdx.x % WARPGROUP_THREADS;
    return thread / WARP_THREADS * 16 + thread % WARP_THREADS / 4;
}

// ceil(a / b) for a >= 0, b > 0, without the overflow of a + b - 1.
__host__ __device__ constexpr int ceil_div(int a, int b) { return a / b + (a % b != 0); }
