// RIGHT: even and odd lanes shuffle apart, in two branches, with disjoint masks (PTX ISA,
// shfl.sync: a thread waits for the lanes of its own membermask alone).
// expect: silent
#include "common.h"
__global__ void k(int *out) {
    int v = threadIdx.x;
    if (v & 1) v = __shfl_xor_sync(0xaaaaaaaa, v, 2);
    else v = __shfl_xor_sync(0x55555555, v, 2);
    out[threadIdx.x] = v;
}
int main() {
    int *o = dev(32, 0); k<<<1, 32>>>(o);
    RETURN(all(host(o, 32), [](int i, int v) { return v == (i ^ 2); }));
}
