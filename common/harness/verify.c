#include "harness/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/machine.h"

/* Copies that are checked before timing; those that timing writes are checked afterwards. */
enum { COPIES_CHECKED_FIRST = 2 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

bool verification_right(const verification *verification, const workload *workload) {
    bool right = verification->guards_intact && verification->unlike[0] == '\0';
    for (int phase = 0; phase < PHASES; ++phase) {
        for (int who = 0; who < workload->contenders && verification->made[phase]; ++who) {
            right = right && verdict_right(&workload->contender[who].verdicts[phase]);
        }
    }
    return right;
}

/* Whether the inputs of the phase are those that are timed. */
static bool on_timed(const verification *verification, enum check_phase phase) {
    return phase != PHASE_EXACT || verification->timed_is_exact;
}

/* All copies have the same operands: of all outputs that the step made of them, the bits must be
 * the same. */
static void compare_digest(verification *verification, size_t copy, uint64_t digest) {
    if (!verification->digested) {
        verification->digest = digest;
        verification->digested = true;
    } else if (digest != verification->digest && verification->unlike[0] == '\0') {
        snprintf(verification->unlike, sizeof verification->unlike,
                 "two launches on the same inputs gave different bits: digests 0x%016" PRIx64
                 " and, in copy %zu, 0x%016" PRIx64,
                 verification->digest, copy, digest);
    }
}

/* Checks the outputs of one contender in the first count copies, and adds what it finds. */
static void check_outputs(const workload *workload, contender *contender, size_t count,
                          enum check_phase phase, verification *verification) {
    const bool exact = phase == PHASE_EXACT || verification->timed_is_exact;
    for (size_t i = 0; i < count; ++i) {
        const verdict part = workload_check(workload, contender, i, exact);
        verdict_merge(&contender->verdicts[phase], &part);
        if (contender == workload->contender && verdict_right(&part) &&
            on_timed(verification, phase)) {
            compare_digest(verification, i, part.digest);
        }
    }
    verification->made[phase] = true;
}

/* Only the first finding is reported. */
static void update_guards(const workload *workload, verification *verification) {
    verification->guards_intact =
        verification->guards_intact && workload_guards_intact(workload, verification->guards_text,
                                                              sizeof verification->guards_text);
}

/* Launches a contender on the first count copies. */
static void launch(const workload *workload, const contender *contender, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        contender->launch(contender, i);
    }
    device_wait(workload->device, contender->title);
}

/* NaN, launch, check what was computed; in the order of events that was chosen. */
static void try_order(const workload *workload, enum check_phase phase, size_t count,
                      int contenders, verification *verification) {
    workload_poison(workload);
    for (int who = 0; who < contenders; ++who) {
        /* One at a time, so that a fault is attributed to the contender that caused it. */
        launch(workload, &workload->contender[who], count);
    }
    for (int who = 0; who < contenders && !workload->step->computes_nothing; ++who) {
        check_outputs(workload, &workload->contender[who], count, phase, verification);
    }
    update_guards(workload, verification);
}

/* One phase on the operands that are there: the reference, then all orders of events, or the first
 * if other inputs follow. What the second opinion says does not depend on them. */
static void run_phase(const workload *workload, enum check_phase phase, size_t count,
                      verification *verification) {
    const options *o = workload->options;
    const bool timed = on_timed(verification, phase);
    const size_t orders = timed ? machine_orders(o) : 1;
    char *names = verification->orders;
    bool right = true;
    reference_compute(&workload->reference, &workload->share[0].problem, workload->device->stream);
    for (size_t i = 0; i < orders && right; ++i) {
        const char *name = machine_choose_order(o, i);
        try_order(workload, phase, count, i == 0 ? workload->contenders : 1, verification);
        if (i == 0) {
            machine_launched(name);
        }
        if (timed && name != NULL) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof verification->orders - used, "%s%s",
                     used == 0 ? "" : ", ", name);
        }
        right = verification_right(verification, workload);
        if (!right && verification->wrong_order == NULL) {
            verification->wrong_order = name;
        }
    }
}

void verify_before_timing(workload *workload, verification *verification) {
    const options *o = workload->options;
    const arithmetic *is = &workload->arithmetic;
    const enum inputs exact = is->moves ? INPUTS_BITS : INPUTS_INTEGERS;
    const integers integers = arithmetic_integers(is, o->k, o->alpha, o->beta);
    *verification = (struct verification){.guards_intact = true,
                                          .timed_is_exact = o->inputs == exact && integers.exact};
    if (integers.exact && !verification->timed_is_exact) {
        workload_fill(workload, 1, exact, &integers);
        run_phase(workload, PHASE_EXACT, 1, verification);
    }
    workload_fill(workload, workload->copies, o->inputs, &integers);
    run_phase(workload, verification->timed_is_exact ? PHASE_EXACT : PHASE_TIMED,
              smaller(workload->copies, COPIES_CHECKED_FIRST), verification);
}

bool verify_launch(const workload *workload, const contender *contender,
                   const verification *verification) {
    buffer_poison(&workload_share(workload, contender, 0)->d, workload->device->stream);
    launch(workload, contender, 1);
    const verdict found = workload_check(workload, contender, 0, verification->timed_is_exact);
    return verdict_right(&found);
}

void verify_after_timing(const workload *workload, verification *verification) {
    const bool computes = !workload->step->computes_nothing;
    for (int who = 0; who < workload->contenders && computes; ++who) {
        contender *contender = &workload->contender[who];
        check_outputs(workload, contender, smaller(contender->launches, workload->copies),
                      PHASE_AFTER_TIMING, verification);
    }
    update_guards(workload, verification);
}
