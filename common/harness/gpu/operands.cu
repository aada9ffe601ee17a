#include "harness/operands.h"

#include "harness/cuda_failed.h"

namespace {

constexpr int THREADS = 256;
constexpr size_t MOST_BLOCKS = 65536;

__global__ void fill(void *to, enum number format, size_t count, recipe recipe) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        operand_write(to, format, &recipe, i);
    }
}

} // namespace

int operands_fill(void *to, enum number format, size_t count, const recipe *recipe,
                  struct CUstream_st *stream) {
    const size_t needed = (count + THREADS - 1) / THREADS;
    const unsigned int blocks = (unsigned int)(needed < MOST_BLOCKS ? needed : MOST_BLOCKS);
    fill<<<blocks, THREADS, 0, stream>>>(to, format, count, *recipe);
    return cuda_failed(cudaGetLastError(), "launching the kernel that makes %zu operands", count);
}
