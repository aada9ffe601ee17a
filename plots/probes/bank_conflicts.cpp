// What a rung's lines touch in shared memory: bank_conflicts-RUNG M N K. Linked with a rung in
// place of the harness: its step_main runs the rung's kernel once on the emulator and prints for
// each of the rung's lines: its number, read or write, how often a warp ran it, the passes that
// took and would have taken without conflicts, and of the worst access a lane's bytes and where
// each lane begins, counted from the first 128 bytes touched.
#include "cells.h"
#include "device/launch.cuh"
#include "step.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

constexpr unsigned LINE_BYTES = 128; // all banks once

[[noreturn]] static void give_up(const std::string &why) {
    std::cerr << why << '\n';
    exit(1);
}

static float *zeros(size_t count) { return upload_array(std::vector<float>(count).data(), count); }

static void print(const emulator_access_site &site) {
    const uint32_t lowest = *std::min_element(site.worst, site.worst + WARP_THREADS);
    std::cout << site.line << (site.is_write ? " write " : " read ") << site.instructions << ' '
              << site.wavefronts << ' ' << site.ideal << ' ' << site.bytes;
    for (int lane = 0; lane < WARP_THREADS; ++lane)
        std::cout << ' ' << site.worst[lane] - lowest / LINE_BYTES * LINE_BYTES;
    std::cout << '\n';
}

// Zeros in, whatever comes out: the addresses do not depend on the operands.
int step_main(const step *step, int argc, char **argv) {
    if (argc != 4)
        give_up(std::string("usage: bank_conflicts-") + step->name + " M N K");
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
    const size_t words = size_t(m) * n + size_t(m + n) * k;
    float *a = zeros(words), *b = zeros(words), *d = zeros(words);
    const problem p = {.a = a, .b = b, .d = d, .alpha = 1, .m = m, .n = n, .k = k};
    void *state = nullptr;
    if (step->prepare(&p, &state) || step->launch(&p, state))
        give_up(std::string(step->name) + " could not be launched");
    if (state != nullptr)
        step->release(state);
    for (const emulator_access_site &site : emulator::access_sites())
        if (std::string(site.file).find(std::string("/") + step->name) != std::string::npos)
            print(site);
    return 0;
}
