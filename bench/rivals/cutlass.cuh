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

    int prepare(const problem *p) {
        typename Gemm::Arguments made{};
        made.mode = cutlass::gemm::GemmUniversalMode::kGemm;
        made.problem_shape = {p->m, p->n, p->k, 1};
        made.mainloop = {
            operand<Element>(p->a), {p->k, {}, {}}, operand<Element>(p->b), {p->k, {}, {}}};
        made.epilogue = {
            {1.0f, 0.0f}, nullptr, {p->n, {}, {}}, operand<Element>(p->d), {p->n, {}, {}}};
        int device = 0;
        if (launch_check(cudaGetDevice(&device), "asking for the current device"))
            return 1;
        made.hw_info = cutlass::KernelHardwareInfo::make_kernel_hardware_info<Kernel>(device);
        const size_t bytes = Gemm::get_workspace_size(made);
        if (bytes > 0 && launch_check(cudaMalloc(&workspace, bytes),
                                      "allocating a workspace, bytes", (long long)bytes))
            return 1;
        return check(gemm.can_implement(made), "a check of the shape") ||
               check(gemm.initialize(made, workspace, p->stream), "preparing");
    }

    int start(const problem *p) { return check(gemm.run(p->stream), "launching"); }

    ~CutlassRival() { release_array(workspace); }
};
