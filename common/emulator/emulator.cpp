#include "emulator/emulator.h"

#include "emulator/accesses.h"
#include "emulator/counts.h"
#include "emulator/machine.h"
#include "emulator/output.h"
#include "emulator/policy.h"
#include "emulator/races.h"
#include "emulator/report.h"

#include <algorithm>
#include <cstdio>
#include <vector>

using emulator::counts;

namespace {

emulator_access_site converted(const emulator::AccessSite &site) {
    emulator_access_site made{};
    std::snprintf(made.file, sizeof made.file, "%s", site.file.c_str());
    made.line = site.line;
    made.is_write = site.is_write;
    made.bytes = site.bytes;
    made.instructions = site.instructions;
    made.wavefronts = site.wavefronts;
    made.ideal = site.ideal;
    made.worst_ways = site.worst_ways;
    return made;
}

} // namespace

const char *const *emulator_policies(void) {
    static const std::vector<const char *> names = [] {
        std::vector<const char *> made;
        for (const std::string &name : emulator::fixed_policy_names())
            made.push_back(name.c_str());
        made.push_back("random");
        made.push_back(nullptr);
        return made;
    }();
    return names.data();
}

size_t emulator_fixed_policies(void) { return emulator::fixed_policy_names().size(); }

bool emulator_choose_policy(const char *name, uint64_t seed) {
    return emulator::choose_policy(name, seed);
}

void emulator_report_prefix(const char *prefix) { emulator::set_report_prefix(prefix); }

void emulator_watch_output(const void *begin, size_t bytes) {
    emulator::output_watch(begin, bytes);
}

void emulator_on_progress(void (*progress)(double grid_done, uint64_t multiply_adds)) {
    emulator::on_progress(progress);
}

bool emulator_detects_races(void) { return emulator::races::detecting(); }

void emulator_get_counts(emulator_counts *c) {
    const double samples = static_cast<double>(std::max<uint64_t>(counts.ring_ahead_samples, 1));
    *c = {};
    c->global_read_bytes = counts.global_read_bytes;
    c->global_written_bytes = counts.global_written_bytes;
    c->tma_read_bytes = counts.tma_read_bytes;
    c->tma_written_bytes = counts.tma_written_bytes;
    c->tma_loads = counts.tma_loads;
    c->tma_stores = counts.tma_stores;
    c->multicast_bytes = counts.multicast_bytes;
    c->copied_bytes = counts.copied_bytes;
    c->wgmmas = counts.wgmmas;
    c->mmas = counts.mmas;
    c->multiply_adds = counts.multiply_adds;
    c->mbarrier_arrivals = counts.mbarrier_arrivals;
    c->mbarrier_waits = counts.mbarrier_waits;
    c->mbarrier_waits_blocked = counts.mbarrier_waits_blocked;
    c->barrier_waits = counts.barrier_waits;
    c->barrier_waits_blocked = counts.barrier_waits_blocked;
    c->ring_slots = counts.ring_slots;
    c->ring_ahead_most = counts.ring_ahead_most;
    c->ring_ahead_mean = static_cast<double>(counts.ring_ahead_sum) / samples;
    c->threads = counts.threads;
    c->ctas = counts.ctas;
    c->clusters = counts.clusters;
}

size_t emulator_get_access_sites(emulator_access_site *sites, size_t most) {
    const std::vector<emulator::AccessSite> found = emulator::access_sites();
    for (size_t i = 0; i < std::min(most, found.size()); ++i)
        sites[i] = converted(found[i]);
    return found.size();
}
