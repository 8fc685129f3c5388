// SPDX-License-Identifier: Apache-2.0
// What a launch of a grouped kernel that copies by tensor maps was asked to compute, for those who answer for it.
#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "scheduler/group_params.cuh"

namespace ggemm::tests {

// Of a group, as the kernel sees it; of one that is another kernel's, nothing.
inline kernels::GroupFacts facts_of(const kernels::GroupedTensorParams& params, std::int64_t g) {
  if (params.records) return params.tiles[g] > 0 ? params.records[g].facts : kernels::GroupFacts{};
  const kernels::UniformGroups& groups = params.uniform;
  const kernels::i32 group = static_cast<kernels::i32>(g);
  const auto [start, rows] = kernels::group_span(groups, group);
  if (rows <= groups.above || rows > groups.most) return {};
  std::array<kernels::u64, kernels::UniformGroups::words> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kernels::group_word(groups, static_cast<int>(i), group, start, rows);
  return std::bit_cast<kernels::GroupFacts>(words);
}

}  // namespace ggemm::tests
