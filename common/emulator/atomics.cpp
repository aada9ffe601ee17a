#include "emulator/atomics.h"

#include "emulator/global_memory.h"
#include "emulator/machine.h"
#include "emulator/strictness.h"

namespace emulator {

// Nothing is tracked yet.
void order_release(void *, Scope, Order) {}
void order_acquire(const void *, Scope, Order) {}
void order_fence(Scope, Order) {}

namespace {

constexpr std::size_t WIDEST_ATOMIC = 16;
constexpr int MOST_POLLS = 100000; // of one address, in a row, that change nothing

// Copies 1, 2, 4, 8 or 16 bytes without a call (copy.h).
void copy_word(void *to, const void *from, std::size_t bytes) {
    switch (bytes) {
    case 1:
        __builtin_memcpy(to, from, 1);
        break;
    case 2:
        __builtin_memcpy(to, from, 2);
        break;
    case 4:
        __builtin_memcpy(to, from, 4);
        break;
    case 8:
        __builtin_memcpy(to, from, 8);
        break;
    default:
        __builtin_memcpy(to, from, WIDEST_ATOMIC);
    }
}

// The CTA of the cluster in whose shared memory the address is; nullptr for none.
Cta *cta_with(const void *address) {
    if (current->cta->shared.contains(address))
        return current->cta;
    for (const std::unique_ptr<Cta> &cta : current_cluster->ctas)
        if (cta->shared.contains(address))
            return cta.get();
    return nullptr;
}

void check_alignment(const void *address, std::size_t bytes, Site where) {
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
        fail(Mistake::ADDRESS,
             format("an atomic access of %zu bytes at %p, which is not aligned to them", bytes,
                    address),
             where, "accessed it here");
}

} // namespace

void atomic_step(void *address, std::size_t bytes, Touch touch, Order order, Scope scope,
                 void (*change)(void *word, const void *context), const void *context, Site where) {
    Thread &thread = *current;
    let_others_write(address, where);
    schedule_point();
    check_alignment(address, bytes, where);
    Cta *const cta = cta_with(address);
    if (cta == nullptr) {
        check_global(address, bytes, "an atomic access", where);
        races::tell_clusters_apart();
    }
    if (touch != Touch::READ)
        order_release(address, scope, order);
    alignas(WIDEST_ATOMIC) unsigned char word[WIDEST_ATOMIC];
    copy_word(word, address, bytes);
    change(word, context);
    if (touch != Touch::READ) {
        if (__builtin_memcmp(address, word, bytes) != 0)
            thread.polls = 0;
        copy_word(address, word, bytes);
        if (cta == thread.cta)
            cta->shared.wrote(thread, cta->shared.offset_of(address), bytes, where);
    }
    if (touch != Touch::WRITE)
        order_acquire(address, scope, order);
}

void let_others_write(const void *address, const Origin &where) {
    Thread &thread = *current;
    if (std::exchange(thread.polled, address) != address) {
        thread.polls = 0;
        return;
    }
    if (++thread.polls == MOST_POLLS)
        fail(Mistake::DEADLOCK,
             format("a thread accesses %p again and again, and no other thread changes what is "
                    "there. (Clusters run one after the other here, and may not wait for each "
                    "other.)",
                    address),
             where, "accessed it here");
    let_others_run();
}

void thread_fence(Scope scope, Order order, Site) {
    schedule_point();
    order_fence(scope, order);
}

} // namespace emulator
