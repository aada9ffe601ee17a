#include "harness/gpu/heuristics.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cuda_failed.h"
#include "harness/gpu/gate.h"
#include "harness/message.h"
#include "harness/statistics.h"

/* Of one sample: idle before it, so that none pays for the heat of the one before; and so many
 * launches that they take at least this long. */
enum { IDLE_MS = 10, LEAST_LAUNCHES = 4, MOST_LAUNCHES = 128 };
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
    gate *gate;      /* or small products would be chosen by how fast the host enqueues them */
    cudaEvent_t begin, end;
} search;

typedef struct runner {
    int number;
    double seconds[SAMPLES];
} runner;

static bool refused(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
           status == CUBLAS_STATUS_ARCH_MISMATCH;
}

/* Enqueues launches, each on the next copy. *good is false if cuBLASLt refuses the algorithm. */
static int launch(search *search, size_t count, bool *good) {
    for (size_t i = 0; i < count && *good; ++i) {
        const problem *problem = search->problems[search->launches++ % search->copies];
        const cublasStatus_t status = lt_matmul_launch(search->matmul, problem);
        *good = !refused(status);
        if (*good && status != CUBLAS_STATUS_SUCCESS) {
            message("cuBLASLt for m=%d n=%d k=%d failed: %s", problem->m, problem->n, problem->k,
                    cublasGetStatusString(status));
            return 1;
        }
    }
    return 0;
}

/* Enqueues the gate and timed launches. */
static int enqueue(search *search, size_t count, bool *good) {
    struct CUstream_st *stream = search->problems[0]->stream;
    return gate_close(search->gate, stream) != 0 ||
           cuda_failed(cudaEventRecord(search->begin, stream), "recording an event") ||
           launch(search, count, good) != 0 ||
           cuda_failed(cudaEventRecord(search->end, stream), "recording an event");
}

/* What sample() launched once before. */
static int time_launches(search *search, size_t count, double *seconds, bool *good) {
    float milliseconds = 0;
    const int failed = enqueue(search, count, good);
    gate_open(search->gate); /* also after a failure, or the GPU waits for its time limit */
    if (failed || cuda_failed(cudaEventSynchronize(search->end), "running cuBLASLt") ||
        gate_expired(search->gate) != 0 ||
        cuda_failed(cudaEventElapsedTime(&milliseconds, search->begin, search->end),
                    "reading the time between two events")) {
        return 1;
    }
    *seconds = 1e-3 * (double)milliseconds / (double)count;
    return 0;
}

/* Seconds per launch of one algorithm; NAN if cuBLASLt refuses it. */
static int sample(search *search, int number, double *seconds) {
    const struct timespec idle = {0, IDLE_MS * 1000000L};
    bool good = true;
    *seconds = NAN;
    lt_matmul_choose(search->matmul, number);
    nanosleep(&idle, NULL);
    double first;
    if (launch(search, 1, &good) != 0 || time_launches(search, 1, &first, &good) != 0) {
        return 1;
    }
    if (good && first < search->best) {
        search->best = first;
    }
    if (good && first > HOPELESS * search->best) {
        *seconds = first;
        return 0;
    }
    const double wanted = good ? ceil(LEAST_SECONDS / first) : 0;
    const size_t count = wanted >= MOST_LAUNCHES    ? MOST_LAUNCHES
                         : wanted <= LEAST_LAUNCHES ? LEAST_LAUNCHES
                                                    : (size_t)wanted;
    double mean;
    if (!good) {
        return 0;
    }
    if (time_launches(search, count, &mean, &good) != 0) {
        return 1;
    }
    *seconds = good ? mean : NAN;
    return 0;
}

static int by_first_time(const void *left, const void *right) {
    const double a = ((const runner *)left)->seconds[0];
    const double b = ((const runner *)right)->seconds[0];
    return (a > b) - (a < b);
}

/* Everybody once; those that run are runners[0 ... *count - 1], the fastest first. */
static int first_turn(search *search, int most, runner *runners, int *count) {
    *count = 0;
    for (int number = 0; number < most; ++number) {
        runner *next = &runners[*count];
        next->number = number;
        if (sample(search, number, &next->seconds[0]) != 0) {
            return 1;
        }
        *count += isfinite(next->seconds[0]) ? 1 : 0;
    }
    qsort(runners, (size_t)*count, sizeof *runners, by_first_time);
    return 0;
}

static int further_turns(search *search, runner *runners, int finalists) {
    for (int turn = 1; turn < SAMPLES; ++turn) {
        for (int i = 0; i < finalists; ++i) {
            if (sample(search, runners[i].number, &runners[i].seconds[turn]) != 0) {
                return 1;
            }
        }
    }
    return 0;
}

static int record(const search *search, const runner *runners, int count, int finalists,
                  heuristics *found) {
    found->count = count < MOST_HEURISTICS ? count : MOST_HEURISTICS;
    for (int i = 0; i < found->count; ++i) {
        heuristic *tried = &found->tried[i];
        tried->number = runners[i].number;
        tried->seconds =
            i < finalists ? median(runners[i].seconds, SAMPLES) : runners[i].seconds[0];
        lt_matmul_digits(search->matmul, tried->number, tried->algorithm);
        lt_matmul_choose(search->matmul, tried->number);
        if (lt_matmul_describe(search->matmul, search->problems[0], tried->name,
                               sizeof tried->name) != 0) {
            return 1;
        }
        if (i == 0 || (i < finalists && tried->seconds < found->winner.seconds)) {
            found->winner = *tried;
        }
    }
    return 0;
}

static int run_all(search *search, int most, runner *runners, heuristics *found) {
    int count;
    if (first_turn(search, most, runners, &count) != 0) {
        return 1;
    }
    if (count == 0) {
        message("cuBLASLt has no algorithm that runs for this shape");
        return 1;
    }
    const int finalists = count < FINALISTS ? count : FINALISTS;
    if (further_turns(search, runners, finalists) != 0 ||
        record(search, runners, count, finalists, found) != 0) {
        return 1;
    }
    lt_matmul_choose(search->matmul, found->winner.number);
    return 0;
}

static int run(search *search, int most, heuristics *found) {
    runner *runners = malloc((size_t)most * sizeof *runners);
    if (runners == NULL && most > 0) {
        message("no memory for the times of %d algorithms", most);
        return 1;
    }
    const int failed = run_all(search, most, runners, found);
    free(runners);
    return failed;
}

int heuristics_search(lt_matmul *matmul, const problem *const *problems, size_t copies, int most,
                      bool enumerates, heuristics *found) {
    memset(found, 0, sizeof *found);
    cublasStatus_t status = lt_matmul_count(matmul, problems[0], &found->returned);
    int timed = most < found->returned ? most : found->returned;
    if (status == CUBLAS_STATUS_SUCCESS && enumerates) {
        status = lt_matmul_enumerate(matmul, problems[0], &timed);
        found->enumerated = timed - found->returned;
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        message("asking cuBLASLt for its algorithms failed: %s", cublasGetStatusString(status));
        return 1;
    }
    search search = {.matmul = matmul, .problems = problems, .copies = copies, .best = INFINITY};
    int failed = (search.gate = gate_create()) == NULL ||
                 cuda_failed(cudaEventCreate(&search.begin), "making an event") ||
                 cuda_failed(cudaEventCreate(&search.end), "making an event") ||
                 run(&search, timed, found) != 0;
    if (search.begin != NULL) {
        (void)cudaEventDestroy(search.begin); /* after a fault this repeats a reported error */
    }
    if (search.end != NULL) {
        (void)cudaEventDestroy(search.end);
    }
    gate_destroy(search.gate);
    return failed;
}
