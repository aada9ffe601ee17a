#include "global_memory.h"

#include "machine.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

// The program's code and variables: the linker defines these.
extern "C" {
extern const char __executable_start[], _end[];
}

namespace emulator {
namespace {
constexpr int FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

struct Allocation {
    const char *begin;
    std::size_t bytes;
    Kind kind;
    bool live = true;

    bool contains(const void *address) const {
        return std::size_t(static_cast<const char *>(address) - begin) < bytes;
    }
};

constinit std::vector<Allocation> allocations; // by address; host code may run before main()
std::size_t last_found = 0;                    // most accesses hit the one that the last one hit
Allocation parameters{};

std::size_t whole_pages(std::size_t bytes) {
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

// The allocation that the address lies in or beside; nullptr for none. Their margins are as wide as
// what counts as beside, so that there is at most one.
Allocation *find(const void *pointer) {
    if (last_found < allocations.size() && allocations[last_found].contains(pointer))
        return &allocations[last_found];
    const char *const address = static_cast<const char *>(pointer);
    const auto behind =
        std::ranges::upper_bound(allocations, address + MARGIN, {}, &Allocation::begin);
    if (behind == allocations.begin() || address >= behind[-1].begin + behind[-1].bytes + MARGIN)
        return nullptr;
    last_found = std::size_t(behind - 1 - allocations.begin());
    return &allocations[last_found];
}
} // namespace

void *map_between_margins(std::size_t bytes) {
    const std::size_t usable = whole_pages(bytes);
    void *mapping = mmap(nullptr, usable + 2 * MARGIN, PROT_NONE, FLAGS, -1, 0);
    if (mapping == MAP_FAILED)
        return nullptr;
    char *begin = static_cast<char *>(mapping) + MARGIN;
    if (usable == 0 || mprotect(begin, usable, PROT_READ | PROT_WRITE) == 0)
        return begin;
    unmap_between_margins(begin, bytes);
    return nullptr;
}

void unmap_between_margins(void *begin, std::size_t bytes) {
    munmap(static_cast<char *>(begin) - MARGIN, whole_pages(bytes) + 2 * MARGIN);
}

void *global_allocate(std::size_t bytes, Kind kind) {
    void *begin = bytes > 0 && bytes <= SIZE_MAX / 2 ? map_between_margins(bytes) : nullptr;
    if (begin == nullptr)
        return nullptr;
    std::memset(begin, POISON, bytes);
    const Allocation made = {static_cast<char *>(begin), bytes, kind};
    allocations.insert(std::ranges::upper_bound(allocations, made.begin, {}, &Allocation::begin),
                       made);
    last_found = 0;
    return begin;
}

bool global_free(void *begin, bool page_locked) {
    Allocation *const found = find(begin);
    if (found == nullptr || found->begin != begin || !found->live ||
        (found->kind == Kind::PAGE_LOCKED) != page_locked)
        return false;
    found->live = false;
    // The pages go, the addresses stay taken.
    mmap(begin, whole_pages(found->bytes), PROT_NONE, FLAGS | MAP_FIXED, -1, 0);
    return true;
}

void set_parameters(const void *begin, std::size_t bytes) {
    parameters = {static_cast<const char *>(begin), bytes, Kind::MANAGED};
}

bool is_device_memory(const void *address) {
    const Allocation *found = find(address);
    return found != nullptr && found->kind == Kind::DEVICE;
}

bool is_page_locked(const void *address) {
    const Allocation *found = find(address);
    return found != nullptr && found->kind == Kind::PAGE_LOCKED && found->live &&
           found->contains(address);
}

bool is_host_memory(const void *address) {
    const bool is_variable = address >= __executable_start && address < _end;
    return translated_program && !is_variable && fiber_stack_of(address) < 0 &&
           global_place(address, 1) == GlobalPlace::ELSEWHERE && !is_page_locked(address) &&
           !parameters.contains(address);
}

GlobalPlace global_place(const void *address, std::size_t bytes) {
    const Allocation *found = find(address);
    if (found == nullptr || found->kind == Kind::PAGE_LOCKED)
        return GlobalPlace::ELSEWHERE;
    if (!found->live)
        return GlobalPlace::FREED;
    const std::size_t offset = std::size_t(static_cast<const char *>(address) - found->begin);
    return offset <= found->bytes && bytes <= found->bytes - offset ? GlobalPlace::INSIDE
                                                                    : GlobalPlace::OUTSIDE;
}

std::ptrdiff_t global_offset(const void *address) {
    const Allocation *found = find(address);
    return found != nullptr ? static_cast<const char *>(address) - found->begin : 0;
}

std::string global_mistake(const char *access, const void *address, std::size_t bytes) {
    if (global_place(address, bytes) == GlobalPlace::FREED)
        return format("%s global memory that was freed", access);
    return format("%s %zu bytes at offset %td of an allocation of %zu bytes", access, bytes,
                  global_offset(address), find(address)->bytes);
}

void check_global(const void *begin, std::size_t bytes, const char *copy, Site where) {
    const GlobalPlace place = global_place(begin, bytes);
    if (place == GlobalPlace::ELSEWHERE && is_host_memory(begin))
        fail(Mistake::ADDRESS, where, "started it here",
             "%s with %p, an address of the host: kernels cannot access it", copy, begin);
    if (place == GlobalPlace::FREED || place == GlobalPlace::OUTSIDE)
        fail(Mistake::ADDRESS, where, "started it here", "%s",
             global_mistake(format("%s of", copy).c_str(), begin, bytes).c_str());
}
} // namespace emulator
