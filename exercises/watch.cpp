// What watch.h counts: of the last launch, which is one of the whole problem.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace watch {

enum Hint : std::uint64_t { NONE, FIRST, LAST };

namespace {

using Place = std::pair<int, int>; // column and row

constexpr std::size_t STRETCH = 8; // tiles
constexpr int K_TILE = 64;         // columns of a TMA load along k
// Of an SM of 9.0, and what the system takes of it for each CTA.
constexpr std::size_t SM_SMEM = 228 * 1024;
constexpr std::size_t RESERVED_SMEM = 1024;

struct Counts {
    std::size_t smem;
    long loads, first, last;     // by their hints
    long forwards, backwards;    // steps along k
    long waits, leave_in_flight; // for copies
    std::map<std::pair<int, const void *>, Place> loaded_before;
    std::map<int, Place> stored;                                    // a CTA's last store
    std::set<int> loading, ready, dependents, waited, waited_early; // CTAs
};
Counts counts;
double rows_and_columns; // that a stretch of tiles reads, on average

void print_at_exit() {
    if (counts.loads > 0)
        std::printf("hints      %ld of %ld loads are to be evicted first, %ld last\n", counts.first,
                    counts.loads, counts.last);
    if (counts.forwards + counts.backwards > 0)
        std::printf("along k    %ld steps forwards, %ld backwards\n", counts.forwards,
                    counts.backwards);
    if (counts.waits > 0)
        std::printf("copies     %ld %% of the waits leave copies in flight\n",
                    100 * counts.leave_in_flight / counts.waits);
    if (rows_and_columns > 0)
        std::printf(
            "order      %zu tiles in a row read %.2f rows and columns of tiles on average\n",
            STRETCH, rows_and_columns);
    if (!counts.dependents.empty() || !counts.waited.empty())
        std::printf("early      %zu of %zu CTAs let the next launch begin before they load, "
                    "%zu wait for the launch before when their barriers are ready\n",
                    counts.dependents.size(), counts.loading.size(),
                    counts.waited.size() - counts.waited_early.size());
    if (counts.stored.size() > 1) {
        long neighbours = 0;
        for (auto next = counts.stored.begin(), at = next++; next != counts.stored.end();
             at = next++)
            neighbours += at->second.second == next->second.second;
        std::printf("stores     %ld of %zu CTAs store into the same rows as the CTA before\n",
                    neighbours, counts.stored.size());
    }
    if (counts.smem > 0)
        std::printf("room       shared memory for %zu CTAs on an SM\n",
                    SM_SMEM / (counts.smem + RESERVED_SMEM));
}

} // namespace

void launched(std::size_t dynamic_smem) {
    static const int registered = std::atexit(print_at_exit);
    (void)registered;
    counts = Counts{};
    counts.smem = dynamic_smem;
}

void loaded(int cta, const void *map, int column, int row, Hint hint) {
    ++counts.loads;
    counts.loading.insert(cta);
    counts.first += hint == FIRST;
    counts.last += hint == LAST;
    Place &before = counts.loaded_before.try_emplace({cta, map}, -1, -1).first->second;
    counts.forwards += before == Place(column - K_TILE, row);
    counts.backwards += before == Place(column + K_TILE, row);
    before = {column, row};
}

void stored(int cta, int column, int row) { counts.stored[cta] = {column, row}; }

void waited_for_copies(int pending) {
    ++counts.waits;
    counts.leave_in_flight += pending > 0;
}

void ordered(const int *tiles, std::size_t count) {
    const std::size_t length = std::min(count, STRETCH);
    double sum = 0;
    for (std::size_t begin = 0; begin + length <= count; ++begin) {
        std::set<int> rows, columns;
        for (std::size_t i = begin; i < begin + length; ++i) {
            rows.insert(tiles[2 * i]);
            columns.insert(tiles[2 * i + 1]);
        }
        sum += double(rows.size() + columns.size());
    }
    rows_and_columns = sum / double(count - length + 1);
}

void barriers_ready(int cta) { counts.ready.insert(cta); }

void dependents_launched(int cta) {
    if (counts.loading.count(cta) == 0)
        counts.dependents.insert(cta);
}

void waited_for_launch_before(int cta) {
    counts.waited.insert(cta);
    if (counts.ready.count(cta) == 0)
        counts.waited_early.insert(cta);
}

} // namespace watch
