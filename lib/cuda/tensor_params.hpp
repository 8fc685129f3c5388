// SPDX-License-Identifier: Apache-2.0
// What the kernels that copy by tensor maps are given.
#pragma once
#include <span>

#include "core/config.hpp"
#include "cuda/device.hpp"

namespace ggemm::cuda {

// type, config and params as the kernel sees them: of a swapped configuration the transposed ones. A and B must be reachable.
kernels::TensorParams tensor_params(const Device& device, const core::ProblemType& type, const core::Config& config, const kernels::GemmParams& params);

// What the kernel is given that prepares a grouped product for one kernel, or for two of which the second computes larger groups (the first one's large_above), and
// writes its findings to prepare_bytes of workspace. All as described.
kernels::PrepareParams prepare_params(const Device& device, const core::ProblemType& type, std::span<const core::Config> configs, const kernels::GroupedParams& params, void* workspace);
std::size_t prepare_bytes(std::int64_t groups);

}  // namespace ggemm::cuda
