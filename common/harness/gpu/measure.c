/* What a GPU measures: times. */
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
                             : (work){.flop = shape_flop(o->m, o->n, o->k)};
}

/* Decides which of cuBLASLt's algorithms is timed beside the step, if one is. */
static int choose_heuristic(const workload *workload, const options *o, heuristics *found) {
    if (!has_contender(workload->contender_set, CONTENDER_HEURISTIC)) {
        return 0;
    }
    second_opinion *cublas = workload->second_opinion[CONTENDER_HEURISTIC];
    if (o->takes_heuristic) {
        return cublas_take(cublas, &workload->copy[0].problem[CONTENDER_HEURISTIC], o->heuristic,
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
    const int failed = cublas_search(cublas, problems, workload->copies, o->heuristics, found);
    free(problems);
    return failed;
}

/* Times, and checks what the timed launches wrote. */
static int time_and_verify(workload *workload, const options *o, timing *timing,
                           verification *verification) {
    /* What is found in a buffer afterwards was written by a timed launch. */
    if (choose_heuristic(workload, o, &timing->heuristics) != 0 || workload_poison(workload) != 0 ||
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
