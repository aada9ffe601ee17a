#include "machine.h"

#include "emulator/together.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

extern dim3 blockDim, gridDim;

namespace emulator {
namespace {
// The grid that runs, and what is left of it.
struct RunningGrid {
    const Grid *grid = nullptr;
    const std::function<void()> *body = nullptr;
    int clusters = 0, begun = 0;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};
RunningGrid running_grid;

// The place of element `index` in a box, x fastest.
uint3 place_in(const dim3 &box, unsigned index) {
    return {index % box.x, index / box.x % box.y, index / (box.x * box.y)};
}

// Some thread of the CTA has to be after every use; a relaxed barrier of the cluster suffices.
void check_peers_done(Cta &cta) {
    for (const auto &[agent, use] : cta.peer_uses)
        if (use.phase >= cta.cluster->phase && !order::covers(cta.exits, use.epoch))
            fail_unless_allowed(
                "cluster-exit", Mistake::LIFETIME,
                {note_at(use.where, order::name_of(use.epoch) +
                                        " used it here, and nothing orders the exit after that")},
                "CTA %d exits while a peer may still use its shared memory", cta.rank);
}

void check_operations_done(Cta &cta) {
    for (const auto &[agent, use] : cta.ended)
        if (!order::covers(cta.exits, use.epoch))
            proof::fails(proof::RACES, "a CTA may exit before the end of this", use.where);
    if (const Operation *operation = pending_on(cta))
        fail_unless_allowed("early-exit", Mistake::LIFETIME,
                            {note_at(*operation->issuer, operation->site, "started it here")},
                            "CTA %d exits while a %s still uses its shared memory: %s", cta.rank,
                            operation->name, missing_wait(*operation).c_str());
}

// What the current thread does after the kernel's end.
void exit_thread() {
    Thread &thread = *current;
    Cta &cta = *thread.cta;
    thread.bulk.check_exit("TMA store");
    thread.wgmmas.check_exit("wgmma", true);
    proof::does_something_else();
    thread.finished = true;
    order::release(cta.exits);
    --cta.unfinished;
    --cta.cluster->unfinished;
    warp_thread_exits(thread);
    barriers_thread_exits(cta);
    if (cta.exited()) {
        check_operations_done(cta);
        mbarriers_cta_exits(cta);
        check_peers_done(cta);
        check_register_changes(cta);
    }
}

// The first function on a thread's stack.
void run_thread() {
    (*running_grid.body)();
    exit_thread();
    leave_for_good();
}

void make_thread(Cta &cta, int number, const dim3 &block, int stack) {
    Thread &thread = cta.threads[std::size_t(number)];
    thread.cta = &cta;
    thread.number = number;
    thread.index = place_in(block, unsigned(number));
    thread.context = order::make_thread(number, cta.rank, cta.unfinished);
    fiber_create(thread.fiber, stack, run_thread);
    make_runnable(thread);
}

void make_cta(Cta &cta, const Grid &grid, int first_stack) {
    const int threads = int(volume(grid.block));
    cta.unfinished = threads;
    cta.threads.resize(threads);
    cta.warps.resize((threads + WARP_LANES - 1) / WARP_LANES);
    if (threads % WARP_LANES != 0)
        cta.warps.back().exited = WHOLE_WARP << threads % WARP_LANES;
    cta.warpgroups.resize(threads / WARPGROUP_LANES);
    cta.shared.create(cta, grid.dynamic_shared);
    for (int number = 0; number < threads; ++number)
        make_thread(cta, number, grid.block, first_stack + number);
}

void make_cluster(Cluster &cluster, const Grid &grid, int first_stack) {
    const dim3 &size = grid.cluster;
    const dim3 clusters(grid.grid.x / size.x, grid.grid.y / size.y, grid.grid.z / size.z);
    const uint3 place = place_in(clusters, unsigned(cluster.index));
    const int ctas = int(volume(size));
    for (int rank = 0; rank < ctas; ++rank) {
        const uint3 in_cluster = place_in(size, unsigned(rank));
        Cta &cta = *cluster.ctas.emplace_back(std::make_unique<Cta>());
        cta.cluster = &cluster;
        cta.rank = rank;
        cta.block_index = {place.x * size.x + in_cluster.x, place.y * size.y + in_cluster.y,
                           place.z * size.z + in_cluster.z};
        make_cta(cta, grid, first_stack + cluster.unfinished);
        cluster.unfinished += cta.unfinished;
    }
}

std::vector<std::unique_ptr<Cluster>> running; // beside each other, by slot
constexpr std::size_t MOST_STACKS = 16 * 1024; // each is two mappings, of which Linux allows 65530

auto current_slot() {
    return std::ranges::find(running, current_cluster, &std::unique_ptr<Cluster>::get);
}

bool is_begun(const std::unique_ptr<Cluster> &cluster) { return cluster != nullptr; }

// The next cluster begins, as the current one. False if there is none or no room for it.
bool begin_cluster() {
    const auto slot = std::find(running.begin(), running.end(), nullptr);
    if (running_grid.begun == running_grid.clusters || slot == running.end())
        return false;
    const int begun = running_grid.begun++;
    // A GPU may end them in any order.
    const int index = policy().thread == Pick::NEWEST ? running_grid.clusters - 1 - begun : begun;
    const Grid &grid = *running_grid.grid;
    *slot = std::make_unique<Cluster>();
    Cluster &cluster = **slot;
    cluster.index = index;
    cluster.count = running_grid.clusters;
    current_cluster = &cluster;
    const int threads = int(volume(grid.cluster) * volume(grid.block));
    order::begin_cluster(index, running_grid.clusters, threads);
    make_cluster(cluster, grid, int(slot - running.begin()) * threads);
    ++counts.clusters;
    counts.ctas += cluster.ctas.size();
    counts.threads += std::uint64_t(cluster.unfinished);
    return true;
}

// Says early, and once, that a launch takes minutes, by the share that has run.
void say_if_slow() {
    static const char *advice = std::getenv("EMULATOR_ADVICE");
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - running_grid.start;
    const double minutes = time.count() / 60 * running_grid.clusters / running_grid.begun;
    static const auto first = running_grid.start;
    const std::chrono::duration<double> all = running_grid.start - first;
    if (advice == nullptr || ((time.count() < 2 || minutes < 1) && all.count() < 20))
        return;
    const std::string what =
        minutes < 1 ? format("%.0f s have passed since the first launch", all.count())
                    : format("this launch of %zu CTAs of %zu threads will take about %.0f minutes",
                             std::size_t(volume(gridDim)), std::size_t(volume(blockDim)), minutes);
    dprintf(std::atoi(std::getenv("EMULATOR_ADVICE_TO")), "%s. %s\n", what.c_str(), advice);
    advice = nullptr;
}

// The current cluster's threads have exited.
void end_cluster() {
    say_if_slow();
    while (complete_one())
        continue;
    for (const std::unique_ptr<Cta> &cta : current_cluster->ctas)
        for (Warp &warp : cta->warps)
            accesses_warp_met(warp);
    current_slot()->reset();
    const auto other = std::find_if(running.rbegin(), running.rend(), is_begun);
    current_cluster = other != running.rend() ? other->get() : nullptr;
}
} // namespace

void run_another_cluster() {
    if (begin_cluster())
        return;
    const auto next = current_slot() + 1;
    const auto other = std::find_if(next, running.end(), is_begun);
    current_cluster =
        (other != running.end() ? other : std::ranges::find_if(running, is_begun))->get();
}

bool run_runnable_cluster() {
    const auto has_runnable = [](const std::unique_ptr<Cluster> &cluster) {
        return is_begun(cluster) && std::ranges::any_of(cluster->ctas, [](const auto &cta) {
                   return !cta->run_queue.empty();
               });
    };
    const auto other = std::ranges::find_if(running, has_runnable);
    if (other != running.end())
        current_cluster = other->get();
    return other != running.end() || begin_cluster();
}

// Clusters run beside each other where threads wait in loops, so this is one.
void grid_sync(Site where) {
    static Phases grid;
    const std::uint64_t threads = volume(gridDim) * volume(blockDim);
    const std::uint64_t phase = grid.phase;
    story::record(where, "syncs", "grid barrier, phase %d", int(phase));
    order::release(grid.carrier(phase));
    if (std::uint64_t(++grid.arrived) == threads) {
        order::acquire(grid.carrier(phase)); // so that the others take all of it from one
        grid.carrier(phase).clear();
        order::release(grid.carrier(phase));
        grid.next();
    }
    while (grid.phase == phase)
        may_spin(&grid.phase, where, true);
    order::acquire(grid.carrier(phase));
    story::record(where, "syncs", "grid barrier, phase %d", int(phase));
}

// ---------------------------------------------------------------------------- deadlocks
// Threads of a CTA that wait at the same place for the same.
struct Group {
    std::pair<Origin, std::string> wait; // where, and what is missing
    std::vector<int> threads;
};

static std::vector<Group> waiting_in(const Cta &cta) {
    std::vector<Group> groups;
    for (const Thread &thread : cta.threads) {
        if (thread.finished)
            continue;
        const std::pair wait(thread.wait.where, thread.wait.describe());
        auto group = std::ranges::find(groups, wait, &Group::wait);
        if (group == groups.end())
            group = groups.insert(group, {wait, {}});
        group->threads.push_back(thread.number);
    }
    return groups;
}

// "0 to 31, 64": numbers that follow each other are one range; after a few ranges "...".
static std::string ranges_of(const std::vector<int> &numbers) {
    constexpr int MOST_RANGES = 4;
    std::string text;
    int ranges = 0;
    for (std::size_t first = 0, last; first < numbers.size(); first = last + 1) {
        last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        text += first == 0 ? "" : ", ";
        if (ranges++ == MOST_RANGES)
            return text + "...";
        text += std::to_string(numbers[first]);
        if (last > first)
            text += " to " + std::to_string(numbers[last]);
    }
    return text;
}

static Note note_on(const Group &group, const Cta &cta) {
    const std::vector<int> &threads = group.threads;
    const std::string who = threads.size() == 1
                                ? format("thread %d of CTA %d", threads.front(), cta.rank)
                                : format("%zu threads of CTA %d (%s)", threads.size(), cta.rank,
                                         ranges_of(threads).c_str());
    return note_at(group.wait.first, who + ": " + group.wait.second);
}

void fail_with_deadlock(const Cluster &cluster) {
    std::vector<Note> notes;
    for (const std::unique_ptr<Cta> &cta : cluster.ctas) {
        for (const Group &group : waiting_in(*cta))
            notes.push_back(note_on(group, *cta));
        if (cta->exited())
            notes.push_back({format("CTA %d has exited", cta->rank)});
    }
    const auto idle = std::count(running.begin(), running.end(), nullptr);
    if (const int others = int(running.size() - idle) - 1; others > 0)
        notes.push_back({format("%d clusters run beside this one, and %d have not begun", others,
                                running_grid.clusters - running_grid.begun)});
    std::string what = !anything_pending()
                           ? "no thread can go on and nothing is in flight"
                           : "no thread can go on, and nothing in flight can complete";
    if (notes.size() > 1 && std::ranges::all_of(notes, [](const Note &note) {
            return note.text.find(", phase 0 (parity 0): ") != std::string::npos;
        }))
        what += "; where nothing has to be waited for at first, the parity is 1";
    fail(Mistake::DEADLOCK, notes, "%s", what.c_str());
}

void run_grid(const Grid &grid, const std::function<void()> &body) {
    counts = {};
    proof::launch_begins();
    trace::begin_launch(grid);
    report_faults();
    bank_reset();
    running_grid = {&grid, &body, int(volume(grid.grid) / volume(grid.cluster))};
    blockDim = grid.block;
    gridDim = grid.grid;
    const std::size_t threads = volume(grid.cluster) * volume(grid.block);
    running.resize(std::min(std::max<std::size_t>(MOST_STACKS / threads, 1),
                            std::size_t(running_grid.clusters)));
    fiber_stacks_reserve(int(running.size() * threads));
    order::begin_on(grid.stream, grid.early);
    while (current_cluster != nullptr || begin_cluster()) {
        run_threads();
        end_cluster();
    }
    order::end_work();
    trace::end_launch();
}
} // namespace emulator
