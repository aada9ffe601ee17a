// cuda::pipeline of a thread and of a block, and memcpy_async of a group (CUDA C++ Programming Guide,
// Asynchronous Data Copies using cuda::pipeline; Cooperative Groups: memcpy_async).
// expect thread, block, roles, group: silent
// expect thread_no_wait, block_no_wait, group_no_wait: hazard, says // READ
// expect block_no_release: deadlock, says // ACQUIRE
// expect thread_no_barrier: hazard|race, says // READ
#include "common.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
#include <cuda/std/type_traits>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
constexpr int STAGES = 2, ROUNDS = 5, THREADS = 64;
__shared__ int tile[STAGES][THREADS]; // outside of a function
// Whether a tile of the round holds what `from` does, read by another thread than copied it.
__device__ bool is_right(const int *from, int round) {
    const int other = THREADS - 1 - threadIdx.x;
    return tile[round % STAGES][other] == from[round * THREADS + other]; // READ
}
__global__ void by_thread(int *wrong, const int *from, How lacks) {
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    for (int round = 0; round < ROUNDS; ++round) {
        pipe.producer_acquire();
        cuda::memcpy_async(&tile[round % STAGES][threadIdx.x], &from[round * THREADS + threadIdx.x],
                           cuda::aligned_size_t<4>(sizeof(int)), pipe);
        pipe.producer_commit();
        if (!(lacks == "thread_no_wait")) pipe.consumer_wait();
        __syncthreads();
        if (!is_right(from, round)) *wrong = 1;
        pipe.consumer_release();
        if (!(lacks == "thread_no_barrier")) __syncthreads();
    }
    __pipeline_memcpy_async(&tile[0][threadIdx.x], &from[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (tile[0][threadIdx.x] != from[threadIdx.x]) *wrong = 1;
}
__global__ void by_block(int *wrong, const int *from, How lacks) {
    const auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto pipe = cuda::make_pipeline(block, &state);
    for (int round = 0; round < ROUNDS; ++round) {
        pipe.producer_acquire(); // ACQUIRE
        cuda::memcpy_async(block, tile[round % STAGES], from + round * THREADS, sizeof tile[0], pipe);
        pipe.producer_commit();
        if (!(lacks == "block_no_wait")) pipe.consumer_wait();
        if (!is_right(from, round)) *wrong = 1;
        if (!(lacks == "block_no_release")) pipe.consumer_release();
    }
}
// The first warp produces.
__global__ void by_roles(int *wrong, const int *from, How) {
    const auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    const bool produces = threadIdx.x < 32;
    auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer
                                                            : cuda::pipeline_role::consumer);
    for (int round = 0; round < ROUNDS; ++round)
        if (produces) {
            pipe.producer_acquire();
            const int at = threadIdx.x * 2;
            cuda::memcpy_async(&tile[round % STAGES][at], &from[round * THREADS + at], 8, pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            if (!is_right(from, round)) *wrong = 1;
            pipe.consumer_release();
        }
}
__global__ void by_group(int *wrong, const int *from, How lacks) {
    const auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile[0], from, sizeof tile[0]);
    if (!(lacks == "group_no_wait")) cg::wait(block);
    if (!is_right(from, 0)) *wrong = 1;
    static_assert(cuda::std::is_same_v<int, int>);
}
int main(int, char **argv) {
    int *from = dev(ROUNDS * THREADS, 0), *wrong = dev(1, 0), numbers[ROUNDS * THREADS];
    for (int i = 0; i < ROUNDS * THREADS; ++i) numbers[i] = i;
    cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    const auto kernel = argv[1][0] == 't'   ? by_thread
                        : argv[1][0] == 'b' ? by_block
                        : argv[1][0] == 'r' ? by_roles
                                            : by_group;
    kernel<<<1, THREADS>>>(wrong, from, how_of(argv));
    RETURN(host(wrong, 1)[0] == 0);
}
