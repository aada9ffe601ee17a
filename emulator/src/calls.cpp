// What a kernel calls of the runtime.
#include "emulator/atomics.h"
#include "global_memory.h"
#include "machine.h"
#include "emulator/runtime.h"
#include "strictness.h"

#include <algorithm>
#include <cstring>

namespace emulator {

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
    // A relaxed access may belong to a fence. Approximate: the read of a relaxed change needs no
    // fence after it, as in CUDA's own examples.
    if (touch != Touch::WRITE)
        order::atomic_read(address, scope,
                           (changes && ignored == nullptr) || both || order == Order::ACQUIRE);
    if (touch != Touch::READ)
        order::atomic_write(address, scope, both || order == Order::RELEASE, changes);
    story::record(where, did, "atomic at %p", address);
    alignas(16) unsigned char word[16]; // the widest
    std::memcpy(word, address, bytes);
    change(word, context);
    // A read, or a change that changes nothing, may be part of a loop.
    if (touch == Touch::READ || (touch == Touch::CHANGE && std::memcmp(address, word, bytes) == 0))
        may_spin(address, where);
    else
        std::memcpy(address, word, bytes);
}

void thread_fence(Scope scope) {
    schedule_point();
    order::fence(scope);
}

} // namespace emulator
