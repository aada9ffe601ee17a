#include "emulator/report.h"

#include "emulator/emulator.h"
#include "machine.h"
#include "policy.h"
#include "strictness.h"

#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <unistd.h>

namespace emulator {

namespace {

const char *report_prefix = "emulator";

const char *word_for(Mistake mistake) {
    static constexpr const char *WORDS[] = {"deadlock", "hazard", "race",
                                            "lifetime", "misuse", "address"};
    return WORDS[static_cast<int>(mistake)];
}

// Who runs, for the end of the first line.
std::string who_runs() {
    if (current == nullptr)
        return "";
    std::string who = ": " + name_of(*current);
    const Cluster *cluster = current->cta->cluster;
    if (cluster != nullptr && cluster->count > 1)
        who += format(", cluster %d of %d", cluster->index, cluster->count);
    return who;
}

// Whether a name goes on with it: a longer one, or a file's.
bool goes_on(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/';
}

// The rungs' functions by the names that PTX has for what they do.
std::string in_ptx(std::string text) {
    static constexpr const char *NAMES[][2] = {{"bulk_wait_read", "cp.async.bulk.wait_group.read"},
                                               {"bulk_wait", "cp.async.bulk.wait_group"},
                                               {"bulk_commit", "cp.async.bulk.commit_group"},
                                               {"cp_async_wait", "cp.async.wait_group"},
                                               {"wgmma_fence", "wgmma.fence"},
                                               {"wgmma_wait", "wgmma.wait_group"},
                                               {"wgmma_commit", "wgmma.commit_group"},
                                               {"wait_for_launch_before", "griddepcontrol.wait"}};
    for (const auto &[name, instruction] : NAMES)
        for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at) {
            const std::size_t end = at + std::strlen(name);
            if ((at == 0 || !goes_on(text[at - 1])) && !goes_on(text.c_str()[end]))
                text.replace(at, end - at, instruction);
        }
    return text;
}

std::string worded(const std::string &text) { return translated_program ? in_ptx(text) : text; }

std::string lines_of(const Note &note) {
    std::string lines = "  " + worded(note.text) + "\n";
    if (note.file.empty())
        return lines;
    lines += "    " + note.file;
    if (note.line > 0)
        lines += format(":%d", note.line);
    const std::string text = source_text(note.file, note.line);
    return lines + (text.empty() ? "" : "  " + text) + "\n";
}

void print(const std::string &text) {
    std::fflush(stdout);
    std::fputs(text.c_str(), stderr);
}

} // namespace

std::string name_of(const Thread &thread) {
    return format("thread %d of CTA %d (warp %d, lane %d)", thread.number, thread.cta->rank,
                  thread.warp(), thread.lane());
}

Note note_at(const Origin &where, const std::string &text) {
    if (where.pc == 0)
        return {text, where.site.file_name(), static_cast<int>(where.site.line())};
    const Place place = places_of({where.pc}).front();
    return {text, place.file, place.line};
}

Note note_at(const Thread &thread, const Origin &where, const char *did) {
    return note_at(where, name_of(thread) + " " + did);
}

std::string source_text(const std::string &file, int line) {
    std::ifstream source(file);
    std::string text;
    for (int i = 0; i < line; ++i)
        if (!std::getline(source, text))
            return "";
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first);
}

void warn(Mistake mistake, const std::string &what, const std::vector<Note> &notes) {
    std::string report =
        format("%s: %s: ", report_prefix, word_for(mistake)) + worded(what) + who_runs() + "\n";
    for (const Note &note : notes)
        report += lines_of(note);
    report += format("  under the policy %s", policy().name);
    if (policy().random)
        report += format(" with seed %llu", static_cast<unsigned long long>(policy().seed));
    report += "\n";
    print(report);
}

void say(const char *kind, const std::string &what) {
    print(format("%s: %s: ", report_prefix, kind) + what + "\n");
}

void fail(Mistake mistake, const std::string &what, const std::vector<Note> &notes) {
    warn(mistake, what, notes);
    _exit(1);
}

void fail(Mistake mistake, const std::string &what, const Origin &where, const char *did) {
    fail(mistake, what, {note_at(*current, where, did)});
}

std::string format(const char *format, ...) {
    std::va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
    std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    return text;
}

} // namespace emulator

void emulator_report_prefix(const char *prefix) { emulator::report_prefix = prefix; }
