/* What clangd reads before every C++ source (.clangd): clang has what libstdc++'s
 * std::source_location is made of only from version 16 on. No program includes this. */
#pragma once
#include <version>
#if defined(__clang__) && !defined(__cpp_lib_source_location)
namespace std {
struct source_location {
    static constexpr source_location current() { return {}; }
    constexpr const char *file_name() const { return ""; }
    constexpr const char *function_name() const { return ""; }
    constexpr unsigned line() const { return 0; }
    constexpr unsigned column() const { return 0; }
};
} // namespace std
#endif
