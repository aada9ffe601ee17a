// Atomic functions and memory fences. Atomics are relaxed; their scope is the device, the CTA with
// _block, the system with _system. (CUDA C++ Programming Guide: Atomic Functions; Memory Fence
// Functions.)
#pragma once

#include "emulator/atomics.h"

#include <type_traits>

// *address becomes `expression` of what was there, `old`, which is returned, in one step.
#define EMULATOR_ATOMIC_OF(name, scope, expression)                                                \
    template <typename T>                                                                          \
    T name(T *address, std::type_identity_t<T> value, EMULATOR_SITE) {                             \
        return emulator::atomic_change(                                                            \
            address, [&](T old) { return T(expression); }, emulator::Order::RELAXED,               \
            emulator::Scope::scope, where);                                                        \
    }
#define EMULATOR_ATOMIC(name, expression)                                                          \
    EMULATOR_ATOMIC_OF(name, GPU, expression)                                                      \
    EMULATOR_ATOMIC_OF(name##_block, CTA, expression)                                              \
    EMULATOR_ATOMIC_OF(name##_system, SYS, expression)
EMULATOR_ATOMIC(atomicAdd, old + value)
EMULATOR_ATOMIC(atomicSub, old - value)
EMULATOR_ATOMIC(atomicExch, ((void)old, value))
EMULATOR_ATOMIC(atomicMin, emulator::atomic::smaller(old, value))
EMULATOR_ATOMIC(atomicMax, emulator::atomic::larger(old, value))
EMULATOR_ATOMIC(atomicInc, emulator::atomic::increment(old, value))
EMULATOR_ATOMIC(atomicDec, emulator::atomic::decrement(old, value))
EMULATOR_ATOMIC(atomicAnd, old &value)
EMULATOR_ATOMIC(atomicOr, old | value)
EMULATOR_ATOMIC(atomicXor, old ^ value)
#undef EMULATOR_ATOMIC
#undef EMULATOR_ATOMIC_OF

// *address becomes `value` if it is `compared`; returns what was there.
#define EMULATOR_ATOMIC_CAS(name, scope)                                                           \
    template <typename T>                                                                          \
    T name(T *address, std::type_identity_t<T> compared, std::type_identity_t<T> value,            \
           EMULATOR_SITE) {                                                                        \
        return emulator::atomic_cas(address, compared, value, emulator::Order::RELAXED,            \
                                    emulator::Scope::scope, where);                                \
    }
EMULATOR_ATOMIC_CAS(atomicCAS, GPU)
EMULATOR_ATOMIC_CAS(atomicCAS_block, CTA)
EMULATOR_ATOMIC_CAS(atomicCAS_system, SYS)
#undef EMULATOR_ATOMIC_CAS

// fence.acq_rel, by scope.
inline void __threadfence() { emulator::thread_fence(emulator::Scope::GPU); }
inline void __threadfence_block() { emulator::thread_fence(emulator::Scope::CTA); }
inline void __threadfence_system() { emulator::thread_fence(emulator::Scope::SYS); }
