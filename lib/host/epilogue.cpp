// SPDX-License-Identifier: Apache-2.0
#include "host/epilogue.hpp"

#include <type_traits>

namespace ggemm::host {

template <class V>
Epilogue<V>::Epilogue(const Isa& isa, const core::ProblemType& type, const kernels::GemmParams& params)
    : kernels_(&isa.kernels<V>()),
      scalars_(params.epilogue),
      c_(params.c),
      d_(params.d),
      bias_(static_cast<const char*>(params.bias)),
      load_c_(kernels_->load[type.c]),
      load_bias_(kernels_->load[type.bias_dtype]),
      store_(kernels_->store[type.d]),
      c_size_(static_cast<i64>(core::dtype_size(type.c))),
      d_size_(static_cast<i64>(core::dtype_size(type.d))),
      bias_size_(static_cast<i64>(core::dtype_size(type.bias_dtype))),
      activation_(type.activation),
      bias_kind_(type.bias) {}

template <class V>
bool Epilogue<V>::trivial() const {
  return scalars_.alpha == V(1) && !reads_c() && bias_kind_ == GGEMM_BIAS_NONE && activation_ == GGEMM_ACTIVATION_NONE;
}

// Compiled for the build's own instruction set only, so that a compiler that joins products and sums does so alike on every CPU.
template <class V>
void Epilogue<V>::activate_row(V* values, i64 count) const {
  const auto each = [&]<int Activation>(std::integral_constant<int, Activation>) {
    for (i64 i = 0; i < count; ++i) values[i] = kernels::activate<Activation>(values[i], scalars_.p0, scalars_.p1);
  };
  switch (activation_) {
    case GGEMM_ACTIVATION_RELU: return each(std::integral_constant<int, GGEMM_ACTIVATION_RELU>{});
    case GGEMM_ACTIVATION_CLAMP: return each(std::integral_constant<int, GGEMM_ACTIVATION_CLAMP>{});
  }
  if constexpr (!std::is_same_v<V, i32>) {
    switch (activation_) {
      case GGEMM_ACTIVATION_LEAKY_RELU: return each(std::integral_constant<int, GGEMM_ACTIVATION_LEAKY_RELU>{});
      case GGEMM_ACTIVATION_GELU: return each(std::integral_constant<int, GGEMM_ACTIVATION_GELU>{});
      case GGEMM_ACTIVATION_GELU_TANH: return each(std::integral_constant<int, GGEMM_ACTIVATION_GELU_TANH>{});
      case GGEMM_ACTIVATION_SILU: return each(std::integral_constant<int, GGEMM_ACTIVATION_SILU>{});
      case GGEMM_ACTIVATION_SIGMOID: return each(std::integral_constant<int, GGEMM_ACTIVATION_SIGMOID>{});
      case GGEMM_ACTIVATION_TANH: return each(std::integral_constant<int, GGEMM_ACTIVATION_TANH>{});
    }
  }
}

template <class V>
template <class T>
void Epilogue<V>::finish(T* sums, i64 ld, const Block& block, const Workspace<T, V>& work) const {
  const bool per_column = bias_kind_ == GGEMM_BIAS_PER_COLUMN, per_row = bias_kind_ == GGEMM_BIAS_PER_ROW;
  if (per_column) load_bias_(work.column_bias, bias_ + block.column * bias_size_, 1, block.columns);
  if (per_row) load_bias_(work.row_bias, bias_ + block.row * bias_size_, 1, block.rows);
  for (i64 r = 0; r < block.rows; ++r) {
    V* values;
    if constexpr (std::is_same_v<T, V>) {
      values = sums + r * ld;
    } else {
      values = work.values;
      kernels_->load[GGEMM_I32](values, sums + r * ld, 1, block.columns);
    }
    const V* biases = per_column ? work.column_bias : nullptr;
    const V bias = per_row ? work.row_bias[r] : V(0);
    const i64 row = block.row + r;
    if (reads_c()) {
      const i64 at = row * c_.row_stride + block.column * c_.col_stride;
      load_c_(work.addends, static_cast<const char*>(c_.data) + at * c_size_, c_.col_stride, block.columns);
      kernels_->blend(work.addends, scalars_.beta, biases, bias, block.columns);
      kernels_->scale(values, scalars_.alpha, work.addends, V(0), block.columns);
    } else {
      kernels_->scale(values, scalars_.alpha, biases, bias, block.columns);
    }
    if (activation_ != GGEMM_ACTIVATION_NONE) activate_row(values, block.columns);
    const i64 at = row * d_.row_stride + block.column * d_.col_stride;
    store_(static_cast<char*>(const_cast<void*>(d_.data)) + at * d_size_, d_.col_stride, values, block.columns);
  }
}

template class Epilogue<float>;
template class Epilogue<double>;
template class Epilogue<i32>;
template void Epilogue<float>::finish(float*, i64, const Block&, const Workspace<float, float>&) const;
template void Epilogue<double>::finish(double*, i64, const Block&, const Workspace<double, double>&) const;
template void Epilogue<i32>::finish(i32*, i64, const Block&, const Workspace<i32, i32>&) const;
template void Epilogue<float>::finish(i32*, i64, const Block&, const Workspace<i32, float>&) const;

}  // namespace ggemm::host
