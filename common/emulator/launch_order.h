// Who comes after the launch before. In a kernel that was launched early, memory that the launch
// before may use is safe for a thread that has waited for it (griddepcontrol.wait), and for whoever
// comes after such a thread by barriers, mbarriers and the like; not for the rest of its CTA.
#pragma once

#include <memory>

namespace emulator::launch_order {

// A cluster begins; if its kernel was not launched early, everyone is after the launch before.
void begin(bool early);

// The running thread has waited for it.
void waited();

// Whether the running thread, or the operation that happens, is after it.
bool is_after();

// An operation begins to happen: until it acquires something it is after nothing.
void operation_begins();

// What the running thread or operation releases, and who acquires it: races.h's carriers.
void release(const void *carrier);
void acquire(const void *carrier);

// A carrier for those who have no address of their own; none if the launch was not early.
std::shared_ptr<void> make_carrier();
// Its address may be another's from now on.
void forget(const void *carrier);

} // namespace emulator::launch_order
