#include "shared_memory.h"

#include "global_memory.h"
#include "machine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace emulator {
std::size_t static_shared_capacity = 0, static_shared_used = 0, dynamic_shared_begin = 0;

namespace {
std::size_t round_up(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

std::size_t static_size() { return std::size_t(__stop_shared_memory - __start_shared_memory); }
} // namespace

// ---------------------------------------------------------------------------- life
void SharedMemory::create(Cta &cta, std::size_t dynamic_bytes) {
    cta_ = &cta;
    static_bytes_ = round_up(static_size(), 1024) + dynamic_shared_begin;
    dynamic_bytes_ = dynamic_bytes;
    dynamic_bytes_rounded_ =
        round_up(dynamic_shared_begin + dynamic_bytes, 1024) - dynamic_shared_begin;
    reach_ = dynamic_bytes_rounded_ + static_shared_capacity;
    begin_ = static_cast<unsigned char *>(map_between_margins(static_bytes_ + reach_));
    if (begin_ == nullptr)
        fail(Mistake::ADDRESS, {}, "cannot map shared memory: %s", std::strerror(errno));
    std::memset(begin_, POISON, static_bytes_ + reach_);
}

SharedMemory::~SharedMemory() {
    if (begin_ != nullptr)
        unmap_between_margins(begin_, static_bytes_ + reach_);
}

SharedMemory *SharedMemory::swapped_in_ = nullptr;

void SharedMemory::swap_in() {
    if (swapped_in_ == this)
        return;
    swap_out();
    swapped_in_ = this;
    std::copy_n(begin_, static_size(), __start_shared_memory);
}

void SharedMemory::swap_out() {
    if (SharedMemory *const out = std::exchange(swapped_in_, nullptr))
        std::copy_n(__start_shared_memory, static_size(), out->begin_);
}

// ---------------------------------------------------------------------------- addresses
bool SharedMemory::missed_by(const void *pointer) const {
    const unsigned char *byte = static_cast<const unsigned char *>(pointer);
    return byte >= dynamic() - MARGIN && byte < dynamic() + reach_ + MARGIN && !contains(pointer);
}

unsigned char *SharedMemory::generic(std::uint32_t offset, std::size_t bytes) const {
    const bool is_static = offset < static_bytes_;
    const bool is_dynamic = !is_static && offset < static_bytes_ + dynamic_bytes_rounded_;
    const std::size_t end = is_static    ? static_size()
                            : is_dynamic ? static_bytes_ + dynamic_bytes_
                                         : size();
    if (offset + bytes > end)
        fail(Mistake::ADDRESS, {},
             "%zu bytes at offset %u of the shared memory of CTA %d, which has %zu", bytes, offset,
             cta_->rank, size());
    return (is_static && swapped_in_ == this ? __start_shared_memory : begin_) + offset;
}

SharedRef::SharedRef(const void *object, Site where) : cta(current->cta) {
    if (!cta->shared.contains(object))
        fail(Mistake::ADDRESS, where, "took it for one",
             "%p is not an address in the CTA's own shared memory", object);
    offset = cta->shared.offset_of(object);
}

std::uint32_t shared_address(const void *object, Site where) {
    return SHARED_BASE + SharedRef(object, where).offset;
}

Cta &cta_of_rank(int rank, Site where) {
    Cluster &cluster = *current->cta->cluster;
    if (rank < 0 || std::size_t(rank) >= cluster.ctas.size())
        fail(Mistake::MISUSE, where, "requested it", "CTA %d of a cluster of %zu is requested",
             rank, cluster.ctas.size());
    return *cluster.ctas[std::size_t(rank)];
}

void check_peer(const Cta &peer, const Origin &where) {
    if (peer.exited())
        fail_unless_allowed("cluster-exit", Mistake::LIFETIME,
                            {note_at(*current, where, "used it")},
                            "the shared memory of CTA %d is used after it exited: a "
                            "cluster barrier is missing before its end",
                            peer.rank);
    if (&peer != current->cta && current->cluster_waits == 0)
        fail(Mistake::LIFETIME, where, "used it",
             "the shared memory of CTA %d is used before any cluster barrier: the CTA may "
             "not have started",
             peer.rank);
}

void *cluster_address(const void *object, int rank, Site where) {
    const std::uint32_t offset = SharedRef(object, where).offset;
    return cta_of_rank(rank, where).shared.generic(offset, 1); // whoever uses it is checked then
}
} // namespace emulator
