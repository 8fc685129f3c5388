// SPDX-License-Identifier: Apache-2.0
// The reference in float64 (long double where the library sums in float64; exact integers where it sums those) and the verdict on a result.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "operands.hpp"

namespace ggemm::tests {

// How an element may differ from the reference. With u = 2^-23 (f64: 2^-52), gamma(n) = n u / (1 - n u) and |A||B| = the sum over k of |a||b|, before the last
// conversion:
//   |alpha| gamma(k + 2) |A||B| + gamma(3) (|beta c| + |bias|), and k times the smallest number that the sums hold.
//
// On tensor cores (f16, bf16, fp8 and tf32 with f32 sums) this is what the hardware does, as far as it is known, with a little room. A step adds the products of L
// elements of k (32 bytes of a row on sm_90, 16 before) to the sum: each addend is cut at 2^(E - F), where E is the largest exponent of them, and the result at its
// 24th bit. F is 24 (sm_75 to sm_89) or 25 (sm_90 and up). With n of the L products not 0, that is less than (n + 1) 2^(E - F) + 2^-23 |sum|; and as 2^E and |sum|
// are at most |A||B|, all steps together come to no more than (k / 2 + 1.5 ceil(k / L)) u |A||B|, which is below (k + 2) u |A||B| for every L of 4 or more.
// 2^E is the product of the operands' *nominal* exponents: those of a denormal operand are the smallest normal number's. Therefore |A||B| is counted there with
// operands, where they are not 0, of at least that size (f16 and e5m2 2^-14, e4m3 2^-6, bf16 and tf32 2^-126; f32 in terms of bf16, whose last one ends at 2^-133, 2^-110). Seen on sm_90: A of f16 denormals, an error of
// 2^-27 where the plain |A||B| was 2^-9. Integers are exact, and f64 is summed by ordinary fused steps.
//
// Scales are factors of |A||B|'s terms, and make three more roundings of a sum (of two scales, of a block or sum times both, and where it is added).
// Of a gated pair y = act(g) u, with errors e of act(g) and f of u: |u| e + |act(g)| f + e f, and one rounding more.
struct CheckOptions {
  // The product comes from tensor cores; their sums may also flush f32 denormals to 0.
  bool tensor_cores = false;
  // Both operands are fp8 and sums are kept in 14 bits, as wgmma does on sm_90: then F is 13, and every step cuts the sum at its 14th bit.
  bool short_sums = false;
  // And they are added up in f32 after every 128 of k, so that as many elements alone share what is cut.
  bool promoted = false;
  // Multiply-adds that the reference may spend; rows are sampled above it (the first and the last always among them).
  double work = 1 << 24;
};

// Compares D after the call with the reference, and every byte outside its elements with what was there before. Inputs are those of `before`.
// Empty if all is right, else a sentence about the first difference.
std::optional<std::string> check_result(const Case& c, const Images& before, const Bytes& d_after, const CheckOptions& options);

}  // namespace ggemm::tests
