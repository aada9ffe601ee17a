// Tensor maps, and tiles outside of memory (PTX ISA, membar/fence: .proxy.tensormap;
// cp.async.bulk.tensor; Guide, Using TMA; Driver, cuTensorMapEncodeTiled).
// expect local: misuse, says a thread's local memory.*\[local-map\]
// expect global: misuse, says map in global memory.*\[global-map\]
// expect parameter, global fixed, map_changed fixed, three_dimensions: silent
// expect map_changed: hazard, says of its map|reads them, and the TMA load was issued before
// expect no_map: misuse, says never encoded
// expect tile_odd: misuse, says 128-byte aligned
// expect tile_past_shared: address, says of the shared memory
// expect box_past_allocation: address, says of an allocation of 400
// expect narrower_than_its_swizzle: misuse, says narrower rows
// expect arguments: silent, says all are right\n
// expect ends_in_a_chunk: misuse, says chunks of 16 bytes
#include "common.h"
__device__ void load(const CUtensorMap *map, int offset, int *out, CUtensorMap *changed = nullptr) {
    __shared__ alignas(128) int tile[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        mb_init(&full, 1), mb_fence(), mb_expect(&full, 128);
        tile_load(tile + offset, map, &full);
        if (changed != nullptr) *changed = CUtensorMap();
    }
    __syncthreads();
    mb_wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void k(const __grid_constant__ CUtensorMap map, CUtensorMap *kept, int *out, How how) {
    const bool changes = how == "map_changed", fenced = changes || how.fixed;
    if ((how == "global" || changes) && threadIdx.x == 0) {
        *kept = map;
        if (fenced)
            asm volatile("fence.proxy.tensormap::generic.release.gpu;\n"
                         "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(kept)
                         : "memory");
    }
    load(how == "global" || changes ? kept : &map,
         how == "tile_odd" ? 8 : how == "tile_past_shared" ? 32 : 0, out,
         changes && !how.fixed ? kept : nullptr);
}
__global__ void local(CUtensorMap map, int *out) { load(&map, 0, out); }
// A box of 16 x 2 x 2 bytes, loaded from (-8, 1, 1) of a tensor of 16 x 3 x 2 whose bytes are counted,
// and stored to (8, 1, 1): what lies outside of it is loaded as zeros, and not stored.
__global__ void box(const __grid_constant__ CUtensorMap map, const unsigned char *tensor, int *out) {
    __shared__ alignas(128) unsigned char tile[64];
    __shared__ uint64_t full;
    mb_init(&full, 1), mb_fence(), mb_expect(&full, sizeof tile);
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %3}], [%4];" ::"r"(S32(tile)), "l"(&map), "r"(-8), "r"(1),
                 "r"(S32(&full)) : "memory");
    mb_wait(&full, 0);
    bool right = true;
    for (int i = 0; i < 64; ++i) {
        const int x = i % 16 - 8, y = 1 + i / 16 % 2, z = 1 + i / 32;
        right &= tile[i] == (x >= 0 && z < 2 ? x + 32 * y + 96 * z + 1 : 0);
        tile[i] = 0;
    }
    fence_async();
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %2}], [%3];"
                 ::"l"(&map), "r"(8), "r"(1), "r"(S32(tile)) : "memory");
    bulk_commit(), bulk_wait();
    for (int i = 0; i < 192; ++i) {
        const bool stored = i >= 96 + 32 && i % 32 >= 8 && i % 32 < 16;
        right &= tensor[i] == (stored ? 0 : i + 1);
    }
    out[9] = seven_if(right);
}
// A matrix of 20 rows of 100 bf16 and a map of its boxes, 8 rows of 64 each, with one wrong argument.
int arguments() {
    unsigned char *const matrix = dev(20 * 208, (unsigned char)0);
    const struct {
        const char *what;
        unsigned char *base;
        cuuint64_t columns = 100, stride = 208;
        cuuint32_t rank = 2, width = 64, height = 8, step = 1;
        CUresult expected = CUDA_ERROR_INVALID_VALUE;
    } rows[] = {{.what = "none", .base = matrix, .expected = CUDA_SUCCESS},
                {.what = "an address that is not aligned", .base = matrix + 8},
                {.what = "no address", .base = nullptr},
                {.what = "a stride that is no multiple of 16", .base = matrix, .stride = 200},
                {.what = "an empty dimension", .base = matrix, .columns = 0},
                {.what = "a box of 257", .base = matrix, .height = 257},
                {.what = "rows wider than the swizzle", .base = matrix, .width = 128},
                {.what = "rows of 8 bytes", .base = matrix, .width = 4},
                {.what = "element strides", .base = matrix, .step = 2, .expected = CUDA_ERROR_NOT_SUPPORTED},
                {.what = "six dimensions", .base = matrix, .rank = 6}};
    for (const auto &row : rows) {
        CUtensorMap map;
        const cuuint64_t size[] = {row.columns, 20};
        const cuuint32_t box[] = {row.width, row.height}, steps[] = {1, row.step};
        const CUresult found = cuTensorMapEncodeTiled(
            &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, row.rank, row.base, size, &row.stride, box, steps,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        if (found != row.expected) return printf("WRONG: %s\n", row.what), 1;
    }
    return puts("all are right"), 0;
}
int main(int, char **argv) {
    const How how = how_of(argv);
    if (how == "arguments") return arguments();
    int *in = dev(100, 7), *out = dev(32, 0);
    const cuuint64_t rows = how == "box_past_allocation" ? 50 : 8;
    const bool narrow = how == "narrower_than_its_swizzle";
    CUtensorMap map{}, *kept = dev(1, map);
    if (how != "no_map")
        map = map_of(CU_TENSOR_MAP_DATA_TYPE_INT32, in, {4, rows}, {16}, {4, unsigned(rows)},
                     narrow ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE);
    std::vector<unsigned char> counted(192);
    for (int i = 0; i < 192; ++i) counted[i] = i + 1;
    unsigned char *tensor = dev(192, counted[0]);
    cudaMemcpy(tensor, counted.data(), 192, cudaMemcpyHostToDevice);
    const cuuint64_t row = how == "ends_in_a_chunk" ? 20 : 16;
    if (how == "three_dimensions" || row == 20)
        box<<<1, 1>>>(map_of(CU_TENSOR_MAP_DATA_TYPE_UINT8, tensor, {row, 3, 2}, {32, 96}, {16, 2, 2}),
                      tensor, out);
    else if (how == "local") local<<<1, 32>>>(map, out);
    else k<<<1, 32>>>(map, kept, out, how);
    RETURN(host(out, 32)[9] == 7);
}
