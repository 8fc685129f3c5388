// SPDX-License-Identifier: Apache-2.0
// The checks of a grouped call on the CPU, where everything can be read before anything is written.
#pragma once
#include "core/problem.hpp"
#include "scheduler/group_check.cuh"

namespace ggemm::host {

// Throws GGEMM_ERROR_ARGUMENT if beta is not 0 and there is no C.
void check_c(const core::ProblemType& type, const kernels::GemmParams& params);

// What is wrong with the first group that is; nothing if none is. row: of all groups' rows, for an index.
struct FoundFault {
  kernels::GroupFault what{kernels::Fault::none, kernels::Field::none};
  kernels::i64 group = 0, row = 0;
  // As checked mode's status word.
  void tell(kernels::i32* status) const {
    status[0] = static_cast<kernels::i32>(what.fault), status[1] = static_cast<kernels::i32>(group);
    status[2] = static_cast<kernels::i32>(what.field), status[3] = static_cast<kernels::i32>(row);
  }
};
FoundFault find_fault(const kernels::GroupedParams& params, const kernels::GroupChecks& checks);

// How many groups are not empty. Throws GGEMM_ERROR_ARGUMENT naming the field and the group if one of them is wrong.
kernels::i64 check_groups(const core::ProblemType& type, const kernels::GroupedParams& params);

}  // namespace ggemm::host
