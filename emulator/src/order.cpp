#include "order.h"

#include "emulator/report.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

namespace emulator::order {
namespace {
constexpr int WARP = 32;

// What is known of an operation by its agent: of the last one that had the number.
struct Operator {
    Identity who;
    Stamp issue;
    std::int32_t time;
};

struct ClusterRecord {
    int index, count, threads, threads_of_cta;
    std::vector<Operator> operators{}; // from agent number `threads` on
    // agents, by issuing thread
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> ended{};

    Operator &operator_at(std::uint32_t agent) { return operators[agent - std::uint32_t(threads)]; }
};

// A launch or a copy: the first serial number of its clusters, and its time on a stream, which
// grows through all of them.
struct Work {
    std::uint32_t first, stream;
    std::int32_t time;
};

struct Stream {
    std::uint32_t number;
    bool non_blocking = false;
    Base clock, before_last; // with the last work, and without it
};

// What relaxed reads of an agent have found, when the last one did, and whether a fence followed.
struct Relaxed {
    Carrier found;
    std::int32_t time = 0;
    bool fenced = false;
};

constexpr std::uint32_t LAUNCHES = 0; // in the place of a stream: which launches have ended

Context host_context;
Context *now = &host_context;

std::unordered_map<const void *, Stream> streams;
std::unordered_map<const void *, Base> events;
Base host_clock;
std::vector<Work> works;
Base after_launch_before;                                  // of the launch that runs
std::uint32_t serial = 0;                                  // of the last cluster
std::unordered_map<std::uint32_t, ClusterRecord> clusters; // of this launch
std::unordered_map<const void *, Carrier> atomics;
std::map<std::pair<std::uint32_t, int>, std::map<std::uint32_t, Relaxed>> relaxed; // by CTA, agent

ClusterRecord &cluster_now() { return clusters[now->cluster]; }

std::map<std::uint32_t, Relaxed> &relaxed_of_cta() { return relaxed[{now->cluster, now->who.cta}]; }

Base with_time(const Base &base, std::uint32_t stream, std::int32_t time) {
    return with_stamps(base, {{stream, {{time}}}});
}

Stream &stream_of(const void *key) {
    if (key == reinterpret_cast<const void *>(1)) // cudaStreamLegacy
        key = nullptr;
    const auto [found, is_new] = streams.try_emplace(key);
    if (is_new)
        found->second.number = std::uint32_t(streams.size());
    return found->second;
}

// The default stream's work and that of blocking streams come after each other.
Base others_before(const void *key) {
    Base sum;
    for (const auto &[other, state] : streams)
        if (other != key && !state.non_blocking && (key == nullptr || other == nullptr))
            sum = joined(sum, state.clock);
    return sum;
}

// What waits for a stream is after; for the default stream, others' work, too.
Base all_on(const void *key) {
    const Base &own = stream_of(key).clock;
    return key == nullptr ? joined(own, others_before(key)) : own;
}

const Work *work_of(std::uint32_t cluster) {
    const auto after = std::ranges::upper_bound(works, cluster, {}, &Work::first);
    return after == works.begin() ? nullptr : &after[-1];
}

void host_learns(const Base &clock) {
    host_clock = joined(host_clock, clock);
    host_context.clock.streams = host_clock;
}

// Whether the running agent and that CTA are both within the narrower of two scopes.
bool are_within(Scope one, Scope other, std::uint32_t cluster, int cta) {
    const Scope narrower = std::min(one, other);
    return narrower >= Scope::GPU ||
           (cluster == now->cluster && (narrower == Scope::CLUSTER || cta == now->who.cta));
}

Gathered &part_of(Carrier &carrier, Scope scope) {
    for (Part &part : carrier)
        if (part.scope == scope && part.cluster == now->cluster &&
            (scope == Scope::SYS || part.cta == now->who.cta))
            return part.sum;
    carrier.push_back({scope, now->cluster, now->who.cta, {}});
    return carrier.back().sum;
}

// What the agent does from now on has another time.
void pass_time(Context &context) {
    for (std::int32_t &done : context.self.times.done)
        ++done;
}

const Operator *operator_of(const Epoch &epoch) {
    const auto found = clusters.find(epoch.cluster);
    if (found == clusters.end() || epoch.agent < std::uint32_t(found->second.threads))
        return nullptr;
    return &found->second.operator_at(epoch.agent);
}

// The number of an ended operation that the issuer knows: whoever knows the new one then knows the
// old one.
std::uint32_t free_agent(const Context &issuer) {
    ClusterRecord &cluster = cluster_now();
    std::vector<std::uint32_t> &old = cluster.ended[issuer.self.agent];
    const auto known = std::ranges::find_if(old, [&](std::uint32_t agent) {
        return issuer.clock.of(agent).done[0] >= cluster.operator_at(agent).time;
    });
    if (known == old.end())
        return new_agent();
    const std::uint32_t agent = *known;
    old.erase(known);
    return agent;
}

// The first lane of an access of which something does not hold; -1 for none.
template <typename Holds>
int lane_without(const Holds &holds, const Epoch &epoch) {
    Epoch one = epoch;
    one.lanes = 0;
    for (std::uint32_t left = epoch.lanes; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        one.agent = epoch.agent + std::uint32_t(lane);
        if (!holds(one))
            return lane;
    }
    return -1;
}
} // namespace

Context &running() { return *now; }
void enter(Context &context) { now = &context; }

// ---------------------------------------------------------------------------- streams
void stream_created(const void *stream, bool non_blocking) {
    stream_of(stream).non_blocking = non_blocking;
}

void begin_on(const void *key, bool early) {
    Stream &stream = stream_of(key);
    const Base others = joined(host_clock, others_before(key));
    const Base before = joined(others, stream.clock);
    const auto time = std::int32_t(works.size() + 1);
    works.push_back({serial + 1, stream.number, time});
    clusters.clear();
    stream.clock = with_time(before, stream.number, time);
    // Whether or not the host has waited: a launch that begins early has to wait in any case.
    after_launch_before = with_time(before, LAUNCHES, time);
    host_context = Context{};
    host_context.cluster = ++serial;
    host_context.who = {-1, -1};
    host_context.clock.streams = early ? joined(others, stream.before_last) : after_launch_before;
    stream.before_last = before;
    now = &host_context;
}

void end_work() {
    host_context.cluster = 0;
    host_context.clock.streams = host_clock;
    atomics.clear();
    relaxed.clear();
    now = &host_context;
}

void host_waits_for(const void *stream) { host_learns(all_on(stream)); }

void host_waits_for_all() {
    for (const auto &[key, stream] : streams)
        host_learns(stream.clock);
}

void record_event(const void *event, const void *stream) { events[event] = all_on(stream); }

void wait_for_event(const void *event, const void *key) {
    Stream &stream = stream_of(key);
    stream.clock = joined(stream.clock, events[event]);
}

void host_waits_for_event(const void *event) { host_learns(events[event]); }

// ---------------------------------------------------------------------------- agents
void begin_cluster(int index, int count, int threads) {
    ++serial;
    clusters[serial] = {index, count, threads, threads};
}

std::unique_ptr<Context> make_thread(int thread, int cta, int threads_of_cta) {
    auto made = std::make_unique<Context>();
    clusters[serial].threads_of_cta = threads_of_cta;
    made->who = {thread, cta};
    made->cluster = serial;
    made->self.agent = std::uint32_t(cta * threads_of_cta + thread);
    made->clock.streams = host_context.clock.streams;
    return made;
}

std::uint32_t new_agent() {
    ClusterRecord &cluster = cluster_now();
    cluster.operators.emplace_back();
    return std::uint32_t(cluster.threads) + std::uint32_t(cluster.operators.size()) - 1;
}

std::unique_ptr<Context> make_operation(Context &issuer, const Identity &who, bool async,
                                        std::uint32_t agent) {
    auto made = std::make_unique<Context>();
    made->who = who;
    made->cluster = issuer.cluster;
    made->async = async;
    made->issue = issuer.self;
    made->clock = issuer.clock;
    made->clock.add(issuer.self);
    made->self.agent = agent != NO_AGENT ? agent : free_agent(issuer);
    Operator &last = cluster_now().operator_at(made->self.agent);
    last = {who, issuer.self, last.time + 1};
    made->self.times = {{last.time, last.time}, {last.time, last.time}};
    pass_time(issuer);
    return made;
}

void end_operation(const Context &operation) {
    cluster_now().ended[operation.issue.agent].push_back(operation.self.agent);
}

void waited_for_launch_before() {
    now->clock.streams = joined(now->clock.streams, after_launch_before);
}

bool is_after_launch_before() {
    return joined(now->clock.streams, after_launch_before) == now->clock.streams;
}

// ---------------------------------------------------------------------------- carriers
void release(Carrier &carrier, Scope scope, bool weak) {
    Gathered &sum = part_of(carrier, scope);
    if (weak)
        sum.add_of_shared(now->clock, now->self);
    else
        sum.add(now->clock, now->self);
    pass_time(*now);
}

void release_own(Carrier &carrier) { part_of(carrier, Scope::SYS).add(now->self); }

void acquire(Carrier &carrier, Scope scope, bool is_relaxed) {
    if (is_relaxed) {
        Relaxed &mine = relaxed_of_cta()[now->self.agent];
        mine.time = now->self.times.done[0];
        mine.fenced = false;
        return pass_on(mine.found, carrier, scope);
    }
    for (Part &part : carrier) {
        if (!are_within(part.scope, scope, part.cluster, part.cta))
            continue;
        if (part.cluster == now->cluster)
            join(now->clock, part.sum.sum());
        else
            join_far(now->clock, now->cluster, part.sum.sum(), part.cluster);
    }
}

void merge(Carrier &to, Carrier &from) {
    for (Part &part : from)
        part_of(to, part.scope).add(part.sum.sum(), Stamp{}); // nothing of the running agent's own
}

bool is_after(Carrier &carrier, Epoch *missing) {
    const auto knows = [missing](std::uint32_t agent, const Times &times) {
        const std::int32_t time = times.done[int(Space::SHARED)];
        const bool known =
            agent == now->self.agent || now->clock.of(agent).done[int(Space::SHARED)] >= time;
        if (missing != nullptr && !known)
            *missing = {now->cluster, agent, time};
        return known;
    };
    for (Part &part : carrier) {
        const Clock &sum = part.sum.sum();
        if (sum.base != nullptr && joined(now->clock.base, sum.base) != now->clock.base)
            for (std::uint32_t agent = 0; agent < sum.base->size(); ++agent)
                if (!knows(agent, (*sum.base)[agent]))
                    return false;
        for (const Stamp &stamp : sum.stamps)
            if (!knows(stamp.agent, stamp.times))
                return false;
    }
    return true;
}

void fence_proxy(Space space, bool own) {
    now->self.times.fenced[int(space)] = now->self.times.done[int(space)];
    pass_time(*now);
    if (!own)
        fence(now->clock, space);
}

// ---------------------------------------------------------------------------- atomics
// It serves relaxed reads of other threads of the CTA, too, that are before it.
void fence(Scope scope) {
    for (auto &[agent, read] : relaxed_of_cta()) {
        if (!read.found.empty() && is_before({now->cluster, agent, read.time}, Space::SHARED))
            acquire(read.found, scope);
        read.fenced |= agent == now->self.agent;
    }
    now->fenced.clear();
    release(now->fenced, scope);
}

void pass_on(Carrier &to, Carrier &from, Scope scope) {
    for (Part &part : from) {
        const Scope narrower = std::min(part.scope, scope);
        const auto known = std::ranges::find_if(to, [&](const Part &one) {
            return one.scope == narrower && one.cluster == part.cluster && one.cta == part.cta;
        });
        if (known != to.end()) {
            known->sum.add(part.sum.sum(), Stamp{});
        } else {
            to.push_back(part);
            to.back().scope = narrower;
        }
    }
}

void release_relaxed(Carrier &carrier, Scope scope) { pass_on(carrier, now->fenced, scope); }

void atomic_read(const void *address, Scope scope, bool acquires) {
    const auto found = atomics.find(address);
    if (found != atomics.end())
        acquire(found->second, scope, !acquires);
}

// Relaxed writes release what a fence before them did. A write that does not read ends the sequence
// of writes that others may have read from. (PTX ISA: Release Patterns.)
void atomic_write(const void *address, Scope scope, bool releases, bool reads_too) {
    Carrier &carrier = atomics[address];
    if (!reads_too)
        carrier.clear();
    if (releases)
        release(carrier, scope);
    else
        release_relaxed(carrier, scope);
}

bool has_fenced() { return !now->fenced.empty(); }

bool awaits_fence(const Epoch &epoch) {
    return std::ranges::any_of(relaxed_of_cta(), [&epoch](auto &one) {
        return !one.second.fenced && covers(one.second.found, epoch);
    });
}

// ---------------------------------------------------------------------------- questions
bool is_of_earlier_work(const Epoch &epoch) {
    return now->cluster == 0 || works.empty() || epoch.cluster < works.back().first;
}

Times known_of(const Epoch &epoch, const Clock &clock, std::uint32_t own) {
    if (epoch.cluster == own)
        return clock.of(epoch.agent);
    const auto found = clock.far.find(epoch.cluster);
    return found != clock.far.end() ? times_of(found->second, epoch.agent) : Times{};
}

std::int32_t known_time(const Context &agent) {
    return known_of({agent.cluster, agent.self.agent}, now->clock, now->cluster).done[0];
}

bool is_before(const Epoch &epoch, Space space) {
    if (epoch.cluster == 0)
        return true;
    if (epoch.lanes != 0)
        return lane_without([space](const Epoch &one) { return is_before(one, space); }, epoch) < 0;
    if (epoch.cluster == now->cluster && epoch.agent == now->self.agent)
        return true;
    if (is_of_earlier_work(epoch)) {
        const Work *work = work_of(epoch.cluster);
        return work == nullptr || times_of(now->clock.streams, work->stream).done[0] >= work->time;
    }
    if (epoch.cluster != now->cluster)
        return known_of(epoch, now->clock, now->cluster).done[int(space)] >= epoch.time;
    Found &found = now->found[int(space)][epoch.agent % Context::FOUND];
    if (found.agent == epoch.agent && found.time >= epoch.time)
        return true;
    found = {epoch.agent, now->clock.of(epoch.agent).done[int(space)]};
    return found.time >= epoch.time;
}

bool is_unfenced(const Epoch &epoch, Space space) {
    if (epoch.lanes != 0)
        return lane_without([space](const Epoch &one) { return !is_unfenced(one, space); },
                            epoch) >= 0;
    return !epoch.async && epoch.cluster != 0 && !is_of_earlier_work(epoch) &&
           known_of(epoch, now->clock, now->cluster).fenced[int(space)] < epoch.time;
}

bool covers(Carrier &carrier, const Epoch &epoch) {
    for (Part &part : carrier)
        if (part.cluster == epoch.cluster &&
            part.sum.sum().of(epoch.agent).done[int(Space::SHARED)] >= epoch.time)
            return true;
    return false;
}

Epoch epoch_now() {
    Epoch made;
    made.cluster = now->cluster;
    made.agent = now->self.agent;
    made.time = now->self.times.done[0];
    made.async = now->async;
    made.cta = std::uint8_t(now->who.cta);
    return made;
}

bool knows_issue_of(const Epoch &epoch) {
    const Operator *made = operator_of(epoch);
    if (made == nullptr || made->time != epoch.time)
        return false;
    Epoch issue = epoch;
    issue.agent = made->issue.agent;
    issue.time = made->issue.times.done[0];
    return is_before(issue, Space::SHARED);
}

bool in_scope(const Epoch &epoch, Scope scope) {
    return are_within(Scope(epoch.scope), scope, epoch.cluster, epoch.cta);
}

Epoch unknown_lane(Epoch epoch) {
    if (epoch.lanes != 0) {
        const int lane =
            lane_without([](const Epoch &one) { return is_before(one, Space::SHARED); }, epoch);
        epoch.agent += std::uint32_t(lane >= 0 ? lane : std::countr_zero(epoch.lanes));
        epoch.lanes = 0;
    }
    return epoch;
}

Identity issuer_of(const Epoch &epoch) {
    const int agent = int(unknown_lane(epoch).agent);
    const int threads = clusters[epoch.cluster].threads_of_cta;
    const Operator *made = operator_of(epoch);
    return made != nullptr ? made->who : Identity{agent % threads, agent / threads};
}

std::string name_of(const Epoch &epoch) {
    const auto found = clusters.find(epoch.cluster);
    if (found == clusters.end())
        return epoch.cluster == now->cluster ? "the host or a copy on a stream"
                                             : "an earlier launch or copy";
    const ClusterRecord &cluster = found->second;
    const Identity who = issuer_of(epoch);
    std::string name = format("thread %d of CTA %d (warp %d, lane %d)", who.thread, who.cta,
                              who.thread / WARP, who.thread % WARP);
    if (cluster.count > 1)
        name += format(" of cluster %d", cluster.index);
    return name;
}
} // namespace emulator::order
