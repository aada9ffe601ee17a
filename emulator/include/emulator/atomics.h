// Accesses with an order and a scope: atomics, loads and stores such as ld.acquire, and fences.
// All threads run one at a time, so that values need nothing. (PTX ISA: Memory Consistency Model.)
#pragma once

#include "emulator/site.h"

#include <cmath>
#include <cstddef>
#include <type_traits>

namespace emulator {
enum class Order { RELAXED, ACQUIRE, RELEASE, ACQ_REL };
enum class Scope { CTA, CLUSTER, GPU, SYS };

// What an atomic access does to its memory.
enum class Touch { READ, WRITE, CHANGE };

// Until its end the thread's atomics are `operation`, which commutes, and it ignores their results.
struct Unused {
    explicit Unused(const char *operation);
    ~Unused();
};

// Copies the `bytes` bytes, at most 16, lets `change` see and change the copy, and writes it back
// unless it was only to be read. Of shared memory of the cluster, or global memory. `rounds`: sums.
void atomic_step(void *address, std::size_t bytes, Touch touch, Order order, Scope scope,
                 void (*change)(void *word, const void *context), const void *context, Site where,
                 bool rounds);

// *address becomes change(*address), unless it is only to be read; returns what was there.
template <typename T, typename Change>
T atomic_change(T *address, const Change &change, Order order, Scope scope, Site where,
                Touch touch = Touch::CHANGE) {
    T old;
    const auto step = [&](T &word) {
        __builtin_memcpy(&old, &word, sizeof old);
        word = change(word);
    };
    const auto call = [](void *word, const void *context) {
        (*static_cast<const decltype(step) *>(context))(*static_cast<T *>(word));
    };
    atomic_step(address, sizeof(T), touch, order, scope, call, &step, where,
                !std::is_integral_v<T>);
    return old;
}

// ld and st with an order.
template <typename T>
T atomic_load(const T *address, Order order, Scope scope, Site where) {
    const auto same = [](const T &was) { return was; };
    return atomic_change(const_cast<T *>(address), same, order, scope, where, Touch::READ);
}
template <typename T>
void atomic_store(T *address, const T &value, Order order, Scope scope, Site where) {
    const auto stored = [&](const T &) { return value; };
    atomic_change(address, stored, order, scope, where, Touch::WRITE);
}

// fence.acq_rel and membar.
void thread_fence(Scope scope);

// The operations min and max, of which a NaN is none, inc and dec; and what compares bits.
namespace atomic {
inline constexpr auto smaller = []<typename T>(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return b < a ? b : a;
    else
        return T(std::fmin(a, b));
};
inline constexpr auto larger = []<typename T>(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return a < b ? b : a;
    else
        return T(std::fmax(a, b));
};
inline constexpr auto increment = []<typename T>(T old, T limit) {
    return old >= limit ? T(0) : T(old + 1);
};
inline constexpr auto decrement = []<typename T>(T old, T limit) {
    return old == 0 || old > limit ? limit : T(old - 1);
};
inline constexpr auto same_bits = []<typename T>(const T &a, const T &b) {
    return __builtin_memcmp(&a, &b, sizeof(T)) == 0;
};
} // namespace atomic

// atom.cas, which compares bits.
template <typename T>
T atomic_cas(void *address, T compared, T value, Order order, Scope scope, Site where) {
    const auto change = [&](T old) { return atomic::same_bits(old, compared) ? value : old; };
    return atomic_change(static_cast<T *>(address), change, order, scope, where);
}
} // namespace emulator
