// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>

#include "core/key.hpp"
#include "select/spread.hpp"

using namespace ggemm;
using select::Spread;
using select::spread_of;

TEST_CASE("spread: groups have together the rows that their mean says, and the largest what the skew says") {
  for (const double groups : {1.0, 2.0, 4.0, 7.0, 32.0, 128.0, 1000.0, 100000.0})
    for (const double mean : {1.0, 4.0, 64.0, 1000.0})
      for (int skew = core::skew_alike; skew <= core::skew_most; ++skew) {
        INFO(groups << " groups of " << mean << ", skew " << skew);
        const Spread spread = spread_of(groups, mean, skew);
        REQUIRE(spread.count > 0);
        CHECK(spread.groups() <= groups * 1.0001);
        // Where parts have less than a row each, fewer groups have one.
        CHECK(std::abs(spread.rows() / (groups * mean) - 1) < 0.01);
        double largest = 0;
        for (const Spread::Part& part : spread) {
          CHECK(part.rows >= 1);
          CHECK(part.groups > 0);
          largest = std::max(largest, part.rows);
        }
        CHECK(largest <= groups * mean * 1.0001);
        if (skew == core::skew_alike) CHECK((largest == mean && spread.groups() == groups));
        if (skew == core::skew_most) CHECK(std::abs(largest / (groups * mean) - 1) < 1e-9);
        if (skew == core::skew_little && groups >= 4) CHECK(core::skew_of(static_cast<std::int64_t>(groups), mean, static_cast<std::int64_t>(largest)) <= core::skew_little);
        if (groups >= 32 && mean >= 4) CHECK(largest >= (skew >= core::skew_little + 3 ? (skew - core::skew_little - 2) * 0.2 * groups * mean : skew > core::skew_little ? 2.5 * mean : mean));
      }
}

TEST_CASE("spread: rows of tiles, and the parts of some rows") {
  Spread spread;
  spread.add(3, 100), spread.add(2, 0.5), spread.add(1, 0), spread.add(4, 129);
  CHECK(spread.count == 3);
  CHECK(spread.groups() == 8);
  CHECK(spread.rows() == 300 + 1 + 4 * 129);
  CHECK(spread.tile_rows(64) == 3 * 2 + 1 + 4 * 3);
  CHECK(spread.tile_rows(128) == 3 + 1 + 4 * 2);
  const Spread thick = spread.of(100, 1e9), thin = spread.of(0, 100);
  CHECK((thick.count == 1 && thick.rows() == 4 * 129));
  CHECK((thin.count == 2 && thin.groups() == 4));
  CHECK(spread.of(0, 0.5).count == 0);
}
