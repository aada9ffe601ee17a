#include "emulator/asynchronous.h"

#include "machine.h"

#include <algorithm>
#include <map>
#include <regex>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace emulator {
// What a thread has done on a barrier: the last phase that it has waited for (-1: the one before
// the first), and the last even one and the last odd one that it has arrived in.
struct Past {
    static constexpr std::int64_t NONE = -2;
    std::int64_t waited = NONE, arrived[2] = {NONE, NONE};
};

// For the proof: what has to be ordered before something else, and a wgmma that will do, too.
struct Earlier {
    order::Epoch epoch;
    Site where;
    order::Epoch wgmma{};
};

// What is known of a barrier besides its 64 bits, which must not change.
struct Barrier {
    SharedRef place;
    Site init_site;
    const Thread *initialiser;
    int expected;               // arrivals of a phase
    int pending;                // of them, those missing in this one
    order::Epoch init;          // async once fence.mbarrier_init has followed
    std::uint64_t ready_in = 0; // the phase of the cluster's barrier that came after that fence
    int bytes = 0;              // tx-count: announced and not landed, or less than 0
    int announced = 0;          // bytes of this phase, and of the one before
    int announced_before = 0;
    Site unannounced{};  // the last copy that took bytes below 0
    Site announced_at{}; // the last announcement
    std::uint64_t phase = 0;
    WaitQueue waiting{};
    order::Carrier carriers[3]{};            // of this phase and of the two before
    std::vector<Earlier> waits{}, expects{}; // for the last phase; not arrived after
    std::uint64_t issued = 0, consumed = 0;  // phases up to the last with copies; or waited for
    const Thread *issuer = nullptr;          // of those
    std::unordered_map<const Thread *, Past> threads{};
    // The time and the phase of the last copy that landed, by its agent.
    std::unordered_map<std::uint32_t, std::pair<std::int32_t, std::uint64_t>> landed{};

    order::Carrier &carrier(std::uint64_t of_phase) { return carriers[of_phase % 3]; }
};

// The barriers of a CTA by offset.
struct Mbarriers : std::unordered_map<std::uint32_t, Barrier> {};

namespace {
constexpr int MOST_TESTS = 64;   // of one thread in vain, in a row
constexpr unsigned GIVES_UP = 8; // a random policy's try_wait fails at once in one of this many
constexpr int LARGEST_COUNT = (1 << 20) - 1; // of arrivals and, either sign, of bytes

using Number = unsigned long long; // of a phase, for reports

Mbarriers &barriers_of(Cta &cta) {
    if (cta.mbarriers == nullptr)
        cta.mbarriers = std::make_shared<Mbarriers>();
    return *cta.mbarriers;
}

// The barrier at a place, or nullptr.
Barrier *find_barrier(SharedRef place) {
    auto &barriers = barriers_of(*place.cta);
    const auto found = barriers.find(place.offset);
    return found == barriers.end() ? nullptr : &found->second;
}

// The 64 bits in shared memory: from the top 2 of mark, 1 of phase, 20 each of expected and pending
// arrivals, 21 of bytes.
std::uint64_t packed(const Barrier &barrier) {
    return std::uint64_t(2) << 62 | (barrier.phase & 1) << 61 |
           std::uint64_t(barrier.expected) << 41 | std::uint64_t(barrier.pending) << 21 |
           (std::uint64_t(barrier.bytes) & 0x1fffff);
}

std::uint64_t &word_of(SharedRef place) {
    return *reinterpret_cast<std::uint64_t *>(
        place.cta->shared.generic(place.offset, sizeof(std::uint64_t)));
}

void store_barrier(const Barrier &barrier) { word_of(barrier.place) = packed(barrier); }

// ---------------------------------------------------------------------------- reports
struct BarrierName {
    std::string name{};   // "full"; empty if the line has none
    bool indexed = false; // one of an array
    int index = -1;       // if the line itself names it
};

// In a line such as `full[i].init(...)`, or a call of something like init(&smem.full[i], ...): of
// as many as come before, the next, or the last.
BarrierName barrier_name_in(const std::string &line, int before) {
    static const std::regex init(R"((\w+)(\[([^\]]*)\])?\.init\(|)"
                                 R"(init\w*\([^,)\[]*?(\w+)(\[([^\]]*)\])?\s*[,)])");
    std::sregex_iterator next(line.begin(), line.end(), init);
    if (next == std::sregex_iterator())
        return {};
    while (before-- > 0 && std::next(next) != std::sregex_iterator())
        ++next;
    const std::smatch &found = *next;
    const int group = found[1].matched ? 1 : 4;
    const std::string index = found[group + 2];
    const bool is_number = !index.empty() && index.find_first_not_of("0123456789") == index.npos;
    return {found[group], found[group + 1].matched, is_number ? std::atoi(index.c_str()) : -1};
}

// The name in the line that initialises the barrier, or in the one that calls a program's helper
// which does; read once for each place. Elements of an array are numbered by their addresses.
std::string name_in_source(const Barrier &barrier) {
    static std::map<std::tuple<std::string_view, unsigned, std::uintptr_t>, BarrierName> known;
    static std::map<std::pair<std::string, int>, int> calls; // of a line, so far
    const auto name_at = [](Site where) -> const BarrierName & {
        const auto [found, is_new] = known.try_emplace({where.file_name(), where.line(), where.pc});
        BarrierName &name = found->second;
        if (is_new)
            name = barrier_name_in(source_text(where.file_name(), int(where.line())), 0);
        if (is_new && (name.name.empty() || (translated_program && !name.indexed))) {
            const auto [file, line] = note_at(where, "").caller;
            const auto called = barrier_name_in(source_text(file, line), calls[{file, line}]++);
            name = called.name.empty() ? name : called;
        }
        return name;
    };
    const auto &[name, indexed, index] = name_at(barrier.init_site);
    if (!indexed)
        return name;
    const auto is_below = [&](const auto &one) {
        return one.first < barrier.place.offset && name_at(one.second.init_site).name == name;
    };
    const auto below = std::ranges::count_if(barriers_of(*barrier.place.cta), is_below);
    return format("%s[%d]", name.c_str(), index >= 0 ? index : int(below));
}

// The kernel's line: the one that calls a header's or a program's helper.
int line_of(Site where) {
    const Note note = note_at(where, "");
    return note.caller.line ?: note.line;
}

// "full[2] of CTA 0, phase 3 (parity 1): 1 of 1 arrivals missing, 4096 of 8192 bytes missing;
// initialised in line 58".
std::string state_of(const Barrier &barrier) {
    std::string text = mbarrier_name(barrier.place);
    text += format(", phase %llu (parity %d): %d of %d arrivals missing", Number(barrier.phase),
                   int(barrier.phase & 1), barrier.pending, barrier.expected);
    if (barrier.bytes < 0)
        text += format(", %d bytes landed that were not announced (line %d announced %d)",
                       -barrier.bytes, line_of(barrier.announced_at), barrier.announced);
    else if (barrier.announced > 0)
        text += format(", %d of %d bytes missing", barrier.bytes, barrier.announced);
    for (const auto &[offset, other] : barriers_of(*barrier.place.cta))
        if (barrier.bytes > 0 && other.bytes < 0)
            text += format(" (%d came on %s)", -other.bytes, mbarrier_name(other.place).c_str());
    return text + format("; initialised in line %d", line_of(barrier.init_site));
}

// The other barrier of a ring's stage, if it has one on which others arrive: "empty[2]" for
// "full[2]".
std::string partner_of(const Barrier &barrier) {
    const std::string name = mbarrier_name(barrier.place);
    const std::size_t index = name.find('[');
    for (const auto &[offset, other] : barriers_of(*barrier.place.cta))
        if (const std::string its = mbarrier_name(other.place);
            index != std::string::npos && its != name && its.ends_with(name.substr(index)) &&
            !other.threads.contains(current))
            return its;
    return "";
}

// For the story (story.h).
void record(const Barrier &barrier, std::uint64_t phase, const char *did, Site where,
            int bytes = 0) {
    if (story::is_recorded || trace::is_on)
        story::add(bytes > 0 ? format("expects %d bytes", bytes) : did,
                   mbarrier_name(barrier.place) + format(", phase %llu", Number(phase)), where);
}

// What an operation does is no thread's.
Note note_of(Site where, const char *did) {
    return current != nullptr ? note_at(*current, where, did) : note_at(where, did);
}

// Which thread did what just now, and where the barrier was initialised.
std::vector<Note> notes_of(const Barrier &barrier, Site where, const char *did) {
    return {note_of(where, did), note_at(barrier.init_site, "the barrier was initialised here")};
}

// `what` follows the barrier's name.
[[noreturn]] void fail_on(const Barrier &barrier, Mistake mistake, const std::string &what,
                          Site where, const char *did) {
    fail(mistake, notes_of(barrier, where, did), "%s%s", mbarrier_name(barrier.place).c_str(),
         what.c_str());
}

// ---------------------------------------------------------------------------- checks
void check_aligned(SharedRef place, Site where) {
    if (place.offset % sizeof(std::uint64_t) != 0)
        fail(Mistake::MISUSE, {note_of(where, "used one that is not")},
             "an mbarrier has to be aligned to 8 bytes");
}

// The barrier at a place, whole and initialised.
Barrier &whole_barrier(SharedRef place, Site where) {
    Barrier *const barrier = find_barrier(place);
    if (barrier == nullptr)
        fail(Mistake::LIFETIME, {note_of(where, current != nullptr ? "used it" : "used")},
             "%s is not initialised yet: no barrier (of the cluster, if any) after mbarrier.init",
             mbarrier_name(place).c_str());
    if (word_of(place) != packed(*barrier))
        fail_on(*barrier, Mistake::LIFETIME, " is used after its bytes were overwritten", where,
                "used it");
    return *barrier;
}

// The barrier, if the current thread may use it; others may go first.
Barrier &usable_barrier(SharedRef place, Site where) {
    schedule_point();
    check_aligned(place, where);
    Barrier &barrier = whole_barrier(place, where);
    if (current == barrier.initialiser)
        return barrier;
    const bool is_relaxed = barrier.init.async && current->cluster_waits > barrier.ready_in;
    if (!is_relaxed && !order::is_before(barrier.init, Space::SHARED)) {
        story::begin({order::epoch_now(), "uses", where},
                     {barrier.init, "initialises", barrier.init_site});
        fail_on(barrier, Mistake::LIFETIME,
                " is used, and nothing orders its initialisation before: after that a barrier is "
                "missing, as __syncthreads()",
                where, "used it");
    }
    return barrier;
}

// The barrier, if a copy of the async proxy may complete on it.
Barrier &barrier_of_copy(SharedRef place, Site where) {
    check_aligned(place, where);
    Barrier &barrier = whole_barrier(place, where);
    if (!barrier.init.async && order::is_unfenced(barrier.init, Space::SHARED))
        fail_unless_allowed(
            "barrier-fence", Mistake::LIFETIME,
            notes_of(barrier, where, "started a copy that completes on it"),
            "%s is initialised but not yet fenced for the async proxy (fence.mbarrier_init or "
            "fence.proxy.async)",
            mbarrier_name(place).c_str());
    return barrier;
}

// ---------------------------------------------------------------------------- counting
// Whether the running agent comes after all of the phase before; else `missing` is what is not.
bool is_in_order(Barrier &barrier, std::uint64_t phase, order::Epoch *missing = nullptr) {
    return phase == 0 || order::is_after(barrier.carrier(phase - 1), missing);
}

// What counts for a phase comes after the phase before: in another order it would count for that.
void check_order(Barrier &barrier, Site where) {
    if (!is_in_order(barrier, barrier.phase))
        proof::fails(proof::PHASES, "what counts for a phase may come in the one before", where);
}

// The current thread has waited for a phase. A wgmma happens after all threads of its warpgroup
// have called it, so that their next one, whose time is its number + 1, speaks for all.
void waited(Barrier &barrier, std::int64_t phase, Site where) {
    barrier.threads[current].waited = phase;
    Earlier wait{order::epoch_now(), where, order::epoch_now()};
    std::vector<Warpgroup> &groups = current->cta->warpgroups;
    if (const auto group = std::size_t(current->warpgroup()); group < groups.size()) {
        std::uint32_t &agent = groups[group].agent;
        wait.wgmma.agent = agent = agent != order::NO_AGENT ? agent : order::new_agent();
        wait.wgmma.time = std::int32_t(current->wgmmas.started + 1);
    }
    barrier.waits.push_back(wait);
}

// A phase ends.
void check_proof(Barrier &barrier) {
    order::Carrier &carrier = barrier.carrier(barrier.phase);
    for (const Earlier &wait : barrier.waits)
        if (!order::covers(carrier, wait.epoch) && !order::covers(carrier, wait.wgmma))
            proof::fails(proof::WAITS, "the next phase may end before this wait", wait.where);
    for (const Earlier &expect : barrier.expects)
        fail_unless_allowed(
            "late-announcement", Mistake::HAZARD,
            {note_at(expect.where, order::name_of(expect.epoch) + " did it here"),
             note_at(barrier.init_site, "the barrier was initialised here")},
            "%s: bytes, or an arrival of copies, are added to what a phase waits for, and no "
            "arrival of the phase comes after that: in another order it ends before",
            mbarrier_name(barrier.place).c_str());
    barrier.waits.clear();
    barrier.expects.clear();
}

void complete_phase_if_done(Barrier &barrier) {
    if (barrier.pending == 0 && barrier.bytes == 0) {
        check_proof(barrier);
        ++barrier.phase;
        barrier.pending = barrier.expected;
        barrier.announced_before = std::exchange(barrier.announced, 0);
        barrier.carrier(barrier.phase).clear();
        barrier.waiting.wake_all();
    }
    store_barrier(barrier);
}

void add_bytes(Barrier &barrier, int bytes, Site where, const char *did) {
    const long long sum = static_cast<long long>(barrier.bytes) + bytes;
    if (sum < -LARGEST_COUNT || sum > LARGEST_COUNT)
        fail_on(barrier, Mistake::MISUSE,
                format(" counts %lld bytes, and may count %d", sum, LARGEST_COUNT), where, did);
    barrier.bytes = int(sum);
    if (sum < 0)
        barrier.unannounced = where;
}

void announce(Barrier &barrier, int bytes, Site where) {
    if (bytes == 0)
        return;
    check_order(barrier, where);
    barrier.expects.push_back({order::epoch_now(), where});
    add_bytes(barrier, bytes, where, "announced");
    barrier.announced += bytes;
    barrier.announced_at = where;
}

// Of a copy: also of what came before its issue, which by the letter only the issuer's arrival
// releases: who waits knows that the issue has happened.
void land(Barrier &barrier, int bytes, Site where) {
    check_order(barrier, where);
    order::release_own(barrier.carrier(barrier.phase));
    record(barrier, barrier.phase, "lands", where);
    const order::Epoch copy = order::epoch_now();
    barrier.landed[copy.agent] = {copy.time, barrier.phase};
    order::release(barrier.carrier(barrier.phase), Scope::SYS,
                   order::running().who.cta != barrier.place.cta->rank);
    add_bytes(barrier, -bytes, where, "bytes landed");
    complete_phase_if_done(barrier);
}

// ---------------------------------------------------------------------------- waiting
// A thread has waited for `phase`. The copies of that phase are no longer ahead of the consumers,
// unless it is the thread that issued them.
void consume(Barrier &barrier, std::uint64_t phase) {
    if (current == barrier.issuer || phase < barrier.consumed || barrier.issued <= barrier.consumed)
        return;
    std::uint64_t ahead = 0; // of the CTA: phases with copies that no consumer has waited for
    for (const auto &[offset, other] : barriers_of(*barrier.place.cta))
        if (other.issued > other.consumed) // a parity tells two apart
            ahead += std::min<std::uint64_t>(other.issued - other.consumed, 2);
    barrier.consumed = phase + 1;
    counts.ring_ahead_most = std::max(counts.ring_ahead_most, ahead);
    counts.ring_ahead_sum += ahead;
    ++counts.ring_ahead_samples;
}

// Waits for `phase` of the barrier; false if a poll found that it has not completed. try_wait
// suspends the thread until then, at most for a time: until nothing else can happen, and sometimes,
// under a random policy, not at all. test_wait lets other threads go first; a thread that has
// tested long enough in vain is treated as one that tries.
bool wait_for(Barrier &barrier, std::uint64_t phase, Poll how, Order order, Site where) {
    if (!is_in_order(barrier, phase))
        proof::fails(proof::WAITS, "the phase before may be the one that it sees", where);
    const auto done = [&] { return barrier.phase > phase; };
    const auto describe = [&, is_first = phase > 0 && barrier.threads[current].waited < 0] {
        return state_of(barrier) +
               (is_first ? ", and no earlier phase was waited for: is the parity right?" : "");
    };
    if (!done() && how == Poll::TEST && ++current->fruitless_tests < MOST_TESTS)
        let_others_run();
    else if (!done() && how != Poll::UNTIL_DONE && !(policy().random && once_in(GIVES_UP)))
        wait_until_or_time_out(barrier.waiting, done, where, describe);
    if (how != Poll::UNTIL_DONE)
        proof::polls({&barrier, phase, order::running().self.times.done[0]}, where, done());
    if (!done() && how != Poll::UNTIL_DONE)
        return false;
    current->fruitless_tests = 0;
    ++counts.mbarrier_waits;
    counts.mbarrier_waits_blocked += !done();
    wait_until(barrier.waiting, done, where, describe);
    if (barrier.phase > phase + 1)
        fail_on(barrier, Mistake::HAZARD,
                format(" went on by %llu phases before a thread that waits for the first of them "
                       "saw it: it may wait for ever",
                       Number(barrier.phase - phase)),
                where, "waited");
    waited(barrier, std::int64_t(phase), where);
    // Approximate: a wait of .cta scope acquires from peers, too.
    order::acquire(barrier.carrier(phase), Scope::SYS, order == Order::RELAXED);
    record(barrier, phase, "waits", where);
    consume(barrier, phase);
    return true;
}
} // namespace

std::string mbarrier_name(SharedRef place) {
    const Barrier *barrier = find_barrier(place);
    std::string name = barrier != nullptr ? name_in_source(*barrier) : "";
    if (name.empty())
        name = format("the mbarrier at shared address 0x%x", SHARED_BASE + place.offset);
    if (place.cta->cluster->ctas.size() > 1)
        name += format(" of CTA %d", place.cta->rank);
    return name;
}

// The barrier on which a copy completed, or nullptr.
static Barrier *barrier_after(const order::Epoch &copy) {
    for (const std::unique_ptr<Cta> &cta : current_cluster->ctas)
        for (auto &[offset, barrier] : barriers_of(*cta))
            if (const auto landed = barrier.landed.find(copy.agent);
                landed != barrier.landed.end() && landed->second.first == copy.time)
                return &barrier;
    return nullptr;
}

std::string why_copy_unwaited(const order::Epoch &copy, const Thread &thread) {
    Barrier *const barrier = barrier_after(copy);
    if (barrier == nullptr)
        return "";
    const auto phase = std::int64_t(barrier->landed[copy.agent].second);
    const std::int64_t last = barrier->threads[&thread].waited;
    const std::string name = mbarrier_name(barrier->place), who = name_of(thread);
    if (last == Past::NONE)
        return format("%s has not waited on %s, whose phase %lld (parity %d) the copy completes, "
                      "nor comes after a thread that has",
                      who.c_str(), name.c_str(), (long long)(phase), int(phase & 1));
    if (last >= phase)
        return (translated_program ? "the wait is relaxed, or " : "") +
               ("fewer bytes were announced on " + name) + " than came";
    return format("the last wait of %s on %s was for phase %lld%s, and the copy completes "
                  "phase %lld: is the parity right, and the stage?",
                  who.c_str(), name.c_str(), (long long)(last),
                  last < 0 ? " (which passes at once)" : "", (long long)(phase));
}

static std::string too_few_bytes(const Barrier &barrier, const char *come,
                                 std::vector<Note> &notes) {
    notes.push_back(note_at(barrier.announced_at, "the bytes were announced here"));
    const std::string name = mbarrier_name(barrier.place);
    const int announced = barrier.announced > 0 ? barrier.announced : barrier.announced_before;
    return "fewer bytes were announced on " + name + " than " + come +
           (barrier.bytes < 0 ? format(": %d, and %d", announced, announced - barrier.bytes) : "");
}

std::string too_few_bytes(const order::Epoch &copy, std::vector<Note> &notes) {
    const Barrier *const barrier = barrier_after(copy);
    return barrier != nullptr && barrier->bytes < 0 && barrier->announced_at.line() > 0
               ? too_few_bytes(*barrier, "came", notes)
               : "";
}

std::string too_few_bytes(const Operation &load, std::vector<Note> &notes) {
    const auto &barriers = barriers_of(*load.cta);
    const auto found = barriers.find(load.barrier);
    // What the phase before counted, and this one does not announce.
    return found != barriers.end() && found->second.phase > 0 && found->second.bytes <= 0
               ? too_few_bytes(found->second, "come", notes)
               : "";
}

// ---------------------------------------------------------------------------- instructions
void mbarrier_init(SharedRef place, int arrivals, Site where) {
    schedule_point();
    check_aligned(place, where);
    if (arrivals < 1 || arrivals > LARGEST_COUNT)
        fail(Mistake::MISUSE, where, "initialised one",
             "an mbarrier's phase takes 1 to %d arrivals, not %d", LARGEST_COUNT, arrivals);
    // None may be initialised over another one before mbarrier.inval, which no rung uses.
    if (const Barrier *other = find_barrier(place))
        fail_on(*other, Mistake::MISUSE, " is initialised a second time", where,
                "initialised it again");
    access_shared(*place.cta, place.offset, sizeof(std::uint64_t), {true, where});
    Barrier made{place, where, current, arrivals, arrivals, order::epoch_now()};
    store_barrier(made);
    barriers_of(*place.cta).emplace(place.offset, std::move(made));
}

// The object is ready for the async proxy, and for threads after the cluster's next barrier even if
// that is relaxed. (PTX ISA: fence.mbarrier_init.)
void mbarrier_init_fence(Site) {
    for (auto &[offset, barrier] : barriers_of(*current->cta))
        if (barrier.initialiser == current && !barrier.init.async) {
            barrier.init.async = true;
            barrier.ready_in = current->cluster_arrivals;
        }
    schedule_point();
}

std::uint64_t mbarrier_arrive(SharedRef place, int bytes, Site where, Order order, Scope scope,
                              int count, bool drop, bool no_complete) {
    Barrier &barrier = usable_barrier(place, where);
    if (no_complete && count >= barrier.pending && barrier.bytes == 0)
        fail_on(barrier, Mistake::MISUSE, " completes a phase by an arrival with .noComplete",
                where, "arrived");
    if (drop)
        barrier.expected -= count;
    announce(barrier, bytes, where);
    if (count < 1 || count > barrier.pending)
        fail_on(barrier, Mistake::MISUSE,
                format(" gets more arrivals than the barrier's count, %d", barrier.expected), where,
                "arrived");
    const std::uint64_t phase = barrier.phase;
    Past &self = barrier.threads[current];
    std::erase_if(barrier.expects,
                  [](auto &tx) { return order::is_before(tx.epoch, Space::SHARED); });
    record(barrier, phase, "arrives", where, bytes);
    if (order::Epoch other; !is_in_order(barrier, phase, &other)) {
        const auto arrived = std::ranges::count_if(barrier.threads, [&self](auto &one) {
            const Past &past = one.second;
            return &past == &self || std::max(past.arrived[0], past.arrived[1]) != Past::NONE;
        });
        story::begin({order::epoch_now(), "", where}, {other});
        const std::string name = mbarrier_name(barrier.place), ring = partner_of(barrier);
        const bool again = self.arrived[(phase - 1) % 2] == std::int64_t(phase - 1);
        const std::string what =
            again && bytes > 0 && !ring.empty()
                ? format("a thread refills the stage of %s without having waited on %s: for its "
                         "phase %llu (parity %d), and before the first round for parity 1, which "
                         "passes at once",
                         name.c_str(), ring.c_str(), Number(phase - 1), int((phase - 1) & 1))
            : !again && arrived > barrier.expected
                ? format("the count of %s is %d, and %td threads have arrived on it so far: the "
                         "phase before was complete without them all. Is the count too small, or "
                         "should fewer arrive?",
                         name.c_str(), barrier.expected, arrived)
                : name + ": a thread arrives that is not ordered after the phase before: in "
                         "another order it counts for that phase. It has to wait first, for the "
                         "barrier or for those that have waited on it (as a ring's producer does "
                         "on `empty`)";
        fail_unless_allowed("early-arrival", Mistake::HAZARD, notes_of(barrier, where, "arrived"),
                            "%s", what.c_str());
    }
    if (order == Order::RELAXED)
        proof::fails(proof::PHASES, "what comes after a relaxed arrival is not known", where);
    // By default an arrival is a release of .cta scope, which for a peer orders shared memory
    // alone, and there no reads (cells.cpp).
    if (order == Order::RELAXED)
        order::release_relaxed(barrier.carrier(phase), scope);
    else
        tells(where), order::release(barrier.carrier(phase), Scope::SYS,
                                     place.cta != current->cta && scope == Scope::CTA);
    ++counts.mbarrier_arrivals;
    self.arrived[phase % 2] = std::int64_t(phase);
    barrier.pending -= count;
    complete_phase_if_done(barrier);
    schedule_point();
    return phase << 32 | place.offset;
}

void mbarrier_expect_bytes(SharedRef place, int bytes, Site where) {
    Barrier &barrier = usable_barrier(place, where);
    record(barrier, barrier.phase, "expects", where, bytes);
    announce(barrier, bytes, where);
    store_barrier(barrier);
    schedule_point();
}

void mbarrier_complete_bytes(SharedRef place, int bytes, Site where) {
    Barrier &barrier = usable_barrier(place, where);
    proof::fails(proof::PHASES, "what comes after mbarrier.complete_tx is not known", where);
    add_bytes(barrier, -bytes, where, "completed bytes");
    complete_phase_if_done(barrier);
    schedule_point();
}

void mbarrier_invalidate(SharedRef place, Site where) {
    const Barrier &barrier = usable_barrier(place, where);
    if (!barrier.waiting.threads.empty())
        fail_on(barrier, Mistake::LIFETIME, " is invalidated while a thread waits on it", where,
                "invalidated it");
    barriers_of(*place.cta).erase(place.offset);
}

bool mbarrier_wait_parity(SharedRef place, int parity, Site where, Order order, Poll how) {
    Barrier &barrier = usable_barrier(place, where);
    if (parity != 0 && parity != 1)
        fail(Mistake::MISUSE, where, "waited", "parity %d is waited for, not 0 or 1", parity);
    const bool completed = (barrier.phase & 1) != std::uint64_t(parity);
    if (completed && barrier.phase == 0) {
        ++counts.mbarrier_waits; // the phase before the first: nothing comes before it
        record(barrier, 0, "need not wait", where);
        waited(barrier, -1, where);
        return true;
    }
    return wait_for(barrier, barrier.phase - completed, how, order, where);
}

bool mbarrier_wait_token(SharedRef place, std::uint64_t token, Site where, Order order, Poll how) {
    Barrier &barrier = usable_barrier(place, where);
    const std::uint64_t phase = token >> 32;
    if ((token & 0xffffffff) != place.offset)
        fail_on(barrier, Mistake::MISUSE, " is waited for with the token of another barrier", where,
                "waited");
    if (barrier.phase > phase + 1)
        fail_on(barrier, Mistake::MISUSE,
                format(" is waited for with a token of phase %llu, and is in phase %llu: a token "
                       "is good for one phase more",
                       Number(phase), Number(barrier.phase)),
                where, "waited");
    return wait_for(barrier, phase, how, order, where);
}

// ---------------------------------------------------------------------------- copies
void mbarrier_copy_issued(SharedRef place, Site where) {
    Barrier &barrier = barrier_of_copy(place, where);
    barrier.issued = barrier.phase + 1;
    if (std::exchange(barrier.issuer, current) != nullptr)
        return;
    const auto in_ring = [](const auto &one) { return one.second.issuer != nullptr; };
    counts.ring_slots = std::max<std::uint64_t>(
        counts.ring_slots, std::ranges::count_if(barriers_of(*place.cta), in_ring));
}

void mbarrier_copy_landed(SharedRef place, int bytes, Site where) {
    land(barrier_of_copy(place, where), bytes, where);
}

void mbarrier_copy_to_arrive(SharedRef place, bool counted, Site where) {
    Barrier &barrier = usable_barrier(place, where);
    barrier.pending += !counted;
    if (!counted) // as for bytes, an arrival has to follow
        barrier.expects.push_back({order::epoch_now(), where});
    check_order(barrier, where);
    // What has landed already does not arrive any more.
    order::Carrier &carrier = barrier.carrier(barrier.phase);
    for (OperationGroup &group : current->copies.committed)
        order::pass_on(carrier, group.written.done);
    order::pass_on(carrier, current->copies.open.written.done);
    store_barrier(barrier);
}

void mbarrier_copy_arrives(SharedRef place, bool last, Site where) {
    Barrier &barrier = whole_barrier(place, where);
    barrier.pending -= last;
    if (barrier.pending < 0)
        fail(Mistake::MISUSE, {note_at(where, "the arrival of copies was requested here")},
             "%s gets more arrivals than the barrier's count, %d: a copy arrives",
             mbarrier_name(place).c_str(), barrier.expected);
    land(barrier, 0, where); // may complete the phase
}

void mbarriers_cta_exits(Cta &cta) {
    for (const auto &[offset, barrier] : barriers_of(cta))
        if (barrier.bytes < 0)
            fail(Mistake::LIFETIME,
                 {note_at(barrier.unannounced, "the last of these copies was started here"),
                  note_at(barrier.init_site, "the barrier was initialised here")},
                 "CTA %d exits without having waited for all copies: %s", cta.rank,
                 state_of(barrier).c_str());
}
} // namespace emulator
