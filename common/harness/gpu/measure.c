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

/* The fastest of the finalists is what is timed beside the step, if its output is right: that of
 * each is checked as every contender's. */
static void choose_winner(const workload *workload, const contender *contender,
                          const verification *verification, lt_matmul *matmul, heuristics *found) {
    const heuristic *winner = NULL;
    for (int i = 0; i < found->finalists; ++i) {
        const heuristic *finalist = &found->tried[i];
        lt_matmul_choose(matmul, finalist);
        if (!verify_launch(workload, contender, verification)) {
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

/* Decides which of cuBLASLt's algorithms is timed beside the step. The search counts as what
 * cuBLASLt did before its first launch; without one that is not known. */
static void choose_heuristic(const workload *workload, contender *contender,
                             const verification *verification, heuristics *found) {
    const options *o = workload->options;
    const double begin = monotonic_seconds();
    lt_matmul *matmul = cublas_matmul(contender->opinion);
    const problem **problems = allocate(workload->copies, sizeof *problems);
    for (size_t i = 0; i < workload->copies; ++i) {
        problems[i] = &workload_share(workload, contender, i)->problem;
    }
    if (o->algorithm != NULL) {
        lt_matmul_take(matmul, problems[0], o->algorithm, found);
        contender->before_seconds = NAN;
    } else {
        lt_matmul_search(matmul, problems, workload->copies, o->heuristics, o->enumerates, found);
        choose_winner(workload, contender, verification, matmul, found);
        contender->before_seconds += monotonic_seconds() - begin;
    }
    free(problems);
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
