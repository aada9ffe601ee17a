// What the cases share: PTX instructions as functions, and checks on the host.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define S32(p) uint32_t(__cvta_generic_to_shared(p))

// Instructions without operands.
#define PTX(name, text) __device__ inline void name() { asm volatile(text ::: "memory"); }
PTX(mb_fence, "fence.mbarrier_init.release.cluster;")
PTX(bulk_commit, "cp.async.bulk.commit_group;")
PTX(bulk_wait_read, "cp.async.bulk.wait_group.read 0;")
PTX(bulk_wait, "cp.async.bulk.wait_group 0;")
PTX(fence_async, "fence.proxy.async.shared::cta;")
PTX(cp_async_commit, "cp.async.commit_group;")
PTX(cp_async_wait, "cp.async.wait_all;")
PTX(cluster_sync, "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;")
PTX(wgmma_fence, "wgmma.fence.sync.aligned;")
PTX(wgmma_commit, "wgmma.commit_group.sync.aligned;")
PTX(wgmma_wait, "wgmma.wait_group.sync.aligned 0;")

__device__ inline void mb_init(uint64_t *b, int n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(S32(b)), "r"(n) : "memory");
}
__device__ inline void mb_expect(uint64_t *b, int n) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(S32(b)), "r"(n)
                 : "memory");
}
__device__ inline void mb_arrive(uint64_t *b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(S32(b)) : "memory");
}
__device__ inline void mb_arrive_at(uint64_t *b, int rank) { // of another CTA of the cluster
    uint32_t a;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(S32(b)), "r"(rank));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(a)
                 : "memory");
}
__device__ inline void mb_wait(uint64_t *b, int parity) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni THROUGH;\nbra.uni AGAIN;\nTHROUGH:\n}\n" ::"r"(S32(b)), "r"(parity)
                 : "memory");
}
__device__ inline void mb_wait_cluster(uint64_t *b, int parity) { // with a time
    asm volatile("{\n\t.reg .pred p;\n\tagain_%=:\n\t"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1, 0x989680;\n"
                 "\t@!p bra again_%=;\n\t}" ::"r"(S32(b)), "r"(parity) : "memory");
}
__device__ inline void bulk_load(void *to, const void *from, int n, uint64_t *b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(S32(to)), "l"(from), "r"(n), "r"(S32(b)) : "memory");
}
__device__ inline void tile_load(void *to, const CUtensorMap *map, uint64_t *b) { // at 0, 0
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %2}], [%3];" ::"r"(S32(to)), "l"(map), "r"(0), "r"(S32(b))
                 : "memory");
}
__device__ inline void bulk_store(void *to, const void *from, int n) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(to)), "r"(S32(from)), "r"(n) : "memory");
}
__device__ inline void cp_async_4(void *to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(S32(to)), "l"(from) : "memory");
}
__device__ inline void load_row(const void *from) { // of a matrix of 8 x 8
    uint32_t v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(S32(from)));
}
__device__ inline uint32_t cluster_rank() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
// d (64 x 8) = a (64 x 16) b (16 x 8), of bf16, by their descriptors.
__device__ inline void wgmma(float (&d)[4], uint64_t a, uint64_t b, int accumulate) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, "
                 "1, 1, 0, 0;\n}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b), "r"(accumulate));
}

#define CHECK(c)                                                                                   \
    do {                                                                                           \
        if (!(c)) exit((printf("WRONG: %s\n", #c), 1));                                            \
    } while (0)
#define RETURN(...) return (__VA_ARGS__) ? 0 : (printf("WRONG: %s\n", #__VA_ARGS__), 1)

template <typename T> T *dev(size_t n, T v) {
    T *p;
    cudaMalloc(&p, n * sizeof(T));
    std::vector<T> h(n, v);
    cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
template <typename T> std::vector<T> host(T *p, size_t n) {
    cudaDeviceSynchronize();
    std::vector<T> h(n);
    cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
    return h;
}
// Whether each value is right, by its index.
template <typename T, typename F> bool all(const std::vector<T> &values, F right) {
    for (size_t i = 0; i < values.size(); ++i)
        if (!right(int(i), values[i])) return false;
    return true;
}
// A map of boxes; of each dimension its size, its stride but for the first, and the box's size.
inline CUtensorMap map_of(CUtensorMapDataType type, void *memory, std::vector<cuuint64_t> sizes,
                          std::vector<cuuint64_t> strides, std::vector<cuuint32_t> box,
                          CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE) {
    CUtensorMap map;
    const std::vector<cuuint32_t> steps(sizes.size(), 1);
    CHECK(!cuTensorMapEncodeTiled(&map, type, sizes.size(), memory, sizes.data(), strides.data(),
                                  box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}
// A launch with one attribute: a cluster of `n`, or early (programmatic) if n is 0.
template <typename... P, typename... A>
cudaError_t launch_with(int n, dim3 grid, int block, void (*kernel)(P...), A... given) {
    cudaLaunchAttribute attribute = {};
    attribute.id = n ? cudaLaunchAttributeClusterDimension
                     : cudaLaunchAttributeProgrammaticStreamSerialization;
    if (n)
        attribute.val.clusterDim.x = n, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    else attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid, config.blockDim = dim3(block), config.dynamicSmemBytes = 8192;
    config.attrs = &attribute, config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, P(given)...);
}
// The variant that runs, by its name, and whether without its mistake.
struct How {
    unsigned name;
    bool fixed;
    __host__ __device__ static constexpr unsigned number_of(const char *name) {
        unsigned made = 0;
        for (; *name; ++name) made = made * 31 + *name;
        return made;
    }
    __host__ __device__ constexpr bool operator==(const char *other) const {
        return name == number_of(other);
    }
};
inline How how_of(char **argv) {
    const bool fixed = argv[1] && argv[2] && std::string(argv[2]) == "fixed";
    return {How::number_of(argv[1]), fixed};
}
__device__ inline int seven_if(bool right) { return right ? 7 : 1; }
// Launches kernel(in, out, how) as the arguments say: VARIANT [fixed] [THREADS [CTAS [CTAS of a
// cluster]]]; the first kernel by whose name the variant's begins. `in` has 256 7s, and 0 to 255.
// A right program leaves a 7 in out[0], and in the next 255 words 7s or what they had: 0.
using Kernel = void (*)(int *in, int *out, How how);
inline int run(char **argv, const std::vector<std::pair<std::string, Kernel>> &kernels) {
    const std::string variant = argv[1];
    const How how = how_of(argv);
    int numbers[] = {32, 1, 1}, *in = dev(512, 7), *out = dev(512, 0), counted[256];
    for (int i = 0; i < 256; ++i) counted[i] = i;
    cudaMemcpy(in + 256, counted, sizeof counted, cudaMemcpyHostToDevice);
    char **given = argv + 2 + how.fixed;
    for (int i = 0; given[i]; ++i) numbers[i] = atoi(given[i]);
    for (const auto &[name, kernel] : kernels) {
        if (variant.compare(0, name.size(), name) != 0) continue;
        CHECK(!launch_with(numbers[2], dim3(numbers[1]), numbers[0], kernel, in, out, how));
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        const std::vector<int> words = host(out, 256);
        RETURN(words[0] == 7 && all(words, [](int, int v) { return v == 0 || v == 7; }));
    }
    return 2;
}
