#include "harness/reference.h"

#include "harness/cuda_failed.h"
#include "harness/message.h"

namespace {

/* One block computes a TILE x TILE piece of the output, each of its threads PER_THREAD x PER_THREAD
 * elements that lie SPACING apart, so that neighbouring threads read neighbouring values. */
constexpr int TILE = 64;
constexpr int DEPTH = 16;
constexpr int SPACING = 16;
constexpr int THREADS = SPACING * SPACING;
constexpr int PER_THREAD = TILE / SPACING;
constexpr int LOADS_PER_THREAD = TILE * DEPTH / THREADS;

constexpr unsigned int FULL_WARP = 0xffffffffu;
constexpr int WARP = 32;

/* Work of one launch: well under a second, so that progress can be shown in between. */
constexpr size_t PRODUCTS_PER_LAUNCH = (size_t)1 << 37;
constexpr size_t MOST_BLOCKS = (size_t)1 << 20;

/* Copies a [TILE][DEPTH] piece of a row-major [rows][k] matrix, transposed; zeros outside of it.
 * The padding keeps the threads that write a column out of each other's banks. */
__device__ void load_tile(double (&tile)[DEPTH][TILE + 1], const bf16_bits *matrix, size_t rows,
                          size_t k, size_t first_row, size_t first_k) {
#pragma unroll
    for (int i = 0; i < LOADS_PER_THREAD; ++i) {
        const int element = (int)threadIdx.x + i * THREADS;
        const int inner = element % DEPTH;
        const int outer = element / DEPTH;
        const size_t row = first_row + (size_t)outer;
        const size_t column = first_k + (size_t)inner;
        const bool inside = row < rows && column < k;
        tile[inner][outer] = inside ? (double)bf16_to_float(matrix[row * k + column]) : 0.0;
    }
}

__global__ void __launch_bounds__(THREADS)
    reference_tiles(const bf16_bits *a, const bf16_bits *b, size_t m, size_t n, size_t k,
                    size_t first_tile, size_t end_tile, double *values, float *magnitudes) {
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

        for (size_t first_k = 0; first_k < k; first_k += DEPTH) {
            load_tile(tile_a, a, m, k, first_row, first_k);
            load_tile(tile_b, b, n, k, first_column, first_k);
            __syncthreads(); /* the tiles are complete before anybody reads them */
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
                    }
                }
            }
            __syncthreads(); /* everybody has read the tiles before they are overwritten */
        }

#pragma unroll
        for (int i = 0; i < PER_THREAD; ++i) {
#pragma unroll
            for (int j = 0; j < PER_THREAD; ++j) {
                const size_t row = first_row + (size_t)(thread_row + i * SPACING);
                const size_t column = first_column + (size_t)(thread_column + j * SPACING);
                if (row < m && column < n) {
                    values[row * n + column] = sum[i][j];
                    magnitudes[row * n + column] = __double2float_ru(magnitude[i][j]);
                }
            }
        }
    }
}

/* One warp per sampled element. */
__global__ void __launch_bounds__(THREADS)
    reference_samples(const bf16_bits *a, const bf16_bits *b, size_t n, size_t k,
                      const uint64_t *positions, size_t first, size_t end, double *values,
                      float *magnitudes) {
    const size_t lane = threadIdx.x % WARP;
    const size_t warps = (size_t)gridDim.x * (THREADS / WARP);
    const size_t warp = (size_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    for (size_t i = first + warp; i < end; i += warps) {
        const bf16_bits *row = a + positions[i] / n * k;
        const bf16_bits *column = b + positions[i] % n * k;
        double sum = 0;
        double magnitude = 0;
        for (size_t j = lane; j < k; j += WARP) {
            const double product = (double)bf16_to_float(row[j]) * (double)bf16_to_float(column[j]);
            sum += product;
            magnitude += fabs(product);
        }
        for (int distance = WARP / 2; distance > 0; distance /= 2) {
            sum += __shfl_down_sync(FULL_WARP, sum, distance);
            magnitude += __shfl_down_sync(FULL_WARP, magnitude, distance);
        }
        if (lane == 0) {
            values[i] = sum;
            magnitudes[i] = __double2float_ru(magnitude);
        }
    }
}

size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Units (tiles or samples) of one launch. */
size_t units_per_launch(size_t products_per_unit) {
    const size_t units = PRODUCTS_PER_LAUNCH / products_per_unit;
    return units == 0 ? 1 : units;
}

int launch_tiles(reference *reference, const bf16_bits *a, const bf16_bits *b, size_t first,
                 size_t end, cudaStream_t stream) {
    const unsigned int blocks = (unsigned int)smaller(end - first, MOST_BLOCKS);
    reference_tiles<<<blocks, THREADS, 0, stream>>>(
        a, b, (size_t)reference->m, (size_t)reference->n, (size_t)reference->k, first, end,
        reference->values, reference->magnitudes);
    return cuda_failed(cudaGetLastError(), "launching the reference for m=%d n=%d k=%d",
                       reference->m, reference->n, reference->k);
}

int launch_samples(reference *reference, const bf16_bits *a, const bf16_bits *b, size_t first,
                   size_t end, cudaStream_t stream) {
    const size_t warps_per_block = THREADS / WARP;
    const size_t needed = (end - first + warps_per_block - 1) / warps_per_block;
    const unsigned int blocks = (unsigned int)smaller(needed, MOST_BLOCKS);
    reference_samples<<<blocks, THREADS, 0, stream>>>(
        a, b, (size_t)reference->n, (size_t)reference->k, reference->positions, first, end,
        reference->values, reference->magnitudes);
    return cuda_failed(cudaGetLastError(), "launching the sampled reference for m=%d n=%d k=%d",
                       reference->m, reference->n, reference->k);
}

} // namespace

int reference_compute(reference *reference, const bf16_bits *a, const bf16_bits *b,
                      struct CUstream_st *stream) {
    const bool sampled = reference->positions != nullptr;
    const size_t tiles_m = ((size_t)reference->m + TILE - 1) / TILE;
    const size_t tiles_n = ((size_t)reference->n + TILE - 1) / TILE;
    const size_t units = sampled ? reference->count : tiles_m * tiles_n;
    const size_t products = (size_t)reference->k * (sampled ? 1 : TILE * TILE);
    const size_t step = units_per_launch(products);

    progress progress;
    progress_begin(&progress, "computing the reference");
    int failed = 0;
    for (size_t first = 0; first < units && !failed; first += step) {
        const size_t end = smaller(first + step, units);
        failed = sampled ? launch_samples(reference, a, b, first, end, stream)
                         : launch_tiles(reference, a, b, first, end, stream);
        failed = failed || cuda_failed(cudaStreamSynchronize(stream),
                                       "computing the reference for m=%d n=%d k=%d", reference->m,
                                       reference->n, reference->k);
        progress_update(&progress, (double)end / (double)units);
    }
    progress_end(&progress);
    return failed;
}
