#include "l2_model.h"

#include <algorithm>
#include <list>
#include <unordered_map>

namespace {

// The least recently used goes first.
class Cache {
public:
    explicit Cache(uint64_t capacity) : capacity(capacity) {}

    // Uses an item; true if it was not there. One that is larger than the cache does not stay.
    bool use(uint64_t item, uint64_t bytes) {
        const auto known = places.find(item);
        if (known != places.end()) {
            items.splice(items.begin(), items, known->second);
            return false;
        }
        items.push_front({item, bytes});
        places[item] = items.begin();
        used += bytes;
        while (used > capacity) {
            used -= items.back().bytes;
            places.erase(items.back().item);
            items.pop_back();
        }
        return true;
    }

private:
    struct Item {
        uint64_t item, bytes;
    };
    uint64_t capacity, used = 0;
    std::list<Item> items; // the latest first
    std::unordered_map<uint64_t, std::list<Item>::iterator> places;
};

// The rows of tiles (or columns) that a wave needs, each once.
std::vector<int> needed(const Schedule &schedule, size_t begin, size_t end,
                        int tile_coordinate::*which) {
    std::vector<int> found;
    for (size_t i = begin; i < end; ++i)
        found.push_back(schedule.order[i].*which);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

uint64_t item_of(bool is_b, int panel, int k) {
    return (uint64_t(is_b) << 63) | uint64_t(panel) << 32 | uint64_t(k);
}

} // namespace

std::vector<uint64_t> dram_reads(const Schedule &schedule, uint64_t capacity) {
    Cache cache(capacity);
    std::vector<uint64_t> reads;
    const size_t workers = size_t(schedule.workers);
    for (size_t begin = 0; begin < schedule.order.size(); begin += workers) {
        const size_t end = std::min(begin + workers, schedule.order.size());
        const std::vector<int> rows = needed(schedule, begin, end, &tile_coordinate::m);
        const std::vector<int> columns = needed(schedule, begin, end, &tile_coordinate::n);
        const bool backwards = schedule.backwards && begin / workers % 2 == 1;
        uint64_t read = 0;
        for (int step = 0; step < schedule.k_steps; ++step) {
            const int k = backwards ? schedule.k_steps - 1 - step : step;
            for (const int row : rows)
                read += cache.use(item_of(false, row, k), schedule.slice_a) * schedule.slice_a;
            for (const int column : columns)
                read += cache.use(item_of(true, column, k), schedule.slice_b) * schedule.slice_b;
        }
        reads.push_back(read);
    }
    return reads;
}
