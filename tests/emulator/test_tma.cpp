// TMA: tensor maps, boxes with all kinds of clipping and swizzling, and what orders stores, each
// against its definition.
#include "units.h"

#include "emulator/runtime.h"
#include "emulator/tma.h"

constexpr int INVALID = 1;            // CUDA_ERROR_INVALID_VALUE
constexpr std::size_t TILE = 1024;    // offsets in shared memory; the barrier is at 0
constexpr std::size_t SHARED = 32768; // bytes

struct alignas(64) Map {
    unsigned char bytes[128];
};

// A tensor and its boxes, the contiguous dimension first.
struct Tensor {
    int element_bytes;
    std::vector<std::uint64_t> size;
    std::vector<std::uint64_t> stride; // bytes
    std::vector<std::uint32_t> box;
    int swizzle;
    bool fill_nan = false;

    int rank() const { return int(size.size()); }
    std::uint64_t stride_of(int dimension) const {
        return dimension == 0 ? std::uint64_t(element_bytes) : stride[std::size_t(dimension) - 1];
    }
    std::size_t box_elements() const {
        std::size_t elements = 1;
        for (std::uint32_t extent : box)
            elements *= extent;
        return elements;
    }
    std::size_t box_bytes() const { return box_elements() * std::size_t(element_bytes); }
};

static int encode(Map *map, const Tensor &tensor, void *base) {
    const std::uint32_t ones[TENSOR_RANK] = {1, 1, 1, 1, 1};
    return encode_tensor(map, tensor.rank(), tensor.element_bytes, base, tensor.size.data(),
                         tensor.stride.data(), tensor.box.data(), ones, tensor.swizzle,
                         tensor.fill_nan);
}

// ---------------------------------------------------------------------------------- tensor maps

static const Tensor MATRIX = {2, {100, 20}, {208}, {64, 8}, 3};

static void map_arguments() {
    void *base = reinterpret_cast<void *>(4096);
    Map map;
    EXPECT(encode(&map, MATRIX, base) == 0, "a right one");
    EXPECT(encode(&map, MATRIX, reinterpret_cast<void *>(4096 + 8)) == INVALID, "base");
    EXPECT(encode(&map, MATRIX, nullptr) == INVALID, "no base");
    const struct {
        const char *why;
        Tensor tensor;
    } wrong[] = {
        {"a stride that is no multiple of 16", {2, {100, 20}, {200}, {64, 8}, 3}},
        {"an empty dimension", {2, {0, 20}, {208}, {64, 8}, 3}},
        {"a box of 257", {2, {100, 20}, {208}, {64, 257}, 3}},
        {"rows wider than the swizzle", {2, {100, 20}, {208}, {128, 8}, 3}},
        {"rows of 8 bytes", {2, {100, 20}, {208}, {4, 8}, 3}},
        {"an unknown swizzle", {2, {100, 20}, {208}, {64, 8}, 4}},
        {"elements of 3 bytes", {3, {100, 20}, {208}, {64, 8}, 3}},
    };
    for (const auto &[why, tensor] : wrong)
        EXPECT(encode(&map, tensor, base) == INVALID, "%s", why);
    const std::uint32_t two[] = {1, 2};
    EXPECT(encode_tensor(&map, 2, 2, base, MATRIX.size.data(), MATRIX.stride.data(),
                         MATRIX.box.data(), two, 3, false) == INVALID,
           "element strides");
}

// ---------------------------------------------------------------------------------------- loads

// The byte of a tile that a byte of the box stands at: 16-byte chunks of a row, xored with the
// number of the 128-byte line among eight, four or two.
static std::size_t swizzled(std::size_t byte, int swizzle) {
    const std::size_t lines[] = {1, 2, 4, 8};
    const std::size_t chunk = byte / 16 % 8 ^ byte / 128 % lines[swizzle];
    return byte / 128 * 128 + chunk * 16 + byte % 16;
}

// The place of a box's element in the tensor, in bytes, or -1 outside.
static long place_of(const Tensor &tensor, const std::vector<int> &first, std::size_t element) {
    long place = 0;
    for (int i = 0; i < tensor.rank(); ++i) {
        const std::size_t dimension = std::size_t(i);
        const long at = first[dimension] + long(element % tensor.box[dimension]);
        element /= tensor.box[dimension];
        if (at < 0 || at >= long(tensor.size[dimension]))
            return -1;
        place += at * long(tensor.stride_of(i));
    }
    return place;
}

static std::size_t tensor_bytes(const Tensor &tensor) {
    std::size_t last = 0;
    for (int i = 0; i < tensor.rank(); ++i)
        last += (tensor.size[std::size_t(i)] - 1) * tensor.stride_of(i);
    return last + std::size_t(tensor.element_bytes);
}

static void number_bytes(Global<unsigned char> &memory) {
    for (std::size_t i = 0; i < memory.count; ++i)
        memory[i] = (unsigned char)(i * 7 + i / 251);
}

static std::vector<unsigned char> expected_tile(const Tensor &tensor, Global<unsigned char> &memory,
                                                const std::vector<int> &first) {
    const std::size_t bytes = std::size_t(tensor.element_bytes);
    std::vector<unsigned char> tile(tensor.box_bytes());
    for (std::size_t i = 0; i < tensor.box_elements(); ++i) {
        const long place = place_of(tensor, first, i);
        for (std::size_t byte = 0; byte < bytes; ++byte) {
            const unsigned char outside = !tensor.fill_nan ? 0 : byte == bytes - 1 ? 0x7f : 0xff;
            tile[swizzled(i * bytes + byte, tensor.swizzle)] =
                place < 0 ? outside : memory[std::size_t(place) + byte];
        }
    }
    return tile;
}

// A tensor in global memory, and its map.
struct Mapped {
    Global<unsigned char> memory;
    Map map;

    explicit Mapped(const Tensor &tensor) : memory(tensor_bytes(tensor), 0xee) {
        EXPECT(encode(&map, tensor, memory.data) == 0, "no map");
    }
};

static std::uint64_t *make_barrier() {
    std::uint64_t *barrier = shared_at<std::uint64_t>(0);
    mbarrier_init(barrier, 1, here());
    mbarrier_init_fence(here());
    return barrier;
}

static void expect_load(const Tensor &tensor, const std::vector<int> &first) {
    Mapped mapped(tensor);
    number_bytes(mapped.memory);
    const int bytes = int(tensor.box_bytes());
    Global<unsigned char> out(tensor.box_bytes(), 0xaa);
    run_kernel(1, 1, SHARED, [&, to = out.data, at = first.data(), rank = tensor.rank()] {
        std::uint64_t *barrier = make_barrier();
        unsigned char *tile = shared_at<unsigned char>(TILE);
        mbarrier_arrive(barrier, bytes, here());
        tma_load(tile, &mapped.map, at, rank, barrier, 0, here());
        mbarrier_wait_parity(barrier, 0, here());
        for (int i = 0; i < bytes; ++i)
            to[i] = tile[i];
    });
    const std::vector<unsigned char> expected = expected_tile(tensor, mapped.memory, first);
    std::size_t inside = 0;
    for (std::size_t i = 0; i < tensor.box_elements(); ++i)
        inside += place_of(tensor, first, i) < 0 ? 0 : std::size_t(tensor.element_bytes);
    EXPECT(std::memcmp(out.data, expected.data(), expected.size()) == 0,
           "rank %d, swizzle %d, the box at %d", tensor.rank(), tensor.swizzle, first[0]);
    EXPECT(counts.tma_loads == 1 && counts.tma_read_bytes == inside, "%llu bytes read, not %zu",
           (unsigned long long)counts.tma_read_bytes, inside);
}

static void load_rank_1() {
    const Tensor floats = {4, {100}, {}, {32}, 0};
    const Tensor nan = {4, {100}, {}, {32}, 3, true};
    for (int first : {-40, -8, 0, 68, 80, 96, 200}) {
        expect_load(floats, {first});
        expect_load(nan, {first});
    }
}

static void load_rank_2() {
    for (int swizzle = 0; swizzle <= 3; ++swizzle) {
        const Tensor tensor = {
            2, {100, 20}, {208}, {16u << (swizzle == 0 ? 2 : swizzle - 1), 9}, swizzle};
        for (int column : {-8, 0, 40, 72, 96, 128})
            for (int row : {-12, -3, 0, 15, 30})
                expect_load(tensor, {column, row});
    }
}

static void load_rank_3() {
    const Tensor doubles = {8, {10, 5, 4}, {80, 400}, {8, 3, 2}, 0};
    // The third dimension steps along the rows: a stage of several slices.
    const Tensor slices = {2, {128, 16, 2}, {256, 128}, {64, 16, 2}, 3};
    for (int k : {-1, 0, 3})
        for (int j : {-2, 1, 4})
            for (int i : {-3, 0, 6})
                expect_load(doubles, {i, j, k});
    expect_load(slices, {0, 0, 0});
    expect_load(slices, {0, 8, 0});
}

static void load_rank_5() {
    const Tensor bytes = {1, {20, 3, 4, 3, 2}, {32, 96, 384, 1152}, {16, 2, 3, 2, 2}, 0};
    expect_load(bytes, {0, 0, 0, 0, 0});
    expect_load(bytes, {-5, 2, -1, 2, 1});
    expect_load(bytes, {10, -1, 3, -1, -1});
}

static void load_mistakes() {
    Global<unsigned char> memory(tensor_bytes(MATRIX), 0);
    Global<Map> maps(1, Map{});
    Map map;
    Map narrow;
    Map unmade{};
    const Tensor narrow_rows = {2, {100, 20}, {208}, {32, 8}, 3};
    EXPECT(encode(&map, MATRIX, memory.data) == 0, "no map");
    EXPECT(encode(&narrow, narrow_rows, memory.data) == 0, "no narrow map");
    maps[0] = map;
    const auto load = [](const Map *from, int rank, std::size_t tile, bool ready) {
        run_kernel(1, 1, SHARED, [=] {
            std::uint64_t *barrier = shared_at<std::uint64_t>(0);
            if (ready) {
                make_barrier();
            }
            const int first[] = {0, 0, 0};
            tma_load(shared_at<unsigned char>(tile), from, first, rank, barrier, 0, here());
        });
    };
    expect_mistake("misuse", "never encoded", [&] { load(&unmade, 2, TILE, true); });
    expect_mistake("misuse", "3 dimensions", [&] { load(&map, 3, TILE, true); });
    expect_mistake("misuse", "128-byte aligned", [&] { load(&map, 2, TILE + 64, true); });
    expect_mistake("misuse", "not modelled", [&] { load(&narrow, 2, TILE, true); });
    expect_mistake("address", "", [&] { load(&map, 2, SHARED - 128, true); });
    expect_mistake("lifetime", "", [&] { load(&map, 2, TILE, false); });
    const Map *in_global = maps.data;
    expect_mistake("misuse", "__grid_constant__", [=] { load(in_global, 2, TILE, true); });
    const std::uint64_t longer[] = {100, 40};
    const std::uint32_t ones[] = {1, 1};
    encode_tensor(&map, 2, 2, memory.data, longer, MATRIX.stride.data(), MATRIX.box.data(), ones, 3,
                  false);
    const Map *too_long = &map;
    expect_mistake("address", "", [=] {
        run_kernel(1, 1, SHARED, [=] {
            std::uint64_t *barrier = shared_at<std::uint64_t>(0);
            make_barrier();
            const int first[] = {0, 16};
            tma_load(shared_at<unsigned char>(TILE), too_long, first, 2, barrier, 0, here());
        });
    });
}

// --------------------------------------------------------------------------------------- stores

// One thread writes a numbered tile and starts its store.
static void start_store(const Map *map, const int *first, int rank, std::size_t bytes) {
    unsigned char *tile = shared_at<unsigned char>(TILE);
    for (std::size_t i = 0; i < bytes; ++i)
        tile[i] = (unsigned char)(i * 5 + i / 240);
    current->cta->shared.publish(*current);
    tma_store(map, tile, first, rank, here());
}

static void expect_store(const Tensor &tensor, const std::vector<int> &first) {
    const Mapped mapped(tensor);
    const Global<unsigned char> &memory = mapped.memory;
    const Map *to = &mapped.map;
    const int *at = first.data();
    const int rank = tensor.rank();
    const std::size_t bytes = tensor.box_bytes();
    run_kernel(1, 1, SHARED, [=] {
        start_store(to, at, rank, bytes);
        bulk_commit(here());
        bulk_wait(0, false, here());
    });
    std::vector<unsigned char> expected(memory.count, 0xee);
    const std::size_t element_bytes = std::size_t(tensor.element_bytes);
    std::size_t inside = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        const long place = place_of(tensor, first, i / element_bytes);
        if (place < 0)
            continue;
        const std::size_t from = swizzled(i, tensor.swizzle);
        expected[std::size_t(place) + i % element_bytes] = (unsigned char)(from * 5 + from / 240);
        ++inside;
    }
    EXPECT(std::memcmp(memory.data, expected.data(), expected.size()) == 0,
           "swizzle %d, the box at (%d, %d)", tensor.swizzle, first[0], first[1]);
    EXPECT(counts.tma_stores == 1 && counts.tma_written_bytes == inside, "%llu bytes written",
           (unsigned long long)counts.tma_written_bytes);
}

static void store_clipping() {
    for (int swizzle = 0; swizzle <= 3; ++swizzle) {
        const Tensor tensor = {
            2, {100, 20}, {208}, {16u << (swizzle == 0 ? 2 : swizzle - 1), 9}, swizzle};
        for (int column : {0, 40, 72, 96})
            for (int row : {0, 4, 15, 30})
                expect_store(tensor, {column, row});
    }
}

static void store_mistakes() {
    const Mapped matrix(MATRIX);
    const Map *to = &matrix.map;
    expect_mistake("misuse", "negative", [to] {
        run_kernel(1, 1, SHARED, [to] {
            const int before[] = {-8, 0};
            start_store(to, before, 2, MATRIX.box_bytes());
        });
    });
}

// Two stores of one thread, the second `columns` and `rows` further; what stands between them.
static void store_twice(const Map *to, int columns, int rows,
                        const std::function<void()> &between) {
    run_kernel(1, 1, SHARED, [=] {
        const int first[] = {0, 0};
        const int second[] = {columns, rows};
        start_store(to, first, 2, MATRIX.box_bytes());
        between();
        tma_store(to, shared_at<unsigned char>(TILE), second, 2, here());
        bulk_commit(here());
        bulk_wait(0, false, here());
    });
}

// Under every policy: also where the first store has long been written.
static void store_orders() {
    const Mapped matrix(MATRIX);
    const Map *to = &matrix.map;
    const auto nothing = [] {};
    const auto wait = [](int pending, bool read) {
        return [=] {
            bulk_commit(here());
            bulk_wait(pending, read, here());
        };
    };
    const char *words = "nothing orders the two";
    for (const std::string &name : fixed_policy_names())
        under_policy(name.c_str(), [=] {
            expect_mistake("hazard", words, [=] { store_twice(to, 0, 0, nothing); });
            expect_mistake("hazard", words, [=] { store_twice(to, 56, 7, wait(0, true)); });
            expect_mistake("hazard", words, [=] { store_twice(to, 8, 0, wait(1, false)); });
            store_twice(to, 0, 0, wait(0, false));
            store_twice(to, 64, 0, nothing); // beside it, clipped at the edge
            store_twice(to, 0, 8, nothing);  // below it
        });
}

// A kernel that may begin early waits for the launch before. Thread 1 stores: its own wait is good,
// and that of thread 0, which runs first, if a barrier is between.
static void early_launch() {
    const Mapped matrix(MATRIX);
    const Map *to = &matrix.map;
    const auto store = [to](bool early, int waiting, bool barrier) {
        Grid grid{};
        grid.grid = grid.cluster = dim3(1);
        grid.block = dim3(2);
        grid.dynamic_shared = SHARED;
        grid.early = early;
        run_grid(grid, [=] {
            if (thread_number() == waiting)
                wait_for_launch_before();
            if (barrier)
                syncthreads(here());
            if (thread_number() == 1) {
                const int first[] = {0, 0};
                start_store(to, first, 2, MATRIX.box_bytes());
                bulk_commit(here());
                bulk_wait(0, false, here());
            }
        });
    };
    const int none = -1;
    store(false, none, true);
    store(true, 0, true);
    store(true, 1, false);
    expect_mistake("hazard", "launched early", [=] { store(true, none, true); });
    expect_mistake("hazard", "launched early", [=] { store(true, 0, false); });
}

int main() {
    run_case("tensor map: its arguments", map_arguments);
    run_case("TMA load: one dimension, zeros and NaN outside", load_rank_1);
    run_case("TMA load: two dimensions, every swizzle, clipped on all sides", load_rank_2);
    run_case("TMA load: three dimensions", load_rank_3);
    run_case("TMA load: five dimensions", load_rank_5);
    run_case("TMA load: mistakes are reported", load_mistakes);
    run_case("TMA store: every swizzle, clipped at the far sides", store_clipping);
    run_case("TMA store: negative coordinates are reported", store_mistakes);
    run_case("TMA store: a second one to the same place waits for the first", store_orders);
    run_case("TMA store: an early launch waits for the launch before", early_launch);
    return test_result();
}
