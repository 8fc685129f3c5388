// SPDX-License-Identifier: Apache-2.0
// The checks of a grouped call on the CPU, where everything can be read before anything is written.
#pragma once
#include "core/problem.hpp"

namespace ggemm::host {

// Throws GGEMM_ERROR_ARGUMENT if beta is not 0 and there is no C.
void check_c(const core::ProblemType& type, const kernels::GemmParams& params);

// How many groups are not empty. Throws GGEMM_ERROR_ARGUMENT naming the field and the group if one of them is wrong.
kernels::i64 check_groups(const core::ProblemType& type, const kernels::GroupedParams& params);

}  // namespace ggemm::host
