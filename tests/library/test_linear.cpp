// The library against a plain product: exact integers, whose results must match bit for bit, with
// bias and strides, and nothing written but D.
#include "../tools/test.h"
#include "../../library/gemm_ladder.h"
#include "formats/number.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <stdlib.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define CUDA(call) EXPECT((call) == cudaSuccess, "CUDA")

using Bits = std::vector<uint16_t>;  // of bf16
constexpr uint16_t NOTHING = 0xffff; // a NaN: what must not be read, or be written
constexpr size_t GUARD = 64;         // elements on both sides of an array: 128 bytes
#ifdef EMULATOR_DEFAULT
constexpr int ROUNDS = 3; // of calls in a row
#else
constexpr int ROUNDS = 100;
#endif

static void expect_status(int wanted, int status, const std::string &name) {
    EXPECT(status == wanted, "%s: %s", name.c_str(), gl_status_text(status));
}

// Device memory with guards on both sides, freed at the end.
struct Array {
    uint16_t *memory = nullptr;
    size_t count;

    explicit Array(const Bits &elements) : count(elements.size()) {
        CUDA(cudaMalloc((void **)&memory, (count + 2 * GUARD) * 2));
        fill(elements);
    }
    Array(const Array &) = delete;
    ~Array() { cudaFree(memory); }

    uint16_t *get() const { return memory + GUARD; }

    void fill(const Bits &elements) const {
        Bits all(count + 2 * GUARD, NOTHING);
        std::copy(elements.begin(), elements.end(), all.begin() + GUARD);
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

// What the function takes.
struct Arguments {
    int m, n, k;
    long ldx, ldw, ldd;
    void *d = nullptr;
    const void *x = nullptr, *w = nullptr, *bias = nullptr;
    void *workspace = nullptr;
    size_t bytes = 0;

    int call(cudaStream_t stream = nullptr) const {
        return gl_linear_bf16(d, x, w, bias, m, n, k, ldx, ldw, ldd, workspace, bytes, stream);
    }
};

// Rows of x, w and d are `gap` elements further apart than they are long.
struct Shape {
    int m, n, k;
    int gap_x = 0, gap_w = 0, gap_d = 0;
    bool biased = true;
};

// A matrix of integers of -4 to 4, whose sums are exact in fp32; between its rows is NOTHING.
static Bits integers(int rows, int columns, long stride) {
    static uint32_t random = 1;
    Bits made(size_t(rows) * stride, NOTHING);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            made[i * stride + j] =
                bf16_from_float(float(int((random = random * 1664525 + 1013904223) >> 16) % 9 - 4));
    return made;
}

// A product: its operands, its result, and memory for it.
struct Product : Arguments {
    bool copies; // an operand, since TMA does not take its rows
    Bits host_x, host_w, host_bias;
    Array of_x, of_w, of_bias, of_d, of_workspace;

    explicit Product(const Shape &s)
        : Arguments{s.m, s.n, s.k, s.k + s.gap_x, s.k + s.gap_w, s.n + s.gap_d},
          copies(ldx % 8 > 0 || ldw % 8 > 0), host_x(integers(m, k, ldx)),
          host_w(integers(n, k, ldw)), host_bias(integers(1, n + 1, n + 1)), of_x(host_x),
          of_w(host_w), of_bias(host_bias), of_d(Bits(size_t(m) * ldd, NOTHING)),
          // what gemm_ladder.h says is enough
          of_workspace(Bits(gl_linear_workspace(m, n, copies && k % 8 == 0 ? k + 1 : k) / 2)) {
        d = of_d.get(), x = of_x.get(), w = of_w.get(), workspace = of_workspace.get();
        bias = s.biased ? of_bias.get() + 1 : nullptr; // at an odd multiple of 2 bytes
        bytes = 2 * of_workspace.count;
    }
    std::string name() const {
        std::string made;
        for (const long one : {long(m), long(n), long(k), ldx, ldw, ldd})
            made += std::to_string(one) + " ";
        return made + (bias ? "with a bias" : "");
    }

    void check() const {
        const Bits got = of_d.read();
        of_workspace.read();
        for (size_t at = 0; at < got.size(); ++at) {
            const size_t i = at / ldd, j = at % ldd;
            float sum = j < size_t(n) && bias ? bf16_to_float(host_bias[j + 1]) : 0;
            for (int l = 0; l < k && j < size_t(n); ++l)
                sum += bf16_to_float(host_x[i * ldx + l]) * bf16_to_float(host_w[j * ldw + l]);
            EXPECT(got[at] == (j < size_t(n) ? bf16_from_float(sum) : NOTHING),
                   "%s: row %zu column %zu is %g, not %g", name().c_str(), i, j,
                   double(bf16_to_float(got[at])), double(sum));
        }
    }
};

// ---------------------------------------------------------------------------- shapes

// Every way in which operands are read, copied and stored: whole, in parts, several tiles a CTA.
static const std::vector<Shape> SHAPES = {
    {1, 1, 1, 0, 0, 0, false},
    {1, 8, 8},
    {3, 5, 7},
    {16, 136, 520, 0, 0, 8},
    {16, 136, 520, 8, 16, 3},
    {65, 129, 72, 1, 0, 0, false}, // X is copied, although k is a multiple of 8
    {65, 129, 64, 0, 3, 1},        // W
    {65, 129, 64, 5, 3, 7},        // both
    {70, 131, 67, 5, 0, 5},        // W; TMA takes the rows of X, and stores those of D
    {70, 131, 67, 0, 5, 0},        // X
    {130, 264, 136},
    {8, 64, 2056, 0, 0, 3}, // in parts, to rows that are odd numbers of elements apart
    {9, 63, 2049, 0, 0, 2},
    {128, 96, 1032},
#ifndef EMULATOR_DEFAULT
    {4096, 4096, 72, 0, 0, 8},
    {4097, 2051, 200},
    {16, 8192, 1024},
    {300, 400, 8200, 0, 8, 1},
    {256, 256, 8192}, // in parts that are apart
    {512, 500, 8192, 0, 0, 3},
    {129, 77, 16391},
#endif
};

// With the workspace that is asked for and, where nothing must be copied, without any.
static void check_product(const Shape &shape) {
    Product product(shape);
    expect_status(GL_OK, product.call(), product.name());
    product.check();
    if (product.bytes > 0 && !product.copies) {
        product.workspace = nullptr, product.bytes = 0;
        product.of_d.fill(Bits(product.of_d.count, NOTHING));
        expect_status(GL_OK, product.call(), product.name());
        product.check();
    }
}

static void products() {
    for (const Shape &shape : SHAPES)
        check_product(shape);
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
    const Product good({9, 16, 65});
    for (const Refusal &refusal : REFUSALS) {
        Arguments bad = good;
        refusal.change(bad);
        expect_status(refusal.status, bad.call(), refusal.what);
    }
    EXPECT(good.of_d.read() == Bits(good.of_d.count, NOTHING), "a refused call wrote D");
    expect_status(GL_OK, good.call(), "the good one");
    good.check();
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

static cudaStream_t new_stream() { // the program ends it
    cudaStream_t stream = nullptr;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static std::vector<std::unique_ptr<Product>> products_of(const std::vector<Shape> &shapes) {
    std::vector<std::unique_ptr<Product>> made;
    for (const Shape &shape : shapes)
        made.push_back(std::make_unique<Product>(shape));
    return made;
}

// Each product in turn, on a stream of its own or all on one. There each launch may begin while the
// one before still runs, and overwrites what that reads and writes.
static void in_flight() {
    for (const size_t apart : {false, true}) {
        const auto all = products_of({{100, 136, 264}, {33, 63, 129, 1, 0, 1}, {64, 72, 2048}});
        const cudaStream_t streams[] = {new_stream(), new_stream(), new_stream()};
        for (int i = 0; i < ROUNDS; ++i)
            for (size_t j = 0; j < all.size(); ++j)
                expect_status(GL_OK, all[j]->call(streams[apart * j]), "call");
        for (const auto &each : all)
            each->check();
    }
}

// Each product reads what the one before wrote, as X and as its bias: D = X + its first row.
static void chain() {
    constexpr int SIDE = 72, LINKS = 6;
    const cudaStream_t stream = new_stream();
    Bits identity(SIDE * SIDE, 0), x = integers(SIDE, SIDE, SIDE);
    for (int i = 0; i < SIDE; ++i)
        identity[i * SIDE + i] = bf16_from_float(1);
    const Array w(identity), even(x), odd(x);
    for (int i = 0; i < LINKS; ++i) {
        const Array &from = i % 2 ? odd : even, &to = i % 2 ? even : odd;
        const Arguments link = {SIDE, SIDE,     SIDE,       SIDE,    SIDE,
                                SIDE, to.get(), from.get(), w.get(), from.get()};
        expect_status(GL_OK, link.call(stream), "link");
    }
    const Bits got = (LINKS % 2 ? odd : even).read();
    for (int i = 0; i < SIDE * SIDE; ++i) {
        // After i links the first row is 2^i times itself, and is added to each other one.
        const float first = bf16_to_float(x[i % SIDE]), own = bf16_to_float(x[i]);
        EXPECT(bf16_to_float(got[i]) == own + first * ((1 << LINKS) - 1), "element %d is %g", i,
               double(bf16_to_float(got[i])));
    }
}

#ifndef EMULATOR_DEFAULT // whose runtime has no graphs, and one thread

// The first call of a shape is captured; the graph then takes the operands as they are.
static void graph() {
    for (const Shape &shape : {Shape{136, 200, 328}, Shape{35, 77, 131}}) {
        const cudaStream_t stream = new_stream();
        Product p(shape);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t launches = nullptr;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < 3; ++i)
            expect_status(GL_OK, p.call(stream), "captured");
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&launches, graph, 0));
        for (int i = 0; i < 2; ++i) {
            p.of_x.fill(p.host_x = integers(p.m, p.k, p.ldx));
            CUDA(cudaGraphLaunch(launches, stream));
            p.check();
        }
        cudaGraphExecDestroy(launches);
        cudaGraphDestroy(graph);
    }
}

// Both meet shapes for the first time, the same ones.
static void two_threads() {
    std::vector<Shape> shapes;
    for (int i = 0; i < 32; ++i)
        shapes.push_back({50 + i / 2 * 3, 80, 72 + i / 2});
    const auto all = products_of(shapes);
    int failed[2] = {};
    const auto work = [&](int thread) {
        const cudaStream_t stream = new_stream();
        for (int i = 0; i < 16 * ROUNDS; ++i)
            failed[thread] += all[i % 16 * 2 + thread]->call(stream) != GL_OK;
        failed[thread] += cudaStreamSynchronize(stream) != cudaSuccess;
    };
    std::thread one(work, 0), other(work, 1);
    one.join();
    other.join();
    EXPECT(failed[0] + failed[1] == 0, "%d and %d calls failed", failed[0], failed[1]);
    for (const auto &each : all)
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
    const cudaStream_t stream = new_stream();
    const auto tune = [&](const Shape &s, cudaStream_t on) {
        return gl_linear_tune(s.m, s.n, s.k, s.k + s.gap_x, s.k, s.n, on);
    };
    for (const Shape &shape : {Shape{136, 264, 512}, Shape{35, 77, 131}, Shape{256, 256, 8192}}) {
        const long before = lines_of(path);
        expect_status(GL_OK, tune(shape, stream), "tuned");
        const long kept = lines_of(path);
        expect_status(GL_OK, tune(shape, nullptr), "tuned again");
        EXPECT(kept > before && lines_of(path) == kept, "%ld, %ld", before, kept);
        check_product(shape);
    }
    expect_status(GL_BAD_SHAPE, tune({0, 8, 8}, nullptr), "m is 0");
    expect_status(GL_BAD_STRIDE, tune({8, 8, 8, -1}, nullptr), "ldx is short");
    unsetenv("GEMM_LADDER_TUNED");
    close(file);
    unlink(path);
}

// Tuning waits, which it cannot while its stream is captured; the capture goes on.
static void tuned_in_a_capture() {
    const cudaStream_t stream = new_stream();
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    expect_status(GL_CUDA_ERROR, gl_linear_tune(8, 8, 8, 8, 8, 8, stream), "no error");
    CUDA(cudaStreamEndCapture(stream, &graph));
    cudaGraphDestroy(graph);
}

#endif

// Nothing is launched, so that the pointers are only looked at.
static void no_device() {
    void *const aligned = (void *)64;
    const Arguments any = {8, 8, 8, 8, 8, 8, aligned, aligned, aligned};
    expect_status(GL_BAD_DEVICE, any.call(), "no device");
}

int main() {
    run_case("status: texts", status_texts);
    run_case("workspaces", workspaces);
    cudaDeviceProp device;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != 9 ||
        device.minor != 0) {
        run_case("status: no GPU of compute capability 9.0", no_device);
        return test_result();
    }
    run_case("refusals", refusals);
    run_case("products", products);
    run_case("launches in a row, on one stream and on several", in_flight);
    run_case("each product reads what the one before wrote", chain);
#ifndef EMULATOR_DEFAULT
    run_case("a CUDA graph, of a shape's first calls", graph);
    run_case("two threads, which meet the same shapes", two_threads);
    run_case("tuned", tuned);
    run_case("tuned while its stream is captured", tuned_in_a_capture);
#endif
    return test_result();
}
