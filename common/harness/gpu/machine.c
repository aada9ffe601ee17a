/* A GPU: one order of events, its own. */
#include "harness/machine.h"

#include "harness/arithmetic.h"

enum { DEFAULT_SIZE = 8192, DEFAULT_MOVED_SIZE = 32768 };

option_rules machine_option_rules(const step *step) {
    const arithmetic arithmetic = arithmetic_of(step);
    const int size = arithmetic.moves ? DEFAULT_MOVED_SIZE : DEFAULT_SIZE;
    return (option_rules){.m = size,
                          .n = size,
                          .k = arithmetic.moves ? 0 : size,
                          .takes_scalars = arithmetic.takes_c,
                          .moves = arithmetic.moves,
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
