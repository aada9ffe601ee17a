// Registers and operands of a wgmma that is in flight, and setmaxnreg (PTX ISA, wgmma.fence;
// wgmma.mma_async; wgmma.wait_group; Matrix Descriptor; setmaxnreg).
// expect in_flight 128, pool_40_232 384: silent
// expect in_flight_a_overwritten 128, in_flight_a_after_fence 128: hazard|race
// expect other_descriptor 128, other_b 128: misuse, says disagree about [AB]'s descriptor
// expect other_accumulation 128: misuse, says disagree about whether to accumulate
// expect base_offset 128: misuse, says the descriptor of A, .*base offset
// expect odd_operand 128: misuse, says first row
// expect operand_outside 128: misuse|address, says outside
// expect pool_40_240 384, pool_240 512, pool_none_back 384, pool_late 384: deadlock, says setmaxnreg\.inc to 2\d+ .* lacks \d+
// expect pool_one_warp 384: misuse, says whole warpgroups: warp 4 .* 1 times.* warp 5 0
#include "common.h"
__global__ void in_flight(int *, int *out, How how) {
    __shared__ alignas(1024) unsigned short b[8 * 16];
    b[threadIdx.x] = 0x3f80; // 1
    fence_async();
    __syncthreads();
    float d = 0, e = 0, f = 0, g = 0;
    uint32_t a[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};
    const uint64_t desc =
        (uint64_t(S32(b)) >> 4) | uint64_t(128 >> 4) << 16 | uint64_t(128 >> 4) << 32;
    wgmma_fence();
    if (how == "in_flight_a_after_fence")
        for (uint32_t &r : a) r = 0x40004000;
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, "
                 "%6, %7}, %8, p, 1, 1, 0;\n}" : "+f"(d), "+f"(e), "+f"(f), "+f"(g)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc), "r"(0));
    wgmma_commit();
    if (how == "in_flight_a_overwritten") {
        for (uint32_t &r : a) r = 0;
        asm volatile("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(a[3]));
    }
    wgmma_wait();
    out[threadIdx.x] = d + e + f + g + (a[0] == 1) == 4 * 16 ? 7 : 0;
}
__global__ void operands(int *, int *, How how) {
    extern __shared__ __align__(1024) int s[];
    for (int n = threadIdx.x; n < 2048; n += 128) s[n] = 0;
    fence_async();
    __syncthreads();
    float d[4] = {};
    const uint64_t plain = S32(s) >> 4 | uint64_t(64) << 32 | uint64_t(1) << 62;
    const bool odd = threadIdx.x == 77;
    wgmma_fence();
    if (how == "other_descriptor") wgmma(d, plain + 2 * odd, plain, 1);
    if (how == "other_b") wgmma(d, plain, plain + 2 * odd, 1);
    if (how == "other_accumulation") wgmma(d, plain, plain, odd);
    if (how == "base_offset") wgmma(d, plain | uint64_t(1) << 49, plain, 1);
    if (how == "odd_operand") wgmma(d, plain + 128 / 16, plain, 1);
    if (how == "operand_outside") wgmma(d, plain + 7168 / 16, plain, 1);
    wgmma_commit(), wgmma_wait();
}
// All warpgroups together have 65,536 registers, else inc waits for ever.
__global__ void __launch_bounds__(512, 1) pool(int *, int *out, How how) {
    const int warp = threadIdx.x / 32;
    if (how == "pool_240") asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    else if (how == "pool_none_back" && warp < 4) {}
    else if (how == "pool_late" && warp < 4) // those who need it come first
        asm volatile("bar.sync 1, 384;\nsetmaxnreg.dec.sync.aligned.u32 40;");
    else if (warp < 4) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" : : "n"(40));
    else if (how == "pool_40_240") asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    else if (how != "pool_one_warp" || warp == 4)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    if (how == "pool_late" && warp >= 4) asm volatile("bar.sync 1, 384;");
    out[threadIdx.x] = 7;
}
int main(int, char **argv) {
    return run(argv, {{"in_flight", in_flight}, {"pool_", pool}, {"", operands}});
}
