// The producer and the consumers of a ring of stages, for any tile, in a CTA or in a cluster whose
// CTAs load for each other. Rungs that use it are about something else.
#pragma once

#include "device/cluster.cuh"
#include "device/cluster_sums.cuh"
#include "device/mbarrier.cuh"
#include "device/ring.cuh"
#include "device/tile.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

enum { STAGING_BARRIER = 1, RING_BARRIER = 3 }; // named barriers: one per consumer; of all

// A piece of work: a CTA's tile, and which of its k-tiles.
struct Piece {
    int m; // the tile: rows m * BM and up ...
    int n; // ... and n * BN and up of the operands
    int first;
    int k_tiles;
    bool backwards; // from the last k-tile to the first
};

// An operand: its matrix has `rows` rows. What is read again soon stays in the L2; the rest is
// evicted first.
struct Operand {
    const TensorMap *map;
    int rows;
    bool again;
};

// The calling CTA's place among the CTAs that share loads, and the rank of the first of them.
template <typename T>
struct Place {
    int rank = T::CTAS > 1 ? cluster_cta_rank() : 0;
    int first = rank / T::CTAS * T::CTAS;
    int above = rank % T::CTAS / T::BESIDE;
    int beside = rank % T::BESIDE;
};

// One thread makes the barriers ready that loads complete ...
template <typename T>
DEVICE void init_full(Storage<T> &smem) {
    for (int stage = 0; stage < T::STAGES; ++stage)
        mbarrier_init(&smem.full[stage], 1);
    mbarrier_init_fence(); // before any thread or copy uses them
}

// ... and one, the same or another, those that consumers complete: all that read a stage, of all
// CTAs that this one loads for.
template <typename T>
DEVICE void init_empty(Storage<T> &smem) {
    for (int stage = 0; stage < T::STAGES; ++stage)
        mbarrier_init(&smem.empty[stage], T::CONSUMERS / T::TURNS * (T::ABOVE + T::BESIDE - 1));
    for (int consumer = 0; consumer < T::CONSUMERS; ++consumer)
        mbarrier_init(&smem.turn[consumer], 1);
    mbarrier_init_fence();
}

// Loads one operand's part of a stage. Of an operand that CTAS share, each loads a part of the rows
// for all, whose bits are in `mask`. A box wholly outside of the matrix loads the first rows
// instead: TMA takes cycles for each row that it fills with zeros, and these sums are not stored.
template <int ROWS, int CTAS>
DEVICE void load_operand(bf16 *tile, const Operand &operand, int k, int row, int part, int mask,
                         uint64_t *full) {
    const int first = CTAS > 1 ? part * (ROWS / CTAS) : 0;
    const int from = row + first < operand.rows ? row + first : 0;
    if (CTAS > 1)
        tma_load_2d_multicast(&tile[first * TILE_K], operand.map, k, from, full, mask);
    else if (operand.again)
        tma_load_2d(tile, operand.map, k, from, full);
    else
        tma_load_2d_hint(tile, operand.map, k, from, full, evict_first_policy());
}

// The producer, one thread: loads a piece's operands into the ring, up to STAGES k-tiles ahead.
template <typename T>
DEVICE void load_tile(Storage<T> &smem, const Operand &a, const Operand &b, const Piece &piece,
                      Ring<T::STAGES> &ring) {
    const Place<T> place;
    const int row_mask = ((1 << T::BESIDE) - 1) << (place.first + place.above * T::BESIDE);
    const int column_mask = ((1 << T::CTAS) - 1) / ((1 << T::BESIDE) - 1)
                            << (place.first + place.beside);
#pragma unroll 1 // four copies of the loop would each run from a cold instruction cache
    for (int i = 0; i < piece.k_tiles; ++i) {
        uint64_t *full = &smem.full[ring.stage];
        // Waits for the consumers, the cluster's as well: they have read what this stage held.
        mbarrier_wait(&smem.empty[ring.stage], ring.phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(full, sizeof(smem.a[0]) + sizeof(smem.b[0]));
        const int k = (piece.first + (piece.backwards ? piece.k_tiles - 1 - i : i)) * T::BK;
        load_operand<T::BM, T::BESIDE>(smem.a[ring.stage], a, k, piece.m * T::BM, place.beside,
                                       row_mask, full);
        load_operand<T::BN, T::ABOVE>(smem.b[ring.stage], b, k, piece.n * T::BN, place.above,
                                      column_mask, full);
        ring.next();
    }
}

// The CTA to which this thread of a consumer hands stages back; -1: to none. The first threads have
// one each of those that load into this CTA's ring: those in its row of the cluster, itself among
// them, then the others in its column.
template <typename T>
DEVICE int loader_of_thread() {
    const Place<T> place;
    const int thread = threadIdx.x % WARPGROUP_THREADS;
    const int other = thread - T::BESIDE;
    if (thread >= T::ABOVE + T::BESIDE - 1)
        return -1;
    return place.first + (other < 0 ? place.above * T::BESIDE + thread
                                    : (other + (other >= place.above)) * T::BESIDE + place.beside);
}

// A consumer warpgroup hands a stage back to every CTA that loads into it, when its wgmmas have
// read it. One arrival speaks for all four warps: a wgmma is one operation of the warpgroup, and
// wgmma_wait waits for the whole of it.
template <typename T>
DEVICE void release_stage(Storage<T> &smem, int stage, int loader) {
    if (T::CTAS == 1 && threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
    if (T::CTAS > 1 && loader >= 0)
        mbarrier_arrive_cluster(&smem.empty[stage], loader);
}

// A consumer warpgroup: multiplies `k_tiles` k-tiles of the ring into its share of the tile. Where
// the ring can spare a stage, a k-tile's wgmmas are still in flight when the next one's start.
template <typename T>
DEVICE void multiply_tile(float (&acc)[T::BLOCKS][T::MMA_N / 2], Storage<T> &smem, int consumer,
                          int k_tiles, Ring<T::STAGES> &ring) {
    const int loader = T::CTAS > 1 ? loader_of_thread<T>() : -1;
    int previous = 0; // the previous k-tile's stage
#pragma unroll 1
    for (int i = 0; i < k_tiles; ++i) {
        // Waits for the producer's loads into this stage.
        mbarrier_wait(&smem.full[ring.stage], ring.phase);
        const uint64_t b = matrix_descriptor(&smem.b[ring.stage][T::column(consumer) * T::BK]);
        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < T::BK; kk += T::MMA_K)
            for (int block = 0; block < T::BLOCKS; ++block) {
                const int row = T::row(consumer) + block * T::MMA_M;
                const uint64_t a = matrix_descriptor(&smem.a[ring.stage][row * T::BK]);
                wgmma<T::MMA_N>(acc[block], advance_k(a, kk), advance_k(b, kk),
                                i > 0 || kk > 0); // the first one overwrites
            }
        wgmma_commit();
        wgmma_wait<T::IN_FLIGHT>(acc); // earlier k-tiles have been read
        if (i >= T::IN_FLIGHT)
            release_stage(smem, T::IN_FLIGHT ? previous : ring.stage, loader);
        previous = ring.stage;
        ring.next();
    }
    // All of this tile's wgmmas are issued: the other consumer may issue its own after them.
    if (T::TURNS > 1 && threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.turn[1 - consumer]);
    wgmma_wait<0>(acc);
    if (T::IN_FLIGHT > 0)
        release_stage(smem, previous, loader);
}

// A consumer warpgroup: stores a block of its share of a piece's tile, by TMA or as `out` says.
// `in_ring`: no thread uses the ring any more, so the block is staged there at once.
template <typename T>
DEVICE void store_tile(Storage<T> &smem, const TensorMap *map_d, float (&acc)[T::MMA_N / 2],
                       int consumer, const Piece &piece, int block, bool in_ring = false,
                       const Output &out = {}) {
    T::Store::store(in_ring ? &smem.a[0][block * T::MMA_M * T::MMA_N] : smem.d[consumer], in_ring,
                    STAGING_BARRIER + consumer, map_d, acc,
                    piece.m * T::BM + T::row(consumer) + block * T::MMA_M,
                    piece.n * T::BN + T::column(consumer), out);
}

// A consumer of a CTA whose cluster has all `parts` parts of a tile: adds them, and stores its
// CTA's share of the rows of D.
template <typename T>
DEVICE void gather(Storage<T> &smem, const float (&acc)[T::BLOCKS][T::MMA_N / 2],
                   const Piece &piece, int consumer, int parts, const Output &out) {
    using Sums = ClusterSums<T::ROWS_D, T::COLUMNS_D, T::PITCH, T::SWAP, T::CTAS>;
    constexpr int THREADS = T::CONSUMERS * WARPGROUP_THREADS;
    float *sums = reinterpret_cast<float *>(smem.a);
    named_barrier_sync(RING_BARRIER, THREADS); // no wgmma still reads the ring
#pragma unroll
    for (int block = 0; block < T::BLOCKS; ++block)
        Sums::write(sums, acc[block], T::row(consumer) + block * T::MMA_M, T::column(consumer));
    cluster_sync(); // the sums of all CTAs are there
    Sums::add(out, sums, parts, (T::SWAP ? piece.n : piece.m) * T::ROWS_D,
              (T::SWAP ? piece.m : piece.n) * T::COLUMNS_D, threadIdx.x - WARPGROUP_THREADS,
              THREADS);
}
