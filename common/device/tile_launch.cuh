// A launch of one of a rung's kernels: what it computes, and the host's part: to plan it, to make
// what it needs, to start it. Rungs whose tiles are types share it, and change what is their idea.
#pragma once

#include "device/grouped_order.h"
#include "device/launch.cuh"
#include "device/tile.cuh"
#include "device/tile_plan.h"

#include <iterator>

// What a launch computes. All of it is arithmetic: nothing is in device memory.
struct Work {
    Output out;
    int k_tiles;
    divisor parts;       // of a tile along k
    float *sums;         // of parts that a launch of its own adds, or nullptr; see part_sums.cuh
    grouped_order order; // of tiles, or of clusters' blocks of them
    bool again_a;        // the next wave reads these rows again, A's or, swapped, B's ...
    bool again_b;        // ... or the other operand's
};

// The work of a plan, in groups of `group` rows of tiles. `hints`: what the next wave doesn't read
// again is evicted first. D's rows are `pitch` elements apart.
inline Work work_of(const problem *p, const tile_plan &plan, int group, bool hints, size_t pitch,
                    const bf16 *bias) {
    const int in_group = (group < plan.tiles_m ? group : plan.tiles_m) * plan.tiles_n; // tiles
    // Of a single wave nothing is read again by the next, but its CTAs share rows.
    hints = hints && plan.tiles_m * plan.tiles_n > plan.workers;
    // TMA stores whole tiles, in chunks of 16 bytes.
    bf16 *const d = plan.parts > 1 || !tma_stores(p, pitch) ? static_cast<bf16 *>(p->d) : nullptr;
    return {.out = {d, bias, p->m, p->n, pitch},
            .k_tiles = ceil_div(p->k, TILE_K),
            .parts = divisor_of(plan.parts),
            .sums = nullptr,
            .order = grouped_order_of(plan.tiles_m, plan.tiles_n, group),
            .again_a = !hints || in_group > plan.workers,
            .again_b = !hints || 2 * plan.workers > in_group};
}

// One of a rung's kernels.
struct Kernel {
    void (*run)(TensorMap, TensorMap, TensorMap, Work);
    tile_kind kind;
    size_t smem;
};

// A rung's kernels, whose numbers count their forms: number i is kernels[i / forms]. The first form
// is for whole tiles, the second for tiles whose parts a cluster adds, the third for tiles whose
// parts are in clusters of their own.
struct Family {
    const Kernel *kernels;
    int count; // of numbers
    int forms = 1;
};

// What a rung's record says of a kernel.
inline step_tile family_tile(const Family &family, int i) {
    return tile_record(&family.kernels[i / family.forms].kind, i % family.forms);
}

// Stores in clusters[j] how many clusters of j CTAs are resident at once. Of every kernel an SM
// holds one CTA, so that any of them will do.
inline int family_clusters(const Family &family, int *clusters) {
    const Kernel &any = family.kernels[0];
    return allow_dynamic_smem(any.run, any.smem) ||
           resident_clusters(clusters, TILE_MOST_CLUSTER, any.run, tile_threads(&any.kind),
                             any.smem);
}

// The plan of kernel number i. Where tiles can't have parts, that is the plan of its first form.
inline tile_plan family_plan(const Family &family, int i, const problem *p, const int *clusters) {
    const int first = i / family.forms, form = i % family.forms;
    tile_plan plan = tile_plan_of(&family.kernels[first].kind, p, form, clusters);
    plan.kernel = first * family.forms + (plan.parts > 1) + plan.apart;
    return plan;
}

// The cheapest plan for a product, or that of the kernel that the problem names. Its kernel is
// negative after a line was printed.
inline tile_plan cheapest_plan(const Family &family, const problem *p,
                               double (*cost)(const tile_kind *, const tile_plan *, int k)) {
    int clusters[TILE_MOST_CLUSTER + 1] = {};
    tile_plan best = {.kernel = -1, .cost = HUGE_VAL};
    if (family_clusters(family, clusters))
        return best;
    for (int i = 0; i < family.count; ++i) {
        tile_plan plan = family_plan(family, i, p, clusters);
        plan.cost = cost(&family.kernels[i / family.forms].kind, &plan, p->k);
        const bool wanted = p->kernel == 0 ? plan.cost < best.cost : p->kernel == i + 1;
        if (wanted && plan.workers > 0)
            best = plan;
    }
    if (best.kernel < 0)
        fprintf(stderr, "no cluster of the kernels wanted (--kernel %d) fits on this GPU\n",
                p->kernel);
    return best;
}

// A launch, and what it is made of: what these rungs' State begins with.
struct TileLaunch {
    const Kernel *kernel;
    tile_plan plan;
    int cluster;  // CTAs of a cluster
    int ctas;     // at most one per SM: the fewest that finish in the same number of waves
    bool fits_l2; // A and B do
    bool idles;   // many SMs
    // A rung may change these before make_launch().
    int group;     // rows of tiles in a group of the order
    bool hints;    // what the next wave doesn't read again is evicted first
    bool promotes; // DRAM is read 256 bytes at a time
    bool late;     // it waits until the launch before has ended
    float *sums;   // of parts, if it adds them by a launch of its own; the same
    bf16 *padded;  // A and B if a rung copies them; it allocates and releases them
    TileMaps maps;
    Work work;

    int start(const problem *p) const {
        return launch_early(p->early && !late, kernel->run, dim3(ctas),
                            dim3(tile_threads(&kernel->kind)), dim3(cluster), kernel->smem,
                            p->stream, maps.a, maps.b, maps.d, work);
    }
};

// Begins the launch of a plan, which make_launch() completes. Returns 0, or 1 after printing a
// line.
inline int plan_launch(TileLaunch *made, const Family &family, const tile_plan &plan,
                       const problem *p) {
    int l2 = 0, sms = 0;
    if (plan.kernel < 0 || l2_size(&l2) || multiprocessor_count(&sms))
        return 1;
    *made = {};
    made->kernel = &family.kernels[plan.kernel / family.forms];
    const tile_kind *kind = &made->kernel->kind;
    made->plan = plan;
    made->cluster = tile_cluster(kind, &plan);
    made->ctas = plan.workers * made->cluster;
    made->fits_l2 = (double(p->m) + p->n) * p->k * sizeof(bf16) <= l2;
    made->idles = made->ctas < sms * 7 / 8;
    made->group = tile_square_group(kind, &plan);
    made->hints = !made->fits_l2;
    // The next 128 bytes of a row are the next k-tile's: DRAM delivers both at once. Where the L2
    // doesn't hold A and B, that made products slower in trials.
    made->promotes = made->fits_l2;
    return allow_dynamic_smem(made->kernel->run, made->kernel->smem);
}

// Makes the launch, for a product whose rows TMA takes, and a bias or nullptr. Returns 0, or 1
// after printing a line.
inline int make_launch(TileLaunch *made, const problem *p, const Pitches &pitches,
                       const bf16 *bias) {
    made->work = work_of(p, made->plan, made->group, made->hints, pitches.d, bias);
    made->work.sums = made->sums;
    return make_tile_maps(&made->maps, made->kernel->kind, p, pitches,
                          made->promotes ? PROMOTED_256B : l2_promotion<bf16>());
}

// Of a rung's product the rows lie one after the other.
inline Pitches dense_rows(const problem *p) { return {size_t(p->k), size_t(p->k), size_t(p->n)}; }

// The same of a rung's product.
inline int make_launch(TileLaunch *made, const problem *p) {
    return make_launch(made, p, dense_rows(p), nullptr);
}
