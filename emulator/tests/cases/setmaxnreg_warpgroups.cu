// 384 threads: one warpgroup gives registers back, two take 232 each (0: 128 * 40 + 256 * 232 =
// 64,512). With 240 (1) they exceed the 65,536 of a CTA, and inc waits for ever. One warp alone (2)
// is wrong: all of the warpgroup must execute it (PTX ISA, setmaxnreg).
// expect 0: silent
// expect 1: misuse|deadlock
// expect 2: misuse, says whole warpgroups: warp 4 .* 1 times.* warp 5 0
#include "common.h"
__global__ void __launch_bounds__(384, 1) k(int *out, int how) {
    if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    else if (how == 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    else if (how == 0 || threadIdx.x < 160) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    out[threadIdx.x] = 1;
}
int main(int, char **argv) {
    int *out = dev(384, 0); k<<<1, 384>>>(out, atoi(argv[1])); RETURN(host(out, 384)[200] == 1);
}
