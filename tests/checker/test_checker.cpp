// SPDX-License-Identifier: Apache-2.0
// The tests of the checker itself: a right result passes, and one wrong bit, a wrong rounding, an element over the bound or a byte outside D does
// not.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "support/check.hpp"
#include "support/formats.hpp"

namespace ggemm::tests {
namespace {

// A result by the definition, element by element in long double: slow, and written apart from the checker.
Bytes right_result(const Case& c, const Images& images) {
  Bytes d = images[slot_d];
  const CaseType& t = c.type;
  const auto read = [&](SlotName slot, const View& view, ggemm_dtype dtype, std::int64_t i, std::int64_t j) {
    return decode(dtype, images[slot].data() + view.at(i, j) * static_cast<std::int64_t>(size_of(dtype)));
  };
  for (const Group& g : c.groups)
    for (std::int64_t i = 0; i < g.m; ++i)
      for (std::int64_t j = 0; j < g.n; ++j) {
        long double sum = 0;
        for (std::int64_t p = 0; p < g.k; ++p) sum += static_cast<long double>(read(slot_a, g.a, t.a, i, p)) * read(slot_b, g.b, t.b, p, j);
        long double x = c.alpha * sum;
        if (c.beta != 0) x += c.beta * read(c.use_of_c == UseOfC::same_as_d ? slot_d : slot_c, g.c, t.c_dtype(), i, j);
        // Without a bias 0 is added, which turns -0 into 0.
        x += t.bias ? decode(t.bias_type(), images[slot_bias].data() +
                                                (g.bias + (t.bias == GGEMM_BIAS_PER_ROW ? i : j)) * static_cast<std::int64_t>(size_of(t.bias_type())))
                    : 0.0;
        double y = static_cast<double>(x);
        if (t.activation == GGEMM_ACTIVATION_RELU) y = y < 0 ? 0 : y;
        encode(t.d, y, d.data() + g.d.at(i, j) * static_cast<std::int64_t>(size_of(t.d)));
      }
  return d;
}

CaseType type_of(bool grouped, ggemm_dtype in, ggemm_dtype out) {
  CaseType t;
  t.grouped = grouped;
  t.a = t.b = in;
  t.d = out;
  return t;
}

}  // namespace

TEST_CASE("Drawing the same number twice gives the same case, and another number another") {
  for (const bool grouped : {false, true}) {
    Drawing drawing;
    drawing.grouped = grouped;
    for (std::uint64_t number = 0; number < 50; ++number) {
      const Case one = draw_case(drawing, number), two = draw_case(drawing, number), other = draw_case(drawing, number + 1);
      CHECK(one.text() == two.text());
      CHECK(make_images(one) == make_images(two));
      CHECK(one.text() != other.text());
    }
  }
}

TEST_CASE("Cases of one class share their type, and their sizes differ") {
  Drawing drawing;
  drawing.per_class = 8;
  for (std::uint64_t number = 0; number < 80; number += 8) {
    const Case first = draw_case(drawing, number);
    bool sizes_differ = false;
    for (std::uint64_t i = 1; i < 8; ++i) {
      const Case c = draw_case(drawing, number + i);
      CHECK((c.type.a == first.type.a && c.type.b == first.type.b && c.type.d == first.type.d && c.type.layout_a == first.type.layout_a &&
             c.type.activation == first.type.activation));
      CHECK(c.config_choice == first.config_choice);
      sizes_differ |= c.groups[0].m != first.groups[0].m || c.groups[0].k != first.groups[0].k;
    }
    CHECK(sizes_differ);
  }
}

TEST_CASE("No two elements of a drawn D coincide, and every element lies within its buffer") {
  for (const bool grouped : {false, true}) {
    Drawing drawing;
    drawing.grouped = grouped;
    drawing.mode = Mode::guard;
    drawing.work = 20000;
    for (std::uint64_t number = 0; number < 300; ++number) {
      const Case c = draw_case(drawing, number);
      const Images images = make_images(c);
      std::vector<char> taken(images[slot_d].size() / size_of(c.type.d), 0);
      std::size_t wrong = 0;
      for (const Group& g : c.groups)
        for (std::int64_t i = 0; i < g.d.rows; ++i)
          for (std::int64_t j = 0; j < g.d.cols; ++j) {
            const std::int64_t at = g.d.at(i, j);
            if (at < 0 || at >= static_cast<std::int64_t>(taken.size()) || taken[static_cast<std::size_t>(at)]++) ++wrong;
          }
      INFO(c.text());
      CHECK(wrong == 0);
      // Guarded operands begin or end with an element, so that one step further is in the unmapped page.
      if (c.placement == Placement::begins_at_guard && !taken.empty()) CHECK(taken.front() == 1);
      if (c.placement == Placement::ends_at_guard && !taken.empty()) CHECK(taken.back() == 1);
    }
  }
}

TEST_CASE("The checker passes right results and finds every single wrong bit") {
  Drawing drawing;
  for (const auto& [in, out] : {std::pair{GGEMM_F32, GGEMM_F32},
                                {GGEMM_BF16, GGEMM_BF16},
                                {GGEMM_F16, GGEMM_F32},
                                {GGEMM_E4M3, GGEMM_E4M3},
                                {GGEMM_F64, GGEMM_F64},
                                {GGEMM_F16, GGEMM_I8}})
    for (const bool grouped : {false, true}) {
      drawing.grouped = grouped;
      const std::vector<Size> sizes = grouped ? std::vector<Size>{{5, 6, 7}, {0, 3, 3}, {4, 9, 0}} : std::vector<Size>{{9, 11, 13}};
      for (std::uint64_t number = 0; number < 4; ++number) {
        const Case c = draw_sized_case(drawing, type_of(grouped, in, out), sizes, number);
        const Images images = make_images(c);
        Bytes d = right_result(c, images);
        INFO(c.text());
        REQUIRE_FALSE(check_result(c, images, d, {}).has_value());
        std::size_t missed = 0;
        for (std::size_t bit = 0; bit < d.size() * 8; ++bit) {
          d[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
          if (!check_result(c, images, d, {})) ++missed;
          d[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
        }
        CHECK(missed == 0);
      }
    }
}

TEST_CASE("The bound passes the nearest value and refuses an element beyond it") {
  Drawing drawing;
  drawing.mode = Mode::real;
  for (const auto& [in, out] : {std::pair{GGEMM_F32, GGEMM_F32}, {GGEMM_BF16, GGEMM_BF16}, {GGEMM_F16, GGEMM_F16}, {GGEMM_F64, GGEMM_F64}}) {
    for (std::uint64_t number = 0; number < 12; ++number) {
      CaseType type = type_of(false, in, out);
      type.activation = number % 3 == 0 ? GGEMM_ACTIVATION_RELU : GGEMM_ACTIVATION_NONE;
      const Case c = draw_sized_case(drawing, type, {{8, 8, 40}}, number);
      const Images images = make_images(c);
      Bytes d = right_result(c, images);
      INFO(c.text());
      REQUIRE_FALSE(check_result(c, images, d, {}).has_value());
      const std::int64_t size = static_cast<std::int64_t>(size_of(out));
      for (const std::int64_t at : {c.groups[0].d.at(0, 0), c.groups[0].d.at(7, 3)}) {
        unsigned char* element = d.data() + at * size;
        unsigned char kept[8];
        std::memcpy(kept, element, static_cast<std::size_t>(size));
        const double value = decode(out, element);
        // An error of 3% is far over the bound of every type here, wherever the value is one at all.
        encode(out, std::isfinite(value) ? value * 1.03 + 1e-30 : 1.0, element);
        if (std::fabs(value) > 1e-25 && std::memcmp(kept, element, static_cast<std::size_t>(size)) != 0)
          CHECK(check_result(c, images, d, {}).has_value());
        encode(out, std::isnan(value) ? 0.0 : NAN, element);
        CHECK(check_result(c, images, d, {}).has_value());
        std::memcpy(element, kept, static_cast<std::size_t>(size));
      }
    }
  }
}

TEST_CASE("Rounding in the tables goes to the nearest, ties to even") {
  const struct {
    ggemm_dtype dtype;
    double value, expected;
  } rows[] = {{GGEMM_F16, 2049, 2048},
              {GGEMM_F16, 2051, 2052},
              {GGEMM_F16, 65519, 65504},
              {GGEMM_F16, 65520, INFINITY},
              {GGEMM_BF16, 257, 256},
              {GGEMM_BF16, 259, 260},
              {GGEMM_BF16, 3.4e38, INFINITY},
              {GGEMM_E4M3, 17, 16},
              {GGEMM_E4M3, 19, 20},
              {GGEMM_E4M3, 1e9, 448},
              {GGEMM_E4M3, -INFINITY, -448},
              {GGEMM_E5M2, 9, 8},
              {GGEMM_E5M2, 11, 12},
              {GGEMM_E5M2, 1e9, 57344},
              {GGEMM_E4M3, 0x1p-10, 0},
              {GGEMM_E4M3, 0x1.8p-10, 0x1p-9},
              {GGEMM_I8, 2.5, 2},
              {GGEMM_I8, 3.5, 4},
              {GGEMM_I8, -128.5, -128},
              {GGEMM_I32, NAN, 0},
              {GGEMM_F32, 16777217, 16777216}};
  for (const auto& row : rows) {
    INFO(name_of(row.dtype) << " " << row.value);
    CHECK(rounded(row.dtype, row.value) == row.expected);
  }
  CHECK(std::isnan(rounded(GGEMM_E4M3, NAN)));
  for (const ggemm_dtype dtype : {GGEMM_F16, GGEMM_BF16})
    for (unsigned code = 0; code < 65536; ++code) {
      const std::uint16_t bits = static_cast<std::uint16_t>(code);
      std::uint16_t again = 0;
      const double value = decode(dtype, &bits);
      encode(dtype, value, &again);
      if (!std::isnan(value) && again != bits) FAIL("code " << code << " of " << name_of(dtype) << " does not come back");
    }
}

}  // namespace ggemm::tests
