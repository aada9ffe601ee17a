// Only some threads issue cp.async, and they wait for it after the barrier: a thread's wait covers
// its own copies alone, so others may read too early (PTX ISA, cp.async.wait_all).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void kernel(const float *from, float *to) {
    __shared__ __align__(16) float row[64];
    if (threadIdx.x < 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], "
                     "16;" ::"r"(S32(&row[threadIdx.x * 4])), "l"(from + threadIdx.x * 4)
                     : "memory");
    if (!FIXED) __syncthreads();
    asm volatile("cp.async.wait_all;" ::: "memory"); // BUG: too late for the other threads
    if (FIXED) __syncthreads();
    to[threadIdx.x] = row[63 - threadIdx.x];
}
int main() {
    float *from = dev(64, 3.f), *to = dev(64, 0.f); kernel<<<1, 64>>>(from, to);
    RETURN(host(to, 64)[5] == 3);
}
