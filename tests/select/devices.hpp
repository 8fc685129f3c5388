// SPDX-License-Identifier: Apache-2.0
// The devices that kernels are compiled for, and types of problems, for tests of the selection.
#pragma once
#include <string>
#include <vector>

#include "core/config.hpp"

namespace ggemm::tests {

// Shared memory: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; multiprocessors of a common chip of each.
inline core::DeviceFacts device(int capability) {
  core::DeviceFacts facts;
  facts.cuda = true;
  facts.compute_capability = capability;
  const auto set = [&](int multiprocessors, int block_kib, int multiprocessor_kib) {
    facts.multiprocessors = multiprocessors;
    facts.shared_per_block = std::int64_t(block_kib) * 1024;
    facts.shared_per_multiprocessor = std::int64_t(multiprocessor_kib) * 1024;
  };
  switch (capability) {
    case 75: set(40, 64, 64); break;
    case 80: set(108, 163, 164); break;
    case 90: set(132, 227, 228); break;
    case 100: set(148, 227, 228); break;
    default: set(128, 99, 100);
  }
  facts.f64_slower = capability == 80 || capability == 90 || capability == 100 ? 2 : 64;
  facts.arch = "sm_" + std::to_string(capability) + (capability == 90 ? "a" : "");
  facts.name = "test device " + facts.arch;
  facts.l2_bytes = std::int64_t(50) << 20;
  facts.memory_bytes = std::int64_t(80) << 30;
  return facts;
}
// The same where f64 is of little use (H20, H800).
inline core::DeviceFacts slow_f64(int capability) {
  core::DeviceFacts facts = device(capability);
  facts.f64_slower = 64;
  return facts;
}
constexpr int capabilities[] = {75, 80, 86, 89, 90, 100, 120};

inline core::DeviceFacts host_device() {
  core::DeviceFacts facts;
  facts.threads = 8;
  facts.name = "test host";
  return facts;
}

// One dtype for A, B and D (i32 for the products of i8). layout: BLAS letters as in names, "tn" is contiguous along k on both sides.
inline core::ProblemType type_of(ggemm_dtype dtype, const char* layout = "tn", bool tf32 = false) {
  core::ProblemType type{};
  type.a = type.b = static_cast<std::uint8_t>(dtype);
  type.c = type.d = static_cast<std::uint8_t>(dtype == GGEMM_I8 ? GGEMM_I32 : dtype);
  type.compute = tf32 ? GGEMM_COMPUTE_TF32 : GGEMM_COMPUTE_DEFAULT;
  type.sum = dtype == GGEMM_F64 ? core::Sum::f64 : dtype == GGEMM_I8 ? core::Sum::i32 : core::Sum::f32;
  type.major_a = layout[0] == 't' ? core::Major::k : core::Major::mn;
  type.major_b = layout[1] == 'n' ? core::Major::k : core::Major::mn;
  return type;
}

inline core::Config tile(core::Family family, int m, int n, int k, int warps_m, int warps_n, int stages, int raster = 1) {
  core::Config config{};
  config.tile_m = static_cast<std::uint16_t>(m), config.tile_n = static_cast<std::uint16_t>(n), config.tile_k = static_cast<std::uint16_t>(k);
  config.warps_m = static_cast<std::uint8_t>(warps_m), config.warps_n = static_cast<std::uint8_t>(warps_n);
  config.stages = static_cast<std::uint8_t>(stages);
  config.raster = static_cast<std::uint16_t>(raster);
  config.family = family;
  return config;
}

}  // namespace ggemm::tests
