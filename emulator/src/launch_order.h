// Which threads are ordered after the previous launch. In a kernel that was launched early, memory
// that the previous launch may use is safe for a thread that has waited for that launch
// (griddepcontrol.wait), and for threads that synchronise with such a thread afterwards, by
// barriers, mbarriers and the like; not for the rest of its CTA.
#pragma once

#include <memory>

namespace emulator::launch_order {

// A cluster begins; if its kernel was not launched early, all threads are after the previous
// launch.
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

// A carrier for objects that have no address; none if the launch was not early.
std::shared_ptr<void> make_carrier();
// Its address may belong to another object from now on.
void forget(const void *carrier);

} // namespace emulator::launch_order
