// Where ThreadSanitizer itself watches the kernel's accesses: nothing is counted.
#include "emulator/accesses.h"

namespace emulator {

void count_matrix_access(const std::uint32_t *, int, bool, Site) {}
void accesses_warp_met(Cta &, int) {}
std::vector<AccessSite> access_sites() { return {}; }
void accesses_reset() { report_faults(); }

} // namespace emulator

// libtsan has no functions of their own for volatile accesses.
#define VOLATILE(bytes)                                                                            \
    extern "C" void __tsan_read##bytes(void *);                                                    \
    extern "C" void __tsan_write##bytes(void *);                                                   \
    extern "C" void __tsan_volatile_read##bytes(void *p) { __tsan_read##bytes(p); }                \
    extern "C" void __tsan_volatile_write##bytes(void *p) { __tsan_write##bytes(p); }
VOLATILE(1)
VOLATILE(2)
VOLATILE(4)
VOLATILE(8)
VOLATILE(16)
