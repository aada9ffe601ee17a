// Asynchronous operations: those that have been started and have not happened yet.
#pragma once

#include "policy.h"
#include "order.h"
#include "emulator/report.h"

#include <functional>

namespace emulator {

struct Cta;
struct Thread;

// One operation. `complete` makes it happen; it runs with `current` == nullptr as an agent of its
// own (order.h) that comes after everything the issuing thread did before (and after what it
// acquires itself), and releases to what threads wait for.
struct Operation {
    OperationKind kind{};
    Cta *cta = nullptr;             // whose shared memory it reads or writes
    const Thread *issuer = nullptr; // the thread that started it
    Site site{};                    // and where
    const char *name = nullptr;     // "TMA load", for reports
    std::function<void()> complete{};
    std::function<bool()> ready{}; // may it complete yet? empty: yes. (wgmmas complete in order)

    bool by_threads = false;               // of the generic proxy, as cp.async is
    std::uint32_t agent = order::NO_AGENT; // of operations that complete one after the other

    // Offsets in the CTA's shared memory, and the bytes that a load or copy writes there.
    static constexpr std::uint32_t NOWHERE = 0xffffffff;
    std::uint32_t tile = NOWHERE;    // what it reads or writes
    std::uint32_t barrier = NOWHERE; // the mbarrier that it completes on

    std::uint32_t bytes = 0;

    std::unique_ptr<order::Context> context{}; // set by submit(), as is
    std::uint32_t started = 0;                 // the step (runtime.h)
};

// Hands an operation to the policy: it completes now or is kept for later. Called by the issuing
// thread; ends with a schedule_point().
void submit(Operation operation);

// Completes the next pending operation by the policy's choice. False if none may complete.
bool complete_one();

// Under a random policy: lets pending operations complete early, by their chances.
void complete_some();

// Completes everything that is pending; at the end of a cluster.
void complete_all();

// The first pending operation that reads or writes this CTA's shared memory, or nullptr.
const Operation *pending_on(const Cta &cta);

// The first pending load or copy that will write this byte of the CTA's shared memory, or nullptr.
const Operation *pending_write(const Cta &cta, std::uint32_t offset);

// An operation is started; it has happened: the listener is told, if there is one. Each is a step.
// Nothing is told of cp.async, of which every thread has many.
void start_operation(Operation &operation);
void tell_operation(const Operation &operation);

// The operation that is happening right now, or nullptr.
const Operation *operation_in_progress();

// Number of pending operations.
std::size_t pending_count();

} // namespace emulator
