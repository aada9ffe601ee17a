/* The model of device/tile_choice.h as a library for bench/fit.py: the cycles of many plans by one
 * call, with constants of the caller's. */
#include "device/tile_choice.h"

/* A measured time's kernel, shape and GPU, and how the kernel was launched: by the constants that
 * the rung was built with. */
typedef struct model_point {
    int rows, columns, consumers, turns, by_columns, stages, above, beside, swapped;
    int m, n, k;
    int clusters[TILE_MOST_CLUSTER];
    double l2_bytes, dram_bytes;
    int forms, form; /* of the rung's kernels, and that of this number */
    int pitch;       /* set by model_plan(), and so is the form if tiles can't be cut */
} model_point;

static void parts_of(tile_kernel *kernel, tile_shape *shape, tile_gpu *gpu, const model_point *p) {
    *kernel = (tile_kernel){p->rows,   p->columns, p->consumers, p->turns,       p->by_columns != 0,
                            p->stages, p->above,   p->beside,    p->swapped != 0};
    *shape = (tile_shape){p->m, p->n, p->k};
    *gpu = (tile_gpu){{0}, 1, p->l2_bytes, p->dram_bytes};
    for (int i = 0; i < TILE_MOST_CLUSTER; ++i) {
        gpu->clusters[i + 1] = p->clusters[i];
    }
}

int model_constants(void);
void model_plan(model_point *p);
double model_loss(const double *constants, const model_point *points, const int *starts, int shapes,
                  const double *measured, double *cycles);

/* How many constants there are, all of them double. */
int model_constants(void) { return (int)(sizeof(tile_constants) / sizeof(double)); }

/* How the rung launches the kernel. */
void model_plan(model_point *p) {
    tile_kernel kernel;
    tile_shape shape;
    tile_gpu gpu;
    tile_plan plan = {0};
    parts_of(&kernel, &shape, &gpu, p);
    tile_choose(&plan, 1, &kernel, 1, p->forms, p->form + 1, &shape, &gpu, &TILE_CONSTANTS);
    p->pitch = plan.pitch;
    p->form = (int)plan.form;
}

static double cycles_of(const double *constants, const model_point *point) {
    tile_kernel kernel;
    tile_shape shape;
    tile_gpu gpu;
    tile_plan plan = {.pitch = point->pitch};
    parts_of(&kernel, &shape, &gpu, point);
    tile_make_plan(&plan, &kernel, &shape, &gpu, (const tile_constants *)constants,
                   (enum tile_form)point->form);
    return plan.cost.cycles;
}

/* How bad constants are for a choice: shape s has the points from starts[s] to starts[s + 1], whose
 * measured cycles are given. Of a shape's kernels those near the fastest count most, and their
 * errors relative to each other more than an error that all have; and so does what the choice
 * would take longer than the fastest kernel, if it picked nearly as good plans with nearly the same
 * probability. Stores the cycles that they predict for all points. */
double model_loss(const double *constants, const model_point *points, const int *starts, int shapes,
                  const double *measured, double *cycles) {
    const double near = 0.08, least_weight = 0.03, large = 0.2, common = 0.3, chosen = 0.25;
    const double alike = 0.03;
    double loss = 0;
    for (int i = 0; i < starts[shapes]; ++i) {
        cycles[i] = cycles_of(constants, &points[i]);
    }
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
