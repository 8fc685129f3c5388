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

// What the calls of a grouped case read, as layout.hpp lists it; it outlives the descriptions.
struct GroupArrays {
  const std::int32_t* sizes = nullptr;
  const std::int32_t* lds = nullptr;
  const std::int32_t* ends = nullptr;
  const std::int32_t* index = nullptr;
};

class Description {
 public:
  // config "": chosen.
  Description(const Case& one, const Layout& layout, const GroupArrays& arrays, std::string config);
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
  void describe_plain(const Case& one, const Layout& layout);
  void describe_groups(const Case& one, const Layout& layout, const GroupArrays& arrays);
  void set_form(const Case& one, const Layout& layout, const GroupArrays& arrays);
  bool grouped_;
  std::string config_;
  std::vector<std::int64_t> sample_sizes_;
  ggemm_gemm_desc gemm_desc_ = GGEMM_GEMM_DESC_INIT;
  ggemm_grouped_desc grouped_desc_ = GGEMM_GROUPED_DESC_INIT;
};

}  // namespace ggemm::bench
