#include "emulator/ptx.h"

#include "emulator/barriers.h"
#include "machine.h"
#include "emulator/mbarrier.h"
#include "mbarrier_table.h"
#include "tensor_box.h"
#include "emulator/warp.h"

#include <cuda.h>

#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace emulator::ptx {

namespace {

constexpr int RANK_SHIFT = 24;
constexpr std::uint32_t OFFSET_MASK = (1u << RANK_SHIFT) - 1;

Cta &own() { return *current->cta; }

// What an address says: the own CTA's, or a peer's that mapa put into it.
bool is_own(Shared address) {
    return address.address >> RANK_SHIFT == 0 || int(cta_rank_of(address.address)) == own().rank;
}

std::uint32_t offset_of(Shared address) { return (address.address & OFFSET_MASK) - SHARED_BASE; }

void check_own(Shared address, const char *what, Site where) {
    if (!is_own(address))
        fail(Mistake::MISUSE,
             format("%s with shared address 0x%x, of CTA %u: only the own CTA's is allowed here, "
                    "or modelled",
                    what, address.address, cta_rank_of(address.address)),
             where, "called it here");
}

void check_address(Shared address, std::size_t bytes, Site where) {
    const std::uint32_t in_cta = address.address & OFFSET_MASK;
    if (in_cta < SHARED_BASE || in_cta - SHARED_BASE + bytes > own().shared.size())
        fail(Mistake::ADDRESS,
             format("%zu bytes at shared address 0x%x: the CTA's memory is 0x%x to 0x%zx", bytes,
                    address.address, SHARED_BASE, SHARED_BASE + own().shared.size()),
             where, "used it here");
}

// The own CTA's memory at an address.
void *own_memory(Shared address, std::size_t bytes, const char *what, Site where) {
    check_own(address, what, where);
    check_address(address, bytes, where);
    return own().shared.generic(offset_of(address), bytes);
}

// The mbarrier at an address of any CTA of the cluster.
MbarrierRef barrier_at(Shared address, Site where) {
    check_address(address, sizeof(std::uint64_t), where);
    const std::uint32_t offset = offset_of(address);
    if (offset % sizeof(std::uint64_t) != 0)
        fail(Mistake::MISUSE, "an mbarrier has to be aligned to 8 bytes", where,
             "used one that is not");
    if (is_own(address))
        return {&own(), offset};
    const int rank = int(cta_rank_of(address.address));
    return {map_shared(own().shared.generic(offset, sizeof(std::uint64_t)), rank, where).cta,
            offset};
}

MbarrierRef own_barrier(Shared address, const char *what, Site where) {
    check_own(address, what, where);
    return barrier_at(address, where);
}

} // namespace

// ---------------------------------------------------------------------------- special registers

uint3 clusterid() {
    const uint3 size = cluster_nctaid();
    return {blockIdx.x / size.x, blockIdx.y / size.y, blockIdx.z / size.z};
}

uint3 nclusterid() {
    const uint3 size = cluster_nctaid();
    return {gridDim.x / size.x, gridDim.y / size.y, gridDim.z / size.z};
}

uint3 cluster_ctaid() {
    const uint3 size = cluster_nctaid();
    return {blockIdx.x % size.x, blockIdx.y % size.y, blockIdx.z % size.z};
}

uint3 cluster_nctaid() {
    const uint3 first = current_cluster->ctas.front()->block_index;
    const uint3 last = current_cluster->ctas.back()->block_index;
    return {last.x - first.x + 1, last.y - first.y + 1, last.z - first.z + 1};
}

std::uint32_t cluster_ctarank() { return std::uint32_t(cluster_cta_rank()); }
std::uint32_t cluster_nctarank() { return std::uint32_t(cluster_ctas()); }
bool is_explicit_cluster() { return cluster_ctas() > 1; }

std::uint32_t laneid() { return std::uint32_t(current->lane()); }
std::uint32_t warpid() { return std::uint32_t(current->warp()); }
std::uint32_t nwarpid() { return std::uint32_t(own().warps.size()); }
std::uint32_t nsmid() { return MULTIPROCESSORS; }

std::uint32_t smid() {
    const std::uint64_t cta =
        (std::uint64_t(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    return std::uint32_t(cta % MULTIPROCESSORS);
}

std::uint64_t gridid() { return 1; }
std::uint64_t clock64() { return next_step(); }
std::uint32_t total_smem_size() { return std::uint32_t(own().shared.size()); }

std::uint32_t dynamic_smem_size() {
    const SharedMemory &shared = own().shared;
    return std::uint32_t(shared.size() - shared.offset_of(shared.dynamic()));
}

// ---------------------------------------------------------------------------- addresses

std::uint32_t shared_of_generic(std::uint64_t pointer, Site where) {
    return shared_address(reinterpret_cast<const void *>(pointer), where);
}

std::uint64_t generic_of_shared(std::uint64_t address, Site where) {
    return reinterpret_cast<std::uint64_t>(own_memory(shared(address), 1, "cvta.shared", where));
}

bool is_shared(std::uint64_t pointer) {
    return own().shared.contains(reinterpret_cast<const void *>(pointer));
}

std::uint32_t mapa(std::uint32_t address, std::uint32_t rank, Site where) {
    check_own({address}, "mapa", where);
    if (rank >= current_cluster->ctas.size())
        fail(Mistake::MISUSE,
             format("mapa: CTA %u of a cluster of %zu", rank, current_cluster->ctas.size()), where,
             "called it here");
    return (address & OFFSET_MASK) | (rank + 1) << RANK_SHIFT;
}

std::uint32_t cta_rank_of(std::uint32_t address) {
    const std::uint32_t rank = address >> RANK_SHIFT;
    return rank == 0 ? std::uint32_t(own().rank) : rank - 1;
}

namespace {

void check_alignment(std::uintptr_t address, std::size_t bytes, Site where) {
    if (address % bytes != 0)
        fail(Mistake::MISUSE, format("an access of %zu bytes that is not aligned to them", bytes),
             where, "accessed it here");
}

} // namespace

namespace {

// What the own CTA has at the place of a peer's bytes.
void *own_place(Cluster address, std::size_t bytes, Site where) {
    check_address(address, bytes, where);
    check_alignment(address.address, bytes, where);
    return own().shared.generic(offset_of(address), bytes);
}

} // namespace

void cluster_load(void *to, Cluster address, std::size_t bytes, Site where) {
    cluster_read(to, own_place(address, bytes, where), bytes, int(cta_rank_of(address.address)),
                 where);
}

void cluster_store(Cluster address, const void *from, std::size_t bytes, Site where) {
    cluster_write(own_place(address, bytes, where), from, bytes, int(cta_rank_of(address.address)),
                  where);
}

void *memory_at(Cluster address, std::size_t bytes, Site where) {
    return cluster_address(own_place(address, bytes, where), int(cta_rank_of(address.address)),
                           where);
}

std::uint64_t mapa_generic(std::uint64_t address, std::uint32_t rank, Site where) {
    return reinterpret_cast<std::uint64_t>(
        memory_at(Cluster{{mapa(shared_of_generic(address, where), rank, where)}}, 1, where));
}

void *memory_at(Shared address, std::size_t bytes, Site where) {
    check_alignment(address.address, bytes, where);
    return own_memory(address, bytes, "a plain access", where);
}

void *memory_at(Generic address, std::size_t bytes, Site where) {
    check_alignment(reinterpret_cast<std::uintptr_t>(address.pointer), bytes, where);
    return address.pointer;
}

// ---------------------------------------------------------------------------- warps

namespace {

// The segment of lanes in which a shuffle stays: the upper half of shfl's last operand.
int width_of(std::uint32_t clamp) { return WARP_LANES - int(clamp >> 8 & (WARP_LANES - 1)); }

std::uint32_t shuffle(Shuffle how, std::uint32_t value, std::uint32_t operand, std::uint32_t clamp,
                      std::uint32_t mask, Site where) {
    return std::uint32_t(warp_shuffle(how, mask, value, int(operand), width_of(clamp), where));
}

// movmatrix: the matrix's rows become its columns. A lane has two neighbours of row lane / 4.
struct MovedLane {
    std::uint32_t pair;
};

void transpose_lanes(void **arguments) {
    std::uint16_t matrix[8][8];
    const auto lane_of = [&](int lane) { return static_cast<MovedLane *>(arguments[lane]); };
    for (int lane = 0; lane < WARP_LANES; ++lane)
        for (int i = 0; i < 2; ++i)
            matrix[lane / 4][lane % 4 * 2 + i] = std::uint16_t(lane_of(lane)->pair >> 16 * i);
    for (int lane = 0; lane < WARP_LANES; ++lane)
        lane_of(lane)->pair = matrix[lane % 4 * 2][lane / 4] |
                              std::uint32_t(matrix[lane % 4 * 2 + 1][lane / 4]) << 16;
}

} // namespace

std::uint32_t shuffle_idx(std::uint32_t value, std::uint32_t lane, std::uint32_t clamp,
                          std::uint32_t mask, Site where) {
    return shuffle(Shuffle::INDEX, value, lane, clamp, mask, where);
}
std::uint32_t shuffle_up(std::uint32_t value, std::uint32_t delta, std::uint32_t clamp,
                         std::uint32_t mask, Site where) {
    return shuffle(Shuffle::UP, value, delta, clamp, mask, where);
}
std::uint32_t shuffle_down(std::uint32_t value, std::uint32_t delta, std::uint32_t clamp,
                           std::uint32_t mask, Site where) {
    return shuffle(Shuffle::DOWN, value, delta, clamp, mask, where);
}
std::uint32_t shuffle_bfly(std::uint32_t value, std::uint32_t bits, std::uint32_t clamp,
                           std::uint32_t mask, Site where) {
    return shuffle(Shuffle::XOR, value, bits, clamp, mask, where);
}

// PTX ISA, shfl.sync: the predicate. Up compares with the segment's first lane, the others with its
// last one.
namespace {

int last_of_segment(std::uint32_t clamp) {
    const int fixed = int(clamp >> 8 & 31);
    return (int(laneid()) & fixed) | (int(clamp & 31) & ~fixed);
}

} // namespace

bool shuffle_inside_idx(std::uint32_t lane, std::uint32_t clamp) {
    const int fixed = int(clamp >> 8 & 31);
    return ((int(lane & 31) & ~fixed) | (int(laneid()) & fixed)) <= last_of_segment(clamp);
}
bool shuffle_inside_up(std::uint32_t delta, std::uint32_t clamp) {
    return int(laneid()) - int(delta & 31) >= last_of_segment(clamp);
}
bool shuffle_inside_down(std::uint32_t delta, std::uint32_t clamp) {
    return int(laneid() + (delta & 31)) <= last_of_segment(clamp);
}
bool shuffle_inside_bfly(std::uint32_t bits, std::uint32_t clamp) {
    return int(laneid() ^ (bits & 31)) <= last_of_segment(clamp);
}

std::uint32_t vote(const char *what, bool predicate, std::uint32_t mask, Site where) {
    return warp_vote(what, mask, predicate, where);
}

std::uint32_t activemask() { return warp_active(); }

std::uint32_t redux(Reduction how, std::uint32_t value, std::uint32_t mask, Site where) {
    return warp_reduce(how, mask, value, where);
}

std::uint32_t movmatrix(std::uint32_t pair, Site where) {
    MovedLane mine{pair};
    warp_together("movmatrix", &mine, transpose_lanes, where);
    return mine.pair;
}

std::uint32_t elect(std::uint32_t mask, bool &is_leader, Site where) {
    const std::uint32_t leader = std::uint32_t(warp_elect(mask, where));
    is_leader = laneid() == leader;
    return leader;
}

void warp_sync(std::uint32_t mask, Site where) { emulator::warp_sync(mask, where); }

// ---------------------------------------------------------------------------- cp.async

void cp_async(Shared to, const void *from, int bytes, std::uint32_t source_bytes, Site where) {
    emulator::cp_async(own_memory(to, std::size_t(bytes), "cp.async", where), from,
                       int(source_bytes), where, bytes);
}

void cp_async_cg(Shared to, const void *from, int bytes, std::uint32_t source_bytes, Site where) {
    if (bytes != 16)
        fail(Mistake::MISUSE, format("cp.async.cg of %d bytes: 16 alone", bytes), where,
             "called it here");
    cp_async(to, from, bytes, source_bytes, where);
}

void cp_async_wait(int pending, Site where) { emulator::cp_async_wait(pending, where); }

// wait_all is a commit and a wait for all groups.
void cp_async_wait_all(Site where) {
    emulator::cp_async_commit(where);
    emulator::cp_async_wait(0, where);
}

void cp_async_mbarrier_arrive(SharedAddress barrier, bool counted, Site where) {
    emulator::cp_async_mbarrier_arrive(own_barrier(barrier, "cp.async.mbarrier.arrive", where),
                                       counted, where);
}

// ---------------------------------------------------------------------------- TMA

namespace {

void check_rank(int rank, const At &at, const char *what, Site where) {
    if (rank != at.rank)
        fail(Mistake::MISUSE, format("%s of rank %d with %d coordinates", what, rank, at.rank),
             where, "called it here");
}

std::uint64_t *barrier_pointer(Shared barrier, Site where) {
    check_address(barrier, sizeof(std::uint64_t), where);
    return reinterpret_cast<std::uint64_t *>(
        own().shared.generic(offset_of(barrier), sizeof(std::uint64_t)));
}

} // namespace

void tensor_load(int rank, Shared to, const void *map, const At &at, SharedAddress barrier,
                 std::uint16_t cta_mask, Site where) {
    check_rank(rank, at, "TMA load", where);
    check_address(to, 1, where);
    void *tile = own().shared.generic(offset_of(to), 1);
    emulator::tma_load(tile, map, at, barrier_pointer(barrier, where), cta_mask, where);
}

// To a peer, if mapa put it into the address.
void tensor_load(int rank, Shared to, const void *map, const At &at, SharedAddress barrier,
                 Site where) {
    const bool to_peer = !is_own(to);
    if (cta_rank_of(barrier.address) != cta_rank_of(to.address))
        fail(Mistake::MISUSE, "a TMA load with its tile and its mbarrier in different CTAs", where,
             "called it here");
    const std::uint16_t mask = std::uint16_t(to_peer ? 1u << cta_rank_of(to.address) : 0);
    tensor_load(rank, to, map, at, barrier, mask, where);
}

void tensor_store(int rank, const void *map, const At &at, Shared from, Reduce reduce, Site where) {
    check_rank(rank, at, "TMA store", where);
    emulator::tma_store(map, own_memory(from, 1, "TMA store", where), at, where, reduce);
}

void prefetch_tensor(int rank, const void *, const At &at, Site where) {
    check_rank(rank, at, "TMA prefetch", where);
}

void prefetch_tensormap(const void *, Site) {}

void acquire_tensor_map(const void *map, Site where) {
    schedule_point();
    emulator::acquire_tensor_map(map);
    (void)where;
}

namespace {

// A bulk copy without a tensor, as the box that is a whole tensor of rows of 16 bytes. (PTX ISA:
// cp.async.bulk: addresses and sizes are multiples of 16.)
struct Bytes {
    alignas(TENSOR_MAP_ALIGNMENT) CUtensorMap map;

    Bytes(const void *memory, std::uint32_t bytes, const char *what, Site where) : map{} {
        constexpr std::uint32_t ROW = 16;
        if (bytes == 0 || bytes % ROW != 0 || reinterpret_cast<std::uintptr_t>(memory) % ROW != 0)
            fail(Mistake::MISUSE,
                 format("%s of %u bytes at %p: both are multiples of 16", what, bytes, memory),
                 where, "called it here");
        TensorDescription made{};
        made.mark = TENSOR_MAP_MARK;
        made.base = static_cast<unsigned char *>(const_cast<void *>(memory));
        made.rank = 2;
        made.sizes[0] = made.box[0] = ROW;
        made.sizes[1] = bytes / ROW;
        made.box[1] = std::uint16_t(bytes / ROW);
        made.strides[0] = ROW;
        made.element_bytes = 1;
        made.is_bulk = true;
        std::memcpy(&map, &made, sizeof made);
    }
};

constexpr At ORIGIN = {2, {0, 0}};

} // namespace

void bulk_load(Shared to, const void *from, std::uint32_t bytes, SharedAddress barrier,
               Site where) {
    const Bytes source(from, bytes, "cp.async.bulk", where);
    tensor_load(2, to, &source.map, ORIGIN, barrier, where);
}

void bulk_load(Shared to, const void *from, std::uint32_t bytes, SharedAddress barrier,
               std::uint16_t cta_mask, Site where) {
    const Bytes source(from, bytes, "cp.async.bulk", where);
    tensor_load(2, to, &source.map, ORIGIN, barrier, cta_mask, where);
}

void bulk_store(void *to, Shared from, std::uint32_t bytes, Reduce reduce, Site where) {
    const Bytes target(to, bytes, "cp.async.bulk", where);
    tensor_store(2, &target.map, ORIGIN, from, reduce, where);
}

namespace {

// The CTA that has both the bytes and the mbarrier.
int rank_of_both(Shared to, Shared barrier, const char *what, Site where) {
    if (cta_rank_of(barrier.address) != cta_rank_of(to.address))
        fail(Mistake::MISUSE, format("%s with its bytes and its mbarrier in different CTAs", what),
             where, "called it here");
    return int(cta_rank_of(to.address));
}

} // namespace

void bulk_send(Cluster to, Shared from, std::uint32_t bytes, Cluster barrier, Site where) {
    const int rank = rank_of_both(to, barrier, "cp.async.bulk", where);
    emulator::bulk_send(own_place(to, 1, where), own_memory(from, bytes, "cp.async.bulk", where),
                        bytes, barrier_pointer(barrier, where), rank, where);
}

void store_async(Cluster to, const void *value, std::uint32_t bytes, Cluster barrier, Site where) {
    const int rank = rank_of_both(to, barrier, "st.async", where);
    emulator::store_async(own_place(to, bytes, where), value, bytes,
                          barrier_pointer(barrier, where), rank, where);
}

int type_of_elements(const void *map) {
    TensorDescription tensor;
    std::memcpy(&tensor, map, sizeof tensor);
    return tensor.type;
}

void no_reduction(int type, Site where) {
    fail(Mistake::MISUSE,
         format("cp.reduce.async.bulk.tensor of elements of CUtensorMapDataType %d", type), where,
         "called it here");
}

void bulk_commit(Site where) { emulator::bulk_commit(where); }
void bulk_wait(int pending, bool read, Site where) { emulator::bulk_wait(pending, read, where); }

// ---------------------------------------------------------------------------- synchronisation

void barrier_sync(int id, bool aligned, Site where) {
    if (id == 0 && aligned)
        syncthreads(where);
    else
        named_barrier_sync(id, ALL_THREADS, where, aligned);
}

void barrier_sync(int id, int threads, bool aligned, Site where) {
    named_barrier_sync(id, threads, where, aligned);
}

void barrier_arrive(int id, int threads, bool aligned, Site where) {
    named_barrier_arrive(id, threads, where, aligned);
}

int barrier_count(int id, int threads, bool predicate, Site where) {
    return barrier_sync_count(id, threads, predicate, where);
}

void cluster_arrive(bool relaxed, bool aligned, Site where) {
    emulator::cluster_arrive(where, relaxed, aligned);
}

void cluster_wait(bool aligned, Site where) { emulator::cluster_wait(where, aligned); }

void mbarrier_init_fence(Site where) { emulator::mbarrier_init_fence(where); }

void fence_proxy_async(bool shared, bool global) { emulator::fence_proxy_async(shared, global); }

void mbarrier_init(SharedAddress barrier, std::uint32_t arrivals, Site where) {
    const MbarrierRef place = own_barrier(barrier, "mbarrier.init", where);
    emulator::mbarrier_init(barrier_pointer(barrier, where), int(arrivals), where);
    find_barrier(place)->by_ptx = true;
}

void mbarrier_inval(SharedAddress barrier, Site where) {
    mbarrier_invalidate(own_barrier(barrier, "mbarrier.inval", where), where);
}

void mbarrier_expect_tx(SharedAddress barrier, std::uint32_t bytes, Site where) {
    schedule_point();
    mbarrier_expect_bytes(barrier_at(barrier, where), int(bytes), where);
}

void mbarrier_complete_tx(SharedAddress barrier, std::uint32_t bytes, Site where) {
    schedule_point();
    mbarrier_complete_bytes(barrier_at(barrier, where), int(bytes), where);
}

std::uint64_t mbarrier_arrive(Order order, Scope scope, Arrival how, std::uint32_t bytes,
                              SharedAddress barrier, std::uint32_t count, Site where) {
    schedule_point();
    return emulator::mbarrier_arrive(barrier_at(barrier, where), int(count), int(bytes), where,
                                     order, scope, how);
}

namespace {

const char *name_of(Poll how) {
    return how == Poll::TEST ? "mbarrier.test_wait" : "mbarrier.try_wait";
}

} // namespace

bool mbarrier_wait(Order order, Scope scope, Poll how, SharedAddress barrier, std::uint64_t state,
                   Site where) {
    return mbarrier_poll_token(own_barrier(barrier, name_of(how), where), state, how, where, order,
                               scope);
}

bool mbarrier_wait_parity(Order order, Scope scope, Poll how, SharedAddress barrier,
                          std::uint32_t parity, Site where) {
    return mbarrier_poll_parity(own_barrier(barrier, name_of(how), where), int(parity), how, where,
                                order, scope);
}

void unknown(const char *file, int line, const char *what) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%d: %s\nemulator: the emulator does not know this\n", file, line,
                 what);
    _exit(2);
}

void trap(Site where) { fail(Mistake::MISUSE, "the kernel traps", where, "trapped here"); }

// ---------------------------------------------------------------------------- matrices

void ldmatrix(std::uint32_t *registers, int matrices, bool transposed, SharedAddress row,
              Site where) {
    const bool passes = current->lane() < matrices * 8;
    emulator::ldmatrix(registers, matrices, transposed,
                       passes ? own_memory(row, 16, "ldmatrix", where) : nullptr, where);
}

void stmatrix(SharedAddress row, const std::uint32_t *registers, int matrices, bool transposed,
              Site where) {
    const bool passes = current->lane() < matrices * 8;
    emulator::stmatrix(passes ? own_memory(row, 16, "stmatrix", where) : nullptr, registers,
                       matrices, transposed, where);
}

void mma_f32(float *d, const std::uint32_t *a, const std::uint32_t *b, const float *c, bool fp16,
             Site where) {
    emulator::mma_m16n8k16_f32(d, a, b, c, where, fp16);
}

// ---------------------------------------------------------------------------- wgmma

namespace {

bool is_negated(int scale, Site where) {
    if (scale != 1 && scale != -1)
        fail(Mistake::MISUSE, format("wgmma with a scale of %d: 1 or -1", scale), where,
             "called it here");
    return scale == -1;
}

void check_contiguous(bool is_contiguous, Site where) {
    if (!is_contiguous)
        fail(Mistake::MISUSE,
             "wgmma: the accumulators are not neighbours in an array, in their order: not modelled",
             where, "called it here");
}

} // namespace

WgmmaForm wgmma_form(WgmmaForm form, int n, bool accumulate, int scale_a, int scale_b, int trans_a,
                     int trans_b, Site where) {
    form.n = n;
    form.accumulate = accumulate;
    form.negate_a = is_negated(scale_a, where);
    form.negate_b = is_negated(scale_b, where);
    form.transposed_a = trans_a != 0;
    form.transposed_b = trans_b != 0;
    return form;
}

void wgmma(float *acc, bool is_contiguous, const WgmmaForm &form, std::uint64_t a, std::uint64_t b,
           Site where) {
    check_contiguous(is_contiguous, where);
    emulator::wgmma(acc, form, a, b, where);
}

void wgmma(float *acc, bool is_contiguous, const WgmmaForm &form, const WgmmaFragment &a,
           std::uint64_t b, Site where) {
    check_contiguous(is_contiguous, where);
    emulator::wgmma(acc, form, a, b, where);
}

} // namespace emulator::ptx
