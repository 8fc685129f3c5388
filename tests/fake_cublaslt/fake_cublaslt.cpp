// SPDX-License-Identifier: Apache-2.0
// A libcublasLt.so.13 of the fake driver's memory, which is host memory: what the benchmark asks of cuBLASLt, as NVIDIA's documentation describes it, computed plainly.
// https://docs.nvidia.com/cuda/cublas: cublasLtMatmul, and "Narrow Precision Data Types Usage" for the scales of fp8.
#include <cstdint>
#include <cstring>
#include <vector>

#include "ggemm.h"

namespace {

enum Status : int { success = 0, invalid_value = 7, not_supported = 15 };

struct Desc {
  std::int32_t transposed[2] = {0, 0}, mode[2] = {0, 0};
  const void* scale[2] = {nullptr, nullptr};
};
struct Matrix {
  int type = 0;
  std::int64_t rows = 0, cols = 0, ld = 0, stride = 0;
  std::int32_t batch = 1;
  bool grouped = false;
  const std::int32_t *group_rows = nullptr, *group_cols = nullptr, *group_ld = nullptr;

  Matrix of(int group) const {
    Matrix out = *this;
    if (grouped) out.rows = group_rows[group], out.cols = group_cols[group], out.ld = group_ld[group];
    return out;
  }
};
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

bool knows_modes = true;

ggemm_dtype dtype_of(int type) { return type == 0 ? GGEMM_F32 : type == 14 ? GGEMM_BF16 : type == 28 ? GGEMM_E4M3 : GGEMM_DTYPE_NONE; }

// Column-major, as all matrices of cuBLASLt are here.
std::vector<double> decoded(const Matrix& matrix, const void* data) {
  std::vector<double> out(matrix.rows && matrix.cols ? static_cast<std::size_t>((matrix.cols - 1) * matrix.ld + matrix.rows) : 0);
  ggemm_convert(GGEMM_F64, out.data(), dtype_of(matrix.type), data, out.size());
  return out;
}

// Of the first operand's element in row `line` (the second's in column `line`) and at `deep` of k; `lines` of them, k deep.
double scale_of(const Desc& desc, int operand, int group, std::int64_t line, std::int64_t lines, std::int64_t deep, std::int64_t k) {
  if (!desc.scale[operand]) return 1;
  const bool blocks = desc.mode[operand] >= 4;
  const auto* numbers = static_cast<const float*>(blocks && group >= 0 ? static_cast<const void* const*>(desc.scale[operand])[group] : desc.scale[operand]);
  const std::int64_t blocks4 = ((k + 127) / 128 + 3) / 4 * 4;
  switch (desc.mode[operand]) {
    case 3:
      return numbers[line];
    case 4:
      return numbers[line + deep / 128 * lines];
    case 5:
      return numbers[deep / 128 + line / 128 * blocks4];
    default:
      return numbers[0];
  }
}

// What cuBLASLt demands of scales, and what it does not offer on Hopper.
bool offered(const Desc& desc, const Matrix& a, const Matrix& d) {
  const int first = desc.mode[0], second = desc.mode[1];
  if ((first == 3) != (second == 3) || (first >= 4) != (second >= 4) || (first == 5 && second == 5)) return false;
  return !(first && a.type != 28) && !(d.grouped && first == 3);
}

int product(const Desc& desc, const Matrix& a, const void* a_data, const Matrix& b, const void* b_data, const Matrix& d, void* d_data, int group, double beta) {
  const std::int64_t m = d.rows, n = d.cols, k = desc.transposed[0] ? a.rows : a.cols;
  if (!m || !n) return success;
  if (desc.mode[0] >= 4 && (m % 4 || n % 4)) return invalid_value;
  for (int operand = 0; operand < 2; operand++) {
    const void* scales = desc.mode[operand] >= 4 && group >= 0 ? static_cast<const void* const*>(desc.scale[operand])[group] : desc.scale[operand];
    if (desc.mode[operand] && reinterpret_cast<std::uintptr_t>(scales) % 16) return invalid_value;
  }
  const std::vector<double> left = decoded(a, a_data), right = decoded(b, b_data), before = beta != 0 ? decoded(d, d_data) : std::vector<double>();
  for (std::int64_t j = 0; j < n; j++)
    for (std::int64_t i = 0; i < m; i++) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; l++) {
        const std::int64_t at_a = desc.transposed[0] ? l + i * a.ld : i + l * a.ld, at_b = desc.transposed[1] ? j + l * b.ld : l + j * b.ld;
        sum += left[static_cast<std::size_t>(at_a)] * right[static_cast<std::size_t>(at_b)] * scale_of(desc, 0, group, i, m, l, k) * scale_of(desc, 1, group, j, n, l, k);
      }
      if (beta != 0) sum += beta * before[static_cast<std::size_t>(i + j * d.ld)];
      const ggemm_dtype dtype = dtype_of(d.type);
      ggemm_convert(dtype, static_cast<char*>(d_data) + static_cast<std::size_t>(i + j * d.ld) * ggemm_dtype_size(dtype), GGEMM_F64, &sum, 1);
    }
  return success;
}

}  // namespace

extern "C" {
#define FAKE_API __attribute__((visibility("default")))

// 0: as before 12.9, which knows one scale a matrix alone.
FAKE_API void fake_cublaslt_know_modes(int known) { knows_modes = known; }

FAKE_API int cublasLtCreate(void** handle) { return *handle = &knows_modes, success; }
FAKE_API std::size_t cublasLtGetVersion() { return 131000; }
FAKE_API int cublasLtMatmulDescCreate(Desc** out, int, int) { return *out = new Desc, success; }
FAKE_API int cublasLtMatmulDescDestroy(Desc* desc) { return delete desc, success; }
FAKE_API int cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const void* value, std::size_t size) {
  void* to = attribute == 3 || attribute == 4 ? static_cast<void*>(&desc->transposed[attribute - 3])
             : attribute == 17 || attribute == 18 ? static_cast<void*>(&desc->scale[attribute - 17])
             : knows_modes && (attribute == 31 || attribute == 32) ? static_cast<void*>(&desc->mode[attribute - 31]) : nullptr;
  if (!to || size != (attribute == 17 || attribute == 18 ? sizeof(void*) : sizeof(std::int32_t))) return invalid_value;
  std::memcpy(to, value, size);
  return success;
}
FAKE_API int cublasLtMatrixLayoutCreate(Matrix** out, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  *out = new Matrix;
  (*out)->type = type, (*out)->rows = static_cast<std::int64_t>(rows), (*out)->cols = static_cast<std::int64_t>(cols), (*out)->ld = ld;
  return success;
}
FAKE_API int cublasLtGroupedMatrixLayoutCreate(Matrix** out, int type, int groups, const void* rows, const void* cols, const void* ld) {
  *out = new Matrix;
  (*out)->type = type, (*out)->batch = groups, (*out)->grouped = true;
  (*out)->group_rows = static_cast<const std::int32_t*>(rows), (*out)->group_cols = static_cast<const std::int32_t*>(cols), (*out)->group_ld = static_cast<const std::int32_t*>(ld);
  return success;
}
FAKE_API int cublasLtMatrixLayoutDestroy(Matrix* matrix) { return delete matrix, success; }
FAKE_API int cublasLtMatrixLayoutSetAttribute(Matrix* matrix, int attribute, const void* value, std::size_t size) {
  if (attribute == 5 && size == sizeof matrix->batch) return std::memcpy(&matrix->batch, value, size), success;
  if (attribute == 6 && size == sizeof matrix->stride) return std::memcpy(&matrix->stride, value, size), success;
  return invalid_value;
}
FAKE_API int cublasLtMatmulPreferenceCreate(int** out) { return *out = new int, success; }
FAKE_API int cublasLtMatmulPreferenceDestroy(int* preference) { return delete preference, success; }
FAKE_API int cublasLtMatmulPreferenceSetAttribute(int*, int, const void*, std::size_t) { return success; }
FAKE_API int cublasLtMatmulAlgoGetHeuristic(void*, Desc* desc, Matrix* a, Matrix*, Matrix*, Matrix* d, int*, int, Heuristic* out, int* found) {
  *found = offered(*desc, *a, *d);
  if (*found) *out = {};
  return success;
}
FAKE_API int cublasLtMatmul(void*, Desc* desc, const void*, const void* a, Matrix* la, const void* b, Matrix* lb, const void* beta, const void*, Matrix*,
                            void* d, Matrix* ld, const void*, void*, std::size_t, void*) {
  if (!offered(*desc, *la, *ld)) return not_supported;
  const double factor = *static_cast<const float*>(beta);
  const auto at = [](const Matrix& matrix, const void* data, int group) -> void* {
    if (matrix.grouped) return static_cast<void* const*>(data)[group];
    return static_cast<char*>(const_cast<void*>(data)) + static_cast<std::size_t>(group * matrix.stride) * ggemm_dtype_size(dtype_of(matrix.type));
  };
  for (int g = 0; g < ld->batch; g++)
    if (const int status = product(*desc, la->of(g), at(*la, a, g), lb->of(g), at(*lb, b, g), ld->of(g), at(*ld, d, g), ld->grouped ? g : -1, factor)) return status;
  return success;
}
}
