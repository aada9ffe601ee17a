// What the harness computes on a GPU by kernels of its own: operands, the reference, checks.
#include "harness/reference.h"

#include <algorithm>

#include "harness/check.h"
#include "harness/message.h"

namespace {

/* One block computes a TILE x TILE piece of the output, each of its threads PER_THREAD x PER_THREAD
 * elements that are SPACING apart, so that neighbouring threads read neighbouring values. */
constexpr int TILE = 64;
constexpr int DEPTH = 16;
constexpr int SPACING = 16;
constexpr int THREADS = SPACING * SPACING;
constexpr int PER_THREAD = TILE / SPACING;
static_assert(DEPTH % FP16_SUM_GROUP == 0, "a tile holds whole groups");

/* Work of one launch: well under a second, so that progress can be shown in between. */
constexpr size_t PRODUCTS_PER_LAUNCH = (size_t)1 << 37;
constexpr size_t MOST_BLOCKS = (size_t)1 << 16;
constexpr size_t MOST_CHECK_BLOCKS = 2048;

/* A [TILE][DEPTH] piece of A or B, transposed; zeros outside of it. The padding keeps threads that
 * write a column from hitting the same banks. */
using Tile = double[DEPTH][TILE + 1];

__device__ void load_tile(Tile &tile, const arithmetic &is, const problem &problem, bool is_b,
                          size_t first_row, size_t first_k) {
    const size_t rows = (size_t)(is_b ? problem.n : problem.m);
    for (int i = (int)threadIdx.x; i < TILE * DEPTH; i += THREADS) {
        const size_t row = first_row + (size_t)(i / DEPTH);
        const size_t j = first_k + (size_t)(i % DEPTH);
        const bool inside = row < rows && j < (size_t)problem.k;
        tile[i % DEPTH][i / DEPTH] = inside ? scaled_element(&is, &problem, is_b, row, j) : 0.0;
    }
}

__global__ void __launch_bounds__(THREADS)
    reference_tiles(reference reference, problem problem, size_t first_tile, size_t end_tile) {
    const size_t m = (size_t)problem.m;
    const size_t n = (size_t)problem.n;
    const size_t k = (size_t)problem.k;
    __shared__ Tile tile_a;
    __shared__ Tile tile_b;
    const int thread_row = (int)threadIdx.x / SPACING;
    const int thread_column = (int)threadIdx.x % SPACING;
    const size_t tiles_n = (n + TILE - 1) / TILE;

    for (size_t tile = first_tile + blockIdx.x; tile < end_tile; tile += gridDim.x) {
        const size_t first_row = tile / tiles_n * TILE;
        const size_t first_column = tile % tiles_n * TILE;
        sums sums[PER_THREAD * PER_THREAD] = {};

        for (size_t first_k = 0; first_k < k; first_k += DEPTH) {
            load_tile(tile_a, reference.arithmetic, problem, false, first_row, first_k);
            load_tile(tile_b, reference.arithmetic, problem, true, first_column, first_k);
            __syncthreads(); /* the tiles are complete before any thread reads them */
#pragma unroll
            for (int inner = 0; inner < DEPTH; ++inner) {
                /* A group has ended; not one past the last product. */
                const bool ends = inner % FP16_SUM_GROUP == FP16_SUM_GROUP - 1 &&
                                  first_k + inner < k + FP16_SUM_GROUP - 1;
#pragma unroll
                for (int i = 0; i < PER_THREAD * PER_THREAD; ++i) {
                    const double a = tile_a[inner][thread_row + i / PER_THREAD * SPACING];
                    const double b = tile_b[inner][thread_column + i % PER_THREAD * SPACING];
                    sums[i].value = fma(a, b, sums[i].value);
                    sums[i].magnitude = fma(fabs(a), fabs(b), sums[i].magnitude);
                    sums[i].partials += ends ? fabs(sums[i].value) : 0;
                }
            }
            __syncthreads(); /* all threads have read the tiles before they are overwritten */
        }

#pragma unroll
        for (int i = 0; i < PER_THREAD * PER_THREAD; ++i) {
            const size_t row = first_row + (size_t)(thread_row + i / PER_THREAD * SPACING);
            const size_t column = first_column + (size_t)(thread_column + i % PER_THREAD * SPACING);
            if (row < m && column < n) {
                reference.elements[row * n + column] =
                    reference_epilogue(&reference.arithmetic, &problem, row * n + column, sums[i]);
            }
        }
    }
}

/* One element per thread: a word that is moved, or what e4m3.h makes of an element and cuts off. */
__global__ void __launch_bounds__(THREADS)
    reference_elements(reference reference, problem problem, size_t first, size_t end) {
    const arithmetic &is = reference.arithmetic;
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = first + (size_t)blockIdx.x * THREADS + threadIdx.x; i < end; i += stride) {
        if (is.moves) {
            reference.words[i] = reference_word(&is, &problem, i);
        } else {
            reference_model(&is, &problem, i, nullptr, nullptr, &reference.elements[i]);
        }
    }
}

__device__ findings total;

__global__ void __launch_bounds__(THREADS) check(examination examination) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    findings mine = NOTHING_FOUND;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < examination.reference.count;
         i += stride) {
        check_element(&examination, i, &mine);
    }
    atomicAdd(&total.digest, mine.digest);
    if (mine.wrong > 0) {
        atomicAdd(&total.wrong, mine.wrong);
        atomicMin(&total.first, mine.first);
    }
    if (mine.max_ratio > 0) { /* the bits of a double that is not negative order as it does */
        atomicMax((unsigned long long *)&total.max_ratio,
                  (unsigned long long)__double_as_longlong(mine.max_ratio));
    }
    if (mine.values > 0) {
        atomicAdd(&total.errors, mine.errors);
        atomicAdd(&total.values, mine.values);
    }
}

__global__ void __launch_bounds__(THREADS) fill(operand operand, void *to) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < operand.count; i += stride) {
        operand_write(&operand, to, i);
    }
}

/* Four words a thread, without TMA and shared memory: rows are whole 16 bytes. */
__global__ void __launch_bounds__(THREADS) add_one_plainly(uint4 *d, const uint4 *a, size_t count) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        const uint4 words = a[i];
        d[i] = make_uint4(words.x + 1, words.y + 1, words.z + 1, words.w + 1);
    }
}

unsigned int blocks_for(size_t count, size_t most) {
    return (unsigned int)std::min((count + THREADS - 1) / THREADS, most);
}

/* Launches the kernel for all units of its work, tiles or elements, each of so many products. */
void run(decltype(reference_tiles) *kernel, size_t units, size_t units_per_block, size_t products,
         const reference &reference, const problem &problem, struct CUstream_st *stream) {
    const size_t units_per_launch = PRODUCTS_PER_LAUNCH / products + 1;
    progress progress;
    progress_begin(&progress, "computing the reference");
    for (size_t first = 0; first < units; first += units_per_launch) {
        const size_t end = std::min(first + units_per_launch, units);
        const unsigned int blocks =
            blocks_for((end - first) * (THREADS / units_per_block), MOST_BLOCKS);
        kernel<<<blocks, THREADS, 0, stream>>>(reference, problem, first, end);
        cuda_check(cudaGetLastError(), "launching the reference for m=%d n=%d k=%d", problem.m,
                   problem.n, problem.k);
        cuda_check(cudaStreamSynchronize(stream), "computing the reference for m=%d n=%d k=%d",
                   problem.m, problem.n, problem.k);
        progress_update(&progress, (double)end / (double)units);
    }
    progress_hide(&progress);
}

} // namespace

void reference_compute(const reference *reference, const problem *problem,
                       struct CUstream_st *stream) {
    const arithmetic &is = reference->arithmetic;
    const size_t tiles_m = ((size_t)problem->m + TILE - 1) / TILE;
    const size_t tiles_n = ((size_t)problem->n + TILE - 1) / TILE;
    const size_t k = (size_t)problem->k;
    if (!is.moves) {
        run(reference_tiles, tiles_m * tiles_n, 1, k * TILE * TILE, *reference, *problem, stream);
    }
    if (is.moves || is.scaled) { /* after the tiles, which leave its numbers 0 */
        run(reference_elements, reference->count, THREADS, is.moves ? 1 : 8 * k, *reference,
            *problem, stream);
    }
}

void operand_fill(const operand *operand, void *to, struct CUstream_st *stream) {
    fill<<<blocks_for(operand->count, MOST_BLOCKS), THREADS, 0, stream>>>(*operand, to);
    cuda_check(cudaGetLastError(), "launching the kernel that makes %s", operand->name);
}

findings check_elements(const examination *examination, struct CUstream_st *stream) {
    const size_t count = examination->reference.count;
    findings found = NOTHING_FOUND;
    cuda_check(
        cudaMemcpyToSymbolAsync(total, &found, sizeof found, 0, cudaMemcpyHostToDevice, stream),
        "copying a check's start values to the GPU");
    check<<<blocks_for(count, MOST_CHECK_BLOCKS), THREADS, 0, stream>>>(*examination);
    cuda_check(cudaGetLastError(), "launching a check of %zu elements", count);
    cuda_check(
        cudaMemcpyFromSymbolAsync(&found, total, sizeof found, 0, cudaMemcpyDeviceToHost, stream),
        "copying a check's findings from the GPU");
    cuda_check(cudaStreamSynchronize(stream), "checking the output");
    return found;
}

void elements_add_one(const problem *problem) {
    const size_t count = (size_t)problem->m * (size_t)problem->n / 4;
    const unsigned int blocks = blocks_for(count, count);
    add_one_plainly<<<blocks, THREADS, 0, problem->stream>>>((uint4 *)problem->d,
                                                             (const uint4 *)problem->a, count);
    cuda_check(cudaGetLastError(), "launching a plain kernel that adds 1 to %zu vectors of words",
               count);
}
