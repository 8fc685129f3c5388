// SPDX-License-Identifier: Apache-2.0
// kernels/tile/numeric.cuh against the definition of each format: values by ldexp, rounding by comparing with the exact midpoints.
#include "tile/numeric.cuh"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "support/rng.hpp"

using namespace ggemm::kernels;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// What a format is, by its standard.
template <class Element> struct Definition;
template <int Exponent, int Mantissa, bool HasInfinity, bool Saturates>
struct Bits {
  static constexpr int exponent = Exponent, mantissa = Mantissa;
  static constexpr bool has_infinity = HasInfinity, saturates = Saturates;
};
template <> struct Definition<F16> : Bits<5, 10, true, false> {};
template <> struct Definition<Bf16> : Bits<8, 7, true, false> {};
template <> struct Definition<E4m3> : Bits<4, 3, false, true> {};
template <> struct Definition<E5m2> : Bits<5, 2, true, true> {};

template <class Element>
class Format {
 public:
  using D = Definition<Element>;
  static constexpr unsigned codes = 1u << (D::exponent + D::mantissa);  // without the sign

  Format() {
    for (unsigned code = 0; is_finite(code); ++code) finite_.push_back(value(code));
    for (std::size_t i = 0; i + 1 < finite_.size(); ++i) middles_.push_back((finite_[i] + finite_[i + 1]) / 2);
    middles_.push_back(finite_.back() + (finite_.back() - finite_[finite_.size() - 2]) / 2);
  }
  // Of a code without its sign.
  static double value(unsigned code) {
    const int bias = (1 << (D::exponent - 1)) - 1, exponent = static_cast<int>(code >> D::mantissa);
    const unsigned mantissa = code & ((1u << D::mantissa) - 1);
    if (D::has_infinity && exponent == (1 << D::exponent) - 1) return mantissa ? not_a_number : infinity;
    if (!D::has_infinity && code == codes - 1) return not_a_number;
    return exponent ? std::ldexp((1u << D::mantissa) + mantissa, exponent - bias - D::mantissa) : std::ldexp(mantissa, 1 - bias - D::mantissa);
  }
  static bool is_finite(unsigned code) { return code < codes && std::isfinite(value(code)); }

  // The code of a number that is not NaN.
  unsigned nearest(double number) const {
    const unsigned sign = std::signbit(number) ? codes : 0, largest = static_cast<unsigned>(finite_.size()) - 1;
    const double magnitude = std::fabs(number);
    // middles_[i] lies between codes i and i + 1, the last one between the largest and what overflows.
    const auto above = std::lower_bound(middles_.begin(), middles_.end(), magnitude);
    unsigned code = static_cast<unsigned>(above - middles_.begin());
    if (above != middles_.end() && *above == magnitude && code % 2 == 1) ++code;
    if (code > largest) code = D::saturates ? largest : largest + 1;
    return sign | code;
  }
  const std::vector<double>& finite() const { return finite_; }
  const std::vector<double>& middles() const { return middles_; }

 private:
  std::vector<double> finite_, middles_;
};

template <class Element>
const Format<Element>& format() {
  static const Format<Element> one;
  return one;
}

template <class Element>
Element element(unsigned code) {
  return Element{static_cast<decltype(Element::bits)>(code)};
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : bit_cast<u64>(a) == bit_cast<u64>(b); }

// Counts wrong results and remembers the first, because a Catch2 assertion for each of millions takes too long.
class Tally {
 public:
  void expect(unsigned got, unsigned wanted, double number, const char* from) {
    ++checked_;
    if (got == wanted || wrong_++) return;
    char line[160];
    std::snprintf(line, sizeof line, "%s %.17g (%a): code 0x%x, not 0x%x", from, number, number, got, wanted);
    first_ = line;
  }
  void check(std::uint64_t at_least) const {
    INFO("first of " << wrong_ << " wrong: " << first_);
    CHECK(wrong_ == 0);
    CHECK(checked_ >= at_least);
  }

 private:
  std::uint64_t checked_ = 0, wrong_ = 0;
  std::string first_;
};

template <class Element>
void expect_double(Tally& tally, double number) {
  tally.expect(Store<Element>::from(number).bits, format<Element>().nearest(number), number, "f64");
}
template <class Element>
void expect_float(Tally& tally, float number) {
  tally.expect(Store<Element>::from(number).bits, format<Element>().nearest(number), number, "f32");
}

template <class Element>
void check_codes() {
  const unsigned codes = Format<Element>::codes;
  unsigned wrong_value = 0, wrong_code = 0, nans = 0;
  for (unsigned code = 0; code < 2 * codes; ++code) {
    const double value = std::copysign(Format<Element>::value(code % codes), code < codes ? 1.0 : -1.0);
    const float single = to_sum<float>(element<Element>(code));
    const double twice = to_sum<double>(element<Element>(code));
    wrong_value += !same(single, value) || !same(twice, value);
    const unsigned from_single = Store<Element>::from(single).bits, from_twice = Store<Element>::from(twice).bits;
    if (std::isnan(value)) {
      ++nans;
      wrong_code += !std::isnan(Format<Element>::value(from_single % codes)) || !std::isnan(Format<Element>::value(from_twice % codes));
    } else {
      // fp8 has a code for infinity in e5m2 that nothing is stored as: it saturates.
      const unsigned wanted = std::isinf(value) && Definition<Element>::saturates ? code - 1 : code;
      wrong_code += from_single != wanted || from_twice != wanted;
    }
  }
  CHECK(wrong_value == 0);
  CHECK(wrong_code == 0);
  CHECK(nans == (Definition<Element>::has_infinity ? 2 * ((1u << Definition<Element>::mantissa) - 1) : 2));
}

// Every point where the result changes, and its neighbours in f64 and f32: a conversion that went by way of f32 would round twice there.
template <class Element>
void check_middles() {
  Tally tally;
  for (const double middle : format<Element>().middles()) {
    for (const double sign : {1.0, -1.0}) {
      for (const double number : {std::nextafter(middle, 0.0), middle, std::nextafter(middle, infinity)}) expect_double<Element>(tally, sign * number);
      const float single = static_cast<float>(middle);
      for (const float number : {std::nextafter(single, 0.0f), single, std::nextafter(single, std::numeric_limits<float>::infinity())})
        expect_float<Element>(tally, static_cast<float>(sign) * number);
    }
  }
  tally.check(12 * (Format<Element>::codes / 2));
}

template <class Element>
void check_samples() {
  Tally tally;
  ggemm::tests::Rng random(20);
  for (std::uint64_t bits = 0; bits < (std::uint64_t(1) << 32); bits += 2003) {
    const float number = bit_cast<float>(static_cast<u32>(bits));
    if (std::isnan(number)) continue;
    expect_float<Element>(tally, number);
    // the same in f64 with more bits below
    const u64 finer = bit_cast<u64>(static_cast<double>(number)) | (random.next() & 0x1fffffff);
    expect_double<Element>(tally, std::isinf(number) ? number : bit_cast<double>(finer));
  }
  for (int i = 0; i < 500000; ++i) {
    const double number = bit_cast<double>(random.next());
    if (!std::isnan(number)) expect_double<Element>(tally, number);
  }
  tally.check(4000000);
}

template <class Element>
void check_special() {
  Tally tally;
  for (const double number : {0.0, -0.0, infinity, -infinity, 1e300, -1e300, 5e-324, -5e-324, std::numeric_limits<double>::max(), 0x1p-1022}) {
    expect_double<Element>(tally, number);
    expect_float<Element>(tally, static_cast<float>(number));
  }
  tally.check(20);
  for (const u64 bits : {0x7ff8000000000000ull, 0xfff8000000000000ull, 0x7ff0000000000001ull, 0xfff0000000000001ull, 0x7fffffffffffffffull}) {
    const unsigned code = Store<Element>::from(bit_cast<double>(bits)).bits;
    CHECK(std::isnan(Format<Element>::value(code % Format<Element>::codes)));
    CHECK((code >= Format<Element>::codes) == static_cast<bool>(bits >> 63));
  }
  for (const u32 bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu}) {
    const unsigned code = Store<Element>::from(bit_cast<float>(bits)).bits;
    CHECK(std::isnan(Format<Element>::value(code % Format<Element>::codes)));
    CHECK((code >= Format<Element>::codes) == static_cast<bool>(bits >> 31));
  }
}

// Nearest integer, ties to even, cut at the ends.
std::int64_t nearest_integer(double number, std::int64_t low, std::int64_t high) {
  if (std::isnan(number)) return 0;
  if (number <= static_cast<double>(low)) return low;
  if (number >= static_cast<double>(high)) return high;
  const double below = std::floor(number), rest = number - below;
  const std::int64_t whole = static_cast<std::int64_t>(below);
  return rest > 0.5 || (rest == 0.5 && whole % 2 != 0) ? whole + 1 : whole;
}

}  // namespace

TEST_CASE("numeric: every code of f16, bf16, e4m3 and e5m2 has its value, and is what that value is stored as") {
  SECTION("f16") { check_codes<F16>(); }
  SECTION("bf16") { check_codes<Bf16>(); }
  SECTION("e4m3") { check_codes<E4m3>(); }
  SECTION("e5m2") { check_codes<E5m2>(); }
}

TEST_CASE("numeric: rounding is right at every midpoint between neighbours and beside it, from f64 and from f32") {
  SECTION("f16") { check_middles<F16>(); }
  SECTION("bf16") { check_middles<Bf16>(); }
  SECTION("e4m3") { check_middles<E4m3>(); }
  SECTION("e5m2") { check_middles<E5m2>(); }
}

TEST_CASE("numeric: rounding is right all over f32 and f64") {
  SECTION("f16") { check_samples<F16>(); }
  SECTION("bf16") { check_samples<Bf16>(); }
  SECTION("e4m3") { check_samples<E4m3>(); }
  SECTION("e5m2") { check_samples<E5m2>(); }
}

TEST_CASE("numeric: zeros, infinities, denormals and NaN") {
  SECTION("f16") { check_special<F16>(); }
  SECTION("bf16") { check_special<Bf16>(); }
  SECTION("e4m3") { check_special<E4m3>(); }
  SECTION("e5m2") { check_special<E5m2>(); }
}

TEST_CASE("numeric: the ends of the formats are where their standards put them") {
  CHECK(Store<F16>::from(65504.0f).bits == 0x7bff);
  CHECK(Store<F16>::from(65519.996f).bits == 0x7bff);
  CHECK(Store<F16>::from(65520.0f).bits == 0x7c00);
  CHECK(Store<F16>::from(0x1p-25).bits == 0);
  CHECK(Store<F16>::from(std::nextafter(0x1p-25, 1.0)).bits == 1);
  CHECK(Store<Bf16>::from(3.3895313892515355e38f).bits == 0x7f7f);
  CHECK(Store<Bf16>::from(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(to_sum<float>(E4m3{0x7e}) == 448.0f);
  CHECK(to_sum<float>(E4m3{0x01}) == 0x1p-9f);
  CHECK(std::isnan(to_sum<float>(E4m3{0x7f})));
  CHECK(Store<E4m3>::from(1e9f).bits == 0x7e);
  CHECK(Store<E4m3>::from(-infinity).bits == 0xfe);
  CHECK(to_sum<float>(E5m2{0x7b}) == 57344.0f);
  CHECK(to_sum<float>(E5m2{0x01}) == 0x1p-16f);
  CHECK(Store<E5m2>::from(1e9f).bits == 0x7b);
  CHECK(Store<E5m2>::from(infinity).bits == 0x7b);
}

TEST_CASE("numeric: SmallFloat decodes every format that it encodes") {
  unsigned wrong = 0;
  for (unsigned code = 0; code < 0x10000; ++code) wrong += !same(Bf16Format::decode(code), to_sum<float>(element<Bf16>(code)));
  CHECK(wrong == 0);
}

TEST_CASE("numeric: integers are rounded to nearest, ties to even, and saturate; NaN is 0") {
  std::uint64_t wrong = 0;
  for (int eighths = -8 * 300; eighths <= 8 * 300; ++eighths) {
    const double number = eighths / 8.0;
    for (const double near : {std::nextafter(number, -infinity), number, std::nextafter(number, infinity)}) {
      wrong += Store<i8>::from(near) != nearest_integer(near, -128, 127);
      wrong += Store<i32>::from(near) != nearest_integer(near, INT32_MIN, INT32_MAX);
    }
    wrong += Store<i8>::from(static_cast<float>(number)) != nearest_integer(number, -128, 127);
  }
  for (const double edge : {-2147483648.0, 2147483647.0, 2147483648.0, 4294967296.0, -4294967296.0, 1e18, -1e18, 1e300, -1e300, infinity, -infinity}) {
    for (const double near : {edge - 0.75, edge - 0.5, edge - 0.25, edge, edge + 0.25, edge + 0.5, edge + 0.75}) {
      wrong += Store<i32>::from(near) != nearest_integer(near, INT32_MIN, INT32_MAX);
      wrong += Store<i32>::from(static_cast<float>(near)) != nearest_integer(static_cast<float>(near), INT32_MIN, INT32_MAX);
      wrong += Store<i8>::from(near) != nearest_integer(near, -128, 127);
    }
  }
  for (i32 whole = -70000; whole <= 70000; ++whole) wrong += Store<i8>::from(whole) != std::clamp(whole, -128, 127);
  for (const i32 whole : {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX}) {
    wrong += Store<i32>::from(whole) != whole;
    wrong += Store<i8>::from(whole) != std::clamp(whole, -128, 127);
  }
  CHECK(wrong == 0);
  CHECK(Store<i8>::from(not_a_number) == 0);
  CHECK(Store<i32>::from(not_a_number) == 0);
  CHECK(Store<i32>::from(std::numeric_limits<float>::quiet_NaN()) == 0);
}

TEST_CASE("numeric: tf32 keeps 10 mantissa bits, ties away from zero, as cvt.rna does, or to even, as the copy engine does") {
  std::uint64_t wrong = 0, checked = 0;
  const auto expect = [&](float number) {
    ++checked;
    double away = number, even = number;
    if (std::isfinite(number) && number != 0) {
      const double exact = number, step = std::ldexp(1.0, std::max(std::ilogb(number), -126) - 10);
      const auto finite = [&](double steps) { return std::copysign(steps * step >= 0x1p128 ? infinity : steps * step, exact); };
      away = finite(std::floor(std::fabs(exact) / step + 0.5)), even = finite(std::nearbyint(std::fabs(exact) / step));
    }
    // A NaN, too, is one in the bits that are kept.
    const u32 kept = round_tf32_even(bit_cast<u32>(number)) & (std::isnan(number) ? ~0x1fffu : ~0u);
    wrong += !same(round_tf32(number), away) + !same(bit_cast<float>(kept), even);
  };
  for (std::uint64_t bits = 0; bits < (std::uint64_t(1) << 32); bits += 1009) expect(bit_cast<float>(static_cast<u32>(bits)));
  // the last bits before, at and after each tie of every exponent, with an even and an odd mantissa
  for (u32 exponent = 0; exponent < 256; ++exponent) {
    for (const u32 mantissa : {0u, 1u, 0x3feu, 0x3ffu}) {
      for (const u32 rest : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
        for (const u32 sign : {0u, 0x80000000u}) expect(bit_cast<float>(sign | exponent << 23 | mantissa << 13 | rest));
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(checked > 4000000);
}
