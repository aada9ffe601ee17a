// What a launch of a kernel of a family computes, and what the host has to know about the kernel.
#pragma once

#include "device/grouped_order.h"
#include "device/tile.cuh"
#include "device/tile_plan.h"

#include <iterator>

// What a launch computes. All of it is arithmetic: nothing is in device memory.
struct Work {
    int m; // of D
    int n;
    int k_tiles;
    divisor parts;       // of a tile along k, one for each CTA that has the tile
    grouped_order order; // of tiles, or of clusters' blocks of them
    bool again_a;        // the next wave reads these rows again, A's or, swapped, B's ...
    bool again_b;        // ... or the other operand's
    bf16 *d;             // D where threads store it, nullptr where TMA does
};

// The work of a plan, in groups of `group` rows of tiles. `hints`: what the next wave doesn't read
// again is evicted first.
inline Work work_of(const problem *p, const tile_plan &plan, int group, bool hints) {
    const int in_group = (group < plan.tiles_m ? group : plan.tiles_m) * plan.tiles_n; // tiles
    // Of a single wave nothing is read again by the next, but its CTAs share rows.
    hints = hints && plan.tiles_m * plan.tiles_n > plan.workers;
    return {.m = p->m,
            .n = p->n,
            .k_tiles = ceil_div(p->k, TILE_K),
            .parts = divisor_of(plan.parts),
            .order = grouped_order_of(plan.tiles_m, plan.tiles_n, group),
            .again_a = !hints || in_group > plan.workers,
            .again_b = !hints || 2 * plan.workers > in_group,
            .d = plan.parts > 1 ? static_cast<bf16 *>(p->d) : nullptr};
}

// One of a rung's kernels.
struct Kernel {
    void (*run)(TensorMap, TensorMap, TensorMap, Work);
    tile_kind kind;
    size_t smem;
};
