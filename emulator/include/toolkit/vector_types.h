// CUDA's vector types, as far as the rungs use them. (CUDA C++ Programming Guide: Built-in Vector
// Types.) Copying one of 8 or 16 bytes is one access of that width, as it is on a GPU: the emulator
// counts accesses. The compiler would copy the members one by one, hence the constructors.
#pragma once

#include <stdint.h>

namespace emulator::access {

// The types that a vector is copied as. Both may alias any type.
typedef uint64_t __attribute__((may_alias)) Eight;
typedef uint32_t __attribute__((may_alias, vector_size(16))) Sixteen;

// One access of 8 or 16 bytes.
inline void copy8(void *to, const void *from) {
    *static_cast<Eight *>(to) = *static_cast<const Eight *>(from);
}
inline void copy16(void *to, const void *from) {
    *static_cast<Sixteen *>(to) = *static_cast<const Sixteen *>(from);
}

// Two and four components of type T. The default constructor is constexpr, so that a __shared__
// array of them needs no initialisation while a kernel runs.
template <typename T>
struct alignas(8) Two {
    T x, y;

    constexpr Two() : x(), y() {}
    Two(T first, T second) : x(first), y(second) {}
    Two(const Two &other) { copy8(this, &other); }
    Two &operator=(const Two &other) {
        copy8(this, &other);
        return *this;
    }
};

template <typename T>
struct alignas(16) Four {
    T x, y, z, w;

    constexpr Four() : x(), y(), z(), w() {}
    Four(T first, T second, T third, T fourth) : x(first), y(second), z(third), w(fourth) {}
    Four(const Four &other) { copy16(this, &other); }
    Four &operator=(const Four &other) {
        copy16(this, &other);
        return *this;
    }
};

} // namespace emulator::access

using int2 = emulator::access::Two<int>;
using int4 = emulator::access::Four<int>;
using uint2 = emulator::access::Two<unsigned>;
using uint4 = emulator::access::Four<unsigned>;
using float2 = emulator::access::Two<float>;
using float4 = emulator::access::Four<float>;

struct uint3 {
    unsigned x, y, z;
};
struct int3 {
    int x, y, z;
};
struct float3 {
    float x, y, z;
};

// Vectors of other sizes, whose members the compiler copies as it likes.
#define EMULATOR_VECTORS(T, name)                                                                  \
    struct alignas(2 * sizeof(T)) name##2 {                                                        \
        T x, y;                                                                                    \
    };                                                                                             \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 {                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                     \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMULATOR_VECTORS(signed char, char)
EMULATOR_VECTORS(unsigned char, uchar)
EMULATOR_VECTORS(short, short)
EMULATOR_VECTORS(unsigned short, ushort)
EMULATOR_VECTORS(long long, longlong)
EMULATOR_VECTORS(unsigned long long, ulonglong)
EMULATOR_VECTORS(double, double)
#undef EMULATOR_VECTORS

// Dimensions that are not given are 1.
struct dim3 {
    unsigned x, y, z;

    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 from) : x(from.x), y(from.y), z(from.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

// From their components.
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
