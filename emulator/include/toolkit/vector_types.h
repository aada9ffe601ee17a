// CUDA's vector types, as far as the rungs use them. (CUDA C++ Programming Guide: Built-in Vector
// Types.) Copying one of 8 or 16 bytes is one access of that width, as it is on a GPU: the emulator
// counts accesses. The compiler would copy the members one by one, hence the constructors.
#pragma once

#include <stdint.h>

namespace emulator::access {
// The types that a vector is copied as. Both may alias any type.
typedef uint64_t __attribute__((may_alias)) Eight;
typedef uint32_t __attribute__((may_alias, vector_size(16))) Sixteen;

// One access; returns what was copied to.
template <typename Whole, typename Vector>
Vector &copy(Vector *to, const Vector &from) {
    *reinterpret_cast<Whole *>(to) = reinterpret_cast<const Whole &>(from);
    return *to;
}

// Two and four components of type T. The default constructor is constexpr, so that a __shared__
// array of them needs no initialisation while a kernel runs.
template <typename T>
struct alignas(8) Two {
    T x, y;

    constexpr Two() : x(), y() {}
    constexpr Two(T first, T second) : x(first), y(second) {}
    Two(const Two &other) { copy<Eight>(this, other); }
    Two &operator=(const Two &other) { return copy<Eight>(this, other); }
};

template <typename T>
struct alignas(16) Four {
    T x, y, z, w;

    constexpr Four() : x(), y(), z(), w() {}
    constexpr Four(T first, T second, T third, T fourth)
        : x(first), y(second), z(third), w(fourth) {}
    Four(const Four &other) { copy<Sixteen>(this, other); }
    Four &operator=(const Four &other) { return copy<Sixteen>(this, other); }
};
} // namespace emulator::access

// Vectors of 2 to 4 components, and functions that make them.
#define EMULATOR_VECTORS(T, name)                                                                  \
    struct name##3 {                                                                               \
        T x, y, z;                                                                                 \
    };                                                                                             \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                     \
    inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                             \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define EMULATOR_WHOLE_VECTORS(T, name)                                                            \
    using name##2 = emulator::access::Two<T>;                                                      \
    using name##4 = emulator::access::Four<T>;                                                     \
    EMULATOR_VECTORS(T, name)
// Those of other sizes, whose members the compiler copies as it likes.
#define EMULATOR_PLAIN_VECTORS(T, name)                                                            \
    struct alignas(2 * sizeof(T)) name##2 {                                                        \
        T x, y;                                                                                    \
    };                                                                                             \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 {                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    EMULATOR_VECTORS(T, name)
EMULATOR_WHOLE_VECTORS(int, int)
EMULATOR_WHOLE_VECTORS(unsigned, uint)
EMULATOR_WHOLE_VECTORS(float, float)
EMULATOR_PLAIN_VECTORS(signed char, char)
EMULATOR_PLAIN_VECTORS(unsigned char, uchar)
EMULATOR_PLAIN_VECTORS(short, short)
EMULATOR_PLAIN_VECTORS(unsigned short, ushort)
EMULATOR_PLAIN_VECTORS(long long, longlong)
EMULATOR_PLAIN_VECTORS(unsigned long long, ulonglong)
EMULATOR_PLAIN_VECTORS(double, double)
#undef EMULATOR_PLAIN_VECTORS
#undef EMULATOR_WHOLE_VECTORS
#undef EMULATOR_VECTORS

// Dimensions that are not given are 1.
struct dim3 {
    unsigned x, y, z;

    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 from) : x(from.x), y(from.y), z(from.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
