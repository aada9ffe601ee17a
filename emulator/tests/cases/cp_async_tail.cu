// Two stages of cp.async. wait_group 1 in the last step leaves the last group in flight, which the
// step reads: the tail needs wait_group 0 (PTX ISA, cp.async.wait_group).
// expect: hazard|race|lifetime
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *from, int *out) {
    __shared__ alignas(16) int s[2][64];
    const int t = threadIdx.x, steps = 3;
    int sum = 0;
    cp_async_4(&s[0][t], from + t);
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int i = 0; i < steps; ++i) {
        if (i + 1 < steps) {
            cp_async_4(&s[(i + 1) % 2][t], from + 64 * (i + 1) + t);
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
        if (FIXED && i + 1 == steps) asm volatile("cp.async.wait_group 0;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += s[i % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
int main() {
    int *from = dev(192, 2), *out = dev(64, 0); k<<<1, 64>>>(from, out);
    RETURN(host(out, 64)[5] == 6);
}
