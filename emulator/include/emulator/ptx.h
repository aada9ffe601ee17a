// What translate/ makes of inline PTX: the manual's instructions with the operands that they have
// there, integers for addresses. Device code that was not written for the emulator includes it
// first. (PTX ISA: Instruction Set.)
//
// A shared address is an offset in the CTA's shared memory, as shared_address() has it; in its
// upper 8 bits it has the rank of another CTA of the cluster, plus 1, if mapa put it there.
#pragma once

#include "emulator/atomics.h"
#include "emulator/cp_async.h"
#include "emulator/mbarrier.h"
#include "formats/half.h"
#include "emulator/runtime.h"
#include "emulator/tensor_core.h"
#include "emulator/tma.h"
#include "emulator/warp.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace emulator::ptx {

#define EMULATOR_INLINE inline __attribute__((always_inline))

// ---------------------------------------------------------------------------- registers

// Which one of several definitions a macro in an asm statement has.
constexpr bool same_text(std::string_view a, std::string_view b) { return a == b; }

// An operand of an asm statement, by value.
template <typename T>
EMULATOR_INLINE T input(T value) {
    return value;
}

// Where an operand of an asm statement is, if it stays there: it does if it refers to an element of
// an array or to what a reference does. Copies that a call made are the compiler's.
#define EMULATOR_PLACE(operand)                                                                    \
    (std::is_lvalue_reference_v<decltype(operand)> ? (const void *)&operand : nullptr)

// A register as a T: its bits, or its low bits. Numbers of another width are converted.
template <typename T, typename From>
EMULATOR_INLINE T get(const From &from) {
    if constexpr (std::is_same_v<T, bool>)
        return from != 0;
    else if constexpr (std::is_pointer_v<From>)
        return T(reinterpret_cast<std::uintptr_t>(from));
    else if constexpr ((std::is_integral_v<From> || std::is_enum_v<From>)&&std::is_integral_v<T>)
        return T(from);
    else if constexpr (std::is_integral_v<From> && sizeof(From) == 8 && sizeof(T) == 4)
        return std::bit_cast<T>(std::uint32_t(from)); // an immediate
    else if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<T>)
        return T(from);
    else {
        static_assert(sizeof(T) == sizeof(From), "a PTX operand of another size than its register");
        T value;
        __builtin_memcpy(&value, &from, sizeof value);
        return value;
    }
}

// Sets a register.
template <typename To, typename From>
EMULATOR_INLINE void put(To &to, const From &from) {
    if constexpr (std::is_same_v<To, bool>)
        to = from != 0;
    else if constexpr (sizeof(To) == sizeof(From))
        __builtin_memcpy(&to, &from, sizeof to);
    else {
        static_assert(std::is_integral_v<To> && std::is_integral_v<From>,
                      "a PTX result of another size than its register");
        to = To(from);
    }
}

// mov with a vector: the first register has the low bits.
template <typename T, typename... Parts>
EMULATOR_INLINE T pack(const Parts &...parts) {
    constexpr int BITS = sizeof(T) * 8 / sizeof...(parts);
    using Part = std::conditional_t<BITS == 32, std::uint32_t, std::uint16_t>;
    static_assert(BITS == 32 || BITS == 16, "a PTX vector of other than 16 or 32 bits each");
    std::uint64_t value = 0;
    int at = 0;
    ((value |= std::uint64_t(get<Part>(parts)) << at, at += BITS), ...);
    return get<T>(std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>(value));
}
template <typename From, typename... Parts>
EMULATOR_INLINE void unpack(const From &from, Parts &...parts) {
    constexpr int BITS = sizeof(From) * 8 / sizeof...(parts);
    using Part = std::conditional_t<BITS == 32, std::uint32_t, std::uint16_t>;
    static_assert(BITS == 32 || BITS == 16, "a PTX vector of other than 16 or 32 bits each");
    std::uint64_t value =
        get<std::conditional_t<sizeof(From) == 8, std::uint64_t, std::uint32_t>>(from);
    ((put(parts, Part(value)), value >>= BITS), ...);
}

// ---------------------------------------------------------------------------- special registers

// By their names in PTX, where a dot is an underscore.
uint3 clusterid();
uint3 nclusterid();
uint3 cluster_ctaid();
uint3 cluster_nctaid();
std::uint32_t cluster_ctarank();
std::uint32_t cluster_nctarank();
bool is_explicit_cluster();
std::uint32_t laneid();
std::uint32_t warpid();
std::uint32_t nwarpid();
std::uint32_t smid();
std::uint32_t nsmid();
std::uint64_t gridid();
// Emulated steps: they show only what came before what.
std::uint64_t clock64();
inline std::uint32_t clock() { return std::uint32_t(clock64()); }
inline std::uint32_t clock_hi() { return std::uint32_t(clock64() >> 32); }
inline std::uint64_t globaltimer() { return clock64(); }
inline std::uint32_t globaltimer_lo() { return clock(); }
inline std::uint32_t globaltimer_hi() { return clock_hi(); }
inline std::uint32_t lanemask_eq() { return 1u << laneid(); }
inline std::uint32_t lanemask_lt() { return lanemask_eq() - 1; }
inline std::uint32_t lanemask_le() { return lanemask_lt() | lanemask_eq(); }
inline std::uint32_t lanemask_gt() { return ~lanemask_le(); }
inline std::uint32_t lanemask_ge() { return ~lanemask_lt(); }
std::uint32_t dynamic_smem_size();
std::uint32_t total_smem_size();

// ---------------------------------------------------------------------------- arithmetic

// The unsigned type in which an integer instruction calculates.
template <typename T>
EMULATOR_INLINE auto bits(T value) {
    using Unsigned = std::make_unsigned_t<T>;
    return std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>(Unsigned(value));
}

// mad.lo.
template <typename T>
EMULATOR_INLINE T multiply_add(T a, T b, T c) {
    return T(bits(a) * bits(b) + bits(c));
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

// bfe: `count` bits from bit `first` on.
template <typename T>
EMULATOR_INLINE T extract(T a, std::uint32_t first, std::uint32_t count) {
    const T shifted = shift_right(a, first & 255);
    return (count & 255) < 8 * sizeof(T) ? T(shifted & ((T(1) << (count & 255)) - 1)) : shifted;
}

// bfi: the low `count` bits of a replace those of b from bit `first` on.
template <typename T>
EMULATOR_INLINE T insert_bits(T a, T b, std::uint32_t first, std::uint32_t count) {
    const T ones = (count & 255) < 8 * sizeof(T) ? (T(1) << (count & 255)) - 1 : ~T(0);
    const T mask = shift_left(ones, first & 255);
    return (b & ~mask) | (shift_left(a, first & 255) & mask);
}

// shf: the upper (left) or lower word of a pair that is shifted. .wrap: by the count's low bits.
EMULATOR_INLINE std::uint32_t funnel_l(std::uint32_t low, std::uint32_t high, std::uint32_t count,
                                       bool wrap) {
    count = wrap ? count & 31 : count < 32 ? count : 32;
    return std::uint32_t(((std::uint64_t(high) << 32 | low) << count) >> 32);
}
EMULATOR_INLINE std::uint32_t funnel_r(std::uint32_t low, std::uint32_t high, std::uint32_t count,
                                       bool wrap) {
    count = wrap ? count & 31 : count < 32 ? count : 32;
    return std::uint32_t((std::uint64_t(high) << 32 | low) >> count);
}

// szext.clamp: the low `count` bits, with the sign's above them if T has one.
template <typename T>
EMULATOR_INLINE T extended(T value, std::uint32_t count) {
    const std::uint32_t unused = count < 32 ? 32 - count : 0;
    return count == 0 ? T(0) : T(std::uint32_t(value) << unused) >> unused;
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
template <typename T>
EMULATOR_INLINE T integer_rni(float value) {
    return clamped<T>(std::nearbyint(value));
}
template <typename T>
EMULATOR_INLINE T integer_rzi(float value) {
    return clamped<T>(std::trunc(value));
}
template <typename T>
EMULATOR_INLINE T integer_rmi(float value) {
    return clamped<T>(std::floor(value));
}
template <typename T>
EMULATOR_INLINE T integer_rpi(float value) {
    return clamped<T>(std::ceil(value));
}

// The 16-bit formats, with the largest finite number.
struct F16 {
    static constexpr float LARGEST = 65504;
    static float widen(std::uint16_t bits) { return float_of_half(bits); }
    static std::uint16_t narrow(float value) { return half_of_float(value); }
};
struct BF16 {
    static constexpr float LARGEST = 0x1.fep127f;
    static float widen(std::uint16_t bits) { return float_of_bf16(bits); }
    static std::uint16_t narrow(float value) { return bf16_of_float(value); }
};

// cvt from f32. .relu: NaNs and negative numbers become 0; .satfinite: infinite ones and those that
// would be so the largest one. Of a pair the first source has the upper half.
template <typename Format>
EMULATOR_INLINE std::uint16_t narrowed(float value, bool relu, bool satfinite) {
    if (relu)
        value = value > 0 ? value : 0;
    if (satfinite && std::fabs(value) > Format::LARGEST)
        value = std::copysign(Format::LARGEST, value);
    return Format::narrow(value);
}
template <typename Format>
EMULATOR_INLINE std::uint32_t narrowed_pair(float upper, float lower, bool relu, bool satfinite) {
    return std::uint32_t(narrowed<Format>(upper, relu, satfinite)) << 16 |
           narrowed<Format>(lower, relu, satfinite);
}
EMULATOR_INLINE std::uint16_t e4m3_pair(float upper, float lower) {
    return std::uint16_t(e4m3_of_float(upper) << 8 | e4m3_of_float(lower));
}
EMULATOR_INLINE std::uint32_t half_pair_of_e4m3(std::uint16_t pair) {
    return narrowed_pair<F16>(float_of_e4m3(std::uint8_t(pair >> 8)),
                              float_of_e4m3(std::uint8_t(pair)), false, false);
}

// An operation on one number, or both of a pair, of a 16-bit format: rounded once.
template <typename Format, typename T, typename Operation, typename... Others>
EMULATOR_INLINE T each(const Operation &operation, T a, Others... others) {
    const auto part = [&](int shift) {
        const auto wide = [shift](T bits) { return double(Format::widen(bits >> shift)); };
        return T(Format::narrow(narrow_for_rounding(operation(wide(a), wide(others)...)))) << shift;
    };
    if constexpr (sizeof(T) == 2)
        return T(part(0));
    else
        return part(0) | part(16);
}
inline constexpr auto op_add = [](double a, double b) { return a + b; };
inline constexpr auto op_sub = [](double a, double b) { return a - b; };
inline constexpr auto op_mul = [](double a, double b) { return a * b; };
inline constexpr auto op_min = [](double a, double b) { return std::fmin(a, b); };
inline constexpr auto op_max = [](double a, double b) { return std::fmax(a, b); };
inline constexpr auto op_fma = [](double a, double b, double c) { return a * b + c; };
inline constexpr auto op_fma_relu = [](double a, double b, double c) {
    return std::fmax(a * b + c, 0.0);
};

// ---------------------------------------------------------------------------- addresses

// A shared address and a generic one. Either says where an instruction's memory is.
struct Shared {
    std::uint32_t address;
};
struct Generic {
    void *pointer;
};
// A shared address of any CTA of the cluster: mapa puts the rank into it.
struct Cluster : Shared {};
EMULATOR_INLINE Shared shared(std::uint64_t address) { return {std::uint32_t(address)}; }
EMULATOR_INLINE Cluster cluster(std::uint64_t address) { return {shared(address)}; }
EMULATOR_INLINE Generic generic(std::uint64_t address) {
    return {reinterpret_cast<void *>(address)};
}
EMULATOR_INLINE void *global(std::uint64_t address) { return reinterpret_cast<void *>(address); }

// cvta, of the own CTA's shared memory.
std::uint32_t shared_of_generic(std::uint64_t pointer, EMULATOR_SITE);
std::uint64_t generic_of_shared(std::uint64_t address, EMULATOR_SITE);
bool is_shared(std::uint64_t pointer);

// mapa of a shared and of a generic address, and getctarank.
std::uint32_t mapa(std::uint32_t address, std::uint32_t rank, EMULATOR_SITE);
std::uint64_t mapa_generic(std::uint64_t address, std::uint32_t rank, EMULATOR_SITE);
std::uint32_t cta_rank_of(std::uint32_t address);

// An address in shared memory, from either form.
struct SharedAddress : Shared {
    SharedAddress(Shared shared) : Shared(shared) {}
    SharedAddress(Generic generic, EMULATOR_SITE)
        : Shared{shared_of_generic(std::uint64_t(generic.pointer), where)} {}
};

// The memory that a plain access of `bytes` at the address touches; checks its alignment.
void *memory_at(Shared address, std::size_t bytes, Site where);
void *memory_at(Generic address, std::size_t bytes, Site where);
void *memory_at(Cluster address, std::size_t bytes, Site where);

// ld and st of a vector. The access itself is inline, so that it is seen like the kernel's own.
template <typename T, int COUNT>
struct alignas(sizeof(T) * COUNT) Vector {
    T values[COUNT];
};
template <typename T, int COUNT, typename Address>
EMULATOR_INLINE void load(T (&values)[COUNT], Address address, EMULATOR_SITE) {
    using Whole = Vector<T, COUNT>;
    const Whole whole = *static_cast<const Whole *>(memory_at(address, sizeof(Whole), where));
    for (int i = 0; i < COUNT; ++i)
        values[i] = whole.values[i];
}
// ld.global.nc.
template <typename T, int COUNT, typename Address>
EMULATOR_INLINE void load_constant(T (&values)[COUNT], Address address, EMULATOR_SITE) {
    const ConstantRead reading;
    load(values, address, where);
}
template <typename T, int COUNT, typename Address>
EMULATOR_INLINE void store(Address address, const T (&values)[COUNT], EMULATOR_SITE) {
    using Whole = Vector<T, COUNT>;
    Whole whole;
    for (int i = 0; i < COUNT; ++i)
        whole.values[i] = values[i];
    *static_cast<Whole *>(memory_at(address, sizeof(Whole), where)) = whole;
}
// The same of the shared memory of any CTA of the cluster.
void cluster_load(void *to, Cluster address, std::size_t bytes, Site where);
void cluster_store(Cluster address, const void *from, std::size_t bytes, Site where);
template <typename T, int COUNT>
EMULATOR_INLINE void load(T (&values)[COUNT], Cluster address, EMULATOR_SITE) {
    cluster_load(values, address, sizeof(values), where);
}
template <typename T, int COUNT>
EMULATOR_INLINE void store(Cluster address, const T (&values)[COUNT], EMULATOR_SITE) {
    cluster_store(address, values, sizeof(values), where);
}
// The same with an order: ld.acquire, st.release, .relaxed, .volatile.
template <typename T, int COUNT, typename Address>
EMULATOR_INLINE void load_ordered(T (&values)[COUNT], Address address, Order order, Scope scope,
                                  EMULATOR_SITE) {
    using Whole = Vector<T, COUNT>;
    const Whole whole = atomic_load(
        static_cast<const Whole *>(memory_at(address, sizeof(Whole), where)), order, scope, where);
    __builtin_memcpy(values, &whole, sizeof whole);
}
template <typename T, int COUNT, typename Address>
EMULATOR_INLINE void store_ordered(Address address, const T (&values)[COUNT], Order order,
                                   Scope scope, EMULATOR_SITE) {
    using Whole = Vector<T, COUNT>;
    Whole whole;
    __builtin_memcpy(&whole, values, sizeof whole);
    atomic_store(static_cast<Whole *>(memory_at(address, sizeof(Whole), where)), whole, order,
                 scope, where);
}

// ---------------------------------------------------------------------------- warps

// shfl.sync, vote.sync.ballot, activemask. The clamp has the segment's width in its upper half.
std::uint32_t shuffle_idx(std::uint32_t value, std::uint32_t lane, std::uint32_t clamp,
                          std::uint32_t mask, EMULATOR_SITE);
std::uint32_t shuffle_up(std::uint32_t value, std::uint32_t delta, std::uint32_t clamp,
                         std::uint32_t mask, EMULATOR_SITE);
std::uint32_t shuffle_down(std::uint32_t value, std::uint32_t delta, std::uint32_t clamp,
                           std::uint32_t mask, EMULATOR_SITE);
std::uint32_t shuffle_bfly(std::uint32_t value, std::uint32_t bits, std::uint32_t clamp,
                           std::uint32_t mask, EMULATOR_SITE);
std::uint32_t vote(const char *what, bool predicate, std::uint32_t mask, EMULATOR_SITE);
// Whether the source lane is inside of the segment.
bool shuffle_inside_idx(std::uint32_t lane, std::uint32_t clamp);
bool shuffle_inside_up(std::uint32_t delta, std::uint32_t clamp);
bool shuffle_inside_down(std::uint32_t delta, std::uint32_t clamp);
bool shuffle_inside_bfly(std::uint32_t bits, std::uint32_t clamp);
std::uint32_t activemask();
// redux.sync.
std::uint32_t redux(Reduction how, std::uint32_t value, std::uint32_t mask, EMULATOR_SITE);
// The leader is the mask's first lane that has not exited. Returns its number.
std::uint32_t elect(std::uint32_t mask, bool &is_leader, EMULATOR_SITE);
void warp_sync(std::uint32_t mask, EMULATOR_SITE);

// ---------------------------------------------------------------------------- cp.async

// cp.async of `bytes` bytes, of which `source_bytes` come from global memory; .cg: of 16.
void cp_async(Shared to, const void *from, int bytes, std::uint32_t source_bytes, EMULATOR_SITE);
void cp_async_cg(Shared to, const void *from, int bytes, std::uint32_t source_bytes, EMULATOR_SITE);
EMULATOR_INLINE void cp_async_commit(EMULATOR_SITE) { emulator::cp_async_commit(where); }
void cp_async_wait(int pending, EMULATOR_SITE);
void cp_async_wait_all(EMULATOR_SITE);
void cp_async_mbarrier_arrive(SharedAddress barrier, bool counted, EMULATOR_SITE);

// ---------------------------------------------------------------------------- TMA

// Coordinates in a tensor, x first.
using At = Coordinates;
void tensor_load(int rank, Shared to, const void *map, const At &at, SharedAddress barrier,
                 EMULATOR_SITE);
void tensor_load(int rank, Shared to, const void *map, const At &at, SharedAddress barrier,
                 std::uint16_t cta_mask, EMULATOR_SITE);
void tensor_store(int rank, const void *map, const At &at, Shared from, Reduce reduce = nullptr,
                  EMULATOR_SITE);
void prefetch_tensor(int rank, const void *map, const At &at, EMULATOR_SITE);
void prefetch_tensormap(const void *map, EMULATOR_SITE);
void bulk_load(Shared to, const void *from, std::uint32_t bytes, SharedAddress barrier,
               EMULATOR_SITE);
void bulk_load(Shared to, const void *from, std::uint32_t bytes, SharedAddress barrier,
               std::uint16_t cta_mask, EMULATOR_SITE);
void bulk_store(void *to, Shared from, std::uint32_t bytes, Reduce reduce = nullptr, EMULATOR_SITE);
// To the shared memory of a CTA of the cluster, which has the mbarrier: of bytes, of registers.
void bulk_send(Cluster to, Shared from, std::uint32_t bytes, Cluster barrier, EMULATOR_SITE);
void store_async(Cluster to, const void *value, std::uint32_t bytes, Cluster barrier, Site where);
template <typename T, int COUNT>
EMULATOR_INLINE void store_async(Cluster to, const T (&values)[COUNT], Cluster barrier,
                                 EMULATOR_SITE) {
    store_async(to, values, sizeof(values), barrier, where);
}
void acquire_tensor_map(const void *map, EMULATOR_SITE);
void bulk_commit(EMULATOR_SITE);
void bulk_wait(int pending, bool read, EMULATOR_SITE);

// ---------------------------------------------------------------------------- synchronisation

// bar and barrier: of all threads of the CTA, or of a number of them. `aligned`: whole warps.
void barrier_sync(int id, bool aligned, EMULATOR_SITE);
void barrier_sync(int id, int threads, bool aligned, EMULATOR_SITE);
void barrier_arrive(int id, int threads, bool aligned, EMULATOR_SITE);
// barrier.red: how many threads have the predicate.
int barrier_count(int id, int threads, bool predicate, EMULATOR_SITE);
void cluster_arrive(bool relaxed, bool aligned, EMULATOR_SITE);
void cluster_wait(bool aligned, EMULATOR_SITE);

// fence and membar. Each counts as acq_rel.
EMULATOR_INLINE void fence(Order, Scope scope) { thread_fence(scope); }
void mbarrier_init_fence(EMULATOR_SITE);
// Of shared memory, of global memory, or of both.
void fence_proxy_async(bool shared, bool global);

// The changes of atom and red, and of bulk copies that reduce.
inline constexpr auto change_add = [](auto old, auto value) {
    if constexpr (std::is_integral_v<decltype(old)>)
        return decltype(old)(bits(old) + bits(value));
    else
        return old + value;
};
inline constexpr auto change_add_F16 = [](auto old, auto b) { return each<F16>(op_add, old, b); };
inline constexpr auto change_add_BF16 = [](auto old, auto b) { return each<BF16>(op_add, old, b); };
inline constexpr auto change_min_F16 = [](auto old, auto b) { return each<F16>(op_min, old, b); };
inline constexpr auto change_min_BF16 = [](auto old, auto b) { return each<BF16>(op_min, old, b); };
inline constexpr auto change_max_F16 = [](auto old, auto b) { return each<F16>(op_max, old, b); };
inline constexpr auto change_max_BF16 = [](auto old, auto b) { return each<BF16>(op_max, old, b); };
inline constexpr auto change_min = [](auto a, auto b) { return atomic::smaller(a, b); };
inline constexpr auto change_max = [](auto a, auto b) { return atomic::larger(a, b); };
inline constexpr auto change_inc = [](auto a, auto b) { return atomic::increment(a, b); };
inline constexpr auto change_dec = [](auto a, auto b) { return atomic::decrement(a, b); };
inline constexpr auto change_exch = [](auto, auto value) { return value; };
inline constexpr auto change_and = [](auto a, auto b) { return decltype(a)(a & b); };
inline constexpr auto change_or = [](auto a, auto b) { return decltype(a)(a | b); };
inline constexpr auto change_xor = [](auto a, auto b) { return decltype(a)(a ^ b); };

// atom and red, of a number or of each of a vector; and atom.cas, which compares bits.
template <typename T, int COUNT, typename Address, typename Change>
void atomic_each(T (&old)[COUNT], Address address, const T (&values)[COUNT], const Change &change,
                 Order order, Scope scope, EMULATOR_SITE) {
    T *const to = static_cast<T *>(memory_at(address, sizeof(T) * COUNT, where));
    for (int i = 0; i < COUNT; ++i)
        old[i] = atomic_change(
            to + i, [&](T was) { return change(was, values[i]); }, order, scope, where);
}
template <typename T, int COUNT, typename Address, typename Change>
void atomic_each(Address address, const T (&values)[COUNT], const Change &change, Order order,
                 Scope scope, EMULATOR_SITE) {
    T old[COUNT];
    atomic_each(old, address, values, change, order, scope, where);
}
template <typename T, typename Address>
T atomic_cas(Address address, T compared, T value, Order order, Scope scope, EMULATOR_SITE) {
    return atomic_change(
        static_cast<T *>(memory_at(address, sizeof(T), where)),
        [&](T old) { return atomic::same_bits(old, compared) ? value : old; }, order, scope, where);
}

// cp.reduce.async.bulk: the change of each T.
template <typename T, typename Change>
Reduce reduction(const Change &) {
    return [](unsigned char *global, const unsigned char *tile, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; i += sizeof(T)) {
            T old, value;
            __builtin_memcpy(&old, global + i, sizeof old);
            __builtin_memcpy(&value, tile + i, sizeof value);
            old = Change{}(old, value);
            __builtin_memcpy(global + i, &old, sizeof old);
        }
    };
}

// The same by the type of a tensor's elements.
[[noreturn]] void no_reduction(int type, Site where);
int type_of_elements(const void *map);
template <typename Plain, typename Half, typename BFloat>
Reduce tensor_reduction(int type, const Plain &plain, const Half &half, const BFloat &bfloat,
                        Site where) {
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
        return reduction<std::uint32_t>(plain);
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
        return reduction<std::int32_t>(plain);
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
        return reduction<std::uint64_t>(plain);
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
        return reduction<float>(plain);
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
        return reduction<std::uint16_t>(half);
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
        return reduction<std::uint16_t>(bfloat);
    default:
        no_reduction(type, where);
    }
}
template <typename Plain, typename Half, typename BFloat>
void tensor_reduce(int rank, const void *map, const At &at, Shared from, const Plain &plain,
                   const Half &half, const BFloat &bfloat, EMULATOR_SITE) {
    tensor_store(rank, map, at, from,
                 tensor_reduction(type_of_elements(map), plain, half, bfloat, where), where);
}

// mbarrier by the addresses of inline PTX: of the own CTA or, for arrivals and bytes, of a peer.
void mbarrier_init(SharedAddress barrier, std::uint32_t arrivals, EMULATOR_SITE);
void mbarrier_inval(SharedAddress barrier, EMULATOR_SITE);
void mbarrier_expect_tx(SharedAddress barrier, std::uint32_t bytes, EMULATOR_SITE);
void mbarrier_complete_tx(SharedAddress barrier, std::uint32_t bytes, EMULATOR_SITE);
std::uint64_t mbarrier_arrive(Order order, Scope scope, Arrival how, std::uint32_t bytes,
                              SharedAddress barrier, std::uint32_t count = 1, EMULATOR_SITE);
// .test_wait and .try_wait: of a state, or of a parity.
bool mbarrier_wait(Order order, Scope scope, Poll how, SharedAddress barrier, std::uint64_t state,
                   EMULATOR_SITE);
bool mbarrier_wait_parity(Order order, Scope scope, Poll how, SharedAddress barrier,
                          std::uint32_t parity, EMULATOR_SITE);

// griddepcontrol.wait, nanosleep, setmaxnreg, trap.
EMULATOR_INLINE void wait_for_launch_before() { emulator::wait_for_launch_before(); }
EMULATOR_INLINE void nanosleep(std::uint32_t) { emulator::sleep(); }
EMULATOR_INLINE void setmaxnreg(bool more, int registers, EMULATOR_SITE) {
    emulator::setmaxnreg(more, registers, where);
}
[[noreturn]] void trap(EMULATOR_SITE);

// An asm statement that emulate/ does not know is executed: says so, and ends the program.
void unknown(const char *file, int line, const char *what);

// ---------------------------------------------------------------------------- matrices

// The moves and products of a warp: tensor_core.h. bf16 where not fp16.
void ldmatrix(std::uint32_t *registers, int matrices, bool transposed, SharedAddress row,
              EMULATOR_SITE);
void stmatrix(SharedAddress row, const std::uint32_t *registers, int matrices, bool transposed,
              EMULATOR_SITE);
void mma_f32(float *d, const std::uint32_t *a, const std::uint32_t *b, const float *c, bool fp16,
             EMULATOR_SITE);
// m16n8k8: half the k of the others.
inline void mma_k8_f32(float *d, const std::uint32_t *a, const std::uint32_t *b, const float *c,
                       bool fp16, EMULATOR_SITE) {
    const std::uint32_t wide_a[4] = {a[0], a[1], 0, 0}, wide_b[2] = {b[0], 0};
    mma_f32(d, wide_a, wide_b, c, fp16, where);
}
inline void mma_k8_f16(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                       const std::uint32_t *c, EMULATOR_SITE) {
    const std::uint32_t wide_a[4] = {a[0], a[1], 0, 0}, wide_b[2] = {b[0], 0};
    emulator::mma_m16n8k16_f16(d, wide_a, wide_b, c, where);
}
std::uint32_t movmatrix(std::uint32_t pair, EMULATOR_SITE);
inline void mma_f16(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                    const std::uint32_t *c, EMULATOR_SITE) {
    emulator::mma_m16n8k16_f16(d, a, b, c, where);
}

// ---------------------------------------------------------------------------- wgmma

// As in tensor_core.h.
inline void wgmma_fence(EMULATOR_SITE) { emulator::wgmma_fence(where); }
inline void wgmma_commit(EMULATOR_SITE) { emulator::wgmma_commit(where); }
inline void wgmma_wait(int pending, EMULATOR_SITE) { emulator::wgmma_wait(pending, where); }

// wgmma.mma_async with A in shared memory, or in registers, and the accumulators one by one.
// scale: 1 or -1. `form` says the operands' type.
void wgmma(float *acc, bool is_contiguous, const WgmmaForm &form, std::uint64_t a, std::uint64_t b,
           Site where);
void wgmma(float *acc, bool is_contiguous, const WgmmaForm &form, const WgmmaFragment &a,
           std::uint64_t b, Site where);
WgmmaForm wgmma_form(WgmmaForm form, int n, bool accumulate, int scale_a, int scale_b, int trans_a,
                     int trans_b, Site where);
template <typename A>
inline const bool takes_registers = std::is_same_v<A, WgmmaFragment> && (registers_watched = true);
template <int N, typename A, typename... Accumulators>
EMULATOR_INLINE void wgmma(Site where, const WgmmaForm &form, const A &a, std::uint64_t b,
                           bool accumulate, int scale_a, int scale_b, int trans_a, int trans_b,
                           float &first, Accumulators &...others) {
    static_assert(sizeof...(others) + 1 == N / 2, "wgmma has n / 2 accumulators");
    (void)&takes_registers<A>;
    const float *next = &first;
    bool is_contiguous = true;
    ((is_contiguous &= &others == ++next), ...);
    wgmma(&first, is_contiguous,
          wgmma_form(form, N, accumulate, scale_a, scale_b, trans_a, trans_b, where), a, b, where);
}

} // namespace emulator::ptx
