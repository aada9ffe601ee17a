// The tile schedules as properties: every tile once, neighbours in time near each other, no worker
// with more than one tile more than another, on any grid.
#include "../tools/test.h"
#include "device/grouped_order.h"
#include "device/hilbert.h"
#include "device/tile_schedule.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

struct Grid {
    int tiles_m;
    int tiles_n;

    int tiles() const { return tiles_m * tiles_n; }
    std::string name() const { return std::to_string(tiles_m) + " x " + std::to_string(tiles_n); }
};

// All small grids, and some long or large ones.
static std::vector<Grid> grids() {
    std::vector<Grid> all = {{1, 3000}, {3000, 1}, {513, 7},   {7, 513},   {64, 32},
                             {32, 64},  {61, 295}, {226, 118}, {300, 299}, {256, 256}};
    for (int m = 1; m <= 40; ++m)
        for (int n = 1; n <= 40; ++n)
            all.push_back({m, n});
    return all;
}

// Groups of `group` rows from the top, the last one with what is left; in each, column by column.
static void grouped() {
    for (Grid grid : grids())
        for (int group = 1; group <= 20; ++group) {
            const grouped_order order = grouped_order_of(grid.tiles_m, grid.tiles_n, group);
            int index = 0;
            for (int first = 0; first < grid.tiles_m; first += group)
                for (int n = 0; n < grid.tiles_n; ++n)
                    for (int m = first; m < std::min(first + group, grid.tiles_m); ++m, ++index) {
                        const tile_coordinate tile =
                            grouped_tile(index, grid.tiles_m, grid.tiles_n, group);
                        const tile_coordinate same = ordered_tile(&order, index);
                        EXPECT(tile.m == m && tile.n == n && same.m == m && same.n == n,
                               "%s in groups of %d: place %d is (%d, %d), not (%d, %d)",
                               grid.name().c_str(), group, index, tile.m, tile.n, m, n);
                    }
        }
}

static void hilbert() {
    std::vector<Grid> all = grids();
    all.insert(all.end(), {{64, 64}, {128, 128}, {1, 100000}, {100000, 1}});
    for (Grid grid : all) {
        const std::string text = grid.name();
        const char *name = text.c_str();
        std::vector<tile_coordinate> order(grid.tiles());
        const clock_t start = clock();
        hilbert_order(order.data(), grid.tiles_m, grid.tiles_n);
        const double seconds = double(clock() - start) / CLOCKS_PER_SEC;
        // The square that covers the longest grids has 2^34 tiles: those outside the grid must not
        // be walked one by one.
        EXPECT(seconds < 0.5, "%s took %.2f s", name, seconds);
        const bool is_square =
            grid.tiles_m == grid.tiles_n && (grid.tiles_m & (grid.tiles_m - 1)) == 0;
        for (size_t i = 1; is_square && i < order.size(); ++i) {
            const int steps = abs(order[i].m - order[i - 1].m) + abs(order[i].n - order[i - 1].n);
            EXPECT(steps == 1, "%s: %d steps to place %zu", name, steps, i);
        }
        // The tiles of a 2^j square, those that the grid has, follow each other: the order never
        // comes back to a square that it has left. By squares of one tile it has each tile once.
        for (int square = 1; square <= std::max(grid.tiles_m, grid.tiles_n); square *= 2) {
            const int across = (grid.tiles_n + square - 1) / square;
            std::vector<bool> entered(((grid.tiles_m + square - 1) / square) * size_t(across));
            int here = -1;
            for (auto [m, n] : order) {
                const int now = m / square * across + n / square;
                const bool inside = m >= 0 && m < grid.tiles_m && n >= 0 && n < grid.tiles_n;
                EXPECT(inside && (now == here ? square > 1 : !entered[now]),
                       "%s: back to the %d x %d of (%d, %d)", name, square, square, m, n);
                if (inside)
                    entered[now] = true;
                here = now;
            }
        }
    }
}

// Each tile once, in the wave that it has in groups of rows; 16 workers in a row have a block.
static void strips() {
    for (Grid grid : grids())
        for (int workers : {1, 7, 128, 132}) {
            std::vector<tile_coordinate> order(grid.tiles());
            strip_order(order.data(), grid.tiles_m, grid.tiles_n, workers);
            std::vector<int> wave(grid.tiles(), -1);
            for (int i = 0; i < grid.tiles(); ++i)
                wave[order[i].m * grid.tiles_n + order[i].n] = i / workers;
            for (int i = 0; i < grid.tiles(); ++i) {
                const auto [m, n] = grouped_tile(i, grid.tiles_m, grid.tiles_n, STRIPPED_ROWS);
                EXPECT(wave[m * grid.tiles_n + n] == i / workers,
                       "%s, %d workers: (%d, %d) is in wave %d, not %d", grid.name().c_str(),
                       workers, m, n, wave[m * grid.tiles_n + n], i / workers);
            }
        }
    std::vector<tile_coordinate> order(64 * 64);
    strip_order(order.data(), 64, 64, 128);
    for (size_t i = 0; i < order.size(); ++i) {
        const tile_coordinate corner = order[i / 16 * 16];
        EXPECT(order[i].m / 4 == corner.m / 4 && order[i].n / 4 == corner.n / 4 &&
                   corner.n % 4 == 0,
               "place %zu is (%d, %d)", i, order[i].m, order[i].n);
    }
}

static int waves(int tiles, int workers) { return (tiles + workers - 1) / workers; }

// Then no worker gets two tiles more than another.
static void balanced() {
    for (int tiles = 1; tiles <= 5000; ++tiles)
        for (int most = 1; most <= 140; ++most) {
            const int workers = balanced_workers(tiles, most), fewest = waves(tiles, most);
            EXPECT(workers >= 1 && workers <= most && waves(tiles, workers) == fewest &&
                       (workers == 1 || waves(tiles, workers - 1) > fewest),
                   "%d tiles, %d workers at most: %d", tiles, most, workers);
        }
}

int main() {
    run_case("grouped order: groups of rows, column by column", grouped);
    run_case("hilbert order: each tile once, and near those before", hilbert);
    run_case("strips: each tile once, blocks for neighbours", strips);
    run_case("balanced workers: as few as finish in as many waves", balanced);
    return test_result();
}
