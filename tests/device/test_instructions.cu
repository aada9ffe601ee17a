// The device headers' instructions, each against its definition, on a GPU or on the emulator.
//
//   test_instructions [--record FILE | --compare FILE]
//
// --record writes a digest of every case's output to FILE; --compare runs the cases and compares
// theirs with it: what one machine gave out, the other has to, bit for bit. Without a GPU of
// compute capability 9.0 every case is skipped.
#include "copies.cuh"
#include "numbers.cuh"
#include "partial_sums.cuh"
#include "threads.cuh"
#include "tile_stores.cuh"
#include "warp_matrices.cuh"
#include "warpgroup_matrices.cuh"

#include <string.h>

static const Case CASES[] = {
    {"tma_load_2d: swizzled, zeros past the edges", loads<bf16, LOAD_2D>},
    {"tma_load_2d: a Barrier's tokens wait for its bytes", loads<bf16, LOAD_2D_TOKEN>},
    {"tma_load_2d_hint: the same, with an L2 policy and promotion", loads<bf16, LOAD_2D_HINT>},
    {"tma_load_2d_multicast: halves to both CTAs", loads<bf16, LOAD_2D_MULTICAST>},
    {"tma_store_2d: clipped at the edges", stores<bf16, false>},
    {"tma_store_2d_hint: the same, with an L2 policy", stores<bf16, true>},
    {"cp.async: 16 bytes, zeros behind the source", copies_of_all_lengths},
    {"cp.async: two groups in flight", copies_in_groups},
    {"TileChunks: the longest rows", chunks_of_the_longest_rows},
    {"wgmma<64>: exact, documented fragment", multiply_case<64>},
    {"wgmma<128>: exact, documented fragment", multiply_case<128>},
    {"wgmma<200>: exact, documented fragment", multiply_case<200>},
    {"wgmma<256>: exact, documented fragment", multiply_case<256>},
    {"wgmma_wait: two blocks of accumulators", multiply_case<128, 2>},
    {"wgmma<8> to wgmma<256>: exact", multiply_all_widths},
    {"stmatrix_x4: rows where the lanes say", stmatrix<4>},
    {"stmatrix_x2: the first 16 lanes say where", stmatrix<2>},
    {"stmatrix_x4_transposed: columns where the lanes say", stmatrix<4, true>},
    {"stmatrix_x2_transposed: the first 16 lanes say where", stmatrix<2, true>},
    {"store_fragment_row: 16 columns of a row", fragment_rows},
    {"ldmatrix: one, two and four matrices", matrices_loaded},
    {"ldmatrix.trans: four matrices", matrices_loaded_transposed},
    {"mma.sync: fp16, fp32 sums", warp_product<F16_F32>},
    {"mma.sync: fp16, fp16 sums", warp_product<F16_F16>},
    {"WMMA: all layouts, fp32 sums", wmma_layouts},
    {"WMMA: fp16 sums", wmma_half_sums},
    {"fp16 and bf16: rounding", conversions},
    {"launches: what does not fit", launch_limits},
    {"launch_early: waits for the launch before", launched_early},
    {"mbarrier: phases and parities", mbarrier_phases},
    {"Barrier: tokens", barrier_tokens},
    {"clusters: ranks, arrivals on peers", clusters},
    {"named barriers: two pairs of warps", named_barriers},
    {"shuffles: all kinds, 32 and 64 bits", shuffles},
    {"votes: ballot, any, all", votes},
    {"elect_one: one lane of each warp, always the same", elections},
    {"atomicAdd: four types", atomics},
    {"TileStore by TMA: ten widths, clipped", widths_stored<false, true>},
    {"TileStore by TMA, exchanged: the same", widths_stored<true, true>},
    {"TileStore by threads: the same, rows of any length", widths_stored<false, false>},
    {"TileStore by threads, exchanged: the same", widths_stored<true, false>},
    {"count_arrival, add_sums: the last CTA adds all parts in their order", parts_added},
    {"ClusterSums: each CTA of a cluster adds a share of the rows", parts_gathered},
};

static int record(const char *path) {
    cudaDeviceProp device;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess)
        return 1;
    Provenance from = {device.name, 0, 0};
    if (cudaRuntimeGetVersion(&from.cuda) != cudaSuccess ||
        cudaDriverGetVersion(&from.driver) != cudaSuccess)
        return 1;
    return record_digests(path, from);
}

int main(int argc, char **argv) {
    const bool recording = argc == 3 && strcmp(argv[1], "--record") == 0;
    const bool comparing = argc == 3 && strcmp(argv[1], "--compare") == 0;
    if (argc > 1 && !recording && !comparing) {
        fprintf(stderr, "usage: %s [--record FILE | --compare FILE]\n", argv[0]);
        return 2;
    }
    const bool ran = run_cases(CASES);
    if (recording) // nothing, unless all is well
        return !ran || test_result() != 0 || record(argv[2]) != 0;
    if (comparing && ran)
        compare_digests(argv[2]);
    return test_result();
}
