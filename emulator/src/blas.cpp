// The product of matrices behind the stand-ins of cuBLAS and cuBLASLt.
#include "formats/half.h"
#include "global_memory.h"
#include "emulator/report.h"

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstring>

const char *cublasGetStatusName(cublasStatus_t status) {
#define EMULATOR_NAME(name, value) status == value ? "CUBLAS_STATUS_" #name:
    return EMULATOR_STATUSES(EMULATOR_NAME) "CUBLAS_STATUS_UNKNOWN";
}

namespace emulator::blas {

namespace {

// How numbers of a type are read and written.
struct Format {
    cudaDataType_t type;
    std::int64_t bytes; // 0: the emulator lacks the type
    double (*load)(const void *from);
    void (*store)(void *to, double value);
};
template <typename T>
constexpr Format format_of(cudaDataType_t type) {
    using Exact = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
    const auto load = [](const void *from) { return double(Exact(*static_cast<const T *>(from))); };
    const auto store = [](void *to, double value) {
        *static_cast<T *>(to) = T(std::is_arithmetic_v<T> ? value : narrow_for_rounding(value));
    };
    return {type, sizeof(T), load, store};
}
constexpr Format FORMATS[] = {format_of<float>(CUDA_R_32F),
                              format_of<double>(CUDA_R_64F),
                              format_of<__half>(CUDA_R_16F),
                              format_of<__nv_bfloat16>(CUDA_R_16BF),
                              format_of<std::int8_t>(CUDA_R_8I),
                              format_of<std::int32_t>(CUDA_R_32I),
                              format_of<__nv_fp8_e4m3>(CUDA_R_8F_E4M3),
                              {}};

const Format &found(cudaDataType_t type) {
    return *std::find_if(FORMATS, std::end(FORMATS) - 1,
                         [type](const Format &one) { return one.type == type; });
}

// op(A) and the like of one of a batch: rows x columns, in places that are so many elements apart.
struct View {
    Format format;
    char *data;
    std::int64_t rows, columns, row_by, column_by;

    View(const Matrix &of, std::int64_t rows, std::int64_t columns, int index)
        : format(found(of.type)), data((char *)of.data + index * of.stride * format.bytes),
          rows(rows), columns(columns), row_by(of.transposed ? of.leading : 1),
          column_by(of.transposed ? 1 : of.leading) {}
    bool fits() const {
        return format.bytes > 0 && rows >= 0 && columns >= 0 && column_by > 0 && row_by > 0 &&
               (column_by >= rows || row_by >= columns);
    }
    char *at(std::int64_t row, std::int64_t column) const {
        return data + (row * row_by + column * column_by) * format.bytes;
    }
    std::vector<double> numbers() const {
        std::vector<double> all;
        for (std::int64_t i = 0; i < rows * columns; ++i)
            all.push_back(format.load(at(i % rows, i / rows)));
        return all;
    }
    // As it is stored, column after column.
    void add_accesses(std::vector<StreamAccess> &accesses, bool is_write) const {
        const bool is_plain = row_by == 1;
        const std::size_t bytes = std::size_t((is_plain ? rows : columns) * format.bytes);
        for (std::int64_t i = 0; i < (is_plain ? columns : rows); ++i)
            accesses.push_back({is_plain ? at(0, i) : at(i, 0), bytes, is_write});
    }
};

cublasStatus_t failed(cublasStatus_t status, const std::string &why) {
    say("runtime", std::string("cuBLAS fails with ") + cublasGetStatusName(status) + ": " + why);
    return status;
}

// D of one of a batch.
void multiply_one(const View &a, const View &b, const View &c, const View &d, double alpha,
                  double beta) {
    const std::vector<double> left = a.numbers(), right = b.numbers();
    for (std::int64_t column = 0; column < d.columns; ++column) {
        std::vector<double> sums(std::size_t(d.rows));
        for (std::int64_t k = 0; k < a.columns; ++k)
            for (std::int64_t row = 0; row < d.rows; ++row)
                sums[row] += left[row + k * a.rows] * right[k + column * b.rows];
        for (std::int64_t row = 0; row < d.rows; ++row) {
            const double old = beta != 0 ? beta * c.format.load(c.at(row, column)) : 0;
            d.format.store(d.at(row, column), alpha * sums[row] + old);
        }
    }
}

} // namespace

cublasStatus_t multiply(cudaStream_t stream, std::int64_t m, std::int64_t n, std::int64_t k,
                        const void *alpha, const Matrix &a, const Matrix &b, const void *beta,
                        const Matrix &c, const Matrix &d, int batch, cudaDataType_t scalars) {
    const Format &scalar = found(scalars);
    for (int index = 0; index < batch; ++index) {
        const View left{a, m, k, index}, right{b, k, n, index}, old{c, m, n, index};
        const View to{d, m, n, index};
        if (!left.fits() || !right.fits() || !old.fits() || !to.fits() || scalar.bytes == 0)
            return failed(CUBLAS_STATUS_INVALID_VALUE,
                          "a negative size, a leading dimension below the rows that are stored, "
                          "or a type that the emulator lacks");
        const double by = scalar.load(alpha), old_by = scalar.load(beta);
        std::vector<StreamAccess> accesses;
        left.add_accesses(accesses, false);
        right.add_accesses(accesses, false);
        if (old_by != 0) // else C may hold anything
            old.add_accesses(accesses, false);
        to.add_accesses(accesses, true);
        if (const std::string why = access_on(stream, accesses); !why.empty())
            return failed(CUBLAS_STATUS_EXECUTION_FAILED, "it " + why);
        multiply_one(left, right, old, to, by, old_by);
    }
    return CUBLAS_STATUS_SUCCESS;
}

} // namespace emulator::blas
