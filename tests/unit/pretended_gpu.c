/* wrong_rung on a GPU that is only pretended: it computes as the emulator's host does, and its
 * times are made up. The name of a mistake may be that of a card. */
#include <math.h>

#include "harness/gpu/rules.c"
#include "harness/message.h"
#include "wrong_rung.c"

void machine_launched(const char *order) { (void)order; }

static const device_info CARDS[] = {
    {.name = "NVIDIA H200",
     .compute_capability = 90,
     .sms = 132,
     .memory_bytes_per_second = 5e12,
     .power_limit_watts = NAN,
     .cuda = "13.0",
     .cublas = "13.1.0"},
    {.name = "a laptop",
     .card = "0a0b0c0d",
     .driver = "580.1",
     .compute_capability = 90,
     .sms = 10,
     .power_limit_watts = 80,
     .default_power_watts = 115,
     .draws = true,
     .under_windows = true,
     .others = 2,
     .other = {"4711 python3", "12"}},
    {.compute_capability = 80, .sms = 100, .name = "NVIDIA A100"},
    {.compute_capability = 86, .sms = 100, .name = "NVIDIA GeForce RTX 3090"},
    {.compute_capability = 86, .sms = 100, .name = "NVIDIA RTX A6000"},
    {.compute_capability = 87, .sms = 100, .name = "Orin"},
    {.compute_capability = 89, .sms = 100, .name = "NVIDIA GeForce RTX 4060 Laptop"},
    {.compute_capability = 89, .sms = 100, .name = "NVIDIA L40S"},
    {.compute_capability = 120, .sms = 100, .name = "NVIDIA GeForce RTX 5090"},
};

void device_open(const step *step, int index, device *device) {
    (void)step;
    (void)index;
    device->info = CARDS[0];
    for (size_t i = 0; i < sizeof CARDS / sizeof *CARDS; ++i) {
        device->info = does(CARDS[i].name) ? CARDS[i] : device->info;
    }
}

void device_wait(const device *device, const char *what) {
    (void)device;
    (void)what;
}

size_t device_free_bytes(void) { return (size_t)1 << 30; }

/* Of each contender: the step has other times than the second opinion, and the rest is faster. */
static void make_times(const workload *workload, contender *contender) {
    static const double of_step[] = {1e-9, 2e-9, 4e-9};
    const options *o = workload->options;
    const bool drawn = o->protocol == PROTOCOL_SUSTAINED;
    for (int i = 0; i < MEASURES; ++i) {
        contender->of[i] = allocate((size_t)o->rounds, sizeof(double));
    }
    for (int i = 0; i < o->rounds; ++i) {
        contender->of[SECONDS][i] = contender->role == CONTENDER_STEP    ? of_step[i % 3]
                                    : contender->role == CONTENDER_OTHER ? 2e-9
                                                                         : 5e-10;
        contender->of[CLOCK_GHZ][i] = contender->role == CONTENDER_NARROW_SUMS ? NAN : 1.5;
        contender->of[WATTS][i] = drawn ? 650.4 : NAN;
        contender->of[JOULES][i] = drawn ? 5e-4 : NAN;
    }
}

/* What the search among kernels finds, and the quick tuner; and the search in cuBLASLt. */
static void make_findings(const workload *workload, timing *timing) {
    static ranked ranks[] = {{5e-10, 3}, {6e-10, 1}};
    const options *o = workload->options;
    contender *tuned = workload_find(workload, CONTENDER_TUNED);
    contender *best = workload_find(workload, CONTENDER_BEST);
    if (o->searches) {
        best->kernel = 3;
        timing->tuning = (tuning){.count = 2, .times = ranks};
    }
    if (o->tune) {
        tuned->kernel = 1;
        timing->tuning.quick = 8;
        timing->tuning.quick_seconds = 0.0098;
        timing->tuning.ready_seconds = 0.05;
        timing->tuning.file = "/home/u/tuned.txt";
    }
    timing->heuristics = (heuristics){
        .returned = 9,
        .enumerated = o->enumerates ? 20 : 0,
        .cut = o->enumerates,
        .timed = 2,
        .winner = {.number = 7, .name = "tile 20", .algorithm = "00ff", .seconds = 5e-10}};
}

/* Launches each contender twice, on each copy of the operands. */
void machine_measure(workload *workload, verification *verification, report *report) {
    static timing timing;
    const options *o = workload->options;
    if (o->protocol == PROTOCOL_NONE) {
        return;
    }
    timing = (struct timing){.rounds = (size_t)o->rounds,
                             .interrupted = does("interrupted"),
                             .launches = o->protocol == PROTOCOL_SUSTAINED ? 0 : 14,
                             .gated = o->protocol == PROTOCOL_BURST};
    make_findings(workload, &timing);
    workload_poison(workload);
    for (int who = 0; who < workload->contenders; ++who) {
        contender *contender = &workload->contender[who];
        make_times(workload, contender);
        contender->before_seconds = 3e-3;
        contender->launch(contender, contender->launches++);
        contender->launch(contender, contender->launches++);
    }
    if (does("a wrong rival")) {
        buffer_poison(&workload_share(workload, &workload->contender[1], 0)->d, NULL);
    }
    verify_after_timing(workload, verification);
    report->timing = verification_right(verification, workload) ? &timing : NULL;
}
