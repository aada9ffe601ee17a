// Loops that read a flag or a lock until another thread changes it. Only the running thread could
// end them here, so others have to be let run.
#include "machine.h"

#include <algorithm>
#include <iterator>

namespace emulator {

namespace {

constexpr int FREE_READS = 2;  // of an address, before a loop is assumed
constexpr int MOST_READS = 64; // while other threads go first; later the thread waits

bool is_known(const Spin &spin, const void *address) {
    return std::find(std::begin(spin.read), std::end(spin.read), address) != std::end(spin.read);
}

} // namespace

// At first others go first; a thread that has read long enough waits until nothing else can happen,
// and is part of a deadlock if that changes nothing.
void may_spin(const void *address, Origin where) {
    Spin &spin = current->spin;
    if (!is_known(spin, address)) {
        if (is_spinning(*current))
            something_happened(); // the loop before has ended
        spin.read[spin.next++ % std::size(spin.read)] = address;
        spin.reads = 0;
        return;
    }
    if (++spin.reads <= FREE_READS)
        return;
    if (spin.reads <= MOST_READS)
        return let_others_run();
    static WaitQueue spinning;
    wait_until_or_time_out(
        spinning, [] { return false; }, where,
        [] {
            return std::string("reads the same memory again and again, which no thread writes");
        });
}

bool is_spinning(const Thread &thread) { return thread.spin.reads > MOST_READS; }

void spinning_thread_writes(Thread &thread) {
    if (is_spinning(thread))
        something_happened();
    thread.spin.reads = std::min(thread.spin.reads, FREE_READS);
}

} // namespace emulator
