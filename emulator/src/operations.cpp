#include "operations.h"

#include "machine.h"

#include <algorithm>
#include <numeric>

namespace emulator {
namespace {
using Queue = std::deque<Operation>;

Queue pending[OPERATION_KINDS];
std::uint64_t submitted = 0;
const Operation *in_progress = nullptr;

// Loads first, stores' writes last: see Policy::kinds_in_order.
constexpr OperationKind HOSTILE_ORDER[OPERATION_KINDS] = {
    OperationKind::LOAD, OperationKind::COPY, OperationKind::MATMUL, OperationKind::STORE_READ,
    OperationKind::STORE_WRITE};

Queue &pending_of(OperationKind kind) { return pending[int(kind)]; }

bool is_ready(const Operation &operation) { return !operation.ready || operation.ready(); }

bool is_favoured(const Operation &operation) {
    return operation.cta->rank == policy().favoured_cta;
}

// Makes an operation happen, maybe in the middle of what a thread does. It is ordered after what
// its issuer did before; nothing else orders it.
void complete(const Operation &operation) {
    Thread *interrupted = std::exchange(current, nullptr);
    order::Context &before = order::running();
    order::enter(*operation.context);
    in_progress = &operation;
    if (operation.kind != OperationKind::STORE_WRITE)
        operation.cta->ended[order::epoch_now().agent] = {order::epoch_now(), 0, operation.site};
    operation.complete(operation);
    in_progress = nullptr;
    trace::happened(operation);
    if (operation.agent == order::NO_AGENT)
        order::end_operation(*operation.context);
    order::enter(before);
    current = interrupted;
}

void take_and_complete(Queue &queue, std::size_t index) {
    const Operation operation = std::move(queue[index]);
    queue.erase(queue.begin() + std::ptrdiff_t(index));
    complete(operation);
}

constexpr std::size_t NONE = std::size_t(-1);

// The operation of one kind that would complete next: a ready one, of the favoured CTA if it has
// one, by the policy's pick.
std::size_t choose_within(const Queue &queue) {
    const std::size_t size = queue.size();
    const Pick pick = policy().operation;
    const std::size_t first = pick == Pick::ANY && size > 1 ? random_below(unsigned(size)) : 0;
    std::size_t found = NONE;
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t index = pick == Pick::NEWEST ? size - 1 - i : (first + i) % size;
        if (!is_ready(queue[index]))
            continue;
        if (policy().favoured_cta < 0 || is_favoured(queue[index]))
            return index;
        found = found == NONE ? index : found;
    }
    return found;
}

// Whether `a` goes before `b` when they are of different kinds and the kinds have no order.
bool goes_before(const Operation &a, const Operation &b) {
    if (is_favoured(a) != is_favoured(b))
        return is_favoured(a);
    if (policy().operation == Pick::ANY)
        return random_below(2) == 0;
    return (a.number < b.number) == (policy().operation == Pick::OLDEST);
}

// Completes one operation of the kind, if one may.
bool complete_of(OperationKind kind) {
    const std::size_t index = choose_within(pending_of(kind));
    if (index != NONE)
        take_and_complete(pending_of(kind), index);
    return index != NONE;
}

// Operations that complete at once, but had to wait for others when they were issued.
void complete_what_became_ready() {
    for (bool again = policy().at_once; again;) {
        again = false;
        for (int kind = 0; kind < OPERATION_KINDS; ++kind)
            again |= complete_of(OperationKind(kind));
    }
}

bool completes_now(const Operation &operation) {
    const Policy &chosen = policy();
    return is_ready(operation) &&
           (chosen.at_once || (chosen.random && once_in(chosen.completes[int(operation.kind)])));
}

template <typename Test>
const Operation *first_pending(const Test &test) {
    for (const OperationKind kind : HOSTILE_ORDER)
        for (const Operation &one : pending_of(kind))
            if (test(one))
                return &one;
    return nullptr;
}
} // namespace

void submit(Operation operation) {
    operation.issuer = current;
    operation.number = submitted++;
    if (operation.cta == nullptr)
        operation.cta = current->cta;
    operation.context = order::make_operation(
        order::running(),
        {current->number, current->cta->rank, operation.name, operation.site, operation.group},
        operation.kind != OperationKind::COPY && !operation.by_threads, operation.agent);
    const order::Context &context = *operation.context;
    if (operation.kind != OperationKind::MATMUL) // each thread that calls it issues that
        story::record_issue(operation.name, operation.site,
                            {context.cluster, context.self.agent, context.self.times.done[0]});
    operation.started = next_step();
    trace::starts(operation);
    if (completes_now(operation))
        complete(operation);
    else
        pending_of(operation.kind).push_back(std::move(operation));
    complete_what_became_ready();
    schedule_point();
}

bool complete_one() {
    Queue *best = nullptr;
    std::size_t best_index = NONE;
    for (const OperationKind kind : HOSTILE_ORDER) {
        Queue &queue = pending_of(kind);
        const std::size_t index = choose_within(queue);
        if (index == NONE)
            continue;
        if (best == nullptr || goes_before(queue[index], (*best)[best_index])) {
            best = &queue;
            best_index = index;
        }
        if (policy().kinds_in_order)
            break;
    }
    if (best == nullptr)
        return false;
    take_and_complete(*best, best_index);
    complete_what_became_ready();
    return true;
}

void complete_some() {
    for (int kind = 0; policy().random && kind < OPERATION_KINDS; ++kind)
        if (!pending[kind].empty() && once_in(policy().completes[kind]))
            complete_of(OperationKind(kind));
}

const Operation *pending_on(const Cta &cta) {
    return first_pending([&](const Operation &operation) { // a store's write has read its tile
        return operation.cta == &cta && operation.kind != OperationKind::STORE_WRITE;
    });
}

const Operation *pending_write(const Cta &cta, std::uint32_t offset) {
    return first_pending([&](const Operation &operation) {
        return operation.cta == &cta && offset - operation.tile < operation.bytes;
    });
}

bool anything_pending() {
    return first_pending([](const Operation &) { return true; }) != nullptr;
}

const char *wait_of(std::string_view operation) {
    return operation == "TMA load"          ? "the wait on its mbarrier"
           : operation.starts_with("wgmma") ? "wgmma.wait_group"
           : operation == "TMA store"       ? "cp.async.bulk.wait_group.read of its thread"
           : operation == "cp.async"        ? "cp.async.wait_group of its thread"
                                            : "its wait";
}

std::string missing_wait(const Operation &pending) {
    const bool by_other = pending.issuer != current;
    return pending.kind == OperationKind::COPY
               ? pending.issuer->copies.missing(pending.group, by_other)
           : pending.kind == OperationKind::STORE_READ
               ? pending.issuer->bulk.missing(pending.group, by_other, true)
               : wait_of(pending.name) + std::string(" is missing, or passes too early");
}

const Operation *operation_in_progress() { return in_progress; }

std::uint64_t OperationGroups::join(Site where) {
    if (open.operations++ == 0)
        open.site = where;
    ++started;
    ++open.read.missing;
    ++open.written.missing;
    return first + committed.size();
}

std::uint32_t OperationGroups::agent() {
    if (open.agent != order::NO_AGENT)
        return open.agent;
    if (agents.empty())
        agents.push_back(order::new_agent());
    open.agent = agents.back();
    agents.pop_back();
    return open.agent;
}

std::uint64_t OperationGroups::group_of(std::uint64_t operation) const {
    std::uint64_t begin = started - std::uint64_t(open.operations),
                  group = first + committed.size();
    while (operation < begin && group > first)
        begin -= std::uint64_t(committed[--group - first].operations);
    return group;
}

std::string OperationGroups::wait_name(bool read) const {
    return format("%s.wait_group%s", family, read ? ".read" : "");
}

std::string OperationGroups::missing(std::uint64_t group, bool by_other, bool read) const {
    const std::string wait = wait_name(read);
    const auto later = std::int64_t(first + committed.size() - group) - 1;
    if (open.operations > 0 && later < 0)
        return format(left == IDLE ? "it was never committed: %s.commit_group is missing before "
                                     "the %s in line %u, which had nothing to wait for"
                                   : "it was never committed: %s.commit_group is missing",
                      family, wait.c_str(), last_wait.line());
    if (by_other && last_wait.line() > 0)
        return wait + " of its thread is missing, or a barrier after it";
    if (left < 0 || later < 0)
        return wait + " is missing";
    return format("%s<%d> is needed, and the last one was <%d>, in line %u", wait.c_str(),
                  int(later), left, last_wait.line());
}

void OperationGroups::check_exit(const char *name, bool waits) const {
    const auto last = std::ranges::find_if(committed.rbegin(), committed.rend(), std::identity(),
                                           &OperationGroup::operations);
    if (open.operations > 0)
        fail(Mistake::MISUSE, open.site, "started it here",
             "exit with a %s that the thread has never committed (%s.commit_group)", name, family);
    if (waits && last != committed.rend())
        fail(Mistake::HAZARD, last->site, "started it here",
             "exit with a %s that the thread has not waited for (%s)", name, wait_name().c_str());
}

void OperationGroups::take(std::uint64_t number, GroupStep OperationGroup::*step) {
    GroupStep &taken = at(number).*step;
    --taken.missing;
    ended += step == &OperationGroup::written;
    order::release_own(taken.done);
    waiting.wake_all();
}

void OperationGroups::wait(int pending, GroupStep OperationGroup::*step, Site where,
                           const char *missing_are) {
    const std::string what = wait_name(step == &OperationGroup::read);
    const std::size_t kept = std::min(committed.size(), std::size_t(pending));
    last_wait = where;
    left = kept == committed.size() && open.operations > 0 ? IDLE : pending;
    const auto begin = committed.begin(), end = committed.end() - std::ptrdiff_t(kept);
    const auto missing = [&] {
        return std::accumulate(begin, end, 0, [step](int sum, const OperationGroup &group) {
            return sum + (group.*step).missing;
        });
    };
    wait_until(
        waiting, [&] { return missing() == 0; }, where,

        [&] { return format("%s<%d>: %d %s", what.c_str(), pending, missing(), missing_are); });
    for (auto group = begin; group != end; ++group) {
        order::acquire(group->read.done);
        if (step == &OperationGroup::written)
            order::acquire(group->written.done);
    }
    story::record(where, "waits", "%s<%d>", what.c_str(), pending);
    if (step != &OperationGroup::written)
        return; // these will be waited for again
    for (auto group = begin; group != end; ++group)
        if (group->agent != order::NO_AGENT)
            agents.push_back(group->agent);
    first += std::uint64_t(end - begin);
    committed.erase(begin, end);
}
} // namespace emulator
