// Warpgroups give registers back or take more: all of them together have 65,536, else inc waits for
// ever, and all warps of one must execute it (PTX ISA, setmaxnreg). Right: 40, 232, 232 (0); 24 and
// three times 160 (1). Wrong: 40, 240, 240 (2); 24 and three times 240 (3); 240 for all four (4);
// one warp alone (5).
// expect 0, 1: silent
// expect 2, 3, 4: misuse|deadlock, says setmaxnreg\.inc to 240 .* at most (65536|64512)
// expect 5: misuse, says whole warpgroups: warp 4 .* 1 times.* warp 5 0
#include "common.h"
__global__ void __launch_bounds__(512, 1) k(int *out, int how) {
    const int warp = threadIdx.x / 32;
    if (how == 4) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    else if (warp < 4 && how % 2 == 0) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    else if (warp < 4) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    else if (how == 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    else if (how == 0 || (how == 5 && warp == 4))
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    else if (how != 5) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    out[threadIdx.x] = 1;
}
int main(int, char **argv) {
    const int how = atoi(argv[1]), threads = how == 0 || how == 2 || how == 5 ? 384 : 512;
    int *out = dev(512, 0); k<<<1, threads>>>(out, how); RETURN(host(out, 512)[200] == 1);
}
