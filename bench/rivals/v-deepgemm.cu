// DeepGEMM's bf16 kernel (deep_gemm/include/deep_gemm/impls/sm90_bf16_gemm.cuh).
#include "deepgemm.cuh"

#include <deep_gemm/impls/sm90_bf16_gemm.cuh>

using Kernel = void (*)(int *, uint32_t, uint32_t, uint32_t, cute::TmaDescriptor,
                        cute::TmaDescriptor, cute::TmaDescriptor);

template <int N, int K, int BLOCK_M, int BLOCK_N, int STAGES, int CLUSTER>
Instance<Kernel> instance(int m) {
    constexpr auto K_MAJOR = cute::UMMA::Major::K;
    constexpr int BK = SWIZZLE / sizeof(bf16), MATH_THREADS = BLOCK_M <= 64 ? 128 : 256;
    const Kernel kernel =
        deep_gemm::sm90_bf16_gemm_impl<K_MAJOR, K_MAJOR, 0, N, K, 1, BLOCK_M, BLOCK_N, BK, SWIZZLE,
                                       SWIZZLE, SWIZZLE, STAGES, TMA_THREADS, MATH_THREADS, CLUSTER,
                                       (CLUSTER > 1), SMS, deep_gemm::GemmType::Normal, false,
                                       cutlass::bfloat16_t>;
    return {kernel,
            m,
            N,
            K,
            BLOCK_M,
            BLOCK_N,
            CLUSTER,
            MATH_THREADS,
            tiles_smem<BLOCK_M, BLOCK_N, STAGES>()};
}

static const Instance<Kernel> instances[] = {
    instance<2048, 2048, 128, 256, 3, 1>(2048),  instance<4096, 4096, 256, 128, 3, 2>(4096),
    instance<8192, 8192, 256, 128, 3, 2>(8192),  instance<16384, 16384, 256, 128, 3, 2>(16384),
    instance<14336, 4096, 256, 128, 3, 2>(4096), instance<4096, 14336, 256, 128, 3, 2>(4096),
    instance<8192, 1024, 256, 128, 3, 2>(8192),  instance<8192, 8192, 64, 128, 8, 1>(128),
    instance<256, 256, 256, 128, 3, 2>(81920),
};

struct Rival : DeepGemm<bf16, Kernel> {
    int prepare(const problem *p) { return find(instances, p) || make_maps(p); }

    int start(const problem *p) {
        return start_with(p, nullptr, p->m, p->n, p->k, map_a, map_b, map_d);
    }
};

HOPPER_RIVAL("v-deepgemm", "DeepGEMM", 128, 256, 256)
