// SPDX-License-Identifier: Apache-2.0
#include "arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "tile/numeric.cuh"
#include "wide.hpp"

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
EMULATOR_WIDE void add_row(int n, double a, const float* b, double* sums) {
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

void multiply_in_14_bits(int m, int n, int k, const float* a, const float* b, bool add, float* sums, int smallest) {
  const auto finite = [](const float* from, int count) { return std::all_of(from, from + count, [](float v) { return std::isfinite(v); }); };
  if (!finite(a, m * k) || !finite(b, k * n) || (add && !finite(sums, m * n))) return multiply(m, n, k, a, b, add, sums);
  constexpr int nothing = -1000;
  const auto exponent = [](float v, int least) { return v == 0 ? nothing : std::max(std::ilogb(v), least); };
  std::vector<int> of_b(static_cast<std::size_t>(k * n));
  for (int at = 0; at < k * n; ++at) of_b[static_cast<std::size_t>(at)] = exponent(b[at], smallest);
  std::array<int, 256> most;
  std::array<double, 256> total, scale;
  for (int i = 0; i < m; ++i) {
    float* const out = sums + i * n;
    const float* const left = a + i * k;
    for (int j = 0; j < n; ++j) most[static_cast<std::size_t>(j)] = add ? exponent(out[j], -126) : nothing;
    for (int s = 0; s < k; ++s) {
      if (left[s] == 0) continue;
      const int of_a = exponent(left[s], smallest);
      for (int j = 0; j < n; ++j) most[static_cast<std::size_t>(j)] = std::max(most[static_cast<std::size_t>(j)], of_a + of_b[static_cast<std::size_t>(s * n + j)]);
    }
    for (int j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(j);
      most[at] = std::max(most[at], -140);  // of nothing, any
      scale[at] = std::ldexp(1.0, 13 - most[at]);
      total[at] = add ? std::trunc(static_cast<double>(out[j]) * scale[at]) : 0.0;
    }
    for (int s = 0; s < k; ++s) {
      if (left[s] == 0) continue;
      for (int j = 0; j < n; ++j) total[static_cast<std::size_t>(j)] += std::trunc(static_cast<double>(left[s]) * static_cast<double>(b[s * n + j]) * scale[static_cast<std::size_t>(j)]);
    }
    for (int j = 0; j < n; ++j) {
      const double sum = total[static_cast<std::size_t>(j)], last = std::abs(sum) < 0x1p14 ? 1.0 : std::ldexp(1.0, std::ilogb(sum) - 13);
      out[j] = static_cast<float>(std::trunc(sum / last) * last / scale[static_cast<std::size_t>(j)]);
    }
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
