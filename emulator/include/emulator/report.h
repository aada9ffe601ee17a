// The emulator's reports: one line with the kind of mistake, then which thread, where, and the line
// of source. Reports go to stderr, start with the program's prefix, and end the program with exit
// status 1.
#pragma once

#include "emulator/site.h"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emulator {
struct Thread;

// The kinds of mistakes. The word of each is the second of the report's first line:
// "<prefix>: deadlock: no thread can go on ...".
enum class Mistake {
    DEADLOCK, // no thread can go on
    HAZARD,   // an access that some legal order of events makes wrong
    RACE,     // two accesses of threads that nothing orders
    LIFETIME, // a barrier or memory used before it is ready or after it is gone
    MISUSE,   // an argument or a call that the PTX manual forbids
    ADDRESS   // an access outside of what the kernel may touch
};

// Where in the kernel something was done: a source line that the call passes or, for a plain
// access, the return address of a call that the compiler inserted.
struct Origin {
    Site site{};
    std::uintptr_t pc = 0; // 0: the site says where

    Origin(Site site) : site(site) {}
    Origin(std::uintptr_t pc) : pc(pc) {}
    bool operator==(const Origin &other) const {
        return pc == other.pc && (pc != 0 || (site.line() == other.site.line() &&
                                              site.file_name() == other.site.file_name() &&
                                              site.pc == other.site.pc));
    }
};

// A place in a source file. `file` as the compiler was given it, line 0 if unknown.
struct Place {
    std::string file;
    int line = 0;
};

// A further line of a report: what, and the line of source it happened at, if known.
struct Note {
    std::string text;
    std::string file{}; // empty: unknown
    int line = 0;
    Place caller{}; // where user code called the function that this line is in, if it is a helper
};

// A note about what `thread` did there: "thread 128 of CTA 1 (warp 4, lane 0) arrived here".
Note note_at(const Thread &thread, const Origin &where, const char *did);
Note note_at(const Origin &where, const std::string &text);

// Where machine code came from: of the inlined calls at pc the innermost one that is not ours. It
// asks addr2line, which comes with the compiler; without it the line is 0. The line that is known
// does not count.
std::vector<Place> places_of(const std::vector<std::uintptr_t> &pcs, int known = 0);

// The text of a line of source without its indentation, or "" if the file cannot be read.
std::string source_text(const std::string &file, int line);

// Prints the report and ends the program. The first line says what is wrong, as printf does; the
// notes follow, each with its place and the text of that line. A thread that is running is named in
// the first line.
[[noreturn]] void fail(Mistake mistake, const std::vector<Note> &notes, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
// The same with one note: what the current thread did at `where`.
[[noreturn]] void fail(Mistake mistake, const Origin &where, const char *did, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
// The same of a MISUSE that the current thread called at `where`.
[[noreturn]] void reject(const Origin &where, const char *what, ...)
    __attribute__((format(printf, 2, 3)));

// Prints the report alone.
void warn(Mistake mistake, const std::string &what, const std::vector<Note> &notes);

// What is no mistake of the program's: prints it, with %m as errno's words, and ends with status 2.
[[noreturn]] void give_up(const char *what, ...) __attribute__((format(printf, 1, 2)));

// Prints one line: "<prefix>: KIND: WHAT".
void say(const char *kind, const std::string &what);

// What kind of thread it is, for a sentence: "thread 128 of CTA 1 (warp 4, lane 0)".
std::string name_of(const Thread &thread);

// printf into a string.
std::string format(const char *format, ...) __attribute__((format(printf, 1, 2)));
std::string printed(const char *format, std::va_list arguments);
} // namespace emulator
