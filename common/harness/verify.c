#include "harness/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/check.h"
#include "harness/machine.h"

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
static void check_outputs(const workload *workload, int who, size_t count, enum check_kind kind,
                          verdict *total) {
    const rounding rounding = workload_rounding(workload, who);
    total->kind = kind;
    for (size_t i = 0; i < count; ++i) {
        const reference reference = workload_reference(workload, who, i);
        const verdict part = check_output(workload->copy[i].problem[who].d, &reference, kind,
                                          &rounding, workload->device->stream);
        verdict_merge(total, &part);
    }
}

/* All copies have the same operands: of all outputs that the step made of them, the bits must be
 * the same. Wrong outputs have been reported already and are not compared. */
static void digest_outputs(const workload *workload, size_t count, verification *verification) {
    const enum number format = workload->arithmetic.output;
    const bool computes = !workload->step->computes_nothing;
    for (size_t i = 0; computes && i < count && verification_right(verification); ++i) {
        const buffer *d = &workload->copy[i].d[CONTENDER_STEP];
        const uint64_t digest = output_digest(d->payload, format, d->bytes / number_bytes(format),
                                              workload->device->stream);
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
}

/* Only the first finding is reported. */
static void update_guards(const workload *workload, verification *verification) {
    verification->guards_intact =
        verification->guards_intact && workload_guards_intact(workload, verification->guards_text,
                                                              sizeof verification->guards_text);
}

/* NaN, launch, check what was computed; in the order of events that was chosen. */
static void try_order(const workload *workload, enum check_phase phase, size_t count,
                      contender_set contenders, enum check_kind kind, verification *verification) {
    workload_poison(workload);
    for (int who = 0; who < CONTENDERS; ++who) {
        for (size_t i = 0; i < count && has_contender(contenders, who); ++i) {
            workload_launch(workload, who, i);
        }
        /* One at a time, so that a fault is attributed to the contender that caused it. */
        device_wait(workload->device, workload->contenders.names[who]);
    }
    for (int who = 0; who < CONTENDERS; ++who) {
        if (has_contender(contenders, who) && !workload->step->computes_nothing) {
            check_outputs(workload, who, count, kind, &verification->verdicts[phase][who]);
        }
    }
    verification->made[phase] = !workload->step->computes_nothing;
    update_guards(workload, verification);
}

static void name_order(verification *verification, const char *name) {
    const size_t used = strlen(verification->orders);
    snprintf(verification->orders + used, sizeof verification->orders - used, "%s%s",
             used == 0 ? "" : ", ", name);
}

/* Whether the exact check has the inputs that are timed. */
static bool exact_on_timed(const workload *workload, const options *o,
                           const verification *verification) {
    return o->inputs == workload->arithmetic.family->exact_inputs && verification->integers.exact;
}

/* One phase on the operands that are there: the reference, then all orders of events, or the first
 * if other inputs follow. What the second opinion says does not depend on them. */
static void run_phase(const workload *workload, const options *o, enum check_phase phase,
                      size_t count, enum check_kind kind, verification *verification) {
    const bool on_timed = phase == PHASE_TIMED || exact_on_timed(workload, o, verification);
    reference_compute(&workload->reference, &workload->copy[0].problem[CONTENDER_STEP],
                      workload->device->stream);
    const size_t orders = on_timed ? machine_orders(o) : 1;
    for (size_t i = 0; i < orders && (i == 0 || verification_right(verification)); ++i) {
        const char *name = machine_choose_order(o, i);
        try_order(workload, phase, count, i == 0 ? workload->contenders.set : 1U << CONTENDER_STEP,
                  kind, verification);
        if (i == 0) {
            machine_launched(name);
        }
        if (on_timed) {
            digest_outputs(workload, count, verification);
            if (name != NULL) {
                name_order(verification, name);
            }
        }
        if (!verification_right(verification) && verification->wrong_order == NULL) {
            verification->wrong_order = name;
        }
    }
}

/* How outputs from the inputs of the options are compared. */
static enum check_kind timed_kind(const workload *workload, const options *o,
                                  const verification *verification) {
    const family *family = workload->arithmetic.family;
    return exact_on_timed(workload, o, verification) ? family->exact : family->timed;
}

void verify_before_timing(workload *workload, const options *o, verification *verification) {
    const family *family = workload->arithmetic.family;
    const size_t count =
        workload->copies < COPIES_CHECKED_FIRST ? workload->copies : COPIES_CHECKED_FIRST;
    *verification = (struct verification){
        .contenders = workload->contenders.set,
        .guards_intact = true,
        .integers = arithmetic_integers(&workload->arithmetic, o->k, o->alpha, o->beta)};
    const integers *integers = &verification->integers;
    if (exact_on_timed(workload, o, verification)) {
        workload_fill(workload, workload->copies, o, o->inputs, integers);
        run_phase(workload, o, PHASE_EXACT, count, family->exact, verification);
        return;
    }
    if (integers->exact) {
        workload_fill(workload, 1, o, family->exact_inputs, integers);
        run_phase(workload, o, PHASE_EXACT, 1, family->exact, verification);
    }
    workload_fill(workload, workload->copies, o, o->inputs, integers);
    run_phase(workload, o, PHASE_TIMED, count, family->timed, verification);
}

bool verify_launch(const workload *workload, const options *o, int who,
                   const verification *verification) {
    verdict found = {.checked = 0};
    buffer_poison(&workload->copy[0].d[who], workload->device->stream);
    workload_launch(workload, who, 0);
    device_wait(workload->device, workload->contenders.names[who]);
    check_outputs(workload, who, 1, timed_kind(workload, o, verification), &found);
    return verdict_right(&found);
}

void verify_after_timing(const workload *workload, const options *o, const timing *timing,
                         verification *verification) {
    const enum check_kind kind = timed_kind(workload, o, verification);
    for (int who = 0; who < CONTENDERS; ++who) {
        const size_t launches = timing->samples[who].launches;
        const size_t written = launches < workload->copies ? launches : workload->copies;
        if (has_contender(verification->contenders, who) && !workload->step->computes_nothing) {
            check_outputs(workload, who, written, kind,
                          &verification->verdicts[PHASE_AFTER_TIMING][who]);
        }
    }
    verification->made[PHASE_AFTER_TIMING] = !workload->step->computes_nothing;
    const size_t of_step = timing->samples[CONTENDER_STEP].launches;
    digest_outputs(workload, of_step < workload->copies ? of_step : workload->copies, verification);
    update_guards(workload, verification);
}
