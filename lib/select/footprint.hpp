// SPDX-License-Identifier: Apache-2.0
// What a configuration's kernel takes of a multiprocessor, and of workspace. Of any configuration, legal or not.
#pragma once
#include <cstdint>

#include "core/config.hpp"

namespace ggemm::select {

// Bytes of an element of A and B as a family's ring has it, and of a sum.
inline int operand_size(const core::ProblemType& type, core::Family family) { return core::by_terms(type, family) ? 2 : static_cast<int>(core::dtype_size(type.a)); }
inline int sum_size(const core::ProblemType& type) { return type.sum == core::Sum::f64 ? 8 : 4; }

// Whether the gemv family multiplies by CUDA cores (kernels/mainloop/gemv.cuh: ByFma).
inline bool gemv_by_cuda_cores(const core::ProblemType& type) { return type.a == GGEMM_F64 || (type.a == GGEMM_F32 && type.compute != GGEMM_COMPUTE_TF32); }

// Whether f32 is multiplied as f64, by its tensor cores (kernels/mainloop/multistage.cuh: AtomFor); and whether anything is.
inline bool f32_as_f64(const core::ProblemType& type, core::Family family) { return family == core::Family::sm80 && type.a == GGEMM_F32 && type.compute != GGEMM_COMPUTE_TF32; }
inline bool by_f64_products(const core::ProblemType& type, core::Family family) { return (family == core::Family::sm80 && type.a == GGEMM_F64) || f32_as_f64(type, family); }

// Bytes of dynamic shared memory that the kernel uses: the mainloop's ring and the epilogue's staging take turns in it (kernels/tile_loop.cuh), or lie
// side by side (kernels/roles/cta.cuh).
std::int64_t shared_bytes(const core::ProblemType& type, const core::Config& config);
// And of static shared memory, where the grouped scheduler and the copies park what would cost registers; with the padding that aligns the dynamic part.
std::int64_t static_shared_bytes(const core::ProblemType& type, const core::Config& config);
// Notes of tiles in it (kernels/scheduler/board.cuh, GG_TILE_NOTES): one more than tiles in work, and another where as many CTAs have room all the same. 0: the kernel has none.
int tile_notes(const core::ProblemType& type, const core::Config& config);
// CTAs that a multiprocessor should hold, for the kernel's register bound (GG_MIN_CTAS).
int min_ctas(const core::ProblemType& type, const core::Config& config);
// Threads of a CTA. Those of the sm90 family have a warpgroup more than they name: the producer's.
inline int threads(const core::Config& config) { return 32 * config.warps_m * config.warps_n * (config.teams > 1 ? config.teams : 1) + (config.family == core::Family::sm90 ? 128 : 0); }
// CTAs of a cluster, or 1.
inline int cluster(const core::Config& config) { return config.family == core::Family::sm90 ? config.cluster_m * config.cluster_n * config.cluster_k : 1; }
// Where pieces of k meet in workspace: bytes of the sums of a cluster's tiles, and how many of its parties have sums of their own, for which others wait (kernels/epilogue/slices.cuh).
inline std::int64_t piece_bytes(const core::ProblemType& type, const core::Config& config) { return std::int64_t(cluster(config)) * config.tile_m * config.tile_n * sum_size(type); }
inline std::int64_t parties(const core::Config& config) { return config.family == core::Family::sm90 ? cluster(config) * (config.warps_m * config.warps_n / 4) : 1; }

}  // namespace ggemm::select
