/* A GPU: one order of events, its own. */
#include "harness/machine.h"

#include "harness/arithmetic.h"

enum { DEFAULT_SIZE = 8192, DEFAULT_MOVED_SIZE = 32768 };

option_rules machine_option_rules(const step *step) {
    const arithmetic arithmetic = arithmetic_of(step);
    if (arithmetic.moves) {
        return (option_rules){.m = DEFAULT_MOVED_SIZE,
                              .n = DEFAULT_MOVED_SIZE,
                              .moves = true,
                              .traces = machine_traces()};
    }
    return (option_rules){.m = DEFAULT_SIZE,
                          .n = DEFAULT_SIZE,
                          .k = DEFAULT_SIZE,
                          .takes_scalars = arithmetic.takes_c,
                          .traces = machine_traces()};
}

size_t machine_orders(const options *options) {
    (void)options;
    return 1;
}

const char *machine_choose_order(const options *options, size_t order) {
    (void)options;
    (void)order;
    return NULL;
}

void machine_watch_output(const void *d, size_t bytes) {
    (void)d;
    (void)bytes;
}

size_t machine_trials(const step *step, int sms, const options *options,
                      struct options trials[MOST_TRIALS]) {
    (void)step;
    (void)sms;
    (void)options;
    (void)trials;
    return 0;
}
