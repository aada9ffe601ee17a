// TMA loads, and what loads and stores check alike.
#include "emulator/tma.h"

#include "global_memory.h"
#include "machine.h"
#include "mbarrier_table.h"
#include "operations.h"
#include "strictness.h"
#include "tensor_box.h"

#include <cstring>

namespace emulator {

namespace {

constexpr std::uint32_t TILE_ALIGNMENT = 128;
constexpr std::uint32_t BULK_ALIGNMENT = 16;

void check_parameter(const void *map, const char *copy, Site where) {
    const bool shared = current->cta->shared.contains(map);
    if (translated_program && (shared || is_local(map)))
        fail_unless_allowed(
            "local-map", Mistake::MISUSE,
            format(
                "%s with a tensor map in %s memory, where TMA cannot read it. Pass it as a const "
                "__grid_constant__ parameter",
                copy, shared ? "shared" : "a thread's local"),
            {note_at(*current, where, "started the copy here")});
    if (is_host_memory(map))
        fail(Mistake::ADDRESS, format("%s with a tensor map in host memory", copy), where,
             "started the copy here");
    const std::vector<const void *> &acquired = current->cta->acquired_maps;
    if (global_place(map, sizeof(TensorDescription)) == GlobalPlace::ELSEWHERE ||
        std::find(acquired.begin(), acquired.end(), map) != acquired.end())
        return;
    fail_unless_allowed(
        "global-map", Mistake::MISUSE,
        format("%s with a tensor map in global memory: TMA reads maps through a proxy of its own "
               "and may see what was there before. Pass it as a __grid_constant__ parameter%s",
               copy,
               translated_program
                   ? ", or execute fence.proxy.tensormap::generic.acquire in each CTA"
                   : ""),
        {note_at(*current, where, "started the copy here")});
}

TensorDescription checked_map(const void *map, int rank, const char *copy, Site where) {
    if (reinterpret_cast<std::uintptr_t>(map) % TENSOR_MAP_ALIGNMENT != 0)
        fail(Mistake::MISUSE, format("%s with a tensor map that is not 64-byte aligned", copy),
             where, "started the copy here");
    TensorDescription tensor;
    std::memcpy(&tensor, map, sizeof(tensor));
    if (tensor.mark != TENSOR_MAP_MARK)
        fail(Mistake::MISUSE, format("%s with a tensor map that was never encoded", copy), where,
             "started the copy here");
    if (!tensor.is_bulk) // else it was made by the copy itself
        check_parameter(map, copy, where);
    const std::uint32_t row = std::uint32_t(tensor.box[0]) * tensor.element_bytes;
    if (tensor.swizzle != 0 && row != swizzle_span(tensor.swizzle))
        fail(Mistake::MISUSE,
             format("%s of rows of %u bytes under a swizzle of %u: narrower rows than the "
                    "swizzle's are not modelled",
                    copy, row, swizzle_span(tensor.swizzle)),
             where, "started the copy here");
    if (tensor.rank != rank)
        fail(Mistake::MISUSE,
             format("%s with %d coordinates and a tensor map of rank %d", copy, rank, tensor.rank),
             where, "started the copy here");
    return tensor;
}

// A load on its way to one CTA.
struct Load {
    Box box;
    Cta *cta;
    std::uint32_t tile; // offsets in its shared memory
    std::uint32_t barrier;
    const Thread *issuer;
    Site site;
};

void check_alive(const Load &load) {
    if (load.cta->exited())
        fail(Mistake::LIFETIME,
             format("a TMA load reaches CTA %d, which has exited", load.cta->rank),
             {note_at(load.site, "the load was started here")});
}

void land(const Load &load) {
    check_alive(load);
    SharedMemory &shared = load.cta->shared;
    access_shared(*load.cta, load.tile, load.box.bytes(), {true, load.site});
    peer_uses(*load.cta, load.site);
    unsigned char bytes[LONGEST_ROW];
    walk_rows(load.box, [&](const BoxRow &row) {
        std::memset(bytes, 0, load.box.row_bytes()); // what lies outside of the matrix
        if (row.inside > 0) {
            access_global(row.global, row.inside, {false, load.site});
            std::memcpy(bytes + row.skipped, row.global, row.inside);
        }
        walk_pieces(load.box, load.tile, row.offset,
                    [&](std::uint32_t to, std::uint32_t from, std::uint32_t count) {
                        std::memcpy(shared.generic(to, count), bytes + from, count);
                    });
    });
    const MbarrierRef barrier = mbarrier_at(*load.cta, load.barrier, load.site);
    mbarrier_copy_landed(barrier, int(load.box.bytes()), load.site);
}

// The CTAs of the mask, checked: they must be there to be written to.
std::vector<Cta *> destinations_of(std::uint16_t cta_mask, const void *tile, Site where) {
    Cta *own = current->cta;
    const std::uint32_t mask = cta_mask == 0 ? 1u << own->rank : cta_mask;
    std::vector<Cta *> destinations;
    for (int rank = 0; rank < 16; ++rank)
        if (mask >> rank & 1)
            destinations.push_back(rank == own->rank ? own : peer_at(tile, rank, where).cta);
    return destinations;
}

void count_load(const Box &box, std::size_t destinations) {
    ++counts.tma_loads;
    counts.tma_read_bytes += box.bytes_inside();
    counts.multicast_bytes += box.bytes() * (destinations - 1);
}

} // namespace

void acquire_tensor_map(const void *map) {
    schedule_point();
    current->cta->acquired_maps.push_back(map);
}

void check_launch_before(const char *copy, Site where) {
    if (!order::is_after_launch_before())
        fail(Mistake::HAZARD,
             format(
                 "%s in a kernel that was launched early, by a thread that neither has waited for "
                 "the launch before, which may still use that memory, nor comes after one that has",
                 copy),
             where, "started the copy here, without wait_for_launch_before");
}

Box checked_box(const void *map, const Coordinates &at, const char *copy, Site where) {
    const Box box{checked_map(map, at.rank, copy, where), at};
    check_launch_before(copy, where);
    if (box.elements_inside() == 0)
        return box;
    std::uint64_t begin = 0, last = 0;
    for (int i = 0; i < at.rank; ++i) {
        const Overlap inside = box.overlap(i);
        const std::uint64_t stride = i == 0 ? box.tensor.element_bytes : box.tensor.strides[i - 1];
        begin += std::uint64_t(inside.begin) * stride;
        last += std::uint64_t(inside.end - 1) * stride;
    }
    check_global(box.tensor.base + begin, std::size_t(last - begin) + box.tensor.element_bytes,
                 copy, where);
    return box;
}

std::uint32_t checked_tile(const void *tile, const Box &box, const char *copy, Site where) {
    const std::uint32_t address = shared_address(tile, where);
    const std::uint32_t alignment = box.tensor.is_bulk ? BULK_ALIGNMENT : TILE_ALIGNMENT;
    if (address % alignment != 0)
        fail(Mistake::MISUSE,
             format("%s: the tile at shared address 0x%x is not %u-byte aligned%s", copy, address,
                    alignment, hint_on_alignment().c_str()),
             where, "started the copy here");
    const std::uint32_t offset = address - SHARED_BASE;
    current->cta->shared.generic(offset, box.bytes()); // fails if it is not inside
    return offset;
}

void tma_load(void *tile, const void *map, const Coordinates &at, std::uint64_t *barrier,
              std::uint16_t cta_mask, Site where) {
    const Box box = checked_box(map, at, "TMA load", where);
    const std::uint32_t to = checked_tile(tile, box, "TMA load", where);
    const std::uint32_t barrier_offset = shared_address(barrier, where) - SHARED_BASE;
    const std::vector<Cta *> destinations = destinations_of(cta_mask, tile, where);
    count_load(box, destinations.size());
    for (Cta *cta : destinations) {
        // A peer's as well: the bytes may land at once.
        mbarrier_copy_issued(mbarrier_at(*cta, barrier_offset, where));
    }
    for (Cta *cta : destinations) {
        const Load load{box, cta, to, barrier_offset, current, where};
        submit({.kind = OperationKind::LOAD,
                .cta = cta,
                .issuer = current,
                .site = where,
                .name = "TMA load",
                .complete = [load] { land(load); },
                .tile = to,
                .barrier = barrier_offset,
                .bytes = box.bytes()});
    }
}

namespace {

// Bytes on their way to a peer: those of a register, or those that the own CTA has at `source` when
// the copy happens.
struct Sent {
    Cta *peer, *own;
    std::uint32_t to, source;
    std::vector<unsigned char> bytes;
    std::uint32_t barrier;
    Site site;
};

void arrive(Sent &sent) {
    const std::size_t count = sent.bytes.size();
    if (sent.own != nullptr) {
        access_shared(*sent.own, sent.source, count, {false, sent.site});
        std::memcpy(sent.bytes.data(), sent.own->shared.generic(sent.source, count), count);
    }
    access_shared(*sent.peer, sent.to, count, {true, sent.site});
    peer_uses(*sent.peer, sent.site);
    std::memcpy(sent.peer->shared.generic(sent.to, count), sent.bytes.data(), count);
    mbarrier_copy_landed(mbarrier_at(*sent.peer, sent.barrier, sent.site), int(count), sent.site);
}

void send(const Sent &sent, const char *name) {
    mbarrier_copy_issued(mbarrier_at(*sent.peer, sent.barrier, sent.site));
    submit({.kind = OperationKind::LOAD,
            .cta = sent.peer,
            .issuer = current,
            .site = sent.site,
            .name = name,
            .complete = [copy = sent]() mutable { arrive(copy); },
            .by_threads = sent.own == nullptr,
            .tile = sent.to,
            .barrier = sent.barrier,
            .bytes = std::uint32_t(sent.bytes.size())});
}

} // namespace

void bulk_send(void *to, const void *from, std::uint32_t bytes, std::uint64_t *barrier, int rank,
               Site where) {
    const std::uint32_t offset = shared_address(to, where) - SHARED_BASE;
    const std::uint32_t source = shared_address(from, where) - SHARED_BASE;
    const std::uint32_t barrier_offset = shared_address(barrier, where) - SHARED_BASE;
    if (bytes == 0 || (bytes | offset | source) % BULK_ALIGNMENT != 0)
        fail(Mistake::MISUSE,
             "cp.async.bulk with an address or a size that is not a multiple of 16", where,
             "called it here");
    current->cta->shared.generic(offset, bytes); // fails if it is not inside
    send({peer_at(to, rank, where).cta, current->cta, offset, source,
          std::vector<unsigned char>(bytes), barrier_offset, where},
         "cp.async.bulk");
}

// A store of the generic proxy. (PTX ISA: st.async.)
void store_async(void *to, const void *value, std::uint32_t bytes, std::uint64_t *barrier, int rank,
                 Site where) {
    const unsigned char *first = static_cast<const unsigned char *>(value);
    send({peer_at(to, rank, where).cta,
          nullptr,
          shared_address(to, where) - SHARED_BASE,
          0,
          {first, first + bytes},
          shared_address(barrier, where) - SHARED_BASE,
          where},
         "st.async");
}

} // namespace emulator
