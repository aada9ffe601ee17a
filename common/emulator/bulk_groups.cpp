// TMA stores, and the bulk groups in which a thread waits for them. A store happens in two steps:
// it reads shared memory, and later it writes global memory.
#include "emulator/copy.h"
#include "emulator/counts.h"
#include "emulator/machine.h"
#include "emulator/operations.h"
#include "emulator/global_writes.h"
#include "emulator/tensor_box.h"
#include "emulator/tma.h"

#include <algorithm>
#include <memory>
#include <utility>

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

// The box as it is in the async view now.
std::vector<unsigned char> read_source(const Store &store) {
    SharedMemory &shared = store.thread->cta->shared;
    std::vector<unsigned char> bytes(store.box.bytes());
    walk_rows(store.box, [&](const BoxRow &row) {
        unsigned char *to = bytes.data() + row.offset;
        walk_pieces(store.box, store.tile, row.offset,
                    [&](std::uint32_t offset, std::uint32_t at, std::uint32_t count) {
                        copy_bytes(to + at, shared.async(offset, count), count);
                    });
    });
    return bytes;
}

// The offset in shared memory of the first byte that has changed.
std::uint32_t offset_of_change(const Store &store, const std::vector<unsigned char> &now) {
    const auto changed = std::mismatch(now.begin(), now.end(), store.source.begin()).first;
    const std::uint32_t place = static_cast<std::uint32_t>(changed - now.begin());
    std::uint32_t found = store.tile;
    walk_rows(store.box, [&](const BoxRow &row) {
        walk_pieces(store.box, store.tile, row.offset,
                    [&](std::uint32_t offset, std::uint32_t at, std::uint32_t count) {
                        if (row.offset + at <= place && place < row.offset + at + count)
                            found = offset + place - row.offset - at;
                    });
    });
    return found;
}

// Between the start of a store and its read no thread may write the source. A write without a fence
// is found by its record, a fenced one by the changed bytes.
void check_untouched(const Store &store) {
    SharedMemory &shared = store.thread->cta->shared;
    shared.check_published(store.tile, store.box.bytes(), "TMA store", store.site);
    const std::vector<unsigned char> now = read_source(store);
    if (now == store.source)
        return;
    std::vector<Note> notes = {note_at(*store.thread, store.site, "started the store here")};
    for (Note &writer : shared.last_writer(offset_of_change(store, now), 1))
        notes.push_back(std::move(writer));
    fail(Mistake::HAZARD,
         "the source of a TMA store was overwritten before the store had read it: wait with "
         "bulk_wait_read first",
         notes);
}

void read_shared(Store &store) {
    check_untouched(store);
    races::read(store.thread->cta->shared.generic(store.tile, store.box.bytes()),
                store.box.bytes());
    store.has_read = true;
    BulkGroup &group = store.thread->bulk.at(store.group);
    --group.unread;
    races::release(group.read.carrier());
    store.thread->bulk.waiting.wake_all();
}

void write_global(const Store &store) {
    BulkGroup &group = store.thread->bulk.at(store.group);
    races::acquire(group.read.carrier()); // a store writes what it has read
    walk_rows(store.box, [&](const BoxRow &row) {
        if (row.inside == 0)
            return;
        races::write(row.global, row.inside);
        const unsigned char *from = store.source.data() + row.offset + row.skipped;
        if (store.reduce != nullptr)
            store.reduce(row.global, from, row.inside);
        else
            copy_bytes(row.global, from, row.inside);
        output_written(*store.thread, row.global, row.inside, store.site);
    });
    --group.unwritten;
    races::release(group.wrote.carrier());
    store.thread->bulk.waiting.wake_all();
}

Written written_by(const Box &box, Site where) {
    Written written{{}, where};
    walk_rows(box, [&](const BoxRow &row) {
        if (row.inside > 0)
            written.rows.push_back({row.global, row.global + row.inside});
    });
    std::sort(written.rows.begin(), written.rows.end(),
              [](const Written::Row &a, const Written::Row &b) { return a.begin < b.begin; });
    return written;
}

bool overlap(const Written &one, const Written &other) {
    auto row = one.rows.begin();
    for (const Written::Row &with : other.rows) {
        while (row != one.rows.end() && row->end <= with.begin)
            ++row;
        if (row != one.rows.end() && row->begin < with.end)
            return true;
    }
    return false;
}

// Only a thread's waits for their writes order its stores.
void check_ordered(const Groups<BulkGroup> &groups, const Written &written) {
    const auto check = [&](const BulkGroup &group) {
        for (const Written &before : group.written)
            if (overlap(before, written))
                fail(Mistake::HAZARD,
                     "a TMA store writes what an earlier one of the same thread writes, and "
                     "nothing orders the two: wait with bulk_wait first (bulk_wait_read is too "
                     "early)",
                     {note_at(*current, written.site, "started the store here"),
                      note_at(*current, before.site, "started the earlier one here")});
    };
    for (const BulkGroup &group : groups.committed)
        check(group);
    check(groups.open);
}

void join_group(BulkGroup &group, Site where) {
    if (group.stores++ == 0) {
        group.site = where;
        group.read = races::Token::make();
        group.wrote = races::Token::make();
    }
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
    self.cta->shared.check_published(store->tile, store->box.bytes(), "TMA store", where);
    store->thread = &self;
    store->reduce = reduce;
    store->group = self.bulk.number();
    store->site = where;
    store->source = read_source(*store);
    const Written written = written_by(store->box, where);
    join_group(self.bulk.open, where);
    if (reduce == nullptr) { // reductions may come in any order
        check_ordered(self.bulk, written);
        self.bulk.open.written.push_back(written);
    }
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
    groups.acquire(covered, read ? &BulkGroup::read : &BulkGroup::wrote);
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
