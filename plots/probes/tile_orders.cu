// In which order the v track computes the tiles of D, and what a model of the L2 makes of it.
//
//   tile_orders OUT.json SIZE SMS L2_BYTES
//
// of m = n = k = SIZE on a GPU with so many multiprocessors and so much L2. The rungs themselves
// are included for their constants: sizes of tiles, groups, order.
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
#include "l2_model.h"
#include "step.h"

// All that the rungs include stands above: inside the namespaces nothing is included twice.
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

// The rungs' main functions ask for it. They are not called.
int step_main(const step *, int, char **) { return 2; }

struct Order {
    const char *rung;
    int tile_m, tile_n; // rows and columns of D that one CTA computes at a time
    int bk;
    bool balanced; // no more CTAs than finish in the same number of waves
    bool backwards;
    int group; // rows of tiles, or one of these
};
constexpr int ALL_ROWS = 0; // column by column
constexpr int HILBERT = -1;

static std::vector<tile_coordinate> tiles_of(const Order &order, int tiles_m, int tiles_n) {
    std::vector<tile_coordinate> tiles(size_t(tiles_m) * tiles_n);
    const int group = order.group == ALL_ROWS ? tiles_m : order.group;
    if (order.group == HILBERT)
        hilbert_order(tiles.data(), tiles_m, tiles_n);
    else
        for (int i = 0; i < tiles_m * tiles_n; ++i)
            tiles[i] = grouped_tile(i, tiles_m, tiles_n, group);
    return tiles;
}

// Sizes of the L2, up to more than A or B of 8192 x 8192.
static std::vector<uint64_t> capacities() {
    std::vector<uint64_t> found;
    for (uint64_t mebibytes = 2; mebibytes <= 160; mebibytes += 2)
        found.push_back(mebibytes << 20);
    return found;
}

static void write(Report &report, const Order &order, int size, int sms, uint64_t l2_bytes) {
    const int tiles_m = ceil_div(size, order.tile_m);
    const int tiles_n = ceil_div(size, order.tile_n);
    const int tiles = tiles_m * tiles_n;
    const Schedule schedule = {
        .order = tiles_of(order, tiles_m, tiles_n),
        .workers = order.balanced ? balanced_workers(tiles, sms) : std::min(tiles, sms),
        .k_steps = ceil_div(size, order.bk),
        .slice_a = order.tile_m * order.bk * sizeof(bf16),
        .slice_b = order.tile_n * order.bk * sizeof(bf16),
        .backwards = order.backwards,
    };
    report.begin(order.rung);
    report.number("tile_m", order.tile_m);
    report.number("tile_n", order.tile_n);
    report.number("workers", schedule.workers);
    report.number("backwards", order.backwards);
    std::vector<int> m, n;
    for (const tile_coordinate &tile : schedule.order) {
        m.push_back(tile.m);
        n.push_back(tile.n);
    }
    report.numbers("m", m);
    report.numbers("n", n);
    report.numbers("dram_reads_of_waves", dram_reads(schedule, l2_bytes));
    std::vector<uint64_t> by_capacity;
    for (const uint64_t capacity : capacities()) {
        const std::vector<uint64_t> reads = dram_reads(schedule, capacity);
        by_capacity.push_back(std::accumulate(reads.begin(), reads.end(), uint64_t(0)));
    }
    report.numbers("dram_reads", by_capacity);
    report.end();
}

int main(int argc, char **argv) {
    if (argc != 5)
        give_up("usage: tile_orders OUT.json SIZE SMS L2_BYTES");
    const int size = atoi(argv[2]);
    const int sms = atoi(argv[3]);
    const uint64_t l2_bytes = strtoull(argv[4], nullptr, 10);
    if (size < 1 || sms < 1 || l2_bytes < 1)
        give_up("SIZE, SMS and L2_BYTES are whole numbers");

    const Order orders[] = {
        {"v05", v05::BM, v05::BN, v05::BK, false, false, ALL_ROWS},
        {"v10", v10::BM, v10::BN, v10::BK, true, false, v10::GROUP},
        {"v11", v11::BM, v11::BN, v11::BK, true, false, HILBERT},
        {"v13", v13::BM, v13::BN, v13::BK, true, true, v13::GROUP},
    };
    Report report(argv[1]);
    report.number("size", size);
    report.number("sms", sms);
    report.number("l2_bytes", l2_bytes);
    report.numbers("capacities", capacities());
    report.begin("orders");
    for (const Order &order : orders)
        write(report, order, size, sms, l2_bytes);
    report.end();
    report.finish();
    return 0;
}
