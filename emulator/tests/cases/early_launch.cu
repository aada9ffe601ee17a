// The first launch lets the second begin, then writes. After griddepcontrol.wait (0) all of it is
// visible; before it are wrong: a read of what the first writes by a load (1), a bulk load (3),
// cp.async (5) and an atomic (6), and a write of what it reads (2). A read of what only the host
// wrote (4) is right (PTX ISA, griddepcontrol; CUDA C++ Programming Guide, Programmatic Dependent
// Launch).
// expect 0, 4: silent
// expect 1, 2, 3, 5, 6: hazard|race
#include "common.h"
__global__ void first(int *given, int *g) {
    launch_dependents();
    g[threadIdx.x] = given[threadIdx.x];
}
__global__ void second(int *given, int *constant, int *g, int *out, int how) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t full;
    int v = 0;
    if (how == 1) v = g[threadIdx.x];
    if (how == 2) given[threadIdx.x] = 1;
    if (how == 3 && threadIdx.x == 0) {
        mb_init(&full, 1), mb_fence(), mb_expect(&full, sizeof s);
        bulk_load(s, g, sizeof s, &full), mb_wait(&full, 0);
        v = s[0];
    }
    if (how == 4) v = constant[threadIdx.x];
    if (how == 5) {
        cp_async_4(s + threadIdx.x, g + threadIdx.x), cp_async_wait();
        v = s[threadIdx.x];
    }
    if (how == 6) v = atomicAdd(g + threadIdx.x, 1);
    launch_wait();
    out[threadIdx.x] = v + g[threadIdx.x];
}
int main(int, char **argv) {
    int *given = dev(32, 7), *constant = dev(32, 7), *g = dev(32, 0), *out = dev(32, 0);
    first<<<1, 32>>>(given, g);
    launch_as(0, dim3(1), 32, second, given, constant, g, out, atoi(argv[1]));
    RETURN(host(out, 32)[0] >= 7);
}
