// SPDX-License-Identifier: Apache-2.0
// What `--check` and the demo hold results against must itself find what is wrong.
#include "common/reference.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace {

using namespace ggemm::tools;

// A product of random numbers with its right result, rounded once.
struct Sample {
  std::int64_t m = 9, n = 130, k = 37;
  std::vector<float> a, b, c, d, bias;
  ReferenceProduct product;

  explicit Sample(bool epilogue = false) : a(std::size_t(m * k)), b(std::size_t(k * n)), c(std::size_t(m * n)), d(c.size()), bias(std::size_t(n)) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto* values : {&a, &b, &c, &bias})
      for (float& value : *values) value = normal(random);
    product.a = {GGEMM_F32, a.data(), m, k, k, 1};
    product.b = {GGEMM_F32, b.data(), k, n, n, 1};
    product.d = {GGEMM_F32, d.data(), m, n, n, 1};
    if (epilogue) {
      product.c = {GGEMM_F32, c.data(), m, n, n, 1};
      product.alpha = -1.5;
      product.beta = 0.25;
      product.bias = GGEMM_BIAS_PER_COLUMN;
      product.bias_dtype = GGEMM_F32;
      product.bias_data = bias.data();
      product.activation = GGEMM_ACTIVATION_SILU;
    }
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) d[std::size_t(i * n + j)] = static_cast<float>(value(i, j, epilogue));
  }
  double value(std::int64_t i, std::int64_t j, bool epilogue) const {
    double sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += double(a[std::size_t(i * k + l)]) * double(b[std::size_t(l * n + j)]);
    if (!epilogue) return sum;
    const double x = -1.5 * sum + 0.25 * double(c[std::size_t(i * n + j)]) + double(bias[std::size_t(j)]);
    return x / (1 + std::exp(-x));
  }
  ErrorReport check() const { return check_rows(product, sample_rows(m, n, k, 1e9)); }
};

}  // namespace

TEST_CASE("a right product passes with room to spare, and every element is looked at") {
  for (const bool epilogue : {false, true}) {
    const ErrorReport report = Sample(epilogue).check();
    CHECK(report.passed());
    CHECK(report.elements == 9 * 130);
    CHECK(report.max_share < 0.1);
    CHECK(report.max_error > 0);
  }
}

TEST_CASE("one element that is off by a thousandth is found wherever it is") {
  for (const bool epilogue : {false, true}) {
    for (const auto& [row, col] : {std::pair{0, 0}, {0, 129}, {8, 0}, {8, 129}, {4, 63}, {4, 64}}) {
      Sample sample(epilogue);
      sample.d[std::size_t(row * 130 + col)] += 1e-3f;
      const ErrorReport report = sample.check();
      CHECK_FALSE(report.passed());
      CHECK(report.row == row);
      CHECK(report.col == col);
      CHECK(report.got == sample.d[std::size_t(row * 130 + col)]);
      CHECK(std::fabs(report.wanted - sample.value(row, col, epilogue)) < 1e-9);
    }
  }
}

TEST_CASE("NaN and infinity where a number belongs are found, and are right where they belong") {
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Sample sample;
    sample.d[200] = wrong;
    CHECK_FALSE(sample.check().passed());
  }
  Sample sample;
  sample.a[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(sample.check().passed());
  for (std::size_t j = 0; j < 130; ++j) sample.d[j] = std::numeric_limits<float>::quiet_NaN();
  CHECK(sample.check().passed());
}

TEST_CASE("int8 products stored as int32 must match exactly and wrap") {
  // 2 x 1 x 1, times a scalar that takes the sum past 2^31.
  const std::int8_t a[] = {127, -128}, b[] = {127};
  ReferenceProduct product;
  product.a = {GGEMM_I8, a, 2, 1, 1, 1};
  product.b = {GGEMM_I8, b, 1, 1, 1, 1};
  product.alpha = 1 << 20;
  const auto wrapped = [](std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); };
  std::int32_t d[] = {wrapped(std::int64_t(127) * 127 * (1 << 20)), wrapped(std::int64_t(-128) * 127 * (1 << 20))};
  product.d = {GGEMM_I32, d, 2, 1, 1, 1};
  CHECK(check_rows(product, {0, 1}).passed());
  d[1] += 1;
  const ErrorReport report = check_rows(product, {0, 1});
  CHECK_FALSE(report.passed());
  CHECK(report.row == 1);
}

TEST_CASE("narrow outputs saturate or overflow as the library says") {
  const float a[] = {300}, b[] = {300};  // 90000
  ReferenceProduct product;
  product.a = {GGEMM_F32, a, 1, 1, 1, 1};
  product.b = {GGEMM_F32, b, 1, 1, 1, 1};
  struct Case {
    ggemm_dtype dtype;
    std::vector<unsigned char> right, wrong;
  };
  const std::vector<Case> cases{
      {GGEMM_F16, {0x00, 0x7c}, {0xff, 0x7b}},  // infinity, not the largest number
      {GGEMM_F16, {0x00, 0x7c}, {0x00, 0xfc}},  // nor the other infinity
      {GGEMM_E4M3, {0x7e}, {0x7d}},             // 448
      {GGEMM_E5M2, {0x7b}, {0x7c}},             // 57344, not infinity
      {GGEMM_I8, {127}, {126}},
  };
  for (const Case& each : cases) {
    product.d = {each.dtype, each.right.data(), 1, 1, 1, 1};
    INFO(ggemm_dtype_name(each.dtype));
    CHECK(check_rows(product, {0}).passed());
    product.d.base = each.wrong.data();
    CHECK_FALSE(check_rows(product, {0}).passed());
  }
}

TEST_CASE("strides of either sign and zero are followed") {
  const std::vector<float> a{1, 2, 3, 4}, b{5, 6};
  ReferenceProduct product;
  product.a = {GGEMM_F32, a.data() + 3, 2, 2, -2, -1};  // [[4, 3], [2, 1]]
  product.b = {GGEMM_F32, b.data(), 2, 2, 1, 0};        // [[5, 5], [6, 6]]
  const std::vector<float> d{38, 16, 38, 16};           // column-major
  product.d = {GGEMM_F32, d.data(), 2, 2, 1, 2};
  CHECK(check_rows(product, {0, 1}).max_error == 0);
}

TEST_CASE("a sample of rows has the first and the last and no row twice") {
  CHECK(sample_rows(5, 10, 10, 1e9) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(sample_rows(0, 10, 10, 1e9).empty());
  CHECK(sample_rows(1, 10, 10, 0) == std::vector<std::int64_t>{0});
  for (const std::int64_t m : {2, 3, 1000, 1001}) {
    const std::vector<std::int64_t> rows = sample_rows(m, 10, 10, 1700);
    CHECK(rows.front() == 0);
    CHECK(rows.back() == m - 1);
    CHECK(rows.size() == std::size_t(std::min<std::int64_t>(m, 17)));
    CHECK(std::is_sorted(rows.begin(), rows.end()));
    CHECK(std::adjacent_find(rows.begin(), rows.end()) == rows.end());
  }
}
