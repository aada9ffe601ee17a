// Included by a macro.
__device__ inline unsigned lane_by_ptx() {
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
