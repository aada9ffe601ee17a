#include "emulator/emulator.h"

#include "accesses.h"
#include "counts.h"
#include "machine.h"
#include "global_writes.h"
#include "policy.h"
#include "emulator/report.h"

#include <algorithm>
#include <vector>

using emulator::counts;

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

void emulator_wrote(const void *begin, size_t bytes, const void *stream) {
    emulator::order::begin_on(stream, false);
    emulator::access_global(begin, bytes, {true, emulator::Site{}});
    emulator::order::end_work();
}

void emulator_on_progress(void (*progress)(double grid_done, uint64_t multiply_adds)) {
    emulator::on_progress(progress);
}

void emulator_get_counts(emulator_counts *c) {
    const double samples = static_cast<double>(std::max<uint64_t>(counts.ring_ahead_samples, 1));
    *c = counts;
    c->ring_ahead_mean = static_cast<double>(counts.ring_ahead_sum) / samples;
}

size_t emulator_get_access_sites(emulator_access_site *sites, size_t most) {
    const std::vector<emulator::AccessSite> found = emulator::access_sites();
    std::copy_n(found.begin(), std::min(most, found.size()), sites);
    return found.size();
}
