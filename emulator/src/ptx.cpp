#include "emulator/ptx.h"

#include "machine.h"
#include "tensor_box.h"

#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace emulator::ptx {

namespace {

constexpr int RANK_SHIFT = 24;
constexpr std::uint32_t OFFSET_MASK = (1u << RANK_SHIFT) - 1;

Cta &own() { return *current->cta; }

void check_own(std::uint32_t address, const char *what, Site where) {
    if (int(cta_rank_of(address)) != own().rank)
        fail(Mistake::MISUSE, where, "called it here",
             "%s with shared address 0x%x, of CTA %u: only the own CTA's is allowed here, "
             "or modelled",
             what, address, cta_rank_of(address));
}

void check_alignment(std::uint64_t address, std::size_t bytes, Site where) {
    if (address % bytes != 0)
        fail(Mistake::MISUSE, where, "accessed it here",
             "an access of %zu bytes that is not aligned to them", bytes);
}

// What the own CTA has at the place of its or a peer's bytes.
void *own_place(std::uint32_t address, std::size_t bytes, Site where) {
    const std::uint32_t in_cta = address & OFFSET_MASK;
    if (in_cta < SHARED_BASE || in_cta - SHARED_BASE + bytes > own().shared.size())
        fail(Mistake::ADDRESS, where, "used it here",
             "%zu bytes at shared address 0x%x: the CTA's memory is 0x%x to 0x%zx", bytes, address,
             SHARED_BASE, SHARED_BASE + own().shared.size());
    return own().shared.generic(in_cta - SHARED_BASE, bytes);
}

// The mbarrier at this place of the own CTA.
std::uint64_t *barrier_at(std::uint32_t address, Site where) {
    return static_cast<std::uint64_t *>(own_place(address, sizeof(std::uint64_t), where));
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

void *own_memory(std::uint32_t address, std::size_t bytes, const char *what, Site where) {
    check_own(address, what, where);
    return own_place(address, bytes, where);
}

std::uint32_t mapa(std::uint32_t address, std::uint32_t rank, Site where) {
    check_own(address, "mapa", where);
    if (rank >= current_cluster->ctas.size())
        fail(Mistake::MISUSE, where, "called it here", "mapa: CTA %u of a cluster of %zu", rank,
             current_cluster->ctas.size());
    return (address & OFFSET_MASK) | (rank + 1) << RANK_SHIFT;
}

std::uint32_t cta_rank_of(std::uint32_t address) {
    const std::uint32_t rank = address >> RANK_SHIFT;
    return rank == 0 ? std::uint32_t(own().rank) : rank - 1;
}

void *memory_at(Space space, std::uint64_t address, std::size_t bytes, Site where) {
    check_alignment(address, bytes, where);
    if (space == Space::GENERIC)
        return global(address);
    const std::uint32_t shared = std::uint32_t(address);
    if (space == Space::SHARED)
        return own_memory(shared, bytes, "a plain access", where);
    return cluster_address(own_place(shared, bytes, where), int(cta_rank_of(shared)), where);
}

// ---------------------------------------------------------------------------- copies

void cp_async(std::uint32_t to, const void *from, int bytes, std::uint32_t source_bytes,
              bool past_l1, Site where) {
    if (past_l1 && bytes != 16)
        fail(Mistake::MISUSE, where, "called it here", "cp.async.cg of %d bytes: 16 alone", bytes);
    emulator::cp_async(own_memory(to, std::size_t(bytes), "cp.async", where), from,
                       int(source_bytes), where, bytes);
}

// The mbarrier of the CTA that a copy goes to.
static MbarrierRef barrier_beside(std::uint32_t to, std::uint32_t barrier, const char *what,
                                  Site where) {
    const std::uint32_t rank = cta_rank_of(barrier);
    if (rank != cta_rank_of(to))
        fail(Mistake::MISUSE, where, "called it here", "%s and its mbarrier in different CTAs",
             what);
    const SharedPlace place = peer_at(barrier_at(barrier, where), int(rank), where);
    return {place.cta, place.offset};
}

void tensor_load(std::uint32_t to, const void *map, const Coordinates &at, std::uint32_t barrier,
                 std::uint16_t cta_mask, Site where) {
    const MbarrierRef completes_on =
        cta_mask == 0 ? barrier_beside(to, barrier, "a TMA load with its tile", where)
                      : MbarrierRef(barrier_at(barrier, where), where);
    tma_load(own_place(to, 1, where), map, at, completes_on, cta_mask, where);
}

void tensor_store(const void *map, const Coordinates &at, std::uint32_t from, Reduce reduce,
                  Site where) {
    tma_store(map, own_memory(from, 1, "TMA store", where), at, where, reduce);
}

// A bulk copy without a tensor, as the box that is a whole tensor of rows of 16 bytes. (PTX ISA:
// cp.async.bulk: addresses and sizes are multiples of 16.)
static TensorDescription map_of_bytes(const void *memory, std::uint32_t bytes, Site where) {
    constexpr std::uint32_t ROW = 16;
    if (bytes == 0 || bytes % ROW != 0 || std::uintptr_t(memory) % ROW != 0)
        fail(Mistake::MISUSE, where, "called it here",
             "cp.async.bulk of %u bytes at %p: both are multiples of 16", bytes, memory);
    return {.base = static_cast<unsigned char *>(const_cast<void *>(memory)),
            .sizes = {ROW, bytes / ROW},
            .strides = {ROW},
            .box = {ROW, std::uint16_t(bytes / ROW)},
            .rank = 2,
            .element_bytes = 1,
            .is_bulk = true};
}

constexpr Coordinates ORIGIN = {2, {0, 0}};

void bulk_load(std::uint32_t to, const void *from, std::uint32_t bytes, std::uint32_t barrier,
               std::uint16_t cta_mask, Site where) {
    alignas(TENSOR_MAP_ALIGNMENT) const TensorDescription source = map_of_bytes(from, bytes, where);
    tensor_load(to, &source, ORIGIN, barrier, cta_mask, where);
}

void bulk_store(void *to, std::uint32_t from, std::uint32_t bytes, Reduce reduce, Site where) {
    alignas(TENSOR_MAP_ALIGNMENT) const TensorDescription target = map_of_bytes(to, bytes, where);
    tensor_store(&target, ORIGIN, from, reduce, where);
}

void bulk_send(std::uint32_t to, std::uint32_t from, std::uint32_t bytes, std::uint32_t barrier,
               Site where) {
    emulator::bulk_send(own_place(to, 1, where), own_memory(from, bytes, "cp.async.bulk", where),
                        bytes, barrier_beside(to, barrier, "cp.async.bulk with its bytes", where),
                        where);
}

void store_async(std::uint32_t to, const void *value, std::uint32_t bytes, std::uint32_t barrier,
                 Site where) {
    check_alignment(to, bytes, where);
    emulator::store_async(own_place(to, bytes, where), value, bytes,
                          barrier_beside(to, barrier, "st.async with its bytes", where), where);
}

Reduce reduction_of(const void *map, std::initializer_list<TypedReduction> known, Site where) {
    TensorDescription tensor;
    std::memcpy(&tensor, map, sizeof tensor);
    for (const auto &[type, reduce] : known)
        if (type == tensor.type)
            return reduce;
    fail(Mistake::MISUSE, where, "called it here",
         "cp.reduce.async.bulk.tensor of elements of CUtensorMapDataType %d", tensor.type);
}

// ---------------------------------------------------------------------------- synchronisation

MbarrierRef own_barrier(std::uint32_t address, const char *what, Site where) {
    check_own(address, what, where);
    return {barrier_at(address, where), where};
}

MbarrierRef any_barrier(std::uint32_t address, Site where) {
    return {barrier_at(address, where), int(cta_rank_of(address)), where};
}

void unknown(const char *file, int line, const char *what) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%d: %s\nemulator: the emulator does not know this\n", file, line,
                 what);
    _exit(2);
}

void trap(Site where) { fail(Mistake::MISUSE, where, "trapped here", "the kernel traps"); }

// ---------------------------------------------------------------------------- matrices

void *matrix_row(std::uint32_t address, int matrices, const char *what, Site where) {
    return current->lane() < matrices * 8 ? own_memory(address, 16, what, where) : nullptr;
}

// The matrix's rows become its columns. A lane has two neighbours of row lane / 4.
static void transpose_lanes(void **pairs) {
    std::uint16_t matrix[WARP_LANES / 4][8];
    for (int lane = 0; lane < WARP_LANES; ++lane)
        std::memcpy(&matrix[lane / 4][lane % 4 * 2], pairs[lane], sizeof(std::uint32_t));
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        std::uint16_t *const pair = static_cast<std::uint16_t *>(pairs[lane]);
        pair[0] = matrix[lane % 4 * 2][lane / 4];
        pair[1] = matrix[lane % 4 * 2 + 1][lane / 4];
    }
}

std::uint32_t movmatrix(std::uint32_t pair, Site where) {
    warp_together("movmatrix", &pair, transpose_lanes, where);
    return pair;
}

// ---------------------------------------------------------------------------- wgmma

bool is_negated(int scale, Site where) {
    if (scale != 1 && scale != -1)
        fail(Mistake::MISUSE, where, "called it here", "wgmma with a scale of %d: 1 or -1", scale);
    return scale == -1;
}

void check_contiguous(bool is_contiguous, Site where) {
    if (!is_contiguous)
        fail(
            Mistake::MISUSE, where, "called it here",
            "wgmma: the accumulators are not neighbours in an array, in their order: not modelled");
}

} // namespace emulator::ptx
