/* The model that chooses a tile: properties that hold whatever its constants are fitted to; what it
 * chooses today, and why, as golden text. */
#include "device/tile_choice.h"
#include "golden.h"

/* A card of each kind, as queried. */
static const tile_gpu H200 = {{0, 132, 66, 39, 30, 22, 17, 15, 15}, 1.98e9, 62914560, 2483};
static const tile_gpu H100 = {{0, 132, 66, 39, 30, 22, 17, 15, 15}, 1.98e9, 52428800, 1693};
enum { FORMS = TILE_GATHERED + 1 };

static const tile_kernel FAMILY[] = {
    {256, 200, 2, 1, false, 3, 1, 1, false}, {128, 256, 2, 1, false, 4, 1, 1, false},
    {128, 200, 2, 2, false, 4, 1, 1, false}, {128, 128, 2, 2, false, 6, 1, 1, false},
    {128, 64, 2, 1, false, 8, 1, 1, false},  {256, 200, 2, 1, false, 3, 2, 1, false},
    {192, 192, 2, 1, true, 4, 1, 2, false},  {64, 80, 2, 2, false, 11, 1, 4, true},
    {128, 160, 2, 2, false, 5, 4, 2, false}, {64, 8, 1, 1, false, 16, 1, 1, true},
    {64, 16, 1, 1, false, 16, 1, 1, true},   {64, 64, 1, 1, false, 12, 1, 1, false},
};
enum { KERNELS = sizeof FAMILY / sizeof *FAMILY };

static const tile_shape SHAPES[] = {
    {8192, 8192, 8192},   {4096, 4096, 4096}, {512, 512, 512},     {1, 8192, 8192},
    {16, 4096, 14336},    {128, 4736, 15296}, {5979, 14168, 3176}, {12282, 1512, 168},
    {4224, 640, 13056},   {7, 9, 5},          {1, 1, 1},           {81920, 256, 256},
    {131072, 131072, 64}, {640, 384, 2124},   {16384, 4096, 256},  {1 << 30, 8, 8},
    {4096, 4096, 4112},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static tile_plan plan_of(int kernel, tile_shape shape, const tile_gpu *gpu, enum tile_form form) {
    tile_plan plan = {.kernel = kernel,
                      .pitch = shape.k % 8 == 0 ? shape.k : tile_copied_pitch(shape.k)};
    tile_make_plan(&plan, &FAMILY[kernel], &shape, gpu, &TILE_CONSTANTS, form);
    return plan;
}

static double cycles_of(int kernel, tile_shape shape) {
    return plan_of(kernel, shape, &H200, TILE_WHOLE).cost.cycles;
}

/* ---- every plan */

/* Its parts are none below 0, and add up. */
static void expect_cost(const tile_plan *plan, const tile_shape *shape) {
    const tile_cost *cost = &plan->cost;
    const double parts[] = {cost->start, cost->multiply, cost->loads, cost->pitch, cost->end,
                            cost->idle,  cost->cut,      cost->copy,  cost->dram,  cost->clock};
    double sum = 0;
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

/* A launch does all of the work: tiles of whole waves, and parts of the others. */
static void expect_workers(const tile_plan *plan, const tile_shape *shape, const tile_gpu *gpu) {
    const tile_kernel *kernel = &FAMILY[plan->kernel];
    const int most = gpu->clusters[tile_cluster(kernel)];
    const int above = kernel->rows * kernel->above, beside = kernel->columns * kernel->beside;
    const int tiles_m = tile_pieces(shape->m, kernel->swapped ? beside : above);
    const int tiles_n = tile_pieces(shape->n, kernel->swapped ? above : beside);
    const int left = plan->tiles - plan->waves * plan->workers;
    EXPECT(plan->workers >= 1 && plan->workers <= most, "%d workers", plan->workers);
    EXPECT(plan->tiles == tiles_m * tiles_n, "%d tiles of kernel %d", plan->tiles, plan->kernel);
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

/* Of each kernel in all forms, for all shapes on both cards. */
static void every_plan(void) {
    for (int i = 0; i < SHAPE_COUNT * KERNELS * FORMS * 2; ++i) {
        const tile_shape *shape = &SHAPES[i / KERNELS / FORMS / 2];
        const tile_gpu *gpu = i % 2 == 0 ? &H200 : &H100;
        const tile_plan plan =
            plan_of(i / FORMS / 2 % KERNELS, *shape, gpu, (enum tile_form)(i / 2 % FORMS));
        expect_cost(&plan, shape);
        expect_workers(&plan, shape, gpu);
    }
}

/* ---- what costs more */

static void more_work_costs_more(void) {
    for (int i = 0; i < KERNELS; ++i) {
        const int step_m = tile_step_m(&FAMILY[i]), step_n = tile_step_n(&FAMILY[i]);
        double before[2] = {0};
        for (int times = 1; times <= 400; ++times) {
            const double of_k = cycles_of(i, (tile_shape){2048, 4096, 64 * times});
            const double of_m = cycles_of(i, (tile_shape){times * step_m, step_n, 4096});
            EXPECT(of_k > before[0], "%d k-tiles, kernel %d", times, i);
            EXPECT(of_m >= before[1], "%d tiles, kernel %d", times, i);
            before[0] = of_k;
            before[1] = of_m;
        }
    }
}

/* ---- choices */

/* Of each shape: the best plans on one card and the best on another; and the height of the
 * schedule's groups of each kernel in each form. */
static void choices(void) {
    FILE *out = golden_begin();
    for (int i = 0; i < SHAPE_COUNT; ++i) {
        tile_plan plans[3];
        fprintf(out, "\n%d x %d x %d\ngroups:", SHAPES[i].m, SHAPES[i].n, SHAPES[i].k);
        for (int j = 0; j < KERNELS * FORMS; ++j) {
            const tile_plan plan =
                plan_of(j / FORMS, SHAPES[i], &H200, (enum tile_form)(j % FORMS));
            fprintf(out, " %d", tile_group(&FAMILY[j / FORMS], &SHAPES[i], &plan));
        }
        fputc('\n', out);
        for (int j = 0; j < 2; ++j) {
            const tile_gpu *gpu = j == 0 ? &H200 : &H100;
            const int count = j == 0 ? 3 : 1;
            tile_choose(plans, count, FAMILY, KERNELS, FORMS, 0, &SHAPES[i], gpu, &TILE_CONSTANTS);
            tile_explain(out, plans, count, FAMILY, gpu);
        }
    }
    golden_end(out, "choices");
}

static int choose(tile_plan *plans, int most, int forms, int number, tile_shape shape,
                  const tile_gpu *gpu) {
    return tile_choose(plans, most, FAMILY, KERNELS, forms, number, &shape, gpu, &TILE_CONSTANTS);
}

/* The best plans come in their order, and they are the best. */
static void ranks(void) {
    tile_plan five[5], all[FORMS * KERNELS];
    for (int i = 0; i < SHAPE_COUNT; ++i) {
        const int count = choose(all, FORMS * KERNELS, FORMS, 0, SHAPES[i], &H200);
        EXPECT(count >= KERNELS && count <= FORMS * KERNELS, "%d plans", count);
        EXPECT(choose(five, 5, FORMS, 0, SHAPES[i], &H200) == 5, "not five");
        for (int j = 1; j < count; ++j) {
            EXPECT(all[j].cost.cycles >= all[j - 1].cost.cycles, "out of order: %d", j);
            EXPECT(j >= 5 || memcmp(&all[j].cost, &five[j].cost, sizeof five[j].cost) == 0,
                   "not among the five: %d", j);
        }
    }
}

/* Each kernel and form alone, where few tiles have a long k, and where k is too short to be cut;
 * and on a slice of a GPU, on which clusters of eight don't fit. */
static void numbers(void) {
    static const tile_shape shapes[] = {{64, 64, 8192}, {7, 9, 5}};
    tile_plan plans[FORMS * KERNELS];
    tile_gpu small = H200;
    FILE *errors = stderr;
    stderr = golden_begin();
    small.clusters[8] = 0;
    for (int i = 0; i < 4 * FORMS * KERNELS; ++i) {
        const tile_gpu *gpu = i % 4 < 2 ? &H200 : &small;
        const int number = i / 4 + 1;
        const bool any = choose(plans, 1, FORMS, number, shapes[i % 2], gpu) > 0;
        fprintf(stderr, "%d: %d, form %d, pitch %d\n", number, any ? plans[0].number : 0,
                any ? (int)plans[0].form : 0, any ? plans[0].pitch : 0);
    }
    fprintf(stderr, "%d of whole tiles, ", choose(plans, FORMS * KERNELS, 1, 0, SHAPES[4], &H200));
    fprintf(stderr, "%d fit\n", choose(plans, FORMS * KERNELS, 1, 0, SHAPES[4], &small));
    golden_end(stderr, "numbers");
    stderr = errors;
}

int main(void) {
    golden_open("tests/unit/test_tile_choice.txt");
    run_case("plans: costs add up; all tiles and all of k are some worker's", every_plan);
    run_case("costs: more k and more tiles cost more", more_work_costs_more);
    run_case("choices: as they were", choices);
    run_case("choices: in their order", ranks);
    run_case("choices: by their numbers, and what does not fit on the GPU", numbers);
    return test_result();
}
