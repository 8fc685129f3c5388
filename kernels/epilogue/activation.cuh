// SPDX-License-Identifier: Apache-2.0
// The built-in activations, on host and device. Numbered as ggemm_activation.
#pragma once
#include "tile/types.cuh"

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace ggemm::kernels {

GG_HD float exp_of(float x) { return expf(x); }
GG_HD double exp_of(double x) { return exp(x); }
GG_HD float erf_of(float x) { return erff(x); }
GG_HD double erf_of(double x) { return erf(x); }
GG_HD float tanh_of(float x) { return tanhf(x); }
GG_HD double tanh_of(double x) { return tanh(x); }

// -infinity as the lowest finite number, at which the gelus and silu give their limit, 0: at -infinity itself they would multiply it by 0.
GG_HD float finite_below(float x) { return x < -0x1.fffffep+127f ? -0x1.fffffep+127f : x; }
GG_HD double finite_below(double x) { return x < -0x1.fffffffffffffp+1023 ? -0x1.fffffffffffffp+1023 : x; }

// 1 / x, x from 1 to 2, to within a unit in the last place, and without a division's branch for what is special. PTX ISA, "rcp.approx.ftz".
GG_HD float reciprocal_of(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return fmaf(y, fmaf(-x, y, 1.0f), y);
#else
  return 1 / x;
#endif
}
GG_HD double reciprocal_of(double x) { return 1 / x; }

// 1 / (1 + exp(-x)), without a branch, so that a thread has several under way.
template <class V>
GG_HD V sigmoid(V x) {
  const V e = exp_of(x < V(0) ? x : -x), r = reciprocal_of(V(1) + e);
  return x < V(0) ? e * r : r;
}

// V is float or double. Comparisons are written so that NaN stays NaN. 1 + tanh(x) is 2 sigmoid(2 x).
template <int Activation, class V>
GG_HD V activate(V x, V p0, V p1) {
  if constexpr (Activation >= 3 && Activation <= 5) x = finite_below(x);
  if constexpr (Activation == 1) return x < V(0) ? V(0) : x;
  else if constexpr (Activation == 2) return x > V(0) ? x : p0 * x;
  else if constexpr (Activation == 3) return V(0.5) * x * (V(1) + erf_of(x * V(0.70710678118654752440)));
  else if constexpr (Activation == 4) return x * sigmoid(V(1.5957691216057307117) * (x + V(0.044715) * x * x * x));
  else if constexpr (Activation == 5) return x * sigmoid(x);
  else if constexpr (Activation == 6) return sigmoid(x);
  else if constexpr (Activation == 7) return tanh_of(x);
  else if constexpr (Activation == 8) return x < p0 ? p0 : x > p1 ? p1 : x;
  else return x;
}
// int32 epilogues know none, relu and clamp; lib/core refuses the others.
template <int Activation>
GG_HD i32 activate(i32 x, i32 p0, i32 p1) {
  if constexpr (Activation == 1) return x < 0 ? 0 : x;
  else if constexpr (Activation == 8) return x < p0 ? p0 : x > p1 ? p1 : x;
  else return x;
}

}  // namespace ggemm::kernels
