// Kernels of CUDA-L2 for the H100 (github.com/deepreinforce-ai/CUDA-L2,
// kernels/h100_F32F16F16F32/M_N_K.cu): fp16 with sums in fp32, a file for each shape. They get B
// in both layouts; those below read ours.
//
// The one entry of a file makes tensor maps and temporaries and launches on the default stream.
// Here it is called once, in prepare, while that stream records a graph. A launch starts the
// recorded kernels on the harness' stream, so the entry's time on the host is not measured.
#include "rival.cuh"

// What those files include has to come before them, since they are included inside namespaces.
#include <cuda/barrier>
#include <cutlass/cluster_launch.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/collective/default_epilogue.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/util/device_memory.h>
#include <cutlass/util/helper_cuda.hpp>
#include <cutlass/util/packed_stride.hpp>
#include <cutlass/util/print_error.hpp>
#include <float.h>
#include <iostream>
#include <mma.h>
#include <torch/extension.h>

#define cudaDeviceSynchronize() cudaSuccess // forbidden while a stream records
namespace m512_n512_k512 {
#include <kernels/h100_F32F16F16F32/512_512_512.cu>
}
namespace m2048_n2048_k2048 {
#include <kernels/h100_F32F16F16F32/2048_2048_2048.cu>
}
namespace m8192_n8192_k8192 {
#include <kernels/h100_F32F16F16F32/8192_8192_8192.cu>
}
namespace m64_n8192_k8192 {
#include <kernels/h100_F32F16F16F32/64_8192_8192.cu>
}
namespace m512_n512_k8192 {
#include <kernels/h100_F32F16F16F32/512_512_8192.cu>
}
namespace m512_n512_k16384 {
#include <kernels/h100_F32F16F16F32/512_512_16384.cu>
}
#undef cudaDeviceSynchronize

struct File {
    int m, n, k;
    void (*multiply)(torch::Tensor a, torch::Tensor b, torch::Tensor b_by_columns, torch::Tensor d);
};

#define FILE_OF(M, N, K)                                                                           \
    { M, N, K, m##M##_n##N##_k##K::cuda_l2_h100_fp32 }
static const File files[] = {
    FILE_OF(512, 512, 512),  FILE_OF(2048, 2048, 2048), FILE_OF(8192, 8192, 8192),
    FILE_OF(64, 8192, 8192), FILE_OF(512, 512, 8192),   FILE_OF(512, 512, 16384),
};

struct Recorded {
    cudaKernelNodeParams kernel; // its arguments belong to the graph
    dim3 cluster;

    int read(cudaGraphNode_t node) {
        cudaLaunchAttributeValue value = {};
        const auto id = cudaLaunchAttributeClusterDimension;
        const int failed = launch_check(cudaGraphKernelNodeGetParams(node, &kernel),
                                        "reading a recorded launch") ||
                           launch_check(cudaGraphKernelNodeGetAttribute(node, id, &value),
                                        "reading the cluster of a recorded launch");
        cluster = dim3(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
        return failed;
    }

    int start(cudaStream_t stream) const {
        const LaunchConfig made(kernel.gridDim, kernel.blockDim, cluster, kernel.sharedMemBytes,
                                stream);
        return launch_check(cudaLaunchKernelExC(&made.config, kernel.func, kernel.kernelParams),
                            "launching the kernel, CTAs in x", kernel.gridDim.x);
    }
};

struct Rival {
    static constexpr size_t MOST = 2; // kernels: one multiplies, another may add parts up

    cudaGraph_t graph;
    void *temporary; // in device memory; nullptr if the file needs none
    size_t count;
    Recorded recorded[MOST];

    int prepare(const problem *p) {
        for (const File &file : files)
            if (file.m == p->m && file.n == p->n && file.k == p->k)
                return record(file, p) || read();
        fprintf(stderr, "no file of CUDA-L2 was built for %d x %d x %d\n", p->m, p->n, p->k);
        return 1;
    }

    // --default-stream per-thread makes the default stream one that can record.
    int record(const File &file, const problem *p) {
        if (launch_check(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed),
                         "beginning to record CUDA-L2's launches"))
            return 1;
        int failed = 0;
        try {
            file.multiply({operand<half>(p->a), {p->m, p->k}}, {nullptr, {p->k, p->n}},
                          {operand<half>(p->b), {p->k, p->n}}, {operand<half>(p->d), {p->m, p->n}});
        } catch (const std::exception &error) {
            fprintf(stderr, "CUDA-L2 failed: %s\n", error.what());
            failed = 1;
        }
        temporary = std::exchange(torch::newest, nullptr);
        return launch_check(cudaGetLastError(), "CUDA-L2's own calls") ||
               launch_check(cudaStreamEndCapture(cudaStreamPerThread, &graph),
                            "recording CUDA-L2's launches") ||
               failed;
    }

    // Launches that one stream records are a chain in the order of their nodes.
    int read() {
        cudaGraphNode_t nodes[MOST];
        if (launch_check(cudaGraphGetNodes(graph, nullptr, &count), "counting recorded launches"))
            return 1;
        if (count < 1 || count > MOST) {
            fprintf(stderr, "CUDA-L2 launched %zu kernels; expected 1 to %zu\n", count, MOST);
            return 1;
        }
        if (launch_check(cudaGraphGetNodes(graph, nodes, &count), "reading recorded launches"))
            return 1;
        for (size_t i = 0; i < count; ++i)
            if (recorded[i].read(nodes[i]))
                return 1;
        return 0;
    }

    int launch(const problem *p) {
        for (size_t i = 0; i < count; ++i)
            if (recorded[i].start(p->stream))
                return 1;
        return 0;
    }

    ~Rival() {
        if (graph != nullptr)
            cudaGraphDestroy(graph);
        release_array(temporary);
    }
};

#define WORDS(X) #X
#define VERSION(MAJOR, MINOR, PATCH) WORDS(MAJOR) "." WORDS(MINOR) "." WORDS(PATCH)

int main(int argc, char **argv) {
    step rival =
        hopper_rival<Rival>("a-cuda-l2",
                            "CUDA-L2's kernel for this shape, commit " PEER_COMMIT
                            ", CUTLASS " VERSION(CUTLASS_MAJOR, CUTLASS_MINOR, CUTLASS_PATCH),
                            64, 512, 512);
    rival.computes = GEMM_FP16;
    return step_main(&rival, argc, argv);
}
