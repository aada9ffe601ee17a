// The tile schedules as properties: every tile once, neighbours in time near each other, no worker
// with more than one tile more than another, on any grid.
#include "../../emulator/tests/test.h"
#include "device/grouped_order.h"
#include "device/hilbert.h"
#include "device/scheduled_tile.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <random>
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

// Each worker takes the tiles from its number on, one a wave; a tile's rows or columns are read
// again if the next wave of any worker has them.
static void expect_marks(const std::vector<scheduled_tile> &order, int workers) {
    const int count = int(order.size());
    std::vector<scheduled_tile> marked = order;
    mark_reuse(marked.data(), count, workers);
    for (int i = 0; i < count; ++i) {
        const auto [m, n] = order[i].at;
        int row = 0, column = 0;
        for (int j = 0; j < count; ++j) {
            const bool is_next = j / workers == i / workers + 1;
            row |= is_next && order[j].at.m == m;
            column |= is_next && order[j].at.n == n;
        }
        const scheduled_tile &tile = marked[i];
        EXPECT(tile.at.m == m && tile.at.n == n && tile.row_again == row &&
                   tile.column_again == column,
               "%d tiles, %d workers: tile %d has marks %d and %d, not %d and %d", count, workers,
               i, tile.row_again, tile.column_again, row, column);
    }
}

// Of strips of rows, and of shuffled ones, which no schedule gives. The marks that are there before
// must not matter.
static void reuse() {
    std::mt19937 random(1);
    for (Grid grid : {Grid{1, 1}, Grid{1, 9}, Grid{9, 1}, Grid{4, 6}, Grid{7, 11}, Grid{16, 40}})
        for (int workers : {1, 2, 3, 4, 13, 66, 132, 1000}) {
            std::vector<scheduled_tile> order;
            for (int i = 0; i < grid.tiles(); ++i)
                order.push_back({grouped_tile(i, grid.tiles_m, grid.tiles_n, 3), 2, i % 2});
            expect_marks(order, workers);
            std::shuffle(order.begin(), order.end(), random);
            expect_marks(order, workers);
        }
}

// Places in the order of tiles, and of k within one, as the numbers of parts of cut tiles go.
static void expect_parts(int tiles, int k_tiles, int workers, bool cut) {
    const auto expect = [=](bool right, const char *what, int where) {
        EXPECT(right, "%d tiles of %d k-tiles, %d workers, at %d: %s", tiles, k_tiles, workers,
               where, what);
    };
    std::vector<scheduled_tile> order;
    for (int i = 0; i < tiles; ++i)
        order.push_back({{i, 2 * i}, 0, 0});
    std::vector<scheduled_part> work(tiles + 2 * workers);
    int places = -1;
    const int parts =
        schedule_parts(work.data(), &places, order.data(), tiles, k_tiles, workers, cut);
    const int whole = cut ? tiles / workers * workers : tiles;
    expect(places >= whole && places <= tiles + 2 * workers, "number of places", places);
    std::map<std::pair<int, int>, scheduled_part> found; // by their tiles and first k-tiles
    std::vector<int> of_tile(tiles), shares(workers), cuts(workers);
    for (int i = 0; i < places; ++i) {
        const scheduled_part &part = work[i];
        const scheduled_loads loads = loads_of(&part);
        const auto [tile, n] = part.tile.at;
        expect(loads.tile.at.m == tile && loads.first_k_tile == part.first_k_tile &&
                   loads.k_tiles == part.k_tiles,
               "it loads another part", i);
        expect(n == 2 * tile, "it is no tile of the order", i);
        expect(i >= whole || (part.parts == 1 && tile == i), "it is not the whole tile", i);
        if (part.k_tiles == 0)
            continue;
        found[{tile, part.first_k_tile}] = part;
        ++of_tile[tile];
        shares[i % workers] += i < whole ? 0 : part.k_tiles;
        cuts[i % workers] += i >= whole;
    }
    int number = 0, first = 0, next = 0; // k-tile of all tiles
    for (const auto &[key, part] : found) {
        first = part.first_k_tile == 0 ? number : first;
        expect(key.first * k_tiles + part.first_k_tile == next, "k-tiles lack, or are twice", next);
        expect(part.parts == of_tile[key.first], "number of parts", next);
        expect(part.parts == 1 || (part.number == number && part.first_part == first),
               "numbers of parts", next);
        next += part.k_tiles;
        number += part.parts > 1;
    }
    expect(next == tiles * k_tiles && number == parts, "all k-tiles and parts", next);
    const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
    expect(*most <= *least + 1, "shares of k-tiles differ", *most);
    expect(*std::max_element(cuts.begin(), cuts.end()) <= 2, "a worker has three places", 0);
}

static void parts() {
    for (int tiles = 1; tiles <= 30; ++tiles)
        for (int k_tiles : {1, 2, 3, 5, 8, 64, 129})
            for (int workers : {1, 2, 3, 4, 7, 16, 132})
                for (bool cut : {false, true})
                    expect_parts(tiles, k_tiles, workers, cut);
    expect_parts(263, 4096, 132, true);
}

int main() {
    run_case("grouped order: groups of rows, column by column", grouped);
    run_case("hilbert order: each tile once, and near those before", hilbert);
    run_case("marks of what the next wave reads again", reuse);
    run_case("parts: each k-tile once, in the order of k, shares alike, two places", parts);
    run_case("balanced workers: as few as finish in as many waves", balanced);
    return test_result();
}
