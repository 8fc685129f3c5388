// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "bench/layout.hpp"
#include "bench/mersenne.hpp"
#include "bench/results.hpp"
#include "bench/suites.hpp"
#include "common/failure.hpp"

using namespace ggemm::bench;

namespace {

const Case& find(const std::vector<Case>& cases, const std::string& name, const std::string& dtype, const std::string& layout) {
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == name && c.dtype == dtype && c.layout == layout; });
  INFO(name << " " << dtype << " " << layout);
  REQUIRE(found != cases.end());
  return *found;
}

std::vector<std::int64_t> rows_of(const Case& one) {
  std::vector<std::int64_t> rows;
  for (const Size& group : one.groups) rows.push_back(group.m);
  return rows;
}

}  // namespace

// The values are those that CPython prints.
TEST_CASE("random numbers are Python's") {
  PythonRandom zero(0);
  CHECK(zero.random() == 0.8444218515250481);
  CHECK(zero.random() == 0.7579544029403025);
  CHECK(zero.random() == 0.420571580830845);
  PythonRandom wide(4294967295u);
  CHECK(wide.random() == 0.6353574441341173);
  for (int i = 0; i < 1000; i++) zero.random();  // past the end of the first state
  CHECK(zero.random() == 0.747281950803196);

  const int steps[] = {25, 9, 4, 16, 16};
  for (std::uint32_t seed = 0; seed < 5; seed++) CHECK(PythonRandom(seed).randrange(1, 33) == steps[seed]);
  const std::pair<std::uint32_t, int> odd[] = {{0, 1730}, {1, 276}, {99, 828}, {162, 110}};
  for (const auto& [seed, value] : odd) CHECK(PythonRandom(seed).randrange(1, 2048) == value);
}

TEST_CASE("the grouped cases are the public ones") {
  const std::vector<Case> cases = suite_cases("grouped");
  const std::vector<std::int64_t> rows = rows_of(find(cases, "dsv3-up_t4096", "bf16", "nt"));
  REQUIRE(rows.size() == 32);
  CHECK(std::vector<std::int64_t>(rows.begin(), rows.begin() + 6) == std::vector<std::int64_t>{190, 157, 87, 53, 106, 84});
  CHECK(rows[30] == 99);
  CHECK(rows[31] == 179);
  CHECK(rows_of(find(cases, "mixtral-up_t8192", "bf16", "nt")) == std::vector<std::int64_t>{1618, 1448, 804, 494, 977, 774, 1498, 579});
  CHECK(rows_of(find(cases, "qwen3-up_t512", "bf16", "nt")).front() == 67);

  const Case& mixed = find(cases, "mixed64", "bf16", "nt");
  CHECK(mixed.groups.size() == 64);
  CHECK(mixed.groups[0].m == 25 * 64);
  const Case& odd = find(cases, "mixed64_odd", "bf16", "nt");
  CHECK(odd.groups[0].m == 1730);
  CHECK(odd.groups[0].n == 828);
  CHECK(odd.groups[63].n == 110);
  CHECK(find(cases, "mixed64_mult8", "bf16", "nt").groups[63].n == 104);
  CHECK(mixed.category == "grouped-general");
  CHECK(find(cases, "qwen3-up_t512", "bf16", "nt").category == "grouped-decode");
  CHECK(find(cases, "dsv3-up_t4096", "bf16", "nt").category == "grouped-ragged");
  CHECK(find(cases, "dsv3-up_t4096", "e4m3", "nt").category == "grouped-fp8");
  CHECK(find(cases, "dsv3-up-wgrad_t8192", "bf16", "tn").groups[1].m == 4096);
}

TEST_CASE("some e4m3 cases come again with scales, under names of their own, and the others are as they were") {
  for (const auto& [suite, unscaled, by_tensor, by_row, by_block] : {std::tuple("plain", 483 + 64 + 105, 7, 7, 24), std::tuple("grouped", 378 + 30 + 56, 10, 10, 11)}) {
    const std::vector<Case> cases = suite_cases(suite);
    std::map<Scaling, int> counts;
    for (const Case& one : cases) {
      INFO(one.name);
      counts[one.scaling]++;
      if (one.scaling == Scaling::none) continue;
      CHECK(one.dtype == "e4m3");
      CHECK(one.layout == "nt");
      CHECK(one.name.ends_with(std::string("_") + scaling_name(one.scaling)));
      if (one.form != Form::own) continue;
      const Case& same = find(cases, one.name.substr(0, one.name.rfind('_')), "e4m3", "nt");
      CHECK(one.flops() == same.flops());
      CHECK(one.bytes() >= same.bytes());
      CHECK(one.bytes() < 1.04 * same.bytes());
      CHECK(one.category == (one.grouped() ? "grouped-fp8" : one.scaling == Scaling::block ? "fp8-block" : "fp8"));
    }
    CHECK(counts == std::map<Scaling, int>{{Scaling::none, unscaled}, {Scaling::tensor, by_tensor}, {Scaling::row, by_row}, {Scaling::block, by_block}});
  }
}

TEST_CASE("each form of groups has a case") {
  std::map<Form, int> counts;
  for (const Case& one : suite_cases("grouped")) {
    counts[one.form] += one.category == "grouped-forms";
    CHECK((one.form == Form::own) == (one.category != "grouped-forms"));
    // The operands are laid out as the form needs them: ragged, or at equal distances.
    if (one.form == Form::batch || one.form == Form::masked) {
      const Layout layout = lay_out(one);
      for (size_t g = 1; g < one.groups.size(); g++) {
        CHECK(layout.a[g].base == static_cast<std::int64_t>(g) * distance(layout.a));
        CHECK(layout.d[g].base == static_cast<std::int64_t>(g) * distance(layout.d));
      }
    }
  }
  CHECK(counts == std::map<Form, int>{{Form::own, 0}, {Form::masked, 2}, {Form::batch, 25}, {Form::gathered, 1}, {Form::scattered, 1}, {Form::ragged_k, 2}});
}

TEST_CASE("however tokens fall on experts, none is lost") {
  for (const Spread spread : {Spread::skewed, Spread::balanced, Spread::zipf, Spread::one, Spread::half})
    for (const int experts : {1, 8, 32, 128})
      for (const std::int64_t tokens : {1, 8, 33, 512, 32768}) {
        const std::vector<std::int64_t> rows = expert_rows(experts, tokens, spread);
        INFO(static_cast<int>(spread) << " " << experts << " " << tokens);
        CHECK(rows.size() == static_cast<size_t>(experts));
        CHECK(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) == tokens);
        CHECK(*std::min_element(rows.begin(), rows.end()) >= 0);
      }
  const std::vector<std::int64_t> one = expert_rows(8, 64, Spread::one), half = expert_rows(8, 64, Spread::half),
                                  even = expert_rows(8, 64, Spread::balanced);
  CHECK(one == std::vector<std::int64_t>{64, 0, 0, 0, 0, 0, 0, 0});
  CHECK(half == std::vector<std::int64_t>{16, 0, 16, 0, 16, 0, 16, 0});
  CHECK(even == std::vector<std::int64_t>(8, 8));
  const std::vector<std::int64_t> zipf = expert_rows(4, 100, Spread::zipf);
  CHECK(std::is_sorted(zipf.rbegin(), zipf.rend()));
}

TEST_CASE("every case of every suite has a key of its own and a known dtype and category") {
  const std::set<std::string> known{"large",           "mid",         "decode",        "odd",  "longk", "gemv", "survey", "programs", "fp8",
                                    "layouts8",        "tf32",        "int8",          "fp64", "fp32",  "f32-accurate", "grouped-ragged",
                                    "grouped-general", "grouped-fp8", "grouped-decode", "fp8-block",   "grouped-forms", "grouped-survey"};
  for (const char* suite : {"plain", "grouped", "quick"}) {
    std::set<std::string> keys;
    const std::vector<Case> cases = suite_cases(suite);
    CHECK(cases.size() > 5);
    for (const Case& one : cases) {
      INFO(suite << " " << one.name << " " << one.dtype << " " << one.layout << " " << one.category);
      CHECK(one.suite == suite);
      CHECK(known.count(one.category) == 1);
      CHECK(type_named(one.dtype).name == one.dtype);
      CHECK(one.layout.find_first_not_of("nt") == std::string::npos);
      CHECK(one.flops() > 0);
      CHECK(one.bytes() > 0);
      CHECK(keys.insert(row_key(row_for(one))).second);
    }
  }
}

TEST_CASE("categories follow the shapes that the marks name") {
  CHECK(plain_category("bf16", "nt", {4096, 4096, 4096}) == "large");
  CHECK(plain_category("f16", "tt", {8192, 28672, 4096}) == "large");
  CHECK(plain_category("bf16", "nt", {2048, 2048, 2048}) == "mid");
  CHECK(plain_category("bf16", "nt", {4096, 2112, 7168}) == "mid");
  CHECK(plain_category("bf16", "nt", {128, 28672, 4096}) == "decode");
  CHECK(plain_category("bf16", "nt", {256, 256, 65536}) == "longk");
  CHECK(plain_category("bf16", "nt", {128, 128, 16384}) == "longk");
  CHECK(plain_category("e4m3", "nt", {16, 4096, 4096}) == "fp8");
  CHECK(plain_category("e4m3", "nn", {4096, 4096, 4096}) == "layouts8");
  CHECK(plain_category("i8", "tt", {4096, 4096, 4096}) == "layouts8");
  CHECK(plain_category("tf32", "nn", {4096, 4096, 4096}) == "tf32");
  CHECK(plain_category("f32x3", "nn", {4096, 4096, 4096}) == "f32-accurate");
}

TEST_CASE("flops and bytes count every operand once and leave out empty groups") {
  Case one = single_case("shape", "bf16", "nt", {2, 3, 4});
  CHECK(one.flops() == 48);
  CHECK(one.bytes() == 2 * (8 + 12 + 6));
  one.groups = {{2, 3, 4}, {0, 3, 4}};
  CHECK(one.flops() == 48);
  CHECK(one.bytes() == 2 * (8 + 12 + 6));
  CHECK(single_case("shape", "i8", "nt", {2, 3, 4}).bytes() == 8 + 12 + 4 * 6);
  const Case e4m3 = single_case("shape", "e4m3", "nt", {2, 3, 300});
  CHECK(scaled(e4m3, Scaling::row).bytes() == e4m3.bytes() + 4 * (2 + 3));
  CHECK(scaled(e4m3, Scaling::block).bytes() == e4m3.bytes() + 4 * 3 * (2 + 1));
  Case form = one;
  form.form = Form::gathered, form.rows = 1;
  CHECK(form.bytes() == 2 * (4 + 12 + 6));
  form.form = Form::scattered;
  CHECK(form.bytes() == 2 * (8 + 12 + 3));
  form.form = Form::ragged_k, form.accumulate = true;
  CHECK(form.bytes() == 2 * (8 + 12) + 2 * 4 * 6);
}

TEST_CASE("shards part a suite: every case is in exactly one") {
  const std::vector<Case> all = suite_cases("plain");
  std::vector<std::string> seen;
  for (int shard = 1; shard <= 7; shard++) {
    Selection selection;
    parse_shard(std::to_string(shard) + "/7", selection);
    for (const Case& one : select(all, selection)) seen.push_back(row_key(row_for(one)));
  }
  CHECK(seen.size() == all.size());
  CHECK(std::set<std::string>(seen.begin(), seen.end()).size() == all.size());
  for (const char* wrong : {"0/4", "5/4", "1", "1/", "/4", "a/4", "1/4x", "-1/4"}) {
    INFO(wrong);
    Selection selection;
    CHECK_THROWS_AS(parse_shard(wrong, selection), ggemm::tools::Failure);
  }
}

TEST_CASE("cases are selected by dtype, layout and name") {
  const std::vector<Case> all = suite_cases("plain");
  Selection selection;
  selection.dtypes = {"f16", "tf32"};
  selection.layouts = {"nn"};
  for (const Case& one : select(all, selection)) CHECK(((one.dtype == "f16" || one.dtype == "tf32") && one.layout == "nn"));
  CHECK_FALSE(select(all, selection).empty());

  Selection by_scaling;
  by_scaling.scalings = {"block"};
  CHECK(select(all, by_scaling).size() == 24);
  CHECK(scaling_named("row") == Scaling::row);
  CHECK_THROWS_AS(scaling_named("rows"), ggemm::tools::Failure);

  Selection by_part;
  by_part.filter = "longk";
  CHECK(select(all, by_part).size() == 6);
  Selection by_pattern;
  by_pattern.filter = "odd/odd_4095*";
  by_pattern.dtypes = {"bf16"};
  CHECK(select(all, by_pattern).size() == 2);
}

TEST_CASE("a size is three numbers, or one for a cube") {
  CHECK(parse_size("3x4x5") == Size{3, 4, 5});
  CHECK(parse_size("16") == Size{16, 16, 16});
  for (const char* wrong : {"", "3x4", "3x4x", "x4x5", "3x4x5x6", "0x1x1", "-1x2x3", "ax2x3", "1e3"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_size(wrong), ggemm::tools::Failure);
  }
  for (const char* large : {"9999999999999x1x1", "99999999999999999999", "999999999999x999999999999x1"}) {
    INFO(large);
    CHECK_THROWS_WITH(parse_size(large), Catch::Matchers::ContainsSubstring("too large"));
  }
}
