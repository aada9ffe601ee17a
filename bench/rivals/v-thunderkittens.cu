// ThunderKittens' bf16 GEMM for the H100 (github.com/HazyResearch/ThunderKittens,
// kernels/gemm/bf16_h100/bf16_h100_gemm.cu), with the template parameters of its own main().
//
// It reads B as [k][n]: whenever the harness has made the operands, B is transposed into memory of
// the adapter, untimed.
#include "rival.cuh"

#include <stdexcept>

// Its file is a program: its main() is not ours.
#define main thunderkittens_main
#include <kernels/gemm/bf16_h100/bf16_h100_gemm.cu>
#undef main

using Matmul = matmul_template<2, 4, 8>;
using Globals = Matmul::layout::globals;
using Matrix = Matmul::layout::global_layout;

constexpr int TILE_M = 64 * Matmul::M_BLOCK;
constexpr int TILE_N = 64 * Matmul::N_BLOCK;
constexpr int TILE_K = 64;
constexpr int THREADS = kittens::prototype::detail::NUM_THREADS_v<Matmul>;
constexpr size_t SMEM = kittens::MAX_SHARED_MEMORY - 1024; // as its launcher has it

static const auto multiply = kittens::prototype::lcf::kernel<Matmul>;

// to[k][n] of from[n][k]; a CTA has TILE_N rows of one column.
__global__ void transpose_b(bf16 *to, const bf16 *from, int n, int k) {
    const size_t row = size_t(blockIdx.y) * TILE_N + threadIdx.x, column = blockIdx.x;
    to[column * n + row] = from[row * k + column];
}

struct Rival {
    bf16 *b; // [k][n], in device memory
    Globals *globals;

    // The constructors of Globals make tensor maps, and throw if the driver refuses.
    int prepare(const problem *p) {
        const size_t m = p->m, n = p->n, k = p->k, bytes = n * k * sizeof(bf16);
        if (launch_check(cudaMalloc(&b, bytes), "allocating B by columns, bytes", (long long)bytes))
            return 1;
        try {
            globals = new Globals{Matrix(operand(p->a), nullptr, nullptr, m, k),
                                  Matrix(b, nullptr, nullptr, k, n),
                                  Matrix(operand(p->d), nullptr, nullptr, m, n)};
        } catch (const std::runtime_error &) {
        }
        return peer_tensor_maps_failed() || globals == nullptr ||
               allow_dynamic_smem(multiply, SMEM);
    }

    int start(const problem *p) {
        return launch(multiply, Matmul::grid(p->m, p->n, p->k), dim3(THREADS), dim3(1), SMEM,
                      p->stream, *globals);
    }

    int operands_made(const problem *p) {
        return launch(transpose_b, dim3(p->k, p->n / TILE_N), dim3(TILE_N), dim3(1), 0, p->stream,
                      b, operand(p->b), p->n, p->k);
    }

    ~Rival() {
        release_array(b);
        delete globals;
    }
};

HOPPER_RIVAL("v-thunderkittens", "ThunderKittens, own layout of B", TILE_M, TILE_N, TILE_K)
