// SPDX-License-Identifier: Apache-2.0
// kernels/epilogue/activation.cuh at the ends of its range, and against its formulas in between.
#include "epilogue/activation.cuh"

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "ggemm.h"

using ggemm::kernels::activate;

namespace {

// Every activation at x, by its number.
template <class V>
V at(int activation, V x, V p0 = V(0.25), V p1 = V(2)) {
  switch (activation) {
    case GGEMM_ACTIVATION_NONE: return activate<GGEMM_ACTIVATION_NONE>(x, p0, p1);
    case GGEMM_ACTIVATION_RELU: return activate<GGEMM_ACTIVATION_RELU>(x, p0, p1);
    case GGEMM_ACTIVATION_LEAKY_RELU: return activate<GGEMM_ACTIVATION_LEAKY_RELU>(x, p0, p1);
    case GGEMM_ACTIVATION_GELU: return activate<GGEMM_ACTIVATION_GELU>(x, p0, p1);
    case GGEMM_ACTIVATION_GELU_TANH: return activate<GGEMM_ACTIVATION_GELU_TANH>(x, p0, p1);
    case GGEMM_ACTIVATION_SILU: return activate<GGEMM_ACTIVATION_SILU>(x, p0, p1);
    case GGEMM_ACTIVATION_SIGMOID: return activate<GGEMM_ACTIVATION_SIGMOID>(x, p0, p1);
    case GGEMM_ACTIVATION_TANH: return activate<GGEMM_ACTIVATION_TANH>(x, p0, p1);
    default: return activate<GGEMM_ACTIVATION_CLAMP>(x, p0, p1);
  }
}

constexpr int all = GGEMM_ACTIVATION_CLAMP + 1;

}  // namespace

TEMPLATE_TEST_CASE("activation: at the infinities each is its limit", "", float, double) {
  using V = TestType;
  const V infinity = std::numeric_limits<V>::infinity(), lowest = std::numeric_limits<V>::lowest();
  const V at_minus[all] = {-infinity, 0, -infinity, 0, 0, 0, 0, -1, V(0.25)}, at_plus[all] = {infinity, infinity, infinity, infinity, infinity, infinity, 1, 1, 2};
  for (int i = 0; i < all; ++i) {
    INFO("activation " << i);
    CHECK(at<V>(i, -infinity) == at_minus[i]);
    CHECK(at<V>(i, infinity) == at_plus[i]);
    if (std::isfinite(at_minus[i])) CHECK(at<V>(i, lowest) == at_minus[i]);
  }
}

TEMPLATE_TEST_CASE("activation: NaN stays NaN", "", float, double) {
  for (int i = 0; i < all; ++i) {
    INFO("activation " << i);
    CHECK(std::isnan(at<TestType>(i, std::numeric_limits<TestType>::quiet_NaN())));
  }
}

TEMPLATE_TEST_CASE("activation: finite values are those of the formula", "", float, double) {
  using V = TestType;
  const double unit = std::numeric_limits<V>::epsilon();
  for (double x = -30; x <= 30; x += 1.0 / 64) {
    const double expected[all] = {x,
                                  std::max(x, 0.0),
                                  x > 0 ? x : 0.25 * x,
                                  x / 2 * std::erfc(-x / std::sqrt(2.0)),
                                  x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))),
                                  x / (1 + std::exp(-x)),
                                  1 / (1 + std::exp(-x)),
                                  std::tanh(x),
                                  std::clamp(x, 0.25, 2.0)};
    for (int i = 0; i < all; ++i) {
      const double got = at<V>(i, static_cast<V>(x));
      if (!(std::fabs(got - expected[i]) <= 8 * unit * (std::fabs(x) + 1))) FAIL_CHECK("activation " << i << " at " << x << ": " << got << ", not " << expected[i]);
    }
  }
}

TEST_CASE("activation: of integers, relu and clamp") {
  CHECK(activate<GGEMM_ACTIVATION_RELU>(-5, 0, 0) == 0);
  CHECK(activate<GGEMM_ACTIVATION_RELU>(5, 0, 0) == 5);
  CHECK(activate<GGEMM_ACTIVATION_CLAMP>(-5, -3, 4) == -3);
  CHECK(activate<GGEMM_ACTIVATION_CLAMP>(5, -3, 4) == 4);
  CHECK(activate<GGEMM_ACTIVATION_CLAMP>(1, -3, 4) == 1);
}
