// SPDX-License-Identifier: Apache-2.0
// The tiles that are chosen among: a row for each, of every kernel family.
#pragma once
#include <vector>

#include "core/config.hpp"

namespace ggemm::select {

// Every configuration of the table for this problem, legal or not, with raster 1, and with 2 slices where k is cut for all tiles. Tiles along k are given in the operand's elements.
std::vector<core::Config> table(const core::ProblemType& type);

}  // namespace ggemm::select
