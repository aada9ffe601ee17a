// A flag between two warps of a CTA: __threadfence_block is enough here, and needed: volatile
// accesses are relaxed (PTX ISA, Volatile Operations; CUDA C++ Programming Guide, Memory Fences).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int data;
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = 7;
        if (FIXED) __threadfence_block();
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0)
            ;
        if (FIXED) __threadfence_block();
        out[0] = data;
    }
}
int main() { int *out = dev(1, 0); k<<<1, 64>>>(out); RETURN(host(out, 1)[0] == 7); }
