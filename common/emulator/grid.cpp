#include "emulator/machine.h"

#include "emulator/accesses.h"
#include "emulator/barriers.h"
#include "emulator/counts.h"
#include "emulator/launch_order.h"
#include "emulator/mbarrier.h"
#include "emulator/operations.h"
#include "emulator/strictness.h"
#include "emulator/global_writes.h"
#include "emulator/tensor_core.h"
#include "emulator/tma.h"
#include "emulator/warp.h"

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace emulator {

Counts counts{};

namespace {

const std::function<void()> *kernel_body = nullptr;
char launch_carrier; // what happened before the launch is ordered before every thread

// The place of element `index` in a box, x fastest.
uint3 place_in(const dim3 &box, unsigned index) {
    return {index % box.x, index / box.x % box.y, index / (box.x * box.y)};
}

int stack_of(const Thread &thread) {
    return thread.cta->rank * static_cast<int>(thread.cta->threads.size()) + thread.number;
}

void check_peer_done(const Cta &cta, const PeerUse &use) {
    if (use.thread == nullptr || use.phase < cta.cluster->phase)
        return;
    fail_unless_allowed(
        "cluster-exit", Mistake::LIFETIME,
        format("CTA %d exits while a peer may still use its shared memory", cta.rank),
        {note_at(*use.thread, use.site, "used it here, with no cluster barrier since")});
}

void check_peers_done(const Cta &cta) {
    check_peer_done(cta, cta.peer_use);
    for (const auto &[barrier, signal] : cta.peer_signals)
        check_peer_done(cta, signal.use);
}

void check_operations_done(const Cta &cta) {
    const Operation *operation = pending_on(cta);
    if (operation == nullptr)
        return;
    fail_unless_allowed(
        "early-exit", Mistake::LIFETIME,
        format("CTA %d exits while a %s still uses its shared memory", cta.rank, operation->name),
        {note_at(*operation->issuer, operation->site, "started it here")});
}

// What the current thread does after the kernel's end.
void exit_thread() {
    Thread &thread = *current;
    Cta &cta = *thread.cta;
    tma_thread_exits(thread);
    tensor_core_thread_exits(thread);
    thread.finished = true;
    --cta.unfinished;
    --cta.cluster->unfinished;
    warp_thread_exits(thread);
    barriers_thread_exits(cta);
    if (cta.exited()) {
        check_operations_done(cta);
        mbarriers_cta_exits(cta);
        check_peers_done(cta);
    }
    races::release(current_cluster);
}

// The first function on a thread's stack.
void run_thread() {
    races::acquire(&launch_carrier);
    (*kernel_body)();
    exit_thread();
    leave_for_good();
}

void make_thread(Cta &cta, Thread &thread, int number, const dim3 &block) {
    thread.cta = &cta;
    thread.number = number;
    thread.index = place_in(block, static_cast<unsigned>(number));
    thread.context = races::create({number, cta.rank});
    const int stack = stack_of(thread);
    fiber_create(thread.fiber, stack, run_thread);
    races::forget(fiber_stack_begin(stack), FIBER_STACK); // another cluster's variables
    make_runnable(thread);
}

void make_cta(Cluster &cluster, Cta &cta, int rank, uint3 block_index, const Grid &grid) {
    const int threads = static_cast<int>(volume(grid.block));
    cta.cluster = &cluster;
    cta.rank = rank;
    cta.block_index = block_index;
    cta.unfinished = threads;
    cta.threads.resize(threads);
    cta.warps.resize((threads + WARP_LANES - 1) / WARP_LANES);
    if (threads % WARP_LANES != 0)
        cta.warps.back().exited = WHOLE_WARP << threads % WARP_LANES;
    cta.aligned.resize(cta.warps.size());
    cta.accesses.resize(cta.warps.size());
    cta.warpgroups.resize(threads / WARPGROUP_LANES);
    for (Warpgroup &warpgroup : cta.warpgroups)
        warpgroup.cta = &cta;
    cta.shared.create(cta, grid.dynamic_shared);
    for (int number = 0; number < threads; ++number)
        make_thread(cta, cta.threads[number], number, grid.block);
}

void make_cluster(Cluster &cluster, int index, int count, const Grid &grid) {
    const dim3 &size = grid.cluster;
    const dim3 clusters(grid.grid.x / size.x, grid.grid.y / size.y, grid.grid.z / size.z);
    const uint3 place = place_in(clusters, static_cast<unsigned>(index));
    cluster.index = index;
    cluster.count = count;
    cluster.early = grid.early;
    for (unsigned rank = 0; rank < volume(size); ++rank) {
        const uint3 in_cluster = place_in(size, rank);
        const uint3 block_index = {place.x * size.x + in_cluster.x, place.y * size.y + in_cluster.y,
                                   place.z * size.z + in_cluster.z};
        cluster.ctas.push_back(std::make_unique<Cta>());
        make_cta(cluster, *cluster.ctas.back(), static_cast<int>(rank), block_index, grid);
    }
    cluster.unfinished = static_cast<int>(volume(size) * volume(grid.block));
}

void destroy_cluster(Cluster &cluster) {
    mbarrier_forget_all();
    for (const std::unique_ptr<Cta> &cta : cluster.ctas) {
        for (Thread &thread : cta->threads)
            races::destroy(thread.context);
        for (std::size_t warp = 0; warp < cta->warps.size(); ++warp)
            accesses_warp_met(*cta, static_cast<int>(warp));
        cta->shared.destroy();
    }
}

void run_cluster(int index, int count, const Grid &grid) {
    Cluster cluster;
    current_cluster = &cluster;
    launch_order::begin(grid.early);
    scopes_begin();
    make_cluster(cluster, index, count, grid);
    ++counts.clusters;
    counts.ctas += cluster.ctas.size();
    counts.threads += static_cast<std::uint64_t>(cluster.unfinished);
    run_threads(cluster);
    complete_all();
    races::acquire(&cluster);
    destroy_cluster(cluster);
    current_cluster = nullptr;
}

} // namespace

void run_grid(const Grid &grid, const std::function<void()> &body) {
    if (current_cluster != nullptr)
        fail(Mistake::MISUSE, "a kernel is launched from a kernel", {});
    counts = {};
    accesses_reset();
    output_launch();
    kernel_body = &body;
    blockDim = grid.block;
    gridDim = grid.grid;
    fiber_stacks_reserve(static_cast<int>(volume(grid.cluster) * volume(grid.block)));
    races::release(&launch_carrier);
    const int count = static_cast<int>(volume(grid.grid) / volume(grid.cluster));
    for (int i = 0; i < count; ++i) // a GPU may end them in any order
        run_cluster(policy().thread == Pick::NEWEST ? count - 1 - i : i, count, grid);
    kernel_body = nullptr;
}

} // namespace emulator
