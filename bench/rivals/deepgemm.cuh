// What the adapters of DeepGEMM's kernels for the H100 share (github.com/deepseek-ai/DeepGEMM). Its
// layouts are ours.
//
// DeepGEMM compiles a kernel for each shape when it is first called, with the parameters that its
// heuristic (csrc/jit_kernels/heuristics/sm90.hpp) picks. Here they were worked out by that rule
// beforehand, for some shapes and 132 SMs; others are rejected. As it does by default, n and k are
// compiled in, and a launch does not begin before the one before it has ended.
#pragma once

#include "rival.cuh"

constexpr int SMS = 132;
constexpr int TMA_THREADS = 128;
constexpr int SWIZZLE = 128;                        // bytes: a k-tile, and 64 columns of D
constexpr int BARRIERS = 16 * 2 * sizeof(uint64_t); // room for the most stages that it may have

template <typename Kernel>
struct Instance {
    Kernel kernel;
    int m, n, k;
    int block_m, block_n;
    int cluster; // CTAs, which share the loads of A
    int math_threads;
    size_t smem;
};

// The bytes of shared memory without scales: it rounds the staged tile of D up to 1024.
template <int BLOCK_M, int BLOCK_N, int STAGES>
constexpr size_t tiles_smem() {
    constexpr int STAGING = BLOCK_M * BLOCK_N * int(sizeof(bf16));
    static_assert(STAGING % 1024 == 0, "there is no padding");
    return STAGING + BARRIERS + STAGES * (BLOCK_M + BLOCK_N) * SWIZZLE;
}

// A and B are of type T.
template <typename T, typename Kernel>
struct DeepGemm {
    const Instance<Kernel> *instance;
    TensorMap map_a, map_b, map_d;

    // Takes the instance for this shape on this GPU. Non-zero after printing one line if there is
    // none.
    template <size_t COUNT>
    int find(const Instance<Kernel> (&instances)[COUNT], const problem *p) {
        int sms = 0;
        if (multiprocessor_count(&sms))
            return 1;
        for (const Instance<Kernel> &i : instances)
            if (sms == SMS && i.m == p->m && i.n == p->n && i.k == p->k)
                instance = &i;
        if (instance == nullptr)
            fprintf(stderr, "no kernel of DeepGEMM was built for %d x %d x %d and %d SMs\n", p->m,
                    p->n, p->k, sms);
        return instance == nullptr;
    }

    template <typename Element>
    static int make_map(TensorMap *map, const void *matrix, int rows, int columns, int box_rows) {
        return make_tensor_map_2d<Element>(map, matrix, rows, columns, box_rows,
                                           SWIZZLE / sizeof(Element), SWIZZLED_128B, PROMOTED_256B);
    }

    int make_maps(const problem *p) {
        const Instance<Kernel> *i = instance;
        return make_map<T>(&map_a, p->a, p->m, p->k, i->block_m) ||
               make_map<T>(&map_b, p->b, p->n, p->k, i->block_n) ||
               make_map<bf16>(&map_d, p->d, p->m, p->n, i->block_m) ||
               allow_dynamic_smem(i->kernel, i->smem);
    }

    template <typename... Arguments>
    int start_with(const problem *p, const Arguments &...arguments) {
        return launch(instance->kernel, dim3(SMS), dim3(TMA_THREADS + instance->math_threads),
                      dim3(instance->cluster), instance->smem, p->stream, arguments...);
    }
};
