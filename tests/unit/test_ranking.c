/* The fastest of many, by launches whose times are made up: some are slow by chance, and the clock
 * falls while launches follow each other. */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/message.h"
#include "harness/ranking.h"
#include "../../emulator/tests/test.h"

enum { COUNT = 11448, MOST = 256, SEEDS = 20, REFUSED = 3 };

/* Each has a time of its own, from 1 on; the fastest is 1 % faster than the next. */
typedef struct field {
    uint64_t state;
    double seconds[COUNT];
    int launches;
    int stop_after; /* by a Ctrl-C; 0: never */
} field;

static double uniform(field *field) {
    field->state = field->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(field->state >> 11) * 0x1p-53;
}

static double launch(void *context, int number, bool first) {
    field *field = context;
    (void)first;
    if (++field->launches == field->stop_after) {
        (void)raise(SIGINT);
    }
    const double by_chance = uniform(field) < 0.05 ? 1.3 : 1 + 0.02 * uniform(field);
    const double hot = 1 + 0.1 * (1 - exp(-field->launches / 1000.0));
    return number % 100 == REFUSED ? NAN : field->seconds[number] * by_chance * hot;
}

static int fastest(int seed) { return (97 + 577 * seed) % COUNT / 2 * 2; }

/* Ranks a field. Returns how many are left. */
static int rank_field(field *field, int seed, int stop_after, ranked all[COUNT], int *launched) {
    *field = (struct field){.state = (uint64_t)seed, .stop_after = stop_after};
    for (int i = 0; i < COUNT; ++i) {
        all[i] = (ranked){.number = i};
        field->seconds[i] = i == fastest(seed) ? 1 : 1.01 + uniform(field);
    }
    return rank_by_halving(all, COUNT, MOST, launch, field, launched);
}

static bool is_left(const ranked *all, int count, int number) {
    bool found = false;
    for (int i = 0; i < count; ++i) {
        found = found || all[i].number == number;
    }
    return found;
}

static field made;
static ranked all[COUNT];

static void the_fastest_is_left(void) {
    for (int seed = 1; seed <= SEEDS; ++seed) {
        int launched;
        const int left = rank_field(&made, seed, 0, all, &launched);
        const bool refused = fastest(seed) % 100 == REFUSED;
        EXPECT(refused || is_left(all, left, fastest(seed)), "seed %d: it is not", seed);
        EXPECT(left == MOST, "%d are left", left);
        EXPECT(launched == COUNT, "%d of %d were launched", launched, COUNT);
        EXPECT(made.launches < 3 * COUNT, "%d launches", made.launches);
        for (int i = 0; i < left; ++i) {
            EXPECT(all[i].number % 100 != REFUSED, "%d was refused", all[i].number);
        }
    }
}

static void an_interrupt_keeps_what_was_launched(void) {
    int launched;
    const int left = rank_field(&made, 1, COUNT / 4, all, &launched);
    EXPECT(launched == COUNT / 4, "%d were launched", launched);
    for (int i = 0; i < left; ++i) {
        EXPECT(all[i].seconds > 0 && all[i].number < launched, "number %d", all[i].number);
    }
    EXPECT(left >= MOST, "%d are left", left);
}

int main(void) {
    message_prefix("ranking");
    run_case("ranking: of 11448 the fastest is left, whatever is slow by chance",
             the_fastest_is_left);
    run_case("ranking: a Ctrl-C keeps what was launched", an_interrupt_keeps_what_was_launched);
    return test_result();
}
