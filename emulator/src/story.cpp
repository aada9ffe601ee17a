#include "story.h"

#include "emulator/emulator.h"

#include <algorithm>
#include <cstdlib>
#include <map>

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

// ":58", with the file's name if it is not the story's.
std::string line_of(const Origin &where) {
    const Note note = note_at(where, "");
    const bool is_same = note.file == note_at(mine.where, "").file;
    return (is_same ? "" : note.file.substr(note.file.rfind('/') + 1)) + format(":%d", note.line);
}

// What the thread of an access did by carriers, and of operations the access's own.
struct Side {
    std::uint32_t thread; // that made the access, or issued its operation
    Column column{};
    std::size_t at = 0; // the access in it; an operation's issue
};

Side side_of(const Access &access, bool is_left) {
    const Epoch &epoch = access.epoch;
    const auto is_issue = [&epoch](const Event &event) {
        return event.issued.cluster == epoch.cluster && event.issued.agent == epoch.agent &&
               event.issued.time <= epoch.time;
    };
    Side side{epoch.agent};
    for (const auto &[key, column] : columns)
        if (std::ranges::any_of(column, is_issue))
            side.thread = key.second;
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
    const Clock clock = side.at > 0 ? side.column[side.at - 1].clock : Clock{};
    Event made{epoch, access.did, "", access.where, clock};
    made.number = is_last ? last_number + 1 : side.column[side.at].number - 1;
    side.column.insert(side.column.begin() + std::ptrdiff_t(side.at), made);
    return side;
}

// A side's last event that comes before the other access, whose agent's clock this is, and those
// around its own access. Others learn of the earlier access, on the left, by the landing of its
// operation or by what its thread does next. Returns the clock of the side's agent.
Clock add_rows(std::vector<Row> &rows, const Access &access, bool is_left, const Clock &clock) {
    const auto [thread, column, at] = side_of(access, is_left);
    const std::uint32_t beside = (is_left ? mine : other).epoch.cluster;
    const auto is_known = [&](const Event &event) {
        return order::known_of(event.at, clock, beside).done[int(space)] >= event.at.time;
    };
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

void record_issue(const order::Context &operation) {
    const Stamp &issue = operation.issue, &own = operation.self;
    if (is_recorded)
        add_to(column_of_running(), {{operation.cluster, issue.agent, issue.times.done[0]},
                                     std::string("issues ") + operation.who.operation,
                                     "",
                                     operation.who.where,
                                     operation.clock,
                                     {operation.cluster, own.agent, own.times.done[0]}});
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

    std::vector<Row> rows;
    add_rows(rows, mine, false, add_rows(rows, other, true, order::running().clock));
    std::ranges::stable_sort(rows, {}, [](const Row &row) { return row.event.number; });
    const auto name = [](const Access &access) { // the report says which warp and lane
        std::string all = order::name_of(access.epoch);
        const std::size_t begin = all.find(" ("), end = all.find(')');
        return end != all.npos ? all.erase(begin, end + 1 - begin) : all;
    };
    rows.insert(rows.begin(), {{{}, "", "by", mine.where, {}}, {name(other), name(mine)}});
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
