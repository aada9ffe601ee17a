#include "harness/operands.h"

#include "harness/cuda_failed.h"

namespace {

constexpr int THREADS = 256;
constexpr size_t MOST_BLOCKS = 65536;

__global__ void fill(bf16_bits *to, size_t count, enum inputs inputs, int integer_range,
                     uint64_t seed, uint64_t which) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        to[i] = bf16_from_float(random_operand(inputs, integer_range, seed, which, i));
    }
}

} // namespace

int operands_fill(bf16_bits *to, size_t count, enum inputs inputs, int integer_range, uint64_t seed,
                  enum random_stream which, struct CUstream_st *stream) {
    const size_t needed = (count + THREADS - 1) / THREADS;
    const unsigned int blocks = (unsigned int)(needed < MOST_BLOCKS ? needed : MOST_BLOCKS);
    fill<<<blocks, THREADS, 0, stream>>>(to, count, inputs, integer_range, seed, (uint64_t)which);
    return cuda_failed(cudaGetLastError(), "launching the kernel that makes %zu operands", count);
}
