/* The model that chooses a tile, as properties that hold whatever its constants are fitted to; a
 * few choices that are known to be right; and its own time. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/tile_choice.h"
#include "../../emulator/tests/test.h"

/* A card of each kind, as queried. */
static const tile_gpu H200 = {{0, 132, 66, 39, 30, 22, 17, 15, 15}, 1.98e9, 62914560, 2483};
static const tile_gpu H100 = {{0, 132, 66, 39, 30, 22, 17, 15, 15}, 1.98e9, 52428800, 1693};
enum { FORMS = TILE_GATHERED + 1 };

enum place {
    TALL,
    WIDE,
    TURNS,
    SQUARE,
    NARROW,
    PAIR_ABOVE,
    PAIR_BESIDE,
    FOUR_BESIDE,
    EIGHT,
    FEW_ROWS,
    FEW_ROWS_16,
    SMALL,
    KERNELS
};

static const tile_kernel FAMILY[KERNELS] = {
    [TALL] = {256, 200, 2, 1, false, 3, 1, 1, false},
    [WIDE] = {128, 256, 2, 1, false, 4, 1, 1, false},
    [TURNS] = {128, 200, 2, 2, false, 4, 1, 1, false},
    [SQUARE] = {128, 128, 2, 2, false, 6, 1, 1, false},
    [NARROW] = {128, 64, 2, 1, false, 8, 1, 1, false},
    [PAIR_ABOVE] = {256, 200, 2, 1, false, 3, 2, 1, false},
    [PAIR_BESIDE] = {192, 192, 2, 1, true, 4, 1, 2, false},
    [FOUR_BESIDE] = {64, 80, 2, 2, false, 11, 1, 4, true},
    [EIGHT] = {128, 160, 2, 2, false, 5, 4, 2, false},
    [FEW_ROWS] = {64, 8, 1, 1, false, 16, 1, 1, true},
    [FEW_ROWS_16] = {64, 16, 1, 1, false, 16, 1, 1, true},
    [SMALL] = {64, 64, 1, 1, false, 12, 1, 1, false},
};

static const tile_shape SHAPES[] = {
    {8192, 8192, 8192},   {4096, 4096, 4096}, {512, 512, 512},     {1, 8192, 8192},
    {16, 4096, 14336},    {128, 4736, 15296}, {5979, 14168, 3176}, {12282, 1512, 168},
    {4224, 640, 13056},   {7, 9, 5},          {1, 1, 1},           {81920, 256, 256},
    {131072, 131072, 64}, {640, 384, 2124},   {16384, 4096, 256},  {1 << 30, 8, 8},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static tile_plan plan_of(enum place place, tile_shape shape, const tile_gpu *gpu,
                         enum tile_form form) {
    tile_plan plan = {.kernel = (int)place,
                      .pitch = shape.k % 8 == 0 ? shape.k : tile_copied_pitch(shape.k)};
    tile_make_plan(&plan, &FAMILY[place], &shape, gpu, &TILE_CONSTANTS, form);
    return plan;
}

static double cycles_of(enum place place, tile_shape shape) {
    return plan_of(place, shape, &H200, TILE_WHOLE).cost.cycles;
}

/* The best plan over the family. */
static tile_plan best_of(tile_shape shape, const tile_gpu *gpu) {
    tile_plan plan;
    tile_choose(&plan, 1, FAMILY, KERNELS, FORMS, 0, &shape, gpu, &TILE_CONSTANTS);
    return plan;
}

/* ---- every plan */

/* Calls the function with each kernel's plans of all forms, for all shapes on both cards. */
static void each_plan(void (*see)(const tile_plan *, const tile_shape *, const tile_gpu *)) {
    const tile_gpu *const gpus[] = {&H200, &H100};
    for (int i = 0; i < SHAPE_COUNT * KERNELS * FORMS * 2; ++i) {
        const tile_shape *shape = &SHAPES[i / KERNELS / FORMS / 2];
        const tile_gpu *gpu = gpus[i % 2];
        const tile_plan plan = plan_of((enum place)(i / FORMS / 2 % KERNELS), *shape, gpu,
                                       (enum tile_form)(i / 2 % FORMS));
        see(&plan, shape, gpu);
    }
}

static void see_cost(const tile_plan *plan, const tile_shape *shape, const tile_gpu *gpu) {
    const tile_cost *cost = &plan->cost;
    const double parts[] = {cost->start, cost->multiply, cost->loads, cost->pitch, cost->end,
                            cost->idle,  cost->cut,      cost->copy,  cost->dram,  cost->clock};
    double sum = 0;
    (void)gpu;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        EXPECT(parts[i] >= -1e-6 * cost->cycles, "part %zu is %g, kernel %d, %dx%dx%d", i, parts[i],
               plan->kernel, shape->m, shape->n, shape->k);
        sum += parts[i];
    }
    EXPECT(isfinite(sum) && fabs(sum - cost->cycles) <= 1e-9 * sum, "%g, not %g", sum,
           cost->cycles);
    EXPECT((cost->cut > 0) == (plan->form != TILE_WHOLE), "form %d", (int)plan->form);
    EXPECT((cost->pitch > 0) == (plan->pitch % 64 > 0), "pitch %d", plan->pitch);
    EXPECT((cost->copy > 0) == (shape->k % 8 > 0), "k %d", shape->k);
}

static void costs_add_up(void) { each_plan(see_cost); }

/* A launch does all of the work: tiles of whole waves, and parts of the others. */
static void see_workers(const tile_plan *plan, const tile_shape *shape, const tile_gpu *gpu) {
    const tile_kernel *kernel = &FAMILY[plan->kernel];
    const int most = gpu->clusters[tile_cluster(kernel)];
    const double area = (double)kernel->rows * kernel->columns * tile_cluster(kernel);
    const int left = plan->tiles - plan->waves * plan->workers;
    EXPECT(plan->workers >= 1 && plan->workers <= most, "%d workers", plan->workers);
    EXPECT(plan->tiles * area >= (double)shape->m * shape->n, "%d tiles", plan->tiles);
    if (plan->form == TILE_GATHERED) {
        EXPECT(plan->parts > 1 && plan->workers == plan->tiles * plan->parts, "%d workers",
               plan->workers);
        EXPECT(plan->tiles <= gpu->clusters[plan->parts], "%d clusters of %d", plan->tiles,
               plan->parts);
    } else if (plan->form == TILE_WHOLE) {
        EXPECT(left <= 0 && left + plan->workers > 0, "%d tiles, %d waves of %d", plan->tiles,
               plan->waves, plan->workers);
    } else {
        const long long k_tiles = (long long)left * tile_pieces(shape->k, TILE_K);
        EXPECT(left > 0 && left < most, "%d tiles are left", left);
        EXPECT(k_tiles >= (long long)TILE_LEAST_K_TILES * plan->workers, "%d workers share %lld",
               plan->workers, k_tiles);
        EXPECT(plan->waves > 0 ? plan->workers == most : plan->workers > left, "%d workers",
               plan->workers);
    }
}

static void all_work_is_done(void) { each_plan(see_workers); }

static void steps_cover_clusters(void) {
    for (int i = 0; i < KERNELS; ++i) {
        tile_kernel kernel = FAMILY[i];
        for (int how = 0; how < 16; ++how) {
            kernel.above = 1 << how % 2;
            kernel.beside = 1 << how / 2 % 4;
            kernel.swapped = how / 8;
            const int along_rows = kernel.rows * kernel.above;
            const int along_columns = kernel.columns * kernel.beside;
            EXPECT(tile_step_m(&kernel) == (kernel.swapped ? along_columns : along_rows), "m %d",
                   how);
            EXPECT(tile_step_n(&kernel) == (kernel.swapped ? along_rows : along_columns), "n %d",
                   how);
        }
    }
}

static void groups(void) {
    static const struct {
        enum place place;
        tile_shape shape;
        enum tile_form form;
        int workers;
        int group;
    } rows[] = {
        {SMALL, {64 * 8, 64 * 3, 512}, TILE_WHOLE, 24, 1},     /* fewer than 4 columns of tiles */
        {SMALL, {64 * 8, 64 * 8, 512}, TILE_WHOLE, 64, 4},     /* all rows are one wave */
        {SMALL, {64 * 40, 64 * 8, 512}, TILE_CUT, 128, 4},     /* any 16 rows are */
        {SMALL, {64 * 40, 64 * 8, 512}, TILE_WHOLE, 127, 8},   /* they are more: square */
        {SMALL, {64 * 7, 64 * 3, 512}, TILE_WHOLE, 21, 4},     /* fewer than 8 rows */
        {SMALL, {64 * 8, 64 * 3, 512}, TILE_GATHERED, 132, 8}, /* parts */
        {SMALL, {64 * 2, 64 * 2, 512}, TILE_WHOLE, 4, 1},      /* a square of less than 4 */
        {FEW_ROWS, {8, 64 * 8, 512}, TILE_WHOLE, 8, 1},        /* exchanged: 8 rows, one column */
        {PAIR_BESIDE, {192 * 8, 192 * 6, 512}, TILE_WHOLE, 24, 4}, /* clusters */
        {EIGHT, {512 * 16, 320 * 3, 512}, TILE_WHOLE, 48, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const tile_plan plan = {.workers = rows[i].workers, .form = rows[i].form};
        const int group = tile_group(&FAMILY[rows[i].place], &rows[i].shape, &plan);
        EXPECT(group == rows[i].group, "row %zu: %d, not %d", i, group, rows[i].group);
    }
}

/* ---- what costs more */

static void more_work_costs_more(void) {
    for (int i = 0; i < KERNELS; ++i) {
        double before = 0;
        for (int k = 64; k <= 16384; k += 64) {
            const double cycles = cycles_of((enum place)i, (tile_shape){2048, 4096, k});
            EXPECT(cycles > before, "k %d, kernel %d", k, i);
            before = cycles;
        }
        before = 0;
        for (int tiles = 1; tiles <= 400; ++tiles) {
            const int step = tile_step_m(&FAMILY[i]);
            const double cycles =
                cycles_of((enum place)i, (tile_shape){tiles * step, tile_step_n(&FAMILY[i]), 4096});
            EXPECT(cycles >= before, "%d tiles, kernel %d", tiles, i);
            before = cycles;
        }
    }
}

/* One tile more than a wave takes costs nearly a wave. */
static void waves_are_steps(void) {
    const double full = cycles_of(WIDE, (tile_shape){128 * 132, 256, 4096});
    const double more = cycles_of(WIDE, (tile_shape){128 * 133, 256, 4096});
    const double twice = cycles_of(WIDE, (tile_shape){128 * 264, 256, 4096});
    /* One tile in 132 more, but a second wave; its workers are half as many, so each is faster. */
    EXPECT(more > 1.5 * full, "%g after %g", more, full);
    EXPECT(twice < 1.25 * more, "%g after %g", twice, more);
    EXPECT(plan_of(WIDE, (tile_shape){128 * 133, 256, 4096}, &H200, TILE_WHOLE).workers == 67,
           "the fewest workers that need two waves");
}

static void pitch_and_copies(void) {
    tile_shape shape = {4096, 4096, 4096};
    const double aligned = cycles_of(WIDE, shape) / 4096;
    shape.k = 4096 + 32;
    const double sectors = cycles_of(WIDE, shape) / shape.k;
    shape.k = 4096 + 8;
    const double ragged = cycles_of(WIDE, shape) / shape.k;
    EXPECT(aligned < sectors && sectors < ragged, "%g, %g, %g a column", aligned, sectors, ragged);
    EXPECT(cycles_of(PAIR_ABOVE, shape) < cycles_of(TALL, shape), "pairs request less");
    const tile_plan plan = best_of((tile_shape){4096, 4096, 4095}, &H200);
    EXPECT(plan.pitch == 4096 && plan.cost.copy > 0 && plan.cost.pitch == 0, "pitch %d",
           plan.pitch);
    EXPECT(best_of((tile_shape){4096, 4096, 4096}, &H200).pitch == 4096, "copied for nothing");
}

/* The card with half of the bandwidth needs more time for a product that DRAM limits. */
static void dram_limits(void) {
    const tile_shape shape = {16, 8192, 8192};
    const tile_plan fast = plan_of(FEW_ROWS_16, shape, &H200, TILE_WHOLE);
    const tile_plan slow = plan_of(FEW_ROWS_16, shape, &H100, TILE_WHOLE);
    EXPECT(slow.cost.cycles > 1.2 * fast.cost.cycles, "%g and %g", slow.cost.cycles,
           fast.cost.cycles);
    EXPECT(strcmp(tile_largest(&slow.cost), "DRAM") == 0 ||
               strcmp(tile_largest(&slow.cost), "loads") == 0,
           "%s", tile_largest(&slow.cost));
}

/* ---- choices */

static void choices(void) {
    const tile_shape large = {8192, 8192, 8192};
    const tile_shape waves = {128 * 12, 256 * 11, 4096}; /* one of 128 x 256, exactly */
    tile_plan plan = best_of((tile_shape){1, 8192, 8192}, &H200);
    EXPECT(plan.kernel == FEW_ROWS, "one row: kernel %d", plan.kernel);
    plan = best_of((tile_shape){16, 8192, 8192}, &H200);
    EXPECT(FAMILY[plan.kernel].swapped, "16 rows: kernel %d", plan.kernel);
    plan = best_of((tile_shape){128, 128, 16384}, &H200);
    EXPECT(plan.form != TILE_WHOLE, "few tiles and long k");
    plan = best_of((tile_shape){4096, 4096, 256}, &H200);
    EXPECT(plan.form == TILE_WHOLE, "short k");
    plan = best_of(large, &H200);
    EXPECT(plan.kernel == TALL || plan.kernel == PAIR_ABOVE || plan.kernel == PAIR_BESIDE,
           "8192: kernel %d", plan.kernel);
    EXPECT(cycles_of(TALL, large) < cycles_of(WIDE, large), "8192: tall before wide");
    EXPECT(cycles_of(WIDE, waves) < cycles_of(TALL, waves), "one wave: wide before tall");
    plan = best_of((tile_shape){512, 512, 512}, &H200);
    EXPECT(plan.tiles > 16, "512: %d tiles", plan.tiles);
}

/* The best plans come in their order, and they are the best. */
static void ranks(void) {
    tile_plan five[5];
    tile_plan all[FORMS * KERNELS];
    for (int i = 0; i < SHAPE_COUNT; ++i) {
        const int count = tile_choose(all, FORMS * KERNELS, FAMILY, KERNELS, FORMS, 0, &SHAPES[i],
                                      &H200, &TILE_CONSTANTS);
        EXPECT(count >= KERNELS && count <= FORMS * KERNELS, "%d plans", count);
        EXPECT(tile_choose(five, 5, FAMILY, KERNELS, FORMS, 0, &SHAPES[i], &H200,
                           &TILE_CONSTANTS) == 5,
               "not five");
        for (int j = 1; j < count; ++j) {
            EXPECT(all[j].cost.cycles >= all[j - 1].cost.cycles, "out of order: %d", j);
            EXPECT(j >= 5 || memcmp(&all[j].cost, &five[j].cost, sizeof five[j].cost) == 0,
                   "not among the five: %d", j);
        }
    }
    for (int number = 1; number <= FORMS * KERNELS; ++number) {
        const tile_shape long_k = {64, 64, 8192}; /* few tiles: all of them can be cut */
        EXPECT(tile_choose(five, 5, FAMILY, KERNELS, FORMS, number, &long_k, &H200,
                           &TILE_CONSTANTS) == 1,
               "number %d", number);
        const enum tile_form form = (enum tile_form)((number - 1) % FORMS);
        const tile_kernel *kernel = &FAMILY[(number - 1) / FORMS];
        const bool gathers = tile_cluster(kernel) <= TILE_MOST_CLUSTER / 2 && kernel->turns == 1 &&
                             kernel->rows < 256;
        EXPECT(five[0].form == (form == TILE_GATHERED && !gathers ? TILE_WHOLE : form),
               "number %d: form %d", number, (int)five[0].form);
        EXPECT(five[0].number == (number - 1) / FORMS * FORMS + (int)five[0].form + 1,
               "number %d: %d", number, five[0].number);
        EXPECT(tile_choose(five, 1, FAMILY, KERNELS, FORMS, number, &SHAPES[9], &H200,
                           &TILE_CONSTANTS) == 1 &&
                   five[0].form == TILE_WHOLE && five[0].pitch == 64,
               "a short k, number %d", number);
    }
    EXPECT(tile_choose(five, 5, FAMILY, 1, FORMS, 0, &SHAPES[0], &H200, &TILE_CONSTANTS) <= 2,
           "256 x 200 can't be gathered");
    EXPECT(tile_choose(all, FORMS * KERNELS, FAMILY, KERNELS, 1, 0, &SHAPES[4], &H200,
                       &TILE_CONSTANTS) == KERNELS &&
               all[0].form == TILE_WHOLE,
           "kernels that do not cut");
    tile_gpu small = H200; /* a slice of a GPU, on which clusters of eight don't fit */
    small.clusters[8] = 0;
    EXPECT(tile_choose(all, FORMS * KERNELS, FAMILY, KERNELS, 1, 0, &SHAPES[4], &small,
                       &TILE_CONSTANTS) == KERNELS - 1,
           "a kernel whose cluster doesn't fit");
    char said[128] = "";
    FILE *file = tmpfile();
    const int errors = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    EXPECT(tile_choose(all, 1, FAMILY, KERNELS, 1, EIGHT + 1, &SHAPES[4], &small,
                       &TILE_CONSTANTS) == 0,
           "the same, named");
    fflush(stderr);
    dup2(errors, STDERR_FILENO);
    close(errors);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    EXPECT(strcmp(said, "kernel 9 takes clusters of 8 CTAs, and none fits on this GPU\n") == 0,
           "it says: %s", said);
}

/* ---- the program that asks */

/* A hundred kernels in half of the millisecond that prepare may take, with the sanitizers of this
 * test. Of some calls the fastest counts. */
static void takes_no_time(void) {
    enum { MANY = 100, CALLS = 20, MOST_US = 500 };
    tile_kernel many[MANY];
    double least = HUGE_VAL;
    for (int i = 0; i < MANY; ++i) {
        many[i] = FAMILY[i % KERNELS];
    }
    for (int call = 0; call < CALLS; ++call) {
        struct timespec begin, end;
        tile_plan plan;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        tile_choose(&plan, 1, many, MANY, FORMS, 0, &SHAPES[call % SHAPE_COUNT], &H200,
                    &TILE_CONSTANTS);
        clock_gettime(CLOCK_MONOTONIC, &end);
        least = fmin(least, 1e6 * (double)(end.tv_sec - begin.tv_sec) +
                                1e-3 * (double)(end.tv_nsec - begin.tv_nsec));
    }
    EXPECT(least < MOST_US, "%.0f us", least);
}

static void explains(void) {
    tile_plan plans[5];
    char text[4096] = "";
    FILE *file = tmpfile();
    const int count =
        tile_choose(plans, 5, FAMILY, KERNELS, FORMS, 0, &SHAPES[0], &H200, &TILE_CONSTANTS);
    tile_explain(file, plans, count, FAMILY, &H200);
    rewind(file);
    EXPECT(fread(text, 1, sizeof text - 1, file) > 0, "nothing printed");
    fclose(file);
    EXPECT(strstr(text, "256 x 200, 3 stages, cooperative") != NULL, "%s", text);
    EXPECT(strstr(text, "last wave") != NULL && strstr(text, "clock") != NULL, "%s", text);
    int lines = 0;
    for (const char *c = text; *c != '\0'; ++c) {
        lines += *c == '\n';
    }
    EXPECT(lines == 7, "%d lines", lines);
}

int main(void) {
    run_case("costs: the parts are none below 0, and add up", costs_add_up);
    run_case("plans: all tiles and all of k are some worker's", all_work_is_done);
    run_case("plans: the steps of a cluster's tiles", steps_cover_clusters);
    run_case("plans: the height of the schedule's groups", groups);
    run_case("costs: more k and more tiles cost more", more_work_costs_more);
    run_case("costs: a wave is a step", waves_are_steps);
    run_case("costs: the pitch of rows, pairs against it, and copies", pitch_and_copies);
    run_case("costs: DRAM's rate", dram_limits);
    run_case("choices: few rows, few tiles, short k, one wave, large", choices);
    run_case("choices: the best, in their order", ranks);
    run_case("choices: a hundred kernels take half a millisecond at most", takes_no_time);
    run_case("explain: a line for each plan", explains);
    return test_result();
}
