#include "story.h"

#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

namespace emulator::story {
const bool is_recorded =
    std::getenv("EMULATOR_STORY") != nullptr && *std::getenv("EMULATOR_STORY") != '0';

namespace {
using order::Epoch;

constexpr std::size_t MOST_EVENTS = 64, MOST_COLUMNS = 1 << 15, NONE = MOST_EVENTS + 2;

struct Event {
    Epoch at; // when its agent did it
    std::string did, carrier;
    Origin where;
    Clock clock;              // of its agent, or of the operation that it issued:
    Epoch issued{};           // that
    std::uint64_t number = 0; // even, through all agents
};

// What a thread and its operations did, by cluster and thread.
using Column = std::vector<Event>;
std::map<std::pair<std::uint32_t, std::uint32_t>, Column> columns;
std::uint64_t last_number = 0;

Access mine, other; // of no cluster: no story
Space space;

Column &column_of_running() {
    const order::Context &me = order::running();
    return columns[{me.cluster, me.who.operation != nullptr ? me.issue.agent : me.self.agent}];
}

void add_to(Column &column, Event event) {
    event.number = last_number += 2;
    // The other half of a barrier; or a poll or an issue that is repeated.
    const auto last = std::find_if(column.rbegin(), column.rend(), [&event](const Event &one) {
        return one.at.agent == event.at.agent;
    });
    if (last != column.rend() && last->did == event.did && last->carrier == event.carrier &&
        last->where == event.where && last->issued.agent == event.issued.agent) {
        event.at = last->at;
        event.issued = last->issued;
        column.erase(std::next(last).base());
    }
    column.push_back(std::move(event));
    if (column.size() > MOST_EVENTS)
        column.erase(column.begin());
    if (columns.size() > MOST_COLUMNS)
        columns.erase(columns.begin()); // of the oldest cluster
}

struct Row {
    Event event;
    std::string text[2];
};

// ":58", with the file's name if it is not the story's, and where that was called.
std::string line_of(const Origin &where) {
    const Note note = note_at(where, "");
    const bool is_same = note.file == note_at(mine.where, "").file;
    return (is_same ? "" : note.file.substr(note.file.rfind('/') + 1)) + format(":%d", note.line) +
           (note.caller.file == note.file ? format(" from :%d", note.caller.line) : "");
}

// What the thread of an access did by carriers, and of operations the access's own.
struct Side {
    std::uint32_t thread; // that made the access, or issued its operation
    Column column{};
    std::size_t at = 0; // the access in it; an operation's issue
};

// Of the threads that called a wgmma it is the one that the other agent knows most of.
Side side_of(const Access &access, bool is_left, const Clock &clock, std::uint32_t beside) {
    const Epoch &epoch = access.epoch;
    const auto is_issue = [&epoch](const Event &event) {
        return event.issued.cluster == epoch.cluster && event.issued.agent == epoch.agent &&
               event.issued.time <= epoch.time;
    };
    Side side{epoch.agent};
    std::int32_t most = -1;
    for (const auto &[key, column] : columns)
        if (const auto known = order::known_of({key.first, key.second}, clock, beside).done[0];
            known > most && std::ranges::any_of(column, is_issue))
            side.thread = key.second, most = known;
    const Column &all = columns[{epoch.cluster, side.thread}];
    const bool is_operation = side.thread != epoch.agent;
    const bool is_alone = is_left && &all == &column_of_running(); // the right side has the rest
    for (const Event &event : all) {
        const bool is_kept =
            event.at.agent == epoch.agent || (event.at.agent == side.thread && !is_alone);
        if (event.issued.cluster != 0 ? is_issue(event) : is_kept)
            side.column.push_back(event);
        if (is_operation ? is_issue(event) : event.at.time < epoch.time)
            side.at = side.column.size();
    }
    if (side.at > 0 && (is_operation || *access.did == '\0')) {
        --side.at;
        return side;
    }
    const bool is_last = side.at == side.column.size();
    const Clock own = side.at > 0 ? side.column[side.at - 1].clock : Clock{};
    Event made{epoch, access.did, "", access.where, own};
    made.number = is_last ? last_number + 1 : side.column[side.at].number - 1;
    side.column.insert(side.column.begin() + std::ptrdiff_t(side.at), made);
    return side;
}

// A side's last event that comes before the other access, whose agent's clock this is, and those
// around its own access. Others learn of the earlier access, on the left, by the landing of its
// operation or by what its thread does next. Returns the clock of the side's agent. The first row
// has its thread.
Clock add_rows(std::vector<Row> &rows, const Access &access, bool is_left, const Clock &clock) {
    const std::uint32_t beside = (is_left ? mine : other).epoch.cluster;
    const auto [thread, column, at] = side_of(access, is_left, clock, beside);
    const auto is_known = [&](const Event &event) {
        return order::known_of(event.at, clock, beside).done[int(space)] >= event.at.time;
    };
    std::string &name = rows.front().text[!is_left] =
        order::name_of({access.epoch.cluster, thread});
    if (const std::size_t begin = name.find(" ("), end = name.find(')'); end != name.npos)
        name.erase(begin, end + 1 - begin); // the report says which warp and lane
    std::size_t common = NONE, lands = NONE;
    for (std::size_t i = 0; i < column.size(); ++i)
        if (column[i].at.agent != thread)
            lands = i > at ? i : lands;
        else if (is_known(column[i]))
            common = i;
    const bool goes_on = is_left && lands == NONE;
    for (std::size_t i = common == NONE ? 0 : std::min(common, at); i < column.size(); ++i) {
        const Event &event = column[i];
        const bool is_near = goes_on ? i >= at && i <= at + 3 : i + 2 >= at && i <= at;
        if (i != common && i != lands && !is_near)
            continue;
        const auto is_same_barrier = [&event](const Event &one) {
            return event.did == "syncs" && one.did == "syncs" && one.carrier == event.carrier &&
                   one.at.cluster == event.at.cluster && one.at.cta == event.at.cta;
        };
        auto row = std::ranges::find_if(rows, is_same_barrier, &Row::event);
        if (row == rows.end())
            row = rows.insert(row, {event, {}});
        row->text[!is_left] =
            (is_known(event) ? "* " : "  ") + event.did + " " + line_of(event.where);
    }
    return column[at].clock;
}
} // namespace

void add(const std::string &did, const std::string &carrier, const Origin &where) {
    if (trace::is_on)
        trace::did(did, carrier, where);
    if (!is_recorded)
        return;
    order::Context &me = order::running();
    add_to(column_of_running(), {order::epoch_now(), did, carrier, where, me.clock});
    for (std::int32_t &done : me.self.times.done) // accesses come before it or after it
        done += me.who.operation == nullptr;
}

void record_issue(const char *operation, const Origin &where, const Epoch &issued) {
    const order::Context &me = order::running();
    if (is_recorded)
        add_to(column_of_running(), {order::epoch_now(), std::string("issues ") + operation, "",
                                     where, me.clock, issued});
}

void begin(const Access &one, const Access &another, Space where) {
    mine = order::is_of_earlier_work(another.epoch) ? Access{} : one;
    other = another;
    other.epoch = order::unknown_lane(other.epoch);
    space = where;
}

std::string text(const std::string &kind, const std::vector<Note> &notes) {
    const Note first = note_at(mine.where, "");
    if (mine.epoch.cluster == 0 || notes.empty() || first.line != notes.front().line)
        return "";
    std::string essence = kind;
    for (const Note &note : notes)
        essence += format(" %s:%d", note.file.c_str(), note.line);
    const std::uint64_t report = std::hash<std::string>{}(essence) | 2;
    const char *wanted = std::getenv("EMULATOR_STORY"); // a report's number; 1: any
    if (wanted == nullptr && emulator_on_unordered != nullptr)
        emulator_on_unordered(report);
    if (!is_recorded || (std::to_string(report) != wanted && std::string(wanted) != "1"))
        return "";

    std::vector<Row> rows{{{{}, "", "by", mine.where, {}}, {}}};
    add_rows(rows, mine, false, add_rows(rows, other, true, order::running().clock));
    std::ranges::stable_sort(rows, {}, [](const Row &row) { return row.event.number; });
    int width[2] = {};
    for (const Row &row : rows)
        for (int i = 0; i < 2; ++i)
            width[i] = std::max(width[i], int(row.text[i].size()));
    std::string story = format("  story, newest last, of the run named below (* comes "
                               "before the other's access; lines of %s):\n",
                               first.file.c_str());
    for (const auto &[event, text] : rows) {
        const std::string line = format("    %-*s  %-*s  %s", width[0], text[0].c_str(), width[1],
                                        text[1].c_str(), event.carrier.c_str());
        story += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return story;
}
} // namespace emulator::story

// ---------------------------------------------------------------------------- the trace

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
    if (file == nullptr && (file = std::fopen(name, "w")) == nullptr)
        give_up("EMULATOR_TRACE: cannot write %s: %m", name);
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
