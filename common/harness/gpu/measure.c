/* What a GPU measures: times. */
#include <math.h>
#include <stdlib.h>

#include "harness/arithmetic.h"
#include "harness/exit_status.h"
#include "harness/gpu/cublas.h"
#include "harness/machine.h"
#include "harness/message.h"
#include "harness/shape.h"
#include "harness/timing.h"

bool machine_traces(void) { return false; }

static work work_of(const workload *workload, const options *o) {
    const arithmetic *arithmetic = &workload->arithmetic;
    return arithmetic->moves ? (work){.bytes = arithmetic_moved_bytes(arithmetic, o->m, o->n)}
                             : (work){.flop = shape_flop(o->m, o->n, o->k),
                                      .on_cuda_cores = workload->step->on_cuda_cores};
}

/* Decides which of cuBLASLt's algorithms is timed beside the step, if one is. */
static int choose_heuristic(const workload *workload, const options *o, heuristics *found) {
    if (!has_contender(workload->contender_set, CONTENDER_HEURISTIC)) {
        return 0;
    }
    second_opinion *cublas = workload->second_opinion[CONTENDER_HEURISTIC];
    if (o->algorithm != NULL) {
        return cublas_take(cublas, &workload->copy[0].problem[CONTENDER_HEURISTIC], o->algorithm,
                           found);
    }
    const problem **problems = malloc(workload->copies * sizeof *problems);
    if (problems == NULL) {
        message("no memory for a list of %zu copies", workload->copies);
        return 1;
    }
    for (size_t i = 0; i < workload->copies; ++i) {
        problems[i] = &workload->copy[i].problem[CONTENDER_HEURISTIC];
    }
    const int failed =
        cublas_search(cublas, problems, workload->copies, o->heuristics, o->enumerates, found);
    free(problems);
    return failed;
}

/* The search counts as what cuBLASLt did before its first launch; without one that is not known. */
static int prepare_heuristic(workload *workload, const options *o, timing *timing) {
    const double begin = monotonic_seconds();
    const int failed = choose_heuristic(workload, o, &timing->heuristics);
    for (int i = 0; i < CONTENDERS; ++i) {
        timing->before_seconds[i] = workload->before_seconds[i];
    }
    timing->before_seconds[CONTENDER_HEURISTIC] +=
        o->algorithm != NULL ? NAN : monotonic_seconds() - begin;
    return failed;
}

/* Times, and checks what the timed launches wrote. */
static int time_and_verify(workload *workload, const options *o, timing *timing,
                           verification *verification) {
    /* What is found in a buffer afterwards was written by a timed launch. */
    if (prepare_heuristic(workload, o, timing) != 0 || workload_poison(workload) != 0 ||
        timing_run(workload->device, o, workload->copies, work_of(workload, o),
                   workload->contenders, workload->contender_set, timing) != 0 ||
        verify_after_timing(workload, o, timing, verification) != 0) {
        return STATUS_FAILED;
    }
    return verification_right(verification) ? STATUS_VERIFIED : STATUS_FAILED;
}

int machine_measure(workload *workload, const options *options, verification *verification,
                    report *report) {
    if (options->protocol == PROTOCOL_NONE) {
        return STATUS_VERIFIED;
    }
    timing *timing = calloc(1, sizeof *timing);
    if (timing == NULL) {
        message("no memory for the times");
        return STATUS_FAILED;
    }
    const int status = time_and_verify(workload, options, timing, verification);
    if (status == STATUS_VERIFIED) {
        report->timing = timing;
    } else {
        timing_free(timing); /* the time of a wrong result is not reported */
        free(timing);
    }
    return status;
}

void machine_forget(report *report) {
    if (report->timing != NULL) {
        timing_free(report->timing);
        free(report->timing);
        report->timing = NULL;
    }
}
