// SPDX-License-Identifier: Apache-2.0
#include "arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "tile/numeric.cuh"

namespace emulator {
namespace {

using ggemm::kernels::E4m3Format, ggemm::kernels::E5m2Format, ggemm::kernels::F16Format;

template <class Format>
std::vector<float> table(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = Format::decode(static_cast<uint32_t>(i));
  return out;
}

// A row of sums plus one row of b times a number.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose libraries are not there yet when a clone is chosen
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void add_row(int n, double a, const float* b, double* sums) {
  for (int j = 0; j < n; ++j) sums[j] += a * static_cast<double>(b[j]);
}

}  // namespace

const Tables tables = {table<F16Format>(65536), table<E4m3Format>(256), table<E5m2Format>(256)};

void multiply(int m, int n, int k, const float* a, const float* b, bool add, float* sums) {
  std::array<double, 256> row;
  // Zeros in A change nothing where B is finite: rows that a matrix's end cut off are most of a small problem's tile.
  const bool finite = std::all_of(b, b + k * n, [](float v) { return std::isfinite(v); });
  for (int i = 0; i < m; ++i) {
    float* const out = sums + i * n;
    const float* const left = a + i * k;
    if (finite && std::all_of(left, left + k, [](float v) { return v == 0; })) {
      if (!add) std::fill(out, out + n, 0.0f);
      continue;
    }
    for (int j = 0; j < n; ++j) row[static_cast<std::size_t>(j)] = add ? static_cast<double>(out[j]) : 0.0;
    for (int s = 0; s < k; ++s) add_row(n, static_cast<double>(left[s]), b + s * n, row.data());
    for (int j = 0; j < n; ++j) out[j] = static_cast<float>(row[static_cast<std::size_t>(j)]);
  }
}

void multiply(int m, int n, int k, const std::int8_t* a, const std::int8_t* b, bool add, std::int32_t* sums) {
  for (int i = 0; i < m; ++i) {
    auto* const out = reinterpret_cast<uint32_t*>(sums) + i * n;
    if (!add) std::fill(out, out + n, 0u);
    for (int s = 0; s < k; ++s) {
      const int left = a[i * k + s];
      if (left == 0) continue;
      for (int j = 0; j < n; ++j) out[j] += static_cast<uint32_t>(left * b[s * n + j]);
    }
  }
}

}  // namespace emulator
