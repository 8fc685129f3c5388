// SPDX-License-Identifier: Apache-2.0
// f32 as terms of bf16, and the products of terms.
#include "tile/terms.cuh"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "support/rng.hpp"

using namespace ggemm::kernels;
using ggemm::tests::Rng;

namespace {

double value(Bf16 term) { return to_sum<double>(term); }
double whole(const Terms& t) { return value(t.high) + value(t.middle) + value(t.low); }

}  // namespace

TEST_CASE("terms: a number is the sum of its terms to the last bit, and each is at most half a unit of the one before") {
  const std::uint64_t seed = 7;
  Rng rng(seed);
  INFO("seed " << seed);
  int wrong = 0;
  for (int i = 0; i < 2000000; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(rng.below(std::uint64_t(1) << 32));
    const float x = bit_cast<float>(bits);
    if (!std::isfinite(x) || std::fabs(x) < 0x1p-110f) continue;
    const Terms t = split_terms(x);
    wrong += whole(t) != static_cast<double>(x);
    wrong += !std::isfinite(value(t.high)) || !std::isfinite(value(t.middle)) || !std::isfinite(value(t.low));
    const bool rounded_up = std::fabs(x) < 0x1.ffp127f;  // beyond, the first term would be infinite
    wrong += rounded_up && (std::fabs(value(t.middle)) > 0x1p-8 * std::fabs(x) || std::fabs(value(t.low)) > 0x1p-16 * std::fabs(x));
  }
  CHECK(wrong == 0);
}

TEST_CASE("terms: small numbers lose what lies below 2^-133, what is not finite is one term, zeros keep their sign") {
  for (const float x : {0x1p-111f, 0x1.fffffep-120f, -0x1.234568p-126f, 0x1p-149f, -0x1.8p-140f}) CHECK(std::fabs(whole(split_terms(x)) - static_cast<double>(x)) <= 0x1p-134);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {infinity, -infinity}) {
    const Terms t = split_terms(x);
    CHECK((value(t.high) == static_cast<double>(x) && t.middle.bits == 0 && t.low.bits == 0));
  }
  // a NaN whose payload lies in the low bits alone
  for (const std::uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fc00000u}) {
    const Terms t = split_terms(bit_cast<float>(bits));
    CHECK((std::isnan(value(t.high)) && t.middle.bits == 0 && t.low.bits == 0));
  }
  CHECK((split_terms(0.0f).high.bits == 0 && split_terms(-0.0f).high.bits == 0x8000));
  CHECK(whole(split_terms(std::numeric_limits<float>::max())) == static_cast<double>(std::numeric_limits<float>::max()));
  CHECK(whole(split_terms(std::numeric_limits<float>::lowest())) == static_cast<double>(std::numeric_limits<float>::lowest()));
}

TEST_CASE("terms: the products that are summed are those that count, each once, the largest last") {
  std::set<std::pair<int, int>> seen;
  int smallness = 4;
  for (int p = 0; p < term_products; ++p) {
    const int a = term_of_a(p), b = term_of_b(p);
    CHECK((a >= 0 && a < term_count && b >= 0 && b < term_count));
    CHECK(a + b <= smallness);
    smallness = a + b;
    seen.insert({a, b});
  }
  CHECK(seen == std::set<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {2, 0}});
  CHECK((term_of_a(term_corrections) == 0 && term_of_b(term_corrections) == 0));
}

TEST_CASE("terms: unusual is what is not finite, and what may give products above all f32") {
  for (const float x : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max(), 0x1p60f, -0x1p60f})
    CHECK(unusual_for_terms(x));
  for (const float x : {0.0f, -0.0f, 1.0f, -3.5f, 0x1p-149f, 0x1.fffffep59f, -0x1.fffffep59f}) CHECK_FALSE(unusual_for_terms(x));
}
