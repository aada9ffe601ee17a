// One warpgroup keeps 24 registers, three take 240: 128 * 24 + 384 * 240 = 95,232 of 65,536, so inc
// waits for ever (PTX ISA, setmaxnreg: until enough registers are in the pool of the CTA). 160 are
// right.
// expect: misuse|deadlock, says setmaxnreg\.inc to 240 .* at most 65536(?s:.*)// BUG
// expect -DFIXED: silent
#include "common.h"
#if FIXED
#define COUNT "160"
#else
#define COUNT "240"
#endif
__global__ void __launch_bounds__(512, 1) kernel(int *out) {
    if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    else asm volatile("setmaxnreg.inc.sync.aligned.u32 " COUNT ";"); // BUG
    out[threadIdx.x] = 1;
}
int main() { int *out = dev(512, 0); kernel<<<1, 512>>>(out); RETURN(host(out, 512)[400] == 1); }
