// wgmma with A in registers: common/device has it with both operands in shared memory, as the rungs
// use it. Here it shows what reading A costs.
#pragma once

#include "device/shared_memory.cuh"
#include "device/swizzle.cuh"

// The 64 x 16 columns of A that one wgmma multiplies, as the warpgroup's threads hold them: thread
// t has rows 16 (t / 32) + (t % 32) / 4 and that plus 8; of each columns 2 (t % 4) and the next,
// and those plus 8. (PTX ISA: wgmma.mma_async, Register Fragments, matrix A of m64nNk16.)
struct FragmentA {
    uint32_t pairs[4];
};

// Reads the fragment whose first column is `column` from a tile [64][64] in TMA's 128-byte swizzle.
// The copy that brought the tile has to have been waited for.
DEVICE FragmentA load_fragment_a(const bf16 *tile, int column) {
    const int thread = threadIdx.x % WARPGROUP_THREADS;
    const int row = thread / WARP_THREADS * 16 + thread % WARP_THREADS / 4;
    const int first = column + thread % 4 * 2;
    FragmentA fragment;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        fragment.pairs[i] = *reinterpret_cast<const uint32_t *>(
            &tile[swizzle_128b(row + i % 2 * 8, first + i / 2 * 8)]);
    return fragment;
}

// acc (+)= A * B^T as wgmma<200> of common/device, with A in registers. They must not be written
// until the wgmma has been waited for. (PTX ISA: wgmma.mma_async, the form with a vector for A: no
// imm-trans-a.)
DEVICE void wgmma_a_registers(float (&acc)[100], const FragmentA &a, uint64_t b, bool accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %105, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n200k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99}, "
        "{%100, %101, %102, %103}, %104, accumulate, 1, 1, 0;\n"
        "}"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]), "+f"(acc[4]), "+f"(acc[5]),
          "+f"(acc[6]), "+f"(acc[7]), "+f"(acc[8]), "+f"(acc[9]), "+f"(acc[10]), "+f"(acc[11]),
          "+f"(acc[12]), "+f"(acc[13]), "+f"(acc[14]), "+f"(acc[15]), "+f"(acc[16]), "+f"(acc[17]),
          "+f"(acc[18]), "+f"(acc[19]), "+f"(acc[20]), "+f"(acc[21]), "+f"(acc[22]), "+f"(acc[23]),
          "+f"(acc[24]), "+f"(acc[25]), "+f"(acc[26]), "+f"(acc[27]), "+f"(acc[28]), "+f"(acc[29]),
          "+f"(acc[30]), "+f"(acc[31]), "+f"(acc[32]), "+f"(acc[33]), "+f"(acc[34]), "+f"(acc[35]),
          "+f"(acc[36]), "+f"(acc[37]), "+f"(acc[38]), "+f"(acc[39]), "+f"(acc[40]), "+f"(acc[41]),
          "+f"(acc[42]), "+f"(acc[43]), "+f"(acc[44]), "+f"(acc[45]), "+f"(acc[46]), "+f"(acc[47]),
          "+f"(acc[48]), "+f"(acc[49]), "+f"(acc[50]), "+f"(acc[51]), "+f"(acc[52]), "+f"(acc[53]),
          "+f"(acc[54]), "+f"(acc[55]), "+f"(acc[56]), "+f"(acc[57]), "+f"(acc[58]), "+f"(acc[59]),
          "+f"(acc[60]), "+f"(acc[61]), "+f"(acc[62]), "+f"(acc[63]), "+f"(acc[64]), "+f"(acc[65]),
          "+f"(acc[66]), "+f"(acc[67]), "+f"(acc[68]), "+f"(acc[69]), "+f"(acc[70]), "+f"(acc[71]),
          "+f"(acc[72]), "+f"(acc[73]), "+f"(acc[74]), "+f"(acc[75]), "+f"(acc[76]), "+f"(acc[77]),
          "+f"(acc[78]), "+f"(acc[79]), "+f"(acc[80]), "+f"(acc[81]), "+f"(acc[82]), "+f"(acc[83]),
          "+f"(acc[84]), "+f"(acc[85]), "+f"(acc[86]), "+f"(acc[87]), "+f"(acc[88]), "+f"(acc[89]),
          "+f"(acc[90]), "+f"(acc[91]), "+f"(acc[92]), "+f"(acc[93]), "+f"(acc[94]), "+f"(acc[95]),
          "+f"(acc[96]), "+f"(acc[97]), "+f"(acc[98]), "+f"(acc[99])
        : "r"(a.pairs[0]), "r"(a.pairs[1]), "r"(a.pairs[2]), "r"(a.pairs[3]), "l"(b),
          "r"(int(accumulate)));
}
