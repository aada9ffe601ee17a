// s09: parts of tiles apart.
//
// A cluster that divides k has few CTAs left to multicast: eight in all. Here each part of a tile
// has a cluster of its own, as many as the GPU holds, which stores its sums to device memory; a
// launch of its own, early, adds them. The model chooses among three forms of each kernel now.
// Expected after a first trial: a fifth less time where D is a few tiles and k long; else the same.
#include "step.h"
#include "device/cluster_sums.cuh"
#include "device/dependent_launch.cuh"
#include "device/elect.cuh"
#include "device/launch.cuh"
#include "device/part_sums.cuh"
#include "device/pipeline.cuh"
#include "device/registers.cuh"
#include "device/tile_launch.cuh"
#include "device/tile_model.h"
#include "device/tile_table.cuh"
#include "device/vector.cuh"
#include "device/wgmma.cuh"

constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
constexpr int PAD_WARPS = 8;                          // a row each
constexpr int PAD_LOADS = 8;                          // of a lane at a time
constexpr int PAD_COLUMNS = PAD_LOADS * WARP_THREADS; // of a warp at a time
constexpr int PAD_SPLIT = 16;                         // warps share a long row, at most
constexpr int ADD_THREADS = 128;
constexpr double LONG_PRODUCT = 50e3; // cycles, found in trials on an H100: see prepare()

// The pieces of work of a CTA, one after the other.
template <typename T>
struct Schedule {
    const Work &work;
    int index;              // in the order, of one part after the other
    bool backwards = false; // every other tile of this CTA
    int part = 0;           // of the piece

    // The next piece but for `turns` - 1 others; false: there are no more.
    DEVICE bool next(Piece &piece, int turns) {
        part = work.sums != nullptr ? index / work.order.tiles : 0;
        if (index >= (work.sums != nullptr ? work.parts.value : 1) * work.order.tiles)
            return false;
        const tile_coordinate tile = ordered_tile(&work.order, index - part * work.order.tiles);
        const Place<T> place;
        piece = {tile.m * T::ABOVE + place.above, tile.n * T::BESIDE + place.beside, 0,
                 work.k_tiles, backwards};
        if (work.parts.value > 1) {
            if (work.sums == nullptr)
                part = cluster_cta_rank() / T::CTAS;
            piece.first = divided(work.k_tiles * part, work.parts);
            piece.k_tiles = divided(work.k_tiles * (part + 1), work.parts) - piece.first;
        }
        index += turns * cluster_count();
        backwards = !backwards;
        return true;
    }

    // Of a ping-pong consumer: whether the CTA has no tile after this consumer's.
    DEVICE bool is_last() const { return index - cluster_count() >= work.order.tiles; }
};

// Copies the rows of A and then those of B, k columns each, to rows of `pitch` columns; zeros
// follow. `from`: how far theirs are apart.
__global__ void __launch_bounds__(PAD_WARPS *WARP_THREADS)
    pad_rows(bf16 *to, const bf16 *a, const bf16 *b, int m, int n, int k, int pitch, Pitches from) {
    launch_dependents();
    wait_for_launch_before(); // it may still read what this launch overwrites, or write A or B
    const int lane = threadIdx.x % WARP_THREADS;
    const int row = blockIdx.x * PAD_WARPS + warp_index();
    const bf16 *of_row = row < m ? a + row * from.a : b + (row - m) * from.b;
    for (int i = blockIdx.y * PAD_COLUMNS + lane; row < m + n && i < pitch;
         i += gridDim.y * PAD_COLUMNS) {
        bf16 values[PAD_LOADS]; // all loads are in flight before the first store
        for (int j = 0; j < PAD_LOADS; ++j)
            values[j] = i + j * WARP_THREADS < k ? of_row[i + j * WARP_THREADS] : bf16(0);
        for (int j = 0; j < PAD_LOADS && i + j * WARP_THREADS < pitch; ++j)
            to[size_t(row) * pitch + i + j * WARP_THREADS] = values[j];
    }
}

// Adds the sums of all parts, in their order, and the bias, and writes them to D.
__global__ void __launch_bounds__(ADD_THREADS)
    add_parts(const float *sums, int parts, const __grid_constant__ Output out) {
    launch_dependents();
    wait_for_launch_before(); // all sums are there
    const int pitch = sums_pitch(out.n);
    const size_t count = size_t(out.m) * pitch; // of a part
    const size_t i = (size_t(blockIdx.x) * ADD_THREADS + threadIdx.x) * ADDED;
    if (i >= count)
        return;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8 // reads in flight
    for (int part = 0; part < parts; ++part) {
        const float4 more = *reinterpret_cast<const float4 *>(&sums[part * count + i]);
        sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
    }
    float values[ADDED] = {sum.x, sum.y, sum.z, sum.w};
    const int row = i / pitch, column = i % pitch;
    for (int j = 0; j < ADDED && out.bias != nullptr; ++j)
        values[j] += bias_at(out, column + j);
    bf16 *to = &out.d[row * out.pitch + column];
    const bool by_fours = (out.n | out.pitch) % ADDED == 0;
    if (by_fours)
        *reinterpret_cast<uint2 *>(to) =
            make_uint2(pack_bf16(values[0], values[1]), pack_bf16(values[2], values[3]));
    for (int j = 0; j < ADDED && !by_fours && column + j < out.n; ++j)
        to[j] = __float2bfloat16_rn(values[j]);
}

template <typename T>
__global__ void __launch_bounds__(T::THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const __grid_constant__ Work work) {
    Storage<T> &smem = dynamic_smem<Storage<T>>();
    const int warpgroup = warpgroup_index();
    const int turns = warpgroup > 0 ? T::TURNS : 1;

    // Three warps of the producer's warpgroup, so that the launch's start is shorter.
    if (threadIdx.x == 0) {
        launch_dependents();
        init_full(smem);
    }
    if (threadIdx.x == WARP_THREADS)
        init_empty(smem);
    if (threadIdx.x == 2 * WARP_THREADS) {
        tensor_map_prefetch(&map_a);
        tensor_map_prefetch(&map_b);
        if (work.out.d == nullptr)
            tensor_map_prefetch(&map_d);
    }
    Ring<T::STAGES> ring; // it continues from piece to piece
    Schedule<T> schedule = {work,
                            cluster_index() + warpgroup / 2 * (T::TURNS - 1) * cluster_count()};
    Piece piece;
    bool more = schedule.next(piece, turns); // while the barriers are made
    // They are ready, the cluster's as well, before anyone arrives on them.
    if (T::CTAS > 1)
        cluster_sync_relaxed();
    else
        __syncthreads();

    if (warpgroup == 0) {
        if (T::CONSUMERS > 1)
            setmaxnreg_dec<PRODUCER_REGISTERS>();
        // Waits for the previous launch, which may still write A or B, or read or write D. The
        // consumers store only what depends on these loads, so they need no wait of their own.
        wait_for_launch_before();
        const Operand a = {&map_a, T::SWAP ? work.out.n : work.out.m, work.again_a};
        const Operand b = {&map_b, T::SWAP ? work.out.m : work.out.n, work.again_b};
        if (warp_index() == 0 && elect_one()) // the compiler knows that it is one thread
            for (; more; more = schedule.next(piece, turns))
                load_tile(smem, a, b, piece, ring);
        return; // here: if its threads went on, the loop's values would not be uniform
    } else {
        if (T::CONSUMERS > 1)
            setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        int turn = consumer == 0; // the parity to wait for: consumer 0 has the first turn at once
        ring.skip(consumer * (T::TURNS - 1) * work.k_tiles);
        for (; more; more = schedule.next(piece, turns)) {
            // Waits for the other consumer: before, the parity of `full` may match an older phase.
            if (T::TURNS > 1) {
                mbarrier_wait(&smem.turn[consumer], turn);
                // All threads have seen it before one of them hands it on and it comes back.
                named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
                turn ^= 1;
            }
            float acc[T::BLOCKS][T::MMA_N / 2];
            multiply_tile(acc, smem, consumer, piece.k_tiles, ring);
            if (T::PARTS_APART && work.sums != nullptr) {
#pragma unroll
                for (int block = 0; block < T::BLOCKS; ++block)
                    store_sums<T::SWAP>(work.sums, acc[block], schedule.part,
                                        piece.m * T::BM + T::row(consumer) + block * T::MMA_M,
                                        piece.n * T::BN + T::column(consumer), work.out.m,
                                        work.out.n);
                continue;
            }
            if constexpr (T::GATHERS)
                if (work.parts.value > 1) {
                    gather(smem, acc, piece, consumer, work.parts.value, work.out);
                    break;
                }
            // After the CTA's last tile the ring has room for D, if that tile's k-tiles have filled
            // it: then the other consumer has read what it held.
            const bool in_ring = T::TURNS > 1 && piece.k_tiles >= T::STAGES && schedule.is_last();
#pragma unroll
            for (int block = 0; block < T::BLOCKS; ++block)
                store_tile(smem, &map_d, acc[block], consumer, piece, block, in_ring, work.out);
            ring.skip((T::TURNS - 1) * piece.k_tiles); // the other consumer's
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
        // No CTA leaves while another one may still arrive on its barriers, or read its sums.
        // Apart, nothing else waits between the last arrival there and the exit.
        if (T::CTAS > 1 || (T::GATHERS && work.sums == nullptr && work.parts.value > 1))
            cluster_sync();
    }
}

template <typename T>
constexpr Kernel kernel = {gemm<T>, T::KIND, sizeof(Storage<T>)};

template <typename... T>
constexpr auto kernels(TileList<T...>) {
    return std::array{kernel<T>...};
}
static constexpr auto KERNELS = kernels(TileTable());
constexpr int FORMS = 3; // of a kernel: whole tiles, parts in a cluster, and parts apart
constexpr Family FAMILY = {KERNELS.data(), KERNELS.size() * FORMS, FORMS};

// Stores in *gpu what the model asks of the current device. Returns 0, or 1 after printing a line.
static int ask_gpu(tile_gpu *gpu) {
    int l2 = 0;
    if (l2_size(&l2) || clock_and_memory(&gpu->hertz, &gpu->dram_bytes) ||
        family_clusters(FAMILY, gpu->clusters))
        return 1;
    gpu->l2_bytes = l2;
    return 0;
}

// The cheapest plans for a product, at most `wanted`, the cheapest first; only that of the kernel
// that the problem names, if it names one. Returns their number; 0 after printing a line. Asks the
// current device for what *gpu doesn't say.
static int choose(tile_plan *plans, int wanted, const problem *p, tile_gpu *gpu) {
    int found = 0;
    if (gpu->l2_bytes == 0 && ask_gpu(gpu))
        return 0;
    for (int i = 0; i < FAMILY.count; ++i) {
        tile_plan plan = family_plan(FAMILY, i, p, gpu->clusters);
        plan.cost = tile_fitted_cycles(&KERNELS[i / FORMS].kind, &plan, p, gpu);
        const bool wants = p->kernel == 0 ? plan.kernel == i : p->kernel == i + 1;
        if (wants && plan.workers > 0)
            found = tile_rank(plans, found, wanted, &plan);
    }
    if (found == 0)
        fprintf(stderr, "no cluster of the kernels wanted (--kernel %d) fits on this GPU\n",
                p->kernel);
    return found;
}

static step_tile tile_of(int kernel) { return family_tile(FAMILY, kernel); }

static int kernels_of(const problem *p, int *kernels, int most) {
    tile_gpu gpu = {};
    tile_plan plans[FAMILY.count];
    const int found = choose(plans, most, p, &gpu);
    for (int i = 0; i < found; ++i)
        kernels[i] = plans[i].kernel;
    return found;
}

static int explain(const problem *p) {
    tile_gpu gpu = {};
    tile_plan plans[5];
    const int found = choose(plans, 5, p, &gpu);
    for (int i = 0; i < found; ++i)
        tile_explain(stdout, i == 0, &KERNELS[plans[i].kernel / FORMS].kind, &plans[i], p, &gpu);
    return found == 0;
}

// What this rung decides. `ragged`: some rows of A or B begin within a line of the L2.
static void decide(TileLaunch *made, bool ragged) {
    made->group = tile_group(&made->kernel->kind, &made->plan);
    // CTAs of an early launch start where others end, scattered over the chip. Without multicast,
    // neighbours in the order then read the same lines of the L2 apart, which costs a long product
    // more than it gains at its start.
    made->late =
        made->cluster == 1 && (made->plan.cost > LONG_PRODUCT || (!made->fits_l2 && made->idles));
    // DRAM is read 256 bytes at a time also where an operand is read once.
    made->promotes |= made->plan.tiles_m == 1 || made->plan.tiles_n == 1;
    if (ragged) { // a row of a k-tile is parts of two lines of the L2
        // The next k-tile reads one of them again, so that no line may be evicted first.
        made->hints = false;
        // Where the L2 holds A and B, fetching both lines again only costs it time.
        const bool apart = made->plan.parts > 1 && made->cluster > made->plan.parts;
        made->promotes &= !made->fits_l2 && !apart;
    }
}

// Starts pad_rows for the first m rows of A and n of B.
static int pad(const problem *p, bf16 *padded, int m, int n, int pitch, const Pitches &from) {
    const int split = ceil_div(p->k, PAD_COLUMNS);
    const dim3 pads(ceil_div(m + n, PAD_WARPS), split < PAD_SPLIT ? split : PAD_SPLIT);
    return launch_early(p->early, pad_rows, pads, dim3(PAD_WARPS * WARP_THREADS), dim3(1), 0,
                        p->stream, padded, p->a, p->b, m, n, p->k, pitch, from);
}

// Starts the product and, of parts that are apart, the launch that adds them.
static int start_all(const problem *p, const TileLaunch *made) {
    const size_t threads = size_t(p->m) * (sums_pitch(p->n) / ADDED);
    return made->start(p) ||
           (made->sums &&
            launch_early(true, add_parts, dim3((threads - 1) / ADD_THREADS + 1), dim3(ADD_THREADS),
                         dim3(1), 0, p->stream, made->sums, made->plan.parts, made->work.out));
}

struct State : TileLaunch {
    int prepare(const problem *p) {
        tile_gpu gpu = {};
        tile_plan best = {.kernel = -1};
        choose(&best, 1, p, &gpu);
        if (plan_launch(this, FAMILY, best, p))
            return 1;
        if (plan.apart && allocate_array(&sums, sums_count(plan.parts, p->m, p->n)))
            return 1;
        problem product = *p; // the product with rows that TMA takes
        product.k = tile_pitch(p->k);
        decide(this, product.k % TILE_K > 0);
        if (product.k > p->k) {
            if (allocate_array(&padded, (size_t(p->m) + p->n) * product.k))
                return 1;
            product.a = padded;
            product.b = padded + size_t(p->m) * product.k;
        }
        return make_launch(this, &product);
    }

    int start(const problem *p) const {
        if (padded && pad(p, padded, p->m, p->n, tile_pitch(p->k), dense_rows(p)))
            return 1;
        problem product = *p;
        // After pad_rows as if early: it waits for pad_rows, which has waited for what was before.
        product.early = p->early || padded;
        return start_all(&product, this);
    }

    ~State() {
        release_array(padded);
        release_array(sums);
    }
};

static const step s09 = {
    .name = "s09",
    .idea = "parts of tiles apart",
    .computes = GEMM_BF16,
    .launches_early = true,
    .compute_capability = 90,
    .multiple = {.m = 1, .n = 1, .k = 1},
    .any_row = true,
    .kernels = FAMILY.count,
    .tile_of = tile_of,
    .kernels_of = kernels_of,
    .explain = explain,
};

int main(int argc, char **argv) { return run_step<State>(s09, argc, argv); }
