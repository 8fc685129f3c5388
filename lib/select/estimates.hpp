// SPDX-License-Identifier: Apache-2.0
// What a configuration should take, by its family: microseconds of so many products of m x n x k each. Fitted to times measured on an H200, as costs.hpp says.
#pragma once
#include "core/config.hpp"
#include "select/spread.hpp"

namespace ggemm::select {

// Cluster tiles of so many tiles down and across, and the part of these whose CTAs have turned (scheduler/raster.cuh): of groups, half of which have a single row at the end. spread: sizes differ about a mean; apart: in n too.
struct ClusterTiles {
  double count, turned;
};
ClusterTiles cluster_tiles(const core::Config& c, double down, double across, bool spread, bool apart = false);

int ctas_a_multiprocessor(const core::ProblemType& type, const core::Config& c, const core::DeviceFacts& facts);

// Whether lines of D, if they are packed, are whole vectors, as the copy engine stores.
bool whole_lines(const core::ProblemType& type, double m, double n);

// What groups of many rows cost tiles of few, where the mean has so many rows, and all groups together, that some have many more.
constexpr double skewed_cost = 1.06;
inline bool skewed_groups(double groups, double m) { return m >= 32 && groups * m >= 256; }

// even: of groups, whose sizes differ about the mean; else it is one product, which may be of a kernel for groups, or a batch.
double estimate_by_family(const core::ProblemType& type, const core::Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts, bool even);
double estimate_sm90(const core::ProblemType& type, const core::Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts, bool even);
// Of groups that differ in m alone, so spread.
double estimate_sm90(const core::ProblemType& type, const core::Config& c, const Spread& spread, double n, double k, const core::DeviceFacts& facts);
// Families whose CTAs are not persistent, or take tiles by their number.
double estimate_as_they_lie(const core::ProblemType& type, const core::Config& c, double groups, double m, double n, double k, const core::DeviceFacts& facts);

// The operands that the kernel of such a family would rather have at multiples of 16 bytes, and the product of their copies. (Elements of 8 bytes are copied where they are neighbours.)
std::uint8_t worth_copies(const core::ProblemType& type, const core::Config& c);
double estimate_copied(const core::ProblemType& type, const core::Config& c, double m, double n, double k, const core::DeviceFacts& facts);

}  // namespace ggemm::select
