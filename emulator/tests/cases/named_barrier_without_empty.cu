// Warp 0 hands rounds of data to warp 1 by bar.arrive and bar.sync, as attention kernels do. It
// must wait at a second barrier before it overwrites the buffer: arrive does not wait (PTX ISA,
// barrier: the producer-consumer example).
// expect: race|hazard|misuse|deadlock
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[32];
    for (int i = 0; i < 3; ++i)
        if (threadIdx.x < 32) {
            if (FIXED && i > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
            s[threadIdx.x] = 100 * i + threadIdx.x;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[32 * i + threadIdx.x - 32] = s[63 - threadIdx.x];
            if (FIXED && i < 2) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
}
int main() {
    int *out = dev(96, 0); k<<<1, 64>>>(out);
    RETURN(host(out, 96)[0] == 31 && host(out, 96)[64] == 231);
}
