// The product of matrices behind the stand-ins of cuBLAS.
#include "global_memory.h"
#include "emulator/ptx.h"
#include "emulator/report.h"

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>

const char *cublasGetStatusName(cublasStatus_t status) {
#define EMULATOR_NAME(name, value) status == value ? "CUBLAS_STATUS_" #name:
    return EMULATOR_STATUSES(EMULATOR_NAME) "CUBLAS_STATUS_UNKNOWN";
}

namespace emulator::blas {
namespace {
// Calls it with a number of that type; with a char if the emulator lacks the type.
template <typename Function>
auto with_number(cudaDataType_t type, const Function &function) {
#define EMULATOR_WITH(name, value, T) type == name ? function(T()):
    return EMULATOR_DATA_TYPES(EMULATOR_WITH) function(char());
}

// op(A) and the like of one of a batch: rows x columns, in places that are so many elements apart.
struct View {
    cudaDataType_t type;
    char *data;
    std::int64_t rows, columns, row_by, column_by;

    View(const Matrix &of, std::int64_t rows, std::int64_t columns, int index)
        : type(of.type), data((char *)of.data + index * of.stride * bytes()), rows(rows),
          columns(columns), row_by(of.op ? of.leading : 1), column_by(of.op ? 1 : of.leading) {}

    std::int64_t bytes() const {
        return with_number(type, [](auto number) { return int(sizeof number); });
    }
    bool fits() const {
        const auto is_lacking = [](auto number) { return std::is_same_v<decltype(number), char>; };
        return !with_number(type, is_lacking) && rows >= 0 && columns >= 0 && row_by > 0 &&
               column_by > 0 && (column_by >= rows || row_by >= columns);
    }
    char *at(std::int64_t row, std::int64_t column) const {
        return data + (row * row_by + column * column_by) * bytes();
    }
    double load(std::int64_t row, std::int64_t column) const {
        return with_number(type, [from = at(row, column)](auto number) {
            using T = decltype(number);
            using Exact = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
            return double(Exact(*reinterpret_cast<T *>(from)));
        });
    }
    void store(std::int64_t row, std::int64_t column, double value) const {
        with_number(type, [to = at(row, column), value](auto number) {
            using T = decltype(number);
            const bool exact = std::is_arithmetic_v<T>;
            *reinterpret_cast<T *>(to) = T(exact ? value : narrow_for_rounding(value));
        });
    }
    std::vector<double> numbers() const {
        std::vector<double> all;
        for (std::int64_t i = 0; i < rows * columns; ++i)
            all.push_back(load(i % rows, i / rows));
        return all;
    }
    // Stored columns are read or written on the stream: what is wrong with it, or "".
    std::string access(cudaStream_t stream, bool is_write) const {
        std::vector<StreamAccess> all;
        for (std::int64_t i = 0; i < (row_by == 1 ? columns : rows); ++i)
            all.push_back({row_by == 1 ? at(0, i) : at(i, 0),
                           std::size_t((row_by == 1 ? rows : columns) * bytes()), is_write});
        return access_on(stream, all);
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
    for (std::int64_t column = 0; column < c.columns; ++column) {
        std::vector<double> sums(std::size_t(c.rows));
        for (std::int64_t k = 0; k < a.columns; ++k)
            for (std::int64_t row = 0; row < c.rows; ++row)
                sums[row] += left[row + k * a.rows] * right[k + column * b.rows];
        for (std::int64_t row = 0; row < c.rows; ++row)
            d.store(row, column, alpha * sums[row] + (beta != 0 ? beta * c.load(row, column) : 0));
    }
}
} // namespace

cublasStatus_t multiply(const Product &p) {
    const auto scalars = p.compute < CUBLAS_COMPUTE_16F    ? cudaDataType_t(p.compute)
                         : p.compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F
                         : p.compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F
                         : p.compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I
                                                           : CUDA_R_32F;
    const View alpha{{p.alpha, scalars, 1}, 1, 1, 0}, beta{{p.beta, scalars, 1}, 1, 1, 0};
    for (int index = 0; index < p.batch; ++index) {
        const View a{p.a, p.m, p.k, index}, b{p.b, p.k, p.n, index};
        const View c{p.c, p.m, p.n, index}, d{p.d, p.m, p.n, index};
        if (!a.fits() || !b.fits() || !c.fits() || !d.fits() || !alpha.fits())
            return failed(CUBLAS_STATUS_INVALID_VALUE,
                          "a size, a leading dimension or a type is not possible here");
        double factor = alpha.load(0, 0);
        std::string why = a.access(p.stream, false) + b.access(p.stream, false);
        if (beta.load(0, 0) != 0) // else C may hold anything
            why += c.access(p.stream, false);
        for (const void *scale : p.scales)
            if (const View one{{scale, CUDA_R_32F, 1}, 1, 1, 0}; scale != nullptr) {
                why += one.access(p.stream, false);
                factor *= why.empty() ? one.load(0, 0) : 0;
            }
        if (why += d.access(p.stream, true); !why.empty())
            return failed(CUBLAS_STATUS_EXECUTION_FAILED, "it " + why);
        multiply_one(a, b, c, d, factor, beta.load(0, 0));
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t how, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_is, const void *b,
                              cublasLtMatrixLayout_t b_is, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_is, void *d, cublasLtMatrixLayout_t d_is,
                              const cublasLtMatmulAlgo_t *, void *, std::size_t,
                              cudaStream_t stream, Site where) {
#define EMULATOR_NAME_OF(name) "CUBLASLT_MATMUL_DESC_" #name,
    static constexpr const char *NAMES[] = {EMULATOR_MATMUL_ATTRIBUTES(EMULATOR_NAME_OF)};
    const auto know = [where](const char *name, std::int64_t value, bool is_known) {
        if (!is_known)
            ptx::unknown(where.file_name(), int(where.line()),
                         format("cublasLtMatmul with %s = %lld", name, (long long)value).c_str());
    };
    for (int i = 0; i < std::ssize(NAMES); ++i)
        know(NAMES[i], how->values[i],
             i <= CUBLASLT_MATMUL_DESC_B_SCALE_POINTER
                 ? i != CUBLASLT_MATMUL_DESC_EPILOGUE || how->values[i] == CUBLASLT_EPILOGUE_DEFAULT
                 : how->values[i] == 0);
    std::int64_t rows[4], columns[4]; // after op
    const auto matrix = [&](int which, const void *data, cublasLtMatrixLayout_t is,
                            bool transposed = false) -> Matrix {
        const std::int64_t order = is->values[CUBLASLT_MATRIX_LAYOUT_ORDER];
        know("CUBLASLT_MATRIX_LAYOUT_ORDER", order, order <= CUBLASLT_ORDER_ROW);
        rows[which] = is->values[CUBLASLT_MATRIX_LAYOUT_ROWS + transposed];
        columns[which] = is->values[CUBLASLT_MATRIX_LAYOUT_COLS - transposed];
        return {data, cudaDataType_t(is->values[CUBLASLT_MATRIX_LAYOUT_TYPE]),
                is->values[CUBLASLT_MATRIX_LAYOUT_LD], cublasOperation_t(transposed != order),
                is->values[CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET]};
    };
    Product all{stream, 0, 0, 0, alpha, beta, {}, {}, {}, {}, 0};
    all.a = matrix(0, a, a_is, how->values[CUBLASLT_MATMUL_DESC_TRANSA]);
    all.b = matrix(1, b, b_is, how->values[CUBLASLT_MATMUL_DESC_TRANSB]);
    all.c = matrix(2, c, c_is), all.d = matrix(3, d, d_is);
    all.m = rows[3], all.n = columns[3], all.k = columns[0];
    all.compute = int(how->values[CUBLASLT_MATMUL_DESC_SCALE_TYPE]);
    all.batch = int(d_is->values[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT]);
    all.scales[0] = (const void *)how->values[CUBLASLT_MATMUL_DESC_A_SCALE_POINTER];
    all.scales[1] = (const void *)how->values[CUBLASLT_MATMUL_DESC_B_SCALE_POINTER];
    if (rows[0] != all.m || rows[1] != all.k || columns[1] != all.n || rows[2] != all.m ||
        columns[2] != all.n)
        return failed(CUBLAS_STATUS_INVALID_VALUE, "the sizes of the matrices do not fit");
    return multiply(all);
}
} // namespace emulator::blas
