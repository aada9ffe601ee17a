/* Division by multiplication, plans, and the model that chooses one: properties that hold
 * whatever its constants are fitted to. */
#include "../tools/test.h"
#include "device/tile_model.h"

/* A card of each kind, as queried. */
static const tile_gpu CARDS[] = {{{0, 132, 66, 39, 30, 22, 17, 15, 15}, 1.98e9, 62914560, 2483},
                                 {{0, 132, 66, 39, 30, 22, 17, 15, 15}, 1.98e9, 52428800, 1693}};

static const tile_kind KINDS[] = {
    {256, 200, 2, false, false, 3, 1, 1, false, false, false, 64, 200},
    {128, 256, 2, false, false, 4, 1, 1, false, true, true, 64, 64},
    {128, 200, 2, false, true, 4, 1, 2, false, false, false, 64, 200},
    {192, 176, 2, true, false, 4, 2, 1, true, true, true, 88, 64},
    {128, 96, 2, false, false, 7, 2, 2, false, true, true, 64, 32},
    {64, 80, 1, false, false, 11, 1, 4, true, true, true, 80, 64},
    {64, 8, 1, false, false, 16, 1, 1, true, true, true, 8, 64},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static const struct problem SHAPES[] = {
    {.m = 8192, .n = 8192, .k = 8192}, {.m = 512, .n = 512, .k = 512},
    {.m = 1, .n = 8192, .k = 8192},    {.m = 128, .n = 4736, .k = 15296},
    {.m = 7, .n = 9, .k = 5},          {.m = 640, .n = 384, .k = 2124},
    {.m = 1 << 30, .n = 8, .k = 8},    {.m = 4096, .n = 4096, .k = 4112},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static void divisions(void) {
    static const int numbers[] = {0, 1, 2, 63, 1 << 20, (1 << 30) - 1, 1 << 30, 0x7fffffff};
    for (long long next = 1; next < 1LL << 31; next += next / 37 + 1) {
        const int value = (int)next;
        const divisor by = divisor_of(value);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
            EXPECT(divided(numbers[i], by) == numbers[i] / value, "%d / %d", numbers[i], value);
        }
        EXPECT(divided(value - 1, by) == 0 && divided(value, by) == 1, "next to %d", value);
    }
}

/* ---- plans */

/* All tiles are some worker's, and the clusters fit. */
static void expect_plan(const tile_plan *plan, const tile_kind *kind, const problem *p,
                        const tile_gpu *gpu) {
    const int jobs = tile_jobs(plan), ctas = tile_cluster(kind, plan);
    const int down = kind->swapped ? plan->tiles_n : plan->tiles_m;
    const int across = kind->swapped ? plan->tiles_m : plan->tiles_n;
    EXPECT(down == tile_pieces(p->m, tile_rows_d(kind)), "%d rows of tiles", down);
    EXPECT(across == tile_pieces(p->n, tile_columns_d(kind)), "%d columns of tiles", across);
    EXPECT(plan->workers >= 1 && plan->workers <= gpu->clusters[ctas], "%d workers", plan->workers);
    EXPECT((long long)plan->waves * plan->workers >= jobs, "%d waves", plan->waves);
    EXPECT(plan->parts == 1 ||
               (plan->waves == 1 && (plan->apart ? kind->parts_apart : kind->gathers)),
           "%d parts", plan->parts);
    const int k_tiles = tile_pieces(p->k, TILE_K);
    EXPECT(plan->parts == 1 || k_tiles / plan->parts >= TILE_LEAST_K_TILES, "%d parts of %d",
           plan->parts, k_tiles);
}

/* Its terms are none below 0, add up, and are there where they have a reason. */
static void expect_terms(const tile_plan *plan, const tile_kind *kind, const problem *p,
                         const tile_gpu *gpu) {
    const tile_case of = {kind, plan, p, gpu, &TILE_FITTED};
    tile_terms terms;
    const double cycles = tile_cycles(&of, &terms);
    double sum = 0;
    for (int i = 0; i < TILE_TERM_COUNT; ++i) {
        const double term = ((const double *)&terms)[i];
        EXPECT(term >= -1e-6 * cycles, "%s is %g at %dx%dx%d", TILE_TERM_NAMES[i], term, p->m, p->n,
               p->k);
        sum += term;
    }
    EXPECT(isfinite(sum) && fabs(sum - cycles) <= 1e-9 * sum, "%g, not %g", sum, cycles);
    EXPECT((terms.parts > 0) == (plan->parts > 1), "%d parts", plan->parts);
    EXPECT((terms.copy > 0) == (p->k % 8 > 0), "k %d", p->k);
    EXPECT((terms.pitch > 0) == (tile_pitch(p->k) % TILE_K > 0), "k %d", p->k);
}

static void every_plan(void) {
    for (int i = 0; i < SHAPE_COUNT * KIND_COUNT * 6; ++i) {
        const tile_kind *kind = &KINDS[i / 6 % KIND_COUNT];
        const problem *p = &SHAPES[i / 6 / KIND_COUNT];
        const tile_gpu *gpu = &CARDS[i % 2];
        const tile_plan plan = tile_plan_of(kind, p, i / 2 % 3, gpu->clusters);
        expect_plan(&plan, kind, p, gpu);
        expect_terms(&plan, kind, p, gpu);
    }
}

/* Parts apart: as many as fit on the GPU at once, none too short. */
static void parts_apart(void) {
    static const struct {
        int kind, tiles, k_tiles, parts;
    } rows[] = {
        {1, 1, 1000, 132}, {1, 1, 35, 8},   {1, 2, 1000, 66}, {1, 67, 1000, 1}, {1, 66, 1000, 2},
        {1, 1, 7, 1},      {5, 4, 1000, 7}, {5, 30, 1000, 1}, {4, 15, 8, 2},    {0, 1, 1000, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const int parts = tile_parts_apart(&KINDS[rows[i].kind], rows[i].tiles, rows[i].k_tiles,
                                           CARDS[0].clusters);
        EXPECT(parts == rows[i].parts, "row %zu: %d parts", i, parts);
    }
}

/* On a slice of a GPU a cluster may not fit: its plans have no workers, and cost all there is. */
static void no_cluster(void) {
    tile_gpu slice = CARDS[0];
    slice.clusters[4] = slice.clusters[8] = 0;
    for (int i = 0; i < KIND_COUNT; ++i) {
        const tile_plan plan = tile_plan_of(&KINDS[i], &SHAPES[0], TILE_WHOLE, slice.clusters);
        const tile_case of = {&KINDS[i], &plan, &SHAPES[0], &slice, &TILE_FITTED};
        tile_terms terms;
        const bool fits = tile_ctas(&KINDS[i]) < 4;
        EXPECT((plan.workers > 0) == fits, "kind %d: %d workers", i, plan.workers);
        EXPECT(isfinite(tile_cycles(&of, &terms)) == fits, "kind %d", i);
    }
}

/* ---- what costs more */

static double cycles_of(const tile_kind *kind, int m, int n, int k, bool fitted) {
    const problem p = {.m = m, .n = n, .k = k};
    const tile_plan plan = tile_plan_of(kind, &p, TILE_WHOLE, CARDS[0].clusters);
    const tile_case of = {kind, &plan, &p, &CARDS[0], &TILE_FITTED};
    tile_terms terms;
    return fitted ? tile_cycles(&of, &terms) : tile_cost(kind, &plan, k);
}

static void more_work_costs_more(void) {
    for (int i = 0; i < 2 * KIND_COUNT; ++i) {
        const tile_kind *kind = &KINDS[i / 2];
        const int rows = tile_rows_d(kind), columns = tile_columns_d(kind);
        double before[2] = {0};
        for (int times = 1; times <= 400; ++times) {
            const double of_k = cycles_of(kind, 2048, 4096, 64 * times, i % 2);
            const double of_m = cycles_of(kind, times * rows, columns, 4096, i % 2);
            EXPECT(of_k > before[0], "%d k-tiles, kind %d", times, i / 2);
            EXPECT(of_m >= before[1], "%d tiles, kind %d", times, i / 2);
            before[0] = of_k;
            before[1] = of_m;
        }
    }
}

/* The round numbers of the upper rungs, of each kind whole and in parts. */
static void costs(void) {
    static const struct {
        int shape;
        double costs[2 * KIND_COUNT];
    } rows[] = {
        {1,
         {16000, 16000, 10240, 14812, 11100, 11100, 12060, 15228, 5340, 6492, 3778, 3778, 3533,
          3533}},
        {2,
         {208000, 208000, 133120, 54407, 107100, 107100, 138780, 78588, 101340, 101340, 135772,
          135772, 13171, 13171}},
        {5,
         {57600, 57600, 36864, 15105, 31900, 31900, 39516, 19980, 15324, 11484, 9103, 7862, 14182,
          14182}},
    };
    for (size_t i = 0; i < 2 * KIND_COUNT * sizeof rows / sizeof *rows; ++i) {
        const int form = (int)(i % (2 * KIND_COUNT));
        const tile_kind *kind = &KINDS[form / 2];
        const problem *p = &SHAPES[rows[i / (2 * KIND_COUNT)].shape];
        const tile_plan plan = tile_plan_of(kind, p, form % 2, CARDS[0].clusters);
        const double cost = tile_cost(kind, &plan, p->k);
        EXPECT(round(cost) == rows[i / (2 * KIND_COUNT)].costs[form], "m %d, kind %d: %g", p->m,
               form / 2, cost);
    }
}

/* ---- ranks */

static void ranks(void) {
    static const double costs[] = {5, 3, 9, 3, 1, 7, 2};
    static const double best[] = {1, 2, 3};
    tile_plan plans[3];
    int found = 0;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; ++i) {
        const tile_plan plan = {.kernel = (int)i, .cost = costs[i]};
        found = tile_rank(plans, found, 3, &plan);
    }
    for (int i = 0; i < 3; ++i) {
        EXPECT(found == 3 && plans[i].cost == best[i], "place %d: %g", i, plans[i].cost);
    }
    EXPECT(plans[2].kernel == 1, "of equal ones %d", plans[2].kernel);
}

int main(void) {
    run_case("division by multiplication is division", divisions);
    run_case("plans: costs add up; all tiles are some worker's", every_plan);
    run_case("plans: parts apart fill the GPU once", parts_apart);
    run_case("plans: none of clusters that don't fit", no_cluster);
    run_case("costs: more k and more tiles cost more", more_work_costs_more);
    run_case("costs: as they were", costs);
    run_case("choices: the cheapest, in their order", ranks);
    return test_result();
}
