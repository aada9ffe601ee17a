#include "mbarrier_table.h"

#include <cctype>
#include <cstdlib>

namespace emulator {

namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Where the bracket that closes at `close` opens, or npos.
std::size_t opening_of(const std::string &text, std::size_t close) {
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
        depth += text[i] == ']';
        depth -= text[i] == '[';
        if (depth == 0)
            return i;
    }
    return std::string::npos;
}

// What ends just before `end`: a name, maybe with [an index].
BarrierName name_before(const std::string &text, std::size_t end) {
    BarrierName found;
    while (end > 0 && text[end - 1] == ' ')
        --end;
    if (end > 0 && text[end - 1] == ']') {
        const std::size_t open = opening_of(text, end - 1);
        if (open == std::string::npos)
            return found;
        const std::string index = text.substr(open + 1, end - open - 2);
        found.indexed = true;
        if (!index.empty() && index.find_first_not_of("0123456789") == std::string::npos)
            found.index = std::atoi(index.c_str());
        end = open;
    }
    std::size_t begin = end;
    while (begin > 0 && is_name_character(text[begin - 1]))
        --begin;
    found.name = text.substr(begin, end - begin);
    return found;
}

// Where the argument that begins at `begin` ends.
std::size_t end_of_argument(const std::string &text, std::size_t begin) {
    int depth = 0;
    for (std::size_t i = begin; i < text.size(); ++i) {
        const char c = text[i];
        if (depth == 0 && (c == ',' || c == ')'))
            return i;
        depth += c == '(' || c == '[';
        depth -= c == ')' || c == ']';
    }
    return text.size();
}

} // namespace

BarrierName barrier_name_in(const std::string &line) {
    const std::size_t method = line.find(".init(");
    if (method != std::string::npos)
        return name_before(line, method);
    const std::size_t call = line.find("init(");
    if (call == std::string::npos)
        return {};
    const std::size_t begin = call + 5;
    return name_before(line, end_of_argument(line, begin));
}

} // namespace emulator
