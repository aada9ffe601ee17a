#include "proof.h"

#include "machine.h"

#include <algorithm>
#include <bitset>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emulator::proof {
namespace {
constexpr int MOST_WARPS = 1024, MOST_TURNS = 4096, MOST_ACCESSES = 1 << 17;
constexpr int MOST_FORCED = 64;              // turns in a row
constexpr int MOST_SECONDS = 40, LIMIT = 60; // for classes; with the random orders, and for one
constexpr int RUNS_PER_RANDOM = 8;

const char *const runs_wanted = std::getenv("EMULATOR_EXPLORE");
const char *const order_wanted = std::getenv("EMULATOR_ORDER");

using Warps = std::bitset<MOST_WARPS>; // of the launch
int first_of(const Warps &warps) { return int(warps._Find_first()); }

struct Turn {
    int warp, first, end; // its accesses
    // Which warps could have had it, which of them wait in a loop, whose turn would repeat a run.
    Warps ready, waiting, asleep;
    // How many turns of each warp come before it, other than by these accesses. Its parent adds
    // those that do so by them, and itself.
    std::uint16_t known[MOST_WARPS];
};

// What a forked run tells, in memory that it shares with its parent.
struct Run {
    int turns;
    bool redundant;
    Condition failed; // that the run has failed last, or ATOMICS
    const char *why;
    Origin failed_at;
    Turn turn[MOST_TURNS];
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

// A thread that waits for its turn.
struct Parked {
    Thread *thread;
    Origin where;
    Access access;
};
std::vector<Parked> parked; // the oldest first
int turns = 0, forced_turns = 0, first_turn = 0;
bool in_turn = false, launch_is_new = true, is_random = false;
Warps asleep;
// When an address was written, and when and in which line a thread has read one.
std::map<const void *, int> written;
std::map<std::pair<const Thread *, const void *>, std::pair<int, Origin>> seen;
Origin turn_at = Site{};
std::vector<int> turns_of[MOST_WARPS];
std::vector<order::Epoch> epochs[MOST_TURNS]; // of a turn's threads

// What the runs came to.
int classes = 0, randoms = 0, most_turns = 0;
bool all_explored = true;

// They outlive main(). Of places that poll, whether a poll in vain was seen to be repeated.
auto &failures = *new std::map<Condition, std::pair<const char *, Origin>>;
auto &polled = *new std::map<std::pair<const char *, unsigned>, bool>;

bool conflict(const Access &one, const Access &other) {
    const bool apart =
        one.begin >= other.begin + other.bytes || other.begin >= one.begin + one.bytes;
    const bool read = one.touch == Touch::READ && other.touch == Touch::READ;
    return !apart && !read && (one.commuting == nullptr || one.commuting != other.commuting);
}

bool conflict(const Turn &turn, const Access &access) {
    return std::any_of(run->access + turn.first, run->access + turn.end,
                       [&access](const Access &one) { return conflict(one, access); });
}

bool conflict(const Turn &one, const Turn &other) {
    return std::any_of(run->access + other.first, run->access + other.end,
                       [&one](const Access &access) { return conflict(one, access); });
}

int warp_of(const Thread &thread) {
    const Cta &cta = *thread.cta;
    const auto ctas = int(cta.cluster->ctas.size()), warps = int(cta.warps.size());
    const int warp = (cta.cluster->index * ctas + cta.rank) * warps + thread.warp();
    if (warp >= MOST_WARPS)
        give_up("exploration: a launch has more than %d warps", MOST_WARPS);
    return warp;
}

// In a loop, of addresses that nobody has written since.
bool waits_in_loop(const Parked &one) {
    const Spin &spin = one.thread->spin;
    const auto is_new = [&one](const void *address) {
        const auto read = seen.find({one.thread, address});
        return read != seen.end() && written[address] > read->second.first;
    };
    const auto last = seen.find({one.thread, one.access.begin});
    return spin.reads > 0 && last != seen.end() && last->second.second == one.where &&
           std::ranges::find(spin.read, one.access.begin) != std::end(spin.read) &&
           std::ranges::none_of(spin.read, is_new);
}

// ---------------------------------------------------------------------------- classes
// Source-DPOR with sleep sets. (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic Partial Order
// Reduction, 2014.) Two turns are ordered if they are of one warp, if their accesses conflict, or
// if something else orders them (order.h).

bool is_before(int one, int other) {
    const int warp = run->turn[one].warp;
    return run->turn[other].known[warp] >= run->turn[one].known[warp];
}

// Nothing but their conflict orders turn i before turn j. Of what does not come after i, the turn
// of some warp has to be tried in its place.
void add_reversal(int i, int j) {
    Warps met, first;
    std::vector<int> others;
    for (int k = i + 1; k <= j; ++k) {
        const int warp = run->turn[k].warp;
        if (k != j && is_before(i, k))
            continue;
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
    for (int j = 0; j < run->turns; ++j) {
        Turn &turn = run->turn[j];
        const auto join = [&turn](int other) {
            std::ranges::transform(turn.known, run->turn[other].known, turn.known,
                                   std::ranges::max);
        };
        for (int warp = 0; warp < MOST_WARPS; ++warp)
            if (turn.known[warp] > 0)
                join(turns_of[warp][turn.known[warp] - 1]);
        if (!turns_of[turn.warp].empty())
            join(turns_of[turn.warp].back());
        std::vector<int> races;
        for (int i = j - 1; i >= 0; --i)
            if (run->turn[i].warp != turn.warp && !is_before(i, j) &&
                conflict(run->turn[i], turn)) {
                races.push_back(i);
                join(i);
            }
        turns_of[turn.warp].push_back(j);
        turn.known[turn.warp] = std::uint16_t(turns_of[turn.warp].size());
        for (const int i : races)
            add_reversal(i, j);
    }
}

// Makes the nodes the turns that the next run begins with. False if there is none.
bool backtrack() {
    for (; !nodes.empty(); nodes.pop_back()) {
        Node &node = nodes.back();
        node.done.set(node.warp);
        const Warps left = node.todo & ~node.done & ~run->turn[nodes.size() - 1].asleep;
        if (left.any()) {
            node.warp = first_of(left);
            return true;
        }
    }
    return false;
}

// Forks a run. True in the run; its parent has waited for it.
bool fork_run() {
    static const int output = memfd_create("emulator", 0);
    run->turns = run->redundant = false;
    run->failed = ATOMICS;
    std::ranges::fill(turns_of, std::vector<int>());
    if (ftruncate(output, 0) != 0 || lseek(output, 0, SEEK_SET) != 0)
        give_up("exploration: keeping what a run says fails: %m");
    std::fflush(nullptr);
    const pid_t forked = fork();
    if (forked == 0) {
        dup2(output, 1);
        dup2(output, 2);
        unsetenv("EMULATOR_EXPLORE"); // a report's run is repeated in this order
        alarm(LIMIT);
        return recording = is_run = true;
    }
    int status = 0;
    if (forked < 0 || waitpid(forked, &status, 0) != forked)
        give_up("exploration: forking a run fails: %m");
    if (run->failed != ATOMICS)
        fails(run->failed, run->why, run->failed_at);
    (is_random ? randoms : classes) += !run->redundant;
    most_turns = std::max(most_turns, run->turns);
    if (status == 0)
        return false;
    std::ifstream command("/proc/self/cmdline");
    std::string again(std::istreambuf_iterator<char>(command), {});
    std::ranges::replace(again, '\0', ' ');
    std::cerr << std::ifstream(format("/proc/self/fd/%d", output)).rdbuf();
    const bool is_slow = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    std::cerr << "order " << classes + randoms << " of those explored "
              << (is_slow ? format("takes more than %d s", LIMIT) : "fails")
              << "; again: EMULATOR_ORDER=" << order() << " " << again << std::endl;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// Makes the runs of a launch, which return from here, and then returns itself.
void explore_launch() {
    if (run == nullptr)
        run = static_cast<Run *>(mmap(nullptr, sizeof(Run), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (run == MAP_FAILED)
        give_up("exploration: sharing %zu bytes fails: %m", sizeof(Run));
    static const std::time_t begun = std::time(nullptr);
    const int limit = std::atoi(runs_wanted);
    bool more = true;
    is_random = false;
    for (int runs = 0; more && runs < limit && std::time(nullptr) < begun + MOST_SECONDS; ++runs) {
        if (fork_run())
            return;
        all_explored &= run->turns < MOST_TURNS;
        for (int turn = int(nodes.size()); turn < run->turns; ++turn)
            nodes.push_back({run->turn[turn].warp, {}, {}});
        add_reversals();
        more = backtrack();
    }
    nodes.clear();
    all_explored &= !more;
    is_random = !all_explored;
    for (int runs = limit / RUNS_PER_RANDOM;
         is_random && runs > 0 && std::time(nullptr) < begun + LIMIT; --runs)
        if (fork_run())
            return;
    run->turns = 0;
}

// ---------------------------------------------------------------------------- turns
// Whose turn it is in a run.
int choose(const Warps &ready, const Warps &waiting) {
    const int number = run->turns, begin = number > 0 ? run->turn[number - 1].end : 0;
    const bool is_given = number < int(nodes.size());
    for (const Parked &one : parked) // what the last turn makes another one repeats no run after it
        if (number > 0 && conflict(run->turn[number - 1], one.access))
            asleep.reset(warp_of(*one.thread));
    Turn &turn = run->turn[number] = {0, begin, begin, ready, waiting, asleep, {}};
    asleep |= is_given ? nodes[number].done : Warps();
    Warps left = ready & ~asleep;
    run->redundant = left.none() || (is_given && !left[nodes[number].warp]);
    if (run->redundant)
        _exit(0);
    static std::mt19937 generator{unsigned(randoms)}; // of this run
    for (unsigned skipped = is_random ? generator() % left.count() : 0; skipped > 0; --skipped)
        left.reset(first_of(left));
    turn.warp = is_given ? nodes[number].warp : first_of(left);
    turns_of[turn.warp].push_back(number);
    recording = ++run->turns < MOST_TURNS;
    return turn.warp;
}

// Whose turn it is: whose EMULATOR_ORDER says, or the exploration; or else the first's.
int warp_of_turn(int number, const Warps &ready, const Warps &waiting) {
    static std::map<int, int> wanted;
    static std::istringstream text(order_wanted != nullptr ? order_wanted : "");
    char mark;
    for (int turn, warp; text >> turn >> mark >> warp; text >> mark)
        wanted[turn] = warp;
    const auto found = wanted.find(number);
    if (found != wanted.end() && !ready[found->second])
        give_up("exploration: EMULATOR_ORDER: warp %d cannot have turn %d", found->second, number);
    if (found != wanted.end())
        return found->second;
    if (runs_wanted != nullptr && !is_run && std::exchange(launch_is_new, false)) {
        first_turn = number;
        explore_launch();
    }
    return recording ? choose(ready, waiting) : first_of(ready);
}
} // namespace

const bool is_explored = runs_wanted != nullptr || order_wanted != nullptr;

void wait_for_turn(const Access &access, const Origin &where) {
    current->wait = {where, [] { return std::string("waits for memory that others write"); }};
    parked.push_back({current, where, access});
    leave();
    in_turn = true;
    turn_at = where;
    if (!recording)
        return;
    const int number = run->turns - 1;
    Turn &turn = run->turn[number];
    const auto is_known = [](const order::Epoch &epoch) {
        return order::is_before(epoch, Space::SHARED);
    };
    for (int warp = 0; warp < MOST_WARPS; ++warp) {
        int known = warp == turn.warp ? 0 : int(turns_of[warp].size());
        while (known > turn.known[warp] &&
               std::ranges::none_of(epochs[turns_of[warp][std::size_t(known) - 1]], is_known))
            --known;
        turn.known[warp] = std::max(turn.known[warp], std::uint16_t(known));
    }
    epochs[number].push_back(order::epoch_now());
}

void accessed(Access access, Touch touch) {
    in_turn = false;
    access.touch = touch;
    if (touch == Touch::READ) {
        seen.insert_or_assign({current, access.begin}, std::pair(turns, turn_at));
    } else {
        written[access.begin] = turns;
        current->spin = {};
    }
    if (recording)
        run->access[run->turn[run->turns - 1].end++] = access;
}

bool is_in_turn() { return in_turn; }

bool next_turn(bool forced) {
    Warps ready, waiting;
    const auto is_ready = [forced](const Parked &one) { return forced || !waits_in_loop(one); };
    for (const Parked &one : parked)
        (is_ready(one) ? ready : waiting).set(warp_of(*one.thread));
    if (ready.none() || (forced && forced_turns == MOST_FORCED))
        return false;
    forced_turns = forced ? forced_turns + 1 : 0;
    const int warp = warp_of_turn(turns++, ready, waiting & ~ready);
    const auto is_its = [&](const Parked &one) {
        return warp_of(*one.thread) == warp && is_ready(one);
    };
    const auto first = std::ranges::find_if(parked, is_its);
    const Origin where = first->where;
    current_cluster = first->thread->cta->cluster;
    const auto rest = std::stable_partition(parked.begin(), parked.end(), [&](const Parked &one) {
        return !is_its(one) || !(one.where == where);
    });
    std::ranges::sort(rest, parked.end(), {}, [](const Parked &one) { return one.thread->number; });
    std::for_each(rest, parked.end(), [](const Parked &one) { make_runnable(*one.thread); });
    parked.erase(rest, parked.end());
    return true;
}

void launch_begins() {
    launch_is_new = true;
    recording = false;
}

void fails(Condition condition, const char *why, const Origin &where) {
    failures.try_emplace(condition, why, where);
    if (!recording || condition == SUMS || condition == ATOMICS)
        return;
    run->failed = condition;
    run->why = why;
    run->failed_at = where;
}

std::string order() {
    std::string text = order_wanted != nullptr ? order_wanted : "";
    for (int i = 0; run != nullptr && i < run->turns; ++i)
        if (const Turn &turn = run->turn[i]; turn.warp != first_of(turn.ready))
            text += format("%s%d:%d", text.empty() ? "" : ",", first_turn + i, turn.warp);
    return text;
}

// ---------------------------------------------------------------------------- the proof
void polls(const Poll &poll, Site where, bool succeeds) {
    const bool again = current->failed_poll == poll;
    if (!again)
        does_something_else();
    polled[{where.file_name(), where.line()}] |= again;
    current->failed_poll = succeeds ? Poll{} : poll;
    current->polls_at = where;
}

void does_something_else() {
    if (std::exchange(current->failed_poll, Poll{}) != Poll{})
        fails(CHOICES, "a thread that polled in vain does something else", current->polls_at);
}
} // namespace emulator::proof

const char *emulator_proof(void) {
    using namespace emulator;
    using namespace emulator::proof;
    static std::string text;
    text = "all orders are equivalent: proved by one run";
    text += failures.contains(SUMS) ? ", up to the order of floating-point additions" : "";
    const char *before = ", if polls that never failed are waits: ";
    for (const auto &[place, again] : polled)
        if (!again)
            text += std::exchange(before, ", ") + format("%s:%u", place.first, place.second);
    if (is_run)
        return "not proved for all orders: the run is one of those explored";
    const bool all = all_explored && classes > 0;
    const std::string random = randoms > 0 ? format(", then %d random ones", randoms) : "";
    std::string orders;
    if (classes > 0)
        orders =
            format("explored: %s%d orders of at most %d turns at atomics%s: every one ends well",
                   all ? "all " : "the first ", classes, most_turns, random.c_str());
    const auto first = failures.upper_bound(SUMS);
    if (first != failures.end() && first->first == ATOMICS && all) {
        text = orders;
    } else if (first != failures.end()) {
        const auto &[why, where] = first->second;
        const Note place = note_at(where, "");
        text = format("not proved for all orders: condition %d fails: %s",
                      std::min(first->first, CHOICES), why);
        text += place.line > 0 ? format(", at %s:%d", place.file.c_str(), place.line) : "";
        const char *how = translated_program ? "--explore 10000" : "EMULATOR_EXPLORE=1000";
        if (first->first == ATOMICS && orders.empty())
            text += format("; %s tries all orders of the atomics", how);
        text += orders.empty() ? "" : "; " + orders;
    }
    return text.c_str();
}
