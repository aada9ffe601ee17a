/* What a GPU measures: times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/arithmetic.h"
#include "harness/gpu/cublas.h"
#include "harness/machine.h"
#include "harness/message.h"
#include "harness/timing.h"

bool machine_traces(void) { return false; }
void machine_launched(const char *order) { (void)order; }

static work work_of(const workload *workload, const options *o) {
    const arithmetic *arithmetic = &workload->arithmetic;
    return arithmetic->moves ? (work){.bytes = arithmetic_moved_bytes(arithmetic, o->m, o->n)}
                             : (work){.flop = shape_flop(o->m, o->n, o->k),
                                      .on_cuda_cores = workload->step->on_cuda_cores,
                                      .fp16_sums = arithmetic->fp16_sums,
                                      .of_8_bits = arithmetic->operands == NUMBER_E4M3};
}

/* The fastest of the finalists is what is timed beside the step, if its output is right: that of
 * each is checked as every contender's. */
static void choose_winner(const workload *workload, const options *o,
                          const verification *verification, lt_matmul *matmul, heuristics *found) {
    const heuristic *winner = NULL;
    for (int i = 0; i < found->finalists; ++i) {
        const heuristic *finalist = &found->tried[i];
        lt_matmul_choose(matmul, finalist);
        if (!verify_launch(workload, o, CONTENDER_HEURISTIC, verification)) {
            message("cuBLASLt's algorithm %d, %s, is left out: its output is wrong",
                    finalist->number, finalist->name);
        } else if (winner == NULL || finalist->seconds < winner->seconds) {
            winner = finalist;
        }
    }
    if (winner == NULL) {
        end_with(STATUS_FAILED, "none of cuBLASLt's %d fastest algorithms computes the right D",
                 found->finalists);
    }
    found->winner = *winner;
    lt_matmul_choose(matmul, winner);
}

/* Decides which of cuBLASLt's algorithms is timed beside the step. */
static void choose_heuristic(const workload *workload, const options *o,
                             const verification *verification, heuristics *found) {
    lt_matmul *matmul = cublas_matmul(workload->second_opinion[CONTENDER_HEURISTIC]);
    const problem **problems = allocate(workload->copies, sizeof *problems);
    for (size_t i = 0; i < workload->copies; ++i) {
        problems[i] = &workload->copy[i].problem[CONTENDER_HEURISTIC];
    }
    if (o->algorithm != NULL) {
        lt_matmul_take(matmul, problems[0], o->algorithm, found);
    } else {
        lt_matmul_search(matmul, problems, workload->copies, o->heuristics, o->enumerates, found);
        choose_winner(workload, o, verification, matmul, found);
    }
    free(problems);
}

/* Of an earlier run in this process. */
static void forget(timing *timing) {
    for (int i = 0; i < CONTENDERS * MEASURES; ++i) {
        free(timing->samples[i / MEASURES].of[i % MEASURES]);
    }
    memset(timing, 0, sizeof *timing);
}

/* Times, and checks what the timed launches wrote. */
void machine_measure(workload *workload, const options *options, verification *verification,
                     report *report) {
    static timing timing; /* too large for the stack */
    if (options->protocol == PROTOCOL_NONE) {
        return;
    }
    forget(&timing);
    memcpy(timing.before_seconds, workload->before_seconds, sizeof timing.before_seconds);
    if (has_contender(workload->contenders.set, CONTENDER_HEURISTIC)) {
        /* The search counts as what cuBLASLt did before its first launch; without one that is not
         * known. */
        const double begin = monotonic_seconds();
        choose_heuristic(workload, options, verification, &timing.heuristics);
        timing.before_seconds[CONTENDER_HEURISTIC] +=
            options->algorithm != NULL ? NAN : monotonic_seconds() - begin;
    }
    workload_poison(workload); /* what is found afterwards was written by a timed launch */
    timing_run(workload->device, options, workload->copies, work_of(workload, options),
               &workload->contenders, &timing);
    verify_after_timing(workload, options, &timing, verification);
    /* The time of a wrong result is not reported. */
    report->timing = verification_right(verification) ? &timing : NULL;
}
