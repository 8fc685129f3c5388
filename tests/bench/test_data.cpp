// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "bench/data.hpp"
#include "bench/suites.hpp"
#include "common/failure.hpp"

using namespace ggemm::bench;

namespace {

double own_scale(const Layout& layout, size_t g, std::int64_t i, std::int64_t l, std::int64_t j) {
  return scales_a()[layout.scale_a[g].at(i, l)] * scales_b()[layout.scale_b[g].at(l, j)];
}

Case ragged(std::int64_t n, std::int64_t k) {
  Case one = single_case("shape", "e4m3", "nt", {});
  one.groups = {{256, n, k}, {0, n, k}, {130, n, k}};
  return one;
}

// D as a plain triple loop computes it, in the memory that the layout asks for.
struct Computed {
  const Case one;
  Layout layout;
  std::vector<char> d;
  size_t element;

  // scale: what A's element (i, l) of group g is scaled by, times B's (l, j); the case's own if none is given.
  using Scale = std::function<double(const Layout& layout, size_t g, std::int64_t i, std::int64_t l, std::int64_t j)>;
  explicit Computed(Case of, const Scale& scale = own_scale) : one(std::move(of)), layout(lay_out(one)), element(ggemm_dtype_size(one.output())) {
    const Type& type = type_named(one.dtype);
    d.assign(static_cast<size_t>(layout.elements_d) * element, static_cast<char>(0xff));
    const Block &left = block_a(type.input), &right = block_b(type.input);
    const bool ta = one.layout[0] == 't', tb = one.layout[1] == 't';
    for (size_t g = 0; g < layout.d.size(); g++) {
      const std::int64_t k = one.grouped() ? one.groups[g].k : one.size.k;
      for (std::int64_t i = 0; i < layout.d[g].rows; i++)
        for (std::int64_t j = 0; j < layout.d[g].cols; j++) {
          double sum = 0;
          for (std::int64_t l = 0; l < k; l++)
            sum += (layout.scale_a.empty() ? 1 : scale(layout, g, i, l, j)) *
                   left[ta ? layout.a[g].at(l, i) : layout.a[g].at(i, l)] * right[tb ? layout.b[g].at(j, l) : layout.b[g].at(l, j)];
          set(g, i, j, sum);
        }
    }
  }
  void set(size_t group, std::int64_t i, std::int64_t j, double value) {
    REQUIRE(ggemm_convert(one.output(), at(group, i, j), GGEMM_F64, &value, 1) == GGEMM_OK);
  }
  char* at(size_t group, std::int64_t i, std::int64_t j) { return d.data() + static_cast<size_t>(layout.d[group].at(i, j)) * element; }
  std::string check() {
    return check_sample(
        one, layout,
        [](void* user, const View& view, std::int64_t row) {
          Computed& self = *static_cast<Computed*>(user);
          const char* begin = self.d.data() + static_cast<size_t>(view.at(row, 0)) * self.element;
          return std::vector<char>(begin, begin + static_cast<size_t>(view.cols) * self.element);
        },
        this);
  }
};

}  // namespace

TEST_CASE("blocks are normal numbers as their dtype holds them, and int8 is uniform") {
  for (const ggemm_dtype dtype : {GGEMM_F64, GGEMM_F32, GGEMM_BF16, GGEMM_E4M3}) {
    const Block& block = block_a(dtype);
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < block.period(); i++) {
      sum += block[i];
      squares += block[i] * block[i];
    }
    const double count = static_cast<double>(block.period());
    INFO(ggemm_dtype_name(dtype));
    CHECK(std::fabs(sum / count) < 0.005);
    CHECK(squares / count == Catch::Approx(1).margin(0.01));
    CHECK(block.bytes().size() == static_cast<size_t>(block.period()) * ggemm_dtype_size(dtype));
    CHECK(block[block.period() + 17] == block[17]);
  }
  const Block& bytes = block_b(GGEMM_I8);
  std::vector<int> counts(256);
  for (std::int64_t i = 0; i < bytes.period(); i++) counts[static_cast<size_t>(bytes[i] + 128)]++;
  for (const int count : counts) CHECK(std::abs(count - 4096) < 500);  // 7 standard deviations are 450
  CHECK(block_a(GGEMM_F32)[5] != block_b(GGEMM_F32)[5]);
}

TEST_CASE("matrices lie one after the other, aligned, with the padding and the offset of the case") {
  Case one = single_case("shape", "bf16", "tt", {5, 6, 7});
  one.padding = 3;
  one.offset = 1;
  const Layout plain = lay_out(one);
  CHECK(plain.a[0].rows == 7);
  CHECK(plain.a[0].cols == 5);
  CHECK(plain.a[0].ld == 8);
  CHECK(plain.a[0].base == 1);
  CHECK(plain.b[0].rows == 6);
  CHECK(plain.b[0].cols == 7);
  CHECK(plain.d[0].at(4, 5) < plain.elements_d);

  Case groups = one;
  groups.padding = groups.offset = 0;
  groups.layout = "nt";
  groups.groups = {{3, 4, 5}, {0, 4, 6}, {300, 4, 5}};
  const Layout grouped = lay_out(groups);
  CHECK(grouped.a[1].base % 256 == 0);
  CHECK(grouped.a[2].base >= grouped.a[0].base + 15);
  CHECK(grouped.elements_a >= grouped.a[2].at(299, 4) + 1);
  CHECK_FALSE(ragged_rows(groups, grouped));

  // Where groups differ in m alone, as those of a layer of experts, A and D have one matrix for all of them.
  groups.groups[1].k = 5;
  const Layout ragged = lay_out(groups);
  CHECK(ragged_rows(groups, ragged));
  CHECK((ragged.a[1].base == 15 && ragged.a[2].base == 15 && ragged.elements_a == 303 * 5));
  CHECK((ragged.d[1].base == 12 && ragged.elements_d == 303 * 4));
  CHECK(ragged.b[1].base % 256 == 0);
}

TEST_CASE("right products pass the check in every dtype and layout") {
  for (const Type& type : types())
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      INFO(type.name << " " << layout);
      CHECK(Computed(single_case("shape", type.name, layout, {19, 23, 70})).check() == "");
    }
}

TEST_CASE("the check names an element that is wrong and a place that was not written") {
  Computed wrong(single_case("shape", "f32", "nt", {4, 5, 64}));
  CHECK(wrong.check() == "");
  wrong.set(0, 3, 4, 1000);
  CHECK(wrong.check().find("row 3, column 4 is 1000, should be") != std::string::npos);

  Computed hole(single_case("shape", "bf16", "nn", {4, 5, 64}));
  std::memset(hole.at(0, 2, 1), 0xff, 2);
  CHECK(hole.check() == "row 2, column 1 was not written");

  Case grouped = single_case("shape", "f32", "nt", {});
  grouped.groups = {{4, 5, 64}, {0, 5, 64}, {3, 2, 0}};
  Computed groups(grouped);
  CHECK(groups.check() == "");
  groups.set(2, 1, 1, 0.5);  // k is 0: all zero
  CHECK(groups.check().rfind("group 2, row 1, column 1", 0) == 0);
}

TEST_CASE("scales are positive and none is 1; each row, column and block has its own") {
  for (const Block* block : {&scales_a(), &scales_b()}) {
    std::int64_t below = 0;
    for (std::int64_t i = 0; i < block->period(); i++) {
      const double value = (*block)[i];
      if (!(value >= 0.25 && value <= 4) || value == 1) FAIL(i << ": " << value);
      below += value < 1;
    }
    CHECK(std::fabs(static_cast<double>(below) / static_cast<double>(block->period()) - 0.5) < 0.02);
  }
  CHECK(scales_a()[0] != scales_b()[0]);

  const auto distinct = [](const std::vector<ScaleView>& views, const std::vector<Size>& sizes, std::int64_t all) {
    std::set<std::int64_t> places;
    for (size_t g = 0; g < views.size(); g++)
      for (std::int64_t row = 0; row < sizes[g].m; row++)
        for (std::int64_t col = 0; col < sizes[g].n; col++) {
          const std::int64_t at = views[g].at(row, col);
          if (at < 0 || at >= all) FAIL(at << " of " << all);
          places.insert(at);
        }
    return places.size();
  };
  // m, n stand for a matrix's rows and columns here.
  const auto counts = [&](const Case& one) {
    const Layout layout = lay_out(one);
    std::vector<Size> a, b;
    for (const Size& s : one.grouped() ? one.groups : std::vector<Size>{one.size}) a.push_back({s.m, s.k, 0}), b.push_back({s.k, s.m ? s.n : 0, 0});
    return std::pair(distinct(layout.scale_a, a, layout.scales_a), distinct(layout.scale_b, b, layout.scales_b));
  };
  const Case plain = single_case("shape", "e4m3", "nt", {130, 257, 300});
  CHECK(counts(scaled(plain, Scaling::tensor)) == std::pair<size_t, size_t>(1, 1));
  CHECK(counts(scaled(plain, Scaling::row)) == std::pair<size_t, size_t>(130, 257));
  CHECK(counts(scaled(plain, Scaling::block)) == std::pair<size_t, size_t>(130 * 3, 3 * 3));
  const Case groups = ragged(257, 256);  // two of which have rows
  CHECK(counts(scaled(groups, Scaling::tensor)) == std::pair<size_t, size_t>(1, 1));
  CHECK(counts(scaled(groups, Scaling::row)) == std::pair<size_t, size_t>(386, 2 * 257));
  CHECK(counts(scaled(groups, Scaling::block)) == std::pair<size_t, size_t>(386 * 2, 2 * 2 * 3));
  CHECK(lay_out(scaled(groups, Scaling::block)).scale_b[2].base % 4 == 0);
  Case general = groups;
  general.groups[0].n = 16;
  CHECK_THROWS_AS(lay_out(scaled(general, Scaling::row)), ggemm::tools::Failure);
}

TEST_CASE("the check applies the scales, and finds one that is wrong") {
  for (const Case& unscaled : {single_case("shape", "e4m3", "nt", {130, 140, 300}), ragged(40, 256)})
    for (const Scaling scaling : {Scaling::tensor, Scaling::row, Scaling::block}) {
      const Case one = scaled(unscaled, scaling);
      INFO(one.name << " " << scaling_name(scaling) << (one.grouped() ? " of groups" : ""));
      CHECK(Computed(one).check() == "");
      CHECK(Computed(one, [](const Layout&, size_t, std::int64_t, std::int64_t, std::int64_t) { return 1.0; }).check().find("should be") != std::string::npos);
      // Scales of another row, column, block of k or group than the element's.
      const auto found = [&](void (*move)(size_t& g, std::int64_t& i, std::int64_t& l, std::int64_t& j)) {
        const auto moved = [&](const Layout& layout, size_t g, std::int64_t i, std::int64_t l, std::int64_t j) { return move(g, i, l, j), own_scale(layout, g, i, l, j); };
        return Computed(one, moved).check() != "";
      };
      const bool row = scaling == Scaling::row, block = scaling == Scaling::block;
      CHECK(found([](size_t&, std::int64_t& i, std::int64_t&, std::int64_t&) { i++; }) == (row || block));
      CHECK(found([](size_t&, std::int64_t&, std::int64_t&, std::int64_t& j) { j += 128; }) == (row || block));
      CHECK(found([](size_t&, std::int64_t&, std::int64_t& l, std::int64_t&) { l = 255 - l % 256; }) == block);
      if (one.grouped()) CHECK(found([](size_t& g, std::int64_t&, std::int64_t&, std::int64_t&) { g = 0; }) == (row || block));
    }
}

TEST_CASE("rows by index are drawn as often as any other, and in order within a group") {
  Case one = single_case("shape", "bf16", "nt", {});
  one.groups = {{20, 8, 16}, {0, 8, 16}, {12, 8, 16}};
  one.form = Form::gathered, one.rows = 8;
  const Layout layout = lay_out(one);
  std::vector<std::int32_t> sorted = layout.index;
  CHECK(std::is_sorted(sorted.begin(), sorted.begin() + 20));
  CHECK(std::is_sorted(sorted.begin() + 20, sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  REQUIRE(sorted.size() == 32);
  for (size_t i = 0; i < sorted.size(); i++) CHECK(sorted[i] == static_cast<std::int32_t>(i / 4));
  CHECK(layout.elements_a >= 8 * 16);
  CHECK(layout.d[2].base == layout.d[0].base + 20 * 8);
}

TEST_CASE("the bound allows rounding and not much more") {
  const Type &bf16 = type_named("bf16"), &f64 = type_named("f64"), &i8 = type_named("i8"), &tf32 = type_named("tf32");
  const auto bound = [](const Type& type, double magnitude) { return error_bound(type, type.output, 1024, 1024, magnitude, 10); };
  CHECK(bound(bf16, 800) > 0.5 * 10 * 0x1p-8);
  CHECK(bound(bf16, 800) < 0.2);
  CHECK(bound(f64, 800) < 1e-8);
  CHECK(bound(i8, 1e6) == 0);
  CHECK(bound(tf32, 800) > 800 * 0x1p-9);
  CHECK(error_bound(bf16, GGEMM_F32, 1024, 1024, 800, 10) < bound(bf16, 800));
  const Type& e4m3 = type_named("e4m3");
  CHECK(error_bound(e4m3, e4m3.output, 1024, 128, 800, 10) < 0.5 * bound(e4m3, 800));
}
