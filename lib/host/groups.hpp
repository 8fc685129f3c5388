// SPDX-License-Identifier: Apache-2.0
// The checks of a grouped call on the CPU, where everything can be read before anything is written.
#pragma once
#include <vector>

#include "core/problem.hpp"

namespace ggemm::host {

// Throws GGEMM_ERROR_ARGUMENT if beta is not 0 and there is no C.
void check_c(const core::ProblemType& type, const kernels::GemmParams& params);

// The groups that are not empty, as plain products. Throws GGEMM_ERROR_ARGUMENT naming the field and the group.
std::vector<kernels::GemmParams> check_groups(const core::ProblemType& type, const kernels::GroupedParams& params);

}  // namespace ggemm::host
