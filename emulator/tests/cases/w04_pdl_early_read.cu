// A programmatic launch reads what the one before writes, before griddepcontrol.wait: by a load
// (1), cp.async (2) and an atomic (3) (PTX ISA, griddepcontrol).
// expect 1, 2, 3: hazard|race
#include "common.h"
__global__ void first(int *g) {
    launch_dependents();
    g[threadIdx.x] = 1;
}
__global__ void second(int *g, int *out, int how) {
    __shared__ alignas(16) int s[32];
    int v = 0;
    if (how == 1) v = g[threadIdx.x];
    if (how == 2) {
        cp_async_4(s + threadIdx.x, g + threadIdx.x);
        asm volatile("cp.async.wait_all;" ::: "memory");
        v = s[threadIdx.x];
    }
    if (how == 3) v = atomicAdd(g + threadIdx.x, 1);
    launch_wait();
    out[threadIdx.x] = v;
}
int main(int, char **argv) {
    int *g = dev(32, 0), *o = dev(32, 0); first<<<1, 32>>>(g);
    launch_as(0, dim3(1), 32, second, g, o, atoi(argv[1])); RETURN(host(o, 32)[3] == 1);
}
