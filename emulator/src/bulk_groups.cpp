// TMA stores, and the bulk groups in which a thread waits for them. A store happens in two steps:
// it reads shared memory, and later it writes global memory.
#include "machine.h"
#include "operations.h"
#include "tensor_box.h"
#include "emulator/tma.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <cstring>

namespace emulator {

namespace {

// A store on its way. It lives until both of its operations have happened.
struct Store {
    Box box;
    Thread *thread;
    std::uint64_t group; // number of its bulk group
    std::uint32_t tile;  // offset in the thread's CTA
    Reduce reduce;       // nullptr: the bytes replace what is there
    Site site;
    std::vector<unsigned char> source; // the box's bytes, row after row
    bool has_read = false;
};

// The box as it is now.
std::vector<unsigned char> read_source(const Store &store) {
    SharedMemory &shared = store.thread->cta->shared;
    std::vector<unsigned char> bytes(store.box.bytes());
    walk_rows(store.box, [&](const BoxRow &row) {
        unsigned char *to = bytes.data() + row.offset;
        walk_pieces(store.box, store.tile, row.offset,
                    [&](std::uint32_t offset, std::uint32_t at, std::uint32_t count) {
                        std::memcpy(to + at, shared.generic(offset, count), count);
                    });
    });
    return bytes;
}

void read_shared(Store &store) {
    access_shared(*store.thread->cta, store.tile, store.box.bytes(), {false, store.site});
    store.source = read_source(store);
    store.has_read = true;
    BulkGroup &group = store.thread->bulk.at(store.group);
    --group.unread;
    order::release_own(group.read);
    store.thread->bulk.waiting.wake_all();
}

void write_global(const Store &store) {
    BulkGroup &group = store.thread->bulk.at(store.group);
    order::acquire(group.read); // a store writes what it has read
    walk_rows(store.box, [&](const BoxRow &row) {
        if (row.inside == 0)
            return;
        const Strength strength = store.reduce != nullptr ? Strength::ATOMIC : Strength::WEAK;
        access_global(row.global, row.inside, {true, store.site, strength});
        const unsigned char *from = store.source.data() + row.offset + row.skipped;
        if (store.reduce != nullptr) // reductions may come in any order
            store.reduce(row.global, from, row.inside);
        else
            std::memcpy(row.global, from, row.inside);
        output_written(*store.thread, row.global, row.inside, store.site);
    });
    --group.unwritten;
    order::release_own(group.wrote);
    store.thread->bulk.waiting.wake_all();
}

void join_group(BulkGroup &group, Site where) {
    if (group.stores++ == 0)
        group.site = where;
    ++group.unread;
    ++group.unwritten;
}

void submit_part(const std::shared_ptr<Store> &store, OperationKind kind,
                 std::function<void()> complete, std::function<bool()> ready) {
    submit({.kind = kind,
            .cta = store->thread->cta,
            .issuer = store->thread,
            .site = store->site,
            .name = "TMA store",
            .complete = std::move(complete),
            .ready = std::move(ready),
            .tile = store->tile});
}

} // namespace

void tma_store(const void *map, const void *tile, const Coordinates &at, Site where,
               Reduce reduce) {
    Thread &self = *current;
    // Loads may begin before the matrix, stores not: the GPU takes them for illegal instructions.
    for (int i = 0; i < at.rank; ++i)
        if (at.at[i] < 0)
            fail(Mistake::MISUSE,
                 format("a TMA store's coordinates must not be negative: coordinate %d is %d", i,
                        at.at[i]),
                 {note_at(where, "stored here")});
    const auto store = std::make_shared<Store>();
    store->box = checked_box(map, at, "TMA store", where);
    store->tile = checked_tile(tile, store->box, "TMA store", where);
    store->thread = &self;
    store->reduce = reduce;
    store->group = self.bulk.number();
    store->site = where;
    join_group(self.bulk.open, where);
    ++counts.tma_stores;
    counts.tma_written_bytes += store->box.bytes_inside();
    submit_part(
        store, OperationKind::STORE_READ, [store] { read_shared(*store); }, nullptr);
    submit_part(
        store, OperationKind::STORE_WRITE, [store] { write_global(*store); },
        [store] { return store->has_read; });
}

void bulk_commit(Site) { current->bulk.commit(); }

void bulk_wait(int pending, bool read, Site where) {
    Groups<BulkGroup> &groups = current->bulk;
    const std::size_t covered = groups.covered(pending);
    const auto missing = [&groups, covered, read] {
        return groups.missing(covered, read ? &BulkGroup::unread : &BulkGroup::unwritten);
    };
    wait_until(
        groups.waiting, [missing] { return missing() == 0; }, where,
        [missing, read, pending] {
            return format("bulk_wait%s<%d>: %d stores still have to %s", read ? "_read" : "",
                          pending, missing(), read ? "read shared memory" : "be written");
        });
    groups.acquire(covered, &BulkGroup::read);
    if (!read)
        groups.acquire(covered, &BulkGroup::wrote);
    if (!read) // these will not be waited for again
        groups.forget(covered);
}

void tma_thread_exits(Thread &thread) {
    const BulkGroup &open = thread.bulk.open;
    if (open.stores > 0)
        fail(Mistake::MISUSE,
             "exit with a TMA store that the thread has never committed (bulk_commit)",
             {note_at(thread, open.site, "started the store here")});
}

} // namespace emulator
