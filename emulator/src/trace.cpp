#include "trace.h"

#include "machine.h"
#include "operations.h"
#include "emulator/runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace emulator::trace {

const bool is_on = std::getenv("EMULATOR_TRACE") != nullptr;

namespace {

// What one warp did, from one step to another.
struct Event {
    std::uint32_t begin, end;
    Origin where;
    std::string what, with;
};

constexpr const char *WRITES = "writes"; // many times in a row, which takes two steps
std::uint32_t steps = 0;
std::FILE *file = nullptr;
std::uint64_t chosen = 0; // the CTA's number
dim3 size;                // of the grid
std::vector<Event> last;  // by warp; `what` is empty where there is none
std::string completed;    // by the operation that happens: "full[2], phase 0"

bool is_traced(const Cta &cta) {
    const uint3 &at = cta.block_index;
    return is_on && at.x + std::uint64_t(size.x) * (at.y + std::uint64_t(size.y) * at.z) == chosen;
}

void write(const char *kind, std::size_t warp, const Event &event) {
    std::fprintf(file, "[\"%s\",%zu,%u,%u,%d,\"%s\",\"%s\"]\n", kind, warp, event.begin, event.end,
                 note_at(event.where, "").line, event.what.c_str(), event.with.c_str());
}

void flush(std::size_t warp) {
    if (!last[warp].what.empty())
        write("warp", warp, last[warp]);
}

// The two halves of a barrier are one event, and so are writes in a row.
void add(std::size_t warp, const Event &event) {
    Event &before = last[warp];
    const bool is_write = event.what == WRITES;
    if (before.what == event.what && before.with == event.with &&
        (is_write || event.what == "syncs")) {
        before.end = is_write ? std::max(before.end, steps) : event.end;
        return;
    }
    flush(warp);
    before = event;
}

} // namespace

void begin_launch(const Grid &grid) {
    if (!is_on)
        return;
    const char *name = std::getenv("EMULATOR_TRACE"), *number = std::getenv("EMULATOR_CTA");
    if (file == nullptr && (file = std::fopen(name, "w")) == nullptr) {
        std::fprintf(stderr, "EMULATOR_TRACE: cannot write %s: %m\n", name);
        std::exit(2);
    }
    const std::uint64_t ctas = volume(grid.grid);
    chosen = number != nullptr ? std::strtoull(number, nullptr, 10) : ctas / 2;
    size = grid.grid;
    last.assign(grid.block.x * grid.block.y * grid.block.z / WARP_LANES + 1,
                {0, 0, Site{}, "", ""});
    std::fprintf(file,
                 "{\"policy\":\"%s\",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"cta\":%llu}\n",
                 policy().name, grid.grid.x, grid.grid.y, grid.grid.z, grid.block.x, grid.block.y,
                 grid.block.z, (unsigned long long)chosen);
}

void end_launch() {
    for (std::size_t warp = 0; warp < last.size(); ++warp)
        flush(warp);
    if (file != nullptr)
        std::fflush(file);
}

void did(const std::string &what, const std::string &with, const Origin &where) {
    if (current == nullptr) {
        completed = with;
    } else if (is_traced(*current->cta) && current->lane() == 0) {
        const auto warp = std::size_t(current->warp());
        const bool has_waited = current->blocked > last[warp].end;
        const std::uint32_t begin = has_waited ? current->blocked : next_step();
        add(warp, {begin, next_step(), where, what, with});
    }
}

void wrote(const Thread &thread, const char *where, const Origin &line) {
    if (!is_traced(*thread.cta) || thread.lane() != 0)
        return;
    const auto warp = std::size_t(thread.warp());
    const bool is_first = last[warp].what != WRITES;
    const std::uint32_t begin = is_first ? next_step() : steps;
    add(warp, {begin, is_first ? next_step() : steps, line, WRITES, where});
}

void starts(const Operation &operation) {
    const Thread &issuer = *operation.issuer;
    if (is_traced(*issuer.cta) &&
        (operation.kind == OperationKind::LOAD || operation.kind == OperationKind::STORE_READ))
        add(std::size_t(issuer.warp()), {operation.started, next_step(), operation.site,
                                         std::string("starts a ") + operation.name, ""});
}

void happened(const Operation &operation) {
    static constexpr const char *KINDS[] = {"load", "multiply", "store read", "store write"};
    const std::string barrier = std::exchange(completed, "");
    if (is_traced(*operation.cta) && operation.kind != OperationKind::COPY)
        write(KINDS[int(operation.kind)], std::size_t(operation.issuer->warp()),
              {operation.started, next_step(), operation.site, operation.name, barrier});
}

} // namespace emulator::trace

std::uint32_t emulator::next_step() { return ++trace::steps; }
