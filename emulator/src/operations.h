// Policies, which choose what happens next; asynchronous operations that have not happened yet; and
// the groups in which a thread waits for its own.
#pragma once

#include "order.h"
#include "emulator/report.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace emulator {
enum class OperationKind {
    LOAD,        // a TMA load writes shared memory
    MATMUL,      // a wgmma reads its tiles and writes its accumulators
    STORE_READ,  // a bulk store reads shared memory
    STORE_WRITE, // the same store writes global memory
    COPY         // a cp.async reads global and writes shared memory
};
constexpr int OPERATION_KINDS = 5;

enum class Pick { OLDEST, NEWEST, ANY };

// The order of events that nothing orders. On a GPU a copy may land, and a thread may continue, at
// any legal moment; so a correct program must be correct in every legal order. The fixed policies
// are the extremes. A random policy draws not only its choices from the seed, but also its
// preferences: uniform choices almost never delay one event for long enough.
struct Policy {
    const char *name;
    bool at_once = false; // operations complete while they are issued; else as late as possible
    Pick operation = Pick::OLDEST; // which pending operation completes, if nothing else can happen
    Pick thread = Pick::OLDEST;    // which runnable thread goes on
    bool kinds_in_order = false;   // of pending operations, loads and copies first, then matmuls,
                                   // stores' reads, stores' writes; `operation` within a kind
    bool random = false;
    // For random policies.
    std::uint64_t seed = 0;
    // Once per this many steps, 0 for never.
    unsigned completes[OPERATION_KINDS] = {}; // a pending operation of the kind completes early
    unsigned yields = 0;                      // a schedule point lets another thread go first
    unsigned changes_cta = 0;                 // the scheduler goes on with another CTA
    int favoured_cta = -1;                    // whose operations complete first; -1: none
};

// The policy in force: the default, eager, or the one that was chosen (emulator.h). One may be
// chosen before main() begins.
extern Policy chosen_policy;
inline const Policy &policy() { return chosen_policy; }

// A random number below `limit` (at least 1), from the seed of the policy. The same seed gives the
// same run.
unsigned random_below(unsigned limit);

// True once in `times` on average; never for 0.
bool once_in(unsigned times);

struct Cta;
struct Thread;

// Threads that wait for the same thing.
struct WaitQueue {
    std::vector<Thread *> threads;

    // Makes all of them runnable; each checks again whether it may go on.
    void wake_all();
};

// One operation. `complete` makes it happen and is called with it; it runs with `current` ==
// nullptr as an agent of its own (order.h) that comes after everything the issuing thread did
// before (and after what it acquires itself), and releases to what threads wait for.
struct Operation {
    OperationKind kind{};
    Cta *cta = nullptr;         // whose shared memory it reads or writes; nullptr: the issuer's
    Site site{};                // where it was started
    const char *name = nullptr; // "TMA load", for reports
    std::function<void(const Operation &)> complete{};
    std::function<bool()> ready{}; // may it complete yet? empty: yes. (wgmmas complete in order)

    bool by_threads = false;               // of the generic proxy, as cp.async is
    std::uint32_t agent = order::NO_AGENT; // of operations that complete one after the other

    // Offsets in the CTA's shared memory, and the bytes that a load or copy writes there.
    static constexpr std::uint32_t NOWHERE = 0xffffffff;
    std::uint32_t tile = NOWHERE;    // what it reads or writes
    std::uint32_t barrier = NOWHERE; // the mbarrier that it completes on

    std::uint32_t bytes = 0;
    std::uint64_t group = 0; // its number in the issuer's OperationGroups

    // Set by submit().
    Thread *issuer = nullptr;
    std::uint64_t number = 0; // in the order of submission
    std::unique_ptr<order::Context> context{};
    std::uint32_t started = 0; // the step (runtime.h)
};

// Hands an operation to the policy: it completes now or is kept for later. Called by the issuing
// thread; ends with a schedule_point().
void submit(Operation operation);

// Completes the next pending operation by the policy's choice. False if none may complete.
bool complete_one();

// Under a random policy: lets pending operations complete early, by their chances.
void complete_some();

// The first pending operation that reads or writes this CTA's shared memory, or nullptr.
const Operation *pending_on(const Cta &cta);

// The first pending load or copy that will write this byte of the CTA's shared memory, or nullptr.
const Operation *pending_write(const Cta &cta, std::uint32_t offset);

// Whether any operation is pending.
bool anything_pending();

// What waits for an operation, by its name; and what of that is missing for a pending one.
const char *wait_of(std::string_view operation);
std::string missing_wait(const Operation &pending);

// The operation that is happening right now, or nullptr.
const Operation *operation_in_progress();

// A step that each operation of a group takes: how many have not taken it, and what those that have
// release to the thread.
struct GroupStep {
    int missing = 0;
    order::Carrier done;
};

// Operations that a thread waits for together: copies of cp.async, bulk stores, which read shared
// memory first, or wgmmas, each of which is in a group of every thread that calls it.
struct OperationGroup {
    int operations = 0;
    Site site{}; // of the first of them
    GroupStep read, written;
    std::uint32_t agent = order::NO_AGENT; // of copies: one for all
};

// A thread's groups, numbered in the order of their commits. Those that it has waited for are
// forgotten.
struct OperationGroups {
    const char *family;                     // "wgmma", of wgmma.commit_group and wgmma.wait_group
    OperationGroup open{};                  // not committed yet
    std::deque<OperationGroup> committed{}; // oldest first
    std::uint64_t first = 0;                // number of committed.front()
    WaitQueue waiting{};                    // the thread itself
    std::vector<std::uint32_t> agents{};    // of groups that are forgotten
    std::uint64_t started = 0, ended = 0;   // operations
    Site last_wait{};
    int left = NO_WAIT; // groups that it left in flight, if no commit followed
    static constexpr int NO_WAIT = -1, IDLE = -2; // it had nothing to wait for

    // The group of a number.
    OperationGroup &at(std::uint64_t number) {
        return number - first < committed.size() ? committed[number - first] : open;
    }
    // An operation joins the open group, whose number it returns.
    std::uint64_t join(Site where);
    // The open group's agent.
    std::uint32_t agent();
    void commit() {
        committed.push_back(std::exchange(open, OperationGroup{}));
        left = NO_WAIT;
    }
    // Whether the thread has not waited for the group of that number.
    bool in_flight(std::uint64_t group) const { return group >= first; }
    // The number of the group of an operation, by its own number.
    std::uint64_t group_of(std::uint64_t operation) const;
    // "wgmma.wait_group"; with ".read" if only sources have to be free.
    std::string wait_name(bool read = false) const;
    // Which of commit and wait is missing, where an operation of that group is in flight as far as
    // the one that meets it knows, this thread or another one.
    std::string missing(std::uint64_t group, bool by_other = false, bool read = false) const;
    // The thread exits: MISUSE if an operation was not committed, HAZARD if it had to be waited
    // for.
    void check_exit(const char *name, bool waits = false) const;
    // An operation of a group takes a step.
    void take(std::uint64_t number, GroupStep OperationGroup::*step);
    // The thread waits until all groups but the last `pending` have taken the step. A report says
    // "cp.async.bulk.wait_group<0>: 2 stores have to be written".
    void wait(int pending, GroupStep OperationGroup::*step, Site where, const char *missing_are);
};
} // namespace emulator
