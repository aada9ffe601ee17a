// In which order the v track computes the tiles of D of m = n = k = SIZE on a GPU with so many
// multiprocessors: tile_orders SIZE SMS. The rungs themselves are included for their constants:
// sizes of tiles, groups, order.
#include "probe.cuh"

#include "device/barrier.cuh"
#include "device/fragment.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/stmatrix.cuh"
#include "device/tile_schedule.h"
#include "device/tma.cuh"
#include "device/vector.cuh"
#include "device/wgmma.cuh"
#include "step.h"

// All that the rungs include is above: inside the namespaces nothing is included twice.
namespace v05 {
#include "../../steps/v05_two_consumers.cu"
}
namespace v10 {
#include "../../steps/v10_tma_store.cu"
}
namespace v11 {
#include "../../steps/v11_hilbert.cu"
}
namespace v13 {
#include "../../steps/v13_backwards.cu"
}

// The rungs' main functions call it. They are not called.
int step_main(const step *, int, char **) { return 2; }

struct Order {
    const char *rung;
    int tile_m, tile_n; // rows and columns of D that one CTA computes at a time
    int bk;
    bool balanced;  // no more CTAs than finish in the same number of waves
    bool backwards; // every other wave goes through k from its end
    int group;      // rows of tiles, or one of these
};
constexpr int ALL_ROWS = 0; // column by column
constexpr int HILBERT = -1;

static void write(Answer &answer, const Order &order, int size, int sms) {
    const int tiles_m = ceil_div(size, order.tile_m), tiles_n = ceil_div(size, order.tile_n);
    const int count = tiles_m * tiles_n;
    const int group = order.group == ALL_ROWS ? tiles_m : order.group;
    std::vector<tile_coordinate> tiles(count);
    if (order.group == HILBERT)
        hilbert_order(tiles.data(), tiles_m, tiles_n);
    else
        for (int i = 0; i < count; ++i)
            tiles[i] = grouped_tile(i, tiles_m, tiles_n, group);
    std::vector<int> m, n;
    for (const tile_coordinate &tile : tiles) {
        m.push_back(tile.m);
        n.push_back(tile.n);
    }
    answer.begin(order.rung);
    answer.number("tile_m", order.tile_m);
    answer.number("tile_n", order.tile_n);
    answer.number("bk", order.bk);
    answer.number("workers", order.balanced ? balanced_workers(count, sms) : std::min(count, sms));
    answer.number("backwards", order.backwards);
    answer.numbers("m", m);
    answer.numbers("n", n);
    answer.end();
}

int main(int argc, char **argv) {
    if (argc != 3)
        give_up("usage: tile_orders SIZE SMS");
    const Order orders[] = {
        {"v05", v05::BM, v05::BN, v05::BK, false, false, ALL_ROWS},
        {"v10", v10::BM, v10::BN, v10::BK, true, false, v10::GROUP},
        {"v11", v11::BM, v11::BN, v11::BK, true, false, HILBERT},
        {"v13", v13::BM, v13::BN, v13::BK, true, true, v13::GROUP},
    };
    Answer answer;
    for (const Order &order : orders)
        write(answer, order, atoi(argv[1]), atoi(argv[2]));
    return 0;
}
