// A message between CTAs by st.release.gpu and ld.acquire.gpu is right. With .relaxed (1) nothing
// is ordered; with .release.cta (2) the scope lacks the reader (PTX ISA, Memory Consistency Model:
// release and acquire patterns, morally strong).
// expect 0: silent
// expect 1, 2: race|hazard
#include "common.h"
__global__ void k(int *data, int *flag, int *out, int how) {
    int set = 0;
    if (blockIdx.x == 0) {
        data[0] = 7;
        if (how == 0)
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
        if (how == 1)
            asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
        if (how == 2)
            asm volatile("st.release.cta.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
        return;
    }
    while (!set)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(set) : "l"(flag) : "memory");
    out[0] = data[0];
}
int main(int, char **argv) {
    int *data = dev(1, 0), *flag = dev(1, 0), *out = dev(1, 0);
    k<<<2, 1>>>(data, flag, out, atoi(argv[1])); RETURN(host(out, 1)[0] == 7);
}
