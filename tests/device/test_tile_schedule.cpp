// The tile schedules as properties: every tile once, neighbours in time near each other, no worker
// with more than one tile more than another, on any grid.
#include "../../emulator/tests/test.h"
#include "device/tile_schedule.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

struct Grid {
    int tiles_m;
    int tiles_n;

    int tiles() const { return tiles_m * tiles_n; }
};

// All small grids, some long or large ones, and random ones between.
static std::vector<Grid> grids() {
    std::vector<Grid> all = {{1, 3000}, {3000, 1}, {513, 7}, {7, 513}, {64, 32}, {256, 256}};
    for (int m = 1; m <= 40; ++m)
        for (int n = 1; n <= 40; ++n)
            all.push_back({m, n});
    std::mt19937 random(1);
    std::uniform_int_distribution<int> side(1, 300);
    for (int i = 0; i < 20; ++i)
        all.push_back({side(random), side(random)});
    return all;
}

static std::vector<tile_coordinate> hilbert(Grid grid) {
    std::vector<tile_coordinate> order(grid.tiles());
    hilbert_order(order.data(), grid.tiles_m, grid.tiles_n);
    return order;
}

static void expect_each_once(const std::vector<tile_coordinate> &order, Grid grid) {
    std::vector<int> visits(grid.tiles());
    for (tile_coordinate tile : order) {
        const bool inside =
            tile.m >= 0 && tile.m < grid.tiles_m && tile.n >= 0 && tile.n < grid.tiles_n;
        EXPECT(inside, "%d x %d: tile (%d, %d)", grid.tiles_m, grid.tiles_n, tile.m, tile.n);
        if (inside)
            ++visits[tile.m * grid.tiles_n + tile.n];
    }
    const bool once = std::all_of(visits.begin(), visits.end(), [](int v) { return v == 1; });
    EXPECT(once, "%d x %d", grid.tiles_m, grid.tiles_n);
}

// Groups of `group` rows from the top, the last one with what is left; in each, column by column.
static void grouped_as_documented() {
    for (Grid grid : grids())
        for (int group = 1; group <= 20; ++group) {
            int index = 0;
            for (int first = 0; first < grid.tiles_m; first += group)
                for (int n = 0; n < grid.tiles_n; ++n)
                    for (int m = first; m < std::min(first + group, grid.tiles_m); ++m, ++index) {
                        const tile_coordinate tile =
                            grouped_tile(index, grid.tiles_m, grid.tiles_n, group);
                        EXPECT(tile.m == m && tile.n == n,
                               "%d x %d in groups of %d: place %d is (%d, %d), not (%d, %d)",
                               grid.tiles_m, grid.tiles_n, group, index, tile.m, tile.n, m, n);
                    }
        }
}

static void hilbert_each_once() {
    for (Grid grid : grids())
        expect_each_once(hilbert(grid), grid);
}

static void hilbert_neighbours() {
    for (int side = 1; side <= 256; side *= 2) {
        const std::vector<tile_coordinate> order = hilbert({side, side});
        for (size_t i = 1; i < order.size(); ++i) {
            const int distance =
                abs(order[i].m - order[i - 1].m) + abs(order[i].n - order[i - 1].n);
            EXPECT(distance == 1, "side %d: %d steps to place %zu", side, distance, i);
        }
    }
}

// The tiles of a 2^j square, those that the grid has, follow each other. The
// order never comes back to a square that it has left.
static void hilbert_compact() {
    for (Grid grid : grids()) {
        const std::vector<tile_coordinate> order = hilbert(grid);
        for (int square = 2; square <= std::max(grid.tiles_m, grid.tiles_n); square *= 2) {
            const int across = (grid.tiles_n + square - 1) / square;
            std::vector<bool> entered(((grid.tiles_m + square - 1) / square) * size_t(across));
            int here = -1;
            for (tile_coordinate tile : order) {
                const int now = tile.m / square * across + tile.n / square;
                EXPECT(now == here || !entered[now], "%d x %d: back to the %d x %d of (%d, %d)",
                       grid.tiles_m, grid.tiles_n, square, square, tile.m, tile.n);
                entered[now] = true;
                here = now;
            }
        }
    }
}

// The covering square has 2^34 tiles: those outside the grid must not be walked one by one.
static void hilbert_quick() {
    for (Grid grid : {Grid{1, 100000}, Grid{100000, 1}}) {
        const clock_t start = clock();
        const std::vector<tile_coordinate> order = hilbert(grid);
        const double seconds = double(clock() - start) / CLOCKS_PER_SEC;
        EXPECT(seconds < 0.5, "%d x %d took %.2f s", grid.tiles_m, grid.tiles_n, seconds);
        expect_each_once(order, grid);
    }
}

static int waves(int tiles, int workers) { return (tiles + workers - 1) / workers; }

// How many of tiles first, first + workers, first + 2 workers ... there are.
static int dealt(int first, int tiles, int workers) { return waves(tiles - first, workers); }

static void balanced() {
    for (int tiles = 1; tiles <= 5000; ++tiles)
        for (int most = 1; most <= 140; ++most) {
            const int workers = balanced_workers(tiles, most);
            EXPECT(workers >= 1 && workers <= most, "%d tiles, %d workers at most: %d", tiles, most,
                   workers);
            if (workers < 1)
                return;
            EXPECT(waves(tiles, workers) == waves(tiles, most),
                   "%d tiles, %d workers at most: %d take longer", tiles, most, workers);
            EXPECT(workers == 1 || waves(tiles, workers - 1) > waves(tiles, most),
                   "%d tiles, %d workers at most: fewer than %d would do", tiles, most, workers);
            // The first worker gets the most, the last one the fewest.
            const int fewest = dealt(workers - 1, tiles, workers);
            EXPECT(fewest >= 1 && dealt(0, tiles, workers) <= fewest + 1,
                   "%d tiles, %d workers: the last gets %d", tiles, workers, fewest);
        }
}

// Orders to mark: strips of rows, and shuffled ones, which no schedule gives.
static std::vector<scheduled_tile> order_of(Grid grid, bool shuffled, std::mt19937 &random) {
    std::vector<scheduled_tile> order;
    for (int i = 0; i < grid.tiles(); ++i) // what is there before must not matter
        order.push_back({grouped_tile(i, grid.tiles_m, grid.tiles_n, 3), 2, i % 2});
    if (shuffled)
        std::shuffle(order.begin(), order.end(), random);
    return order;
}

// Each worker takes the tiles from its number on, one a wave; a tile's rows or columns are read
// again if the next wave of any worker has them.
static void expect_marks(const std::vector<scheduled_tile> &order, int workers) {
    const int count = int(order.size());
    std::vector<std::set<int>> rows(count / workers + 2), columns(rows.size());
    for (int worker = 0; worker < workers; ++worker)
        for (int i = worker, wave = 0; i < count; i += workers, ++wave) {
            rows[wave].insert(order[i].at.m);
            columns[wave].insert(order[i].at.n);
        }
    std::vector<scheduled_tile> marked = order;
    mark_reuse(marked.data(), count, workers);
    for (int worker = 0; worker < workers; ++worker)
        for (int i = worker, wave = 0; i < count; i += workers, ++wave) {
            const int row = int(rows[wave + 1].count(order[i].at.m));
            const int column = int(columns[wave + 1].count(order[i].at.n));
            EXPECT(marked[i].at.m == order[i].at.m && marked[i].at.n == order[i].at.n,
                   "%d tiles, %d workers: tile %d is another", count, workers, i);
            EXPECT(marked[i].row_again == row && marked[i].column_again == column,
                   "%d tiles, %d workers: tile %d has marks %d and %d, not %d and %d", count,
                   workers, i, marked[i].row_again, marked[i].column_again, row, column);
        }
}

static void reuse() {
    std::mt19937 random(1);
    for (Grid grid : {Grid{1, 1}, Grid{1, 9}, Grid{9, 1}, Grid{4, 6}, Grid{7, 11}, Grid{16, 40}})
        for (int workers : {1, 2, 3, 4, 13, 66, 132, 1000})
            for (bool shuffled : {false, true})
                expect_marks(order_of(grid, shuffled, random), workers);
}

// What a worker of a schedule of parts has: numbers of parts count the cut tiles' parts in the
// order of tiles, and of k within one.
static void expect_parts(int tiles, int k_tiles, int workers, bool cut) {
    std::vector<scheduled_tile> order;
    for (int i = 0; i < tiles; ++i)
        order.push_back({{i, 2 * i}, 0, 0});
    std::vector<scheduled_part> work(tiles + 2 * workers);
    int places = -1;
    const int parts =
        schedule_parts(work.data(), &places, order.data(), tiles, k_tiles, workers, cut);
    const int whole = cut ? tiles / workers * workers : tiles;
    const std::string what = std::to_string(tiles) + " tiles of " + std::to_string(k_tiles) +
                             " k-tiles, " + std::to_string(workers) + " workers";
    EXPECT(places >= whole && places <= tiles + 2 * workers, "%s: %d places", what.c_str(), places);
    std::vector<std::vector<scheduled_part>> of_tile(tiles);
    std::vector<int> shares(workers), cuts(workers);
    for (int i = 0; i < places; ++i) {
        const scheduled_part &part = work[i];
        const scheduled_loads loads = loads_of(&part);
        EXPECT(loads.tile.at.m == part.tile.at.m && loads.first_k_tile == part.first_k_tile &&
                   loads.k_tiles == part.k_tiles,
               "%s: place %d loads another part", what.c_str(), i);
        if (part.k_tiles == 0)
            continue;
        EXPECT(part.tile.at.n == 2 * part.tile.at.m, "%s: no tile of the order", what.c_str());
        of_tile[part.tile.at.m].push_back(part);
        shares[i % workers] += i < whole ? 0 : part.k_tiles;
        cuts[i % workers] += i >= whole;
        EXPECT(i >= whole || (part.parts == 1 && part.tile.at.m == i), "%s: place %d is cut",
               what.c_str(), i);
    }
    int number = 0;
    for (std::vector<scheduled_part> &those : of_tile) {
        std::sort(those.begin(), those.end(), [](const auto &one, const auto &other) {
            return one.first_k_tile < other.first_k_tile;
        });
        const int first = number;
        int next = 0;
        for (const scheduled_part &part : those) {
            EXPECT(part.first_k_tile == next && part.parts == int(those.size()),
                   "%s: k-tile %d after %d, a part of %d where there are %zu", what.c_str(),
                   part.first_k_tile, next, part.parts, those.size());
            EXPECT(part.parts == 1 || (part.number == number && part.first_part == first),
                   "%s: number %d of those from %d on, not %d from %d on", what.c_str(),
                   part.number, part.first_part, number, first);
            next += part.k_tiles;
            number += part.parts > 1;
        }
        EXPECT(next == k_tiles, "%s: %d k-tiles of a tile", what.c_str(), next);
    }
    EXPECT(number == parts, "%s: %d parts, not %d", what.c_str(), parts, number);
    const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
    EXPECT(*most <= *least + 1, "%s: a worker has %d k-tiles, another %d", what.c_str(), *most,
           *least);
    EXPECT(*std::max_element(cuts.begin(), cuts.end()) <= 2, "%s: more than two places",
           what.c_str());
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
    run_case("grouped order: groups of rows, column by column", grouped_as_documented);
    run_case("hilbert order: each tile once", hilbert_each_once);
    run_case("hilbert order: on a square every step goes to a neighbour", hilbert_neighbours);
    run_case("hilbert order: on any grid no square is entered twice", hilbert_compact);
    run_case("hilbert order: a long grid takes no time", hilbert_quick);
    run_case("marks of what the next wave reads again", reuse);
    run_case("parts: each k-tile once, in the order of k, shares alike, two places", parts);
    run_case("balanced workers: as few as finish in as many waves", balanced);
    return test_result();
}
