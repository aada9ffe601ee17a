// Orders of atomics that one run does not decide: how many classes of equivalent ones there are, and what
// only one of them shows. (notes/proof.md)
// options --policies eager --explore 200
// expect two 32 2: silent, says all 6 orders of at most 4 turns
// expect two 32 3: silent, says all 90 orders of at most 6 turns
// expect crossed 32 2: silent, says all 3 orders of at most 4 turns
// expect phases 64: silent, says all 4 orders of at most 4 turns
// expect lanes 64: silent, says all 2 orders of at most 2 turns
// expect readers 32 3, flag 32 2: silent, says all [34] orders of at most [34] turns
// expect ignored 32 3, apart 32 3: silent, says proved by one run
// expect last 32 3: silent, says all 6 orders of at most 3 turns
// expect lock 32 2: silent, says all 6 orders
// expect two 32 4: silent, says the first \d+ orders of at most 8 turns at atomics, then 25 random ones: every
// expect seeded 32 4: wrong, says order 2\d\d of those explored fails; again: EMULATOR_ORDER=0:3
// expect unlucky 32 2: wrong, says order \d+ of those explored fails; again: EMULATOR_ORDER=\d
// expect unlucky fixed 32 2: silent, says all 6 orders
// expect racy 32 2: race, says under the policy eager, EMULATOR_ORDER=0:1
// expect stuck 32 2: deadlock, says EMULATOR_ORDER=
#include "common.h"
__global__ void orders(int *, int *out, How how) {
    const int i = threadIdx.x, lane = i % 32, agent = blockIdx.x + i / 32, last = gridDim.x - 1;
    int *const word = out + 300, *const got = out + 256 + agent;
    volatile int *const flag = word;
    if (how == "lanes") out[400 + i] = atomicAdd(word, 1);
    if (how == "phases" && lane == 0) *got = atomicAdd(word, 1);
    if (how == "phases") __syncthreads();
    if (how == "phases" && lane == 0) *got += atomicAdd(word, 1);
    if (i == 0 && agent == last) out[0] = 7;
    if (i != 0) return;
    if (how == "two") *got = atomicAdd(word, 1) + atomicAdd(word, 1);
    if (how == "crossed") *got = atomicAdd(word + agent, 1) + atomicAdd(word + !agent, 1);
    if (how == "readers" && agent == 0) __threadfence(), *flag = 1;
    if (how == "readers" && agent > 0) *got = *flag;
    if (how == "ignored") atomicAdd(word, 1);
    if (how == "apart") *got = atomicAdd(word + agent, 1);
    if (how == "flag" && agent == 0) {
        while (*flag == 0) {}
        __threadfence(), out[1] = out[310];
    }
    if (how == "flag" && agent == 1) out[310] = 7, __threadfence(), *flag = 1;
    if (how == "last") { // the last to arrive adds up
        out[310 + agent] = 1, __threadfence();
        int sum = 0;
        if (atomicAdd(word, 1) == last) {
            __threadfence();
            for (int j = 0; j <= last; ++j) sum += out[310 + j];
            out[1] = 7 * (sum == last + 1);
        }
    }
    if (how == "lock") {
        while (atomicCAS(word, 0, 1) != 0) {}
        __threadfence(), out[310] += 1;
        if (out[310] > last) out[1] = 7;
        __threadfence(), atomicExch(word, 0);
    }
    if (how == "unlucky") { // the others' changes come one before these, and one after them
        const int first = atomicAdd(word, 1), second = atomicAdd(word, 1);
        if (agent == 0) out[1] = first == 1 && second == 2 && !how.fixed ? 1 : 7;
    }
    if (how == "seeded") { // the last one is late in all of the first orders
        const int first = atomicAdd(word, 1), second = atomicAdd(word, 1);
        if (agent == last) out[1] = first == 0 && second > 1 ? 1 : 7;
    }
    // The first to arrive is taken for the one that has written.
    if (how == "racy" && agent == 1) out[310] = 7 + 0 * atomicAdd(word, 1);
    if (how == "racy" && agent == 0 && atomicAdd(word, 1) == 1) out[1] = out[310];
    if (how == "stuck" && atomicAdd(word, 1) == 0 && agent == 1) // nobody writes it
        while (*(flag + 1) == 0) {}
}
int main(int, char **argv) { return run(argv, {{"", orders}}); }
