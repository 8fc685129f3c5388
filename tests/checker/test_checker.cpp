// SPDX-License-Identifier: Apache-2.0
// The tests of the checker itself: a right result passes, and one wrong bit, a wrong rounding, an element over the bound or a byte outside D does
// not.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <tuple>

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
  const auto scale = [&](SlotName slot, const View& view, ggemm_scale_kind kind, std::int64_t mn, std::int64_t k, bool rows) {
    if (kind == GGEMM_SCALE_NONE) return 1.0;
    const std::int64_t along = kind == GGEMM_SCALE_TENSOR ? 0 : kind == GGEMM_SCALE_BLOCK_128X128 ? mn / 128 : mn, deep = kind < GGEMM_SCALE_BLOCK_1X128 ? 0 : k / 128;
    return read(slot, view, GGEMM_F32, rows ? along : deep, rows ? deep : along);
  };
  // Before the activation.
  const auto product = [&](const Group& g, std::int64_t i, std::int64_t j) {
    long double sum = 0;
    for (std::int64_t p = 0; p < g.k; ++p)
      sum += static_cast<long double>(read(slot_a, g.a, t.a, i, p)) * read(slot_b, g.b, t.b, p, j) * scale(slot_scale_a, g.scale_a, t.scale_a, i, p, true) *
             scale(slot_scale_b, g.scale_b, t.scale_b, j, p, false);
    long double x = c.alpha * sum;
    if (c.beta != 0) x += c.beta * read(c.use_of_c == UseOfC::same_as_d ? slot_d : slot_c, g.c, t.c_dtype(), i, j);
    // Without a bias 0 is added, which turns -0 into 0.
    x += t.bias ? decode(t.bias_type(), images[slot_bias].data() +
                                            (g.bias + (t.bias == GGEMM_BIAS_PER_ROW ? i : j)) * static_cast<std::int64_t>(size_of(t.bias_type())))
                : 0.0;
    return static_cast<double>(x);
  };
  const auto activated = [&](double y) { return t.activation == GGEMM_ACTIVATION_RELU && y < 0 ? 0 : y; };
  for (const Group& g : c.groups)
    for (std::int64_t i = 0; i < g.d.rows; ++i)
      for (std::int64_t j = 0; j < g.d.cols; ++j) {
        double y = 0;
        if (t.gate == GGEMM_GATE_NONE) y = activated(product(g, i, j));
        else if (t.gate == GGEMM_GATE_HALVES) y = activated(product(g, i, j)) * product(g, i, j + g.n / 2);
        else y = activated(product(g, i, 2 * j)) * product(g, i, 2 * j + 1);
        if (t.gate && !t.sums_f64()) y = static_cast<float>(y);
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

// The number-th of many types.
CaseType some_type(bool grouped, std::uint64_t number) {
  Rng rng(mix(3, number));
  CaseType t;
  t.grouped = grouped;
  t.a = static_cast<ggemm_dtype>(rng.between(GGEMM_F64, GGEMM_I8));
  t.b = rng.chance(0.7) ? t.a : static_cast<ggemm_dtype>(rng.between(GGEMM_F64, GGEMM_I8));
  t.layout_a = static_cast<int>(rng.between(0, 2));
  t.layout_b = static_cast<int>(rng.between(0, 2));
  draw_epilogue(t, rng.chance(0.5), rng);
  return t;
}

TEST_CASE("Drawing the same number twice gives the same case, and another number another") {
  for (const bool grouped : {false, true}) {
    Drawing drawing;
    drawing.grouped = grouped;
    for (std::uint64_t number = 0; number < 50; ++number) {
      const CaseType type = some_type(grouped, number);
      const Case one = draw_case(drawing, type, number), two = draw_case(drawing, type, number), other = draw_case(drawing, type, number + 1);
      CHECK(one.text() == two.text());
      CHECK(make_images(one) == make_images(two));
      CHECK(one.text() != other.text());
    }
  }
}

TEST_CASE("Strides are of the layout that the type names, whatever the sizes") {
  for (const bool grouped : {false, true}) {
    Drawing drawing;
    drawing.grouped = grouped;
    drawing.work = 5000;
    for (std::uint64_t number = 0; number < 400; ++number) {
      CaseType type = some_type(grouped, number);
      if (number % 2) type.layout_d = 0;
      drawing.aligned = number % 3 == 0;
      const Case c = draw_case(drawing, type, number);
      const auto constant = [&](const Given& given, std::int64_t stride) { return given.packed || (given.kind == GGEMM_SOURCE_CONST && stride == 1); };
      INFO(c.text());
      for (const auto& [view, given, packed, layout] :
           {std::tuple{&Group::a, &c.given_a, c.packed_a, type.layout_a},
            {&Group::b, &c.given_b, c.packed_b, type.layout_b},
            {&Group::d, &c.given_d, c.packed_d, type.layout_d}}) {
        if (c.groups.empty()) continue;
        const View& v = c.groups[0].*view;
        // As the library tells row-major from column-major.
        const bool rows_unit = grouped ? constant(given->row_stride, v.row_stride) && !given->row_stride.packed : !packed && v.row_stride == 1;
        const bool cols_unit = grouped ? constant(given->col_stride, v.col_stride) : v.col_stride == 1;
        CHECK(cols_unit == (layout == 0));
        CHECK(rows_unit == (layout == 1));
      }
    }
  }
}

TEST_CASE("Aligned cases have bases and rows at multiples of 16 bytes") {
  int ends = 0;
  for (const bool grouped : {false, true}) {
    Drawing drawing;
    drawing.grouped = grouped;
    drawing.guarded = drawing.aligned = true;
    drawing.work = 20000;
    for (std::uint64_t number = 0; number < 200; ++number) {
      CaseType type = some_type(grouped, number);
      type.layout_a = type.layout_b = static_cast<int>(number % 2);
      const Case c = draw_case(drawing, type, number);
      const Images images = make_images(c);
      ends += c.placement == Placement::ends_at_guard;
      INFO(c.text());
      for (const Group& g : c.groups)
        for (const auto& [view, dtype, slot] : {std::tuple{&g.a, type.a, slot_a}, {&g.b, type.b, slot_b}}) {
          if (view->empty()) continue;
          const std::int64_t size = static_cast<std::int64_t>(size_of(dtype)), stride = number % 2 ? view->col_stride : view->row_stride;
          // Where operands end at a page, so does the image.
          const std::int64_t from = c.placement == Placement::ends_at_guard ? static_cast<std::int64_t>(images[slot].size()) : 0;
          CHECK((view->offset * size - from) % 16 == 0);
          if ((number % 2 ? view->cols : view->rows) > 1) CHECK((stride > 0 && stride * size % 16 == 0));
        }
    }
  }
  CHECK(ends > 50);
}

TEST_CASE("No two elements of a drawn D coincide, and every element lies within its buffer") {
  for (const bool grouped : {false, true}) {
    Drawing drawing;
    drawing.grouped = grouped;
    drawing.guarded = true;
    drawing.work = 20000;
    for (std::uint64_t number = 0; number < 300; ++number) {
      const Case c = draw_case(drawing, some_type(grouped, number), number);
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

namespace {

// Tensor cores as far as check.hpp tells of them: `step` products at a time, each addend cut at 2^(E - fraction), the result at its last bit.
double tensor_core_sum(const std::vector<std::pair<double, double>>& products, ggemm_dtype dtype, std::size_t step, int fraction, int result) {
  const auto exponent = [](double x, int smallest) { return x == 0 ? -1000 : std::max(std::ilogb(x), smallest); };
  const int smallest = std::ilogb(smallest_normal(dtype));
  double sum = 0;
  for (std::size_t begin = 0; begin < products.size(); begin += step) {
    int most = exponent(sum, -126);
    const std::size_t end = std::min(begin + step, products.size());
    for (std::size_t i = begin; i < end; ++i)
      if (products[i].first != 0 && products[i].second != 0)
        most = std::max(most, exponent(products[i].first, smallest) + exponent(products[i].second, smallest));
    if (most == -1000) continue;
    const auto cut = [](double x, int last) { return std::ldexp(std::trunc(std::ldexp(x, -last)), last); };
    double total = cut(sum, most - fraction);
    for (std::size_t i = begin; i < end; ++i) total += cut(products[i].first * products[i].second, most - fraction);
    sum = total == 0 ? 0 : cut(total, std::max(std::ilogb(total), -126) - result);
  }
  return sum;
}

struct TensorCore {
  ggemm_dtype dtype;
  std::size_t step;
  int fraction, result;
  std::size_t promoted_every = 0;  // products, after which the sum is added to one in f32; 0: never
};
double promoted_sum(const std::vector<std::pair<double, double>>& products, const TensorCore& core) {
  if (!core.promoted_every) return tensor_core_sum(products, core.dtype, core.step, core.fraction, core.result);
  float sum = 0;
  for (auto at = products.begin(); at != products.end();) {
    const auto end = at + std::min(static_cast<std::ptrdiff_t>(core.promoted_every), products.end() - at);
    sum += static_cast<float>(tensor_core_sum({at, end}, core.dtype, core.step, core.fraction, core.result));
    at = end;
  }
  return sum;
}

// D of a plain case of f32 sums, computed so.
Bytes sums_of(const TensorCore& core, const Case& c, const Images& images) {
  Bytes d = images[slot_d];
  const Group& g = c.groups[0];
  for (std::int64_t i = 0; i < g.m; ++i)
    for (std::int64_t j = 0; j < g.n; ++j) {
      std::vector<std::pair<double, double>> products;
      for (std::int64_t p = 0; p < g.k; ++p)
        products.emplace_back(decode(core.dtype, &images[slot_a][static_cast<std::size_t>(g.a.at(i, p)) * size_of(core.dtype)]),
                              decode(core.dtype, &images[slot_b][static_cast<std::size_t>(g.b.at(p, j)) * size_of(core.dtype)]));
      encode(GGEMM_F32, promoted_sum(products, core), &d[static_cast<std::size_t>(g.d.at(i, j)) * 4]);
    }
  return d;
}

// A real case of them.
struct Emulated {
  Case input;
  Images images;
  Bytes d;
};
Emulated emulate(const TensorCore& core, Values values, double spread_a, double spread_b, std::uint64_t number, std::int64_t k = 0) {
  Drawing drawing;
  drawing.mode = Mode::real;
  Rng rng(mix(9, number));
  Emulated e;
  e.input = draw_sized_case(drawing, type_of(false, core.dtype, GGEMM_F32), {{7, 9, k ? k : rng.pick<std::int64_t>({1, 2, 3, 7, 16, 33, 64, 150, 700})}}, number);
  e.input.values = values;
  e.input.spread_a = spread_a, e.input.spread_b = spread_b;
  e.input.alpha = 1, e.input.beta = 0;
  e.input.use_of_c = UseOfC::none;
  e.images = make_images(e.input);
  // B of many magnitudes, so that what A's nominal exponents cut off is there.
  for (std::size_t at = 0; spread_b != 1 && at + size_of(core.dtype) <= e.images[slot_b].size(); at += size_of(core.dtype))
    encode(core.dtype, std::ldexp(decode(core.dtype, &e.images[slot_b][at]), -static_cast<int>(rng.between(0, 12))), &e.images[slot_b][at]);
  e.d = sums_of(core, e.input, e.images);
  return e;
}

}  // namespace

TEST_CASE("The bound for tensor cores passes what they compute, denormal operands among it, and is no wider than it must be") {
  const TensorCore cores[] = {{GGEMM_F16, 8, 24, 23},   {GGEMM_F16, 16, 25, 23},  {GGEMM_BF16, 8, 24, 23},
                              {GGEMM_BF16, 16, 25, 23}, {GGEMM_E4M3, 32, 13, 13}, {GGEMM_E5M2, 32, 13, 13}, {GGEMM_E4M3, 32, 13, 13, 128}, {GGEMM_E5M2, 32, 13, 13, 128}};
  for (const TensorCore& core : cores) {
    CheckOptions wide, narrow;
    wide.tensor_cores = true;
    wide.short_sums = core.fraction == 13, wide.promoted = core.promoted_every > 0;
    int over = 0;
    for (std::uint64_t number = 0; number < 60; ++number) {
      const bool denormal = number % 2;
      const double low = smallest_denormal(core.dtype) * 4, high = core.dtype == GGEMM_BF16 ? 0x1p60 : largest(core.dtype) / 16;
      const Emulated e = emulate(core, Values::normal, denormal ? low : 1, denormal ? high : 1, number);
      INFO(name_of(core.dtype) << " " << core.fraction << " bits, " << e.input.text());
      CHECK(check_result(e.input, e.images, e.d, wide) == std::nullopt);
      over += check_result(e.input, e.images, e.d, narrow).has_value();
      // A product left out is found all the same.
      if (denormal) continue;
      Case fewer = e.input;
      Images changed = e.images;
      const Group& g = fewer.groups[0];
      const std::size_t at = static_cast<std::size_t>(g.a.at(3, g.k / 2)) * size_of(core.dtype);
      encode(core.dtype, decode(core.dtype, &changed[slot_a][at]) + 2.0, &changed[slot_a][at]);
      if (g.k <= 64 && g.a.row_stride != 0 && g.a.col_stride != 0) CHECK(check_result(fewer, changed, e.d, wide).has_value());
    }
    // The ordinary bound does not hold: denormals cost bits, and fp8's short sums always.
    INFO(name_of(core.dtype) << " " << core.fraction << " bits");
    CHECK(over > 0);
  }
}

TEST_CASE("The bound for promoted sums of fp8 passes them at any k, and finds that they are not") {
  for (const ggemm_dtype dtype : {GGEMM_E4M3, GGEMM_E5M2}) {
    const TensorCore promoted{dtype, 32, 13, 13, 128}, fast{dtype, 32, 13, 13};
    CheckOptions options;
    options.tensor_cores = options.short_sums = options.promoted = true;
    for (const Values values : {Values::normal, Values::special})
      for (std::uint64_t number = 0; number < 40; ++number) {
        const Emulated e = emulate(promoted, values, 1, number % 2 ? 1 : 64, number, 4096);
        INFO(e.input.text());
        CHECK(check_result(e.input, e.images, e.d, options) == std::nullopt);
      }
    // Whole numbers, of whose long sums 14 bits lose some; of those of a block they lose none.
    Drawing drawing;
    drawing.promoted = true;
    bool found = false;
    for (std::uint64_t number = 0; number < 40; ++number) {
      Case c = draw_sized_case(drawing, type_of(false, dtype, GGEMM_F32), {{7, 9, 4096}}, number);
      c.alpha = 1, c.beta = 0, c.use_of_c = UseOfC::none;
      const Images images = make_images(c);
      CHECK(check_result(c, images, sums_of(promoted, c, images), options) == std::nullopt);
      found |= check_result(c, images, sums_of(fast, c, images), options).has_value();
    }
    CHECK(found);
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
