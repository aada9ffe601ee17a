#include "mbarrier_name.h"

#include <cctype>
#include <cstdlib>

namespace emulator {

namespace {

// The last name of an expression, and its [index], if it is a number. An argument ends where its
// comma or parenthesis is.
BarrierName last_name(const std::string &text, bool is_argument) {
    BarrierName found;
    bool goes_on = false; // the name
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (is_argument && depth == 0 && (c == ',' || c == ')'))
            break;
        const bool in_name = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
        if (depth == 0 && in_name) {
            if (!goes_on)
                found = {};
            found.name += c;
        } else if (depth == 0 && c == '[') {
            found.indexed = true;
            const std::size_t close = text.find_first_not_of("0123456789", i + 1);
            if (close > i + 1 && close < text.size() && text[close] == ']')
                found.index = std::atoi(&text[i + 1]);
        }
        goes_on = depth == 0 && in_name;
        depth += c == '(' || c == '[';
        depth -= c == ')' || c == ']';
    }
    return found;
}

} // namespace

BarrierName barrier_name_in(const std::string &line) {
    const std::size_t method = line.find(".init("), call = line.find("init(");
    if (method != std::string::npos)
        return last_name(line.substr(0, method), false);
    return call != std::string::npos ? last_name(line.substr(call + 5), true) : BarrierName{};
}

} // namespace emulator
