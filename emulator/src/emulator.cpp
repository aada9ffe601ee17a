// What a launch did, as the harness sees it: counts, and the operations for a trace.
#include "emulator/emulator.h"

#include "machine.h"
#include "operations.h"
#include "emulator/runtime.h"

#include <algorithm>
#include <vector>

namespace emulator {

Counts counts{};

// ---------------------------------------------------------------------------- steps

static std::uint32_t steps = 0;
static emulator_listener listener = nullptr;
static void *listener_context = nullptr;

// A shared address, or 0 for nothing.
static std::uint32_t address_of(std::uint32_t offset) {
    return offset == Operation::NOWHERE ? 0 : SHARED_BASE + offset;
}

std::uint32_t next_step() { return ++steps; }

void clock_read(Site where) { proof::fails(proof::CHOICES, "a clock is read", where); }
std::uint32_t last_step() { return steps; }

bool is_shared(const void *address) { return current->cta->shared.contains(address); }

void tell_operation(const Operation &operation) {
    if (listener == nullptr || operation.kind == OperationKind::COPY)
        return;
    const uint3 &cta = operation.cta->block_index;
    const emulator_operation told = {.kind = emulator_operation_kind(operation.kind),
                                     .cta = {cta.x, cta.y, cta.z},
                                     .is_own = operation.issuer->cta == operation.cta,
                                     .warp = operation.issuer->warp(),
                                     .started = operation.started,
                                     .happened = next_step(),
                                     .tile = address_of(operation.tile),
                                     .barrier = address_of(operation.barrier)};
    listener(&told, listener_context);
}

} // namespace emulator

void emulator_listen(emulator_listener listener, void *context) {
    emulator::listener = listener;
    emulator::listener_context = context;
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
