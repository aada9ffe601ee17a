// A CUTLASS kernel as a rival (github.com/NVIDIA/cutlass): what its CollectiveBuilder makes of a
// tile, a cluster and a schedule, with the numbers of stages, the epilogue and the order of tiles
// left to it. Its layouts are ours.
#pragma once

#include "rival.cuh"

#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

// CuTe turns this warning on. A step names the fields that it needs; the others are 0.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// `Tile` and `Cluster` are cute shapes; without a C (`void`), D = alpha * A * B^T.
template <typename Tile, typename Cluster, typename MainloopSchedule, typename EpilogueSchedule>
struct CutlassRival {
    using Element = cutlass::bfloat16_t;
    using RowMajor = cutlass::layout::RowMajor;
    using ColumnMajor = cutlass::layout::ColumnMajor; // of B[k][n]: our B[n][k]
    static constexpr int ALIGNED = 8;                 // elements: 16 bytes

    using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
        cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, RowMajor, ALIGNED,
        Element, RowMajor, ALIGNED, EpilogueSchedule>::CollectiveOp;
    using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, RowMajor, ALIGNED, Element,
        ColumnMajor, ALIGNED, float, Tile, Cluster,
        cutlass::gemm::collective::StageCountAutoCarveout<int(
            sizeof(typename Epilogue::SharedStorage))>,
        MainloopSchedule>::CollectiveOp;
    using Kernel =
        cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
    using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

    Gemm gemm;
    void *workspace; // in device memory; nullptr if the kernel needs none

    static int check(cutlass::Status status, const char *doing) {
        if (status == cutlass::Status::kSuccess)
            return 0;
        fprintf(stderr, "CUTLASS failed at %s: %s (CUDA says: %s)\n", doing,
                cutlass::cutlassGetStatusString(status), cudaGetErrorString(cudaGetLastError()));
        return 1;
    }

    static typename Gemm::Arguments arguments(const problem *p) {
        typename Gemm::Arguments made{};
        made.mode = cutlass::gemm::GemmUniversalMode::kGemm;
        made.problem_shape = {p->m, p->n, p->k, 1};
        made.mainloop = {
            operand<Element>(p->a), {p->k, {}, {}}, operand<Element>(p->b), {p->k, {}, {}}};
        made.epilogue = {
            {1.0f, 0.0f}, nullptr, {p->n, {}, {}}, operand<Element>(p->d), {p->n, {}, {}}};
        int device = 0;
        launch_check(cudaGetDevice(&device), "asking for the current device", 0);
        made.hw_info = cutlass::KernelHardwareInfo::make_kernel_hardware_info<Kernel>(device);
        return made;
    }

    static int prepare(const problem *p, void **state) {
        CutlassRival *made = new CutlassRival{};
        *state = made;
        const typename Gemm::Arguments arguments = CutlassRival::arguments(p);
        const size_t bytes = Gemm::get_workspace_size(arguments);
        if (bytes > 0 && launch_check(cudaMalloc(&made->workspace, bytes),
                                      "allocating a workspace, bytes", (long long)bytes))
            return 1;
        return check(made->gemm.can_implement(arguments), "a check of the shape") ||
               check(made->gemm.initialize(arguments, made->workspace, p->stream), "preparing");
    }

    static int launch(const problem *p, void *state) {
        return check(static_cast<CutlassRival *>(state)->gemm.run(p->stream), "launching");
    }

    static void release(void *state) {
        release_array(static_cast<CutlassRival *>(state)->workspace);
        delete static_cast<CutlassRival *>(state);
    }

    static step as_step(const char *name, const char *idea) {
        return {.name = name,
                .idea = idea,
                .computes = GEMM_BF16,
                .min_compute_capability = 90,
                .max_compute_capability = 90,
                .multiple_m = 1,
                .multiple_n = ALIGNED,
                .multiple_k = ALIGNED,
                .prepare = prepare,
                .launch = launch,
                .release = release};
    }
};
