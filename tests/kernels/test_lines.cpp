// SPDX-License-Identifier: Apache-2.0
// Operands as the tensor copy engine sees them, and gated pairs of halves as neighbours.
#include "lines.cuh"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "tile/columns.cuh"

using namespace ggemm::kernels;

TEST_CASE("lines: pairs of halves are half as many, of which each is followed by its other") {
  alignas(16) static const char data[16] = {};
  const Lines all = lines_of({data, 1, 256}, 200, 14, true), pairs = in_pairs(all);
  CHECK((all.lines == 14 && all.half == 0 && all.length == 200));
  CHECK((pairs.lines == 7 && pairs.half == 7 && pairs.length == 200 && pairs.stride == 256 && pairs.data == all.data));
  CHECK(reachable(pairs, 2));
  CHECK(pitch(pairs, 2) == 512);
}

TEST_CASE("lines: a map reaches pairs of which one half begins less than 2^40 bytes behind the other, a single pair too") {
  alignas(16) static const char data[16] = {};
  const auto of = [](i64 lines, i64 stride) { return in_pairs(Lines{data, 8, lines, 1, stride}); };
  CHECK(reachable(of(1 << 21, 1 << 18), 2));
  CHECK_FALSE(reachable(of(1 << 21, 1 << 19), 2));
  CHECK(reachable(Lines{data, 8, 1 << 21, 1, 1 << 19}, 2));
  CHECK(reachable(of(2, 8), 2));
  CHECK_FALSE(reachable(of(2, 12), 2));
  CHECK(reachable(Lines{data, 8, 1, 1, 12}, 2));
  CHECK(pitch(of(2, 24), 2) == 48);
}

TEST_CASE("columns: those of pairs of halves come by turns, each once") {
  std::vector<i64> order;
  for (i64 j = 0; j < 6; ++j) order.push_back(paired_column<true>(6, j));
  CHECK(order == std::vector<i64>{0, 3, 1, 4, 2, 5});
  for (i64 j = 0; j < 6; ++j) CHECK(paired_column<false>(6, j) == j);
}
