// What the adapters of fast.cu's kernels share (github.com/pranjalssh/fast.cu). Its kernels write D
// by columns, so A and B swap roles: D^T = B * A^T. Tiles, ring and grid are those of its own
// launchers.
#pragma once

#include "rival.cuh"

// What its files expect of the file that includes them.
#include <cassert>
#include <cuda/barrier>
#include <string.h>
#include <string>
#include <vector>
#define CEIL_DIV(m, n) (((m) + (n)-1) / (n))
#define cudaCheck(call) launch_check(call, "calling CUDA in fast.cu, line", __LINE__)

constexpr int BM = 128; // rows of its A: of our B
constexpr int BN = 256;
constexpr int BK = 64;
constexpr int STAGES = 3;
constexpr int CONSUMERS = 2;
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int CTAS = 128;
