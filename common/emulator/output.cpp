#include "emulator/output.h"

#include "emulator/machine.h"

#include <algorithm>
#include <vector>

namespace emulator {

namespace {

constexpr std::size_t ELEMENT = 2; // bytes that one number of a writer stands for

// Who wrote, without what may be gone when the report is made.
struct OutputWriter {
    int thread, cta, cluster;
    Site site;
    std::uintptr_t pc; // 0: the site says where
};

const char *first = nullptr;
std::vector<std::uint32_t> written; // per element: number of its writer, from 1 on; 0: none yet
std::vector<OutputWriter> writers;

bool same(const OutputWriter &one, const OutputWriter &other) {
    return one.thread == other.thread && one.cta == other.cta && one.cluster == other.cluster &&
           one.pc == other.pc && one.site.line() == other.site.line() &&
           one.site.file_name() == other.site.file_name();
}

Note note_of(const OutputWriter &writer, const char *did) {
    const std::string who = format("thread %d of CTA %d of cluster %d %s", writer.thread,
                                   writer.cta, writer.cluster, did);
    if (writer.pc == 0)
        return note_at(writer.site, who);
    const Place place = places_of({writer.pc}).front();
    return {who, place.file, place.line};
}

void mark(const OutputWriter &writer, const void *address, std::size_t bytes) {
    const std::ptrdiff_t offset = static_cast<const char *>(address) - first;
    const std::size_t begin = static_cast<std::size_t>(offset) / ELEMENT;
    if (offset < 0 || begin >= written.size() || bytes == 0)
        return;
    if (writers.empty() || !same(writers.back(), writer))
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

OutputWriter writer_of(const Thread &thread, Site site, std::uintptr_t pc) {
    return {thread.number, thread.cta->rank, thread.cta->cluster->index, site, pc};
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

void output_written(const Thread &thread, const void *address, std::size_t bytes, Site where) {
    mark(writer_of(thread, where, 0), address, bytes);
}

void output_written(const Thread &thread, const void *address, std::size_t bytes,
                    std::uintptr_t pc) {
    mark(writer_of(thread, Site{}, pc), address, bytes);
}

} // namespace emulator
