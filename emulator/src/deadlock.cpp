#include "machine.h"

#include "operations.h"

#include <map>
#include <tuple>

namespace emulator {

namespace {

// Threads of a CTA that wait at the same place for the same.
struct Group {
    const Cta *cta;
    Origin where;
    std::string missing;
    std::vector<int> threads;
};

std::vector<Group> waiting_in(const Cta &cta) {
    std::vector<Group> groups;
    std::map<std::tuple<std::uintptr_t, std::string, unsigned, std::string>, std::size_t> known;
    for (const Thread &thread : cta.threads) {
        if (thread.finished)
            continue;
        const Origin where = thread.wait.where;
        const std::string missing = thread.wait.describe(thread.wait.missing);
        const auto [found, is_new] = known.try_emplace(
            {where.pc, where.site.file_name(), where.site.line(), missing}, groups.size());
        if (is_new)
            groups.push_back({&cta, where, missing, {}});
        groups[found->second].threads.push_back(thread.number);
    }
    return groups;
}

// "0 to 31, 64": numbers that follow each other are one range; after a few ranges "...".
std::string ranges_of(const std::vector<int> &numbers) {
    constexpr int MOST_RANGES = 4;
    std::string text;
    int ranges = 0;
    for (std::size_t first = 0, last; first < numbers.size(); first = last + 1) {
        last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        text += first == 0 ? "" : ", ";
        if (ranges++ == MOST_RANGES)
            return text + "...";
        text += std::to_string(numbers[first]);
        if (last > first)
            text += " to " + std::to_string(numbers[last]);
    }
    return text;
}

std::string text_of(const Group &group) {
    const std::string missing = ": " + group.missing;
    if (group.threads.size() == 1)
        return format("thread %d of CTA %d", group.threads.front(), group.cta->rank) + missing;
    return format("%zu threads of CTA %d (%s)", group.threads.size(), group.cta->rank,
                  ranges_of(group.threads).c_str()) +
           missing;
}

} // namespace

void fail_with_deadlock(const Cluster &cluster) {
    std::vector<Note> notes;
    for (const std::unique_ptr<Cta> &cta : cluster.ctas) {
        for (const Group &group : waiting_in(*cta))
            notes.push_back(note_at(group.where, text_of(group)));
        if (cta->exited())
            notes.push_back({format("CTA %d has exited", cta->rank), "", 0});
    }
    if (const std::string others = clusters_beside(); !others.empty())
        notes.push_back({others, "", 0});
    fail(Mistake::DEADLOCK,
         anything_pending() ? "no thread can go on, and nothing in flight can complete"
                            : "no thread can go on and nothing is in flight",
         notes);
}

} // namespace emulator
