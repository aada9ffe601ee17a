// A launch that begins before the one before it has ended (PTX ISA, griddepcontrol; Guide,
// Programmatic Dependent Launch), and launches that fail (Guide, Technical Specifications; Thread
// Block Clusters; Launch Bounds).
// expect early, early_constant: silent
// expect early_load, early_store, early_bulk_load, early_cp_async, early_atomic: hazard|race
// expect cluster_of_16: wrong, says ClusterSize: a cluster of 16 x 1 x 1 CTAs: 1 to 8
// expect empty: wrong, says InvalidValue: a grid of 1 x 0 x 1
// expect threads, odd_grid, tall_grid, more_than_an_sm: wrong
// expect bounds: wrong, says InvalidValue: a block of 256 threads, .* allow 128
// expect dynamic: wrong, says 65536 bytes of dynamic shared memory, and the kernel may have 49152
// expect nested: misuse, says a kernel is launched from a kernel
// expect largest, cluster_of_16 fixed, dynamic fixed: silent
#include "common.h"
__global__ void first(int *given, int *g) { // lets the second begin
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    g[threadIdx.x] = given[threadIdx.x];
}
__global__ void second(int *given, int *constant, int *g, int *out, How how) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t full;
    const int i = threadIdx.x;
    int v = 0;
    if (how == "early_load") v = g[i];
    if (how == "early_store") given[i] = 1;
    if (how == "early_bulk_load" && i == 0) {
        mb_init(&full, 1), mb_fence(), mb_expect(&full, sizeof s);
        bulk_load(s, g, sizeof s, &full), mb_wait(&full, 0);
        v = s[0];
    }
    if (how == "early_constant") v = constant[i];
    if (how == "early_cp_async") cp_async_4(s + i, g + i), cp_async_wait(), v = s[i];
    if (how == "early_atomic") v = atomicAdd(g + i, 1);
    asm volatile("griddepcontrol.wait;" ::: "memory"); // all that the first did is visible
    out[i] = v + g[i];
}
__global__ void k(int *out) {
    if (threadIdx.x == 7 && blockIdx.x == 0 && blockIdx.y == 0) out[0] = 7;
}
__global__ void nested(int *out) { k<<<1, 1>>>(out); }
__global__ void __launch_bounds__(128) bounded(int *out) { out[0] = 7; }
__global__ void needs_64_kb(int *out) {
    extern __shared__ int memory[];
    memory[15000] = 7;
    out[0] = memory[15000];
}
int main(int, char **argv) {
    const How how = how_of(argv);
    int *given = dev(32, 7), *constant = dev(32, 7), *g = dev(32, 0), *out = dev(32, 0);
    cudaError_t error = cudaSuccess;
    if (std::string(argv[1]).substr(0, 5) == "early") {
        first<<<1, 32>>>(given, g);
        error = launch_with(0, dim3(1), 32, second, given, constant, g, out, how);
    }
    if (how == "largest") k<<<1, 1024>>>(out);
    if (how == "empty") k<<<dim3(1, 0), 32>>>(out);
    if (how.fixed) {
        cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
        cudaFuncSetAttribute(needs_64_kb, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
    }
    if (how == "cluster_of_16") error = launch_with(16, dim3(16), 32, k, out);
    if (how == "threads") k<<<1, 1025>>>(out);
    if (how == "odd_grid") error = launch_with(2, dim3(3), 32, k, out);
    if (how == "tall_grid") k<<<dim3(1, 70000), 32>>>(out);
    if (how == "more_than_an_sm")
        error = cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024);
    if (how == "nested") nested<<<1, 32>>>(out);
    if (how == "bounds") bounded<<<1, 256>>>(out);
    if (how == "dynamic") needs_64_kb<<<1, 1, 64 * 1024>>>(out);
    CHECK(error == cudaSuccess && cudaGetLastError() == cudaSuccess);
    RETURN(host(out, 1)[0] == (how == "early_constant" ? 14 : 7));
}
