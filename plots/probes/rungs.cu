// How some rungs of the v track divide their work, by their own constants, and the order in which
// v14 and v16 compute the tiles of D of m = n = k = SIZE, with what the next wave reads again:
// rungs SIZE SMS.
#include "probe.cuh"

#include "device/barrier.cuh"
#include "device/cluster.cuh"
#include "device/fragment.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/stmatrix.cuh"
#include "device/tile_schedule.h"
#include "device/tma.cuh"
#include "device/vector.cuh"
#include "device/wgmma.cuh"
#include "step.h"

// All that the rungs include is above: inside the namespaces nothing is included twice.
namespace v05 {
#include "../../steps/v05_two_consumers.cu"
}
namespace v07 {
#include "../../steps/v07_mbarrier.cu"
}
namespace v08 {
#include "../../steps/v08_cluster_multicast.cu"
}
namespace v14 {
#include "../../steps/v14_l2_hints.cu"
}
namespace v16 {
#include "../../steps/v16_tall_tile.cu"
}

// The rungs' main functions call it. They are not called.
int step_main(const step *, int, char **) { return 2; }

struct Facts {
    const char *rung;
    int tile_m, tile_n, bk, stages, consumers, threads;
    int producer_registers, consumer_registers; // of a thread, after setmaxnreg
    int sums;                                   // registers of a consumer's thread
    int cluster;                                // CTAs
    size_t a_bytes, b_bytes;                    // of a stage
    size_t d_bytes;                             // of the staging memory
};
#define FACTS(name, rung, sums, cluster, d_bytes)                                                  \
    {                                                                                              \
        name, rung::BM, rung::BN, rung::BK, rung::STAGES, rung::CONSUMERS, rung::THREADS,          \
            rung::PRODUCER_REGISTERS, rung::CONSUMER_REGISTERS, sums, cluster,                     \
            sizeof(rung::SharedStorage::a) / rung::STAGES,                                         \
            sizeof(rung::SharedStorage::b) / rung::STAGES, d_bytes                                 \
    }

static void write(Answer &answer, const Facts &facts) {
    answer.begin(facts.rung);
    answer.number("tile_m", facts.tile_m);
    answer.number("tile_n", facts.tile_n);
    answer.number("bk", facts.bk);
    answer.number("stages", facts.stages);
    answer.number("consumers", facts.consumers);
    answer.number("threads", facts.threads);
    answer.number("producer_registers", facts.producer_registers);
    answer.number("consumer_registers", facts.consumer_registers);
    answer.number("sums", facts.sums);
    answer.number("cluster", facts.cluster);
    answer.number("a_bytes", facts.a_bytes);
    answer.number("b_bytes", facts.b_bytes);
    answer.number("d_bytes", facts.d_bytes);
    answer.end();
}

// The order that a rung's own make_order() gives its CTAs.
static void write_order(Answer &answer, const std::string &name, const scheduled_tile *order,
                        int tiles, int ctas) {
    std::vector<int> m, n, row_again, column_again;
    for (int i = 0; i < tiles; ++i) { // the emulator's device memory is the host's
        m.push_back(order[i].at.m);
        n.push_back(order[i].at.n);
        row_again.push_back(order[i].row_again);
        column_again.push_back(order[i].column_again);
    }
    answer.begin(name);
    answer.number("workers", ctas);
    answer.numbers("m", m);
    answer.numbers("n", n);
    answer.numbers("row_again", row_again);
    answer.numbers("column_again", column_again);
    answer.end();
}

#define ORDER(answer, rung, size, sms)                                                             \
    do {                                                                                           \
        const int tiles_m = ceil_div(size, rung::BM), tiles_n = ceil_div(size, rung::BN);          \
        const int ctas = balanced_workers(tiles_m * tiles_n, sms);                                 \
        scheduled_tile *order = rung::make_order(tiles_m, tiles_n, ctas);                          \
        write_order(answer, #rung " order", order, tiles_m *tiles_n, ctas);                        \
        release_array(order);                                                                      \
    } while (0)

int main(int argc, char **argv) {
    if (argc != 3)
        give_up("usage: rungs SIZE SMS");
    const int size = atoi(argv[1]), sms = atoi(argv[2]);
    const Facts facts[] = {
        FACTS("v05", v05, v05::MMA_N / 2, 1, 0),
        FACTS("v07", v07, v07::MMA_N / 2, 1, 0),
        FACTS("v08", v08, v08::MMA_N / 2, v08::CLUSTER, 0),
        FACTS("v14", v14, v14::MMA_N / 2, 1, sizeof(v14::SharedStorage::d)),
        FACTS("v16", v16, v16::BLOCKS * v16::MMA_N / 2, 1, sizeof(v16::SharedStorage::d)),
    };
    Answer answer;
    for (const Facts &of_rung : facts)
        write(answer, of_rung);
    ORDER(answer, v14, size, sms);
    ORDER(answer, v16, size, sms);
    return 0;
}
