// RIGHT: mbarriers in the forms in which kernels use them: waits that loop in PTX or in C++, with a
// time; states, counts, bytes by hand, and a barrier that becomes another one (PTX ISA, mbarrier).
// expect handed_over 64, with_states: silent
#include "common.h"
__device__ bool is_through(uint64_t *b, unsigned parity) {
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(S32(b)), "r"(parity) : "memory");
    return done;
}
__global__ void handed_over(int *, int *out, How) { // a word, back and forth between two warps
    __shared__ uint64_t full, empty;
    __shared__ unsigned words;
    if (threadIdx.x == 0) mb_init(&full, 32), mb_init(&empty, 32);
    __syncthreads();
    for (unsigned turn = 0; turn < 6; ++turn)
        if (threadIdx.x < 32) {
            mb_wait(&empty, (turn & 1) ^ 1);
            if (threadIdx.x == turn) words = turn * turn;
            mb_arrive(&full);
        } else {
            if (turn % 2 == 0) mb_wait_cluster(&full, turn & 1);
            else while (!is_through(&full, turn & 1)) {}
            out[turn * 32 + threadIdx.x % 32] = seven_if(words == turn * turn);
            mb_arrive(&empty);
        }
}
__global__ void with_states(int *, int *out, How) { // addresses are generic
    __shared__ uint64_t b;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.b64 [%0], 40;" ::"l"(&b));
    __syncthreads();
    uint64_t state;
    if (threadIdx.x < 8)
        asm volatile("mbarrier.arrive.release.cta.b64 %0, [%1], 2;" : "=l"(state) : "l"(&b));
    else asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(state) : "l"(&b));
    unsigned done = 0, tests = 0;
    for (; !done; ++tests)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "l"(&b), "l"(state));
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.inval.b64 [%0];\nmbarrier.init.b64 [%0], 1;\n"
                     "mbarrier.expect_tx.relaxed.cta.b64 [%0], 16;\n"
                     "mbarrier.arrive.expect_tx.b64 _, [%0], 8;\n"
                     "mbarrier.complete_tx.b64 [%0], 20;\nmbarrier.complete_tx.b64 [%0], 4;"
                     ::"l"(&b));
    __syncthreads();
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "l"(&b));
    out[threadIdx.x] = seven_if(done && tests > 0);
}
int main(int, char **argv) {
    return run(argv, {{"handed_over", handed_over}, {"with_states", with_states}});
}
