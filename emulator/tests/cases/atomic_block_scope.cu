// Two CTAs count by atomicAdd_block, which is atomic only for the threads of one block (CUDA C++
// Programming Guide, Atomic Functions).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *count) {
    if (FIXED) atomicAdd(count, 1);
    else atomicAdd_block(count, 1);
}
int main() { int *count = dev(1, 0); k<<<2, 32>>>(count); RETURN(host(count, 1)[0] == 64); }
