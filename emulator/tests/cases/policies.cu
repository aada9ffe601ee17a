// When an operation completes is the policy's choice: the eager one takes the first moment, and seeds
// of the random one differ (notes/emulator.md).
// options --policies eager,random --seeds 20
// expect loads: silent, says landed 3\n(?s:.*)landed 2\n
#include "common.h"
__global__ void loads(int *in, int *out, How) { // which have landed before they are waited for
    __shared__ alignas(128) int s[64];
    __shared__ uint64_t full[2];
    if (threadIdx.x > 0) return;
    int landed = 0;
    for (int n = 0; n < 2; ++n) mb_init(&full[n], 1), mb_fence();
    for (int n = 0; n < 2; ++n) mb_expect(&full[n], 128), bulk_load(s + 32 * n, in, 128, &full[n]);
    for (int n = 0, done; n < 2; ++n) {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.b32 "
                     "%0, 1, 0, p; }" : "=r"(done) : "r"(S32(&full[n])));
        landed |= done << n;
    }
    mb_wait(&full[0], 0), mb_wait(&full[1], 0);
    printf("landed %d\n", landed);
    out[0] = 7;
}
int main(int, char **argv) { return run(argv, {{"", loads}}); }
