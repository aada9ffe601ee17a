// What a kernel calls of the runtime, and what a translated program does.
#include "emulator/ptx.h"

#include "global_memory.h"
#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace emulator {
Counts counts{};

void *dynamic_shared(std::size_t bytes, Site where) {
    const SharedMemory &shared = current->cta->shared;
    const std::size_t asked_for = shared.dynamic_size();
    if (bytes > asked_for)
        fail(Mistake::MISUSE, {note_at(where, "taken here")},
             "the kernel takes %zu bytes of dynamic shared memory, and the launch requested "
             "%zu",
             bytes, asked_for);
    return shared.dynamic();
}

int cluster_cta_rank() { return current->cta->rank; }

int cluster_ctas() { return int(current_cluster->ctas.size()); }

void wait_for_launch_before() {
    schedule_point();
    order::waited_for_launch_before();
}

void fence_proxy_async(bool shared, bool global) {
    schedule_point();
    if (shared)
        order::fence_proxy(Space::SHARED, !translated_program);
    if (global)
        order::fence_proxy(Space::GLOBAL, !translated_program);
}

void sleep() { schedule_point(); }

void clock_read(Site where) { proof::fails(proof::CHOICES, "a clock is read", where); }

bool is_shared(const void *address) { return current->cta->shared.contains(address); }

// ---------------------------------------------------------------------------- atomics
Unused::Unused(const char *operation) { current->ignored = operation; }
Unused::~Unused() { current->ignored = nullptr; }

void atomic_step(void *address, std::size_t bytes, Touch touch, Order order, Scope scope,
                 void (*change)(void *word, const void *context), const void *context, Site where,
                 bool rounds) {
    const char *const ignored = touch == Touch::CHANGE ? current->ignored : nullptr;
    if (ignored != nullptr && rounds)
        proof::fails(proof::SUMS, "", where);
    proof::does_something_else();
    schedule_point();
    if (std::uintptr_t(address) % bytes != 0)
        fail(Mistake::ADDRESS, where, "accessed it here",
             "an atomic access of %zu bytes at %p, which is not aligned to them", bytes, address);
    const CellAccess access{.is_write = touch != Touch::READ,
                            .where = where,
                            .strength = Strength::ATOMIC,
                            .scope = scope,
                            .reads_too = touch == Touch::CHANGE,
                            .commuting = ignored};
    const proof::Access one{static_cast<const char *>(address), bytes, touch, ignored};
    if (proof::is_explored)
        proof::wait_for_turn(one, where);
    const auto &ctas = current_cluster->ctas;
    const auto cta = std::ranges::find_if(
        ctas, [address](const auto &one) { return one->shared.contains(address); });
    if (cta != ctas.end()) {
        access_shared(**cta, (*cta)->shared.offset_of(address), bytes, access);
    } else {
        check_global(address, bytes, "an atomic access", where);
        access_global(address, bytes, access);
    }
    const bool changes = touch == Touch::CHANGE, both = order == Order::ACQ_REL;
    const char *did = touch == Touch::READ ? "reads" : changes ? "changes" : "writes";
    story::record(where, did, "atomic at %p", address);
    // A relaxed access may belong to a fence.
    if (touch != Touch::WRITE)
        order::atomic_read(address, scope, both || order == Order::ACQUIRE);
    if (touch != Touch::READ)
        order::atomic_write(address, scope, both || order == Order::RELEASE, changes);
    story::record(where, did, "atomic at %p", address);
    alignas(16) unsigned char word[16]; // the widest
    std::memcpy(word, address, bytes);
    change(word, context);
    // A read, or a change that changes nothing, may be part of a loop.
    const bool same = touch == Touch::CHANGE && std::memcmp(address, word, bytes) == 0;
    if (touch == Touch::READ || same)
        may_spin(address, where);
    else
        std::memcpy(address, word, bytes);
    if (proof::is_explored)
        proof::accessed(one, same ? Touch::READ : touch);
}

void thread_fence(Scope scope) {
    schedule_point();
    order::fence(scope);
}

namespace ptx {
namespace {
constexpr int RANK_SHIFT = 24;
constexpr std::uint32_t OFFSET_MASK = (1u << RANK_SHIFT) - 1;

Cta &own() { return *current->cta; }

void check_own(std::uint32_t address, const char *what, Site where) {
    const std::uint32_t rank = cta_rank_of(address);
    if (rank >= current->cta->cluster->ctas.size())
        reject(where,
               "%s with 0x%x, which is no shared address: __cvta_generic_to_shared makes one", what,
               address);
    if (int(rank) != own().rank)
        reject(where,
               "%s with shared address 0x%x, of CTA %u: only the own CTA's is allowed here, "
               "or modelled",
               what, address, rank);
}
} // namespace

// ---------------------------------------------------------------------------- special registers
uint3 cluster_nctaid() {
    const uint3 first = current_cluster->ctas.front()->block_index;
    const uint3 last = current_cluster->ctas.back()->block_index;
    return {last.x - first.x + 1, last.y - first.y + 1, last.z - first.z + 1};
}

std::uint32_t laneid() { return std::uint32_t(current->lane()); }
std::uint32_t warpid() { return std::uint32_t(current->warp()); }
std::uint32_t nwarpid() { return std::uint32_t(own().warps.size()); }

// CTAs take the SMs from the last to the first: a program may not count on their order.
std::uint32_t smid() {
    const std::uint64_t cta =
        (std::uint64_t(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    return std::uint32_t(MULTIPROCESSORS - 1 - cta % MULTIPROCESSORS);
}

std::uint32_t total_smem_size() { return std::uint32_t(own().shared.size()); }

std::uint32_t dynamic_smem_size() {
    const SharedMemory &shared = own().shared;
    return std::uint32_t(shared.size() - shared.offset_of(shared.dynamic()));
}

// ---------------------------------------------------------------------------- addresses
SharedRef any_at(std::uint32_t address, Site where) {
    const std::uint32_t in_cta = address & OFFSET_MASK;
    if (in_cta < SHARED_BASE || in_cta - SHARED_BASE >= own().shared.size())
        fail(Mistake::ADDRESS, where, "used it here",
             "shared address 0x%x: the CTA's memory is 0x%x to 0x%zx", address, SHARED_BASE,
             SHARED_BASE + own().shared.size());
    return {&cta_of_rank(int(cta_rank_of(address)), where), in_cta - SHARED_BASE};
}

SharedRef own_at(std::uint32_t address, const char *what, Site where) {
    check_own(address, what, where);
    return any_at(address, where);
}

SharedRef used_at(std::uint32_t address, Site where) {
    const SharedRef place = any_at(address, where);
    check_peer(*place.cta, where);
    peer_uses(*place.cta, where);
    return place;
}

void *memory_of(SharedRef place, std::size_t bytes) {
    return place.cta->shared.generic(place.offset, bytes);
}

std::uint32_t mapa(std::uint32_t address, std::uint32_t rank, Site where) {
    check_own(address, "mapa", where);
    cta_of_rank(int(rank), where);
    return (address & OFFSET_MASK) | (rank + 1) << RANK_SHIFT;
}

std::uint32_t cta_rank_of(std::uint32_t address) {
    const std::uint32_t rank = address >> RANK_SHIFT;
    return rank == 0 ? std::uint32_t(own().rank) : rank - 1;
}

void *memory_at(Space space, std::uint64_t address, std::size_t bytes, Site where) {
    if (address % bytes != 0)
        fail(Mistake::MISUSE, where, "accessed it here",
             "an access of %zu bytes that is not aligned to them", bytes);
    if (space == Space::GENERIC)
        return global(address);
    const std::uint32_t shared = std::uint32_t(address);
    return memory_of(space == Space::SHARED ? own_at(shared, "a plain access", where)
                                            : any_at(shared, where),
                     bytes);
}

// ---------------------------------------------------------------------------- reductions
Reduce reduction_of(const void *map, std::initializer_list<TypedReduction> known, Site where) {
    TensorDescription tensor;
    std::memcpy(&tensor, map, sizeof tensor);
    for (const auto &[type, reduce] : known)
        if (type == tensor.type)
            return reduce;
    reject(where, "cp.reduce.async.bulk.tensor of elements of CUtensorMapDataType %d", tensor.type);
}

// ---------------------------------------------------------------------------- synchronisation
void unknown(const char *file, int line, const char *what) {
    give_up("%s:%d: %s\nemulator: the emulator does not know this", file, line, what);
}

void trap(Site where) { fail(Mistake::MISUSE, where, "trapped here", "the kernel traps"); }
} // namespace ptx

// ---------------------------------------------------------------------------- translated programs
bool translated_program = false;

constexpr std::size_t STATIC_SHARED = 48 * 1024; // that a kernel may have

static KernelBounds *described = nullptr;
static std::size_t most_shared = 0; // static and dynamic, of this launch's kernel

// The offsets of __shared__ variables, by their types, in this launch. And its __grid_constant__
// parameters: their bytes, by how far below the end of a thread's stack they are in all threads.
static std::map<const void *, std::size_t> places;
static std::map<std::ptrdiff_t, std::size_t> constants;

bool policy_from_environment() {
    const char *policy = std::getenv("EMULATOR_POLICY");
    const char *seed = std::getenv("EMULATOR_SEED");
    if (policy != nullptr &&
        !emulator_choose_policy(policy, std::strtoull(seed != nullptr ? seed : "1", nullptr, 10)))
        give_up("EMULATOR_POLICY: there is no policy '%s'", policy);
    return true;
}

bool begin_translated_program() {
    translated_program = true;
    static_shared_capacity = STATIC_SHARED;
    if (std::getenv("EMULATOR_PROOF") != nullptr)
        std::atexit([] {
            std::fflush(stdout);
            std::fprintf(stderr, "emulator proof: %s\n", emulator_proof());
        });
    return policy_from_environment();
}

void *static_shared(const void *type, std::size_t bytes, std::size_t alignment, Site where) {
    // What is aligned is the shared address. (PTX ISA: Alignment.)
    const SharedMemory &shared = current->cta->shared;
    const std::size_t base = SHARED_BASE + shared.offset_of(shared.static_part());
    const std::size_t free =
        (base + static_shared_used + alignment - 1) / alignment * alignment - base;
    const std::size_t place = places.try_emplace(type, free).first->second;
    const std::size_t end = place + bytes, dynamic = shared.dynamic_size();
    const char *const came = "came to the declaration that is too much";
    if (end > STATIC_SHARED)
        fail(Mistake::MISUSE, where, came,
             "the kernel has %zu bytes of static shared memory, and may have %zu", end,
             STATIC_SHARED);
    if (end + dynamic > most_shared)
        fail(Mistake::MISUSE, where, came,
             "the kernel has %zu bytes of static and %zu of dynamic shared memory, and may have "
             "%zu: the launch fails",
             end, dynamic, most_shared);
    static_shared_used = std::max(static_shared_used, end);
    return shared.static_part() + place;
}

static bool is_allowed(const std::string &name) {
    const char *allowed = translated_program ? std::getenv("EMULATOR_ALLOW") : nullptr;
    const std::string names = std::string(",") + (allowed != nullptr ? allowed : "") + ",";
    return names.find("," + name + ",") != std::string::npos || names == ",all,";
}

bool declare_dynamic_shared(std::size_t alignment) {
    constexpr std::size_t LEAST = 32, MOST = 1024;
    static std::size_t largest = LEAST;
    largest = std::max(largest, alignment);
    dynamic_shared_begin = largest < MOST ? largest : 0;
    return true;
}

static std::ptrdiff_t below_end(const void *local) {
    return fiber_stack_end(fiber_stack_of(local)) - static_cast<const char *>(local);
}

void grid_constant(const void *parameter, std::size_t bytes) {
    constants.try_emplace(below_end(parameter), bytes);
}

bool is_local(const void *address) {
    if (fiber_stack_of(address) < 0)
        return false;
    const std::ptrdiff_t place = below_end(address);
    const auto constant = constants.lower_bound(place);
    return constant == constants.end() ||
           constant->first - place >= std::ptrdiff_t(constant->second);
}

void forget_static_shared(std::size_t most) {
    most_shared = most;
    if (is_allowed("shared-alignment"))
        dynamic_shared_begin = 0;
    constants.clear();
    places.clear();
    static_shared_used = 0;
}

bool describes_kernel(dim3 cluster, int threads, int ctas, int) {
    if (described == nullptr)
        return false;
    *described = {cluster, threads, ctas};
    return true;
}

KernelBounds bounds_of_kernel(void (*call)(const void *context), const void *context) {
    KernelBounds bounds;
    described = &bounds;
    call(context);
    described = nullptr;
    return bounds;
}

std::string hint_on_alignment() {
    if (dynamic_shared_begin == 0)
        return "";
    return format(
        " (dynamic shared memory is aligned to %zu bytes, as the program declares it: on a "
        "GPU more is luck [shared-alignment])",
        dynamic_shared_begin);
}

void fail_unless_allowed(const char *name, Mistake mistake, const std::vector<Note> &notes,
                         const char *what, ...) {
    std::va_list arguments;
    va_start(arguments, what);
    const std::string text = printed(what, arguments);
    va_end(arguments);
    if (!is_allowed(name))
        fail(mistake, notes, translated_program ? "%s [%s]" : "%s", text.c_str(), name);
    static std::set<std::tuple<std::string, std::string, int>> said;
    proof::fails(proof::RACES, "a report is allowed", Site{});
    if (said.insert({name, notes.front().file, notes.front().line}).second)
        warn(mistake, format("%s [%s, allowed]", text.c_str(), name), notes);
}
} // namespace emulator

void emulator_get_counts(emulator_counts *counts) {
    const emulator::Counts &all = emulator::counts;
    const double samples = double(std::max<uint64_t>(all.ring_ahead_samples, 1));
    *counts = all;
    counts->ring_ahead_mean = double(all.ring_ahead_sum) / samples;
}

size_t emulator_get_access_sites(emulator_access_site *sites, size_t most) {
    const std::vector<emulator_access_site> found = emulator::access_sites();
    std::copy_n(found.begin(), std::min(most, found.size()), sites);
    return found.size();
}
