// Memory that kernels and host code may touch, and how. The first argument is the case; those from
// `no_` on have a mistake, on the line that says so.
#include <cuda.h>
#include <cstring>

#include "check.h"

#define CONSTANT const __grid_constant__

struct Parameters {
    float4 scale;
    int *to;
};
__constant__ int offset;

__global__ void right(const float4 scale, Parameters more, const int *from) {
    extern __shared__ __align__(128) int words[];
    words[threadIdx.x] = from[threadIdx.x] + offset;
    *more.to = int(scale.x + more.scale.y) + words[threadIdx.x];
    EXPECT(__cvta_generic_to_shared(words) % 256 == 128);
}

__global__ void reads(const int *from, int *to) {
    *to = *from; // READ
}

__global__ void reads_vector(const int *from, int4 *to) {
    *to = *reinterpret_cast<const int4 *>(from); // VECTOR
}

template <typename Map>
__device__ void prefetch(const Map &map) {
    __shared__ alignas(128) int tile[32];
    __shared__ alignas(8) uint64_t full;
    const unsigned to = __cvta_generic_to_shared(tile), barrier = __cvta_generic_to_shared(&full);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                 "fence.proxy.async;\n"
                 "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(barrier));
    // clang-format off
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], [%2];" ::"r"(to), "l"(&map), "r"(barrier)); // MAP
    // clang-format on
    asm volatile("{ .reg .pred p;\n"
                 "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra AGAIN; }" ::"r"(barrier));
}
__global__ void by_constant(CONSTANT CUtensorMap map) { prefetch(map); }
__global__ void by_value(CUtensorMap map) { prefetch(map); }

static CUtensorMap map_of(void *memory) {
    CUtensorMap map;
    const cuuint64_t size[] = {4, 8}, stride[] = {16};
    const cuuint32_t box[] = {4, 8}, step[] = {1, 1};
    EXPECT(!cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, size, stride,
                                   box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

static void all_right(int *memory) {
    int *locked = nullptr, *managed = nullptr;
    CHECK(cudaMallocHost(&locked, 128));
    CHECK(cudaMallocManaged(&managed, 128));
    for (int i = 0; i < 32; ++i)
        locked[i] = managed[i] = i;
    right<<<1, 1, 128>>>(make_float4(1, 2, 3, 4), {make_float4(1, 2, 3, 4), memory}, managed);
    EXPECT(at(memory, 0) == 3);
    reads<<<1, 1>>>(locked + 5, memory);
    EXPECT(at(memory, 0) == 5);
    by_constant<<<1, 1>>>(map_of(memory));
    float *fresh = nullptr;
    CHECK(cudaMalloc(&fresh, 4));
    EXPECT(at(fresh, 0) != at(fresh, 0)); // a NaN: nobody has written it
    CHECK(cudaFreeHost(locked));
}

int main(int, char **argv) {
    int *memory = numbers<int>(256, 0), *heap = new int[64]();
    int stack[4] = {};
    const auto is = [&](const char *name) { return std::strcmp(argv[1], name) == 0; };
    if (is("right"))
        all_right(memory);
    if (is("no_device_pointer"))
        reads<<<1, 1>>>(heap, memory);
    if (is("no_device_pointer_on_stack"))
        reads<<<1, 1>>>(stack, memory);
    if (is("no_host_pointer"))
        return memory[3]; // HOST
    if (is("no_alignment"))
        reads_vector<<<1, 1>>>(memory + 1, reinterpret_cast<int4 *>(memory));
    if (is("no_grid_constant"))
        by_value<<<1, 1>>>(map_of(memory));
    if (is("no_such_bytes"))
        CHECK(cudaMemcpy(heap, memory + 250, 64, cudaMemcpyDeviceToHost));
    if (is("no_such_direction"))
        CHECK(cudaMemcpy(heap, memory, 64, cudaMemcpyHostToDevice));
    if (is("no_second_free")) {
        CHECK(cudaFree(memory));
        CHECK(cudaFree(memory));
    }
    if (is("no_device_memory"))
        CHECK(cudaMemset(heap, 0, 64));
}
