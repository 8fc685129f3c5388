// SPDX-License-Identifier: Apache-2.0
// A scale that the whole sum takes: a tensor's, or a row's or column's. Those by blocks along k are in the sums already.
#pragma once
#include "params.cuh"
#include "tile/scales.cuh"

namespace ggemm::kernels {

template <int KIND>
class SumScale {
 public:
  static constexpr bool ANY = KIND == scale_tensor || KIND == scale_vector;

  // stride: between the scales along m (or n). first: the row (or column) of at(0).
  GG_DEVICE SumScale(const Matrix& scales, i64 stride, i64 first) {
    const auto* data = static_cast<const float*>(scales.data);
    if constexpr (KIND == scale_tensor) value_ = data ? *data : 1.0f;
    if constexpr (KIND == scale_vector) first_ = data ? data + first * stride : nullptr, stride_ = stride;
  }
  // The i-th from there on, which must be one of the matrix.
  GG_DEVICE float at(i64 i) const {
    if constexpr (KIND == scale_vector) return first_ ? first_[i * stride_] : 1.0f;
    else return value_;
  }

 private:
  float value_ = 1.0f;
  const float* first_ = nullptr;
  i64 stride_ = 0;
};

}  // namespace ggemm::kernels
