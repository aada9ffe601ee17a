// cuBLAS, as a launch (cuBLAS, Streams); pipelines (Guide, Asynchronous Data Copies); CUB's storage.
// expect blas, thread 64, block 64, roles 64, group 64, cub 64: silent
// expect blas_leading, blas_past_end: wrong, says cuBLAS fails .*(INVALID_VALUE|FAILED: it reads 16)
// expect blas_stream, thread_early 64, block_early 64, group_early 64: hazard, says // READ
// expect cub_early 64: race, says // CUB
#include "common.h"
#include <cooperative_groups/memcpy_async.h>
#include <cub/cub.cuh>
#include <cublas_v2.h>
constexpr int STAGES = 2, ROUNDS = 4, SIZE = 64;
__shared__ int tile[STAGES][SIZE]; // outside of a function
__device__ int result(int round) { return tile[round % STAGES][SIZE - 1 - threadIdx.x]; } // READ
__device__ void use(auto &pipe, bool makes, bool takes, int *in, int *out, How how) {
    const auto wait = [&] { how == "thread" || how == "thread_early" ? __syncthreads() : void(); };
    for (int round = 0, at = threadIdx.x * 2; round < ROUNDS; ++round, wait()) {
        if (makes) pipe.producer_acquire();
        if (at < SIZE)
            cuda::memcpy_async(cooperative_groups::this_thread(), &tile[round % STAGES][at], &in[at], 8, pipe);
        if (makes) pipe.producer_commit();
        if (takes && !(how == "thread_early" || how == "block_early")) pipe.consumer_wait();
        wait();
        if (takes) out[SIZE - 1 - threadIdx.x] = result(round), pipe.consumer_release();
    }
}
__global__ void copies(int *in, int *out, How how) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    const bool all = !(how == "roles"), makes = all || threadIdx.x < 32, takes = all || !makes;
    if (auto own = cuda::make_pipeline(); how == "thread" || how == "thread_early")
        return use(own, true, true, in, out, how);
    const auto group = cooperative_groups::this_thread_block();
    if (how == "group" || how == "group_early") {
        memcpy_async(group, tile[0], in, sizeof tile[0]);
        if (how == "group") wait(group);
        return void(out[threadIdx.x] = result(0));
    }
    auto pipe = all ? cuda::make_pipeline(group, &state)
                    : cuda::make_pipeline(group, &state, cuda::pipeline_role(!makes));
    use(pipe, makes, takes, in, out, how);
}
__global__ void storage(int *, int *out, How how) {
    __shared__ cub::BlockReduce<int, SIZE>::TempStorage storage;
    int before, sum = cub::BlockReduce<int, SIZE>(storage).Sum(threadIdx.x); // CUB
    if (!(how == "cub_early")) __syncthreads();
    cub::BlockScan<int, SIZE>(storage).ExclusiveSum(1, before);
    out[threadIdx.x] = seven_if(before == threadIdx.x && (sum == 63 * 32) == !threadIdx.x);
}
__global__ void add_one(float *c) { c[threadIdx.x] += 1; } // READ
int products(How how) {
    const float two = 2, one = 1;
    cublasContext *blas;
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    CHECK(!cublasCreate(&blas) && !cublasSetStream(blas, stream));
    float *a = dev(7 * 5, 3.f), *b = dev(4 * 3, 2.f), *c = dev(5 * 3, 1.f); // of (4 x 5)^T and 4 x 3
    const int lda = how == "blas_leading" ? 3 : how == "blas_past_end" ? 9 : 7;
    CHECK(!cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, 5, 3, 4, &two, a, lda, b, 4, &one, c, 5));
    add_one<<<1, 15, 0, how == "blas_stream" ? nullptr : stream>>>(c);
    RETURN(host(c, 15) == std::vector<float>(15, 50) && !cublasDestroy(blas));
}
int main(int, char **argv) {
    if (argv[1][1] == 'l' && argv[1][2] == 'a') return products(how_of(argv));
    return run(argv, {{"cub", storage}, {"", copies}});
}
