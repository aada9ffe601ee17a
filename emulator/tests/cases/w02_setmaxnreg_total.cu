// 512 threads ask for 240 registers each, 122,880 of 65,536: inc waits for ever (PTX ISA,
// setmaxnreg).
// expect: misuse|deadlock
#include "common.h"
__global__ void k(int *out) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    out[threadIdx.x] = 1;
}
int main() { int *o = dev(512, 0); k<<<1, 512>>>(o); RETURN(host(o, 512)[0] == 1); }
