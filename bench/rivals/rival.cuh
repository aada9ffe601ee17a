// What the adapters share. An adapter includes another project's sources from a clone, makes in
// prepare what a kernel of it needs, and calls the kernel itself, since the project's own launcher
// may keep the tensor maps of the first call. `make rivals` says which clones it takes, and
// PEER_COMMIT names the clone's commit.
//
// It is a struct Rival, all zeros at first, with what run_step() asks of a State and, where the
// kernel wants the operands otherwise, operands_made(problem), which returns 0, or prints one line
// and returns 1.
#pragma once

#include "step.h"
#include "device/launch.cuh"
#include "device/tensor_map.cuh"

// CuTe turns this warning on. A step names the fields that it needs; the others are 0.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

// The first failure of a driver call that a peer made. Peers drop or only print the status.
inline CUresult peer_driver_status = CUDA_SUCCESS;

// Peers call these two by name. They are defined here, because nothing links libcuda: a program
// must start on a machine that has no driver.
extern "C" inline CUresult
cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                       const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                       const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill) {
    const TensorMapEncoder encode = tensor_map_encoder();
    const CUresult status = encode == nullptr
                                ? CUDA_ERROR_NOT_FOUND
                                : encode(map, type, rank, address, sizes, strides, box,
                                         element_strides, interleave, swizzle, promotion, fill);
    if (peer_driver_status == CUDA_SUCCESS)
        peer_driver_status = status;
    return status;
}

extern "C" inline CUresult cuGetErrorString(CUresult status, const char **words) {
    *words = "see the number of the CUDA driver error";
    return status;
}

// Non-zero, after printing one line, if the driver refused to make one of the peer's tensor maps.
inline int peer_tensor_maps_failed() {
    if (peer_driver_status == CUDA_SUCCESS)
        return 0;
    fprintf(stderr, "making a tensor map failed with CUDA driver error %d\n",
            int(peer_driver_status));
    return 1;
}

// The operands as the peers take them: not const, and of their type.
template <typename T = bf16>
T *operand(const void *matrix) {
    return static_cast<T *>(const_cast<void *>(matrix));
}

// The step of a kernel for Hopper, whose m, n and k are multiples of these.
template <typename Rival>
step hopper_rival(const char *name, const char *idea, int m, int n, int k) {
    step made = {.name = name,
                 .idea = idea,
                 .computes = GEMM_BF16,
                 .compute_capability = 90,
                 .multiple = {m, n, k}};
    if constexpr (requires(Rival rival) { rival.operands_made(nullptr); })
        made.operands_made = [](const problem *p, void *state) {
            return static_cast<Rival *>(state)->operands_made(p);
        };
    return made;
}

#define HOPPER_RIVAL(NAME, IDEA, M, N, K)                                                          \
    int main(int argc, char **argv) {                                                              \
        const step made = hopper_rival<Rival>(NAME, IDEA ", commit " PEER_COMMIT, M, N, K);        \
        return run_step<Rival>(made, argc, argv);                                                  \
    }
