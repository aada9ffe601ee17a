// TMA: loads, what cp.async.bulk and st.async send to other CTAs, and stores, in the bulk groups in
// which a thread waits for them. A store happens in two steps: it reads shared memory, and later it
// writes global memory.
#include "emulator/asynchronous.h"

#include "global_memory.h"
#include "machine.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace emulator {
namespace {
constexpr std::uint32_t TILE_ALIGNMENT = 128;
constexpr std::uint32_t BULK_ALIGNMENT = 16;
constexpr std::uint32_t STORE_CHUNK = 16; // bytes

// ---------------------------------------------------------------------------- checks
constexpr const char *STARTED = "started the copy here";

// `copy` names the instruction, "TMA load".
void check_parameter(const void *map, const char *copy, Site where) {
    const bool shared = current->cta->shared.contains(map);
    if (translated_program && (shared || is_local(map)))
        fail_unless_allowed("local-map", Mistake::MISUSE, {note_at(*current, where, STARTED)},
                            "%s with a tensor map in %s memory, where TMA cannot read it. Pass "
                            "it as a const __grid_constant__ parameter",
                            copy, shared ? "shared" : "a thread's local");
    if (is_host_memory(map))
        fail(Mistake::ADDRESS, where, STARTED, "%s with a tensor map in host memory", copy);
    const std::vector<const void *> &acquired = current->cta->acquired_maps;
    if (global_place(map, sizeof(TensorDescription)) != GlobalPlace::ELSEWHERE &&
        std::find(acquired.begin(), acquired.end(), map) == acquired.end())
        fail_unless_allowed(
            "global-map", Mistake::MISUSE, {note_at(*current, where, STARTED)},
            "%s with a tensor map in global memory: TMA reads maps through a proxy of its own "
            "and may see what was there before. Pass it as a __grid_constant__ parameter%s",
            copy,
            translated_program ? ", or execute fence.proxy.tensormap::generic.acquire in each CTA"
                               : "");
}

TensorDescription checked_map(const void *map, int rank, const char *copy, Site where) {
    if (std::uintptr_t(map) % TENSOR_MAP_ALIGNMENT != 0)
        reject(where, "%s with a tensor map that is not 64-byte aligned", copy);
    TensorDescription tensor;
    std::memcpy(&tensor, map, sizeof(tensor));
    if (tensor.mark != TENSOR_MAP_MARK)
        reject(where, "%s with a tensor map that was never encoded", copy);
    if (!tensor.is_bulk) // else it was made by the copy itself
        check_parameter(map, copy, where);
    const std::uint32_t row = std::uint32_t(tensor.box[0]) * tensor.element_bytes;
    if (tensor.swizzle != 0 && row != swizzle_span(tensor.swizzle))
        reject(where,
               "%s of rows of %u bytes under a swizzle of %u: narrower rows than the swizzle's are "
               "not modelled",
               copy, row, swizzle_span(tensor.swizzle));
    if (tensor.rank != rank)
        reject(where, "%s with %d coordinates and a tensor map of rank %d", copy, rank,
               tensor.rank);
    return tensor;
}

// The box at coordinates of a map that a kernel names, and its tile.
Box checked_box(const void *map, const Coordinates &at, SharedRef tile, const char *copy,
                Site where) {
    Box box{checked_map(map, at.rank, copy, where), at};
    if (!box.tensor.is_bulk && global_place(map, 1) == GlobalPlace::INSIDE)
        box.map = map;
    if (!order::is_after_launch_before())
        fail(Mistake::HAZARD, where, "started the copy here, without griddepcontrol.wait",
             "%s in a kernel that was launched early, by a thread that neither has waited for "
             "the launch before, which may still use that memory, nor comes after one that has",
             copy);
    const unsigned char *begin = nullptr, *end = nullptr;
    walk_rows(box, [&](const BoxRow &row) {
        begin = begin == nullptr ? row.global : begin;
        end = row.global + row.bytes;
        box.inside += row.bytes;
    });
    if (box.inside > 0)
        check_global(begin, std::size_t(end - begin), copy, where);
    box.tile = tile.offset;
    const std::uint32_t alignment = box.tensor.is_bulk ? BULK_ALIGNMENT : TILE_ALIGNMENT;
    if (box.tile % alignment != 0)
        reject(where, "%s: the tile at shared address 0x%x is not %u-byte aligned%s", copy,
               SHARED_BASE + box.tile, alignment, hint_on_alignment().c_str());
    current->cta->shared.generic(box.tile, box.bytes()); // fails if it is not inside
    return box;
}

// ---------------------------------------------------------------------------- loads
// Starts a load into the shared memory of the barrier's CTA; `move` brings the bytes.
template <typename Move>
void start_load(Operation started, SharedRef barrier, const Move &move) {
    started.kind = OperationKind::LOAD;
    started.cta = barrier.cta;
    started.barrier = barrier.offset;
    started.complete = [barrier, move](const Operation &load) {
        if (load.cta->exited())
            fail(Mistake::LIFETIME, {note_at(load.site, "the load was started here")},
                 "a %s reaches CTA %d, which has exited", load.name, load.cta->rank);
        access_shared(*load.cta, load.tile, load.bytes, {true, load.site});
        peer_uses(*load.cta, load.site);
        move(load);
        mbarrier_copy_landed(barrier, int(load.bytes), load.site);
    };
    submit(std::move(started));
}

// A copy reads its map until it ends.
void read_map(const Operation &copy, const Box &box) {
    if (box.map != nullptr)
        access_global(box.map, sizeof(CUtensorMap),
                      {.is_write = false, .where = copy.site, .of_map = true, .of = " of its map"});
}

// Brings the box as it is now in global memory; what lies outside of the tensor is zeros.
void load_box(const Operation &load, const Box &box) {
    read_map(load, box);
    std::vector<unsigned char> bytes(box.bytes());
    walk_rows(box, [&](const BoxRow &row) {
        access_global(row.global, row.bytes, {false, load.site});
        std::memcpy(&bytes[row.offset], row.global, row.bytes);
    });
    walk_pieces(box, *load.cta, [&](unsigned char *piece, std::uint32_t at, std::uint32_t count) {
        std::memcpy(piece, &bytes[at], count);
    });
}

// A copy goes to the CTA that has its barrier, which must be there.
void check_destination(SharedRef to, SharedRef barrier, const char *what, Site where) {
    if (to.cta != barrier.cta)
        reject(where, "%s and its mbarrier in different CTAs", what);
    check_peer(*to.cta, where);
}

// The CTAs of the mask, checked.
std::vector<Cta *> destinations_of(std::uint16_t cta_mask, Site where) {
    std::vector<Cta *> destinations;
    for (int rank = 0; rank < 16; ++rank)
        if (cta_mask >> rank & 1) {
            destinations.push_back(&cta_of_rank(rank, where));
            check_peer(*destinations.back(), where);
        }
    return destinations;
}

// A bulk copy without a tensor, as the box that is a whole tensor of rows of 16 bytes. (PTX ISA:
// cp.async.bulk: addresses and sizes are multiples of 16.)
TensorDescription map_of_bytes(const void *memory, std::uint32_t bytes, Site where) {
    if (bytes == 0 || bytes % BULK_ALIGNMENT != 0 || std::uintptr_t(memory) % BULK_ALIGNMENT != 0)
        reject(where, "cp.async.bulk of %u bytes at %p: both are multiples of 16", bytes, memory);
    return {.base = static_cast<unsigned char *>(const_cast<void *>(memory)),
            .sizes = {BULK_ALIGNMENT, bytes / BULK_ALIGNMENT},
            .strides = {BULK_ALIGNMENT},
            .box = {BULK_ALIGNMENT, std::uint16_t(bytes / BULK_ALIGNMENT)},
            .rank = 2,
            .element_bytes = 1,
            .is_bulk = true};
}

constexpr Coordinates ORIGIN = {2, {0, 0}};
} // namespace

void acquire_tensor_map(const void *map) {
    schedule_point();
    current->cta->acquired_maps.push_back(map);
}

void tma_load(SharedRef tile, const void *map, const Coordinates &at, SharedRef barrier,
              std::uint16_t cta_mask, Site where) {
    if (cta_mask == 0)
        check_destination(tile, barrier, "a TMA load with its tile", where);
    const Box box = checked_box(map, at, tile, "TMA load", where);
    const std::vector<Cta *> destinations =
        cta_mask == 0 ? std::vector{barrier.cta} : destinations_of(cta_mask, where);
    ++counts.tma_loads;
    counts.tma_read_bytes += box.inside;
    counts.multicast_bytes += box.bytes() * (destinations.size() - 1);
    for (Cta *cta : destinations) // of all first: the bytes may land at once
        mbarrier_copy_issued({cta, barrier.offset}, where);
    for (Cta *cta : destinations)
        start_load({.site = where, .name = "TMA load", .tile = box.tile, .bytes = box.bytes()},
                   {cta, barrier.offset}, [box](const Operation &load) { load_box(load, box); });
}

void bulk_load(SharedRef to, const void *from, std::uint32_t bytes, SharedRef barrier,
               std::uint16_t cta_mask, Site where) {
    alignas(TENSOR_MAP_ALIGNMENT) const TensorDescription source = map_of_bytes(from, bytes, where);
    tma_load(to, &source, ORIGIN, barrier, cta_mask, where);
}

void bulk_send(SharedRef to, SharedRef from, std::uint32_t bytes, SharedRef barrier, Site where) {
    check_destination(to, barrier, "cp.async.bulk with its bytes", where);
    if (bytes == 0 || (bytes | to.offset | from.offset) % BULK_ALIGNMENT != 0)
        reject(where, "cp.async.bulk with an address or a size that is not a multiple of 16");
    current->cta->shared.generic(to.offset, bytes); // fails if it is not inside
    mbarrier_copy_issued(barrier, where);
    start_load({.site = where, .name = "cp.async.bulk", .tile = to.offset, .bytes = bytes}, barrier,
               [source = from.offset](const Operation &load) {
                   Cta &own = *load.issuer->cta;
                   access_shared(own, source, load.bytes, {false, load.site});
                   std::memcpy(load.cta->shared.generic(load.tile, load.bytes),
                               own.shared.generic(source, load.bytes), load.bytes);
               });
}

// A store of the generic proxy. (PTX ISA: st.async.)
void store_async(SharedRef to, const void *value, std::uint32_t bytes, SharedRef barrier,
                 Site where) {
    check_destination(to, barrier, "st.async with its bytes", where);
    if (to.offset % bytes != 0)
        fail(Mistake::MISUSE, where, "accessed it here",
             "an access of %u bytes that is not aligned to them", bytes);
    mbarrier_copy_issued(barrier, where);
    const std::string sent(static_cast<const char *>(value), bytes);
    start_load(
        {.site = where, .name = "st.async", .by_threads = true, .tile = to.offset, .bytes = bytes},
        barrier, [sent](const Operation &load) {
            std::memcpy(load.cta->shared.generic(load.tile, load.bytes), sent.data(), load.bytes);
        });
}

// ---------------------------------------------------------------------------- stores
// A store on its way. It lives until both of its operations have happened.
struct Store {
    Box box;
    Reduce reduce;                    // nullptr: the bytes replace what is there
    std::vector<unsigned char> bytes; // of the box, once they are read
};

static void read_shared(const Operation &operation, Store &store) {
    Cta &cta = *operation.cta;
    store.bytes.resize(store.box.bytes());
    access_shared(cta, store.box.tile, store.box.bytes(), {false, operation.site});
    walk_pieces(store.box, cta, [&](unsigned char *piece, std::uint32_t at, std::uint32_t count) {
        std::memcpy(&store.bytes[at], piece, count);
    });
    operation.issuer->bulk.take(operation.group, &OperationGroup::read);
}

static void write_global(const Operation &operation, const Store &store) {
    OperationGroups &groups = operation.issuer->bulk;
    read_map(operation, store.box);
    order::acquire(groups.at(operation.group).read.done); // a store writes what it has read
    if (store.reduce != nullptr)
        proof::fails(proof::SUMS, "", operation.site); // for all that is known here
    const Strength strength = store.reduce != nullptr ? Strength::ATOMIC : Strength::WEAK;
    walk_rows(store.box, [&](const BoxRow &row) {
        access_global(row.global, row.bytes,
                      {.is_write = true,
                       .where = operation.site,
                       .strength = strength,
                       .commuting = reinterpret_cast<const char *>(store.reduce)});
        const unsigned char *from = &store.bytes[row.offset];
        if (store.reduce != nullptr) // reductions may come in any order
            store.reduce(row.global, from, row.bytes);
        else
            std::memcpy(row.global, from, row.bytes);
    });
    groups.take(operation.group, &OperationGroup::written);
}

void tma_store(const void *map, const Coordinates &at, SharedRef tile, Site where, Reduce reduce) {
    // Loads may begin before the matrix, stores not: the GPU takes them for illegal instructions.
    for (int i = 0; i < at.rank; ++i)
        if (at.at[i] < 0)
            fail(Mistake::MISUSE, {note_at(where, "stored here")},
                 "a TMA store's coordinates must not be negative: coordinate %d is %d", i,
                 at.at[i]);
    const Box box = checked_box(map, at, tile, "TMA store", where);
    const std::uint64_t element = box.tensor.element_bytes, row = box.tensor.sizes[0] * element;
    if (row % STORE_CHUNK != 0 && (at.at[0] + box.tensor.box[0]) * element > row)
        reject(where, "a TMA store past rows of %llu bytes: it writes chunks of 16 bytes",
               (unsigned long long)row);
    const auto store = std::make_shared<Store>(Store{box, reduce, {}});
    const std::uint64_t group = current->bulk.join(where);
    ++counts.tma_stores;
    counts.tma_written_bytes += box.inside;
    submit({.kind = OperationKind::STORE_READ,
            .site = where,
            .name = "TMA store",
            .complete = [store](const Operation &operation) { read_shared(operation, *store); },
            .tile = box.tile,
            .group = group});
    submit({.kind = OperationKind::STORE_WRITE,
            .site = where,
            .name = "TMA store",
            .complete = [store](const Operation &operation) { write_global(operation, *store); },
            .ready = [store] { return !store->bytes.empty(); },
            .tile = box.tile,
            .group = group});
}

void bulk_store(void *to, SharedRef from, std::uint32_t bytes, Reduce reduce, Site where) {
    alignas(TENSOR_MAP_ALIGNMENT) const TensorDescription target = map_of_bytes(to, bytes, where);
    tma_store(&target, ORIGIN, from, where, reduce);
}

void bulk_commit(Site) { current->bulk.commit(); }

void bulk_wait(int pending, bool read, Site where) {
    current->bulk.wait(pending, read ? &OperationGroup::read : &OperationGroup::written, where,
                       read ? "stores still have to read shared memory"
                            : "stores still have to be written");
}

// ---------------------------------------------------------------------------- cp.async
// Copies of the generic proxy: TMA and wgmma see what they write after the thread's fence.

namespace {
// A copy lands; of its bytes those that `from` does not have become zeros.
void land(const Operation &copy, const void *from, std::size_t from_bytes) {
    unsigned char *to = copy.cta->shared.generic(copy.tile, copy.bytes);
    if (from_bytes > 0)
        access_global(from, from_bytes, {false, copy.site});
    access_shared(*copy.cta, copy.tile, copy.bytes, {true, copy.site});
    std::memcpy(to, from, from_bytes);
    std::memset(to + from_bytes, 0, copy.bytes - from_bytes);
}

// The thread's copy of this number has landed. The arrivals that waited for nothing else happen.
void arrive_after(Thread &thread, std::uint64_t number) {
    std::erase_if(thread.copy_arrivals, [&](CopyArrival &arrival) {
        if (number >= arrival.before)
            return false;
        --arrival.missing;
        mbarrier_copy_arrives(arrival.barrier, arrival.missing == 0, arrival.site);
        return arrival.missing == 0;
    });
}
} // namespace

void cp_async(SharedRef to, const void *global, int source_bytes, Site where, int bytes) {
    if (bytes != 4 && bytes != 8 && bytes != 16)
        reject(where, "cp.async of %d bytes: 4, 8 or 16", bytes);
    if (source_bytes < 0 || source_bytes > bytes)
        reject(where, "cp.async of %d bytes with %d from its source", bytes, source_bytes);
    const bool from_aligned = std::uintptr_t(global) % unsigned(bytes) == 0;
    if ((SHARED_BASE + to.offset) % unsigned(bytes) != 0 || !from_aligned)
        reject(where, "cp.async of %d bytes %s an address that is not aligned to them", bytes,
               from_aligned ? "to" : "from");
    if (source_bytes > 0)
        check_global(global, std::size_t(source_bytes), "cp.async", where);
    Thread &self = *current;
    self.cta->shared.generic(to.offset, std::size_t(bytes)); // fails if it is not inside
    counts.copied_bytes += std::uint64_t(source_bytes);
    const std::uint64_t number = self.copies.started, group = self.copies.join(where);
    submit({.kind = OperationKind::COPY,
            .site = where,
            .name = "cp.async",
            .complete =
                [=](const Operation &copy) {
                    land(copy, global, std::size_t(source_bytes));
                    copy.issuer->copies.take(copy.group, &OperationGroup::written);
                    arrive_after(*copy.issuer, number);
                },
            .agent = self.copies.agent(),
            .tile = to.offset,
            .bytes = std::uint32_t(bytes),
            .group = group});
}

void cp_async_mbarrier_arrive(SharedRef barrier, bool counted, Site where) {
    Thread &self = *current;
    mbarrier_copy_to_arrive(barrier, counted, where);
    const int missing = int(self.copies.started - self.copies.ended);
    if (missing == 0)
        mbarrier_copy_arrives(barrier, true, where);
    else
        self.copy_arrivals.push_back({barrier, self.copies.started, missing, where});
}

void cp_async_commit(Site) { current->copies.commit(); }

void cp_async_wait(int pending, Site where) {
    current->copies.wait(pending, &OperationGroup::written, where, "copies have not landed");
}

// ---------------------------------------------------------------------------- boxes
void walk_rows(const Box &box, const std::function<void(const BoxRow &)> &visit) {
    const TensorDescription &tensor = box.tensor;
    const std::int64_t begin = std::max(box.at.at[0], 0);
    const std::int64_t end =
        std::min(std::int64_t(box.at.at[0]) + tensor.box[0], std::int64_t(tensor.sizes[0]));
    if (begin >= end)
        return;
    const std::uint32_t skipped = std::uint32_t(begin - box.at.at[0]) * tensor.element_bytes;
    const std::uint32_t bytes = std::uint32_t(end - begin) * tensor.element_bytes;
    std::int64_t place[MOST_DIMENSIONS]; // of the row
    std::copy_n(box.at.at, tensor.rank, place);
    for (std::uint32_t row = 0, rows = box.rows(); row < rows; ++row) {
        bool inside = true;
        std::int64_t offset = begin * tensor.element_bytes;
        for (int i = 1; i < tensor.rank; ++i) {
            inside &= place[i] >= 0 && std::uint64_t(place[i]) < tensor.sizes[i];
            offset += place[i] * std::int64_t(tensor.strides[i - 1]);
        }
        if (inside)
            visit({row * box.row_bytes() + skipped, bytes, tensor.base + offset});
        for (int i = 1; i < tensor.rank && ++place[i] == box.at.at[i] + tensor.box[i]; ++i)
            place[i] = box.at.at[i];
    }
}

void walk_pieces(const Box &box, const Cta &cta, const PieceVisitor &visit) {
    const std::uint32_t bytes = box.bytes();
    const std::uint32_t count = box.tensor.swizzle == 0 ? bytes : SWIZZLE_CHUNK;
    // The bits of the address decide, not those of the offset in the tile.
    for (std::uint32_t at = 0; at < bytes; at += count) {
        const std::uint32_t place =
            swizzle_address(SHARED_BASE + box.tile + at, box.tensor.swizzle);
        visit(cta.shared.generic(place - SHARED_BASE, count), at, count);
    }
}
} // namespace emulator

static bool aligned(const void *pointer, std::uintptr_t alignment) {
    return pointer != nullptr && std::uintptr_t(pointer) % alignment == 0;
}

// Bytes of an element, by CUtensorMapDataType.
static constexpr std::uint8_t ELEMENT_BYTES[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

static bool are_valid(cuuint32_t rank, const cuuint64_t *sizes, const cuuint64_t *strides,
                      const cuuint32_t *box, const cuuint32_t *element_strides) {
    if (rank < 1 || rank > emulator::MOST_DIMENSIONS)
        return false;
    for (cuuint32_t i = 0; i < rank; ++i)
        if (sizes[i] == 0 || sizes[i] > std::uint64_t(1) << 32 || box[i] == 0 || box[i] > 256 ||
            element_strides[i] == 0 || element_strides[i] > 8)
            return false;
    for (cuuint32_t i = 0; i + 1 < rank; ++i)
        if (strides[i] % 16 != 0 || strides[i] >= std::uint64_t(1) << 40)
            return false;
    return true;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *base, const cuuint64_t *sizes, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
    if (std::size_t(type) >= std::size(ELEMENT_BYTES) ||
        !aligned(map, emulator::TENSOR_MAP_ALIGNMENT) || !aligned(base, 16) ||
        !are_valid(rank, sizes, strides, box, element_strides))
        return CUDA_ERROR_INVALID_VALUE;
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
        fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
        std::any_of(element_strides, element_strides + rank, [](auto by) { return by != 1; })) {
        std::fputs("cuTensorMapEncodeTiled: the emulator models no interleaved layouts, element "
                   "strides, NaNs outside of the tensor, or further swizzles\n",
                   stderr);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    emulator::TensorDescription made = {.base = static_cast<unsigned char *>(base),
                                        .rank = std::uint8_t(rank),
                                        .element_bytes = ELEMENT_BYTES[type],
                                        .swizzle = std::uint8_t(swizzle),
                                        .type = std::uint8_t(type)};
    const std::uint32_t row = box[0] * made.element_bytes;
    if (row % 16 != 0 ||
        (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && row > emulator::swizzle_span(swizzle)))
        return CUDA_ERROR_INVALID_VALUE;
    std::copy_n(sizes, rank, made.sizes);
    std::copy_n(box, rank, made.box);
    std::copy_n(strides, rank - 1, made.strides);
    std::memcpy(map, &made, sizeof made);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == CUDA_SUCCESS               ? "CUDA_SUCCESS"
            : error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
                                                : "CUDA_ERROR_NOT_SUPPORTED";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **words) {
    *words = cudaGetErrorString(cudaError_t(error)); // they have the same numbers
    return CUDA_SUCCESS;
}
