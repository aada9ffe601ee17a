// Two CTAs count by atomicAdd_block, which is atomic only for the threads of one block (block);
// threads add, and all read plainly without a barrier (read); a lock by atomicCAS: CUDA's atomics
// are relaxed, so __threadfence must follow the acquisition and precede the release (lock) (CUDA
// C++ Programming Guide, Atomic Functions; Memory Fence Functions; Synchronization Functions).
// expect block, read, lock: race|hazard
// expect block -DFIXED, read -DFIXED, lock -DFIXED: silent
#include "common.h"
__global__ void k(int *sum, int *lock, unsigned how) {
    if (how == word("block") && FIXED) atomicAdd(sum, 1);
    else if (how == word("block")) atomicAdd_block(sum, 1);
    if (how == word("read")) {
        atomicAdd(sum, 1);
        if (FIXED) __syncthreads();
        if (*sum == 77) *lock = 1;
    }
    if (how != word("lock")) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    if (FIXED) __threadfence();
    *sum = *sum + 1;
    if (FIXED) __threadfence();
    atomicExch(lock, 0);
}
int main(int, char **argv) {
    const unsigned how = word(argv[1]); int *sum = dev(1, 0), *lock = dev(1, 0);
    if (how == word("read")) k<<<1, 64>>>(sum, lock, how);
    else k<<<4, 1>>>(sum, lock, how);
    RETURN(host(sum, 1)[0] == (how == word("read") ? 64 : 4));
}
