#include <stdlib.h>
#include <string.h>
#include <vector>

constexpr int LAUNCHES = 10; // that are timed

// A size as the command line gives it. Ends the program if it is none that the rung takes.
static int parse_size(char name, const char *text, int multiple) {
    const int largest = name == 'k' && RUNG.largest_k > 0 ? RUNG.largest_k : LARGEST_DIMENSION;
    char *end = nullptr;
    const long size = strtol(text, &end, 10);
    if (*end == '\0' && size >= 1 && size <= largest && size % multiple == 0)
        return int(size);
    fprintf(stderr, "%s takes no %c of '%s': it has to be a multiple of %d, at most %d\n",
            RUNG.name, name, text, multiple, largest);
    exit(UNSUPPORTED);
}

// The shape from the command line. The usual one is not square, no size is a power of two, and
// tiles divide it only where the rung asks for that.
static void read_shape(problem &p, int argc, char **argv) {
    int *const sizes[] = {&p.m, &p.n, &p.k};
    const int multiples[] = {RUNG.multiple_m, RUNG.multiple_n, RUNG.multiple_k};
    if (argc != 1 && argc != 1 + DIMENSIONS) {
        fprintf(stderr, "usage: %s [%s]\n", argv[0], DIMENSIONS == 3 ? "M N K" : "M N");
        exit(UNSUPPORTED);
    }
    for (int i = 0; i < DIMENSIONS; ++i)
        *sizes[i] = argc > 1 ? parse_size("mnk"[i], argv[1 + i], multiples[i])
                             : ceil_div(USUAL_SHAPE[i], multiples[i]) * multiples[i];
}

// Ends the program because there is no GPU that the rung runs on.
static void cannot_run(const char *why) {
    char memory[64] = "";
    if (RUNG.min_shared_memory > 0)
        snprintf(memory, sizeof memory, ", with %d KB of shared memory for a CTA",
                 ceil_div(RUNG.min_shared_memory, 1024));
    fprintf(stderr,
            "%s cannot run here: it needs an NVIDIA GPU of compute capability %d.%d%s%s, but %s; "
            "run it on a machine that has one\n",
            RUNG.name, RUNG.min_compute_capability / 10, RUNG.min_compute_capability % 10,
            RUNG.max_compute_capability > RUNG.min_compute_capability ? " or later" : "", memory,
            why);
    exit(CANNOT_RUN);
}

// Returns the properties of the first GPU, if the rung runs on it.
static cudaDeviceProp find_gpu() {
    char why[512];
    int count = 0;
    int shared_memory = 0;
    cudaDeviceProp gpu = {};
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
        snprintf(why, sizeof why, "none was found (%s)", cudaGetErrorString(status));
        cannot_run(why);
    }
    check(cudaGetDeviceProperties(&gpu, 0), "asking for the properties of GPU", 0);
    if (max_dynamic_smem(&shared_memory))
        exit(FAILED);
    const int capability = 10 * gpu.major + gpu.minor;
    if (capability < RUNG.min_compute_capability || capability > RUNG.max_compute_capability ||
        shared_memory < RUNG.min_shared_memory) {
        snprintf(why, sizeof why, "%s is of %d.%d, with %d KB", gpu.name, gpu.major, gpu.minor,
                 shared_memory / 1024);
        cannot_run(why);
    }
    return gpu;
}

// Sets all bits of D: where no kernel writes, it stays wrong.
static void clear(const problem &p) {
    const size_t bytes = size_t(p.m) * p.n * sizeof(Result);
    check(cudaMemset(p.d, 0xff, bytes), "clearing D, bytes", bytes);
}

// A copy of D on the host, once the launches before are done.
static std::vector<Result> download(const void *d, size_t count) {
    const size_t bytes = count * sizeof(Result);
    std::vector<Result> host(count);
    check(cudaMemcpy(host.data(), d, bytes, cudaMemcpyDeviceToHost),
          "running the kernel and copying D to the host, bytes", bytes);
    return host;
}

// What D has to be.
static std::vector<Result> expected_result(const problem &p) {
    const size_t count = size_t(p.m) * p.n;
    Result *d = allocate<Result>(count);
    for_each(count, reference, p, d, count);
    return download(d, count);
}

// Ends the program if D is not that, bit for bit, naming the first element that differs.
static void compare(const problem &p, const std::vector<Result> &expected) {
    const std::vector<Result> d = download(p.d, expected.size());
    for (size_t i = 0; i < d.size(); ++i)
        if (memcmp(&d[i], &expected[i], sizeof(Result)) != 0) {
            fprintf(stderr, "%s is wrong: D[%zu][%zu] is %.10g, not %.10g\n", RUNG.name,
                    i / columns_of_d(p), i % columns_of_d(p), value_of(d[i]),
                    value_of(expected[i]));
            exit(FAILED);
        }
}

static void launch_once(const problem &p, void *state) {
    if (RUNG.launch(&p, state))
        exit(FAILED);
}

// Seconds per launch: the mean of LAUNCHES, one right behind the other.
static double measure(const problem &p, void *state) {
    cudaEvent_t begin, end;
    float milliseconds = 0;
    check(cudaEventCreate(&begin), "making event", 0);
    check(cudaEventCreate(&end), "making event", 1);
    check(cudaEventRecord(begin, p.stream), "recording event", 0);
    for (int i = 0; i < LAUNCHES; ++i)
        launch_once(p, state);
    check(cudaEventRecord(end, p.stream), "recording event", 1);
    check(cudaEventSynchronize(end), "waiting for the timed launches, of which there are",
          LAUNCHES);
    check(cudaEventElapsedTime(&milliseconds, begin, end), "reading the time of launches",
          LAUNCHES);
    return milliseconds * 1e-3 / LAUNCHES;
}

int main(int argc, char **argv) {
    problem p = {};
    read_shape(p, argc, argv);
    const cudaDeviceProp gpu = find_gpu();
    make_operands(p);
    const std::vector<Result> expected = expected_result(p);
    p.d = allocate<Result>(expected.size());

    void *state = nullptr;
    if (RUNG.prepare(&p, &state))
        return FAILED;
    clear(p);
    launch_once(p, state); // a warm-up as well
    compare(p, expected);
    clear(p);
    const double seconds = measure(p, state);
    compare(p, expected); // what was timed is right, too
    if (state != nullptr)
        RUNG.release(state);

    printf("%s: %s\n%d x %d", RUNG.name, RUNG.idea, p.m, p.n);
    if (DIMENSIONS == 3)
        printf(" x %d", p.k);
    printf(" on %s: verified, %.4f ms, ", gpu.name, seconds * 1e3);
    print_speed(p, seconds);
    printf(" (mean of %d launches)\n", LAUNCHES);
    return VERIFIED;
}
