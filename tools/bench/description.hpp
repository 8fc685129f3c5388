// SPDX-License-Identifier: Apache-2.0
// A case as ggemm is told of it: the description, without operands.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/data.hpp"
#include "common/context.hpp"

namespace ggemm::bench {

// Of a grouped case, [groups][3] numbers: m, n, k of each group, and the leading dimensions of A, B and D; and where each group's rows end, of all groups' rows.
std::vector<std::int32_t> group_sizes(const Case& one);
std::vector<std::int32_t> group_lds(const Layout& layout);
std::vector<std::int32_t> group_ends(const Case& one);
// Whether the groups differ in m alone, their rows of A and D follow one another, and their Bs are a distance apart.
bool ragged_rows(const Case& one, const Layout& layout);

class Description {
 public:
  // sizes, lds, ends: a grouped case's, where the calls read them; they outlive this. config "": chosen.
  Description(const Case& one, const Layout& layout, const std::int32_t* sizes, const std::int32_t* lds, const std::int32_t* ends, std::string config);
  Description(const Description&) = delete;  // the problem points into this object
  Description& operator=(const Description&) = delete;

  bool grouped() const { return grouped_; }
  const ggemm_gemm_desc& gemm() const { return gemm_desc_; }
  const ggemm_grouped_desc& group() const { return grouped_desc_; }
  ggemm_problem problem() const { return {grouped_ ? nullptr : &gemm_desc_, grouped_ ? &grouped_desc_ : nullptr}; }
  // With the groups' sizes to tune for.
  ggemm_tune_options tune_options(double budget_seconds) const;
  tools::Plan plan(ggemm_context* context) const;
  // Names of the best `most` configurations by the model alone; records have no part in their order.
  std::vector<std::string> ranked(ggemm_context* context, size_t most) const;
  void force(const std::string& config);

 private:
  void describe_groups(const Case& one, const Layout& layout, const std::int32_t* sizes, const std::int32_t* lds, const std::int32_t* ends);
  bool grouped_;
  std::string config_;
  std::vector<std::int64_t> sample_sizes_;
  ggemm_gemm_desc gemm_desc_ = GGEMM_GEMM_DESC_INIT;
  ggemm_grouped_desc grouped_desc_ = GGEMM_GROUPED_DESC_INIT;
};

}  // namespace ggemm::bench
