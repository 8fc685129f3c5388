// SPDX-License-Identifier: Apache-2.0
// The space of configurations: a table of tiles for each kernel family, and the rules that say which of them a problem and a device allow.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"

namespace ggemm::select {

// Bytes of dynamic shared memory that the kernel uses: the mainloop's ring and the epilogue's staging take turns in it (kernels/tile_loop.cuh), or lie
// side by side (kernels/sm90.cu).
std::int64_t shared_bytes(const core::ProblemType& type, const core::Config& config);
// And of static shared memory, where the grouped scheduler and the copies park what would cost registers; with the padding that aligns the dynamic part.
std::int64_t static_shared_bytes(const core::ProblemType& type, const core::Config& config);
// CTAs that a multiprocessor should hold, for the kernel's register bound (GG_MIN_CTAS).
int min_ctas(const core::Config& config);
// Threads of a CTA. Those of the sm90 family have a warpgroup more than they name: the producer's.
inline int threads(const core::Config& config) { return 32 * config.warps_m * config.warps_n * (config.teams > 1 ? config.teams : 1) + (config.family == core::Family::sm90 ? 128 : 0); }
// CTAs of a cluster, or 1.
inline int cluster(const core::Config& config) { return config.family == core::Family::sm90 ? config.cluster_m * config.cluster_n * config.cluster_k : 1; }
// Bytes of the sums of a cluster's tiles, where pieces of k meet in workspace.
inline std::int64_t piece_bytes(const core::Config& config) { return std::int64_t(cluster(config)) * config.tile_m * config.tile_n * std::int64_t(sizeof(float)); }

// The first rule that the configuration breaks for this problem on this device, as a sentence; nothing if it is legal.
std::optional<std::string> illegal(const core::ProblemType& type, const core::Config& config, const core::DeviceFacts& facts);

// Whether a configuration may compute the larger groups of a configuration that leaves them to another one (Config::large_above): without clusters where CTAs are limited, to however few.
bool for_large_groups(const core::ProblemType& type, const core::Config& config, const core::DeviceFacts& facts);

// Every configuration of the table for this problem, legal or not, with raster 1, and with 2 slices where k is cut for all tiles. Tiles along k are given in the operand's elements.
std::vector<core::Config> table(const core::ProblemType& type);

}  // namespace ggemm::select
