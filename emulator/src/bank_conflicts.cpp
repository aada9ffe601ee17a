#include "bank_conflicts.h"

#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <ranges>
#include <tuple>

namespace emulator {
namespace {
constexpr int BANKS = 32;
constexpr int BANK_BYTES = 4;
constexpr int MOST_WORDS = 64; // of the lanes of one pass: 32, and more if not aligned
// Accesses of one instruction that a warp may have open between two synchronisations. In a longer
// loop without one, the rest is not counted.
constexpr std::uint32_t MOST_OPEN = 1 << 14;

// What the compiler made of one access, without its line: as OpenAccesses.
std::map<std::uintptr_t, emulator_access_site> instructions;

// ---------------------------------------------------------------------------- passes
// The passes that one access of lanes [first, first + lanes) to `bytes` each takes: the most
// different words in one bank. 0 if none of them takes part.
int passes_of_lanes(const WarpAccess &group, int first, int lanes, int bytes) {
    std::uint32_t seen[BANKS][MOST_WORDS];
    int ways[BANKS] = {};
    int most = 0;
    for (int lane = first; lane < first + lanes; ++lane) {
        if (!(group.lanes >> lane & 1))
            continue;
        const std::uint32_t last = (group.offsets[lane] + std::uint32_t(bytes) - 1) / BANK_BYTES;
        for (std::uint32_t word = group.offsets[lane] / BANK_BYTES; word <= last; ++word) {
            const std::uint32_t bank = word % BANKS;
            std::uint32_t *begin = seen[bank], *end = begin + ways[bank];
            if (std::find(begin, end, word) == end) {
                *end = word;
                most = std::max(most, ++ways[bank]);
            }
        }
    }
    return most;
}

// A warp's access: 4 bytes of all lanes in one pass, 8 of half of them, 16 of a quarter.
void count(const WarpAccess &group, emulator_access_site &totals) {
    const int phases = totals.bytes <= 4 ? 1 : totals.bytes <= 8 ? 2 : 4;
    const int lanes = WARP_LANES / phases;
    ++totals.instructions;
    for (int phase = 0; phase < phases; ++phase) {
        const int passes = passes_of_lanes(group, phase * lanes, lanes, totals.bytes);
        totals.wavefronts += std::uint64_t(passes);
        totals.ideal += passes > 0;
        if (passes > totals.worst_ways)
            std::ranges::copy(group.offsets, totals.worst);
        totals.worst_ways = std::max(totals.worst_ways, passes);
    }
}
} // namespace

void bank_access(const Thread &thread, std::uint32_t offset, int bytes, bool is_write,
                 std::uintptr_t pc) {
    OpenInstruction &open =
        thread.cta->warps[std::size_t(thread.warp())].accesses[pc * 2 + is_write];
    if (open.occurrences[thread.lane()] == MOST_OPEN)
        return;
    open.bytes = bytes;
    const std::uint32_t occurrence = open.occurrences[thread.lane()]++;
    WarpAccess &group =
        occurrence < open.groups.size() ? open.groups[occurrence] : open.groups.emplace_back();
    group.lanes |= 1u << thread.lane();
    group.offsets[thread.lane()] = offset;
}

void accesses_warp_met(Warp &warp) {
    for (auto &[key, open] : warp.accesses) {
        if (open.groups.empty())
            continue;
        emulator_access_site &totals = instructions[key];
        totals.is_write = key % 2 != 0;
        totals.bytes = open.bytes;
        for (const WarpAccess &group : open.groups)
            count(group, totals);
        open.groups.clear();
        std::ranges::fill(open.occurrences, 0);
    }
}

void bank_reset() { instructions.clear(); }

std::vector<emulator_access_site> access_sites() {
    std::map<std::tuple<std::string, int, bool, int>, emulator_access_site> sums;
    std::vector<std::uintptr_t> pcs;
    for (const auto &[key, part] : instructions)
        pcs.push_back(key / 2);
    const std::vector<Place> places = places_of(pcs);
    auto place = places.begin();
    for (const auto &[key, part] : instructions) {
        emulator_access_site &sum = sums[{place->file, place->line, part.is_write, part.bytes}];
        std::snprintf(sum.file, sizeof sum.file, "%s", place->file.c_str());
        sum.line = place->line;
        sum.is_write = part.is_write;
        sum.bytes = part.bytes;
        ++place;
        sum.instructions += part.instructions;
        sum.wavefronts += part.wavefronts;
        sum.ideal += part.ideal;
        if (part.worst_ways > sum.worst_ways)
            std::ranges::copy(part.worst, sum.worst);
        sum.worst_ways = std::max(sum.worst_ways, part.worst_ways);
    }
    const auto values = std::views::values(sums);
    std::vector<emulator_access_site> sites(values.begin(), values.end());
    std::ranges::stable_sort(sites, std::ranges::greater(),
                             [](const auto &site) { return site.wavefronts - site.ideal; });
    return sites;
}
} // namespace emulator
