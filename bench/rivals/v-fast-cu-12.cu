// fast.cu's kernel 12 (examples/matmul/matmul_12.cuh): clusters that share loads, tiles along a
// Hilbert curve, stmatrix and TMA stores. The schedule is that of its own launcher.
#include "fast_cu.cuh"

#include <examples/matmul/matmul_12.cuh>

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
    int launch(const problem *p) {
        return ::launch(kernel, dim3(CTAS), dim3(THREADS), dim3(1), SMEM, p->stream, p->n, p->m,
                        p->k, map_d, map_a, map_b, schedule);
    }

    ~Rival() { release_array(schedule); }
};

HOPPER_RIVAL("v-fast-cu-12", "fast.cu's kernel 12", BN, CLUSTER_ROWS, BK)
