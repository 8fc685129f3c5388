// SPDX-License-Identifier: Apache-2.0
#include "select/footprint.hpp"

#include <algorithm>

#include "tile/panels.cuh"
#include "tile/scales.cuh"

namespace ggemm::select {
namespace {

using core::Config;
using core::Family;
using core::ProblemType;

// A consumer's rows and columns, of the sm90 kernel.
int consumer_rows(const Config& upright) { return std::max(1, upright.tile_m / std::max(1, upright.warps_m / 4)); }
int consumer_columns(const Config& upright) { return std::max(1, upright.tile_n / std::max<int>(1, upright.warps_n)); }

// Of a warpgroup of the sm90 kernel, as its epilogue has them.
int store_slots(const ProblemType& type, const Config& config, std::int64_t ring_bytes, int warpgroups) {
  const Config c = core::upright(config);
  const ProblemType t = config.swap ? core::transposed(type) : type;
  const int size_d = static_cast<int>(core::dtype_size(t.d)), size_c = t.gate ? size_d : static_cast<int>(core::dtype_size(t.c));
  const int columns = consumer_columns(c) / 8 * 8;
  return kernels::store_slots(consumer_rows(c) / 64, kernels::stored_columns(columns, c.cluster_k, t.gate != GGEMM_GATE_NONE), size_c, size_d, t.major_d == core::Major::mn, static_cast<kernels::i32>(std::min<std::int64_t>(ring_bytes, 1 << 20)), warpgroups, c.teams);
}

// A warpgroup's slots, and what else it has there.
int store_bytes(int slots) { return slots * kernels::store_slot_bytes + kernels::store_notes_bytes(slots); }

}  // namespace

std::int64_t shared_bytes(const ProblemType& given, const Config& c) {
  const ProblemType type = core::compiled(given, c.family);  // whose D has the slots
  if (c.family == Family::sm90) {
    const int consumers = c.warps_m * c.warps_n / 4 * std::max<int>(1, c.teams);
    const int turns = c.teams > 1 ? 16 : 0;
    const Config kernel = core::upright(c);
    const ProblemType t = core::kernel_type(type, c);
    const int size = operand_size(type, c.family);
    const int tiles = kernels::tile_bytes(kernel.tile_m, kernel.tile_k, size, t.major_a == core::Major::mn) + kernels::tile_bytes(kernel.tile_n, kernel.tile_k, size, t.major_b == core::Major::mn);
    const int scales_a = kernels::tile_scales(t.scale_a, kernel.tile_m, consumer_rows(kernel)), scales_b = kernels::tile_scales(kernels::kind_in_tile(t.scale_b, t.gate == GGEMM_GATE_HALVES), kernel.tile_n, consumer_columns(kernel));
    const std::int64_t ring = kernels::ring_bytes(c.stages, tiles, kernels::slot_scale_bytes(scales_a, scales_b));
    return turns + ring + 16 * c.stages + (c.slices > core::tail_slices ? 0 : consumers * store_bytes(store_slots(type, c, ring, consumers)));
  }
  const std::int64_t staging = std::int64_t(c.tile_m) * (c.tile_n + 32 / sum_size(type)) * sum_size(type);
  // The warps' sums (kernels/mainloop/gemv.cuh), of which four lanes have a term each where CUDA cores multiply.
  const int terms = gemv_by_cuda_cores(type) ? 4 : 1;
  if (c.family == Family::gemv && c.warps_m > 1) return std::int64_t(c.tile_k) * std::min(c.tile_m, c.tile_n) * static_cast<std::int64_t>(core::dtype_size(type.b));  // the thin operand (kernels/mainloop/rows.cuh)
  if (c.family == Family::gemv) return std::int64_t(c.warps_n) * c.tile_m * c.tile_n * terms * sum_size(type);
  const std::int64_t ring = c.family == Family::simt ? std::int64_t(c.stages) * c.tile_k * (c.tile_m + c.tile_n + 8) * sum_size(type) : std::int64_t(c.stages) * c.tile_k * (c.tile_m + c.tile_n) * operand_size(type, c.family);
  return c.family == Family::host ? 0 : std::max(staging, ring);
}

namespace {
// With so many notes of tiles.
std::int64_t static_shared_bytes(const ProblemType& type, const Config& config, int tile_notes) {
  const bool walks = type.grouped & core::grouped_call;
  const std::int64_t notes = tile_notes > 2 ? 1024 : 0, pieces = walks && config.slices ? 1024 : 0;  // what is behind the second note; where pieces meet
  // Where rows of A lie, and columns of halves. The dynamic part begins at whole KiB.
  const std::int64_t rows = type.grouped & core::gathered_rows && config.family != Family::gemv ? 8 * config.tile_m : 0, columns = type.gate == GGEMM_GATE_HALVES && config.family == Family::sm80 ? 8 * config.tile_n : 0;
  return notes + pieces + kernels::ceil_div(rows + columns, 1024) * 1024 + (walks || config.family != Family::sm90 ? 1024 : 0);
}

}  // namespace

int tile_notes(const ProblemType& given, const Config& config) {
  const ProblemType type = core::compiled(given, config.family);
  if (config.family != Family::sm90 || !(type.grouped & core::grouped_call)) return 0;
  const int least = 1 + std::max<int>(1, config.teams);
  // Of a multiprocessor of sm_90, of which the driver keeps 1 KiB for each CTA.
  const auto ctas = [&](int notes) { return 228 * 1024 / (shared_bytes(type, config) + static_shared_bytes(type, config, notes) + 1024); };
  return ctas(least + 1) == ctas(least) ? least + 1 : least;
}

std::int64_t static_shared_bytes(const ProblemType& given, const Config& config) {
  const ProblemType type = core::compiled(given, config.family);
  return static_shared_bytes(type, config, tile_notes(type, config));
}

int min_ctas(const ProblemType& type, const Config& config) {
  if (config.family == Family::sm90) return 1;
  if (config.family != Family::gemv) return threads(config) <= 128 ? 2 : 1;
  if (config.warps_m > 1) {
    // What a lane has of the wide operand, of sums, and of the thin one (kernels/mainloop/rows.cuh); and what ptxas takes besides.
    const int size = static_cast<int>(core::dtype_size(type.a)), depth = config.tile_k * size / 4;
    const bool f64 = size == 8, more = !core::bare(type);
    const int lane = !gemv_by_cuda_cores(type) ? (more ? 46 : 34) + depth + config.tile_n / 2 + config.tile_n / 8 * depth / 4
                     : config.tile_m < config.tile_n ? 50 + 16 * (f64 + more) + 4 * (config.tile_k + config.tile_m) : (f64 && more ? 130 : config.tile_n > 4 ? 86 : 70) + depth + config.tile_n * size / 4;
    return std::clamp(65536 / (lane * threads(config)), 1, 1024 / threads(config));
  }
  // What is under way is in registers, of which ptxas takes many more if it is let.
  if (threads(config) > 256 || std::max(config.tile_m, config.tile_n) > 16) return 1;
  const int most = core::compiled(type, config.family).grouped & core::grouped_call ? 2 : 3;
  return config.stages > 2 && threads(config) > 128 ? most - 1 : most;
}

}  // namespace ggemm::select
