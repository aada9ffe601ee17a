// What translate/ makes of inline PTX calls these functions and, by their names here, those of the
// headers that this one includes. Device code that was not written for the emulator includes it
// first. (PTX ISA: Instruction Set.)
//
// A shared address is an offset in the CTA's shared memory, as shared_address() has it; in its
// upper 8 bits it has the rank of another CTA of the cluster, plus 1, if mapa put it there.
#pragma once

#include "emulator/atomics.h"
#include "emulator/together.h"
#include "emulator/asynchronous.h"
#include "formats/half.h"
#include "emulator/report.h"
#include "emulator/runtime.h"
#include "emulator/tensor_core.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace emulator::ptx {
using namespace emulator;

#define EMULATOR_INLINE inline __attribute__((always_inline))

// ---------------------------------------------------------------------------- registers
// A register as a T: its bits, or its low bits. Numbers of another width are converted.
template <typename T, typename From>
EMULATOR_INLINE T get(const From &from) {
    constexpr bool IS_INTEGER = std::is_integral_v<From> || std::is_enum_v<From>;
    if constexpr (std::is_same_v<T, bool>)
        return from != 0;
    else if constexpr (std::is_pointer_v<From>)
        return T(std::uintptr_t(from));
    else if constexpr ((IS_INTEGER && std::is_integral_v<T>) ||
                       (std::is_floating_point_v<From> && std::is_floating_point_v<T>))
        return T(from);
    else {
        constexpr bool IS_IMMEDIATE = IS_INTEGER && sizeof(From) == 8;
        static_assert(sizeof(T) == sizeof(From) || (IS_IMMEDIATE && sizeof(T) < 8),
                      "a PTX operand of another size than its register");
        T value;
        __builtin_memcpy(&value, &from, sizeof value);
        return value;
    }
}

// Sets a register.
template <typename To, typename From>
EMULATOR_INLINE void put(To &to, const From &from) {
    to = get<To>(from);
}

// mov with a vector of 16 or 32 bits each: the first register has the low bits.
template <typename Whole, int COUNT>
using Part = std::conditional_t<sizeof(Whole) == 4 * COUNT, std::uint32_t, std::uint16_t>;
template <typename T, typename... Parts>
EMULATOR_INLINE T pack(const Parts &...parts) {
    const Part<T, sizeof...(parts)> values[] = {get<Part<T, sizeof...(parts)>>(parts)...};
    return get<T>(values);
}
template <typename From, typename... Parts>
EMULATOR_INLINE void unpack(const From &from, Parts &...parts) {
    Part<From, sizeof...(parts)> values[sizeof...(parts)], *next = values;
    static_assert(sizeof values == sizeof from, "a PTX vector of other than 16 or 32 bits each");
    __builtin_memcpy(values, &from, sizeof values);
    (put(parts, *next++), ...);
}

// ---------------------------------------------------------------------------- special registers
// By their names in PTX, where a dot is an underscore.
uint3 cluster_nctaid();
std::uint32_t laneid();
std::uint32_t warpid();
std::uint32_t nwarpid();
std::uint32_t smid();
std::uint32_t dynamic_smem_size();
std::uint32_t total_smem_size();

// ---------------------------------------------------------------------------- arithmetic
// A number of a 16-bit format: arithmetic is that of double, and rounds once.
template <auto WIDEN, auto NARROW, auto MOST>
struct Narrow {
    static constexpr float LARGEST = MOST;
    std::uint16_t bits;

    Narrow() = default;
    EMULATOR_INLINE Narrow(double value) : bits(NARROW(narrow_for_rounding(value))) {}
    EMULATOR_INLINE operator double() const { return WIDEN(bits); }
};
using F16 = Narrow<float_of_half, half_of_float, 65504.0f>;
using BF16 = Narrow<float_of_bf16, bf16_of_float, 0x1.fep127f>;

// f16x2 and bf16x2.
template <typename Format>
struct Pair {
    Format low, high;
};

// The unsigned type in which an integer instruction calculates; other numbers as they are.
template <typename T>
EMULATOR_INLINE auto bits(T value) {
    if constexpr (std::is_integral_v<T>)
        return std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>(
            std::make_unsigned_t<T>(value));
    else
        return value;
}

// The operations of instructions, of atom and red, and of bulk copies that reduce.
inline constexpr auto op_add = [](auto a, auto b) { return decltype(a)(bits(a) + bits(b)); };
inline constexpr auto op_sub = [](auto a, auto b) { return decltype(a)(bits(a) - bits(b)); };
inline constexpr auto op_mul = [](auto a, auto b) { return decltype(a)(bits(a) * bits(b)); };
inline constexpr auto op_neg = [](auto a) { return -a; };
inline constexpr auto op_abs = [](auto a) { return std::fabs(a); };
inline constexpr auto op_fma = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
inline constexpr auto op_fma_relu = [](auto a, auto b, auto c) {
    return std::fmax(std::fma(a, b, c), 0);
};
inline constexpr auto op_min = atomic::smaller;
inline constexpr auto op_max = atomic::larger;
inline constexpr auto op_inc = atomic::increment;
inline constexpr auto op_dec = atomic::decrement;
inline constexpr auto op_and = [](auto a, auto b) { return decltype(a)(a & b); };
inline constexpr auto op_or = [](auto a, auto b) { return decltype(a)(a | b); };
inline constexpr auto op_xor = [](auto a, auto b) { return decltype(a)(a ^ b); };
inline constexpr auto op_exch = [](auto, auto b) { return b; };

// An operation on numbers, or on both of a pair.
template <typename Operation, typename T, typename... Others>
EMULATOR_INLINE T calculate(const Operation &operation, T a, Others... others) {
    return operation(a, others...);
}
template <typename Operation, typename Format, typename... Others>
EMULATOR_INLINE Pair<Format> calculate(const Operation &operation, Pair<Format> a,
                                       Others... others) {
    return {operation(a.low, others.low...), operation(a.high, others.high...)};
}

// mul.hi.
template <typename T>
EMULATOR_INLINE T multiply_high(T a, T b) {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return T(Wide(a) * Wide(b) >> (8 * sizeof(T)));
}

// brev.
template <typename T>
EMULATOR_INLINE T reverse_bits(T value) {
    T reversed = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
        reversed |= (value >> i & 1) << (8 * sizeof(T) - 1 - i);
    return reversed;
}

// Shifts by the width or more give 0, or the sign.
template <typename T>
EMULATOR_INLINE T shift_left(T a, std::uint32_t count) {
    return count < 8 * sizeof(T) ? T(a << count) : T(0);
}
template <typename T>
EMULATOR_INLINE T shift_right(T a, std::uint32_t count) {
    constexpr std::uint32_t MOST = 8 * sizeof(T) - 1;
    return count <= MOST ? T(a >> count) : std::is_signed_v<T> ? T(a >> MOST) : T(0);
}

// bfe: `count` bits from bit `first` on. bfi: the low `count` bits of a replace those of b.
template <typename T>
EMULATOR_INLINE T low_bits(std::uint32_t count) {
    return T(shift_left(T(1), count & 255) - 1);
}
template <typename T>
EMULATOR_INLINE T extract(T a, std::uint32_t first, std::uint32_t count) {
    return T(shift_right(a, first & 255) & low_bits<T>(count));
}
template <typename T>
EMULATOR_INLINE T insert_bits(T a, T b, std::uint32_t first, std::uint32_t count) {
    const T mask = shift_left(low_bits<T>(count), first & 255);
    return (b & ~mask) | (shift_left(a, first & 255) & mask);
}

// shf: the upper (left) or lower word of a pair that is shifted. .wrap: by the count's low bits.
EMULATOR_INLINE std::uint32_t funnel_shift(std::uint32_t low, std::uint32_t high,
                                           std::uint32_t count, bool left, bool wrap) {
    const std::uint64_t both = std::uint64_t(high) << 32 | low;
    count = wrap ? count & 31 : count < 32 ? count : 32;
    return std::uint32_t(left ? both << count >> 32 : both >> count);
}

// lop3.b32.
EMULATOR_INLINE std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c, int table) {
    std::uint32_t d = 0;
    for (int i = 0; i < 8; ++i)
        if (table >> i & 1)
            d |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return d;
}

// prmt.b32 without a mode.
EMULATOR_INLINE std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
    const std::uint64_t bytes = std::uint64_t(b) << 32 | a;
    std::uint32_t d = 0;
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t nibble = selector >> 4 * i & 15;
        const std::uint8_t byte = std::uint8_t(bytes >> 8 * (nibble & 7));
        d |= std::uint32_t(nibble & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
    }
    return d;
}

// cvt to an integer: numbers outside of its range become the nearest one, NaNs zero.
template <typename T>
EMULATOR_INLINE T clamped(float rounded) {
    using Limits = std::numeric_limits<T>;
    if (rounded != rounded)
        return 0;
    if (rounded <= float(Limits::min()))
        return Limits::min();
    return rounded >= float(Limits::max()) ? Limits::max() : T(rounded);
}

// cvt from f32. .relu: NaNs and negative numbers become 0; .satfinite: infinite ones and those that
// would be so the largest one. Of a pair the first source has the upper half.
template <typename Format>
EMULATOR_INLINE Format narrowed(float value, bool relu, bool satfinite) {
    if (relu)
        value = value > 0 ? value : 0;
    if (satfinite && std::fabs(value) > Format::LARGEST)
        value = std::copysign(Format::LARGEST, value);
    return Format(value);
}
template <typename Both>
EMULATOR_INLINE Both narrowed(float upper, float lower, bool relu, bool satfinite) {
    using Format = decltype(Both::low);
    return {narrowed<Format>(lower, relu, satfinite), narrowed<Format>(upper, relu, satfinite)};
}

// ---------------------------------------------------------------------------- addresses
// A generic address as a pointer.
EMULATOR_INLINE void *global(std::uint64_t address) { return reinterpret_cast<void *>(address); }

// What a shared address names: of any CTA, of the own one alone, for `what`; or what the thread
// uses itself. And a pointer to it.
SharedRef any_at(std::uint32_t address, Site where);
SharedRef own_at(std::uint32_t address, const char *what, Site where);
SharedRef used_at(std::uint32_t address, Site where);
void *memory_of(SharedRef place, std::size_t bytes);

// mapa and getctarank.
std::uint32_t mapa(std::uint32_t address, std::uint32_t rank, Site where);
std::uint32_t cta_rank_of(std::uint32_t address);

// The memory that a plain access of `bytes` at the address touches; checks its alignment. CLUSTER:
// a shared address of any CTA of the cluster, into which mapa puts the rank.
enum class Space { GENERIC, SHARED, CLUSTER };
void *memory_at(Space space, std::uint64_t address, std::size_t bytes, Site where);

// ld and st of a vector. The access itself is inline, so that it is seen like the kernel's own.
template <typename T, int COUNT>
struct alignas(sizeof(T) * COUNT) Vector {
    T values[COUNT];
};
template <typename T, int COUNT>
EMULATOR_INLINE void load(T (&values)[COUNT], const void *from) {
    const Vector<T, COUNT> whole = *static_cast<const Vector<T, COUNT> *>(from);
    for (int i = 0; i < COUNT; ++i)
        values[i] = whole.values[i];
}
// ld.global.nc.
template <typename T, int COUNT>
EMULATOR_INLINE void load_constant(T (&values)[COUNT], const void *from) {
    const ConstantRead reading;
    load(values, from);
}
template <typename T, int COUNT>
EMULATOR_INLINE void store(void *to, const T (&values)[COUNT]) {
    Vector<T, COUNT> whole;
    for (int i = 0; i < COUNT; ++i)
        whole.values[i] = values[i];
    *static_cast<Vector<T, COUNT> *>(to) = whole;
}
// With an order: ld.acquire, st.release, .relaxed, .volatile.
template <typename T, int COUNT>
EMULATOR_INLINE void load_ordered(T (&values)[COUNT], const void *from, Order order, Scope scope,
                                  Site where) {
    const Vector<T, COUNT> whole =
        atomic_load(static_cast<const Vector<T, COUNT> *>(from), order, scope, where);
    __builtin_memcpy(values, &whole, sizeof whole);
}
template <typename T, int COUNT>
EMULATOR_INLINE void store_ordered(void *to, const T (&values)[COUNT], Order order, Scope scope,
                                   Site where) {
    Vector<T, COUNT> whole;
    __builtin_memcpy(&whole, values, sizeof whole);
    atomic_store(static_cast<Vector<T, COUNT> *>(to), whole, order, scope, where);
}

// atom and red, of a number or of each of a vector.
template <typename T, int COUNT, typename Operation>
void atomic_each(std::type_identity_t<T> *old, void *address, const T (&values)[COUNT],
                 const Operation &operation, Order order, Scope scope, Site where) {
    for (int i = 0; i < COUNT; ++i) {
        const auto change = [&](T was) { return calculate(operation, was, values[i]); };
        const T was = atomic_change(static_cast<T *>(address) + i, change, order, scope, where);
        if (old != nullptr)
            old[i] = was;
    }
}

// ---------------------------------------------------------------------------- copies
// cp.reduce.async.bulk: the change of each T.
template <typename T, typename Operation>
Reduce reduction(const Operation &) {
    return [](unsigned char *global, const unsigned char *tile, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; i += sizeof(T)) {
            T old, value;
            __builtin_memcpy(&old, global + i, sizeof old);
            __builtin_memcpy(&value, tile + i, sizeof value);
            old = calculate(Operation{}, old, value);
            __builtin_memcpy(global + i, &old, sizeof old);
        }
    };
}

// The same by the type of a tensor's elements.
using TypedReduction = std::pair<CUtensorMapDataType, Reduce>;
Reduce reduction_of(const void *map, std::initializer_list<TypedReduction> known, Site where);
template <typename Operation>
void tensor_reduce(const void *map, const Coordinates &at, SharedRef from,
                   const Operation &operation, Site where) {
    const std::initializer_list<TypedReduction> known = {
        {CU_TENSOR_MAP_DATA_TYPE_UINT32, reduction<std::uint32_t>(operation)},
        {CU_TENSOR_MAP_DATA_TYPE_INT32, reduction<std::int32_t>(operation)},
        {CU_TENSOR_MAP_DATA_TYPE_UINT64, reduction<std::uint64_t>(operation)},
        {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, reduction<float>(operation)},
        {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, reduction<F16>(operation)},
        {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, reduction<BF16>(operation)}};
    tma_store(map, at, from, where, reduction_of(map, known, where));
}

// ---------------------------------------------------------------------------- synchronisation
[[noreturn]] void trap(Site where);

// An asm statement that translate/ does not know is executed: says so, and ends the program.
void unknown(const char *file, int line, const char *what);

// ---------------------------------------------------------------------------- matrices
// movmatrix: a lane has two neighbours of row lane / 4, and gets two of column lane / 4.
inline std::uint32_t movmatrix(std::uint32_t pair, Site where) {
    warp_aligned("movmatrix", where);
    bool is_inside;
    const std::uint32_t from = laneid() % 4 * 8 + laneid() / 8;
    const auto pair_of = [&](std::uint32_t lane) {
        return warp_shuffle(Shuffle::INDEX, WHOLE_WARP, pair, lane, 31, is_inside, where);
    };
    const auto upper = pair_of(from), lower = pair_of(from + 4);
    return prmt(std::uint32_t(upper), std::uint32_t(lower), laneid() & 4 ? 0x7632 : 0x5410);
}

// mma.sync of operands of these formats, row.col; D is of 32-bit registers, which hold pairs of
// fp16 numbers if they are no floats or integers.
template <int M, int K, typename A, typename B, typename D, int D_COUNT, typename R, int A_COUNT,
          int B_COUNT>
EMULATOR_UNSEEN void mma(const char *what, D (&d)[D_COUNT], const R (&a)[A_COUNT],
                         const R (&b)[B_COUNT], const D (&c)[D_COUNT], Site where,
                         bool saturates = false) {
    using Sum = std::conditional_t<std::is_same_v<D, std::uint32_t>, Half, D>;
    Fragment<Sum, M, 8, false, true> sums = __builtin_bit_cast(decltype(sums), c);
    const auto left = __builtin_bit_cast(Fragment<A, M, K, false, false>, a);
    const auto right = __builtin_bit_cast(Fragment<B, 8, K, true, false>, b);
    Product<M, 8, K, A, B, Sum>{&sums, &left, &right, &sums, saturates}.call(what, where);
    __builtin_memcpy(d, sums.x, sizeof d);
}

// Whether a scale of wgmma.mma_async, 1 or -1, is the latter.
inline bool is_negated(int scale, Site where) {
    if (scale != 1 && scale != -1)
        reject(where, "wgmma with a scale of %d: 1 or -1", scale);
    return scale == -1;
}
// wgmma.mma_async with A in shared memory, or in registers, and the accumulators one by one.
template <typename A>
inline const bool takes_registers = std::is_same_v<A, WgmmaFragment> && (registers_watched = true);
template <typename A, typename... Sums>
EMULATOR_UNSEEN __attribute__((noinline)) void
wgmma_apart(Site where, const WgmmaForm &form, const A &a, std::uint64_t b, Sums &...sums) {
    float *const apart[] = {&sums...};
    emulator::wgmma(nullptr, form, a, b, where, apart);
}
template <int N, typename A, typename... Sums>
EMULATOR_INLINE void wgmma(Site where, const WgmmaForm &form, const A &a, std::uint64_t b,
                           float &first, Sums &...others) {
    static_assert(sizeof...(others) + 1 == N / 2, "wgmma has n / 2 accumulators");
    (void)&takes_registers<A>;
    const float *next = &first;
    bool is_contiguous = true;
    ((is_contiguous &= &others == ++next), ...);
    if (is_contiguous) // which the compiler knows
        emulator::wgmma(&first, form, a, b, where);
    else
        wgmma_apart(where, form, a, b, first, others...);
}
} // namespace emulator::ptx
inline void __trap(EMULATOR_SITE) { emulator::ptx::trap(where); }
