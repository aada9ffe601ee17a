#include "emulator/copy_checks.h"

#include "emulator/global_memory.h"
#include "emulator/machine.h"

namespace emulator {

void check_global(const void *begin, std::size_t bytes, const char *copy, Site where) {
    const GlobalPlace place = global_place(begin, bytes);
    if (place == GlobalPlace::INSIDE || place == GlobalPlace::ELSEWHERE)
        return;
    const GlobalRange range = global_range_near(begin);
    const std::ptrdiff_t offset =
        static_cast<const char *>(begin) - static_cast<const char *>(range.begin);
    const std::string what =
        place == GlobalPlace::FREED
            ? format("%s of global memory that was freed", copy)
            : format("%s of %zu bytes at offset %td of an allocation of %zu bytes", copy, bytes,
                     offset, range.bytes);
    fail(Mistake::ADDRESS, what, {note_at(*current, where, "started it here")});
}

} // namespace emulator
