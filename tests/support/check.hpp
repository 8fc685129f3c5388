// SPDX-License-Identifier: Apache-2.0
// The reference in float64 (long double where the library sums in float64; exact integers where it sums those) and the verdict on a result.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "operands.hpp"

namespace ggemm::tests {

struct CheckOptions {
  // The tensor cores may treat f32 denormals of the sums as 0.
  bool sums_flush_denormals = false;
  // Tensor cores align products by their operands' exponents, and a denormal's is that of the smallest normal number: |A||B| is counted with operands of at least
  // this size. Seen on sm_90 with f16: an error of 2^-27 where |A||B| was 2^-9 and A denormal.
  double smallest_operand = 0;
  // Multiply-adds that the reference may spend; rows are sampled above it (the first and the last always among them).
  double work = 1 << 24;
};

// Compares D after the call with the reference, and every byte outside its elements with what was there before. Inputs are those of `before`.
// Empty if all is right, else a sentence about the first difference.
std::optional<std::string> check_result(const Case& c, const Images& before, const Bytes& d_after, const CheckOptions& options);

}  // namespace ggemm::tests
