// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "bench/data.hpp"
#include "bench/suites.hpp"

using namespace ggemm::bench;

namespace {

// D as a plain triple loop computes it, in the memory that the layout asks for.
struct Computed {
  const Case one;
  Layout layout;
  std::vector<char> d;
  size_t element;

  explicit Computed(Case of) : one(std::move(of)), layout(lay_out(one)), element(ggemm_dtype_size(type_named(one.dtype).output)) {
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
            sum += left[ta ? layout.a[g].at(l, i) : layout.a[g].at(i, l)] * right[tb ? layout.b[g].at(j, l) : layout.b[g].at(l, j)];
          set(g, i, j, sum);
        }
    }
  }
  void set(size_t group, std::int64_t i, std::int64_t j, double value) {
    REQUIRE(ggemm_convert(type_named(one.dtype).output, at(group, i, j), GGEMM_F64, &value, 1) == GGEMM_OK);
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
  groups.groups = {{3, 4, 5}, {0, 4, 5}, {300, 4, 5}};
  const Layout grouped = lay_out(groups);
  CHECK(grouped.a[1].base % 256 == 0);
  CHECK(grouped.a[2].base >= grouped.a[0].base + 15);
  CHECK(grouped.elements_a >= grouped.a[2].at(299, 4) + 1);
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

TEST_CASE("the bound allows rounding and not much more") {
  const Type &bf16 = type_named("bf16"), &f64 = type_named("f64"), &i8 = type_named("i8"), &tf32 = type_named("tf32");
  CHECK(error_bound(bf16, 1024, 800, 10) > 0.5 * 10 * 0x1p-8);
  CHECK(error_bound(bf16, 1024, 800, 10) < 0.2);
  CHECK(error_bound(f64, 1024, 800, 10) < 1e-8);
  CHECK(error_bound(i8, 1024, 1e6, 10) == 0);
  CHECK(error_bound(tf32, 1024, 800, 10) > 800 * 0x1p-9);
}
