// Which writes of global memory a thread of another CTA of the cluster may rely on: those from
// before a barrier of the cluster that it has waited for. An arrival on a peer's mbarrier is a
// release at the scope of the arriving CTA, so it publishes nothing to the peer.
#pragma once

#include "emulator/site.h"

#include <cstddef>
#include <cstdint>

namespace emulator {

struct Thread;

// A cluster begins: it has written nothing.
void scopes_begin();

// The thread writes global memory, by a plain access of the code at `pc`.
void scopes_written(const Thread &thread, const void *address, std::size_t bytes,
                    std::uintptr_t pc);

// The thread reads it, by a copy that it starts at `where`, or by a plain access of the code at
// `pc`. HAZARD if a thread of another CTA of the cluster wrote it, with no barrier of the cluster
// between.
void scopes_read(const Thread &thread, const void *address, std::size_t bytes, Site where);
void scopes_read(const Thread &thread, const void *address, std::size_t bytes, std::uintptr_t pc);

} // namespace emulator
