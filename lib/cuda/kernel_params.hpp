// SPDX-License-Identifier: Apache-2.0
// What kernels are given.
#pragma once
#include <span>

#include "core/config.hpp"
#include "cuda/device.hpp"

namespace ggemm::cuda {

// Of a batch: how many, and bytes from one's A, B and D to the next one's; 0: all have the same.
struct Products {
  std::int64_t count = 0, a = 0, b = 0, d = 0;
};
// type, config and params as the kernel sees them: of a swapped configuration the transposed ones. A and B must be reachable. Of a batch the first product's.
kernels::TensorParams tensor_params(const Device& device, const core::ProblemType& type, const core::Config& config, const kernels::GemmParams& params, const Products& products = {});
// A batch that the copy engine serves, all as described.
kernels::TensorParams batch_params(const Device& device, const core::ProblemType& type, const core::Config& config, const kernels::GroupedParams& params);

// Of the kernels that need no tensor maps.
kernels::PlainParams plain_params(const core::Config& config, const kernels::GemmParams& params);
kernels::BatchedParams batched_params(const core::ProblemType& type, const core::Config& config, const kernels::GroupedParams& params);

// Groups that differ in m, and in where their parts of operands begin, alone, so that nothing has to be prepared: of which this is true `out` is told, but for whose groups are the kernel's. All as described.
bool uniform_groups(const Device& device, const core::ProblemType& type, const core::Config& config, const kernels::GroupedParams& params, kernels::UniformGroups& out);

// What the kernel is given that prepares a grouped product for one kernel, or for two of which the second computes larger groups (the first one's large_above), and
// writes its findings to prepare_bytes of workspace. All as described.
kernels::PrepareParams prepare_params(const Device& device, const core::ProblemType& type, std::span<const core::Config> configs, const kernels::GroupedParams& params, void* workspace);
// In there, what the launches of two kernels count by.
kernels::u32* taken_of(void* workspace, std::int64_t groups);
std::size_t prepare_bytes(std::int64_t groups);

}  // namespace ggemm::cuda
