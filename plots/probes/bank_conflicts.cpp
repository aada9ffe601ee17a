// What a rung's lines touch in shared memory. Linked with a rung in place of the harness: its
// step_main runs the rung's kernel once on the emulator and writes down the worst access of every
// line, with the address of each lane.
//
//   bank_conflicts-RUNG OUT.json M N K
#include "probe.cuh"

#include "emulator/accesses.h"
#include "step.h"

#include <fstream>

constexpr int LINE_BYTES = 128; // all banks once

// The text of a line of source, without the blanks around it.
static std::string source_text(const std::string &path, int line) {
    std::ifstream file(path);
    std::string text;
    for (int i = 0; i < line; ++i)
        if (!std::getline(file, text))
            give_up("there is no line " + std::to_string(line) + " in " + path);
    const size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first);
}

// Offsets from the first line of 128 bytes that the lanes touch.
static void write_lanes(Report &report, const emulator::WarpAccess &access) {
    std::vector<int> lanes, offsets;
    for (int lane = 0; lane < WARP_THREADS; ++lane)
        if (access.lanes >> lane & 1) {
            lanes.push_back(lane);
            offsets.push_back(int(access.offsets[lane]));
        }
    const int lowest = *std::min_element(offsets.begin(), offsets.end());
    for (int &offset : offsets)
        offset -= lowest / LINE_BYTES * LINE_BYTES;
    report.numbers("lanes", lanes);
    report.numbers("offsets", offsets);
}

static void write(Report &report, const emulator::AccessSite &site) {
    report.text("source", source_text(site.file, site.line));
    report.text("access", site.is_write ? "write" : "read");
    report.number("bytes", site.bytes);
    report.number("instructions", site.instructions);
    report.number("passes", site.wavefronts);
    report.number("passes_needed", site.ideal);
    report.number("worst_ways", site.worst_ways);
    write_lanes(report, site.worst);
}

// Zeros in, whatever comes out: the addresses do not depend on the operands.
static void run(const step *step, int m, int n, int k) {
    const size_t words = size_t(m) * n + size_t(m + n) * k;
    const Array<float> a(words), b(words), d(words);
    const problem p = {.a = a.device,
                       .b = b.device,
                       .c = nullptr,
                       .d = d.device,
                       .alpha = 1,
                       .beta = 0,
                       .m = m,
                       .n = n,
                       .k = k,
                       .stream = nullptr};
    void *state = nullptr;
    const int failed = step->prepare(&p, &state) || step->launch(&p, state);
    if (state != nullptr)
        step->release(state);
    if (failed)
        give_up(std::string(step->name) + " could not be launched");
}

int step_main(const step *step, int argc, char **argv) {
    if (argc != 5)
        give_up(std::string("usage: bank_conflicts-") + step->name + " OUT.json M N K");
    run(step, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    Report report(argv[1]);
    int number = 0;
    for (const emulator::AccessSite &site : emulator::access_sites()) {
        report.begin(std::to_string(number++));
        write(report, site);
        report.end();
    }
    report.finish();
    return 0;
}
