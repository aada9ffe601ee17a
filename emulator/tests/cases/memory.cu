// Accesses outside of memory, misaligned, or of memory that has no value (Guide, __shared__; Device
// Memory Accesses; Runtime, cudaMalloc; PTX ISA, ldmatrix; cp.async; cp.async.bulk; ld.global.nc).
// expect past_shared: address, says writes 4 bytes at offset 12288 of the shared memory
// expect past_static: address
// expect past_shared_by_ptx: address, says shared address 0x
// expect not_shared: address, says is not an address in the CTA's own shared memory
// expect trapped: misuse, says the kernel traps
// expect past_allocation: address, says offset 2048 of an allocation of 2048(?s:.*)how == "past_allocation"
// expect before_allocation: address, says offset -4 of an allocation
// expect deep 1: address, says more than the 64 KiB of its stack
// expect nowhere: address, says 4 bytes at 0x40, an address of the host: pass memory of cudaMalloc
// expect read_only: hazard, says ld.global.nc .__ldg. reads 4 bytes .* the same launch writes
// expect copy_more: misuse, says source
// expect copy_past: address, says at offset 2048 of an allocation of 2048(?s:.*)started
// expect copy_from_afar: address, says of the host: kernels cannot access it(?s:.*)started
// expect odd_by_ptx: misuse, says 8 bytes that is not aligned
// expect odd_vector, odd_vector_in_shared: address|misuse, says reads 16 bytes .* not aligned to them(?s:.*)// VECTOR
// expect odd_rows, odd_size, odd_source: address|misuse
// expect fresh_shared, fresh_added, fresh_times_0: lifetime|address|hazard|misuse|wrong
// expect fresh_shared fixed, fresh_added fixed, fresh_times_0 fixed: silent
#include "common.h"
__device__ int frames(int depth, const volatile char *above) {
    volatile char frame[1024];
    frame[0] = above[0];
    return depth == 0 ? frame[0] : frames(depth - 1, frame) + frame[0];
}
__global__ void places(int *in, int *out, How how) {
    extern __shared__ __align__(128) int s[];
    const int i = threadIdx.x;
    for (int n = i; n < 2048; n += 32) s[n] = 0;
    __syncwarp();
    if (how == "past_shared") s[3072] = 0;
    if (how == "past_shared_by_ptx")
        asm volatile("st.shared.u32 [%0 + 1048576], 1;" ::"r"(S32(s)));
    if (how == "not_shared") load_row(out);
    if (how == "trapped") asm volatile("trap;");
    if (how == "past_allocation") out[512] = 0;
    if (how == "before_allocation") out[-1] = 0;
    if (how == "deep") out[0] = frames(1000, "x");
    if (how == "nowhere") *(int *)64 = 0;
    if (how == "read_only") out[i] = 7, __syncwarp(), s[i] = __ldg(&out[31 - i]);
    if (how == "copy_more")
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 32;" ::"r"(S32(s)), "l"(out));
    if (how == "copy_past") cp_async_4(s, out + 512);
    if (how == "copy_from_afar") cp_async_4(s, out + (1 << 28));
    if (how == "odd_by_ptx") asm volatile("st.shared.v2.u32 [%0 + 4], {1, 1};" ::"r"(S32(s)));
    if (how == "odd_rows") load_row(&s[i % 8 * 5]); // 20 bytes apart
    if (how == "odd_vector" || how == "odd_vector_in_shared") {
        const int *row = (how == "odd_vector" ? in : s) + 33; // in the second of 33
        const int4 four = *reinterpret_cast<const int4 *>(row); // VECTOR
        out[i] = four.x;
    }
    if (how == "odd_size" || how == "odd_source") {
        __shared__ uint64_t full;
        const int bytes = how == "odd_size" ? 100 : 1008;
        if (i > 0) return;
        mb_init(&full, 1), mb_fence(), fence_async(), mb_expect(&full, bytes);
        bulk_load(s, in + 2 * (how == "odd_source"), bytes, &full), mb_wait(&full, 0);
    }
}
__global__ void past_static(int *, int *out, How) { // a pitch of 33 in a tile of 32 x 32
    __shared__ int s[32 * 32];
    for (int i = 0; i < 32; ++i) s[i * 33 + threadIdx.x] = i;
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x * 33];
}
// Nothing clears memory: of 32 words 24 are written, and all added up; split-K adds to D; C is read
// though beta is 0.
__global__ void fresh(float *memory, int *out, How how) {
    __shared__ float s[32];
    const int i = threadIdx.x;
    if (i < 24 || how.fixed) s[i] = 1;
    __syncthreads();
    if (how == "fresh_added") atomicAdd(&memory[i], 7.f);
    if (how == "fresh_times_0") memory[i] = how.fixed ? 7 : 7 + 0 * memory[i];
    if (how == "fresh_shared") {
        memory[i] = -25;
        for (int n = 0; n < 32; ++n) memory[i] += s[n];
    }
    out[i] = memory[i];
}
int main(int, char **argv) {
    if (argv[1][0] != 'f') return run(argv, {{"past_static", past_static}, {"", places}});
    float *memory; int *out = dev(32, 0); const How how = how_of(argv);
    cudaMalloc(&memory, 128);
    if (how == "fresh_added" && how.fixed) cudaMemset(memory, 0, 128);
    fresh<<<1, 32>>>(memory, out, how); RETURN(host(out, 32)[0] == 7);
}
