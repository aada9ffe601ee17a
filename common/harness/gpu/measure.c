/* What a GPU measures: times. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>

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
        if (lt_launch(search->opinion, &share->problem) != CUBLAS_STATUS_SUCCESS) {
            return false;
        }
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
    const watched watched = watch_result(stream, "cuBLASLt");
    return good ? watched.seconds / (double)count : NAN;
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

/* Samples the first `count` of the algorithms, or those that the ranking leaves. all[] has those
 * that run, the fastest first. Returns how many they are. */
static int sample_all(search *search, ranked *all, int count) {
    for (int i = 0; i < count; ++i) {
        all[i] = (ranked){.number = i, .seconds = INFINITY};
    }
    const int left = rank_by_halving(all, count, MOST_SAMPLED, launch_ranked, search);
    for (int i = 0; i < left; ++i) {
        all[i].seconds = sample(search, all[i].number);
    }
    return ranked_sort(all, left);
}

/* Samples the finalists some times more, in turn. The one whose median is the least is what is
 * timed beside the step, if its output is right: that of each is checked as every contender's. */
static void choose_winner(search *search, const verification *verification, const ranked *all,
                          int count, heuristics *found) {
    second_opinion *opinion = search->opinion;
    double seconds[FINALISTS][SAMPLES];
    int finalists = 0;
    while (finalists < FINALISTS && finalists < count &&
           all[finalists].seconds <= CLOSE * all[0].seconds) {
        seconds[finalists][0] = all[finalists].seconds;
        ++finalists;
    }
    for (int i = finalists; i < SAMPLES * finalists; ++i) {
        seconds[i % finalists][i / finalists] = sample(search, all[i % finalists].number);
    }
    found->checked = finalists;
    found->winner.seconds = INFINITY;
    for (int i = 0; i < finalists; ++i) {
        heuristic finalist = lt_describe(opinion, all[i].number);
        finalist.seconds = median(seconds[i], SAMPLES);
        opinion->chosen = finalist.number;
        if (!verify_launch(search->workload, search->contender, verification)) {
            message("cuBLASLt's algorithm %d, %s, is left out: its output is wrong",
                    finalist.number, finalist.name);
        } else if (finalist.seconds < found->winner.seconds) {
            found->winner = finalist;
        }
    }
    if (isinf(found->winner.seconds)) {
        end_with(STATUS_FAILED, "cuBLASLt has no algorithm that computes D for this shape");
    }
    opinion->chosen = found->winner.number;
}

/* Decides which of cuBLASLt's algorithms is timed beside the step. The search counts as what
 * cuBLASLt did before its first launch; without one that is not known. */
static void choose_heuristic(const workload *workload, contender *contender,
                             const verification *verification, heuristics *found) {
    const options *o = workload->options;
    const double begin = monotonic_seconds();
    second_opinion *opinion = contender->opinion;
    search search = {.workload = workload, .contender = contender, .opinion = opinion};
    found->returned = opinion->heuristics;
    if (o->algorithm != NULL) {
        lt_take(opinion, &workload_share(workload, contender, 0)->problem, o->algorithm);
        found->winner = lt_describe(opinion, opinion->chosen);
        contender->before_seconds = NAN;
        return;
    }
    if (o->enumerates) {
        lt_enumerate(opinion);
        found->enumerated = opinion->count - opinion->heuristics;
    }
    const bool all_of_them = o->enumerates || o->heuristics > opinion->count;
    const int count = all_of_them ? opinion->count : o->heuristics;
    ranked *all = allocate((size_t)count, sizeof *all);
    const int left = sample_all(&search, all, count);
    found->timed = count > MOST_SAMPLED ? search.ranked : count;
    found->cut = found->timed < count || opinion->count == MOST_ALGORITHMS;
    choose_winner(&search, verification, all, left, found);
    free(all);
    contender->before_seconds += monotonic_seconds() - begin;
}

/* Times, and checks what the timed launches wrote. */
void machine_measure(workload *workload, verification *verification, report *report) {
    static timing timing;
    contender *heuristic = workload_find(workload, CONTENDER_HEURISTIC);
    if (workload->options->protocol == PROTOCOL_NONE) {
        return;
    }
    timing = (struct timing){0};
    if (heuristic != NULL) {
        choose_heuristic(workload, heuristic, verification, &timing.heuristics);
    }
    workload_poison(workload); /* what is found afterwards was written by a timed launch */
    timing_run(workload, &timing);
    verify_after_timing(workload, verification);
    /* The time of a wrong result is not reported. */
    report->timing = verification_right(verification, workload) ? &timing : NULL;
}
