#include "harness/report.h"

#include <inttypes.h>

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* 786432 as "786.4 kB". The text lasts until the next call. */
static const char *bytes_text(uint64_t bytes) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    static char text[32];
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1000 && unit < 4; ++unit) {
        value /= 1000;
    }
    snprintf(text, sizeof text, "%.4g %s", value, units[unit]);
    return text;
}

/* What was moved, by all that moved something: "3.1 MB by TMA in 40 loads, 2 kB by threads". */
static void print_moved(FILE *out, uint64_t by_tma, uint64_t instructions, const char *instruction,
                        uint64_t copied, uint64_t by_threads) {
    print_if(out, by_tma > 0, "%s by TMA in %" PRIu64 " %s%s", bytes_text(by_tma), instructions,
             instruction, plural(instructions));
    print_if(out, copied > 0, "%s%s by cp.async", by_tma > 0 ? ", " : "", bytes_text(copied));
    print_if(out, by_threads > 0, "%s%s by threads", by_tma + copied > 0 ? ", " : "",
             bytes_text(by_threads));
    print_if(out, by_tma + copied + by_threads == 0, "nothing counted");
}

static uint64_t extra_wavefronts(const emulator_access_site *site) {
    return site->wavefronts - site->ideal;
}

/* The lines with conflicts are the first. */
static void print_conflicts(FILE *out, const emulation *emulation) {
    const size_t sites = emulation->sites;
    size_t conflicts = 0;
    while (conflicts < sites && extra_wavefronts(&emulation->site[conflicts]) > 0) {
        ++conflicts;
    }
    print_if(out, sites == 0, "banks      no plain loads or stores of shared memory\n");
    print_if(out, sites > 0 && conflicts == 0,
             "banks      no conflict in the %zu line%s that access%s shared memory\n", sites,
             plural(sites), sites == 1 ? "es" : "");
    print_if(out, conflicts > 0,
             "banks      conflicts in %zu of the %zu line%s that access shared memory:\n"
             "           ways  wavefronts  of them extra  access  line\n",
             conflicts, sites, plural(sites));
    for (size_t i = 0; i < conflicts; ++i) {
        const emulator_access_site *site = &emulation->site[i];
        fprintf(out, "           %4d  %10" PRIu64 "  %13" PRIu64 "  %-6s  %s:%d\n",
                site->worst_ways, site->wavefronts, extra_wavefronts(site),
                site->is_write ? "write" : "read", site->file, site->line);
    }
}

void emulation_print(FILE *out, const emulation *emulation) {
    const emulator_counts *c = &emulation->counts;
    print_if(out, emulation->proof != NULL, "orders     %s\n", emulation->proof);
    fprintf(out, "launch     %" PRIu64 " CTA%s", c->ctas, plural(c->ctas));
    print_if(out, c->clusters < c->ctas, " in %" PRIu64 " cluster%s", c->clusters,
             plural(c->clusters));
    fprintf(out, ", %" PRIu64 " threads; counted under the policy %s\n", c->threads,
            emulation->order);
    fputs("read       ", out);
    print_moved(out, c->tma_read_bytes, c->tma_loads, "load", c->copied_bytes,
                c->global_read_bytes);
    print_if(out, c->multicast_bytes > 0, "; multicast brought %s more to other CTAs",
             bytes_text(c->multicast_bytes));
    fputs("\nwritten    ", out);
    print_moved(out, c->tma_written_bytes, c->tma_stores, "store", 0, c->global_written_bytes);
    fputc('\n', out);
    print_if(out, c->wgmmas + c->mmas == 0, "tensor     not used\n");
    print_if(out, c->wgmmas + c->mmas > 0,
             "tensor     %" PRIu64 " %s instructions, %" PRIu64 " multiply-adds\n",
             c->wgmmas > 0 ? c->wgmmas : c->mmas, c->wgmmas > 0 ? "wgmma" : "mma",
             c->multiply_adds);
    fprintf(out,
            "waits      %" PRIu64 " for mbarriers, %" PRIu64 " of them blocked, with %" PRIu64
            " arrivals; %" PRIu64 " at other barriers, %" PRIu64 " blocked\n",
            c->mbarrier_waits, c->mbarrier_waits_blocked, c->mbarrier_arrivals, c->barrier_waits,
            c->barrier_waits_blocked);
    print_if(out, c->ring_slots > 0,
             "ring       the loads ran at most %" PRIu64 " of %" PRIu64
             " stage%s ahead, %.1f on average\n",
             c->ring_ahead_most, c->ring_slots, plural(c->ring_slots), c->ring_ahead_mean);
    print_conflicts(out, emulation);
}

static void write_counts(json *json, const emulator_counts *c) {
#define COUNT(name) json_integer(json, #name, c->name)
    json_open(json, "counts", '{');
    COUNT(ctas), COUNT(clusters), COUNT(threads);
    COUNT(global_read_bytes), COUNT(global_written_bytes);
    COUNT(tma_read_bytes), COUNT(tma_written_bytes), COUNT(tma_loads), COUNT(tma_stores);
    COUNT(multicast_bytes), COUNT(copied_bytes);
    COUNT(wgmmas), COUNT(mmas), COUNT(multiply_adds);
    COUNT(mbarrier_arrivals), COUNT(mbarrier_waits), COUNT(mbarrier_waits_blocked);
    COUNT(barrier_waits), COUNT(barrier_waits_blocked);
    COUNT(ring_slots), COUNT(ring_ahead_most);
    json_number(json, "ring_ahead_mean", c->ring_ahead_mean, 7);
    json_close(json, '}');
}

void emulation_write(json *json, const emulation *emulation) {
    json_text(json, "counted_policy", emulation->order);
    write_counts(json, &emulation->counts);
    json_open(json, "shared_memory_accesses", '[');
    for (const emulator_access_site *site = emulation->site;
         site < emulation->site + emulation->sites; ++site) {
        json_open(json, NULL, '{');
        json_text(json, "file", site->file);
        json_integer(json, "line", (uint64_t)site->line);
        json_text(json, "access", site->is_write ? "write" : "read");
        json_integer(json, "bytes", (uint64_t)site->bytes);
        json_integer(json, "instructions", site->instructions);
        json_integer(json, "wavefronts", site->wavefronts);
        json_integer(json, "extra_wavefronts", extra_wavefronts(site));
        json_integer(json, "worst_ways", (uint64_t)site->worst_ways);
        json_close(json, '}');
    }
    json_close(json, ']');
}
