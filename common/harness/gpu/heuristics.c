/* The fastest of the algorithms that cuBLASLt has for a product, found by timing them all. */
#include "harness/gpu/cublas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/gpu/clocks.h"
#include "harness/message.h"
#include "harness/timing.h"

/* Of one sample: idle before it, so that none pays for the heat of the one before; and so many
 * launches that they take at least this long. */
enum { PAUSE_MS = 10, LEAST_LAUNCHES = 4, MOST_LAUNCHES = 128 };
static const double LEAST_SECONDS = 0.5e-3;
/* The fastest of the first turn are timed so often in all. */
enum { FINALISTS = 8, SAMPLES = 5 };
/* Of hundreds most are far from the best: what is that much slower at its first timed launch is not
 * timed again. */
static const double HOPELESS = 1.3;

typedef struct search {
    lt_matmul *matmul;
    const problem *const *problems;
    size_t copies;
    size_t launches; /* so far, of all */
    double best;     /* first timed launch so far */
} search;

typedef struct runner {
    int number;
    double seconds[SAMPLES];
} runner;

/* Enqueues launches, each on the next copy. False if cuBLASLt refuses the algorithm. */
static bool launch(search *search, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const problem *problem = search->problems[search->launches++ % search->copies];
        const cublasStatus_t status = lt_matmul_launch(search->matmul, problem);
        if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
            status == CUBLAS_STATUS_ARCH_MISMATCH) {
            return false;
        }
        cublas_check(status, "running cuBLASLt");
    }
    return true;
}

/* Seconds per launch of what was launched once before; NAN if cuBLASLt refuses it. The gate: or
 * small products would be chosen by how fast the host enqueues them. */
static double time_launches(search *search, size_t count) {
    struct CUstream_st *stream = search->problems[0]->stream;
    gate_close(stream);
    watch_start(stream);
    const bool good = launch(search, count);
    watch_stop(stream);
    gate_open();
    cuda_check(cudaStreamSynchronize(stream), "running cuBLASLt");
    gate_check();
    return good ? watch_seconds() / (double)count : NAN;
}

/* Seconds per launch of one algorithm; NAN if cuBLASLt refuses it. */
static double sample(search *search, int number) {
    const struct timespec idle = {0, PAUSE_MS * 1000000L};
    lt_matmul_choose(search->matmul, number);
    nanosleep(&idle, NULL);
    const double first = launch(search, 1) ? time_launches(search, 1) : NAN;
    search->best = fmin(search->best, first);
    if (!(first <= HOPELESS * search->best)) {
        return first;
    }
    const double wanted = fmin(fmax(ceil(LEAST_SECONDS / first), LEAST_LAUNCHES), MOST_LAUNCHES);
    return time_launches(search, (size_t)wanted);
}

static int by_first_time(const void *left, const void *right) {
    const double a = ((const runner *)left)->seconds[0];
    const double b = ((const runner *)right)->seconds[0];
    return (a > b) - (a < b);
}

static int smaller(int a, int b) { return a < b ? a : b; }

/* Everybody once, then the finalists in turn; the winner is chosen. */
static void run_all(search *search, int most, runner *runners, heuristics *found) {
    int count = 0; /* of those that run: runners[0 ... count - 1], the fastest first */
    for (int number = 0; number < most; ++number) {
        runner *next = &runners[count];
        next->number = number;
        next->seconds[0] = sample(search, number);
        count += isfinite(next->seconds[0]) ? 1 : 0;
    }
    if (count == 0) {
        end_with(STATUS_FAILED, "cuBLASLt has no algorithm that runs for this shape");
    }
    qsort(runners, (size_t)count, sizeof *runners, by_first_time);
    const int finalists = smaller(count, FINALISTS);
    for (int i = 0; i < (SAMPLES - 1) * finalists; ++i) {
        runner *runner = &runners[i % finalists];
        runner->seconds[1 + i / finalists] = sample(search, runner->number);
    }
    found->count = smaller(count, MOST_HEURISTICS);
    for (int i = 0; i < found->count; ++i) {
        heuristic *tried = &found->tried[i];
        tried->number = runners[i].number;
        tried->seconds =
            i < finalists ? median(runners[i].seconds, SAMPLES) : runners[i].seconds[0];
        lt_matmul_choose(search->matmul, tried->number);
        lt_matmul_describe(search->matmul, search->problems[0], tried);
        if (i == 0 || (i < finalists && tried->seconds < found->winner.seconds)) {
            found->winner = *tried;
        }
    }
    lt_matmul_choose(search->matmul, found->winner.number);
}

void heuristics_search(lt_matmul *matmul, const problem *const *problems, size_t copies, int most,
                       bool enumerates, heuristics *found) {
    search search = {matmul, problems, copies, .best = INFINITY};
    memset(found, 0, sizeof *found);
    found->returned = lt_matmul_count(matmul, problems[0]);
    int timed = smaller(most, found->returned);
    if (enumerates) {
        timed = lt_matmul_enumerate(matmul);
        found->enumerated = timed - found->returned;
    }
    runner *runners = allocate((size_t)timed, sizeof *runners);
    run_all(&search, timed, runners, found);
    free(runners);
}

void heuristics_take(lt_matmul *matmul, const problem *problem, const char *digits,
                     heuristics *found) {
    *found = (heuristics){.returned = lt_matmul_count(matmul, problem)};
    found->winner.number = lt_matmul_restore(matmul, problem, digits);
    found->winner.seconds = NAN;
    if (found->winner.number < 0) {
        end_with(STATUS_FAILED, "--algorithm: cuBLASLt does not take it for m=%d n=%d k=%d",
                 problem->m, problem->n, problem->k);
    }
    cublas_check(lt_matmul_launch(matmul, problem), "running cuBLASLt");
    lt_matmul_describe(matmul, problem, &found->winner);
}
