// What a launch did, as the harness sees it: counts.
#include "emulator/emulator.h"

#include "machine.h"
#include "operations.h"
#include "emulator/runtime.h"

#include <algorithm>
#include <vector>

namespace emulator {

Counts counts{};

void clock_read(Site where) { proof::fails(proof::CHOICES, "a clock is read", where); }

bool is_shared(const void *address) { return current->cta->shared.contains(address); }

} // namespace emulator

void emulator_get_counts(emulator_counts *counts) {
    const emulator::Counts &all = emulator::counts;
    const double samples = double(std::max<uint64_t>(all.ring_ahead_samples, 1));
    *counts = all;
    counts->ring_ahead_mean = double(all.ring_ahead_sum) / samples;
}

size_t emulator_get_access_sites(emulator_access_site *sites, size_t most) {
    const std::vector<emulator::AccessSite> found = emulator::access_sites();
    std::copy_n(found.begin(), std::min(most, found.size()), sites);
    return found.size();
}
