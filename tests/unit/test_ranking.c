/* The fastest of many, by launches whose times are made up: some are slow by chance, and the clock
 * falls while launches follow each other. */
#include <math.h>
#include <signal.h>
#include <stdbool.h>

#include "harness/message.h"
#include "harness/timing.h"
#include "../../emulator/tests/test.h"

/* Of each hundred one is refused, which is never the fastest: that is an even one. */
enum { COUNT = 11448, MOST = 256, SEEDS = 20, REFUSED = 3 };

/* Each has a time of its own, from 1 on; the fastest is 1 % faster than the next. */
typedef struct field {
    uint64_t state;
    double seconds[COUNT];
    int launches;
    int launched;   /* numbers */
    int stop_after; /* by a Ctrl-C; 0: never */
} field;

static double uniform(field *field) {
    field->state = field->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(field->state >> 11) * 0x1p-53;
}

static double launch(void *context, int number, bool first) {
    field *field = context;
    field->launched += first;
    if (++field->launches == field->stop_after) {
        (void)raise(SIGINT);
    }
    const double by_chance = uniform(field) < 0.05 ? 1.3 : 1 + 0.02 * uniform(field);
    const double hot = 1 + 0.1 * (1 - exp(-field->launches / 1000.0));
    return number % 100 == REFUSED ? NAN : field->seconds[number] * by_chance * hot;
}

static int fastest(int seed) { return (97 + 577 * seed) % COUNT / 2 * 2; }

static field made;
static ranked all[COUNT];

/* Ranks the field of a seed. What is left is launched, sorted, and not refused. */
static int rank_field(int seed, int stop_after) {
    made = (field){.state = (uint64_t)seed, .stop_after = stop_after};
    for (int i = 0; i < COUNT; ++i) {
        all[i] = (ranked){.number = i, .seconds = INFINITY};
        made.seconds[i] = i == fastest(seed) ? 1 : 1.01 + uniform(&made);
    }
    const int left = rank_by_halving(all, COUNT, MOST, launch, &made);
    for (int i = 0; i < left; ++i) {
        EXPECT(isfinite(all[i].seconds) && all[i].number < made.launched, "%d", all[i].number);
        EXPECT(stop_after > 0 || i == 0 || all[i - 1].seconds <= all[i].seconds, "order: %d", i);
    }
    return left;
}

static void the_fastest_is_left(void) {
    for (int seed = 1; seed <= SEEDS; ++seed) {
        const int left = rank_field(seed, 0);
        bool found = false;
        for (int i = 0; i < left; ++i) {
            found = found || all[i].number == fastest(seed);
        }
        EXPECT(found && left == MOST, "seed %d: %d are left, and not the fastest", seed, left);
        EXPECT(made.launched == COUNT && made.launches < 3 * COUNT, "%d of %d, by %d launches",
               made.launched, COUNT, made.launches);
    }
}

static void an_interrupt_keeps_what_was_launched(void) {
    const int left = rank_field(1, COUNT / 4);
    EXPECT(made.launched == COUNT / 4 && left >= MOST, "%d of %d", left, made.launched);
}

int main(void) {
    message_prefix("ranking");
    run_case("ranking: of 11448 the fastest is left, whatever is slow by chance",
             the_fastest_is_left);
    run_case("ranking: a Ctrl-C keeps what was launched", an_interrupt_keeps_what_was_launched);
    return test_result();
}
