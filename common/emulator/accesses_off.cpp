// Where ThreadSanitizer itself watches the kernel's accesses: nothing is counted.
#include "emulator/accesses.h"

#include "emulator/atomics.h"
#include "emulator/machine.h"

namespace emulator {

void count_matrix_access(const std::uint32_t *, int, bool, Site) {}
void accesses_warp_met(Cta &, int) {}
std::vector<AccessSite> access_sites() { return {}; }
void accesses_reset() { report_faults(); }

} // namespace emulator

// Volatile accesses are no races, and may wait for other threads; ThreadSanitizer lacks these
// calls.
#define VOLATILE(form)                                                                             \
    extern "C" void __tsan_volatile_##form(void *p) {                                              \
        if (emulator::current != nullptr && emulator::fiber_stack_of(p) < 0)                       \
            emulator::let_others_write(                                                            \
                p, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));                 \
    }
#define VOLATILES(bytes) VOLATILE(read##bytes) VOLATILE(write##bytes)
VOLATILES(1)
VOLATILES(2)
VOLATILES(4)
VOLATILES(8)
VOLATILES(16)
