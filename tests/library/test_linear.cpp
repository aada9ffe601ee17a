// The library against a plain product: exact integers, whose results must match bit for bit, with
// bias and strides, and nothing written but D.
//
//   test_linear [--shapes COUNT] [--seed SEED]     random shapes; on a GPU 200, from seed 1; with
//                                                  less than 100 no large ones either
#include "../../emulator/tests/test.h"
#include "../../library/gemm_ladder.h"
#include "formats/number.h"

#include <algorithm>
#include <fstream>
#include <math.h>
#include <memory>
#include <random>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#ifdef EMULATOR_DEFAULT // of the emulator's runtime, which has no graphs, and one thread
constexpr bool ON_GPU = false;
#else
constexpr bool ON_GPU = true;
#endif

#define CUDA(call) EXPECT((call) == cudaSuccess, "CUDA")
#define EXPECT_STATUS(wanted, call, name)                                                          \
    do {                                                                                           \
        const int status = call;                                                                   \
        EXPECT(status == (wanted), "%s: %s", name, gl_status_text(status));                        \
    } while (0)

using Bits = std::vector<uint16_t>;  // of bf16
constexpr uint16_t NOTHING = 0xffff; // a NaN: what must not be read, or be written
constexpr size_t GUARD = 64;         // elements on both sides of an array: 128 bytes

static int rounds; // of calls in a row
static std::mt19937 random_bits;
static int drawn(int from, int to) { return from + int(random_bits() % unsigned(to - from + 1)); }

// Device memory with guards on both sides, freed at the end.
struct Array {
    uint16_t *memory = nullptr;
    size_t count;

    explicit Array(size_t elements) : count(elements) { fill(Bits(count, NOTHING)); }
    explicit Array(const Bits &elements) : count(elements.size()) { fill(elements); }
    Array(const Array &) = delete;
    ~Array() { cudaFree(memory); }

    uint16_t *get() const { return memory + GUARD; }

    void fill(const Bits &elements) {
        Bits all(count + 2 * GUARD, NOTHING);
        std::copy(elements.begin(), elements.end(), all.begin() + GUARD);
        if (memory == nullptr)
            CUDA(cudaMalloc((void **)&memory, all.size() * 2));
        CUDA(cudaMemcpy(memory, all.data(), all.size() * 2, cudaMemcpyHostToDevice));
    }
    // After all work: what it holds, if nothing was written outside of it.
    Bits read() const {
        Bits all(count + 2 * GUARD);
        const cudaError_t status = cudaDeviceSynchronize();
        EXPECT(status == cudaSuccess, "%s", cudaGetErrorString(status));
        CUDA(cudaMemcpy(all.data(), memory, all.size() * 2, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < GUARD; ++i)
            EXPECT(all[i] == NOTHING && all[GUARD + count + i] == NOTHING, "written outside");
        return Bits(all.begin() + GUARD, all.end() - GUARD);
    }
};

// A product. Rows are `gap` elements further apart than they are long.
struct Product {
    int m, n, k;
    int gap_x = 0, gap_w = 0, gap_d = 0;
    bool biased = false;

    long ldx() const { return k + gap_x; }
    long ldw() const { return k + gap_w; }
    long ldd() const { return n + gap_d; }
    std::string name() const {
        return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
               ", strides " + std::to_string(ldx()) + " " + std::to_string(ldw()) + " " +
               std::to_string(ldd()) + (biased ? ", bias" : "") + ", workspace " +
               std::to_string(workspace());
    }
    bool copies() const { return ldx() % 8 > 0 || ldw() % 8 > 0; }
    // What gemm_ladder.h says is enough.
    size_t workspace() const {
        return gl_linear_workspace(m, n, copies() && k % 8 == 0 ? k + 1 : k);
    }
};

// A matrix of integers of -4 to 4, whose sums are exact in fp32; between its rows is NOTHING.
static Bits integers(int rows, int columns, long stride) {
    Bits made(size_t(rows) * stride, NOTHING);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            made[i * stride + j] = bf16_from_float(float(drawn(-4, 4)));
    return made;
}

// The same as numbers; NOTHING is any.
static std::vector<int> numbers(const Bits &bits) {
    std::vector<int> made;
    for (const uint16_t one : bits)
        made.push_back(one == NOTHING ? 99 : int(bf16_to_float(one)));
    return made;
}

// What the function takes.
struct Arguments {
    void *d;
    const void *x, *w, *bias;
    int m, n, k;
    long ldx, ldw, ldd;
    void *workspace;
    size_t bytes;

    int call(cudaStream_t stream = nullptr) const {
        return gl_linear_bf16(d, x, w, bias, m, n, k, ldx, ldw, ldd, workspace, bytes, stream);
    }
};

// The operands of a product, its result, and memory for it.
struct Operands {
    Product p;
    Bits host_x, host_w, host_bias;
    Array x, w, bias, d, workspace;

    explicit Operands(const Product &product)
        : p(product), host_x(integers(p.m, p.k, p.ldx())), host_w(integers(p.n, p.k, p.ldw())),
          host_bias(integers(1, p.n + 1, p.n + 1)), x(host_x), w(host_w), bias(host_bias),
          d(size_t(p.m) * p.ldd()), workspace(p.workspace() / 2) {}

    // The bias is at an odd multiple of 2 bytes.
    Arguments arguments() const {
        const uint16_t *biases = p.biased ? bias.get() + 1 : nullptr;
        return {d.get(), x.get(), w.get(), biases,          p.m,          p.n, p.k,
                p.ldx(), p.ldw(), p.ldd(), workspace.get(), p.workspace()};
    }
    int call(cudaStream_t stream = nullptr) const { return arguments().call(stream); }

    Bits expected() const {
        const std::vector<int> x = numbers(host_x), w = numbers(host_w), added = numbers(host_bias);
        Bits made(d.count, NOTHING);
        for (int i = 0; i < p.m; ++i)
            for (int j = 0; j < p.n; ++j) {
                const int *const row = &x[i * p.ldx()], *const column = &w[j * p.ldw()];
                int sum = p.biased ? added[j + 1] : 0;
                for (int k = 0; k < p.k; ++k)
                    sum += row[k] * column[k];
                made[i * p.ldd() + j] = bf16_from_float(float(sum));
            }
        return made;
    }

    void check() const {
        const Bits got = d.read(), wanted = expected();
        workspace.read();
        for (size_t i = 0; i < got.size(); ++i)
            EXPECT(got[i] == wanted[i], "%s: row %zu column %zu is %g, not %g", p.name().c_str(),
                   i / p.ldd(), i % p.ldd(), double(bf16_to_float(got[i])),
                   double(bf16_to_float(wanted[i])));
    }
};

// With the workspace that is asked for and, where nothing must be copied, without any.
static void check_product(const Product &product) {
    Operands operands(product);
    EXPECT_STATUS(GL_OK, operands.call(), product.name().c_str());
    operands.check();
    if (product.workspace() > 0 && !product.copies()) {
        Arguments without = operands.arguments();
        without.workspace = nullptr, without.bytes = 0;
        operands.d.fill(Bits(operands.d.count, NOTHING));
        EXPECT_STATUS(GL_OK, without.call(), product.name().c_str());
        operands.check();
    }
}

// ---------------------------------------------------------------------------- shapes

// Every way in which operands are read, copied and stored: whole, in parts, several tiles a CTA.
static const std::vector<Product> SHAPES = {
    {1, 1, 1},
    {1, 8, 8, 0, 0, 0, true},
    {3, 5, 7, 0, 0, 0, true},
    {16, 136, 520, 0, 0, 8, true},
    {16, 136, 520, 8, 16, 3, true},
    {65, 129, 72, 1, 0, 0},       // X is copied, although k is a multiple of 8
    {65, 129, 64, 0, 3, 1, true}, // W
    {65, 129, 64, 5, 3, 7, true}, // both
    {70, 131, 67, 5, 0, 5, true}, // W; TMA takes the rows of X, and stores those of D
    {70, 131, 67, 0, 5, 0, true}, // X
    {130, 264, 136, 0, 0, 0, true},
    {8, 64, 2056, 0, 0, 3, true}, // in parts, to rows that are odd numbers of elements apart
    {9, 63, 2049, 0, 0, 2, true},
    {128, 96, 1032, 0, 0, 0, true},
};
static const std::vector<Product> LARGE_SHAPES = {
    {4096, 4096, 72, 0, 0, 8, true}, {4097, 2051, 200, 0, 0, 0, true},
    {16, 8192, 1024, 0, 0, 0, true}, {300, 400, 8200, 0, 8, 1, true},
    {256, 256, 8192, 0, 0, 0, true}, // in parts that are apart
    {512, 500, 8192, 0, 0, 3, true}, {129, 77, 16391, 0, 0, 0, true},
};

// At most `most` multiply-adds; half the sizes are multiples of 8, and half the strides dense.
static Product random_product(double most) {
    const auto size = [](double limit) {
        const int drawn_size = int(exp2(drawn(0, 1000) * log2(std::max(limit, 1.0)) / 1000));
        return drawn(0, 1) ? drawn_size : (drawn_size + 7) / 8 * 8;
    };
    const auto gap = [] { return drawn(0, 1) ? 0 : drawn(0, 1) ? drawn(1, 9) * 8 : drawn(1, 70); };
    Product p = {size(2000), 0, 0, gap(), gap(), gap(), drawn(0, 1) > 0};
    p.n = size(std::min(2000.0, most / p.m));
    p.k = size(std::min(9000.0, most / p.m / p.n));
    return p;
}

// ---------------------------------------------------------------------------- statuses

static void *moved(const void *pointer, size_t bytes) { return (char *)pointer + bytes; }

struct Refusal {
    const char *what;
    int status;
    void (*change)(Arguments &);
};

static const std::vector<Refusal> REFUSALS = {
    {"m is 0", GL_BAD_SHAPE, [](Arguments &a) { a.m = 0; }},
    {"n is negative", GL_BAD_SHAPE, [](Arguments &a) { a.n = -8; }},
    {"k is 0", GL_BAD_SHAPE, [](Arguments &a) { a.k = 0; }},
    {"k is too large", GL_BAD_SHAPE,
     [](Arguments &a) { a.k = (1 << 30) + 1, a.ldx = a.ldw = a.k; }},
    {"m n is too large", GL_BAD_SHAPE, [](Arguments &a) { a.m = a.n = 1 << 20, a.ldd = a.n; }},
    {"ldx is short", GL_BAD_STRIDE, [](Arguments &a) { --a.ldx; }},
    {"ldw is short", GL_BAD_STRIDE, [](Arguments &a) { --a.ldw; }},
    {"ldd is short", GL_BAD_STRIDE, [](Arguments &a) { --a.ldd; }},
    {"ldx is negative", GL_BAD_STRIDE, [](Arguments &a) { a.ldx = -a.ldx; }},
    {"ldd would overflow", GL_BAD_STRIDE, [](Arguments &a) { a.ldd = 1L << 62; }},
    {"d is NULL", GL_BAD_POINTER, [](Arguments &a) { a.d = nullptr; }},
    {"x is NULL", GL_BAD_POINTER, [](Arguments &a) { a.x = nullptr; }},
    {"w is NULL", GL_BAD_POINTER, [](Arguments &a) { a.w = nullptr; }},
    {"d is unaligned", GL_BAD_POINTER, [](Arguments &a) { a.d = moved(a.d, 8); }},
    {"x is unaligned", GL_BAD_POINTER, [](Arguments &a) { a.x = moved(a.x, 2); }},
    {"w is unaligned", GL_BAD_POINTER, [](Arguments &a) { a.w = moved(a.w, 14); }},
    {"the bias is unaligned", GL_BAD_POINTER, [](Arguments &a) { a.bias = moved(a.bias, 1); }},
    {"the workspace is unaligned", GL_BAD_POINTER,
     [](Arguments &a) { a.workspace = moved(a.workspace, 8); }},
    {"the workspace is a byte short", GL_SMALL_WORKSPACE, [](Arguments &a) { --a.bytes; }},
    {"no workspace", GL_SMALL_WORKSPACE, [](Arguments &a) { a.workspace = nullptr; }},
};

static void refusals() {
    const Operands o({9, 16, 65, 0, 0, 0, true});
    for (const Refusal &refusal : REFUSALS) {
        Arguments bad = o.arguments();
        refusal.change(bad);
        EXPECT_STATUS(refusal.status, bad.call(), refusal.what);
    }
    const Bits untouched = o.d.read();
    EXPECT(std::count(untouched.begin(), untouched.end(), NOTHING) == long(untouched.size()),
           "a refused call wrote D");
    EXPECT_STATUS(GL_OK, o.call(), "the good one");
    o.check();
}

static void status_texts() {
    std::vector<std::string> texts;
    for (int status = GL_OK - 1; status <= GL_CUDA_ERROR + 1; ++status)
        texts.push_back(gl_status_text(status));
    EXPECT(texts.front() == texts.back() && !texts.front().empty(), "statuses that there are not");
    texts.pop_back();
    std::sort(texts.begin(), texts.end());
    EXPECT(std::unique(texts.begin(), texts.end()) == texts.end(), "two statuses say the same");
}

static void workspaces() {
    EXPECT(gl_linear_workspace(5, 7, 64) == 0, "k is a multiple of 8");
    EXPECT(gl_linear_workspace(5, 7, 63) == (5 + 7) * 64 * 2, "rows of whole k-tiles");
    EXPECT(gl_linear_workspace(5, 7, 65) == (5 + 7) * 128 * 2, "rows of whole k-tiles");
    EXPECT(gl_linear_workspace(0, 7, 65) == 0 && gl_linear_workspace(5, -1, 65) == 0, "refused");
}

// ---------------------------------------------------------------------------- streams, launches

struct Stream {
    cudaStream_t stream = nullptr;
    Stream() { CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(stream); }
};

static std::vector<std::unique_ptr<Operands>> operands_of(const std::vector<Product> &products) {
    std::vector<std::unique_ptr<Operands>> made;
    for (const Product &product : products)
        made.push_back(std::make_unique<Operands>(product));
    return made;
}

// Each product in turn, on a stream of its own or all on one.
static void in_flight(const std::vector<Product> &products, bool apart, int times) {
    const auto all = operands_of(products);
    const std::vector<Stream> streams(apart ? all.size() : 1);
    for (size_t i = 0; i < times * all.size(); ++i)
        EXPECT_STATUS(GL_OK, all[i % all.size()]->call(streams[i % streams.size()].stream), "call");
    for (const auto &each : all)
        each->check();
}

static void two_streams() {
    in_flight({{200, 136, 65, 0, 0, 0, true}, {72, 200, 264, 1, 0, 1, true}}, true, 3);
}

// Each launch may begin while the one before still runs, and overwrites what that reads and writes.
static void many_times() {
    in_flight({{100, 136, 264, 0, 0, 0, true},
               {33, 63, 129, 0, 0, 0, true},
               {64, 72, 2048, 0, 0, 0, true}},
              false, rounds);
}

// Each product reads what the one before wrote, as X and as its bias: D = X + its first row.
static void chain() {
    constexpr int SIDE = 72, LINKS = 6;
    const Stream stream;
    Bits identity(SIDE * SIDE, 0), x = integers(SIDE, SIDE, SIDE);
    for (int i = 0; i < SIDE; ++i)
        identity[i * SIDE + i] = bf16_from_float(1);
    const Array w(identity), even(x), odd(size_t(SIDE) * SIDE);
    for (int i = 0; i < LINKS; ++i) {
        const Array &from = i % 2 ? odd : even, &to = i % 2 ? even : odd;
        const Arguments link = {to.get(), from.get(), w.get(), from.get(), SIDE,    SIDE,
                                SIDE,     SIDE,       SIDE,    SIDE,       nullptr, 0};
        EXPECT_STATUS(GL_OK, link.call(stream.stream), "link");
    }
    const Bits got = (LINKS % 2 ? odd : even).read();
    for (int i = 0; i < SIDE * SIDE; ++i) {
        // After i links the first row is 2^i times itself, and is added to each other one.
        const float first = bf16_to_float(x[i % SIDE]), own = bf16_to_float(x[i]);
        EXPECT(bf16_to_float(got[i]) == own + first * ((1 << LINKS) - 1), "element %d is %g", i,
               double(bf16_to_float(got[i])));
    }
}

#ifndef EMULATOR_DEFAULT

// The first call of a shape is captured; the graph then takes the operands as they are.
static void graph() {
    for (const Product &p : {Product{136, 200, 328, 0, 0, 0, true}, Product{35, 77, 131}}) {
        const Stream stream;
        Operands o(p);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t launches = nullptr;
        CUDA(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < 3; ++i)
            EXPECT_STATUS(GL_OK, o.call(stream.stream), "captured");
        CUDA(cudaStreamEndCapture(stream.stream, &graph));
        CUDA(cudaGraphInstantiate(&launches, graph, 0));
        for (int i = 0; i < 2; ++i) {
            o.host_x = integers(p.m, p.k, p.ldx());
            o.x.fill(o.host_x);
            CUDA(cudaGraphLaunch(launches, stream.stream));
            o.check();
        }
        cudaGraphExecDestroy(launches);
        cudaGraphDestroy(graph);
    }
}

// Both meet shapes for the first time, the same ones.
static void two_threads() {
    std::vector<Product> products;
    for (int i = 0; i < 32; ++i)
        products.push_back({50 + i / 2 * 3, 80, 72 + i / 2, 0, 0, 0, true});
    const auto operands = operands_of(products);
    int failed[2] = {};
    const auto work = [&](int thread) {
        const Stream stream;
        for (int i = 0; i < 16 * rounds; ++i)
            failed[thread] += operands[i % 16 * 2 + thread]->call(stream.stream) != GL_OK;
        failed[thread] += cudaStreamSynchronize(stream.stream) != cudaSuccess;
    };
    std::thread one(work, 0), other(work, 1);
    one.join();
    other.join();
    EXPECT(failed[0] + failed[1] == 0, "%d and %d calls failed", failed[0], failed[1]);
    for (const auto &each : operands)
        each->check();
}

static long lines_of(const char *path) {
    std::ifstream file(path);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
}

// Each shape is timed once, and then found in the user's file; either way the results stay right.
static void tuned() {
    char path[] = "/tmp/gemm-ladder-XXXXXX";
    const int file = mkstemp(path);
    EXPECT(file >= 0 && setenv("GEMM_LADDER_TUNED", path, 1) == 0, "no file");
    const Stream stream;
    for (const Product &p :
         {Product{136, 264, 512, 0, 0, 0, true}, Product{35, 77, 131}, Product{256, 256, 8192}}) {
        const long before = lines_of(path);
        for (int i = 0; i < 3; ++i) {
            const long kept = lines_of(path);
            EXPECT_STATUS(GL_OK,
                          gl_linear_tune(p.m, p.n, p.k, p.ldx(), p.ldw(), p.ldd(),
                                         i < 2 ? stream.stream : nullptr),
                          p.name().c_str());
            EXPECT(lines_of(path) > before, "nothing is kept");
            EXPECT(i < 2 || lines_of(path) == kept, "timed again");
        }
        check_product(p);
    }
    EXPECT_STATUS(GL_BAD_SHAPE, gl_linear_tune(0, 8, 8, 8, 8, 8, nullptr), "m is 0");
    EXPECT_STATUS(GL_BAD_STRIDE, gl_linear_tune(8, 8, 8, 7, 8, 8, nullptr), "ldx is short");
    unsetenv("GEMM_LADDER_TUNED");
    close(file);
    unlink(path);
}

// Tuning waits, which it cannot while its stream is captured; the capture goes on.
static void tuned_in_a_capture() {
    const Stream stream;
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal));
    EXPECT_STATUS(GL_CUDA_ERROR, gl_linear_tune(8, 8, 8, 8, 8, 8, stream.stream), "no error");
    CUDA(cudaStreamEndCapture(stream.stream, &graph));
    cudaGraphDestroy(graph);
}

static void gpu_cases() {
    run_case("a CUDA graph, of a shape's first calls", graph);
    run_case("two threads, which meet the same shapes", two_threads);
    run_case("tuned", tuned);
    run_case("tuned while its stream is captured", tuned_in_a_capture);
}
#else
static void gpu_cases() {}
#endif

static Product current;
static void check_current() { check_product(current); }

static bool has_device() {
    int device = 0, major = 0, minor = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) ==
               cudaSuccess &&
           major == 9 && minor == 0;
}

// Nothing is launched, so that the pointers are only looked at.
static void no_device() {
    void *const aligned = (void *)64;
    const Arguments any = {aligned, aligned, aligned, nullptr, 8, 8, 8, 8, 8, 8, nullptr, 0};
    EXPECT_STATUS(GL_BAD_DEVICE, any.call(), "no device");
}

int main(int argc, char **argv) {
    int shapes = ON_GPU ? 200 : 12, seed = 1;
    for (int i = 1; i + 1 < argc; i += 2)
        (strcmp(argv[i], "--shapes") == 0 ? shapes : seed) = atoi(argv[i + 1]);
    random_bits.seed(unsigned(seed));
    rounds = shapes >= 100 ? 100 : 3;
    run_case("status: texts", status_texts);
    run_case("workspaces", workspaces);
    if (!has_device()) {
        run_case("status: no GPU of compute capability 9.0", no_device);
        skip_case("products", "needs a GPU of compute capability 9.0");
        return test_result();
    }
    run_case("refusals", refusals);
    std::vector<Product> products = SHAPES;
    if (shapes >= 100) // racecheck of compute-sanitizer takes long: give it few
        products.insert(products.end(), LARGE_SHAPES.begin(), LARGE_SHAPES.end());
    for (int i = 0; i < shapes; ++i)
        products.push_back(random_product(ON_GPU ? 2e7 : 2e5));
    for (const Product &product : products) {
        current = product;
        run_row("product", product.name().c_str(), check_current);
    }
    run_case("two streams", two_streams);
    run_case("launches in a row", many_times);
    run_case("each product reads what the one before wrote", chain);
    gpu_cases();
    return test_result();
}
