#include "launch_order.h"

#include "machine.h"

#include <unordered_set>

namespace emulator::launch_order {

namespace {

bool tracking = false; // the kernel was launched early
bool operation_is_after = false;
std::unordered_set<const void *> carriers; // released by a context after the previous launch

bool &flag() { return current != nullptr ? current->after_launch_before : operation_is_after; }

} // namespace

void begin(bool early) {
    tracking = early;
    operation_is_after = false;
    carriers.clear();
}

void waited() { flag() = true; }

bool is_after() { return !tracking || flag(); }

void operation_begins() { operation_is_after = false; }

void release(const void *carrier) {
    if (tracking && flag())
        carriers.insert(carrier);
}

void acquire(const void *carrier) {
    if (tracking && carriers.contains(carrier))
        flag() = true;
}

void forget(const void *carrier) { carriers.erase(carrier); }

std::shared_ptr<void> make_carrier() {
    if (!tracking)
        return nullptr;
    return {new char, [](void *carrier) {
                forget(carrier);
                delete static_cast<char *>(carrier);
            }};
}

} // namespace emulator::launch_order
