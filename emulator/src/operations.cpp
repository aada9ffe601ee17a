#include "operations.h"

#include "machine.h"

#include <deque>
#include <utility>

namespace emulator {

namespace {

struct Pending {
    Operation operation;
    std::uint64_t number; // in the order of submission
};

std::deque<Pending> pending[OPERATION_KINDS];
std::uint64_t submitted = 0;
const Operation *in_progress = nullptr;

// Loads first, stores' writes last: see Policy::kinds_in_order.
constexpr OperationKind HOSTILE_ORDER[OPERATION_KINDS] = {
    OperationKind::LOAD, OperationKind::COPY, OperationKind::MATMUL, OperationKind::STORE_READ,
    OperationKind::STORE_WRITE};

std::deque<Pending> &pending_of(OperationKind kind) { return pending[static_cast<int>(kind)]; }

bool is_ready(const Operation &operation) { return !operation.ready || operation.ready(); }

// Clusters may be smaller than the policy expects. Without a favoured CTA no search through
// thousands of operations is needed.
bool favours_some_cta() {
    const int favoured = policy().favoured_cta;
    return favoured >= 0 && favoured < static_cast<int>(current_cluster->ctas.size());
}

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
    operation.complete();
    in_progress = nullptr;
    tell_operation(operation);
    if (operation.agent == order::NO_AGENT)
        order::end_operation(*operation.context);
    order::enter(before);
    current = interrupted;
}

void take_and_complete(std::deque<Pending> &queue, std::size_t index) {
    const Operation operation = std::move(queue[index].operation);
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(index));
    complete(operation);
}

constexpr std::size_t NONE = static_cast<std::size_t>(-1);

// The operation of one kind that would complete next: a ready one, of the favoured CTA if it has
// one, by the policy's pick.
std::size_t choose_within(const std::deque<Pending> &queue) {
    const bool looks_for_favoured = favours_some_cta();
    const std::size_t size = queue.size();
    const Pick pick = policy().operation;
    const std::size_t first =
        pick == Pick::ANY && size > 1 ? random_below(static_cast<unsigned>(size)) : 0;
    std::size_t chosen = NONE;
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t index = pick == Pick::NEWEST ? size - 1 - i : (first + i) % size;
        const Operation &operation = queue[index].operation;
        if ((chosen != NONE && !is_favoured(operation)) || !is_ready(operation))
            continue;
        chosen = index;
        if (!looks_for_favoured || is_favoured(operation))
            break;
    }
    return chosen;
}

// Whether `a` goes before `b` when they are of different kinds and the kinds have no order.
bool goes_before(const Pending &a, const Pending &b) {
    if (is_favoured(a.operation) != is_favoured(b.operation))
        return is_favoured(a.operation);
    switch (policy().operation) {
    case Pick::OLDEST:
        return a.number < b.number;
    case Pick::NEWEST:
        return a.number > b.number;
    case Pick::ANY:
        break;
    }
    return random_below(2) == 0;
}

// Operations that complete at once, but had to wait for others when they were issued.
void complete_what_became_ready() {
    for (bool again = policy().at_once; again;) {
        again = false;
        for (std::deque<Pending> &queue : pending) {
            const std::size_t index = choose_within(queue);
            if (index != NONE) {
                take_and_complete(queue, index);
                again = true;
            }
        }
    }
}

bool completes_now(const Operation &operation) {
    const Policy &chosen = policy();
    return is_ready(operation) &&
           (chosen.at_once ||
            (chosen.random && once_in(chosen.completes[static_cast<int>(operation.kind)])));
}

} // namespace

void submit(Operation operation) {
    const Thread &issuer = *operation.issuer;
    operation.context = order::make_operation(
        order::running(), {issuer.number, issuer.cta->rank, operation.name, operation.site},
        operation.kind != OperationKind::COPY && !operation.by_threads, operation.agent);
    start_operation(operation);
    if (completes_now(operation))
        complete(operation);
    else
        pending_of(operation.kind).push_back({std::move(operation), submitted++});
    complete_what_became_ready();
    schedule_point();
}

bool complete_one() {
    std::deque<Pending> *best = nullptr;
    std::size_t best_index = NONE;
    for (const OperationKind kind : HOSTILE_ORDER) {
        std::deque<Pending> &queue = pending_of(kind);
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
    if (!policy().random)
        return;
    for (int kind = 0; kind < OPERATION_KINDS; ++kind) {
        if (pending[kind].empty() || !once_in(policy().completes[kind]))
            continue;
        const std::size_t index = choose_within(pending[kind]);
        if (index != NONE)
            take_and_complete(pending[kind], index);
    }
}

void complete_all() {
    while (complete_one())
        continue;
    for (const std::deque<Pending> &queue : pending) {
        if (queue.empty())
            continue;
        const Operation &stuck = queue.front().operation;
        fail(Mistake::HAZARD, format("the kernel ends with %s that can never complete", stuck.name),
             {note_at(*stuck.issuer, stuck.site, "issued it")});
    }
}

const Operation *pending_on(const Cta &cta) {
    for (const OperationKind kind : HOSTILE_ORDER) {
        if (kind == OperationKind::STORE_WRITE)
            continue; // it has read shared memory
        for (const Pending &one : pending_of(kind))
            if (one.operation.cta == &cta)
                return &one.operation;
    }
    return nullptr;
}

const Operation *pending_write(const Cta &cta, std::uint32_t offset) {
    for (const OperationKind kind : {OperationKind::LOAD, OperationKind::COPY})
        for (const Pending &one : pending_of(kind))
            if (one.operation.cta == &cta && offset - one.operation.tile < one.operation.bytes)
                return &one.operation;
    return nullptr;
}

const Operation *operation_in_progress() { return in_progress; }

std::size_t pending_count() {
    std::size_t count = 0;
    for (const std::deque<Pending> &queue : pending)
        count += queue.size();
    return count;
}

} // namespace emulator
