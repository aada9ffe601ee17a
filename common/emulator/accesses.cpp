#include "emulator/accesses.h"

#include "emulator/bank_conflicts.h"
#include "emulator/counts.h"
#include "emulator/faults.h"
#include "emulator/global_memory.h"
#include "emulator/machine.h"
#include "emulator/output.h"
#include "emulator/scopes.h"
#include "emulator/tensor_core.h"

#include <algorithm>

namespace emulator {

namespace {

constexpr std::size_t WIDEST = 16; // bytes of one access of a lane

struct Access {
    const void *address;
    std::size_t bytes;
    bool is_write;
    std::uintptr_t pc;
};

const char *verb(const Access &access) { return access.is_write ? "writes" : "reads"; }

[[noreturn]] void fail_at(const Access &access, const std::string &what) {
    fail(Mistake::ADDRESS, what,
         {note_at_code(*current, access.pc, access.is_write ? "wrote it here" : "read it here")});
}

// ---------------------------------------------------------------------------- shared memory

[[noreturn]] void fail_beside_shared(const Access &access, const Cta &cta) {
    const SharedMemory &shared = cta.shared;
    const std::ptrdiff_t offset =
        static_cast<const unsigned char *>(access.address) - shared.dynamic();
    fail_at(access,
            format("a thread %s %zu bytes at offset %td of the dynamic shared memory of CTA "
                   "%d, which has %zu",
                   verb(access), access.bytes, offset, cta.rank,
                   shared.size() - shared.offset_of(shared.dynamic())));
}

// A plain access to the CTA's own shared memory, 16 bytes at a time.
void shared_access(Thread &thread, const Access &access) {
    SharedMemory &shared = thread.cta->shared;
    const std::uint32_t first = shared.offset_of(access.address);
    if (!shared.contains(static_cast<const char *>(access.address) + access.bytes - 1))
        fail_beside_shared(access, *thread.cta);
    for (std::size_t done = 0; done < access.bytes; done += WIDEST)
        bank_access(thread, first + static_cast<std::uint32_t>(done),
                    static_cast<int>(std::min(WIDEST, access.bytes - done)), access.is_write,
                    access.pc);
    if (access.is_write)
        shared.wrote(thread, first, access.bytes, access.pc, Site{});
}

// What no thread may do: touch the shared memory of another CTA through a plain pointer, or what
// lies beside its own.
void check_not_shared(const Access &access) {
    for (const std::unique_ptr<Cta> &cta : current_cluster->ctas) {
        if (cta->shared.missed_by(access.address))
            fail_beside_shared(access, *cta);
        if (cta->shared.contains(access.address))
            fail_at(access,
                    format("a thread %s the shared memory of CTA %d through a plain pointer",
                           verb(access), cta->rank));
    }
}

// ---------------------------------------------------------------------------- global memory

// Returns false for what is not global memory.
bool global_access(const Thread &thread, const Access &access) {
    const GlobalPlace place = global_place(access.address, access.bytes);
    if (place == GlobalPlace::ELSEWHERE)
        return false;
    const GlobalRange range = global_range_near(access.address);
    if (place == GlobalPlace::FREED)
        fail_at(access, format("a thread %s global memory that was freed", verb(access)));
    if (place == GlobalPlace::OUTSIDE)
        fail_at(access, format("a thread %s %zu bytes at offset %td of an allocation of %zu bytes",
                               verb(access), access.bytes,
                               static_cast<const char *>(access.address) -
                                   static_cast<const char *>(range.begin),
                               range.bytes));
    if (access.is_write) {
        output_written(thread, access.address, access.bytes, access.pc);
        scopes_written(thread, access.address, access.bytes, access.pc);
    } else {
        scopes_read(thread, access.address, access.bytes, access.pc);
    }
    (access.is_write ? counts.global_written_bytes : counts.global_read_bytes) += access.bytes;
    return true;
}

// ----------------------------------------------------------------------------

// The thread's own stack: from what runs now upwards.
bool is_on_own_stack(const void *address) {
    const std::uintptr_t here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return reinterpret_cast<std::uintptr_t>(address) - here < FIBER_STACK;
}

void thread_access(Thread &thread, const Access &access) {
    if (thread.cta->shared.contains(access.address)) {
        shared_access(thread, access);
    } else if (is_on_own_stack(access.address)) {
        if (!thread.accumulators.ranges.empty())
            accumulators_accessed(thread, access.address, access.bytes, access.is_write, access.pc);
    } else if (!global_access(thread, access)) {
        check_not_shared(access);
    }
}

// What the compiler's calls end in; `pc` is their return address.
void plain_access(const void *address, std::size_t bytes, bool is_write, void *pc) {
    if (current != nullptr && bytes > 0)
        thread_access(*current, {address, bytes, is_write, reinterpret_cast<std::uintptr_t>(pc)});
}

} // namespace

void count_matrix_access(const std::uint32_t *row_offsets, int matrices, bool is_write,
                         Site where) {
    bank_matrix_access(row_offsets, matrices, is_write, where);
}

void accesses_warp_met(Cta &cta, int warp) { bank_warp_met(cta, warp); }

std::vector<AccessSite> access_sites() { return bank_sites(); }

void accesses_reset() {
    report_faults();
    bank_reset();
}

} // namespace emulator

// ---------------------------------------------------------------------------- the compiler's calls

using emulator::plain_access;

using Atomic8 = std::uint8_t;
using Atomic16 = std::uint16_t;
using Atomic32 = std::uint32_t;
using Atomic64 = std::uint64_t;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}

void __tsan_read1(void *p) { plain_access(p, 1, false, __builtin_return_address(0)); }
void __tsan_read2(void *p) { plain_access(p, 2, false, __builtin_return_address(0)); }
void __tsan_read4(void *p) { plain_access(p, 4, false, __builtin_return_address(0)); }
void __tsan_read8(void *p) { plain_access(p, 8, false, __builtin_return_address(0)); }
void __tsan_read16(void *p) { plain_access(p, 16, false, __builtin_return_address(0)); }
void __tsan_write1(void *p) { plain_access(p, 1, true, __builtin_return_address(0)); }
void __tsan_write2(void *p) { plain_access(p, 2, true, __builtin_return_address(0)); }
void __tsan_write4(void *p) { plain_access(p, 4, true, __builtin_return_address(0)); }
void __tsan_write8(void *p) { plain_access(p, 8, true, __builtin_return_address(0)); }
void __tsan_write16(void *p) { plain_access(p, 16, true, __builtin_return_address(0)); }

void __tsan_read_range(void *p, long n) {
    plain_access(p, static_cast<std::size_t>(n), false, __builtin_return_address(0));
}
void __tsan_write_range(void *p, long n) {
    plain_access(p, static_cast<std::size_t>(n), true, __builtin_return_address(0));
}

void __tsan_unaligned_read2(void *p) { plain_access(p, 2, false, __builtin_return_address(0)); }
void __tsan_unaligned_read4(void *p) { plain_access(p, 4, false, __builtin_return_address(0)); }
void __tsan_unaligned_read8(void *p) { plain_access(p, 8, false, __builtin_return_address(0)); }
void __tsan_unaligned_read16(void *p) { plain_access(p, 16, false, __builtin_return_address(0)); }
void __tsan_unaligned_write2(void *p) { plain_access(p, 2, true, __builtin_return_address(0)); }
void __tsan_unaligned_write4(void *p) { plain_access(p, 4, true, __builtin_return_address(0)); }
void __tsan_unaligned_write8(void *p) { plain_access(p, 8, true, __builtin_return_address(0)); }
void __tsan_unaligned_write16(void *p) { plain_access(p, 16, true, __builtin_return_address(0)); }

void __tsan_volatile_read1(void *p) { plain_access(p, 1, false, __builtin_return_address(0)); }
void __tsan_volatile_read2(void *p) { plain_access(p, 2, false, __builtin_return_address(0)); }
void __tsan_volatile_read4(void *p) { plain_access(p, 4, false, __builtin_return_address(0)); }
void __tsan_volatile_read8(void *p) { plain_access(p, 8, false, __builtin_return_address(0)); }
void __tsan_volatile_read16(void *p) { plain_access(p, 16, false, __builtin_return_address(0)); }
void __tsan_volatile_write1(void *p) { plain_access(p, 1, true, __builtin_return_address(0)); }
void __tsan_volatile_write2(void *p) { plain_access(p, 2, true, __builtin_return_address(0)); }
void __tsan_volatile_write4(void *p) { plain_access(p, 4, true, __builtin_return_address(0)); }
void __tsan_volatile_write8(void *p) { plain_access(p, 8, true, __builtin_return_address(0)); }
void __tsan_volatile_write16(void *p) { plain_access(p, 16, true, __builtin_return_address(0)); }

// Atomics (std::atomic, shared_ptr, initialised statics): one thread of the operating system runs
// everything, so that all memory orders are the same.

void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

Atomic8 __tsan_atomic8_load(const volatile Atomic8 *p, int) {
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
void __tsan_atomic8_store(volatile Atomic8 *p, Atomic8 v, int) {
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}
Atomic8 __tsan_atomic8_exchange(volatile Atomic8 *p, Atomic8 v, int) {
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}
Atomic8 __tsan_atomic8_fetch_add(volatile Atomic8 *p, Atomic8 v, int) {
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
Atomic8 __tsan_atomic8_fetch_sub(volatile Atomic8 *p, Atomic8 v, int) {
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);
}
Atomic8 __tsan_atomic8_fetch_and(volatile Atomic8 *p, Atomic8 v, int) {
    return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);
}
Atomic8 __tsan_atomic8_fetch_or(volatile Atomic8 *p, Atomic8 v, int) {
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}
Atomic8 __tsan_atomic8_fetch_xor(volatile Atomic8 *p, Atomic8 v, int) {
    return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);
}
Atomic8 __tsan_atomic8_fetch_nand(volatile Atomic8 *p, Atomic8 v, int) {
    return __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST);
}
bool __tsan_atomic8_compare_exchange_strong(volatile Atomic8 *p, Atomic8 *expected, Atomic8 v, int,
                                            int) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
bool __tsan_atomic8_compare_exchange_weak(volatile Atomic8 *p, Atomic8 *expected, Atomic8 v, int,
                                          int) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

Atomic16 __tsan_atomic16_load(const volatile Atomic16 *p, int) {
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
void __tsan_atomic16_store(volatile Atomic16 *p, Atomic16 v, int) {
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}
Atomic16 __tsan_atomic16_exchange(volatile Atomic16 *p, Atomic16 v, int) {
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}
Atomic16 __tsan_atomic16_fetch_add(volatile Atomic16 *p, Atomic16 v, int) {
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
Atomic16 __tsan_atomic16_fetch_sub(volatile Atomic16 *p, Atomic16 v, int) {
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);
}
Atomic16 __tsan_atomic16_fetch_and(volatile Atomic16 *p, Atomic16 v, int) {
    return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);
}
Atomic16 __tsan_atomic16_fetch_or(volatile Atomic16 *p, Atomic16 v, int) {
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}
Atomic16 __tsan_atomic16_fetch_xor(volatile Atomic16 *p, Atomic16 v, int) {
    return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);
}
Atomic16 __tsan_atomic16_fetch_nand(volatile Atomic16 *p, Atomic16 v, int) {
    return __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST);
}
bool __tsan_atomic16_compare_exchange_strong(volatile Atomic16 *p, Atomic16 *expected, Atomic16 v,
                                             int, int) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
bool __tsan_atomic16_compare_exchange_weak(volatile Atomic16 *p, Atomic16 *expected, Atomic16 v,
                                           int, int) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

Atomic32 __tsan_atomic32_load(const volatile Atomic32 *p, int) {
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
void __tsan_atomic32_store(volatile Atomic32 *p, Atomic32 v, int) {
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}
Atomic32 __tsan_atomic32_exchange(volatile Atomic32 *p, Atomic32 v, int) {
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}
Atomic32 __tsan_atomic32_fetch_add(volatile Atomic32 *p, Atomic32 v, int) {
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
Atomic32 __tsan_atomic32_fetch_sub(volatile Atomic32 *p, Atomic32 v, int) {
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);
}
Atomic32 __tsan_atomic32_fetch_and(volatile Atomic32 *p, Atomic32 v, int) {
    return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);
}
Atomic32 __tsan_atomic32_fetch_or(volatile Atomic32 *p, Atomic32 v, int) {
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}
Atomic32 __tsan_atomic32_fetch_xor(volatile Atomic32 *p, Atomic32 v, int) {
    return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);
}
Atomic32 __tsan_atomic32_fetch_nand(volatile Atomic32 *p, Atomic32 v, int) {
    return __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST);
}
bool __tsan_atomic32_compare_exchange_strong(volatile Atomic32 *p, Atomic32 *expected, Atomic32 v,
                                             int, int) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
bool __tsan_atomic32_compare_exchange_weak(volatile Atomic32 *p, Atomic32 *expected, Atomic32 v,
                                           int, int) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

Atomic64 __tsan_atomic64_load(const volatile Atomic64 *p, int) {
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
void __tsan_atomic64_store(volatile Atomic64 *p, Atomic64 v, int) {
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}
Atomic64 __tsan_atomic64_exchange(volatile Atomic64 *p, Atomic64 v, int) {
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}
Atomic64 __tsan_atomic64_fetch_add(volatile Atomic64 *p, Atomic64 v, int) {
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
Atomic64 __tsan_atomic64_fetch_sub(volatile Atomic64 *p, Atomic64 v, int) {
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);
}
Atomic64 __tsan_atomic64_fetch_and(volatile Atomic64 *p, Atomic64 v, int) {
    return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);
}
Atomic64 __tsan_atomic64_fetch_or(volatile Atomic64 *p, Atomic64 v, int) {
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);
}
Atomic64 __tsan_atomic64_fetch_xor(volatile Atomic64 *p, Atomic64 v, int) {
    return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);
}
Atomic64 __tsan_atomic64_fetch_nand(volatile Atomic64 *p, Atomic64 v, int) {
    return __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST);
}
bool __tsan_atomic64_compare_exchange_strong(volatile Atomic64 *p, Atomic64 *expected, Atomic64 v,
                                             int, int) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
bool __tsan_atomic64_compare_exchange_weak(volatile Atomic64 *p, Atomic64 *expected, Atomic64 v,
                                           int, int) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

} // extern "C"
