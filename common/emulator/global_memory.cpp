#include "emulator/global_memory.h"

#include "emulator/accesses.h"
#include "emulator/report.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace emulator {

namespace {

constexpr std::size_t MARGIN = 64 * 1024; // without access, on either side

struct Allocation {
    std::uintptr_t begin;
    std::size_t bytes;
    bool margins; // nothing else lies in the margins
    bool live;
};

std::vector<Allocation> allocations; // by address
std::size_t last_found = 0;          // most accesses hit the one that the last one hit

std::uintptr_t number_of(const void *address) { return reinterpret_cast<std::uintptr_t>(address); }

std::size_t usable_bytes(std::size_t bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

void add(const void *begin, std::size_t bytes, bool margins) {
    const std::uintptr_t address = number_of(begin);
    // Memory that was freed and given out again is not freed any more.
    std::erase_if(allocations, [&](const Allocation &old) {
        return old.begin < address + bytes && address < old.begin + old.bytes;
    });
    const auto behind = std::find_if(allocations.begin(), allocations.end(),
                                     [&](const Allocation &a) { return a.begin > address; });
    allocations.insert(behind, {address, bytes, margins, true});
    last_found = 0;
}

// The allocation that the address lies in, or beside if there is nothing else; nullptr for none.
const Allocation *find(std::uintptr_t address) {
    if (last_found < allocations.size() &&
        address - allocations[last_found].begin < allocations[last_found].bytes)
        return &allocations[last_found];
    const auto behind =
        std::upper_bound(allocations.begin(), allocations.end(), address + MARGIN,
                         [](std::uintptr_t value, const Allocation &a) { return value < a.begin; });
    const Allocation *beside = nullptr;
    for (auto a = behind; a != allocations.begin();) {
        --a;
        if (address - a->begin < a->bytes) {
            last_found = static_cast<std::size_t>(a - allocations.begin());
            return &*a;
        }
        if (a->margins && address + MARGIN >= a->begin && address < a->begin + a->bytes + MARGIN)
            beside = &*a;
        if (a->begin <= address)
            break;
    }
    return beside;
}

} // namespace

void *global_allocate(std::size_t bytes) {
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
    add(begin, bytes, true);
    return begin;
}

void global_free(void *begin) {
    for (const Allocation &a : allocations) {
        if (a.begin != number_of(begin) || !a.margins || !a.live)
            continue;
        // The pages go, the addresses stay taken.
        mmap(begin, usable_bytes(a.bytes), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    global_forget(begin);
}

void global_register(const void *begin, std::size_t bytes) { add(begin, bytes, false); }

void global_forget(const void *begin) {
    for (Allocation &a : allocations)
        if (a.begin == number_of(begin))
            a.live = false;
    // Without margins the addresses may be given out again, for anything.
    std::erase_if(allocations, [](const Allocation &a) { return !a.live && !a.margins; });
    last_found = 0;
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
    if (place == GlobalPlace::FREED || place == GlobalPlace::OUTSIDE)
        fail(Mistake::ADDRESS, global_mistake(format("%s of", copy).c_str(), begin, bytes), where,
             "started it here");
}

} // namespace emulator
