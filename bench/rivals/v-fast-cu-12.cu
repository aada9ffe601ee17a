// fast.cu's kernel 12 (examples/matmul/matmul_12.cuh): clusters that share loads, tiles along a
// Hilbert curve, stmatrix and TMA stores. The schedule is that of its own launcher.
#include "fast_cu.cuh"

#include <examples/matmul/matmul_12.cuh>

constexpr int CLUSTER = 2; // CTAs, one above the other
constexpr int CLUSTERS = CTAS / CLUSTER;
constexpr size_t SMEM = sizeof(M12::SMem<BM, BN, BK, STAGES>);

static const auto kernel = M12::matmulKernel12<BM, BN, BK, THREADS, STAGES, CTAS, CLUSTER, 1>;

struct State {
    CUtensorMap map_a;
    CUtensorMap map_b;
    CUtensorMap map_d;
    int *schedule; // in device memory: a list of tiles for each cluster
};

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

static int prepare(const problem *p, void **state) {
    State *made = new State{};
    *state = made;
    const int m = p->n, n = p->m; // its own
    made->map_a = M12::create_tensor_map<BM, BK>(operand(p->b), m, p->k);
    made->map_b = M12::create_tensor_map<BN, BK>(operand(p->a), n, p->k);
    made->map_d = M12::create_tensor_map<BN, BM / CONSUMERS, false, true>(operand(p->d), n, m);
    if (peer_tensor_maps_failed() || allow_dynamic_smem(kernel, SMEM))
        return 1;
    made->schedule = make_schedule(m / (BM * CLUSTER), n / BN);
    return made->schedule == nullptr;
}

// The kernel itself says how large its clusters are.
static int launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    return launch(kernel, dim3(CTAS), dim3(THREADS), dim3(1), SMEM, p->stream, p->n, p->m, p->k,
                  made->map_d, made->map_a, made->map_b, made->schedule);
}

static void release(void *state) {
    release_array(static_cast<State *>(state)->schedule);
    delete static_cast<State *>(state);
}

static const step rival = {
    .name = "v-fast-cu-12",
    .idea = "fast.cu's kernel 12, commit " PEER_COMMIT,
    .computes = GEMM_BF16,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = BN,
    .multiple_n = BM * CLUSTER,
    .multiple_k = BK,
    .prepare = prepare,
    .launch = launch,
    .release = release,
};

int main(int argc, char **argv) { return step_main(&rival, argc, argv); }
