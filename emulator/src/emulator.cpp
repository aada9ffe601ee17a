// What a launch did, as the harness sees it: counts, the output.
#include "emulator/emulator.h"

#include "machine.h"
#include "operations.h"
#include "emulator/runtime.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace emulator {

Counts counts{};

// ---------------------------------------------------------------------------- the output

namespace {

constexpr std::size_t ELEMENT = 2; // bytes per entry of `written`: of an element at least

// The writer, without pointers that may be invalid when the report is made.
struct OutputWriter {
    int thread, cta, cluster;
    Origin where;

    bool operator==(const OutputWriter &) const = default;
};

const char *output = nullptr;
std::vector<std::uint32_t> written; // per element: number of its writer, from 1 on; 0: none yet
std::vector<OutputWriter> writers;

Note note_of(const OutputWriter &writer, const char *did) {
    return note_at(writer.where, format("thread %d of CTA %d of cluster %d %s", writer.thread,
                                        writer.cta, writer.cluster, did));
}

} // namespace

void counts_reset() {
    counts = {};
    std::fill(written.begin(), written.end(), 0);
    writers.clear();
}

void output_written(const Thread &thread, const void *address, std::size_t bytes,
                    const Origin &where) {
    const std::ptrdiff_t offset = static_cast<const char *>(address) - output;
    const std::size_t begin = std::size_t(offset) / ELEMENT;
    if (offset < 0 || begin >= written.size() || bytes == 0)
        return;
    const OutputWriter writer = {thread.number, thread.cta->rank, thread.cta->cluster->index,
                                 where};
    if (writers.empty() || writers.back() != writer)
        writers.push_back(writer);
    const std::size_t end = std::min(begin + (bytes + ELEMENT - 1) / ELEMENT, written.size());
    for (std::size_t element = begin; element < end; ++element) {
        if (const std::uint32_t before = std::exchange(written[element], writers.size()))
            fail(Mistake::HAZARD,
                 {note_of(writer, "wrote it here"),
                  note_of(writers[before - 1], "had written it here")},
                 "the launch writes the output at offset %zu twice", element * ELEMENT);
    }
}

void clock_read(Site where) { proof::fails(proof::CHOICES, "a clock is read", where); }

bool is_shared(const void *address) { return current->cta->shared.contains(address); }

} // namespace emulator

void emulator_watch_output(const void *begin, size_t bytes) {
    emulator::output = static_cast<const char *>(begin);
    emulator::written.assign((bytes + emulator::ELEMENT - 1) / emulator::ELEMENT, 0);
}

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
