#include "global_writes.h"

#include "machine.h"

#include <algorithm>
#include <vector>

namespace emulator {

// ---------------------------------------------------------------------------- the output

namespace {

constexpr std::size_t ELEMENT = 2; // bytes per entry of `written`

// The writer, without pointers that may be invalid when the report is made.
struct OutputWriter {
    int thread, cta, cluster;
    Origin where;

    bool operator==(const OutputWriter &) const = default;
};

const char *first = nullptr;
std::vector<std::uint32_t> written; // per element: number of its writer, from 1 on; 0: none yet
std::vector<OutputWriter> writers;

Note note_of(const OutputWriter &writer, const char *did) {
    const std::string who = format("thread %d of CTA %d of cluster %d %s", writer.thread,
                                   writer.cta, writer.cluster, did);
    return note_at(writer.where, who);
}

} // namespace

void output_watch(const void *begin, std::size_t bytes) {
    first = static_cast<const char *>(begin);
    written.assign((bytes + ELEMENT - 1) / ELEMENT, 0);
}

void output_launch() {
    std::fill(written.begin(), written.end(), 0);
    writers.clear();
}

void output_written(const Thread &thread, const void *address, std::size_t bytes,
                    const Origin &where) {
    const std::ptrdiff_t offset = static_cast<const char *>(address) - first;
    const std::size_t begin = static_cast<std::size_t>(offset) / ELEMENT;
    if (offset < 0 || begin >= written.size() || bytes == 0)
        return;
    const OutputWriter writer = {thread.number, thread.cta->rank, thread.cta->cluster->index,
                                 where};
    if (writers.empty() || writers.back() != writer)
        writers.push_back(writer);
    const auto from = written.begin() + std::ptrdiff_t(begin);
    const auto to =
        from + std::ptrdiff_t(std::min((bytes + ELEMENT - 1) / ELEMENT, written.size() - begin));
    const auto again = std::find_if(from, to, [](std::uint32_t number) { return number != 0; });
    if (again != to)
        fail(Mistake::HAZARD,
             format("the launch writes the output at offset %td twice",
                    (again - written.begin()) * std::ptrdiff_t(ELEMENT)),
             {note_of(writer, "wrote it here"),
              note_of(writers[*again - 1], "had written it here")});
    std::fill(from, to, static_cast<std::uint32_t>(writers.size()));
}

} // namespace emulator
