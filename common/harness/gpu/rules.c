/* What the command line of a GPU's program may request; and its one order of events. */
#include "harness/machine.h"

enum { DEFAULT_SIZE = 8192, DEFAULT_MOVED_SIZE = 32768 };

option_rules machine_option_rules(const step *step) {
    const arithmetic arithmetic = arithmetic_of(step);
    const int size = arithmetic.moves ? DEFAULT_MOVED_SIZE : DEFAULT_SIZE;
    return (option_rules){
        .has = HAS_DEVICES | HAS_TIMES | (arithmetic.moves ? 0 : HAS_K | HAS_CUBLASLT) |
               (arithmetic.takes_c ? HAS_SCALARS : 0) | (step->kernels > 0 ? HAS_KERNELS : 0) |
               (step->kernels_of != NULL ? HAS_RANKING : 0) |
               (step->explain != NULL ? HAS_REASONS : 0),
        .m = size,
        .n = size,
        .k = arithmetic.moves ? 0 : size,
        .kernels = step->kernels};
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
                      trial trials[MOST_TRIALS]) {
    (void)step;
    (void)sms;
    (void)options;
    (void)trials;
    return 0;
}
