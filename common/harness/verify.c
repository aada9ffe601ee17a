#include "harness/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/check.h"
#include "harness/machine.h"
#include "harness/shape.h"

/* Copies that are checked before timing; those that timing writes are checked afterwards. */
enum { COPIES_CHECKED_FIRST = 2 };

bool verification_right(const verification *verification) {
    bool right = verification->guards_intact && verification->unlike[0] == '\0';
    for (int phase = 0; phase < PHASES; ++phase) {
        for (int who = 0; who < CONTENDERS && verification->made[phase]; ++who) {
            right = right && (!has_contender(verification->contenders, who) ||
                              verdict_right(&verification->verdicts[phase][who]));
        }
    }
    return right;
}

/* Checks the outputs of one contender in the first count copies, and adds what it finds. */
static int check_outputs(const workload *workload, int who, size_t count, enum check_kind kind,
                         verdict *total) {
    const rounding rounding = workload_rounding(workload, who);
    total->kind = kind;
    for (size_t i = 0; i < count; ++i) {
        const void *d = workload->copy[i].problem[who].d;
        const reference reference = workload_reference(workload, who, i);
        verdict part;
        if (check_output(d, &reference, kind, &rounding, workload->device->stream, &part) != 0) {
            return 1;
        }
        verdict_merge(total, &part);
    }
    return 0;
}

/* All copies have the same operands: of all outputs that the step made of them, the bits must be
 * the same. What is wrong has been told already, and is not looked at. */
static int digest_outputs(const workload *workload, size_t count, verification *verification) {
    const enum number format = workload->arithmetic.output;
    for (size_t i = 0; i < count && verification_right(verification); ++i) {
        const buffer *d = &workload->copy[i].d[CONTENDER_STEP];
        uint64_t digest;
        if (output_digest(d->payload, format, d->bytes / number_bytes(format),
                          workload->device->stream, &digest) != 0) {
            return 1;
        }
        if (!verification->digested) {
            verification->digest = digest;
            verification->digested = true;
        } else if (digest != verification->digest) {
            snprintf(verification->unlike, sizeof verification->unlike,
                     "two launches on the same inputs gave different bits: digests 0x%016" PRIx64
                     " and, in copy %zu, 0x%016" PRIx64,
                     verification->digest, i, digest);
        }
    }
    return 0;
}

static int update_guards(const workload *workload, verification *verification) {
    if (!verification->guards_intact) {
        return 0; /* what was found first is what is reported */
    }
    return workload_guards_intact(workload, &verification->guards_intact, verification->guards_text,
                                  sizeof verification->guards_text);
}

static int launch_all(const workload *workload, size_t count, contender_set contenders) {
    for (int who = 0; who < CONTENDERS; ++who) {
        const contender *contender = &workload->contenders[who];
        for (size_t i = 0; i < count && has_contender(contenders, who); ++i) {
            if (contender->launch(contender->context, i) != 0) {
                return 1;
            }
        }
        /* One at a time, so that a fault is blamed on who made it. */
        if (device_wait(workload->device, contender->name) != 0) {
            return 1;
        }
    }
    return 0;
}

/* NaN, launch, check; in the order of events that was chosen. */
static int try_order(workload *workload, enum check_phase phase, size_t count,
                     contender_set contenders, enum check_kind kind, verification *verification) {
    if (workload_poison(workload) != 0 || launch_all(workload, count, contenders) != 0) {
        return 1;
    }
    for (int who = 0; who < CONTENDERS; ++who) {
        if (has_contender(contenders, who) &&
            check_outputs(workload, who, count, kind, &verification->verdicts[phase][who]) != 0) {
            return 1;
        }
    }
    verification->made[phase] = true;
    return update_guards(workload, verification);
}

/* Both phases have the same orders: the first one names them. */
static void name_order(verification *verification, enum check_phase phase, const char *name) {
    const enum check_phase first = verification->integers.exact ? PHASE_EXACT : PHASE_TIMED;
    if (phase == first && name != NULL) {
        const size_t used = strlen(verification->orders);
        snprintf(verification->orders + used, sizeof verification->orders - used, "%s%s",
                 used == 0 ? "" : ", ", name);
    }
}

/* Whether the exact check has the inputs that are timed. */
static bool exact_on_timed(const workload *workload, const options *o,
                           const verification *verification) {
    return o->inputs == workload->arithmetic.family->exact_inputs && verification->integers.exact;
}

/* One phase on the operands that are there: the reference, then all orders of events. What the
 * second opinion says does not depend on them. */
static int run_phase(workload *workload, const options *o, enum check_phase phase, size_t count,
                     enum check_kind kind, verification *verification) {
    const problem *first = &workload->copy[0].problem[CONTENDER_STEP];
    if (reference_compute(&workload->reference, first, workload->device->stream) != 0) {
        return 1;
    }
    const bool on_timed = phase == PHASE_TIMED || exact_on_timed(workload, o, verification);
    for (size_t i = 0; i < machine_orders(o) && (i == 0 || verification_right(verification)); ++i) {
        const char *name = machine_choose_order(o, i);
        name_order(verification, phase, name);
        if (try_order(workload, phase, count,
                      i == 0 ? workload->contender_set : 1U << CONTENDER_STEP, kind,
                      verification) != 0 ||
            (on_timed && digest_outputs(workload, count, verification) != 0)) {
            return 1;
        }
        if (!verification_right(verification) && verification->wrong_order == NULL) {
            verification->wrong_order = name;
        }
    }
    return 0;
}

static size_t copies_checked_first(const workload *workload) {
    return workload->copies < COPIES_CHECKED_FIRST ? workload->copies : COPIES_CHECKED_FIRST;
}

/* How outputs from the inputs of the options are compared. */
static enum check_kind timed_kind(const workload *workload, const options *o,
                                  const verification *verification) {
    const family *family = workload->arithmetic.family;
    return exact_on_timed(workload, o, verification) ? family->exact : family->timed;
}

int verify_before_timing(workload *workload, const options *o, verification *verification) {
    memset(verification, 0, sizeof *verification);
    verification->contenders = workload->contender_set;
    verification->guards_intact = true;
    verification->integers = arithmetic_integers(&workload->arithmetic, o->k, o->alpha, o->beta);
    const integers *integers = &verification->integers;
    const size_t count = copies_checked_first(workload);
    const enum inputs inputs = workload->arithmetic.family->exact_inputs;
    const enum check_kind kind = workload->arithmetic.family->exact;
    if (exact_on_timed(workload, o, verification)) {
        return workload_fill(workload, workload->copies, o, inputs, integers) ||
               run_phase(workload, o, PHASE_EXACT, count, kind, verification);
    }
    if (integers->exact && (workload_fill(workload, 1, o, inputs, integers) != 0 ||
                            run_phase(workload, o, PHASE_EXACT, 1, kind, verification) != 0)) {
        return 1;
    }
    return workload_fill(workload, workload->copies, o, o->inputs, integers) ||
           run_phase(workload, o, PHASE_TIMED, count, timed_kind(workload, o, verification),
                     verification);
}

int verify_after_timing(workload *workload, const options *o, const timing *timing,
                        verification *verification) {
    const enum check_kind kind = timed_kind(workload, o, verification);
    size_t of_step = 0;
    for (int who = 0; who < CONTENDERS; ++who) {
        if (!has_contender(verification->contenders, who)) {
            continue;
        }
        const size_t launches = timing->samples[who].launches;
        const size_t written = launches < workload->copies ? launches : workload->copies;
        of_step = who == CONTENDER_STEP ? written : of_step;
        if (check_outputs(workload, who, written, kind,
                          &verification->verdicts[PHASE_AFTER_TIMING][who]) != 0) {
            return 1;
        }
    }
    verification->made[PHASE_AFTER_TIMING] = true;
    return digest_outputs(workload, of_step, verification) || update_guards(workload, verification);
}
