// What a program's cases gave out, as one number each: written to a file on one machine, and
// compared with it on another.
#ifndef GEMM_LADDER_TESTS_DEVICE_DIGESTS_H
#define GEMM_LADDER_TESTS_DEVICE_DIGESTS_H

#include "../../emulator/tests/test.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string>
#include <time.h>
#include <vector>

// The output of one case: its bytes in the order in which they were read, hashed (64-bit FNV-1a).
struct Digest {
    std::string name;
    uint64_t bytes = 0;
    uint64_t fnv1a = 0xcbf29ce484222325u;

    void add(const void *output, size_t count) {
        const unsigned char *from = static_cast<const unsigned char *>(output);
        for (size_t i = 0; i < count; ++i)
            fnv1a = (fnv1a ^ from[i]) * 0x100000001b3u;
        bytes += count;
    }
};

// Of the cases so far; the last one's is that of the case that runs.
inline std::vector<Digest> digests;

// Where digests came from.
struct Provenance {
    std::string device;
    int cuda;   // version of the runtime: 13000 is 13.0; 0 on the emulator
    int driver; // the newest version that the driver serves
};

// From the generated build/commit.c.
extern "C" const char gemm_ladder_commit[];

// Writes all of them to `path`, which is never half-written. Returns 0, or 1 after printing one
// line.
inline int record_digests(const char *path, const Provenance &from) {
    const std::string temporary = std::string(path) + ".new";
    FILE *file = fopen(temporary.c_str(), "w");
    if (file == nullptr) {
        perror(temporary.c_str());
        return 1;
    }
    char date[32] = "";
    const time_t now = time(nullptr);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    fprintf(file, "{\n\"schema\": 1,\n\"kind\": \"instructions\",\n\"device\": \"%s\",\n",
            from.device.c_str());
    fprintf(file, "\"cuda\": %d,\n\"driver\": %d,\n\"commit\": \"%s\",\n\"date\": \"%s\",\n",
            from.cuda, from.driver, gemm_ladder_commit, date);
    fprintf(file, "\"cases\": [\n");
    for (const Digest &digest : digests)
        fprintf(
            file, "{\"name\": \"%s\", \"bytes\": %" PRIu64 ", \"fnv1a\": \"%016" PRIx64 "\"}%s\n",
            digest.name.c_str(), digest.bytes, digest.fnv1a, &digest == &digests.back() ? "" : ",");
    fprintf(file, "]\n}\n");
    const bool written = !ferror(file);
    if (fclose(file) == 0 && written && rename(temporary.c_str(), path) == 0)
        return 0;
    perror(path);
    remove(temporary.c_str());
    return 1;
}

// Reads what record_digests wrote; nothing if it cannot.
inline std::vector<Digest> read_digests(const char *path) {
    std::vector<Digest> found;
    FILE *file = fopen(path, "r");
    if (file == nullptr)
        return found;
    char line[512], name[256];
    Digest digest;
    while (fgets(line, sizeof line, file) != nullptr)
        if (sscanf(line, "{\"name\": \"%255[^\"]\", \"bytes\": %" SCNu64 ", \"fnv1a\": \"%" SCNx64,
                   name, &digest.bytes, &digest.fnv1a) == 3) {
            digest.name = name;
            found.push_back(digest);
        }
    fclose(file);
    return found;
}

inline const Digest *digest_named(const std::vector<Digest> &all, const std::string &name) {
    for (const Digest &digest : all)
        if (digest.name == name)
            return &digest;
    return nullptr;
}

// One case for each digest, here and in the file. One that came after the file was recorded is
// skipped.
inline void compare_digests(const char *path) {
    static const Digest *ours, *recorded;
    const auto compare = [] {
        if (ours == nullptr)
            EXPECT(false, "the file has a case that this program lacks: record it again");
        else
            EXPECT(ours->bytes == recorded->bytes && ours->fnv1a == recorded->fnv1a,
                   "other bytes than recorded: %" PRIu64 " of them, recorded were %" PRIu64,
                   ours->bytes, recorded->bytes);
    };
    const std::vector<Digest> file = read_digests(path);
    if (file.empty())
        run_case("as recorded", [] { EXPECT(false, "the file has no case"); });
    for (const Digest &digest : digests)
        if (digest_named(file, digest.name) == nullptr)
            skip_case(("as recorded: " + digest.name).c_str(),
                      "the file lacks it: it needs a GPU to record it again");
    for (const Digest &digest : file) {
        ours = digest_named(digests, digest.name);
        recorded = &digest;
        run_case(("as recorded: " + digest.name).c_str(), compare);
    }
}

#endif
