#include "harness/gpu/moves.h"

#include <stddef.h>
#include <stdint.h>

#include "harness/cuda_failed.h"

namespace {

constexpr int THREADS = 256;
constexpr size_t WORDS = 4; /* of a thread: rows are whole 16 bytes */

__global__ void __launch_bounds__(THREADS) add_one_plainly(uint4 *d, const uint4 *a, size_t count) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        const uint4 words = a[i];
        d[i] = make_uint4(words.x + 1, words.y + 1, words.z + 1, words.w + 1);
    }
}

size_t words_of(const problem *problem) { return (size_t)problem->m * (size_t)problem->n; }

} // namespace

int moves_copy(const problem *problem) {
    const size_t bytes = words_of(problem) * sizeof(uint32_t);
    return cuda_failed(
        cudaMemcpyAsync(problem->d, problem->a, bytes, cudaMemcpyDeviceToDevice, problem->stream),
        "starting the copy of %zu bytes on the GPU", bytes);
}

int moves_add_one(const problem *problem) {
    const size_t count = words_of(problem) / WORDS;
    const size_t blocks = (count + THREADS - 1) / THREADS;
    add_one_plainly<<<(unsigned int)blocks, THREADS, 0, problem->stream>>>(
        (uint4 *)problem->d, (const uint4 *)problem->a, count);
    return cuda_failed(cudaGetLastError(), "launching a plain kernel that adds 1 to %zu words",
                       words_of(problem));
}
