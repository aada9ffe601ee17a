// Two pairs of warps use one named barrier at the same time, so an arrival of one pair may complete
// the phase of the other (PTX ISA, barrier: its number is a resource of the CTA).
// expect: race|misuse|hazard|deadlock
// expect -DFIXED: silent
#include "common.h"
__global__ void kernel(int *out) {
    __shared__ int part[128];
    const int id = FIXED ? 1 + threadIdx.x / 64 : 1;
    for (int round = 0; round < 4; ++round) {
        part[threadIdx.x] = 100 * round + threadIdx.x;
        asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
        out[128 * round + threadIdx.x] = part[threadIdx.x ^ 32]; // the other warp of the pair
        asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
    }
}
int main() {
    int *out = dev(512, 0); kernel<<<1, 128>>>(out);
    RETURN(all(host(out, 512), [](int i, int v) { return v == i / 128 * 100 + (i % 128 ^ 32); }));
}
