// SPDX-License-Identifier: Apache-2.0
// Descriptions of problems, and the types that come of them.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "core/problem.hpp"
#include "support/errors.hpp"

namespace ggemm::tests {

constexpr ggemm_dtype input_dtypes[] = {GGEMM_F64, GGEMM_F32, GGEMM_F16, GGEMM_BF16, GGEMM_E4M3, GGEMM_E5M2, GGEMM_I8};

// D[m,n] = A[m,k] B[k,n], packed.
inline ggemm_gemm_desc plain_desc(ggemm_dtype a, ggemm_dtype b, ggemm_dtype d, std::int64_t m = 64, std::int64_t n = 48, std::int64_t k = 32) {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = m, desc.n = n, desc.k = k;
  desc.a.dtype = a, desc.b.dtype = b, desc.d.dtype = d;
  return desc;
}
// What a pair of operands is summed in, as ggemm.h says.
inline core::Sum documented_sum(ggemm_dtype a, ggemm_dtype b) {
  if (a == GGEMM_F64 || b == GGEMM_F64) return core::Sum::f64;
  return a == GGEMM_I8 && b == GGEMM_I8 ? core::Sum::i32 : core::Sum::f32;
}
// The dtype of D that a pair most naturally has.
inline ggemm_dtype natural_d(ggemm_dtype a, ggemm_dtype b) {
  const core::Sum sum = documented_sum(a, b);
  return sum == core::Sum::f64 ? GGEMM_F64 : sum == core::Sum::i32 ? GGEMM_I32 : GGEMM_F32;
}

// Every pair of operand dtypes (49, and f32 under tf32 and f32_accurate), in every layout, plain, grouped and in batches: 612 types.
inline std::vector<core::ProblemType> every_type() {
  std::vector<core::ProblemType> out;
  for (const ggemm_dtype a : input_dtypes) {
    for (const ggemm_dtype b : input_dtypes) {
      for (const int compute : {GGEMM_COMPUTE_DEFAULT, GGEMM_COMPUTE_TF32, GGEMM_COMPUTE_F32_ACCURATE}) {
        if (compute && (a != GGEMM_F32 || b != GGEMM_F32)) continue;
        for (int form = 0; form < 12; ++form) {
          core::ProblemType type{};
          type.a = static_cast<std::uint8_t>(a), type.b = static_cast<std::uint8_t>(b);
          type.c = type.d = static_cast<std::uint8_t>(natural_d(a, b));
          type.compute = static_cast<std::uint8_t>(compute);
          type.sum = documented_sum(a, b);
          type.major_a = static_cast<core::Major>(form & 1), type.major_b = static_cast<core::Major>(form >> 1 & 1);
          type.grouped = form >> 2 == 0 ? 0 : form >> 2 == 1 ? core::grouped_call : core::grouped_call | core::batch_groups;
          out.push_back(type);
        }
      }
    }
  }
  return out;
}

}  // namespace ggemm::tests
