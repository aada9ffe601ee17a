#include "emulator/scopes.h"

#include "emulator/machine.h"

#include <algorithm>
#include <unordered_map>

namespace emulator {

namespace {

constexpr std::uintptr_t GRANULE = 4; // bytes that have one writer

struct Write {
    const Thread *thread;
    std::uint64_t phase; // of the cluster's barrier that comes after it
    std::uintptr_t pc;
};

std::unordered_map<std::uintptr_t, Write> writes; // the last one, by granule
std::uintptr_t lowest, highest;                   // granules; most reads are far from them

std::uintptr_t granule_of(const void *address) {
    return reinterpret_cast<std::uintptr_t>(address) / GRANULE;
}

// The write that the thread must not rely on; nullptr if there is none.
const Write *unpublished(const Thread &thread, const void *address, std::size_t bytes) {
    const std::uintptr_t end = granule_of(static_cast<const char *>(address) + bytes - 1);
    for (std::uintptr_t granule = std::max(granule_of(address), lowest);
         granule <= std::min(end, highest); ++granule) {
        const auto found = writes.find(granule);
        if (found != writes.end() && found->second.thread->cta != thread.cta &&
            found->second.phase >= thread.cluster_waits)
            return &found->second;
    }
    return nullptr;
}

} // namespace

void scopes_begin() {
    writes.clear();
    lowest = UINTPTR_MAX;
    highest = 0;
}

void scopes_written(const Thread &thread, const void *address, std::size_t bytes,
                    std::uintptr_t pc) {
    if (current_cluster->ctas.size() == 1)
        return;
    const std::uintptr_t end = granule_of(static_cast<const char *>(address) + bytes - 1);
    lowest = std::min(lowest, granule_of(address));
    highest = std::max(highest, end);
    for (std::uintptr_t granule = granule_of(address); granule <= end; ++granule)
        writes[granule] = {&thread, thread.cluster_arrivals, pc};
}

void scopes_read(const Thread &thread, const void *address, std::size_t bytes,
                 const Origin &where) {
    const Write *write = unpublished(thread, address, bytes);
    if (write == nullptr)
        return;
    const char *did = where.pc != 0 ? "read it here" : "started to copy it here";
    fail(Mistake::HAZARD,
         "global memory is read that another CTA of the cluster wrote, with no barrier of the "
         "cluster between: an arrival on a peer's mbarrier publishes nothing",
         {note_at(thread, where, did), note_at(*write->thread, write->pc, "wrote it here")});
}

} // namespace emulator
