// SPDX-License-Identifier: Apache-2.0
// The suites: public shapes of dense and mixture-of-experts models, squares, long K, odd sizes and strides.
#pragma once
#include <string>
#include <vector>

#include "bench/case.hpp"

namespace ggemm::bench {

// "plain", "grouped" or "quick"; throws tools::Failure for others. quick is a cut of the first two that takes about a minute on a GPU; without one, some small cases.
std::vector<Case> suite_cases(const std::string& suite, bool cuda = true);

// One case for a size given by the user.
Case single_case(const std::string& suite, const std::string& dtype, const std::string& layout, const Size& size);

// What a suite ends with (suite_scaled.cpp): copies, with scales, of some of its e4m3 cases; and groups given in the forms that none of its other cases has.
void append_scaled(std::vector<Case>& cases);
void append_forms(std::vector<Case>& cases);

// How the tokens of a layer fall on its experts.
enum class Spread { skewed, balanced, zipf, one, half };
// Rows for each of `experts`; their sum is `tokens`. skewed is the public one of the grouped cases: weights from Python's random.Random(0).
std::vector<std::int64_t> expert_rows(int experts, std::int64_t tokens, Spread spread);

// What the command line selects. Empty lists select all.
struct Selection {
  std::vector<std::string> dtypes, layouts, scalings;
  std::string filter;  // part of "category/name", or a pattern with * and ?
  int shard = 1, shards = 1;
};
std::vector<Case> select(const std::vector<Case>& cases, const Selection& selection);
// "2/5" -> shard 2 of 5. Throws tools::Failure.
void parse_shard(const std::string& text, Selection& selection);
// "1024x768x512", or "1024" for a cube. Throws tools::Failure.
Size parse_size(const std::string& text);

}  // namespace ggemm::bench
