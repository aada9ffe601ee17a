/* What a GPU measures: times. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/gpu/clocks.h"
#include "harness/gpu/cublas.h"
#include "harness/machine.h"
#include "harness/message.h"
#include "tune.h"

void machine_launched(const char *order) { (void)order; }

/* ---- the fastest of cuBLASLt's algorithms, or of the step's own kernels: many are launched once,
 * then the faster half once more, and so on; few are sampled in rounds, as tune.h says. Algorithms
 * that cuBLASLt refuses when it launches them are left out, and those whose output is wrong. */

/* One sample: idle before it, so that the previous one's heat does not slow it; and enough launches
 * to take at least this long. */
static const double PAUSE_SECONDS = 0.01;
enum { LEAST_LAUNCHES = 4, MOST_LAUNCHES = 128 };
static const double LEAST_SECONDS = 0.5e-3;
/* More are ranked first, by single launches; those that are left are sampled. Between two the chip
 * idles for this many launches' time, so that power limits none of them more than another. */
enum { MOST_SAMPLED = 256, IDLE_LAUNCHES = 2 };

typedef struct search {
    const workload *workload;
    contender *contender; /* whose opinion's algorithms are tried, or the step's kernels */
    size_t launches;      /* so far, of all */
    int ranked;           /* algorithms that were launched to rank them */
    ranked *all;          /* what is sampled, and the fastest sample of each */
} search;

/* The quick tuner: all its samples have the same number of launches, by the time of the first. */
enum { QUICK_LEAST_LAUNCHES = 2, QUICK_MOST_LAUNCHES = 64 };
static const double QUICK_SECONDS = 0.25e-3;

typedef struct quick {
    search search;
    int kernels[TUNE_CANDIDATES]; /* their numbers, from 0 on */
    bool loaded[TUNE_CANDIDATES];
    size_t launches;      /* of a sample; 0: not known yet */
    double ready_seconds; /* that preparing took */
} quick;

/* Chooses an algorithm; or makes the step's kernel of that number ready for some more launches, not
 * for all copies: of small products there are hundreds. */
static void take(search *search, int number, size_t launches) {
    const size_t copies = search->workload->copies;
    if (search->contender->opinion != NULL) {
        search->contender->opinion->chosen = number;
    } else {
        workload_take(search->workload, search->contender, number, search->launches % copies,
                      launches < copies ? launches : copies);
    }
}

/* Enqueues launches, each on the next copy. False if cuBLASLt refuses the algorithm. */
static bool launch(search *search, size_t count) {
    contender *contender = search->contender;
    for (size_t i = 0; i < count; ++i) {
        const size_t copy = search->launches++ % search->workload->copies;
        const share *share = workload_share(search->workload, contender, copy);
        if (contender->opinion == NULL) {
            contender->launch(contender, copy);
        } else if (lt_launch(contender->opinion, &share->problem) != CUBLAS_STATUS_SUCCESS) {
            return false;
        }
    }
    return true;
}

/* Seconds per launch of what was launched once before, after some that warm up; NAN if cuBLASLt
 * refuses it. Gated: else the host's enqueueing time would decide for small products. */
static double time_launches(search *search, size_t warm_ups, size_t count) {
    struct CUstream_st *stream = search->workload->device->stream;
    gate_close(stream);
    const bool warm = launch(search, warm_ups);
    watch_start(0, stream);
    const bool good = warm && launch(search, count);
    watch_stop(0, stream);
    const watched watched = watch_result(stream, search->contender->title);
    return good ? watched.seconds / (double)count : NAN;
}

/* Seconds per launch of one of them; NAN if cuBLASLt refuses it. */
static double sample(search *search, int number) {
    take(search, number, 2);
    sleep_seconds(PAUSE_SECONDS);
    const double first = launch(search, 1) ? time_launches(search, 0, 1) : NAN;
    const double wanted = fmin(fmax(ceil(LEAST_SECONDS / first), LEAST_LAUNCHES), MOST_LAUNCHES);
    if (!isfinite(first)) {
        return NAN;
    }
    take(search, number, (size_t)wanted);
    return time_launches(search, 0, (size_t)wanted);
}

/* Seconds of one more launch. The very first one loads the kernel and is not timed, since loading
 * can wait for a gated stream; it takes so long that the chip idles anyway. */
static double launch_ranked(void *context, int number, bool first) {
    search *search = context;
    take(search, number, 2);
    search->ranked += first;
    const double seconds = !first || launch(search, 1) ? time_launches(search, 0, 1) : NAN;
    if (!first && isfinite(seconds)) {
        sleep_seconds(IDLE_LAUNCHES * seconds);
    }
    return seconds;
}

/* Seconds per launch of a candidate; NAN of one that is left out. */
static double sample_candidate(void *context, int candidate) {
    search *search = context;
    ranked *one = &search->all[candidate];
    const double seconds = isnan(one->seconds) ? NAN : sample(search, one->number);
    one->seconds = fmin(one->seconds, seconds);
    return seconds;
}

/* Whether its output is right. A wrong kernel of the step's own ends the program. */
static bool is_right(search *search, const verification *verification, int number) {
    const second_opinion *opinion = search->contender->opinion;
    take(search, number, search->workload->copies);
    if (verify_launch(search->workload, search->contender, verification)) {
        return true;
    }
    if (opinion == NULL) {
        end_with(STATUS_FAILED, "the output of kernel %d is wrong", number);
    }
    message("cuBLASLt's algorithm %d, %s, is left out: its output is wrong", number,
            lt_describe(opinion, number).name);
    return false;
}

static void forget_times(ranked *all, int count) {
    for (int i = 0; i < count; ++i) {
        all[i].seconds = INFINITY;
    }
}

/* The fastest of all[0 ... *count - 1], which is timed beside the step. all[] then has those that
 * were sampled and run, the fastest first, and *count is their number. */
static ranked find_fastest(search *search, const verification *verification, ranked *all,
                           int *count) {
    forget_times(all, *count);
    *count = rank_by_halving(all, *count, MOST_SAMPLED, launch_ranked, search);
    forget_times(all, *count);
    search->all = all;
    int best = tune_pick(*count, sample_candidate, search);
    while (best >= 0 && !is_right(search, verification, all[best].number)) {
        all[best].seconds = NAN; /* it is left out */
        best = tune_pick(*count, sample_candidate, search);
    }
    if (best < 0) {
        end_with(STATUS_FAILED, "%s: none computes D for this shape", search->contender->title);
    }
    const ranked fastest = all[best];
    *count = ranked_sort(all, *count);
    return fastest;
}

/* Decides which of cuBLASLt's algorithms is timed beside the step. The search counts as what
 * cuBLASLt did before its first launch; without one that is not known. */
static void choose_heuristic(const workload *workload, contender *contender,
                             const verification *verification, heuristics *found) {
    const options *o = workload->options;
    const double begin = monotonic_seconds();
    second_opinion *opinion = contender->opinion;
    search search = {.workload = workload, .contender = contender};
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
    int left = count;
    ranked *all = allocate((size_t)count, sizeof *all);
    for (int i = 0; i < count; ++i) {
        all[i].number = i;
    }
    const ranked winner = find_fastest(&search, verification, all, &left);
    found->timed = count > MOST_SAMPLED ? search.ranked : count;
    found->cut = found->timed < count || opinion->count == MOST_ALGORITHMS;
    found->winner = lt_describe(opinion, winner.number);
    found->winner.seconds = winner.seconds;
    free(all);
    contender->before_seconds += monotonic_seconds() - begin;
}

/* The step's first choices, from 0 on, at most `most` of them. Returns how many. */
static int first_choices(const workload *workload, int *kernels, int most) {
    const int count = workload->step->kernels_of(&workload->shape, kernels, most);
    if (count == 0) {
        exit(output_end(STATUS_FAILED)); /* the step has printed its line */
    }
    return count;
}

/* Searches for the fastest of the step's kernels, which is timed beside its choice. */
static void choose_kernel(const workload *workload, contender *contender,
                          const verification *verification, tuning *found) {
    const int most = workload->step->kernels;
    search search = {.workload = workload, .contender = contender};
    int *kernels = allocate((size_t)most, sizeof *kernels);
    found->count = first_choices(workload, kernels, most);
    found->times = allocate((size_t)found->count, sizeof *found->times);
    for (int i = 0; i < found->count; ++i) {
        found->times[i].number = kernels[i] + 1;
    }
    find_fastest(&search, verification, found->times, &found->count);
    free(kernels);
}

/* Seconds of one launch of a candidate, as a program that tunes would sample it: without a pause,
 * over the next copies, which are prepared for it first. The very first launch loads the kernel. */
static double quick_sample(void *context, int candidate) {
    quick *quick = context;
    search *search = &quick->search;
    const bool is_first = quick->launches == 0;
    const double begin = monotonic_seconds();
    take(search, quick->kernels[candidate] + 1,
         is_first ? QUICK_MOST_LAUNCHES + QUICK_LEAST_LAUNCHES + 3 : quick->launches + 2);
    quick->ready_seconds += monotonic_seconds() - begin;
    if (!quick->loaded[candidate]) {
        quick->loaded[candidate] = launch(search, 1);
    }
    if (is_first) {
        const double each = time_launches(search, 1, QUICK_LEAST_LAUNCHES);
        const double wanted = ceil(QUICK_SECONDS / each);
        quick->launches = (size_t)fmin(fmax(wanted, QUICK_LEAST_LAUNCHES), QUICK_MOST_LAUNCHES);
    }
    return time_launches(search, 1, quick->launches);
}

/* Keeps the pick in the user's file, which programs that link the library read. */
static void keep_pick(const workload *workload, const contender *contender, tuning *found) {
    static char path[4096];
    const options *o = workload->options;
    const tune_key key = {workload->device->info.name, tune_family(workload->step), o->m, o->n,
                          o->k};
    const int status = tune_add(tune_path(path, sizeof path), &key, contender->kernel);
    found->file = status == 0 && *path != '\0' ? path : NULL;
    if (status != 0) {
        message("cannot keep kernel %d in '%s': %s; GEMM_LADDER_TUNED names another file, or none "
                "if it is empty",
                contender->kernel, path, strerror(status));
    }
}

/* Has the quick tuner pick one of the step's kernels, which is timed beside its choice. */
static void tune(const workload *workload, contender *contender, const verification *verification,
                 tuning *found) {
    quick quick = {.search = {.workload = workload, .contender = contender}};
    found->quick = first_choices(workload, quick.kernels, TUNE_CANDIDATES);
    const double begin = monotonic_seconds();
    const int best = tune_pick(found->quick, quick_sample, &quick);
    found->ready_seconds = quick.ready_seconds;
    found->quick_seconds = monotonic_seconds() - begin - quick.ready_seconds;
    if (best < 0) {
        end_with(STATUS_FAILED, "--tune: none of %d kernels could be timed", found->quick);
    }
    is_right(&quick.search, verification, quick.kernels[best] + 1);
    keep_pick(workload, contender, found);
}

/* Times, and checks what the timed launches wrote. */
void machine_measure(workload *workload, verification *verification, report *report) {
    static timing timing;
    contender *heuristic = workload_find(workload, CONTENDER_HEURISTIC);
    const options *o = workload->options;
    contender *best = workload_find(workload, CONTENDER_BEST);
    if (o->protocol == PROTOCOL_NONE) {
        return;
    }
    free(timing.tuning.times); /* of an earlier run */
    timing = (struct timing){.rounds = 0};
    if (heuristic != NULL) {
        choose_heuristic(workload, heuristic, verification, &timing.heuristics);
    }
    if (o->tune) { /* before a search loads the kernels, as a program would */
        tune(workload, workload_find(workload, CONTENDER_TUNED), verification, &timing.tuning);
    }
    if (best != NULL) {
        choose_kernel(workload, best, verification, &timing.tuning);
    }
    workload_poison(workload); /* what is found afterwards was written by a timed launch */
    timing_run(workload, &timing);
    verify_after_timing(workload, verification);
    /* The time of a wrong result is not reported. */
    report->timing = verification_right(verification, workload) ? &timing : NULL;
}
