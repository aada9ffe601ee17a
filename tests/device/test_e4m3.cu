// wgmma's e4m3 sums against those that an H200 gave, on a GPU or on the emulator, which adds by
// e4m3.h. A line of the record is a sum: 32 bytes of A, 32 of B, the addend and the result, all
// hexadecimal.
#include "../tools/test.h"
#include "device/tma.cuh"
#include "device/wgmma_e4m3.cuh"
#include "formats/e4m3.h"

#include <vector>

constexpr int M = 64, N = 8, K = E4M3_K;
constexpr const char *RECORD = "bench/results/instructions/e4m3-h200-20261123.txt";

struct Sum {
    uint8_t a[K], b[K];
    uint32_t addend, result; // bits of fp32
};

struct OperandTiles {
    alignas(1024) uint8_t a[M * SWIZZLE_BYTES];
    alignas(1024) uint8_t b[N * SWIZZLE_BYTES];
};

// A CTA has a sum, which is each element of its tile; thread 0 writes one of its own.
__global__ void multiply(const Sum *sums, float *out) {
    const Sum &sum = sums[blockIdx.x];
    OperandTiles &smem = dynamic_smem<OperandTiles>();
    for (int i = threadIdx.x; i < M * K; i += WARPGROUP_THREADS)
        smem.a[swizzle_128b<e4m3>(i / K, i % K)] = sum.a[i % K];
    for (int i = threadIdx.x; i < N * K; i += WARPGROUP_THREADS)
        smem.b[swizzle_128b<e4m3>(i / K, i % K)] = sum.b[i % K];
    fence_proxy_async(); // wgmma sees what this thread wrote ...
    __syncthreads();     // ... and all wrote

    const float addend = float_of_bits(sum.addend);
    float acc[N / 2] = {addend, addend, addend, addend};
    wgmma_wait<0>(acc); // waits for nothing, and keeps the lines above before the fence
    wgmma_fence();
    wgmma_e4m3<N>(acc, matrix_descriptor(smem.a), matrix_descriptor(smem.b));
    wgmma_commit();
    wgmma_wait<0>(acc);
    if (threadIdx.x == 0)
        out[blockIdx.x] = acc[blockIdx.x % (N / 2)];
}

static bool read_bytes(FILE *file, uint8_t *bytes) {
    int read = 0;
    while (read < K && fscanf(file, "%2hhx", &bytes[read]) == 1)
        ++read;
    return read == K;
}

static void as_recorded() {
    std::vector<Sum> sums;
    FILE *const file = fopen(RECORD, "r");
    for (Sum one; file != nullptr && read_bytes(file, one.a) && read_bytes(file, one.b) &&
                  fscanf(file, "%x %x", &one.addend, &one.result) == 2;)
        sums.push_back(one);
    EXPECT(file != nullptr && fclose(file) == 0 && sums.size() == 1024, "%zu sums", sums.size());
    std::vector<uint32_t> got(sums.size());
    Sum *const given = upload_array(sums.data(), sums.size());
    float *const out = upload_array(reinterpret_cast<float *>(got.data()), got.size());
    EXPECT(launch(multiply, dim3(sums.size()), dim3(WARPGROUP_THREADS), dim3(1),
                  sizeof(OperandTiles), cudaStream_t(nullptr), given, out) == 0 &&
               cudaMemcpy(got.data(), out, 4 * got.size(), cudaMemcpyDeviceToHost) == cudaSuccess,
           "a launch");
    release_array(given), release_array(out);
    for (size_t i = 0; i < sums.size(); ++i)
        EXPECT(got[i] == sums[i].result, "line %zu: %08x, not %08x", i + 1, got[i], sums[i].result);
}

int main() {
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) != cudaSuccess ||
        major != 9 || minor != 0) {
        puts("needs a GPU of compute capability 9.0");
        return 77;
    }
    run_case("e4m3: sums of one wgmma are those that a GPU gave", as_recorded);
    return test_result();
}
