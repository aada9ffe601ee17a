#include "explore.h"

#include "machine.h"

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <span>
#include <sstream>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emulator::explore {

namespace {

constexpr int MOST_WARPS = 1024, MOST_TURNS = 2048, MOST_ACCESSES = 1 << 16;
constexpr int MOST_FORCED = 64;             // turns in a row that change nothing
constexpr double MOST_SECONDS[] = {40, 60}; // for classes; with the random orders

const char *const runs_wanted = std::getenv("EMULATOR_EXPLORE");
const char *const order_wanted = std::getenv("EMULATOR_ORDER");

using Warps = std::bitset<MOST_WARPS>; // of the launch

// A turn of a warp: what it did, which warps could have had it, which of these wait in a loop, and
// whose turn would only repeat a run; and the number of each warp's turns that come before it by
// other means than these accesses.
struct Turn {
    int warp, first_access;
    bool usual;
    Warps ready, waiting, asleep;
    std::uint16_t known[MOST_WARPS];
};

// What a forked run tells, in memory that it shares with its parent.
struct Run {
    int turns, accesses;
    bool redundant, too_long;
    // The condition of the proof that the last of the runs to fail one fails; 0: none.
    int failed;
    const char *why;
    Origin failed_at;
    Turn turn[MOST_TURNS + 1];
    Access access[MOST_ACCESSES];
};
Run *run = nullptr;
bool is_run = false;    // this process is a forked run,
bool recording = false; // in the launch that is explored

// A turn of the runs so far: whose, whose are to come, and whose have been.
struct Node {
    int warp;
    Warps todo, done;
};
std::vector<Node> nodes;
std::mt19937 generator;
bool is_random = false;

struct Parked {
    Thread *thread;
    Origin where;
    Access access;
};
std::vector<Parked> parked; // the oldest first
int turns = 0, forced_turns = 0, first_turn = 0;
bool in_turn = false, launch_is_new = true;
Warps asleep;
std::map<const void *, int> written;                         // when
std::map<std::pair<const Thread *, const void *>, int> seen; // when a thread has read an address
std::vector<order::Epoch> epochs[MOST_TURNS + 1];            // of a turn's threads
std::vector<int> turns_of[MOST_WARPS];

// What the runs came to.
int classes = 0, randoms = 0, most_turns = 0;
bool all_explored = true, anything_explored = false;

bool conflict(const Access &one, const Access &other) {
    const bool overlap =
        one.begin < other.begin + other.bytes && other.begin < one.begin + one.bytes;
    const bool read = one.touch == Touch::READ && other.touch == Touch::READ;
    return overlap && !read && (one.commuting == nullptr || one.commuting != other.commuting);
}

bool conflict(int one, int other) {
    const auto accesses = [](int turn) {
        const int end = turn + 1 < run->turns ? run->turn[turn + 1].first_access : run->accesses;
        return std::span(run->access + run->turn[turn].first_access, run->access + end);
    };
    for (const Access &access : accesses(one))
        for (const Access &another : accesses(other))
            if (conflict(access, another))
                return true;
    return false;
}

[[noreturn]] void give_up(const std::string &why) {
    std::fprintf(stderr, "exploration: %s\n", why.c_str());
    _exit(2);
}

int warp_of(const Thread &thread) {
    const Cta &cta = *thread.cta;
    const Cluster &cluster = *cta.cluster;
    const auto cta_number =
        std::size_t(cluster.index) * cluster.ctas.size() + std::size_t(cta.rank);
    const std::size_t warp = cta_number * cta.warps.size() + std::size_t(thread.warp());
    if (warp >= MOST_WARPS)
        give_up(format("a launch has more than %d warps", MOST_WARPS));
    return int(warp);
}

// In a loop, of addresses that nobody has written since.
bool waits_in_loop(const Parked &one) {
    const Spin &spin = one.thread->spin;
    const auto is_new = [&one](const void *address) {
        const auto when = written.find(address);
        const auto read = seen.find({one.thread, address});
        return when != written.end() && read != seen.end() && when->second > read->second;
    };
    return spin.reads > 0 &&
           std::ranges::find(spin.read, one.access.begin) != std::end(spin.read) &&
           std::ranges::none_of(spin.read, is_new);
}

template <typename Fits>
int first_of(const Warps &warps, const Fits &fits) {
    int warp = 0;
    while (warp < MOST_WARPS && !(warps[warp] && fits(warp)))
        ++warp;
    return warp;
}
int first_of(const Warps &warps) {
    return first_of(warps, [](int) { return true; });
}

// ---------------------------------------------------------------------------- classes
// Source-DPOR with sleep sets. (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic Partial Order
// Reduction, 2014.) Two turns are ordered if they are of one warp, if their accesses conflict, or
// if something else orders them (order.h).

// What comes before each turn of the run: how many turns of each warp, with itself.
using Clock = std::vector<std::uint16_t>;
std::vector<Clock> clocks;

bool is_before(int one, int other) {
    const int warp = run->turn[one].warp;
    return clocks[other][warp] >= clocks[one][warp];
}

// Nothing but their conflict orders turn `i` before turn `j`: of what does not come after i, some
// warp has to go first in its place.
void add_reversal(int i, int j) {
    Warps met, first;
    std::vector<int> others;
    for (int k = i + 1; k <= j; ++k) {
        if (k != j && is_before(i, k))
            continue;
        const int warp = run->turn[k].warp;
        if (!met[warp] && std::ranges::none_of(others, [k](int one) { return is_before(one, k); }))
            first.set(warp);
        met.set(warp);
        others.push_back(k);
    }
    Node &node = nodes[i];
    const Turn &turn = run->turn[i];
    if ((first & (node.todo | node.done | turn.asleep)).any())
        return;
    if ((first & turn.ready).any())
        node.todo.set(first_of(first & turn.ready));
    else if ((first & turn.waiting).none())
        node.todo |= turn.ready; // something orders them that is not known here
}

void add_reversals() {
    std::vector<int> last(MOST_WARPS, -1), count(MOST_WARPS), of_warp[MOST_WARPS];
    clocks.clear();
    for (int j = 0; j < run->turns; ++j) {
        const Turn &turn = run->turn[j];
        Clock clock(MOST_WARPS);
        const auto join = [&clock](const Clock &other) {
            for (int warp = 0; warp < MOST_WARPS; ++warp)
                clock[warp] = std::max(clock[warp], other[warp]);
        };
        for (int warp = 0; warp < MOST_WARPS; ++warp)
            if (turn.known[warp] > 0)
                join(clocks[of_warp[warp][turn.known[warp] - 1]]);
        if (!of_warp[turn.warp].empty())
            join(clocks[of_warp[turn.warp].back()]);
        of_warp[turn.warp].push_back(j);
        std::vector<int> races;
        for (int i = j - 1; i >= 0; --i) {
            const int warp = run->turn[i].warp;
            if (warp == turn.warp || clock[warp] >= clocks[i][warp] || !conflict(i, j))
                continue;
            races.push_back(i);
            join(clocks[i]);
        }
        clock[turn.warp] = std::uint16_t(of_warp[turn.warp].size());
        clocks.push_back(clock);
        for (const int i : races)
            add_reversal(i, j);
    }
}

// The next prefix; false if there is none.
bool backtrack() {
    while (!nodes.empty()) {
        Node &node = nodes.back();
        node.done.set(node.warp);
        const Warps left = node.todo & ~node.done & ~run->turn[nodes.size() - 1].asleep;
        if (left.any()) {
            node.warp = first_of(left);
            return true;
        }
        nodes.pop_back();
    }
    return false;
}

double seconds() {
    using namespace std::chrono;
    static const steady_clock::time_point begun = steady_clock::now();
    return duration<double>(steady_clock::now() - begun).count();
}

// Copies what a run has printed, and says how to make it again.
[[noreturn]] void end_with(int output, int status) {
    char text[4096];
    ssize_t length;
    lseek(output, 0, SEEK_SET);
    while ((length = read(output, text, sizeof text)) > 0)
        std::fwrite(text, 1, std::size_t(length), stderr);
    std::ifstream file("/proc/self/cmdline");
    std::string command((std::istreambuf_iterator<char>(file)), {});
    std::ranges::replace(command, '\0', ' ');
    std::fprintf(stderr,
                 "order %d of those explored fails; again: EMULATOR_POLICY=%s EMULATOR_SEED=%llu "
                 "EMULATOR_ORDER=%s %s\n",
                 classes + randoms, policy().name, static_cast<unsigned long long>(policy().seed),
                 order().c_str(), command.c_str());
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// Forks a run that begins with the nodes' turns. True in the run; its parent has waited for it.
bool fork_run(int output) {
    run->turns = run->accesses = run->failed = 0;
    run->redundant = run->too_long = false;
    if (ftruncate(output, 0) != 0 || lseek(output, 0, SEEK_SET) != 0)
        std::abort();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        dup2(output, 1);
        dup2(output, 2);
        recording = is_run = true;
        unsetenv("EMULATOR_EXPLORE"); // a report's run is repeated in the order of this one
        alarm(unsigned(MOST_SECONDS[1]));
        return true;
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (run->failed != 0)
        proof::fails(proof::Condition(run->failed), run->why, run->failed_at);
    run->redundant || (is_random ? ++randoms : ++classes);
    most_turns = std::max(most_turns, run->turns);
    if (status != 0)
        end_with(output, status);
    return false;
}

// Makes the runs, each by a process that returns from here, and then returns itself.
void explore_launch(int number) {
    const int limit = std::atoi(runs_wanted), output = memfd_create("emulator", 0);
    run = static_cast<Run *>(mmap(nullptr, sizeof(Run), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    bool more = anything_explored = true;
    first_turn = number;
    nodes.clear();
    int runs = 0;
    for (seconds(); more && runs < limit && seconds() < MOST_SECONDS[0]; ++runs) {
        if (fork_run(output))
            return;
        all_explored &= !run->too_long;
        for (int turn = int(nodes.size()); turn < run->turns; ++turn)
            nodes.push_back({run->turn[turn].warp, {}, {}});
        add_reversals();
        more = backtrack();
    }
    all_explored &= !more;
    is_random = true;
    nodes.clear();
    for (int seed = 1;
         !all_explored && seed <= std::max(limit / 8, 1) && seconds() < MOST_SECONDS[1]; ++seed) {
        generator.seed(unsigned(seed));
        if (fork_run(output))
            return;
    }
    is_random = false;
    munmap(std::exchange(run, nullptr), sizeof(Run));
    close(output);
}

// ---------------------------------------------------------------------------- turns

// Whose turn it is in a run that is explored.
int choose(const Warps &ready, const Warps &waiting) {
    const std::size_t number = run->turns;
    const bool is_given = number < nodes.size();
    if (number > 0) // what conflicts with the last turn does not repeat a run after it
        for (const Parked &one : parked)
            for (int i = run->turn[number - 1].first_access; i < run->accesses; ++i)
                if (conflict(one.access, run->access[i]))
                    asleep.reset(warp_of(*one.thread));
    Turn &turn = run->turn[number];
    turn = {0, run->accesses, false, ready, waiting, asleep, {}};
    if (is_given)
        asleep |= nodes[number].done;
    const Warps left = ready & ~asleep;
    if (left.none() || (is_given && !left[nodes[number].warp])) {
        run->redundant = true;
        _exit(0);
    }
    turn.warp = is_given ? nodes[number].warp : first_of(left);
    if (is_random)
        for (unsigned more = generator() % left.count(); more > 0; --more)
            turn.warp = first_of(left, [&turn](int warp) { return warp > turn.warp; });
    turn.usual = turn.warp == first_of(ready);
    run->turns = int(number) + 1;
    turns_of[turn.warp].push_back(int(number));
    if (run->turns == MOST_TURNS) {
        run->too_long = true;
        recording = false;
    }
    return turn.warp;
}

// Whose turn EMULATOR_ORDER says it is; or else the first's, or the one whom an exploration says.
int warp_of_turn(int number, const Warps &ready, const Warps &waiting) {
    static const std::map<int, int> wanted = [] {
        std::map<int, int> made;
        std::istringstream text(order_wanted != nullptr ? order_wanted : "");
        char colon;
        for (int turn, warp; text >> turn >> colon >> warp; text >> colon)
            made[turn] = warp;
        return made;
    }();
    if (const auto found = wanted.find(number); found != wanted.end()) {
        if (ready[found->second])
            return found->second;
        give_up(format("warp %d cannot have turn %d", found->second, number));
    }
    if (runs_wanted != nullptr && run == nullptr && std::exchange(launch_is_new, false))
        explore_launch(number);
    return recording ? choose(ready, waiting) : first_of(ready);
}

} // namespace

const bool is_on = runs_wanted != nullptr || order_wanted != nullptr;

void wait_for_turn(const Access &access, const Origin &where) {
    current->wait = {where,
                     [] { return std::string("waits for memory that other threads write"); }};
    parked.push_back({current, where, access});
    leave();
    in_turn = true;
    if (!recording)
        return;
    const int number = run->turns - 1;
    Turn &turn = run->turn[number];
    for (int warp = 0; warp < MOST_WARPS; ++warp) {
        const auto is_known = [](const order::Epoch &epoch) {
            return order::is_before(epoch, Space::SHARED);
        };
        std::size_t known = turns_of[warp].size();
        while (known > turn.known[warp] &&
               (warp == turn.warp ||
                std::ranges::none_of(epochs[turns_of[warp][known - 1]], is_known)))
            --known;
        turn.known[warp] = std::max(turn.known[warp], std::uint16_t(known));
    }
    epochs[number].push_back(order::epoch_now());
}

void accessed(Access access, Touch touch) {
    in_turn = false;
    access.touch = touch;
    if (touch == Touch::READ) {
        seen[{current, access.begin}] = turns;
    } else {
        written[access.begin] = turns;
        current->spin = {};
        forced_turns = 0;
    }
    if (recording && run->accesses < MOST_ACCESSES)
        run->access[run->accesses++] = access;
}

bool is_forked() { return is_run; }
bool is_in_turn() { return in_turn; }

bool next_turn(bool forced) {
    Warps ready, waiting;
    if (parked.empty() || (forced && ++forced_turns > MOST_FORCED))
        return false;
    const auto is_ready = [forced](const Parked &one) { return forced || !waits_in_loop(one); };
    for (const Parked &one : parked)
        (is_ready(one) ? ready : waiting).set(warp_of(*one.thread));
    if (ready.none())
        return false;
    const int warp = warp_of_turn(turns++, ready, waiting & ~ready);
    const auto first = std::ranges::find_if(
        parked, [&](const Parked &one) { return warp_of(*one.thread) == warp && is_ready(one); });
    current_cluster = first->thread->cta->cluster;
    const auto have_turn = [&, where = first->where](const Parked &one) {
        return warp_of(*one.thread) == warp && one.where == where && is_ready(one);
    };
    const auto rest = std::stable_partition(parked.begin(), parked.end(), std::not_fn(have_turn));
    std::sort(rest, parked.end(), [](const Parked &one, const Parked &other) {
        return one.thread->number < other.thread->number;
    });
    for (auto one = rest; one != parked.end(); ++one)
        make_runnable(*one->thread);
    parked.erase(rest, parked.end());
    return true;
}

void launch_begins() {
    launch_is_new = true;
    recording = false;
}

void fails(int condition, const char *why, const Origin &where) {
    if (recording && condition != proof::SUMS && condition != proof::ATOMICS) {
        run->failed = condition;
        run->why = why;
        run->failed_at = where;
    }
}

std::string order() {
    std::string text = order_wanted != nullptr ? order_wanted : "";
    for (int i = 0; run != nullptr && i < run->turns; ++i)
        if (!run->turn[i].usual)
            text += format("%s%d:%d", text.empty() ? "" : ",", first_turn + i, run->turn[i].warp);
    return text;
}

std::string result(bool *all) {
    *all = anything_explored && all_explored;
    if (!anything_explored)
        return "";
    const std::string random = randoms > 0 ? format(", then %d random ones", randoms) : "";
    return format("explored: %s%d orders of at most %d turns at atomics%s: every one ends well",
                  all_explored ? "all " : "", classes, most_turns, random.c_str());
}

} // namespace emulator::explore
