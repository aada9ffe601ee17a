#include "global_memory.h"

#include "fiber.h"
#include "emulator/report.h"
#include "strictness.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

// The program's code and variables: the linker defines these.
extern "C" {
extern const char __executable_start[], _end[];
}

namespace emulator {

namespace {

constexpr std::size_t MARGIN = 64 * 1024; // without access, on either side

struct Allocation {
    std::uintptr_t begin;
    std::size_t bytes;
    bool live;
    bool managed;
};

std::vector<Allocation> allocations; // by address
std::size_t last_found = 0;          // most accesses hit the one that the last one hit

std::map<std::uintptr_t, std::size_t> page_locked; // bytes by their begin
struct {
    std::uintptr_t begin;
    std::size_t bytes;
} parameters;

std::uintptr_t number_of(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

std::size_t usable_bytes(std::size_t bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

// The allocation that the address lies in or beside; nullptr for none. Their margins are as wide as
// what counts as beside, so that there is at most one.
const Allocation *find(std::uintptr_t address) {
    if (last_found < allocations.size() &&
        address - allocations[last_found].begin < allocations[last_found].bytes)
        return &allocations[last_found];
    const auto behind =
        std::upper_bound(allocations.begin(), allocations.end(), address + MARGIN,
                         [](std::uintptr_t value, const Allocation &a) { return value < a.begin; });
    if (behind == allocations.begin())
        return nullptr;
    const Allocation &found = behind[-1];
    if (address >= found.begin + found.bytes + MARGIN)
        return nullptr;
    last_found = static_cast<std::size_t>(behind - 1 - allocations.begin());
    return &found;
}

} // namespace

void *global_allocate(std::size_t bytes, bool managed) {
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return nullptr;
    const std::size_t usable = usable_bytes(bytes);
    void *mapping = mmap(nullptr, usable + 2 * MARGIN, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return nullptr;
    char *begin = static_cast<char *>(mapping) + MARGIN;
    if (mprotect(begin, usable, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping, usable + 2 * MARGIN);
        return nullptr;
    }
    std::memset(begin, POISON, bytes);
    const Allocation made = {number_of(begin), bytes, true, managed};
    allocations.insert(std::upper_bound(allocations.begin(), allocations.end(), made,
                                        [](const Allocation &a, const Allocation &b) {
                                            return a.begin < b.begin;
                                        }),
                       made);
    last_found = 0;
    return begin;
}

bool global_free(void *begin) {
    for (Allocation &a : allocations) {
        if (a.begin != number_of(begin) || !a.live)
            continue;
        a.live = false;
        // The pages go, the addresses stay taken.
        mmap(begin, usable_bytes(a.bytes), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        return true;
    }
    return false;
}

void *host_allocate(std::size_t bytes) {
    void *begin = std::malloc(bytes);
    if (begin != nullptr)
        page_locked[number_of(begin)] = bytes;
    return begin;
}

void host_free(void *begin) {
    page_locked.erase(number_of(begin));
    std::free(begin);
}

void set_parameters(const void *begin, std::size_t bytes) {
    parameters = {number_of(begin), bytes};
}

bool is_device_memory(const void *address) {
    const Allocation *found = find(number_of(address));
    return found != nullptr && !found->managed;
}

bool is_page_locked(const void *address) {
    if (page_locked.empty()) // also before it is constructed
        return false;
    const auto behind = page_locked.upper_bound(number_of(address));
    return behind != page_locked.begin() &&
           number_of(address) < std::prev(behind)->first + std::prev(behind)->second;
}

bool is_host_memory(const void *address) {
    const std::uintptr_t number = number_of(address);
    if (!translated_program || (address >= __executable_start && address < _end) ||
        fiber_stack_of(address) >= 0 || find(number) != nullptr ||
        number - parameters.begin < parameters.bytes)
        return false;
    return !is_page_locked(address);
}

GlobalPlace global_place(const void *address, std::size_t bytes) {
    const std::uintptr_t first = number_of(address);
    const Allocation *found = find(first);
    if (found == nullptr)
        return GlobalPlace::ELSEWHERE;
    if (!found->live)
        return GlobalPlace::FREED;
    const bool inside = first >= found->begin && first + bytes <= found->begin + found->bytes;
    return inside ? GlobalPlace::INSIDE : GlobalPlace::OUTSIDE;
}

std::ptrdiff_t global_offset(const void *address) {
    const Allocation *found = find(number_of(address));
    return found != nullptr ? static_cast<std::ptrdiff_t>(number_of(address) - found->begin) : 0;
}

std::string global_mistake(const char *access, const void *address, std::size_t bytes) {
    if (global_place(address, bytes) == GlobalPlace::FREED)
        return format("%s global memory that was freed", access);
    return format("%s %zu bytes at offset %td of an allocation of %zu bytes", access, bytes,
                  global_offset(address), find(number_of(address))->bytes);
}

void check_global(const void *begin, std::size_t bytes, const char *copy, Site where) {
    const GlobalPlace place = global_place(begin, bytes);
    if (place == GlobalPlace::ELSEWHERE && is_host_memory(begin))
        fail(Mistake::ADDRESS,
             format("%s with %p, an address of the host: kernels cannot access it", copy, begin),
             where, "started it here");
    if (place == GlobalPlace::FREED || place == GlobalPlace::OUTSIDE)
        fail(Mistake::ADDRESS, global_mistake(format("%s of", copy).c_str(), begin, bytes), where,
             "started it here");
}

} // namespace emulator
