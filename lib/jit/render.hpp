// SPDX-License-Identifier: Apache-2.0
// From a problem's type and a configuration to what NVRTC is asked for.
#pragma once
#include "core/config.hpp"
#include "jit/jit.hpp"

namespace ggemm::jit {

// min_ctas: CTAs a multiprocessor should hold, the bound that registers are allotted by. tile_notes: that a grouped kernel has.
Request render(const core::ProblemType& type, const core::Config& config, int min_ctas, int tile_notes, const std::string& arch);
// The kernel that adds up what that one leaves, where it multiplies slices of k.
Request render_sum_pieces(const core::ProblemType& type, const core::Config& config, const std::string& arch);
// The kernels that copy operands for those that copy by tensor maps or 16 bytes at a time: as they are, of a product or of groups, and f32 as terms of bf16. Elements have 1, 2 or 4 bytes.
constexpr int most_repacked_size = 4;
Request render_repack(int element_size, const std::string& arch);
Request render_repack_groups(int element_size, const std::string& arch);
Request render_split(const std::string& arch);
// The kernel that checks the groups of a grouped call.
Request render_check(const std::string& arch);
// The kernel that empties L2 of what is to be measured.
Request render_flush(const std::string& arch);
// value: what rows are added up in, d: D's.
Request render_sum(int value, int d, const std::string& arch);

// The kernel that runs before a grouped product of those.
Request render_prepare(const std::string& arch);

}  // namespace ggemm::jit
