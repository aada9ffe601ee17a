// Plain loads and stores of the kernel. The rung is compiled with -fsanitize=thread, so that the
// compiler calls __tsan_read4(address) and the like before each access; those functions are here.
// They find bank conflicts, count global bytes, record who accessed what, and check addresses.
// (-fno-tree-sra keeps a 16-byte access one access: without it the compiler reads the members of a
// uint4 one by one.)
#include "global_memory.h"
#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <ranges>
#include <tuple>

namespace emulator {
namespace {
constexpr int BANKS = 32;
constexpr int BANK_BYTES = 4;
constexpr int MOST_WORDS = 64; // of the lanes of one pass: 32, and more if not aligned
// Accesses of one instruction that a warp may have open between two synchronisations. In a longer
// loop without one, the rest is not counted.
constexpr std::uint32_t MOST_OPEN = 1 << 14;

// What the compiler made of one access, without its line: as OpenAccesses.
std::map<std::uintptr_t, emulator_access_site> instructions;

// ---------------------------------------------------------------------------- passes
// The passes that one access of lanes [first, first + lanes) to `bytes` each takes: the most
// different words in one bank. 0 if none of them takes part.
int passes_of_lanes(const WarpAccess &group, int first, int lanes, int bytes) {
    std::uint32_t seen[BANKS][MOST_WORDS];
    int ways[BANKS] = {};
    int most = 0;
    for (int lane = first; lane < first + lanes; ++lane) {
        if (!(group.lanes >> lane & 1))
            continue;
        const std::uint32_t last = (group.offsets[lane] + std::uint32_t(bytes) - 1) / BANK_BYTES;
        for (std::uint32_t word = group.offsets[lane] / BANK_BYTES; word <= last; ++word) {
            const std::uint32_t bank = word % BANKS;
            std::uint32_t *begin = seen[bank], *end = begin + ways[bank];
            if (std::find(begin, end, word) == end) {
                *end = word;
                most = std::max(most, ++ways[bank]);
            }
        }
    }
    return most;
}

// A warp's access: 4 bytes of all lanes in one pass, 8 of half of them, 16 of a quarter.
void count(const WarpAccess &group, emulator_access_site &totals) {
    const int phases = totals.bytes <= 4 ? 1 : totals.bytes <= 8 ? 2 : 4;
    const int lanes = WARP_LANES / phases;
    ++totals.instructions;
    for (int phase = 0; phase < phases; ++phase) {
        const int passes = passes_of_lanes(group, phase * lanes, lanes, totals.bytes);
        totals.wavefronts += std::uint64_t(passes);
        totals.ideal += passes > 0;
        if (passes > totals.worst_ways)
            std::ranges::copy(group.offsets, totals.worst);
        totals.worst_ways = std::max(totals.worst_ways, passes);
    }
}
} // namespace

void bank_access(const Thread &thread, std::uint32_t offset, int bytes, bool is_write,
                 std::uintptr_t pc) {
    OpenInstruction &open =
        thread.cta->warps[std::size_t(thread.warp())].accesses[pc * 2 + is_write];
    if (open.occurrences[thread.lane()] == MOST_OPEN)
        return;
    open.bytes = bytes;
    const std::uint32_t occurrence = open.occurrences[thread.lane()]++;
    WarpAccess &group =
        occurrence < open.groups.size() ? open.groups[occurrence] : open.groups.emplace_back();
    group.lanes |= 1u << thread.lane();
    group.offsets[thread.lane()] = offset;
}

void accesses_warp_met(Warp &warp) {
    for (auto &[key, open] : warp.accesses) {
        if (open.groups.empty())
            continue;
        emulator_access_site &totals = instructions[key];
        totals.is_write = key % 2 != 0;
        totals.bytes = open.bytes;
        for (const WarpAccess &group : open.groups)
            count(group, totals);
        open.groups.clear();
        std::ranges::fill(open.occurrences, 0);
    }
}

void bank_reset() { instructions.clear(); }

std::vector<emulator_access_site> access_sites() {
    std::map<std::tuple<std::string, int, bool, int>, emulator_access_site> sums;
    std::vector<std::uintptr_t> pcs;
    for (const auto &[key, part] : instructions)
        pcs.push_back(key / 2);
    const std::vector<Place> places = places_of(pcs);
    auto place = places.begin();
    for (const auto &[key, part] : instructions) {
        emulator_access_site &sum = sums[{place->file, place->line, part.is_write, part.bytes}];
        std::snprintf(sum.file, sizeof sum.file, "%s", place->file.c_str());
        sum.line = place->line;
        sum.is_write = part.is_write;
        sum.bytes = part.bytes;
        ++place;
        sum.instructions += part.instructions;
        sum.wavefronts += part.wavefronts;
        sum.ideal += part.ideal;
        if (part.worst_ways > sum.worst_ways)
            std::ranges::copy(part.worst, sum.worst);
        sum.worst_ways = std::max(sum.worst_ways, part.worst_ways);
    }
    const auto values = std::views::values(sums);
    std::vector<emulator_access_site> sites(values.begin(), values.end());
    std::ranges::stable_sort(sites, std::ranges::greater(),
                             [](const auto &site) { return site.wavefronts - site.ideal; });
    return sites;
}

// ---------------------------------------------------------------------------- accesses
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
