#include "emulator/ptx.h"

#include "machine.h"

#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace emulator::ptx {
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
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%d: %s\nemulator: the emulator does not know this\n", file, line,
                 what);
    _exit(2);
}

void trap(Site where) { fail(Mistake::MISUSE, where, "trapped here", "the kernel traps"); }
} // namespace emulator::ptx
