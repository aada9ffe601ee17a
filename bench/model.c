/* The model of device/tile_model.h as a library for bench/fit.py: the cycles of many plans by one
 * call, with constants of the caller's. */
#include "device/tile_model.h"

/* A measured time's kernel, shape and GPU, and its plan. fit.py has the same struct. */
typedef struct model_point {
    tile_gpu gpu;
    tile_plan plan;
    tile_kind kind;
    int m, n, k;
    int form; /* the wanted one */
} model_point;

void model_plan(model_point *p);
double model_loss(const double *constants, int count, const model_point *points,
                  const double *measured, double *cycles);

/* How the rung launches the kernel. */
void model_plan(model_point *p) {
    const problem shape = {.m = p->m, .n = p->n, .k = p->k};
    p->plan = tile_plan_of(&p->kind, &shape, p->form, p->gpu.clusters);
}

/* Of a kernel in the loss, by how much slower than the fastest of its shape it is. */
static double weight_of(double slower) {
    const double near = 0.08, least = 0.03;
    return least + exp(-slower / near);
}

/* How bad constants are for the choice among these points of a shape, whose measured cycles are
 * given. Those near the fastest count most, and their errors relative to each other more than an
 * error that all have; and so does what the choice would take longer than the fastest kernel, if it
 * picked nearly as good plans with nearly the same probability. Stores the cycles that they predict
 * for all points. */
double model_loss(const double *constants, int count, const model_point *points,
                  const double *measured, double *cycles) {
    const double large = 0.2, common = 0.3, chosen = 0.25, alike = 0.03;
    double fastest = HUGE_VAL, best = HUGE_VAL;
    double weights = 0, mean = 0, spread = 0, picked = 0, cost = 0;
    for (int i = 0; i < count; ++i) {
        const model_point *p = &points[i];
        const problem shape = {.m = p->m, .n = p->n, .k = p->k};
        const tile_case of = {&p->kind, &p->plan, &shape, &p->gpu,
                              (const tile_constants *)constants};
        tile_terms terms;
        cycles[i] = tile_cycles(&of, &terms);
        fastest = fmin(fastest, measured[i]);
        best = fmin(best, cycles[i]);
    }
    for (int i = 0; i < count; ++i) {
        const double slower = measured[i] / fastest - 1;
        const double pick = exp(-(cycles[i] / best - 1) / alike);
        weights += weight_of(slower);
        mean += weight_of(slower) * log(cycles[i] / measured[i]);
        picked += pick;
        cost += pick * fmin(slower, 0.5);
    }
    mean /= weights;
    for (int i = 0; i < count; ++i) {
        const double error = fabs(log(cycles[i] / measured[i]) - mean);
        spread += weight_of(measured[i] / fastest - 1) *
                  (error < large ? error * error : large * (error - large / 2));
    }
    return spread / weights + common * fmin(mean * mean, 0.1) + chosen * cost / picked;
}
