#include "harness/reference.h"

#include <algorithm>

#include "harness/message.h"

namespace {

/* One block computes a TILE x TILE piece of the output, each of its threads PER_THREAD x PER_THREAD
 * elements that are SPACING apart, so that neighbouring threads read neighbouring values. */
constexpr int TILE = 64;
constexpr int DEPTH = 16;
constexpr int SPACING = 16;
constexpr int THREADS = SPACING * SPACING;
constexpr int PER_THREAD = TILE / SPACING;
constexpr int LOADS_PER_THREAD = TILE * DEPTH / THREADS;

/* Work of one launch: well under a second, so that progress can be shown in between. */
constexpr size_t PRODUCTS_PER_LAUNCH = (size_t)1 << 37;
constexpr size_t MOST_BLOCKS = (size_t)1 << 20;

/* An element of A or B, times its scale. */
template <enum number FORMAT>
__device__ double scaled_element(const reference &reference, const problem &problem, bool is_b,
                                 size_t row, size_t column) {
    const void *matrix = is_b ? problem.b : problem.a;
    const double value = (double)number_read(FORMAT, matrix, row * (size_t)problem.k + column);
    if (FORMAT != NUMBER_E4M3) {
        return value;
    }
    return value * (double)(is_b ? scale_of_b(&reference.arithmetic, &problem, row, column)
                                 : scale_of_a(&reference.arithmetic, &problem, row, column));
}

/* Copies a [TILE][DEPTH] piece of a row-major [rows][k] matrix, transposed; zeros outside of it.
 * The padding keeps threads that write a column from hitting the same banks. */
template <enum number FORMAT>
__device__ void load_tile(double (&tile)[DEPTH][TILE + 1], const reference &reference,
                          const problem &problem, bool is_b, size_t first_row, size_t first_k) {
    const size_t rows = (size_t)(is_b ? problem.n : problem.m);
    const size_t k = (size_t)problem.k;
#pragma unroll
    for (int i = 0; i < LOADS_PER_THREAD; ++i) {
        const int element = (int)threadIdx.x + i * THREADS;
        const int inner = element % DEPTH;
        const int outer = element / DEPTH;
        const size_t row = first_row + (size_t)outer;
        const size_t column = first_k + (size_t)inner;
        const bool inside = row < rows && column < k;
        tile[inner][outer] =
            inside ? scaled_element<FORMAT>(reference, problem, is_b, row, column) : 0.0;
    }
}

__device__ void store_element(const reference &reference, const problem &problem, size_t position,
                              double sum, double magnitude, double partials) {
    if (reference.arithmetic.takes_c) {
        reference_epilogue(&problem, position, &sum, &magnitude);
    }
    reference.elements[position] = {sum, __double2float_ru(magnitude), __double2float_ru(partials),
                                    0};
}

/* PARTIALS: the sums of |partial sum| are wanted too. */
template <enum number FORMAT, bool PARTIALS>
__global__ void __launch_bounds__(THREADS)
    reference_tiles(reference reference, problem problem, size_t first_tile, size_t end_tile) {
    static_assert(DEPTH % FP16_SUM_GROUP == 0, "a tile holds whole groups");
    const size_t m = (size_t)reference.m;
    const size_t n = (size_t)reference.n;
    const size_t k = (size_t)reference.k;
    __shared__ double tile_a[DEPTH][TILE + 1];
    __shared__ double tile_b[DEPTH][TILE + 1];
    const int thread_row = (int)threadIdx.x / SPACING;
    const int thread_column = (int)threadIdx.x % SPACING;
    const size_t tiles_n = (n + TILE - 1) / TILE;

    for (size_t tile = first_tile + blockIdx.x; tile < end_tile; tile += gridDim.x) {
        const size_t first_row = tile / tiles_n * TILE;
        const size_t first_column = tile % tiles_n * TILE;
        double sum[PER_THREAD][PER_THREAD] = {};
        double magnitude[PER_THREAD][PER_THREAD] = {};
        double partials[PER_THREAD][PER_THREAD] = {};

        for (size_t first_k = 0; first_k < k; first_k += DEPTH) {
            load_tile<FORMAT>(tile_a, reference, problem, false, first_row, first_k);
            load_tile<FORMAT>(tile_b, reference, problem, true, first_column, first_k);
            __syncthreads(); /* the tiles are complete before any thread reads them */
#pragma unroll
            for (int inner = 0; inner < DEPTH; ++inner) {
                double column_values[PER_THREAD];
#pragma unroll
                for (int j = 0; j < PER_THREAD; ++j) {
                    column_values[j] = tile_b[inner][thread_column + j * SPACING];
                }
#pragma unroll
                for (int i = 0; i < PER_THREAD; ++i) {
                    const double row_value = tile_a[inner][thread_row + i * SPACING];
#pragma unroll
                    for (int j = 0; j < PER_THREAD; ++j) {
                        sum[i][j] = fma(row_value, column_values[j], sum[i][j]);
                        magnitude[i][j] =
                            fma(fabs(row_value), fabs(column_values[j]), magnitude[i][j]);
                        /* A group has ended; not one past the last product. */
                        if (PARTIALS && inner % FP16_SUM_GROUP == FP16_SUM_GROUP - 1 &&
                            first_k + inner < k + FP16_SUM_GROUP - 1) {
                            partials[i][j] += fabs(sum[i][j]);
                        }
                    }
                }
            }
            __syncthreads(); /* all threads have read the tiles before they are overwritten */
        }

#pragma unroll
        for (int i = 0; i < PER_THREAD; ++i) {
#pragma unroll
            for (int j = 0; j < PER_THREAD; ++j) {
                const size_t row = first_row + (size_t)(thread_row + i * SPACING);
                const size_t column = first_column + (size_t)(thread_column + j * SPACING);
                if (row < m && column < n) {
                    store_element(reference, problem, row * n + column, sum[i][j], magnitude[i][j],
                                  partials[i][j]);
                }
            }
        }
    }
}

/* One element per thread, without tiles: a word that is moved, or what e4m3.h makes of an element
 * and cuts off. */
__global__ void __launch_bounds__(THREADS)
    reference_elements(reference reference, problem problem, size_t first, size_t end) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = first + (size_t)blockIdx.x * THREADS + threadIdx.x; i < end; i += stride) {
        if (reference.words != nullptr) {
            reference.words[i] = reference_word(&reference, &problem, i);
            continue;
        }
        double cut;
        reference.elements[i].modelled =
            reference_modelled(&reference.arithmetic, &problem, i, nullptr, nullptr, &cut);
        reference.elements[i].partials = __double2float_ru(cut);
    }
}

/* A kernel, and the units of its work: tiles or elements. */
struct Plan {
    void (*kernel)(reference reference, problem problem, size_t first, size_t end);
    size_t units;
    size_t units_per_block;
    size_t products_per_unit;
};

Plan tiles_plan(const reference &reference) {
    const enum number format = reference.arithmetic.operands;
    const size_t tiles_m = ((size_t)reference.m + TILE - 1) / TILE;
    const size_t tiles_n = ((size_t)reference.n + TILE - 1) / TILE;
    return {format == NUMBER_E4M3            ? reference_tiles<NUMBER_E4M3, false>
            : format == NUMBER_BF16          ? reference_tiles<NUMBER_BF16, false>
            : reference.arithmetic.fp16_sums ? reference_tiles<NUMBER_FP16, true>
                                             : reference_tiles<NUMBER_FP16, false>,
            tiles_m * tiles_n, 1, (size_t)reference.k * TILE * TILE};
}

void run(const Plan &plan, const reference *reference, const problem *problem,
         struct CUstream_st *stream) {
    const size_t units_per_launch = PRODUCTS_PER_LAUNCH / plan.products_per_unit + 1;
    progress progress;
    progress_begin(&progress, "computing the reference");
    for (size_t first = 0; first < plan.units; first += units_per_launch) {
        const size_t end = std::min(first + units_per_launch, plan.units);
        const size_t needed = (end - first + plan.units_per_block - 1) / plan.units_per_block;
        const unsigned int blocks = (unsigned int)std::min(needed, MOST_BLOCKS);
        plan.kernel<<<blocks, THREADS, 0, stream>>>(*reference, *problem, first, end);
        cuda_check(cudaGetLastError(), "launching the reference for m=%d n=%d k=%d", reference->m,
                   reference->n, reference->k);
        cuda_check(cudaStreamSynchronize(stream), "computing the reference for m=%d n=%d k=%d",
                   reference->m, reference->n, reference->k);
        progress_update(&progress, (double)end / (double)plan.units);
    }
    progress_hide(&progress);
}

} // namespace

void reference_compute(const reference *reference, const problem *problem,
                       struct CUstream_st *stream) {
    const bool moves = reference->words != nullptr;
    if (!moves) {
        run(tiles_plan(*reference), reference, problem, stream);
    }
    if (moves || reference->arithmetic.scaled) { /* after the tiles, which leave its numbers 0 */
        const size_t products = moves ? 1 : 8 * (size_t)reference->k;
        run({reference_elements, reference->count, THREADS, products}, reference, problem, stream);
    }
}
