#include "emulator/cp_async.h"

#include "emulator/copy.h"
#include "emulator/counts.h"
#include "emulator/global_memory.h"
#include "emulator/machine.h"
#include "emulator/operations.h"
#include "emulator/scopes.h"

namespace emulator {

namespace {

constexpr int LARGEST_COPY = 16;

// A copy on its way.
struct Copy {
    Thread *thread;
    std::uint64_t group; // number of its group
    std::uint32_t to;    // offset in the thread's CTA
    const void *from;
    int bytes;
    int source_bytes;
    Site site;
};

// A generic-proxy write, only late: TMA and wgmma see it after the thread's fence.
void happen(const Copy &copy) {
    SharedMemory &shared = copy.thread->cta->shared;
    unsigned char bytes[LARGEST_COPY] = {};
    if (copy.source_bytes > 0) {
        races::read(copy.from, std::size_t(copy.source_bytes));
        for (int i = 0; i < copy.source_bytes; ++i)
            bytes[i] = static_cast<const unsigned char *>(copy.from)[i];
    }
    const std::size_t count = std::size_t(copy.bytes);
    unsigned char *to = shared.generic(copy.to, count);
    races::write(to, count);
    copy_bytes(to, bytes, count);
    shared.wrote(*copy.thread, copy.to, count, copy.site);
    CopyGroup &group = copy.thread->copies.at(copy.group);
    --group.unlanded;
    races::release(group.done.carrier());
    copy.thread->copies.waiting.wake_all();
}

void check_arguments(const void *shared, const void *global, int bytes, int source_bytes,
                     Site where) {
    const auto aligned = [bytes](const void *pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % std::uintptr_t(bytes) == 0;
    };
    std::string wrong;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        wrong = format("cp.async of %d bytes: 4, 8 or 16", bytes);
    else if (source_bytes < 0 || source_bytes > bytes)
        wrong = format("cp.async of %d bytes with %d from its source", bytes, source_bytes);
    else if (!aligned(shared) || !aligned(global))
        wrong = format("cp.async of %d bytes %s an address that is not aligned to them", bytes,
                       aligned(shared) ? "from" : "to");
    if (!wrong.empty())
        fail(Mistake::MISUSE, wrong, where, "called it here");
    if (source_bytes > 0)
        check_global(global, std::size_t(source_bytes), "cp.async", where);
    if (source_bytes > 0)
        scopes_read(*current, global, std::size_t(source_bytes), where);
}

} // namespace

void cp_async(void *shared, const void *global, int bytes, int source_bytes, Site where) {
    check_arguments(shared, global, bytes, source_bytes, where);
    Thread &self = *current;
    Groups<CopyGroup> &groups = self.copies;
    const Copy copy{&self,  groups.number(), shared_address(shared, where) - SHARED_BASE,
                    global, bytes,           source_bytes,
                    where};
    self.cta->shared.generic(copy.to, std::size_t(bytes)); // fails if it is not inside
    if (groups.open.unlanded++ == 0 && groups.open.done.carrier() == nullptr)
        groups.open.done = races::Token::make();
    counts.copied_bytes += std::uint64_t(source_bytes);
    submit({.kind = OperationKind::COPY,
            .cta = self.cta,
            .issuer = &self,
            .site = where,
            .name = "cp.async",
            .complete = [copy] { happen(copy); }});
}

void cp_async_commit(Site) { current->copies.commit(); }

void cp_async_wait(int pending, Site where) {
    Groups<CopyGroup> &groups = current->copies;
    const std::size_t covered = groups.covered(pending);
    const auto missing = [&groups, covered] {
        return groups.missing(covered, &CopyGroup::unlanded);
    };
    wait_until(
        groups.waiting, [missing] { return missing() == 0; }, where,
        [missing, pending] {
            return format("cp_async_wait<%d>: %d copies have not landed", pending, missing());
        });
    groups.acquire(covered, &CopyGroup::done);
    groups.forget(covered);
}

} // namespace emulator
