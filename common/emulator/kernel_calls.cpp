// What a kernel calls of the runtime, on the emulated machine.
#include "emulator/launch_order.h"
#include "emulator/global_memory.h"
#include "emulator/machine.h"
#include "emulator/runtime.h"

namespace emulator {

void *dynamic_shared(std::size_t bytes, Site where) {
    const SharedMemory &shared = current->cta->shared;
    const std::size_t asked_for = shared.size() - shared.offset_of(shared.dynamic());
    if (bytes > asked_for)
        fail(Mistake::MISUSE,
             format("the kernel takes %zu bytes of dynamic shared memory, and the launch asked for "
                    "%zu",
                    bytes, asked_for),
             {note_at(where, "taken here")});
    return shared.dynamic();
}

int cluster_cta_rank() { return current->cta->rank; }

int cluster_ctas() { return int(current_cluster->ctas.size()); }

void wait_for_launch_before() {
    schedule_point();
    launch_order::waited();
}

void fence_proxy_async(Site) {
    schedule_point();
    current->cta->shared.publish(*current);
}

template <typename T>
T atomic_add(T *address, T value, Site where) {
    schedule_point();
    SharedMemory &shared = current->cta->shared;
    const bool in_shared = shared.contains(address);
    if (!in_shared)
        check_global(address, sizeof(T), "atomicAdd", where);
    const T old = *address;
    *address = old + value;
    if (in_shared)
        shared.wrote(*current, shared.offset_of(address), sizeof(T), where);
    return old;
}

template int atomic_add(int *, int, Site);
template unsigned atomic_add(unsigned *, unsigned, Site);
template unsigned long long atomic_add(unsigned long long *, unsigned long long, Site);
template float atomic_add(float *, float, Site);

void sleep() { schedule_point(); }

} // namespace emulator
