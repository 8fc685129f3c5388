// SPDX-License-Identifier: Apache-2.0
// What a launch of a grouped kernel that copies by tensor maps was asked to compute, for those who answer for it.
#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "emulator/machine/tensor_map.hpp"
#include "scheduler/group_params.cuh"

namespace ggemm::tests {

// Of a group, as the kernel sees it; of one that is another kernel's, nothing.
inline kernels::GroupFacts facts_of(const kernels::GroupedTensorParams& params, std::int64_t g) {
  if (params.records) return params.tiles[g].count > 0 ? params.records[g].facts : kernels::GroupFacts{};
  const kernels::UniformGroups& groups = params.uniform;
  const kernels::i32 group = static_cast<kernels::i32>(g);
  const kernels::GroupSpan span = kernels::group_span(groups, group);
  if (span.rows <= groups.above || span.rows > groups.most) return {};
  std::array<kernels::u64, kernels::UniformGroups::words> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kernels::group_word(groups, kernels::word_parts(groups, static_cast<int>(i)), static_cast<int>(i), group, span);
  return std::bit_cast<kernels::GroupFacts>(words);
}

// How many products a batch has that a kernel by tensor maps was given; and one of them, as the kernel sees it, its A and B by the maps.
inline std::int64_t products_of(const kernels::TensorParams& params) { return params.walk.tiles / params.batch.tiles.by; }
inline kernels::GemmParams product_of(const kernels::TensorParams& params, std::int64_t number) {
  kernels::GemmParams out = kernels::product_of(params.batch, params.problem, number);
  const auto by_map = [number](const void* first, const kernels::TensorMap& map, bool own) { return static_cast<const char*>(first) + (own ? number : 0) * static_cast<std::int64_t>(std::bit_cast<emulator::TensorMap>(map).stride); };
  out.a.data = by_map(params.problem.a.data, params.a, params.batch.a != 0), out.b.data = by_map(params.problem.b.data, params.b, params.batch.b != 0);
  return out;
}

}  // namespace ggemm::tests
