// RIGHT: a kernel's file is included through a macro, as many drivers do. It is translated as any
// other, or the message says that includes by macro are not followed. Here it includes itself.
// expect: silent|unknown
#ifndef INSIDE
#define INSIDE
#include "common.h"
#define KERNEL "include_by_macro.cu"
#include KERNEL
int main() { int *out = dev(32, 0); kernel<<<1, 32>>>(out); RETURN(host(out, 32)[5] == 5); }
#else
__global__ void kernel(int *out) {
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    out[threadIdx.x] = lane;
}
#endif
