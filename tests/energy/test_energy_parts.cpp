// bench/energy's program on the emulator, with a meter that reads none: under all fixed policies
// every part ends, without a hazard, multiplies and moves what it says, and writes D or leaves it
// alone as it says. One that waited for ever would cost a GPU's time; the emulator ends the program
// and says who waits for whom. What ptxas makes of the source is tested by tests/energy_code.py.
#include "energy/parts.h"

#include "emulator/emulator.h"
extern "C" {
#include "harness/gpu/meter.h"
}

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

// bench/energy/energy.c's step_main().
extern "C" int energy_main(const step *rung, int argc, char **argv);

namespace {

// Six tiles, two over D's edge; more k-tiles than stages.
constexpr int SIZE = 512, TILES_M = 2, TILES = 6;
constexpr int BM = 256, BN = 200, BK = 64, STAGES = 3, MMA_M = 64, MMA_K = 16;
const char SIZE_WORD[] = "512", JSON[] = "build/tests/energy/energy-part.json";

// What each part's words say that it does: written down here once more, so that a kernel and its
// own counts cannot be wrong together.
enum class Loads { NOTHING, ONCE, ALL };
struct Description {
    int mmas; // that a block of 64 rows takes side by side; 0: it does not multiply
    Loads loads;
};
const std::map<std::string, Description> DESCRIPTIONS = {
    {"whole", {1, Loads::ALL}},
    {"no-store", {1, Loads::ALL}},
    {"no-dram", {1, Loads::ALL}},
    {"no-loads", {1, Loads::ONCE}},
    {"multiply", {1, Loads::ONCE}},
    {"multiply-n104", {2, Loads::ONCE}},
    {"multiply-n40", {5, Loads::ONCE}},
    {"multiply-a-registers", {1, Loads::ONCE}},
    {"multiply-half", {1, Loads::ONCE}},
    {"multiply-zeros", {1, Loads::ONCE}},
    {"whole-three-quarters", {1, Loads::ALL}},
    {"whole-half", {1, Loads::ALL}},
    {"loads", {0, Loads::ALL}},
    {"loads-l2", {0, Loads::ALL}},
    {"loads-l2-apart", {0, Loads::ALL}},
    {"waiting", {0, Loads::NOTHING}},
};

emulator_counts counted; // of the last launch of the part

// Bytes of A and B of the first tiles: of those at D's edge what lies inside it. All rows of tiles
// fit into one strip.
double bytes_loaded(int tiles, int k_tiles) {
    int rows = 0;
    for (int i = 0; i < tiles; ++i)
        rows += std::min(BM, SIZE - i % TILES_M * BM) + std::min(BN, SIZE - i / TILES_M * BN);
    return double(rows) * k_tiles * BK * 2;
}

// A number of the file that the program wrote.
double recorded(const std::string &json, const char *name) {
    const size_t at = json.find(std::string("\"") + name + "\": ");
    return at == std::string::npos ? -1 : std::atof(&json[json.find(' ', at)]);
}

// True if the last launch multiplied and moved what the part's description says, and the counts in
// the file say the same. Else a line has been printed for each that differs.
bool does_what_it_says(const part &part, const std::string &json) {
    const Description wanted = DESCRIPTIONS.at(part.name);
    // What lies over D's edge is multiplied too. Of wgmmas the file says nothing.
    const double wgmmas = wanted.mmas * double(TILES) * (BM / MMA_M) * (SIZE / MMA_K);
    const double loaded = wanted.loads == Loads::ALL    ? bytes_loaded(TILES, SIZE / BK)
                          : wanted.loads == Loads::ONCE ? bytes_loaded(int(counted.ctas), STAGES)
                                                        : 0;
    const struct {
        const char *what;
        double said, counted, wanted;
    } rows[] = {
        {"multiply-adds", recorded(json, "flop") / 2, double(counted.multiply_adds),
         wanted.mmas > 0 ? double(TILES) * BM * BN * SIZE : 0},
        {"wgmmas", double(counted.wgmmas), double(counted.wgmmas), wgmmas},
        {"bytes loaded", recorded(json, "loaded_bytes"), double(counted.tma_read_bytes), loaded},
        {"bytes stored", recorded(json, "stored_bytes"), double(counted.tma_written_bytes),
         part.stores ? SIZE * SIZE * 2.0 : 0},
    };
    bool good = true;
    for (const auto &row : rows)
        if (row.said != row.wanted || row.counted != row.wanted) {
            printf("%s: %.0f wanted, the part says %.0f, the emulator counts %.0f\n", row.what,
                   row.wanted, row.said, row.counted);
            good = false;
        }
    return good;
}

// True if the program ran the part, found D as it has to be, and the part did what it says.
bool right(const step *rung, const part &part) {
    const char *words[] = {"parts",  "--part", part.name, "--size", SIZE_WORD,
                           "--pace", "1e-6",   "--json",  JSON,     nullptr};
    std::remove(JSON);
    if (energy_main(rung, int(std::size(words)) - 1, const_cast<char **>(words)) != 0)
        return false;
    std::ifstream file(JSON);
    const std::string json{std::istreambuf_iterator<char>(file), {}};
    return json.find(part.what) != std::string::npos &&
           (part.kind != PART_KERNEL || does_what_it_says(part, json));
}

} // namespace

// Launches on both copies of the operands.
void meter(const device *, const metered_work *work, double, double, metered *result) {
    for (size_t number = 0; work->launch != nullptr && number < 2; ++number)
        work->launch(work->context, number);
    emulator_get_counts(&counted);
    result->edges.count = 12; // enough for the program
}

// What the rung's main() calls.
int step_main(const step *rung, int, char **) {
    int failed = 0;
    for (size_t policy = 0; policy < emulator_fixed_policies(); ++policy) {
        const char *name = emulator_policies()[policy];
        emulator_choose_policy(name, 0);
        for (size_t i = 0; i < parts_count; ++i) {
            if (parts[i].kind == PART_ONE_SM) // it looks at a clock, which does not move here
                continue;
            const bool good = right(rung, parts[i]);
            printf("%s - energy: the part %s, policy %s%s\n", good ? "ok" : "not ok", parts[i].name,
                   name, good ? "" : ": it failed, does not what it says, or D is wrong");
            fflush(stdout);
            failed += !good;
        }
    }
    return failed > 0;
}
