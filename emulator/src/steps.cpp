#include "emulator/steps.h"

#include "emulator/emulator.h"
#include "machine.h"
#include "operations.h"

namespace emulator {

namespace {

std::uint32_t steps = 0;
emulator_listener listener = nullptr;
void *listener_context = nullptr;

// A shared address, or 0 for nothing.
std::uint32_t address_of(std::uint32_t offset) {
    return offset == Operation::NOWHERE ? 0 : SHARED_BASE + offset;
}

} // namespace

std::uint32_t next_step() { return ++steps; }

std::uint32_t last_step() { return steps; }

bool is_shared(const void *address) { return current->cta->shared.contains(address); }

void start_operation(Operation &operation) {
    if (operation.kind != OperationKind::COPY)
        operation.started = next_step();
}

void tell_operation(const Operation &operation) {
    if (listener == nullptr || operation.kind == OperationKind::COPY)
        return;
    emulator_operation told{};
    told.kind = static_cast<emulator_operation_kind>(operation.kind);
    told.cta[0] = operation.cta->block_index.x;
    told.cta[1] = operation.cta->block_index.y;
    told.cta[2] = operation.cta->block_index.z;
    told.is_own = operation.issuer->cta == operation.cta;
    told.warp = operation.issuer->warp();
    told.started = operation.started;
    told.happened = next_step();
    told.tile = address_of(operation.tile);
    told.barrier = address_of(operation.barrier);
    listener(&told, listener_context);
}

} // namespace emulator

void emulator_listen(emulator_listener listener, void *context) {
    emulator::listener = listener;
    emulator::listener_context = context;
}
