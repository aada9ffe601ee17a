// Two pairs of warps use one named barrier at the same time, so an arrival of one pair may complete
// the phase of the other (shared). Warp 0 hands rounds of data to warp 1 by bar.arrive and
// bar.sync: it must wait at a second barrier before it overwrites the buffer, since arrive does not
// wait (empty) (PTX ISA, barrier: its number is a resource of the CTA; the producer-consumer
// example).
// expect shared, empty: race|misuse|hazard|deadlock
// expect shared -DFIXED, empty -DFIXED: silent
#include "common.h"
__global__ void pairs(int *out) {
    __shared__ int s[128];
    const int id = FIXED ? 1 + threadIdx.x / 64 : 1;
    for (int round = 0; round < 4; ++round) {
        s[threadIdx.x] = 100 * round + threadIdx.x;
        asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
        out[128 * round + threadIdx.x] = s[threadIdx.x ^ 32]; // the other warp of the pair
        asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
    }
}
__global__ void rounds(int *out) {
    __shared__ int s[32];
    for (int i = 0; i < 4; ++i)
        if (threadIdx.x < 32) {
            if (FIXED && i > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
            s[threadIdx.x] = 100 * i + threadIdx.x;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[128 * i + threadIdx.x - 32] = s[threadIdx.x - 32 ^ 31];
            if (FIXED && i < 3) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
}
int main(int, char **argv) {
    int *out = dev(512, 0); const bool by_pairs = argv[1][0] == 's';
    if (by_pairs) pairs<<<1, 128>>>(out);
    else rounds<<<1, 64>>>(out);
    RETURN(all(host(out, 512), [&](int i, int v) {
        const int other = i % 128 ^ (by_pairs ? 32 : 31);
        return (!by_pairs && i % 128 >= 32) || v == i / 128 * 100 + other;
    }));
}
