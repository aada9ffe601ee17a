// Bytes of shared memory that thread 0 writes and thread 32 reads, where nothing orders the two: a
// conflict if they share a byte, whatever the sizes (PTX ISA, Memory Consistency Model: Overlap).
// The arguments are the offset and the bytes of the write, and of the read.
// expect 0 16 15 1, 4 2 5 1, 1008 32 1024 4, 8 4 8 8, 0 1024 512 1: race|hazard
// expect 5 1 4 1, 5 1 6 2, 4 2 6 2, 8 4 12 4, 1020 4 1024 4, 0 16 16 8, 0 1024 1024 16: silent
// Lanes that read together, and a thread that is after all of them but one, or after all.
// expect lanes 64: race, says thread 0 of CTA 0 .warp 0, lane 0. reads
// expect lanes fixed 64: silent
#include "common.h"
template <typename T> __device__ void set(char *to) { *(volatile T *)to = T(7); }
__device__ void write(char *to, int bytes, int *in, uint64_t *full) {
    if (bytes == 1) set<char>(to);
    if (bytes == 2) set<short>(to);
    if (bytes == 4) set<int>(to);
    for (int n = 0; n < bytes && bytes < 1024 && bytes >= 16; n += 16)
        *(int4 *)(to + n) = int4{7, 7, 7, 7};
    if (bytes == 1024) mb_expect(full, bytes), bulk_load(to, in, bytes, full);
}
__device__ long long read(const char *from, int bytes) {
    return bytes == 1   ? *(volatile char *)from
           : bytes == 2 ? *(volatile short *)from
           : bytes == 4 ? *(volatile int *)from
           : bytes == 8 ? *(volatile long long *)from
                        : ((const int4 *)from)->x;
}
__global__ void parts(int *in, int *out, int4 of) {
    __shared__ alignas(1024) char s[2048];
    __shared__ uint64_t full, again;
    if (threadIdx.x == 0) mb_init(&again, 1), mb_init(&full, 1), mb_fence();
    if (threadIdx.x == 0) mb_expect(&full, sizeof s);
    if (threadIdx.x == 0) bulk_load(s, in, sizeof s, &full);
    __syncthreads();
    mb_wait(&full, 0);
    if (threadIdx.x == 0) write(s + of.x, of.y, in, &again);
    if (threadIdx.x == 32) out[0] = int(read(s + of.z, of.w));
    if (threadIdx.x == 0 && of.y == 1024) mb_wait(&again, 0);
}
__global__ void lanes(int *, int *out, How how) {
    __shared__ int s;
    __shared__ uint64_t done;
    const int i = threadIdx.x;
    if (i == 32) s = 7, mb_init(&done, 31 + how.fixed), mb_fence();
    __syncthreads();
    if (i < 32) out[i] = s;
    if (i < 32 && i >= 1 - how.fixed) mb_arrive(&done);
    if (i == 32) mb_wait(&done, 0), s = 8;
}
int main(int argc, char **argv) {
    if (argc < 5) return run(argv, {{"lanes", lanes}});
    parts<<<1, 64>>>(dev(512, 7), dev(1, 0), int4{atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4])});
    RETURN(cudaDeviceSynchronize() == cudaSuccess);
}
