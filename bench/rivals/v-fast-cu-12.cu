// fast.cu's kernel 12 (examples/matmul/matmul_12.cuh): clusters that share loads, tiles along a
// Hilbert curve, stmatrix and TMA stores. The schedule is that of its own launcher.
#include "fast_cu.cuh"

#include <examples/matmul/matmul_12.cuh>

constexpr int CLUSTER = 2; // CTAs, one above the other
constexpr int CLUSTERS = CTAS / CLUSTER;
constexpr int CLUSTER_ROWS = CLUSTER * BM;
constexpr size_t SMEM = sizeof(M12::SMem<BM, BN, BK, STAGES>);

static const auto kernel = M12::matmulKernel12<BM, BN, BK, THREADS, STAGES, CTAS, CLUSTER, 1>;

// The tiles along the Hilbert curve, in device memory; nullptr if that fails. Every cluster needs a
// tile: without one a CTA may exit while the other still arrives on its barriers.
static int *make_schedule(int tiles_m, int tiles_n) {
    const long long tiles = (long long)tiles_m * tiles_n;
    if (tiles < CLUSTERS || tiles > CLUSTERS * M12::SPACE_LEN) {
        fprintf(stderr, "fast.cu's schedule takes %d to %d tiles, and this shape has %lld\n",
                CLUSTERS, CLUSTERS * M12::SPACE_LEN, tiles);
        return nullptr;
    }
    std::vector<int> lists(CLUSTERS * M12::SPACE_LEN);
    M12::createHilbert(tiles_m, tiles_n, CLUSTERS, lists.data());
    return upload_array(lists.data(), lists.size());
}

struct Rival {
    CUtensorMap map_a, map_b, map_d;
    int *schedule; // in device memory: a list of tiles for each cluster

    int prepare(const problem *p) {
        const int m = p->n, n = p->m; // its own
        map_a = M12::create_tensor_map<BM, BK>(operand(p->b), m, p->k);
        map_b = M12::create_tensor_map<BN, BK>(operand(p->a), n, p->k);
        map_d = M12::create_tensor_map<BN, BM / CONSUMERS, false, true>(operand(p->d), n, m);
        if (peer_tensor_maps_failed() || allow_dynamic_smem(kernel, SMEM))
            return 1;
        schedule = make_schedule(m / CLUSTER_ROWS, n / BN);
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
