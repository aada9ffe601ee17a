// TMA loads, and what loads and stores check alike.
#include "emulator/tma.h"

#include "emulator/copy.h"
#include "emulator/counts.h"
#include "emulator/global_memory.h"
#include "emulator/launch_order.h"
#include "emulator/machine.h"
#include "emulator/mbarrier.h"
#include "emulator/operations.h"
#include "emulator/global_writes.h"
#include "emulator/tensor_box.h"

namespace emulator {

namespace {

constexpr std::uint32_t TILE_ALIGNMENT = 128;

void check_parameter(const void *map, const char *copy, Site where) {
    if (global_place(map, sizeof(TensorDescription)) != GlobalPlace::ELSEWHERE)
        fail(Mistake::MISUSE,
             format(
                 "%s with a tensor map in global memory: TMA reads maps through a proxy of its own "
                 "and may see what was there before. Pass it as a __grid_constant__ parameter",
                 copy),
             where, "started the copy here");
}

TensorDescription checked_map(const void *map, const char *copy, Site where) {
    if (reinterpret_cast<std::uintptr_t>(map) % TENSOR_MAP_ALIGNMENT != 0)
        fail(Mistake::MISUSE, format("%s with a tensor map that is not 64-byte aligned", copy),
             where, "started the copy here");
    TensorDescription tensor;
    copy_bytes(&tensor, map, sizeof(tensor));
    if (tensor.mark != TENSOR_MAP_MARK)
        fail(Mistake::MISUSE, format("%s with a tensor map that was never encoded", copy), where,
             "started the copy here");
    check_parameter(map, copy, where);
    const std::uint32_t row = std::uint32_t(tensor.box_columns) * tensor.element_bytes;
    if (tensor.swizzle != 0 && row != swizzle_span(tensor.swizzle))
        fail(Mistake::MISUSE,
             format("%s of rows of %u bytes under a swizzle of %u: narrower rows than the "
                    "swizzle's are not modelled",
                    copy, row, swizzle_span(tensor.swizzle)),
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
    races::write(shared.generic(load.tile, load.box.bytes()), load.box.bytes());
    unsigned char bytes[LONGEST_ROW];
    walk_rows(load.box, [&](const BoxRow &row) {
        fill_bytes(bytes, 0, load.box.row_bytes()); // what lies outside of the matrix
        if (row.inside > 0) {
            races::read(row.global, row.inside);
            copy_bytes(bytes + row.skipped, row.global, row.inside);
        }
        walk_pieces(load.box, load.tile, row.offset,
                    [&](std::uint32_t to, std::uint32_t from, std::uint32_t count) {
                        shared.write_async(to, bytes + from, count, "TMA load", load.site);
                    });
    });
    shared.landed(load.tile, load.box.bytes(), *load.issuer, load.site);
    const MbarrierRef barrier = mbarrier_at(*load.cta, load.barrier, load.site);
    mbarrier_complete_bytes(barrier, int(load.box.bytes()));
}

// The CTAs of the mask, checked: they must be there to be written to.
std::vector<Cta *> destinations_of(std::uint16_t cta_mask, const void *tile, Site where) {
    Cta *own = current->cta;
    const std::uint32_t mask = cta_mask == 0 ? 1u << own->rank : cta_mask;
    std::vector<Cta *> destinations;
    for (int rank = 0; rank < 16; ++rank)
        if (mask >> rank & 1)
            destinations.push_back(rank == own->rank ? own : map_shared(tile, rank, where).cta);
    return destinations;
}

void count_load(const Box &box, std::size_t destinations) {
    ++counts.tma_loads;
    counts.tma_read_bytes += box.bytes_inside();
    counts.multicast_bytes += box.bytes() * (destinations - 1);
}

} // namespace

void check_launch_before(const char *copy, Site where) {
    if (!launch_order::is_after())
        fail(Mistake::HAZARD,
             format(
                 "%s in a kernel that was launched early, by a thread that neither has waited for "
                 "the launch before, which may still use that memory, nor comes after one that has",
                 copy),
             where, "started the copy here, without wait_for_launch_before");
}

Box checked_box(const void *map, int column, int row, const char *copy, Site where) {
    const Box box{checked_map(map, copy, where), column, row};
    check_launch_before(copy, where);
    const Overlap columns = box.columns(), rows = box.rows();
    if (columns.count() > 0 && rows.count() > 0) {
        const unsigned char *begin = box.global(columns.begin, rows.begin);
        const unsigned char *end = box.global(columns.end, rows.end - 1);
        check_global(begin, std::size_t(end - begin), copy, where);
    }
    return box;
}

std::uint32_t checked_tile(const void *tile, const Box &box, const char *copy, Site where) {
    const std::uint32_t address = shared_address(tile, where);
    if (address % TILE_ALIGNMENT != 0)
        fail(Mistake::MISUSE,
             format("%s: the tile at shared address 0x%x is not 128-byte aligned", copy, address),
             where, "started the copy here");
    const std::uint32_t offset = address - SHARED_BASE;
    current->cta->shared.generic(offset, box.bytes()); // fails if it is not inside
    return offset;
}

void tma_load(void *tile, const void *map, int column, int row, std::uint64_t *barrier,
              std::uint16_t cta_mask, Site where) {
    const Box box = checked_box(map, column, row, "TMA load", where);
    const std::uint32_t to = checked_tile(tile, box, "TMA load", where);
    const std::uint32_t barrier_offset = shared_address(barrier, where) - SHARED_BASE;
    const std::vector<Cta *> destinations = destinations_of(cta_mask, tile, where);
    count_load(box, destinations.size());
    walk_rows(box, [&](const BoxRow &loaded) {
        if (loaded.inside > 0)
            scopes_read(*current, loaded.global, loaded.inside, where);
    });
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
                .barrier = barrier_offset});
    }
}

} // namespace emulator
