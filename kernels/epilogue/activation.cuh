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

// V is float or double. Comparisons are written so that NaN stays NaN.
template <int Activation, class V>
GG_HD V activate(V x, V p0, V p1) {
  if constexpr (Activation >= 3 && Activation <= 5) x = finite_below(x);
  if constexpr (Activation == 1) return x < V(0) ? V(0) : x;
  else if constexpr (Activation == 2) return x > V(0) ? x : p0 * x;
  else if constexpr (Activation == 3) return V(0.5) * x * (V(1) + erf_of(x * V(0.70710678118654752440)));
  else if constexpr (Activation == 4) return V(0.5) * x * (V(1) + tanh_of(V(0.79788456080286535588) * (x + V(0.044715) * x * x * x)));
  else if constexpr (Activation == 5) return x / (V(1) + exp_of(-x));
  else if constexpr (Activation == 6) return V(1) / (V(1) + exp_of(-x));
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
