// A tile as a type: what follows from its parameters, and what its CTA keeps in shared memory.
#pragma once

#include "device/tensor_map.cuh"
#include "device/tile_kind.h"
#include "device/tile_store.cuh"

// How the consumers of a CTA share the work: there is one; each has half of the tile's rows, or of
// its columns; or they ping-pong, a tile each.
enum Sharing { ALONE, BY_ROWS, BY_COLUMNS, PING_PONG };
enum Operands { AS_THEY_ARE, SWAPPED };

template <int BM_, int BN_, Sharing SHARING = BY_ROWS, Operands OPERANDS = AS_THEY_ARE,
          int ABOVE_ = 1, int BESIDE_ = 1>
struct Tile {
    static constexpr int BM = BM_; // rows, along wgmma's M side
    static constexpr int BN = BN_; // columns, along its N side
    static constexpr int BK = TILE_K;
    static constexpr bool SWAP = OPERANDS == SWAPPED; // the M side is D's n, and rows are B's
    static constexpr int ABOVE = ABOVE_;   // tiles of a cluster above one another: they share B
    static constexpr int BESIDE = BESIDE_; // and side by side: they share A
    static constexpr int CTAS = ABOVE * BESIDE;
    static constexpr int CONSUMERS = SHARING == ALONE ? 1 : 2;
    static constexpr int TURNS = SHARING == PING_PONG ? 2 : 1; // tiles that a CTA works on
    static constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
    static constexpr int WM = SHARING == BY_ROWS ? BM / 2 : BM; // rows of a consumer warpgroup
    static constexpr int MMA_M = 64;
    static constexpr int BLOCKS = WM / MMA_M; // of a consumer's rows, MMA_M each
    static constexpr int MMA_N = SHARING == BY_COLUMNS ? BN / 2 : BN; // its columns
    static constexpr int MMA_K = 16;
    using Store = TileStore<MMA_N, SWAP>;
    // The ring has what the staging memory leaves of 225 KB; 2 KB are for barriers and alignment.
    static constexpr int ROOM =
        (225 * 1024 - CONSUMERS * Store::ELEMENTS * int(sizeof(bf16))) / ((BM + BN) * BK * 2);
    static constexpr int STAGES = ROOM < 16 ? ROOM : 16;
    static constexpr int IN_FLIGHT = STAGES > 3 ? 1 : 0; // k-tiles, if the ring can spare a stage
    // A tile's fp32 sums, which take the place of the ring: rows are so far apart that a warp's
    // writes hit no bank twice. It writes pairs of columns of 8 rows or, swapped, 8 columns of 8.
    static constexpr int ROWS_D = SWAP ? BN : BM;
    static constexpr int COLUMNS_D = SWAP ? BM : BN;
    static constexpr int PITCH = (COLUMNS_D + 31 - (SWAP ? 4 : 8)) / 32 * 32 + (SWAP ? 4 : 8);
    static constexpr bool GATHERS =
        TURNS == 1 && CTAS <= 4 && ROWS_D * PITCH * 4 <= STAGES * (BM + BN) * BK * 2;
    // More accumulators leave a thread no registers to store them one by one.
    static constexpr bool PARTS_APART = TURNS == 1 && BLOCKS * MMA_N / 2 <= 128;
    static constexpr tile_kind KIND = {.rows = BM,
                                       .columns = BN,
                                       .consumers = CONSUMERS,
                                       .by_columns = SHARING == BY_COLUMNS,
                                       .ping_pong = TURNS > 1,
                                       .stages = STAGES,
                                       .above = ABOVE,
                                       .beside = BESIDE,
                                       .swapped = SWAP,
                                       .gathers = GATHERS,
                                       .parts_apart = PARTS_APART,
                                       .box_rows = Store::BOX_ROWS,
                                       .box_columns = Store::BOX_COLUMNS};
    static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");
    static_assert(STAGES >= 3, "the tile leaves no room for a ring");
    static_assert(BLOCKS >= 1 && BLOCKS * MMA_N / 2 <= (SHARING == ALONE ? 176 : 200),
                  "the accumulators spill");
    static_assert(BM % (8 * BESIDE) == 0 && (ABOVE == 1 || BN % (8 * ABOVE) == 0),
                  "a box is whole periods of the swizzle");

    // Where a consumer's share of the tile begins.
    static DEVICE int row(int consumer) { return SHARING == BY_ROWS ? consumer * WM : 0; }
    static DEVICE int column(int consumer) { return SHARING == BY_COLUMNS ? consumer * MMA_N : 0; }
};

template <typename T>
struct Storage {
    alignas(1024) bf16 a[T::STAGES][T::BM * T::BK];
    alignas(1024) bf16 b[T::STAGES][T::BN * T::BK];
    alignas(1024) bf16 d[T::CONSUMERS][T::Store::ELEMENTS];
    uint64_t full[T::STAGES];
    uint64_t empty[T::STAGES];
    uint64_t turn[T::CONSUMERS]; // completed when the consumer may multiply
};

// The tensor maps of a kernel: of its operands, and of D.
struct TileMaps {
    TensorMap a;
    TensorMap b;
    TensorMap d;
};

// Elements from row to row of the operands and of D.
struct Pitches {
    size_t a;
    size_t b;
    size_t d;
};

// TMA writes chunks of 16 bytes: a row that ends within one would be written past its end.
inline bool tma_stores(const problem *p, size_t pitch_d) { return (p->n | pitch_d) % 8 == 0; }

// Makes them: of a product's operands for the kernel's A and B or, swapped, the other way round.
// TMA takes rows that are multiples of 16 bytes apart. There is no map of a D that it can't store.
inline int make_tile_maps(TileMaps *maps, const tile_kind &kind, const problem *p,
                          const Pitches &pitches, CUtensorMapL2promotion promotion) {
    const bool swap = kind.swapped;
    return make_tensor_map_2d(&maps->a, swap ? p->b : p->a, swap ? p->n : p->m, p->k,
                              kind.rows / kind.beside, TILE_K, SWIZZLED_128B, promotion,
                              swap ? pitches.b : pitches.a) ||
           make_tensor_map_2d(&maps->b, swap ? p->a : p->b, swap ? p->m : p->n, p->k,
                              kind.columns / kind.above, TILE_K, SWIZZLED_128B, promotion,
                              swap ? pitches.a : pitches.b) ||
           (tma_stores(p, pitches.d) &&
            make_tensor_map_2d(&maps->d, p->d, p->m, p->n, kind.box_rows, kind.box_columns,
                               swizzle_of_rows(kind.box_columns * int(sizeof(bf16))),
                               l2_promotion<bf16>(), pitches.d));
}
