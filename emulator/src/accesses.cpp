// Plain loads and stores of the kernel. The rung is compiled with -fsanitize=thread, so that the
// compiler calls __tsan_read4(address) and the like before each access; those functions are here.
// They find bank conflicts, count global bytes, record who accessed what, and check addresses.
// (-fno-tree-sra keeps a 16-byte access one access: without it the compiler reads the members of a
// uint4 one by one.)
#include "global_memory.h"
#include "machine.h"

#include <algorithm>

namespace emulator {
namespace {
constexpr std::size_t WIDEST = 16; // bytes of one access of a lane

struct Access {
    const void *address;
    std::size_t bytes;
    bool is_write;
    std::uintptr_t pc;
    Strength strength = Strength::WEAK;
    bool aligned = false; // the compiler takes it for aligned
};

const char *verb(const Access &access) { return access.is_write ? "writes" : "reads"; }

const char *did(const Access &access) { return access.is_write ? "wrote it here" : "read it here"; }

// A vector, or another type that the compiler takes for aligned, in shared or global memory. (CUDA
// C++ Programming Guide: Device Memory Accesses, Size and Alignment Requirement.)
void check_alignment(const Access &access) {
    if (access.aligned && std::uintptr_t(access.address) % access.bytes != 0)
        fail(Mistake::ADDRESS, access.pc, did(access),
             "a thread %s %zu bytes at %p, which is not aligned to them", verb(access),
             access.bytes, access.address);
}

// ---------------------------------------------------------------------------- shared memory
[[noreturn]] void fail_beside_shared(const Access &access, const Cta &cta) {
    const SharedMemory &shared = cta.shared;
    const std::ptrdiff_t offset =
        static_cast<const unsigned char *>(access.address) - shared.dynamic();
    fail(Mistake::ADDRESS, access.pc, did(access),
         "a thread %s %zu bytes at offset %td of the shared memory of CTA %d, which has %zu bytes "
         "of dynamic and %zu of static memory",
         verb(access), access.bytes, offset, cta.rank, shared.dynamic_size(), static_shared_used);
}

// A plain access to the CTA's own shared memory, 16 bytes at a time.
void shared_access(Thread &thread, const Access &access) {
    SharedMemory &shared = thread.cta->shared;
    const std::uint32_t first = shared.offset_of(access.address);
    if (!shared.contains(static_cast<const char *>(access.address) + access.bytes - 1))
        fail_beside_shared(access, *thread.cta);
    for (std::size_t done = 0; done < access.bytes; done += WIDEST)
        bank_access(thread, first + std::uint32_t(done), int(std::min(WIDEST, access.bytes - done)),
                    access.is_write, access.pc);
    access_shared(*thread.cta, first, access.bytes, {access.is_write, access.pc, access.strength});
    if (trace::is_on && access.is_write)
        trace::wrote(thread, "shared memory", access.pc);
}

// Neither the own shared memory, nor the own stack, nor global memory. Variables of the program are
// all threads'.
void other_access(const Access &access) {
    for (const std::unique_ptr<Cta> &cta : current_cluster->ctas) {
        if (cta->shared.missed_by(access.address))
            fail_beside_shared(access, *cta);
        if (cta->shared.contains(access.address)) { // by an address that mapa gave
            check_peer(*cta, access.pc);
            peer_uses(*cta, access.pc);
            return access_shared(*cta, cta->shared.offset_of(access.address), access.bytes,
                                 {access.is_write, access.pc, access.strength});
        }
    }
    if (is_host_memory(access.address))
        fail(Mistake::ADDRESS, access.pc, did(access),
             "a thread %s %zu bytes at %p, an address of the host: pass memory of "
             "cudaMalloc",
             verb(access), access.bytes, access.address);
    if (fiber_stack_of(access.address) < 0) // a __device__ variable
        access_global(access.address, access.bytes, {access.is_write, access.pc, access.strength});
}

// ---------------------------------------------------------------------------- global memory
// Returns false for what is not global memory.
bool global_access(const Thread &thread, const Access &access) {
    const GlobalPlace place = global_place(access.address, access.bytes);
    if (place == GlobalPlace::ELSEWHERE)
        return false;
    if (place != GlobalPlace::INSIDE)
        fail(Mistake::ADDRESS, access.pc, did(access), "%s",
             global_mistake(access.is_write ? "a thread writes" : "a thread reads", access.address,
                            access.bytes)
                 .c_str());
    check_alignment(access);
    if (access.is_write) {
        // Reads may be of what no earlier launch writes, as a table that the host has made.
        if (!order::is_after_launch_before())
            fail(Mistake::HAZARD,
                 {note_at(thread, access.pc, "wrote it here, without griddepcontrol.wait")},
                 "a thread writes global memory in a kernel that was launched early, and neither "
                 "has waited for the launch before, which may still use that memory, nor comes "
                 "after a thread that has");
        trace::wrote(thread, "global memory", access.pc);
    }
    access_global(access.address, access.bytes, {access.is_write, access.pc, access.strength});
    (access.is_write ? counts.global_written_bytes : counts.global_read_bytes) += access.bytes;
    return true;
}

// The thread's own stack: from what runs now upwards.
bool is_on_own_stack(const void *address) {
    const std::uintptr_t here = std::uintptr_t(__builtin_frame_address(0));
    return std::uintptr_t(address) - here < FIBER_STACK;
}

void thread_access(Thread &thread, const Access &access) {
    thread.last_access = access.pc;
    if (thread.cta->shared.contains(access.address)) {
        check_alignment(access);
        shared_access(thread, access);
    } else if (is_on_own_stack(access.address)) {
        if (thread.accumulators.fenced)
            accumulators_accessed(thread, access.address, access.bytes, access.is_write, access.pc);
        return;
    } else if (!global_access(thread, access)) {
        other_access(access);
    }
    if (std::get<0>(thread.failed_poll) != nullptr)
        proof::does_something_else();
    if (access.is_write && thread.spin.reads > 0)
        spinning_thread_writes(thread);
}

void host_access(const Access &access) {
    if (!translated_program || operation_in_progress() != nullptr)
        return;
    if (is_device_memory(access.address))
        fail(Mistake::ADDRESS, {note_at(Origin(access.pc), did(access))},
             "host code %s %zu bytes of device memory: copy it with cudaMemcpy", verb(access),
             access.bytes);
    if (is_page_locked(access.address)) // a copy on a stream may use it
        access_global(access.address, access.bytes, {access.is_write, access.pc});
}

// What the compiler's calls end in; `pc` is their return address.
void plain_access(const void *address, std::size_t bytes, bool is_write, void *pc,
                  Strength strength, bool aligned) {
    const Access access{address, bytes, is_write, std::uintptr_t(pc), strength, aligned};
    if (current == nullptr)
        host_access(access);
    else if (bytes > 0)
        thread_access(*current, access);
}

// A relaxed access of system scope, of which a loop may be made. (PTX ISA: ld, .volatile.)
void volatile_access(const void *address, std::size_t bytes, bool is_write, void *pc) {
    const bool is_known = current != nullptr && !is_on_own_stack(address);
    const Touch touch = is_write ? Touch::WRITE : Touch::READ;
    const proof::Access one{static_cast<const char *>(address), bytes, touch, nullptr};
    if (is_known && proof::is_explored)
        proof::wait_for_turn(one, std::uintptr_t(pc));
    if (is_known && !is_write)
        may_spin(address, std::uintptr_t(pc)); // others may write first
    plain_access(address, bytes, is_write, pc, Strength::VOLATILE, true);
    if (is_known && !is_write)
        order::atomic_read(address, Scope::SYS, false);
    if (is_known)
        story::record(std::uintptr_t(pc), is_write ? "writes" : "reads", "volatile at %p", address);
    if (is_known && is_write)
        order::atomic_write(address, Scope::SYS, false, false);
    if (is_known && proof::is_explored)
        proof::accessed(one, touch);
}

// An atomic of the C++ library: one that changes nothing may be part of a loop.
template <typename Word>
Word atomic_access(volatile Word *address, Word value, void *pc) {
    const Word before = *address;
    if (before != value)
        *address = value;
    else if (current != nullptr)
        may_spin(const_cast<const Word *>(address), std::uintptr_t(pc));
    return before;
}
} // namespace

// ---------------------------------------------------------------------------- the compiler's calls
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}

// The calls of one form and size, and those for ranges. The return address is that of the access.
#define ACCESS(form, bytes, is_write, strength, aligned)                                           \
    void __tsan_##form##bytes(void *p) {                                                           \
        plain_access(p, bytes, is_write, __builtin_return_address(0), Strength::strength,          \
                     aligned);                                                                     \
    }
#define VOLATILE(form, bytes, is_write)                                                            \
    void __tsan_volatile_##form##bytes(void *p) {                                                  \
        volatile_access(p, bytes, is_write, __builtin_return_address(0));                          \
    }
#define ACCESSES(bytes)                                                                            \
    ACCESS(read, bytes, false, WEAK, true)                                                         \
    ACCESS(write, bytes, true, WEAK, true)                                                         \
    ACCESS(unaligned_read, bytes, false, WEAK, false)                                              \
    ACCESS(unaligned_write, bytes, true, WEAK, false)                                              \
    VOLATILE(read, bytes, false)                                                                   \
    VOLATILE(write, bytes, true)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

#define RANGE(form, is_write)                                                                      \
    void __tsan_##form##_range(void *p, std::size_t bytes) {                                       \
        plain_access(p, bytes, is_write, __builtin_return_address(0), Strength::WEAK, false);      \
    }
RANGE(read, false)
RANGE(write, true)

// Atomics (std::atomic, shared_ptr, initialised statics): one thread of the operating system runs
// everything, so that all memory orders are the same.

void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

// One that makes *p `value`, and those that compare first.
#define ATOMIC(name, Word, value)                                                                  \
    Word name(volatile Word *p, Word v, int) {                                                     \
        return atomic_access<Word>(p, Word(value), __builtin_return_address(0));                   \
    }
#define ATOMIC_COMPARE(name, Word)                                                                 \
    bool name(volatile Word *p, Word *expected, Word v, int, int) {                                \
        const Word wanted = std::exchange(*expected, *p), value = wanted == *p ? v : *p;           \
        atomic_access<Word>(p, value, __builtin_return_address(0));                                \
        return wanted == *expected;                                                                \
    }
#define ATOMICS(prefix, Word)                                                                      \
    Word prefix##_load(volatile Word *p, int) {                                                    \
        return atomic_access<Word>(p, *p, __builtin_return_address(0));                            \
    }                                                                                              \
    void prefix##_store(volatile Word *p, Word v, int) { *p = v; }                                 \
    ATOMIC(prefix##_exchange, Word, v)                                                             \
    ATOMIC(prefix##_fetch_add, Word, *p + v)                                                       \
    ATOMIC(prefix##_fetch_sub, Word, *p - v)                                                       \
    ATOMIC(prefix##_fetch_and, Word, *p &v)                                                        \
    ATOMIC(prefix##_fetch_or, Word, *p | v)                                                        \
    ATOMIC(prefix##_fetch_xor, Word, *p ^ v)                                                       \
    ATOMIC(prefix##_fetch_nand, Word, ~(*p & v))                                                   \
    ATOMIC_COMPARE(prefix##_compare_exchange_strong, Word)                                         \
    ATOMIC_COMPARE(prefix##_compare_exchange_weak, Word)
ATOMICS(__tsan_atomic8, std::uint8_t)
ATOMICS(__tsan_atomic16, std::uint16_t)
ATOMICS(__tsan_atomic32, std::uint32_t)
ATOMICS(__tsan_atomic64, std::uint64_t)

} // extern "C"
} // namespace emulator
