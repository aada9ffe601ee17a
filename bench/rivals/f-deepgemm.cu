// DeepGEMM's FP8 kernel with block scales
// (deep_gemm/include/deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh). The layouts of the scales are ours
// too where m is a multiple of 4 and k of 512. It promotes every 128 products, as f04 does: its
// output must be the model's, bit for bit. Its rule picks the same for all of the shapes below:
// tiles of 256 x 128, three stages, clusters of two CTAs.
#include "deepgemm.cuh"

#include <deep_gemm/epilogue/transform.cuh>
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

constexpr int BM = 256;
constexpr int BN = 128;
constexpr int BK = 128;
constexpr int STAGES = 3;
constexpr int CLUSTER = 2;
constexpr int MATH_THREADS = 256;

using Kernel = void (*)(float *, int *, uint32_t, uint32_t, uint32_t, cute::TmaDescriptor,
                        cute::TmaDescriptor, cute::TmaDescriptor, cute::TmaDescriptor);

template <int N, int K>
Instance<Kernel> instance(int m) {
    constexpr auto K_MAJOR = cute::UMMA::Major::K; // rows of B's scales are contiguous
    constexpr int SCALES_OF_A = BM * int(sizeof(float));
    constexpr int SCALES_OF_B = K / BK * int(sizeof(float)); // of a tile, all k
    static_assert(SCALES_OF_A % 128 == 0 && SCALES_OF_B % 8 == 0, "it rounds these up");
    static_assert(K % (4 * SCALE_BLOCK) == 0, "rows of B's scales have no padding");
    const Kernel kernel = deep_gemm::sm90_fp8_gemm_1d2d_impl<
        K_MAJOR, 0, N, K, 1, BM, BN, BK, SWIZZLE, SWIZZLE, SWIZZLE, STAGES, TMA_THREADS,
        MATH_THREADS, CLUSTER, true, SMS, deep_gemm::GemmType::Normal, cutlass::bfloat16_t,
        deep_gemm::epilogue::transform::EpilogueIdentity>;
    const size_t smem = tiles_smem<BM, BN, STAGES>() + SCALES_OF_B + STAGES * SCALES_OF_A;
    return {kernel, m, N, K, BM, BN, CLUSTER, MATH_THREADS, smem};
}

static const Instance<Kernel> instances[] = {
    instance<7168, 16384>(4096),
    instance<4096, 7168>(4096),
    instance<24576, 1536>(4096),
};

struct Rival : DeepGemm<e4m3, Kernel> {
    TensorMap map_scales; // of A

    int prepare(const problem *p) {
        return find(instances, p) || make_maps(p) ||
               make_tensor_map_2d<float>(&map_scales, p->scale_a, p->k / SCALE_BLOCK, p->m, 1, BM,
                                         UNSWIZZLED, PROMOTED_256B);
    }

    int start(const problem *p) {
        return start_with(p, operand<float>(p->scale_b), nullptr, p->m, p->n, p->k, map_a, map_b,
                          map_d, map_scales);
    }
};

int main(int argc, char **argv) {
    step made =
        hopper_rival<Rival>("f-deepgemm", "DeepGEMM, commit " PEER_COMMIT, BM, BN, 4 * SCALE_BLOCK);
    made.computes = GEMM_FP8;
    made.block_scales = true;
    made.promotion = SCALE_BLOCK;
    return run_step<Rival>(made, argc, argv);
}
