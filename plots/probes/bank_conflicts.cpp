// What a rung's lines touch in shared memory: bank_conflicts-RUNG M N K. Linked with a rung in
// place of the harness: its step_main runs the rung's kernel once on the emulator and prints the
// worst access of every line, with where each lane begins, counted from the first 128 bytes
// touched.
#include "probe.cuh"

#include "bank_conflicts.h"
#include "step.h"

constexpr unsigned LINE_BYTES = 128; // all banks once

static void write(Answer &answer, const emulator::AccessSite &site) {
    std::vector<uint32_t> offsets(site.worst.offsets, site.worst.offsets + WARP_THREADS);
    if (~site.worst.lanes != 0)
        give_up("not all lanes take part in line " + std::to_string(site.line));
    const uint32_t lowest = *std::min_element(offsets.begin(), offsets.end());
    for (uint32_t &offset : offsets)
        offset -= lowest / LINE_BYTES * LINE_BYTES;
    answer.text("file", site.file);
    answer.number("line", site.line);
    answer.text("access", site.is_write ? "write" : "read");
    answer.number("bytes", site.bytes);
    answer.number("instructions", site.instructions);
    answer.number("passes", site.wavefronts);
    answer.number("passes_needed", site.ideal);
    answer.number("worst_ways", site.worst_ways);
    answer.numbers("offsets", offsets);
}

// Zeros in, whatever comes out: the addresses do not depend on the operands.
int step_main(const step *step, int argc, char **argv) {
    if (argc != 4)
        give_up(std::string("usage: bank_conflicts-") + step->name + " M N K");
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
    const size_t words = size_t(m) * n + size_t(m + n) * k;
    const Array<float> a(words), b(words), d(words);
    const problem p = {
        .a = a.device, .b = b.device, .d = d.device, .alpha = 1, .m = m, .n = n, .k = k};
    void *state = nullptr;
    if (step->prepare(&p, &state) || step->launch(&p, state))
        give_up(std::string(step->name) + " could not be launched");
    if (state != nullptr)
        step->release(state);
    Answer answer;
    int number = 0;
    for (const emulator::AccessSite &site : emulator::access_sites()) {
        answer.begin(std::to_string(number++));
        write(answer, site);
        answer.end();
    }
    return 0;
}
