// DeepGEMM's FP8 kernel with block scales for the H100 (github.com/deepseek-ai/DeepGEMM,
// deep_gemm/include/deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh). Its layouts are ours, those of the
// scales too where m is a multiple of 4 and k of 512. It promotes every 128 products, as f04 does:
// its output must be the model's, bit for bit.
//
// DeepGEMM compiles a kernel for each shape when it is first called, with the parameters that its
// heuristic (csrc/jit_kernels/heuristics/sm90.hpp) picks. Here they were worked out by that rule
// beforehand, for the shapes below and 132 SMs, and are the same for all of them: tiles of 256 x
// 128, three stages, clusters of two CTAs, which share the loads of A. Other shapes are rejected.
// As it does by default, n and k are compiled in, and a launch does not begin before the one before
// it has ended.
#include "rival.cuh"

#include <deep_gemm/epilogue/transform.cuh>
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

constexpr int SMS = 132;
constexpr int BM = 256;
constexpr int BN = 128;
constexpr int BK = 128;
constexpr int STAGES = 3;
constexpr int CLUSTER = 2;
constexpr int TMA_THREADS = 128;
constexpr int MATH_THREADS = 256;
constexpr int BARRIERS = 16 * 2 * sizeof(uint64_t); // room for the most stages that it may have

using Kernel = void (*)(float *, int *, uint32_t, uint32_t, uint32_t, cute::TmaDescriptor,
                        cute::TmaDescriptor, cute::TmaDescriptor, cute::TmaDescriptor);

struct Instance {
    Kernel kernel;
    int m, n, k;
    size_t smem;
};

template <int N, int K>
Instance instance(int m) {
    constexpr auto K_MAJOR = cute::UMMA::Major::K; // rows of B's scales are contiguous
    constexpr int SWIZZLE = 128;                   // bytes
    constexpr int SCALES_OF_A = BM * int(sizeof(float));
    constexpr int SCALES_OF_B = K / BK * int(sizeof(float)); // of a tile, all k
    constexpr int STAGE = (BM + BN) * BK + SCALES_OF_A;
    constexpr int STAGING = BM * BN * int(sizeof(bf16));
    static_assert(STAGING % 1024 == 0 && SCALES_OF_A % 128 == 0 && SCALES_OF_B % 8 == 0,
                  "it rounds these up");
    static_assert(K % (4 * SCALE_BLOCK) == 0, "rows of B's scales have no padding");
    return {deep_gemm::sm90_fp8_gemm_1d2d_impl<
                K_MAJOR, 0, N, K, 1, BM, BN, BK, SWIZZLE, SWIZZLE, SWIZZLE, STAGES, TMA_THREADS,
                MATH_THREADS, CLUSTER, true, SMS, deep_gemm::GemmType::Normal, cutlass::bfloat16_t,
                deep_gemm::epilogue::transform::EpilogueIdentity>,
            m, N, K, STAGING + BARRIERS + SCALES_OF_B + STAGES * STAGE};
}

static const Instance instances[] = {
    instance<7168, 16384>(4096),
    instance<4096, 7168>(4096),
    instance<24576, 1536>(4096),
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

static int make_operand_map(TensorMap *map, const void *matrix, int rows, int k, int box_rows) {
    return make_tensor_map_2d<e4m3>(map, matrix, rows, k, box_rows, BK, SWIZZLED_128B,
                                    PROMOTED_256B);
}

struct Rival {
    const Instance *instance;
    TensorMap map_a, map_b, map_d, map_scales; // of A

    int prepare(const problem *p) {
        constexpr int STORED = 64; // columns of D under its swizzle
        instance = find_instance(p);
        return instance == nullptr || make_operand_map(&map_a, p->a, p->m, p->k, BM) ||
               make_operand_map(&map_b, p->b, p->n, p->k, BN) ||
               make_tensor_map_2d(&map_d, p->d, p->m, p->n, BM, STORED, SWIZZLED_128B,
                                  PROMOTED_256B) ||
               make_tensor_map_2d<float>(&map_scales, p->scale_a, p->k / SCALE_BLOCK, p->m, 1, BM,
                                         UNSWIZZLED, PROMOTED_256B) ||
               allow_dynamic_smem(instance->kernel, instance->smem);
    }

    int launch(const problem *p) {
        const Instance *i = instance;
        return ::launch(i->kernel, dim3(SMS), dim3(TMA_THREADS + MATH_THREADS), dim3(CLUSTER),
                        i->smem, p->stream, operand<float>(p->scale_b), nullptr, p->m, p->n, p->k,
                        map_a, map_b, map_d, map_scales);
    }
};

int main(int argc, char **argv) {
    step made =
        hopper_rival<Rival>("f-deepgemm", "DeepGEMM, commit " PEER_COMMIT, BM, BN, 4 * SCALE_BLOCK);
    made.computes = GEMM_FP8;
    made.block_scales = true;
    made.promotion = SCALE_BLOCK;
    return step_main(&made, argc, argv);
}
