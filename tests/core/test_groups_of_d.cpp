// SPDX-License-Identifier: Apache-2.0
// Groups of D that share elements are refused where the description shows it, and no others: held against a look at every element.
#include <set>

#include "problem_support.hpp"
#include "support/rng.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

struct Layout {
  std::int64_t groups, rows, cols, row_stride, col_stride, group_stride;
};

bool refused(const Layout& l) {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  const auto constant = [](std::int64_t value) { return ggemm_source{nullptr, 0, value, GGEMM_SOURCE_CONST, 0}; };
  desc.form = GGEMM_GROUPS_BATCH, desc.groups = l.groups;
  desc.m = constant(l.rows), desc.n = constant(l.cols), desc.k = constant(1);
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.a.group_stride = desc.b.group_stride = GGEMM_PACKED;
  desc.d.row_stride = constant(l.row_stride), desc.d.col_stride = constant(l.col_stride), desc.d.group_stride = l.group_stride;
  try {
    core::check_problem(desc);
    return false;
  } catch (const core::Error& error) {
    REQUIRE(error.text().find("d.") != std::string::npos);
    return true;
  }
}

bool meet(const Layout& l) {
  std::set<std::int64_t> taken;
  for (std::int64_t g = 0; g < l.groups; ++g)
    for (std::int64_t i = 0; i < l.rows; ++i)
      for (std::int64_t j = 0; j < l.cols; ++j)
        if (!taken.insert(g * l.group_stride + i * l.row_stride + j * l.col_stride).second) return true;
  return false;
}

}  // namespace

TEST_CASE("Blocks of a band may interlace, as long as no two share an element") {
  constexpr std::int64_t length = 64, width = 8;
  CHECK_FALSE(refused({6, 2 * width, width, length, 1, width * length + width}));
  CHECK(refused({6, 2 * width, width, length, 1, width * length + width - 1}));
  CHECK_FALSE(refused({6, width, 2 * width, 1, length, width * length + width}));
}

TEST_CASE("Groups of D are refused if and only if they meet, wherever the elements of a line lie within its stride") {
  Rng rng(5);
  int met = 0, apart = 0;
  for (int number = 0; number < 20000; ++number) {
    const std::int64_t shorter = rng.between(1, 3), along = rng.between(1, 6), longer = shorter * (along - 1) + rng.between(1, 12);
    Layout l{rng.between(2, 6), rng.between(1, 6), along, longer, shorter, rng.between(1, 40)};
    if (rng.chance(0.5)) std::swap(l.rows, l.cols), std::swap(l.row_stride, l.col_stride);
    if (rng.chance(0.3)) l.group_stride = -l.group_stride;
    if (rng.chance(0.3)) l.row_stride = -l.row_stride;
    INFO(l.groups << " groups of " << l.rows << "x" << l.cols << ", strides " << l.row_stride << ", " << l.col_stride << ", " << l.group_stride);
    const bool expected = meet(l);
    CHECK(refused(l) == expected);
    ++(expected ? met : apart);
  }
  CHECK((met > 1000 && apart > 1000));
}
