// From machine code to lines of source, by addr2line.
#include "emulator/report.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <span>

#include <link.h>
#include <unistd.h>

extern "C" const char __executable_start[]; // the linker defines it

namespace emulator {

namespace {

// The offset of the program in memory from its file's addresses: 0 unless it is
// position-independent.
std::uintptr_t load_base() {
    const auto *program = reinterpret_cast<const ElfW(Ehdr) *>(__executable_start);
    return program->e_type == ET_DYN ? reinterpret_cast<std::uintptr_t>(program) : 0;
}

// "file:12 (discriminator 3)" or "??:0". A path inside the working directory is relative to it, as
// the compiler was given it.
Place parse_place(const std::string &line) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos || line.starts_with("??"))
        return {};
    char here[PATH_MAX];
    const std::string folder = getcwd(here, sizeof here) != nullptr ? here + std::string("/") : "";
    const std::size_t begin = line.starts_with(folder) ? folder.size() : 0;
    return {line.substr(begin, colon - begin), std::atoi(line.c_str() + colon + 1)};
}

bool is_kernel_source(const Place &place) {
    return place.line > 0 && !is_ours(place.file) && !place.file.starts_with("/usr/include") &&
           !place.file.starts_with("/usr/lib");
}

// Asks for some of them. addr2line -a -i prints for each address the address, then a line for each
// inlined call, the innermost first.
void ask(std::span<const std::uintptr_t> pcs, std::vector<Place> &places) {
    std::string command = format("addr2line -a -i -e /proc/%d/exe 2>/dev/null", int(getpid()));
    const std::uintptr_t base = load_base();
    for (const std::uintptr_t pc : pcs) // the byte before the return address belongs to the call
        command += format(" 0x%llx", static_cast<unsigned long long>(pc - 1 - base));
    FILE *const answer = popen(command.c_str(), "r");
    if (answer == nullptr)
        return;
    bool is_first = false;
    for (char line[PATH_MAX]; std::fgets(line, sizeof line, answer) != nullptr;) {
        if (std::string_view(line).starts_with("0x")) {
            places.emplace_back();
            is_first = true;
            continue;
        }
        const Place place = parse_place(line);
        if (is_first || (is_kernel_source(place) && !is_kernel_source(places.back())))
            places.back() = place;
        is_first = false;
    }
    pclose(answer);
}

} // namespace

bool is_ours(const std::string &file) {
    for (const char *folder : {"common/", "emulator/include/", "emulator/src/"})
        if (file.find(folder) != std::string::npos)
            return true;
    return false;
}

std::vector<Place> places_of(const std::vector<std::uintptr_t> &pcs) {
    constexpr std::size_t MOST_AT_ONCE = 4096; // on one command line
    std::vector<Place> places;
    for (std::size_t first = 0; first < pcs.size(); first += MOST_AT_ONCE) {
        const std::size_t count = std::min(MOST_AT_ONCE, pcs.size() - first);
        ask(std::span(pcs).subspan(first, count), places);
        places.resize(first + count);
    }
    return places;
}

} // namespace emulator
