// DeepGEMM's bf16 kernel for the H100 (github.com/deepseek-ai/DeepGEMM,
// deep_gemm/include/deep_gemm/impls/sm90_bf16_gemm.cuh). Its layouts are ours.
//
// DeepGEMM compiles a kernel for each shape when it is first called, with the parameters that its
// heuristic (csrc/jit_kernels/heuristics/sm90.hpp) picks. Here they were picked beforehand, for the
// shapes below and 132 SMs; other shapes are rejected. As it does by default, n and k are compiled
// in, and a launch does not begin before the one before it has ended.
#include "rival.cuh"

#include <deep_gemm/impls/sm90_bf16_gemm.cuh>

constexpr int SMS = 132;
constexpr int BK = 64;
constexpr int TMA_THREADS = 128;
constexpr int BARRIERS = 16 * 2 * sizeof(uint64_t); // room for the most stages that it may have

using Kernel = void (*)(int *, uint32_t, uint32_t, uint32_t, cute::TmaDescriptor,
                        cute::TmaDescriptor, cute::TmaDescriptor);

struct Instance {
    Kernel kernel;
    int m, n, k;
    int block_m, block_n;
    int cluster; // CTAs, which share the loads of A
    int threads;
    size_t smem;
};

template <int N, int K, int BLOCK_M, int BLOCK_N, int STAGES, int CLUSTER>
Instance instance(int m) {
    constexpr auto K_MAJOR = cute::UMMA::Major::K;
    constexpr int SWIZZLE = 128; // bytes
    constexpr int MATH_THREADS = BLOCK_M <= 64 ? 128 : 256;
    constexpr int STAGE = (BLOCK_M + BLOCK_N) * BK * int(sizeof(bf16));
    constexpr int STAGING = BLOCK_M * BLOCK_N * int(sizeof(bf16));
    static_assert(STAGING % 1024 == 0, "it rounds the staging memory up to this");
    return {deep_gemm::sm90_bf16_gemm_impl<K_MAJOR, K_MAJOR, 0, N, K, 1, BLOCK_M, BLOCK_N, BK,
                                           SWIZZLE, SWIZZLE, SWIZZLE, STAGES, TMA_THREADS,
                                           MATH_THREADS, CLUSTER, (CLUSTER > 1), SMS,
                                           deep_gemm::GemmType::Normal, false, cutlass::bfloat16_t>,
            m,
            N,
            K,
            BLOCK_M,
            BLOCK_N,
            CLUSTER,
            TMA_THREADS + MATH_THREADS,
            STAGING + BARRIERS + STAGES * STAGE};
}

static const Instance instances[] = {
    instance<2048, 2048, 128, 256, 3, 1>(2048),  instance<4096, 4096, 256, 128, 3, 2>(4096),
    instance<8192, 8192, 256, 128, 3, 2>(8192),  instance<16384, 16384, 256, 128, 3, 2>(16384),
    instance<14336, 4096, 256, 128, 3, 2>(4096), instance<4096, 14336, 256, 128, 3, 2>(4096),
    instance<8192, 1024, 256, 128, 3, 2>(8192),  instance<8192, 8192, 64, 128, 8, 1>(128),
    instance<256, 256, 256, 128, 3, 2>(81920),
};

// The kernel for this shape on this GPU; nullptr after printing one line if there is none.
static const Instance *find_instance(const problem *p) {
    int sms = 0;
    if (multiprocessor_count(&sms))
        return nullptr;
    for (const Instance &i : instances)
        if (sms == SMS && i.m == p->m && i.n == p->n && i.k == p->k)
            return &i;
    fprintf(stderr, "no kernel of DeepGEMM was built for %d x %d x %d and %d SMs\n", p->m, p->n,
            p->k, sms);
    return nullptr;
}

static int make_map(TensorMap *map, const void *matrix, int rows, int columns, int box_rows) {
    return make_tensor_map_2d(map, matrix, rows, columns, box_rows, BK, SWIZZLED_128B,
                              PROMOTED_256B);
}

struct Rival {
    const Instance *instance;
    TensorMap map_a, map_b, map_d;

    int prepare(const problem *p) {
        const Instance *i = instance = find_instance(p);
        return i == nullptr || make_map(&map_a, p->a, p->m, p->k, i->block_m) ||
               make_map(&map_b, p->b, p->n, p->k, i->block_n) ||
               make_map(&map_d, p->d, p->m, p->n, i->block_m) ||
               allow_dynamic_smem(i->kernel, i->smem);
    }

    int launch(const problem *p) {
        const Instance *i = instance;
        return ::launch(i->kernel, dim3(SMS), dim3(i->threads), dim3(i->cluster), i->smem,
                        p->stream, nullptr, p->m, p->n, p->k, map_a, map_b, map_d);
    }
};

HOPPER_RIVAL("v-deepgemm", "DeepGEMM", 128, 256, 256)
