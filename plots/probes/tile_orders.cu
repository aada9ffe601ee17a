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
    std::vector<tile_coordinate> (*tiles)(int tiles_m, int tiles_n);
};

// The k-th CTA of the grid takes the k-th tile, column by column: one group of all rows.
static std::vector<tile_coordinate> column_by_column(int tiles_m, int tiles_n) {
    std::vector<tile_coordinate> order;
    for (int i = 0; i < tiles_m * tiles_n; ++i)
        order.push_back(grouped_tile(i, tiles_m, tiles_n, tiles_m));
    return order;
}

static std::vector<tile_coordinate> grouped(int tiles_m, int tiles_n) {
    std::vector<tile_coordinate> order;
    for (int i = 0; i < tiles_m * tiles_n; ++i)
        order.push_back(grouped_tile(i, tiles_m, tiles_n, v10::GROUP));
    return order;
}

static std::vector<tile_coordinate> hilbert(int tiles_m, int tiles_n) {
    std::vector<tile_coordinate> order(size_t(tiles_m) * tiles_n);
    hilbert_order(order.data(), tiles_m, tiles_n);
    return order;
}

static std::vector<int> coordinates(const std::vector<tile_coordinate> &order,
                                    int tile_coordinate::*which) {
    std::vector<int> found;
    for (const tile_coordinate &tile : order)
        found.push_back(tile.*which);
    return found;
}

// Sizes of the L2, up to more than A or B of 8192 x 8192.
static std::vector<uint64_t> capacities() {
    std::vector<uint64_t> found;
    for (uint64_t mebibytes = 2; mebibytes <= 160; mebibytes += 2)
        found.push_back(mebibytes << 20);
    return found;
}

static uint64_t total(const std::vector<uint64_t> &parts) {
    return std::accumulate(parts.begin(), parts.end(), uint64_t(0));
}

static void write(Report &report, const Order &order, int size, int sms, uint64_t l2_bytes) {
    const int tiles_m = ceil_div(size, order.tile_m);
    const int tiles_n = ceil_div(size, order.tile_n);
    const int tiles = tiles_m * tiles_n;
    const Schedule schedule = {
        .order = order.tiles(tiles_m, tiles_n),
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
    report.numbers("m", coordinates(schedule.order, &tile_coordinate::m));
    report.numbers("n", coordinates(schedule.order, &tile_coordinate::n));
    report.numbers("dram_reads_of_waves", dram_reads(schedule, l2_bytes));
    std::vector<uint64_t> by_capacity;
    for (const uint64_t capacity : capacities())
        by_capacity.push_back(total(dram_reads(schedule, capacity)));
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
        {"v05", v05::BM, v05::BN, v05::BK, false, false, column_by_column},
        {"v10", v10::BM, v10::BN, v10::BK, true, false, grouped},
        {"v11", v11::BM, v11::BN, v11::BK, true, false, hilbert},
        {"v13", v13::BM, v13::BN, v13::BK, true, true, grouped},
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
