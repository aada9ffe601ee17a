// fast.cu's kernel 7 (examples/matmul/matmul_7.cuh): a persistent kernel with a producer, two
// consumers, mbarriers and groups of 16 x 8 tiles. Its schedule takes whole groups.
#include "fast_cu.cuh"

#include <examples/matmul/matmul_7.cuh>

constexpr size_t SMEM = sizeof(M7::SMem<BM, BN, BK, STAGES>);
// Whole groups of 16 x 8 tiles.
constexpr int GROUP_M = 16 * BM;
constexpr int GROUP_N = 8 * BN;

static const auto kernel = M7::matmulKernel7<BM, BN, BK, THREADS, STAGES, CTAS>;

struct Rival {
    CUtensorMap map_a, map_b;

    int prepare(const problem *p) {
        map_a = M7::create_tensor_map<BM, BK>(operand(p->b), p->n, p->k);
        map_b = M7::create_tensor_map<BN, BK>(operand(p->a), p->m, p->k);
        return peer_tensor_maps_failed() || allow_dynamic_smem(kernel, SMEM);
    }

    int launch(const problem *p) {
        return ::launch(kernel, dim3(CTAS), dim3(THREADS), dim3(1), SMEM, p->stream, p->n, p->m,
                        p->k, operand(p->d), map_a, map_b);
    }
};

HOPPER_RIVAL("v-fast-cu-7", "fast.cu's kernel 7", GROUP_N, GROUP_M, BK)
