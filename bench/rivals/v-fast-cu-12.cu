// fast.cu's kernel 12 (github.com/pranjalssh/fast.cu, examples/matmul/matmul_12.cuh): clusters that
// share loads, tiles along a Hilbert curve, stmatrix and TMA stores. It writes D by columns, so A
// and B swap roles: D^T = B * A^T. Tiles, ring, grid and schedule are those of its own launcher.
#include "rival.cuh"

// What its files expect of the file that includes them.
#include <cassert>
#include <cuda/barrier>
#include <string.h>
#include <string>
#include <vector>
#define CEIL_DIV(m, n) (((m) + (n)-1) / (n))
#define cudaCheck(call) launch_check(call, "calling CUDA in fast.cu, line", __LINE__)

#include <examples/matmul/matmul_12.cuh>

constexpr int BM = 128; // rows of its A: of our B
constexpr int BN = 256;
constexpr int BK = 64;
constexpr int STAGES = 3;
constexpr int CONSUMERS = 2;
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int CTAS = 128;
constexpr int CLUSTER = 2; // CTAs, one above the other
constexpr int CLUSTERS = CTAS / CLUSTER;
constexpr int CLUSTER_ROWS = CLUSTER * BM;
constexpr size_t SMEM = sizeof(M12::SMem<BM, BN, BK, STAGES>);

static const auto kernel = M12::matmulKernel12<BM, BN, BK, THREADS, STAGES, CTAS, CLUSTER, 1>;

struct Rival {
    CUtensorMap map_a, map_b, map_d;
    int *schedule; // in device memory: a list of tiles for each cluster, along the Hilbert curve

    int prepare(const problem *p) {
        const int m = p->n, n = p->m; // its own
        const long long tiles = (long long)(m / CLUSTER_ROWS) * (n / BN);
        std::vector<int> lists(CLUSTERS * M12::SPACE_LEN);
        // Without a tile for each cluster a CTA may exit while the other still arrives on its
        // barriers.
        if (tiles < CLUSTERS || tiles > (long long)lists.size()) {
            fprintf(stderr, "fast.cu's schedule takes %d to %zu tiles, and this shape has %lld\n",
                    CLUSTERS, lists.size(), tiles);
            return 1;
        }
        map_a = M12::create_tensor_map<BM, BK>(operand(p->b), m, p->k);
        map_b = M12::create_tensor_map<BN, BK>(operand(p->a), n, p->k);
        map_d = M12::create_tensor_map<BN, BM / CONSUMERS, false, true>(operand(p->d), n, m);
        if (peer_tensor_maps_failed() || allow_dynamic_smem(kernel, SMEM))
            return 1;
        M12::createHilbert(m / CLUSTER_ROWS, n / BN, CLUSTERS, lists.data());
        schedule = upload_array(lists.data(), lists.size());
        return schedule == nullptr;
    }

    // The kernel itself says how large its clusters are.
    int start(const problem *p) {
        return launch(kernel, dim3(CTAS), dim3(THREADS), dim3(1), SMEM, p->stream, p->n, p->m, p->k,
                      map_d, map_a, map_b, schedule);
    }

    ~Rival() { release_array(schedule); }
};

HOPPER_RIVAL("v-fast-cu-12", "fast.cu's kernel 12", BN, CLUSTER_ROWS, BK)
