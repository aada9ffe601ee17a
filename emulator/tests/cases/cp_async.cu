// Waits for cp.async. Two stages whose last step leaves the last group in flight (tail); a wait
// after the barrier, since a thread's wait covers its own copies alone (barrier); and an ordinary
// arrive at an mbarrier, which does not wait for copies, for cp.async.mbarrier.arrive (arrive) (PTX
// ISA, cp.async.wait_group; cp.async.wait_all; cp.async.mbarrier.arrive; .noinc: the count has it).
// expect tail, barrier, arrive: hazard|race|lifetime
// expect tail -DFIXED, barrier -DFIXED, arrive -DFIXED: silent
#include "common.h"
__global__ void k(int *from, int *out, unsigned how) {
    __shared__ alignas(16) int s[2][64];
    __shared__ uint64_t full;
    const int t = threadIdx.x, steps = 3;
    int sum = 0;
    if (t == 0) mb_init(&full, 64), mb_fence();
    __syncthreads();
    cp_async_4(&s[0][t], from + t), cp_async_commit();
    for (int i = 0; how == word("tail") && i < steps; ++i) {
        const int next = i + 1;
        if (next < steps) cp_async_4(&s[next % 2][t], from + 64 * next + t), cp_async_commit();
        if (FIXED && next == steps) cp_async_wait();
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += s[i % 2][63 - t];
        __syncthreads();
    }
    if (how == word("barrier")) {
        if (!FIXED) __syncthreads();
        cp_async_wait(); // too late for the other threads
        if (FIXED) __syncthreads();
        sum = s[0][63 - t];
    }
    if (how == word("arrive")) {
        if (FIXED)
            asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(S32(&full))
                         : "memory");
        else mb_arrive(&full);
        mb_wait(&full, 0);
        sum = s[0][63 - t];
    }
    out[t] = sum;
}
int main(int, char **argv) {
    int *from = dev(192, 2), *out = dev(64, 0); k<<<1, 64>>>(from, out, word(argv[1]));
    RETURN(host(out, 64)[5] == (argv[1][0] == 't' ? 6 : 2));
}
