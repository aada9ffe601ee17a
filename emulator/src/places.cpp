// From machine code to lines of source, by addr2line.
#include "emulator/report.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace emulator {

namespace {

constexpr std::size_t MOST_AT_ONCE = 4096; // addresses on one command line

// The offset of the program in memory from its file's addresses: 0 unless it is
// position-independent.
std::uintptr_t load_base() {
    std::uintptr_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *found) {
            *static_cast<std::uintptr_t *>(found) = info->dlpi_addr;
            return 1; // the program itself comes first
        },
        &base);
    return base;
}

std::string read_link(const char *link) {
    char path[4096];
    const ssize_t length = readlink(link, path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

// The output of a program, empty if it cannot be run. Its stderr is dropped.
std::string output_of(const std::vector<std::string> &words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return "";
    std::vector<char *> arguments;
    for (const std::string &word : words)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    const int failed =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string output;
    char part[4096];
    for (ssize_t now; failed == 0 && (now = read(ends[0], part, sizeof part)) > 0;)
        output.append(part, static_cast<std::size_t>(now));
    close(ends[0]);
    if (failed == 0)
        waitpid(child, nullptr, 0);
    return output;
}

// The path relative to the working directory, if it is inside: as the compiler was given it.
std::string shorten(const std::string &file) {
    const std::string here = read_link("/proc/self/cwd") + "/";
    return here.size() > 1 && file.compare(0, here.size(), here) == 0 ? file.substr(here.size())
                                                                      : file;
}

// "file:12 (discriminator 3)" or "??:0".
Place parse_place(const std::string &line) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos || line.compare(0, 2, "??") == 0)
        return {};
    return {shorten(line.substr(0, colon)), std::atoi(line.c_str() + colon + 1)};
}

bool is_kernel_source(const Place &place) {
    return place.line > 0 && !is_ours(place.file) &&
           place.file.compare(0, 12, "/usr/include") != 0 &&
           place.file.compare(0, 8, "/usr/lib") != 0;
}

// addr2line -a -i prints for each address the address, then a line for each inlined call, the
// innermost first.
void parse(const std::string &output, std::vector<Place> &places) {
    std::optional<Place> chosen;
    for (std::size_t begin = 0; begin < output.size();) {
        const std::size_t end = std::min(output.find('\n', begin), output.size());
        const std::string line = output.substr(begin, end - begin);
        begin = end + 1;
        if (line.compare(0, 2, "0x") == 0) {
            places.emplace_back();
            chosen.reset();
            continue;
        }
        const Place place = parse_place(line);
        if (places.empty() || (chosen && (is_kernel_source(*chosen) || !is_kernel_source(place))))
            continue;
        chosen = place;
        places.back() = place;
    }
}

void ask(const std::string &program, const std::vector<std::uintptr_t> &pcs, std::size_t first,
         std::vector<Place> &places) {
    const std::uintptr_t base = load_base();
    const std::size_t end = std::min(first + MOST_AT_ONCE, pcs.size());
    std::vector<std::string> words = {"addr2line", "-a", "-i", "-e", program};
    // The byte before the return address belongs to the call.
    for (std::size_t i = first; i < end; ++i)
        words.push_back(format("0x%llx", static_cast<unsigned long long>(pcs[i] - 1 - base)));
    parse(output_of(words), places);
    places.resize(end);
}

} // namespace

bool is_ours(const std::string &file) {
    for (const char *folder : {"common/", "emulator/include/", "emulator/src/"})
        if (file.find(folder) != std::string::npos)
            return true;
    return false;
}

std::vector<Place> places_of(const std::vector<std::uintptr_t> &pcs) {
    const std::string program = read_link("/proc/self/exe");
    std::vector<Place> places;
    for (std::size_t first = 0; first < pcs.size(); first += MOST_AT_ONCE)
        ask(program, pcs, first, places);
    return places;
}

} // namespace emulator
