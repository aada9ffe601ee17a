/* A launch right after `prepare`, on a stream that nothing else waits for, as PyTorch's are: what
 * prepare uploads and clears has to be there. v24 clears hundreds of megabytes at this shape, whose
 * rows it copies, and waits in the kernel for counters that have to begin at 0. With uploads on the
 * legacy stream it computed wrong products or never ended. Without a GPU it is skipped. */
#include <stdlib.h>
#include <unistd.h>

#include "../../emulator/tests/test.h"
#include "harness/buffers.h"
#include "harness/check.h"
#include "harness/device.h"
#include "harness/message.h"

enum { M = 8192, N = 16384, K = 16383, TRIES = 30 };
static const char NAME[] = "streams: a launch right after prepare finds what it uploaded";
static const size_t DIRTY_BYTES = (size_t)2 << 30; /* more than prepare takes */
static const double LIMIT_SECONDS = 10;            /* of a launch that takes 8 ms */

static const step *rung;
static device gpu;
static problem product = {.alpha = 1, .m = M, .n = N, .k = K};

/* Fresh memory may be zero: memory of ours is not, and prepare gets some of it. */
static void leave_dirty_memory(void) {
    void *memory = device_memory(DIRTY_BYTES, "what is freed again");
    cuda_check(cudaMemset(memory, 0x5a, DIRTY_BYTES), "filling memory");
    cuda_check(cudaDeviceSynchronize(), "filling memory");
    cuda_check(cudaFree(memory), "freeing memory");
}

/* Ends the test if the launch does not: no call would return that waits for it. */
static void expect_end(int number) {
    const double begin = monotonic_seconds();
    cudaError_t status;
    while ((status = cudaStreamQuery(product.stream)) == cudaErrorNotReady) {
        if (monotonic_seconds() - begin > LIMIT_SECONDS) {
            printf("not ok - %s: launch %d has not ended after %.0f s\n", NAME, number,
                   LIMIT_SECONDS);
            fflush(stdout);
            _exit(1);
        }
    }
    cuda_check(status, "launch %d", number);
}

/* The digest of D of a state's first launch: of its words, compared with themselves. */
static uint64_t first_launch(int number, bool waits) {
    const examination words = {
        .d = product.d,
        .reference = {.arithmetic = arithmetic_of(&(step){.computes = TRANSPOSE_FP32}),
                      .columns = N / 2,
                      .count = (size_t)M * N / 2,
                      .words = product.d},
        .kind = CHECK_WORDS};
    void *state = NULL;
    leave_dirty_memory();
    cuda_check(cudaStreamCreateWithFlags(&product.stream, cudaStreamNonBlocking), "a stream");
    const bool prepared = rung->prepare(&product, &state) == 0;
    if (waits) {
        cuda_check(cudaDeviceSynchronize(), "waiting for prepare");
    }
    EXPECT(prepared && rung->launch(&product, state) == 0, "try %d: it did not start", number);
    expect_end(number);
    const uint64_t digest = check_elements(&words, product.stream).digest;
    rung->release(state);
    cuda_check(cudaStreamDestroy(product.stream), "a stream");
    return digest;
}

static void launches_at_once(void) {
    const uint64_t wanted = first_launch(0, true);
    for (int i = 1; i <= TRIES && test.failed_here == 0; ++i) {
        EXPECT(first_launch(i, false) == wanted, "launch %d: D is not that of a launch that waited",
               i);
    }
}

static void *random_operand(size_t rows, uint64_t seed) {
    const operand all = {.format = NUMBER_BF16, .count = rows * K, .seed = seed};
    void *matrix = device_memory(2 * all.count, "an operand");
    operand_fill(&all, matrix, gpu.stream);
    device_wait(&gpu, "operands");
    return matrix;
}

int step_main(const step *step, int argc, char **argv) {
    int count = 0;
    (void)argc;
    (void)argv;
    rung = step;
    message_prefix("streams");
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        skip_case(NAME, "no GPU");
        return 0;
    }
    device_open(step, 0, &gpu);
    product.a = random_operand(M, 1);
    product.b = random_operand(N, 2);
    product.d = device_memory(sizeof(uint16_t) * M * N, "D");
    run_case(NAME, launches_at_once);
    return test_result();
}
