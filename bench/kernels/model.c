/* The model of device/tile_choice.h as a library for bench/fit.py: the cycles of many plans by one
 * call, with constants of the caller's. */
#include "device/tile_choice.h"

/* A measured time's kernel, shape and GPU, and how the kernel was launched: by the constants that
 * the rung was built with. */
typedef struct model_point {
    int rows, columns, consumers, turns, by_columns, stages, cluster, share_columns, swapped;
    int m, n, k;
    int sms, pairs, fours;
    double l2_bytes, dram_bytes;
    int forms, cut; /* of the rung's kernels, and whether this is a number that cuts */
    int pitch;      /* set by model_plan(), and so is cut if there is nothing to cut */
} model_point;

static void plan_of(tile_plan *plan, const model_point *p, const tile_constants *c, int pitch,
                    bool cut) {
    const tile_kernel kernel = {
        p->rows,   p->columns, p->consumers,          p->turns,       p->by_columns != 0,
        p->stages, p->cluster, p->share_columns != 0, p->swapped != 0};
    const tile_shape shape = {p->m, p->n, p->k};
    const tile_gpu gpu = {p->sms, p->pairs, p->fours, 1, p->l2_bytes, p->dram_bytes};
    plan->kernel = 0;
    plan->pitch = pitch;
    tile_make_plan(plan, &kernel, &shape, &gpu, c, cut);
}

int model_constants(void);
void model_defaults(double *constants);
void model_plan(model_point *p);
void model_cycles(const double *constants, const model_point *points, int count, double *cycles);
double model_loss(const double *constants, const model_point *points, const int *starts, int shapes,
                  const double *measured, double *cycles);

/* How many constants there are, all of them double. */
int model_constants(void) { return (int)(sizeof(tile_constants) / sizeof(double)); }

void model_defaults(double *constants) { *(tile_constants *)constants = TILE_CONSTANTS; }

/* How the rung launches the kernel. */
void model_plan(model_point *p) {
    const tile_kernel kernel = {
        p->rows,   p->columns, p->consumers,          p->turns,       p->by_columns != 0,
        p->stages, p->cluster, p->share_columns != 0, p->swapped != 0};
    const tile_shape shape = {p->m, p->n, p->k};
    const tile_gpu gpu = {p->sms, p->pairs, p->fours, 1, p->l2_bytes, p->dram_bytes};
    tile_plan plan = {0};
    tile_choose(&plan, 1, &kernel, 1, (enum tile_forms)p->forms, p->cut + 1, &shape, &gpu,
                &TILE_CONSTANTS);
    p->pitch = plan.pitch;
    p->cut = plan.cut;
}

void model_cycles(const double *constants, const model_point *points, int count, double *cycles) {
    for (int i = 0; i < count; ++i) {
        tile_plan plan = {0};
        plan_of(&plan, &points[i], (const tile_constants *)constants, points[i].pitch,
                points[i].cut != 0);
        cycles[i] = plan.cost.cycles;
    }
}

/* How bad constants are for a choice: shape s has the points from starts[s] to starts[s + 1], whose
 * measured cycles are given. Of a shape's kernels those near the fastest count most, and their
 * errors relative to each other more than an error that all have; and so does what the choice
 * would take longer than the fastest kernel, if it picked nearly as good plans with nearly the same
 * probability. `cycles` has room for all points. */
double model_loss(const double *constants, const model_point *points, const int *starts, int shapes,
                  const double *measured, double *cycles) {
    const double near = 0.08, least_weight = 0.03, large = 0.2, common = 0.3, chosen = 0.1;
    const double alike = 0.02;
    double loss = 0;
    model_cycles(constants, points, starts[shapes], cycles);
    for (int s = 0; s < shapes; ++s) {
        double fastest = HUGE_VAL, best = HUGE_VAL;
        double weights = 0, mean = 0, spread = 0, picked = 0, cost = 0;
        for (int i = starts[s]; i < starts[s + 1]; ++i) {
            fastest = fmin(fastest, measured[i]);
            best = fmin(best, cycles[i]);
        }
        for (int i = starts[s]; i < starts[s + 1]; ++i) {
            const double slower = measured[i] / fastest - 1;
            const double weight = least_weight + exp(-slower / near);
            const double pick = exp(-(cycles[i] / best - 1) / alike);
            weights += weight;
            mean += weight * log(cycles[i] / measured[i]);
            picked += pick;
            cost += pick * fmin(slower, 0.5);
        }
        mean /= weights;
        for (int i = starts[s]; i < starts[s + 1]; ++i) {
            const double slower = measured[i] / fastest - 1;
            const double error = fabs(log(cycles[i] / measured[i]) - mean);
            spread += (least_weight + exp(-slower / near)) *
                      (error < large ? error * error : large * (error - large / 2));
        }
        loss += spread / weights + common * fmin(mean * mean, 0.1) + chosen * cost / picked;
    }
    return loss / shapes;
}
