#include "emulator/shared_memory.h"

#include "emulator/copy.h"
#include "emulator/machine.h"
#include "emulator/strictness.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace emulator {

std::size_t static_shared_capacity = 0, static_shared_used = 0, dynamic_shared_begin = 0;

namespace {

constexpr std::size_t UNIT = 2;          // bytes that have one writer: a bf16
constexpr std::size_t PAGE = 1024;       // bytes whose unpublished units are counted together
constexpr std::size_t GUARD = 64 * 1024; // on either side of the dynamic part, without access
constexpr std::size_t LANDINGS_KEPT = 64;
constexpr std::size_t NO_UNIT = static_cast<std::size_t>(-1);

// Not in ThreadSanitizer's build, where writers are unknown: there both views are one.
const bool tracking = !races::detecting();

std::size_t round_up(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

std::size_t static_size() {
    return static_cast<std::size_t>(__stop_shared_memory - __start_shared_memory);
}

// Where generic writes came from.
std::vector<Origin> origins;

// The number of an origin. Sites of writes are few; the ones used last are found at once.
std::uint16_t number_of(const Origin &origin) {
    static std::uint16_t recent[64];
    const std::size_t key = origin.pc != 0 ? origin.pc ^ origin.pc >> 6 : origin.site.line();
    std::uint16_t &guess = recent[key % 64];
    if (guess < origins.size() && origins[guess] == origin)
        return guess;
    for (std::size_t i = 0; i < origins.size(); ++i)
        if (origins[i] == origin)
            return guess = static_cast<std::uint16_t>(i);
    if (origins.size() == 65535)
        return 65534; // more lines than any kernel has: the last number is for all others
    origins.push_back(origin);
    return guess = static_cast<std::uint16_t>(origins.size() - 1);
}

[[noreturn]] void fail_without_memory() {
    fail(Mistake::ADDRESS, format("cannot map shared memory: %s", std::strerror(errno)), {});
}

} // namespace

// ---------------------------------------------------------------------------- life

void SharedMemory::create(Cta &cta, std::size_t dynamic_bytes) {
    cta_ = &cta;
    static_bytes_ = round_up(static_size(), 1024) + dynamic_shared_begin;
    dynamic_bytes_ = dynamic_bytes;
    dynamic_bytes_rounded_ =
        round_up(dynamic_shared_begin + dynamic_bytes, 1024) - dynamic_shared_begin;
    const std::size_t most = dynamic_bytes_rounded_ + static_shared_capacity;
    reach_ = static_shared_capacity == 0 ? dynamic_bytes : most;
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t usable = round_up(dynamic_shared_begin + reach_, page);
    mapped_bytes_ = usable + 2 * GUARD;
    void *mapping =
        mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        fail_without_memory();
    mapping_ = static_cast<unsigned char *>(mapping);
    dynamic_ = mapping_ + GUARD + dynamic_shared_begin;
    if (usable > 0 && mprotect(mapping_ + GUARD, usable, PROT_READ | PROT_WRITE) != 0)
        fail_without_memory();
    fill_bytes(dynamic_, UNINITIALISED, reach_);
    races::forget(mapping_ + GUARD, usable);
    saved_static_.assign(static_size(), UNINITIALISED);
    swapped_in_ = false;
    if (!tracking)
        return;
    const std::size_t bytes = static_bytes_ + most;
    async_.assign(bytes, UNINITIALISED);
    writers_.assign(bytes / UNIT + 1, Writer{});
    unpublished_.assign(bytes / PAGE + 1, 0);
    dirty_.assign(std::max<std::size_t>(cta.threads.size(), 1), {});
}

void SharedMemory::destroy() {
    if (mapping_ != nullptr && munmap(mapping_, mapped_bytes_) != 0)
        fail(Mistake::ADDRESS, format("cannot unmap shared memory: %s", std::strerror(errno)), {});
    *this = SharedMemory{};
}

void SharedMemory::swap_in() {
    swapped_in_ = true;
    if (saved_static_.empty())
        return;
    races::forget(__start_shared_memory, saved_static_.size());
    copy_bytes(__start_shared_memory, saved_static_.data(), saved_static_.size());
}

void SharedMemory::swap_out() {
    swapped_in_ = false;
    if (!saved_static_.empty())
        copy_bytes(saved_static_.data(), __start_shared_memory, saved_static_.size());
}

// ---------------------------------------------------------------------------- addresses

bool SharedMemory::missed_by(const void *pointer) const {
    const unsigned char *byte = static_cast<const unsigned char *>(pointer);
    return byte >= mapping_ && byte < mapping_ + mapped_bytes_ && !contains(pointer);
}

void SharedMemory::check_inside_parts(std::uint32_t offset, std::size_t bytes) const {
    const std::size_t end = offset + bytes;
    const bool is_static = offset < static_bytes_;
    const std::size_t dynamic_end = static_bytes_ + dynamic_bytes_;
    if (end <= (is_static ? saved_static_.size() : dynamic_end))
        return;
    if (offset >= static_bytes_ + dynamic_bytes_rounded_ && end <= size())
        return;
    fail(Mistake::ADDRESS,
         format("%zu bytes at offset %u of the shared memory of CTA %d, which has %zu", bytes,
                offset, cta_->rank, size()),
         {});
}

unsigned char *SharedMemory::generic(std::uint32_t offset, std::size_t bytes) const {
    check_inside(offset, bytes);
    if (offset >= static_bytes_)
        return dynamic_ + (offset - static_bytes_);
    return swapped_in_ ? __start_shared_memory + offset
                       : const_cast<unsigned char *>(saved_static_.data()) + offset;
}

unsigned char *SharedMemory::async(std::uint32_t offset, std::size_t bytes) {
    if (!tracking)
        return generic(offset, bytes);
    check_inside(offset, bytes);
    return async_.data() + offset;
}

std::uint32_t shared_address(const void *object, Site where) {
    const SharedMemory &shared = current->cta->shared;
    if (!shared.contains(object))
        fail(Mistake::ADDRESS,
             format("%p is not an address in the CTA's own shared memory", object), where,
             "took it for one");
    return SHARED_BASE + shared.offset_of(object);
}

SharedPlace map_shared(const void *object, int rank, Site where) {
    const std::uint32_t offset = shared_address(object, where) - SHARED_BASE;
    Cluster &cluster = *current->cta->cluster;
    if (rank < 0 || static_cast<std::size_t>(rank) >= cluster.ctas.size())
        fail(Mistake::MISUSE,
             format("CTA %d of a cluster of %zu is requested", rank, cluster.ctas.size()), where,
             "requested it");
    Cta &peer = *cluster.ctas[static_cast<std::size_t>(rank)];
    if (peer.exited())
        fail_unless_allowed("cluster-exit", Mistake::LIFETIME,
                            format("the shared memory of CTA %d is used after it exited", rank),
                            {note_at(*current, where, "used it")});
    if (&peer != current->cta && current->cluster_waits == 0)
        fail(Mistake::LIFETIME,
             format("the shared memory of CTA %d is used before any cluster barrier: the CTA may "
                    "not have started",
                    rank),
             where, "used it");
    peer_uses(peer, where);
    return {&peer, offset};
}

void cluster_read(void *to, const void *object, std::size_t bytes, int rank, Site where) {
    const SharedPlace place = map_shared(object, rank, where);
    const unsigned char *from = place.cta->shared.generic(place.offset, bytes);
    races::read(from, bytes);
    std::memcpy(to, from, bytes);
}

void *cluster_address(const void *object, int rank, Site where) {
    const SharedPlace place = map_shared(object, rank, where);
    return place.cta->shared.generic(place.offset, 1);
}

void cluster_write(void *object, const void *from, std::size_t bytes, int rank, Site where) {
    const SharedPlace place = map_shared(object, rank, where);
    SharedMemory &shared = place.cta->shared;
    unsigned char *to = shared.generic(place.offset, bytes);
    races::write(to, bytes, where);
    std::memcpy(to, from, bytes);
    shared.wrote(*current, place.offset, bytes, where);
}

// ---------------------------------------------------------------------------- the two views

void SharedMemory::take_over(int thread, std::size_t unit, std::uint16_t origin) {
    Writer &writer = writers_[unit];
    if (!writer.unpublished)
        ++unpublished_[unit * UNIT / PAGE];
    if (!writer.unpublished || writer.thread != thread)
        dirty_[static_cast<std::size_t>(thread)].push_back(static_cast<std::uint32_t>(unit));
    writer = {static_cast<std::int16_t>(thread), origin, true};
}

// A list may hold units that others have taken over since: drops them before it grows too long.
void SharedMemory::compact(int thread) {
    std::vector<std::uint32_t> &units = dirty_[static_cast<std::size_t>(thread)];
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    std::erase_if(units, [&](std::uint32_t unit) {
        return !writers_[unit].unpublished || writers_[unit].thread != thread;
    });
}

void SharedMemory::wrote(const Thread &thread, std::uint32_t offset, std::size_t bytes,
                         const Origin &origin) {
    if (!tracking || bytes == 0)
        return;
    check_inside(offset, bytes);
    const std::uint16_t number = number_of(origin);
    for (std::size_t unit = offset / UNIT; unit <= (offset + bytes - 1) / UNIT; ++unit)
        take_over(thread.number, unit, number);
    if (dirty_[static_cast<std::size_t>(thread.number)].size() > 2 * writers_.size())
        compact(thread.number);
}

void SharedMemory::publish_unit(std::size_t unit) {
    const std::uint32_t offset = static_cast<std::uint32_t>(unit * UNIT);
    const std::size_t bytes = std::min(UNIT, size() - offset);
    const bool is_static = offset < static_bytes_;
    const std::size_t end = is_static ? saved_static_.size() : size();
    copy_bytes(async_.data() + offset, generic(offset, std::min(bytes, end - offset)),
               std::min(bytes, end - offset));
    writers_[unit].unpublished = false;
    --unpublished_[offset / PAGE];
}

void SharedMemory::publish(const Thread &thread) {
    if (!tracking)
        return;
    std::vector<std::uint32_t> &units = dirty_[static_cast<std::size_t>(thread.number)];
    for (const std::uint32_t unit : units)
        if (writers_[unit].unpublished && writers_[unit].thread == thread.number)
            publish_unit(unit);
    units.clear();
}

// The first unit of [offset, offset + bytes) that has an unpublished write, or NO_UNIT.
std::size_t SharedMemory::first_unpublished(std::uint32_t offset, std::size_t bytes) const {
    const std::size_t end = offset + bytes;
    for (std::size_t begin = offset; begin < end;) {
        const std::size_t page_end = std::min(end, (begin / PAGE + 1) * PAGE);
        if (unpublished_[begin / PAGE] > 0)
            for (std::size_t unit = begin / UNIT; unit * UNIT < page_end; ++unit)
                if (writers_[unit].unpublished)
                    return unit;
        begin = page_end;
    }
    return NO_UNIT;
}

Note SharedMemory::note_of(const Writer &writer, const char *did) const {
    const Thread &thread = cta_->threads[static_cast<std::size_t>(writer.thread)];
    return note_at(thread, origins[writer.origin], did);
}

void SharedMemory::fail_unpublished(std::size_t unit, const std::string &what, Site site) const {
    const char *did = "wrote them, and has executed no fence.proxy.async since";
    fail_unless_allowed("proxy-fence", Mistake::HAZARD,
                        format("%s at offset %zu of the shared memory of CTA %d", what.c_str(),
                               unit * UNIT, cta_->rank),
                        {note_of(writers_[unit], did),
                         note_at(site, "who reads or overwrites them was issued here")});
}

// As if their writers had fenced them.
void SharedMemory::publish_bytes(std::uint32_t offset, std::size_t bytes) {
    for (std::size_t unit = offset / UNIT; unit * UNIT < offset + bytes; ++unit)
        if (writers_[unit].unpublished)
            publish_unit(unit);
}

void SharedMemory::check_published(std::uint32_t offset, std::size_t bytes, const char *reader,
                                   Site site) {
    if (!tracking || bytes == 0)
        return;
    check_inside(offset, bytes);
    const std::size_t unit = first_unpublished(offset, bytes);
    if (unit == NO_UNIT)
        return;
    fail_unpublished(unit, format("%s reads bytes that a thread wrote and never fenced,", reader),
                     site);
    publish_bytes(offset, bytes);
}

void SharedMemory::write_async(std::uint32_t offset, const void *from, std::size_t bytes,
                               const char *writer, Site site) {
    unsigned char *generic_view = generic(offset, bytes);
    copy_bytes(generic_view, from, bytes);
    if (!tracking || bytes == 0)
        return;
    const std::size_t unit = first_unpublished(offset, bytes);
    if (unit != NO_UNIT) {
        fail_unpublished(
            unit, format("%s overwrites bytes that a thread wrote and never fenced,", writer),
            site);
        publish_bytes(offset, bytes);
    }
    copy_bytes(async_.data() + offset, from, bytes);
}

// ---------------------------------------------------------------------------- who wrote last

void SharedMemory::landed(std::uint32_t offset, std::size_t bytes, const Thread &issuer,
                          Site site) {
    if (landings_.size() == LANDINGS_KEPT)
        landings_.pop_back();
    landings_.push_front({offset, static_cast<std::uint32_t>(bytes), &issuer, site});
}

std::vector<Note> SharedMemory::last_writer(std::uint32_t offset, std::size_t bytes) const {
    for (const Landing &load : landings_)
        if (load.offset < offset + bytes && offset < load.offset + load.bytes)
            return {note_at(*load.issuer, load.site, "started a TMA load that landed there")};
    for (std::size_t unit = offset / UNIT; unit * UNIT < offset + bytes; ++unit)
        if (unit < writers_.size() && writers_[unit].thread >= 0)
            return {note_of(writers_[unit], "wrote there")};
    return {};
}

} // namespace emulator
