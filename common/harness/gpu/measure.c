/* What a GPU measures: times. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/gpu/clocks.h"
#include "harness/gpu/cublas.h"
#include "harness/machine.h"
#include "harness/message.h"

bool machine_traces(void) { return false; }
void machine_launched(const char *order) { (void)order; }

/* ---- the fastest of cuBLASLt's algorithms, found by timing them all: many are launched once, then
 * the faster half once more, and so on; few are sampled once each, then the fastest few several
 * times more, in turn. Those that cuBLASLt refuses when it launches them are left out. */

/* One sample: idle before it, so that the previous one's heat does not slow it; and enough launches
 * to take at least this long. */
static const double PAUSE_SECONDS = 0.01;
enum { LEAST_LAUNCHES = 4, MOST_LAUNCHES = 128 };
static const double LEAST_SECONDS = 0.5e-3;
/* More are ranked first, by single launches; those that are left are sampled. Between two the chip
 * idles for this many launches' time, so that power limits none of them more than another. */
enum { MOST_SAMPLED = 256, IDLE_LAUNCHES = 2 };
/* The fastest, if they are this close to the first, are sampled this often in all. */
enum { FINALISTS = 8, SAMPLES = 5 };
static const double CLOSE = 1.1;

typedef struct search {
    const workload *workload;
    const contender *contender;
    second_opinion *opinion; /* the contender's */
    size_t launches;         /* so far, of all */
    int ranked;              /* algorithms that were launched to rank them */
} search;

/* Enqueues launches, each on the next copy. False if cuBLASLt refuses the algorithm. */
static bool launch(search *search, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const size_t copy = search->launches++ % search->workload->copies;
        const share *share = workload_share(search->workload, search->contender, copy);
        const cublasStatus_t status = lt_launch(search->opinion, &share->problem);
        if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
            status == CUBLAS_STATUS_ARCH_MISMATCH) {
            return false;
        }
        cublas_check(status, "running cuBLASLt");
    }
    return true;
}

/* Seconds per launch of what was launched once before; NAN if cuBLASLt refuses it. Gated: else the
 * host's enqueueing time would decide for small products. */
static double time_launches(search *search, size_t count) {
    struct CUstream_st *stream = search->workload->device->stream;
    gate_close(stream);
    watch_start(0, stream);
    const bool good = launch(search, count);
    watch_stop(0, stream);
    const double seconds = watch_seconds(stream, "cuBLASLt", NULL);
    return good ? seconds / (double)count : NAN;
}

/* Seconds per launch of one algorithm; NAN if cuBLASLt refuses it. */
static double sample(search *search, int number) {
    search->opinion->chosen = number;
    sleep_seconds(PAUSE_SECONDS);
    const double first = launch(search, 1) ? time_launches(search, 1) : NAN;
    const double wanted = fmin(fmax(ceil(LEAST_SECONDS / first), LEAST_LAUNCHES), MOST_LAUNCHES);
    return isfinite(first) ? time_launches(search, (size_t)wanted) : NAN;
}

/* Seconds of one more launch. The very first one loads the kernel and is not timed, since loading
 * can wait for a gated stream; it takes so long that the chip idles anyway. */
static double launch_ranked(void *context, int number, bool first) {
    search *search = context;
    search->opinion->chosen = number;
    search->ranked += first;
    const double seconds = !first || launch(search, 1) ? time_launches(search, 1) : NAN;
    if (!first && isfinite(seconds)) {
        sleep_seconds(IDLE_LAUNCHES * seconds);
    }
    return seconds;
}

/* Samples the first of the algorithms; all of them if there are not so many. Lists those that run,
 * the fastest first. */
static void sample_all(search *search, int most, heuristics *found) {
    second_opinion *opinion = search->opinion;
    const int count = most < opinion->count ? most : opinion->count;
    ranked *all = allocate((size_t)count, sizeof *all);
    for (int i = 0; i < count; ++i) {
        all[i] = (ranked){.number = i, .seconds = INFINITY};
    }
    int left = rank_by_halving(all, count, MOST_SAMPLED, launch_ranked, search);
    for (int i = 0; i < left; ++i) {
        all[i].seconds = sample(search, all[i].number);
    }
    left = ranked_sort(all, left);
    if (left == 0) {
        end_with(STATUS_FAILED, "cuBLASLt has no algorithm that runs for this shape");
    }
    found->timed = count > MOST_SAMPLED ? search->ranked : count;
    found->cut = found->timed < count || opinion->count == MOST_ALGORITHMS;
    found->count = left < MOST_HEURISTICS ? left : MOST_HEURISTICS;
    for (int i = 0; i < found->count; ++i) {
        opinion->chosen = all[i].number;
        found->tried[i] = lt_describe(opinion);
        found->tried[i].seconds = all[i].seconds;
    }
    free(all);
}

/* Samples the finalists of those that are listed some times more, in turn, and lists each with its
 * median. The fastest is what is timed beside the step, if its output is right: that of each
 * finalist is checked as every contender's. */
static void choose_winner(search *search, const verification *verification, heuristics *found) {
    double seconds[FINALISTS][SAMPLES];
    heuristic *tried = found->tried;
    const heuristic *winner = NULL;
    int count = 0;
    while (count < FINALISTS && count < found->count &&
           tried[count].seconds <= CLOSE * tried[0].seconds) {
        seconds[count][0] = tried[count].seconds;
        ++count;
    }
    for (int i = count; i < SAMPLES * count; ++i) {
        seconds[i % count][i / count] = sample(search, tried[i % count].number);
    }
    for (int i = 0; i < count; ++i) {
        tried[i].seconds = median(seconds[i], SAMPLES);
        search->opinion->chosen = tried[i].number;
        if (!verify_launch(search->workload, search->contender, verification)) {
            message("cuBLASLt's algorithm %d, %s, is left out: its output is wrong",
                    tried[i].number, tried[i].name);
        } else if (winner == NULL || tried[i].seconds < winner->seconds) {
            winner = &tried[i];
        }
    }
    if (winner == NULL) {
        end_with(STATUS_FAILED, "none of cuBLASLt's %d fastest algorithms computes the right D",
                 count);
    }
    found->finalists = count;
    found->winner = *winner;
    search->opinion->chosen = winner->number;
}

/* Decides which of cuBLASLt's algorithms is timed beside the step. The search counts as what
 * cuBLASLt did before its first launch; without one that is not known. */
static void choose_heuristic(const workload *workload, contender *contender,
                             const verification *verification, heuristics *found) {
    const options *o = workload->options;
    const problem *problem = &workload_share(workload, contender, 0)->problem;
    const double begin = monotonic_seconds();
    second_opinion *opinion = contender->opinion;
    search search = {.workload = workload, .contender = contender, .opinion = opinion};
    lt_take_shape(opinion, problem);
    *found = (heuristics){.returned = opinion->heuristics};
    if (o->algorithm != NULL) {
        lt_take(opinion, problem, o->algorithm);
        cublas_check(lt_launch(opinion, problem), "running cuBLASLt");
        found->winner = lt_describe(opinion);
        contender->before_seconds = NAN;
        return;
    }
    if (o->enumerates) {
        lt_enumerate(opinion);
        found->enumerated = opinion->count - opinion->heuristics;
    }
    sample_all(&search, o->enumerates ? MOST_ALGORITHMS : o->heuristics, found);
    choose_winner(&search, verification, found);
    contender->before_seconds += monotonic_seconds() - begin;
}

/* Times, and checks what the timed launches wrote. */
void machine_measure(workload *workload, verification *verification, report *report) {
    static timing timing; /* too large for the stack */
    contender *heuristic = workload_find(workload, CONTENDER_HEURISTIC);
    if (workload->options->protocol == PROTOCOL_NONE) {
        return;
    }
    memset(&timing, 0, sizeof timing);
    if (heuristic != NULL) {
        choose_heuristic(workload, heuristic, verification, &timing.heuristics);
    }
    workload_poison(workload); /* what is found afterwards was written by a timed launch */
    timing_run(workload, &timing);
    verify_after_timing(workload, verification);
    /* The time of a wrong result is not reported. */
    report->timing = verification_right(verification, workload) ? &timing : NULL;
}
