// What an mbarrier is called in reports: the name that the line which initialises it gives it.
#pragma once

#include "emulator/mbarrier.h"

#include <string>

namespace emulator {

struct BarrierName {
    std::string name{};   // "full"; empty if the line has none
    bool indexed = false; // one of an array
    int index = -1;       // if the line itself names it
};

// The name in a line such as `mbarrier_init(&smem.full[stage], 1)` or `smem.full.init(1)`.
BarrierName barrier_name_in(const std::string &line);

// "full[2]", or "the mbarrier at shared address 0x1e400" if its name is unknown; with " of CTA 1"
// if there are several CTAs.
std::string mbarrier_name(SharedRef barrier);

// Why a thread, or what it issued, does not come after the copy that made an access: "" if it
// completes on no mbarrier.
std::string why_copy_unwaited(const order::Epoch &copy, const Thread &thread);
// Whether the barrier on which a copy completes, or a pending load, has more bytes than were
// announced: says so, and adds where they were announced; or "".
std::string too_few_bytes(const order::Epoch &copy, std::vector<Note> &notes);
std::string too_few_bytes(const Operation &load, std::vector<Note> &notes);

} // namespace emulator
