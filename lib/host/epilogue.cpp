// SPDX-License-Identifier: Apache-2.0
#include "host/epilogue.hpp"

#include <type_traits>

namespace ggemm::host {

template <class V>
Epilogue<V>::Epilogue(const Isa& isa, const core::ProblemType& type, const kernels::GemmParams& params, const kernels::Source& a_index)
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
      bias_kind_(type.bias),
      gate_(type.gate),
      n_(params.n),
      scale_a_(kernels::scaled_by_blocks(type.scale_a) ? kernels::Matrix{} : params.scale_a),
      scale_b_(kernels::scaled_by_blocks(type.scale_b) ? kernels::Matrix{} : params.scale_b),
      vector_a_(type.scale_a == GGEMM_SCALE_VECTOR),
      vector_b_(type.scale_b == GGEMM_SCALE_VECTOR),
      a_index_(a_index) {}

template <class V>
bool Epilogue<V>::trivial() const {
  return scalars_.alpha == V(1) && !reads_c() && bias_kind_ == GGEMM_BIAS_NONE && activation_ == GGEMM_ACTIVATION_NONE && !scale_a_.data && !scale_b_.data && !gate_;
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

// The biases and scales of the block, the columns' where their sums are in a row.
template <class V>
template <class T>
void Epilogue<V>::load_columns(const Runs& runs, const Block& block, const Workspace<T, V>& work) const {
  if (bias_kind_ == GGEMM_BIAS_PER_ROW) load_bias_(work.row_bias, bias_ + block.row * bias_size_, 1, block.rows);
  if (const auto* scales = static_cast<const float*>(scale_a_.data))
    for (i64 r = 0; r < block.rows; ++r) {
      const i64 at = !vector_a_ ? 0 : a_index_.kind ? kernels::read_row(a_index_, block.row + r) : block.row + r;
      work.row_scales[r] = at < 0 ? 0.0f : scales[at * scale_a_.row_stride];
    }
  for (const Run& run : runs) {
    if (bias_kind_ == GGEMM_BIAS_PER_COLUMN) load_bias_(work.column_bias + run.at, bias_ + run.column * bias_size_, 1, run.columns);
    if (const auto* scales = static_cast<const float*>(scale_b_.data))
      for (i64 j = 0; j < run.columns; ++j) work.column_scales[run.at + j] = scales[vector_b_ ? (run.column + j) * scale_b_.col_stride : 0];
  }
}

// alpha scale sums + beta C + bias of row r of the block, which is D's row `row`.
template <class V>
template <class T>
void Epilogue<V>::finish_run(V* values, const Run& run, i64 r, i64 row, const Workspace<T, V>& work) const {
  if constexpr (std::is_same_v<V, float>) {
    const float scale = scale_a_.data ? work.row_scales[r] : 1.0f;
    if (scale_b_.data)
      for (i64 j = 0; j < run.columns; ++j) values[j] *= scale * work.column_scales[run.at + j];
    else if (scale_a_.data)
      for (i64 j = 0; j < run.columns; ++j) values[j] *= scale;
  }
  const V* biases = bias_kind_ == GGEMM_BIAS_PER_COLUMN ? work.column_bias + run.at : nullptr;
  const V bias = bias_kind_ == GGEMM_BIAS_PER_ROW ? work.row_bias[r] : V(0);
  if (!reads_c()) return kernels_->scale(values, scalars_.alpha, biases, bias, run.columns);
  const i64 at = row * c_.row_stride + run.column * c_.col_stride;
  load_c_(work.addends, static_cast<const char*>(c_.data) + at * c_size_, c_.col_stride, run.columns);
  kernels_->blend(work.addends, scalars_.beta, biases, bias, run.columns);
  kernels_->scale(values, scalars_.alpha, work.addends, V(0), run.columns);
}

template <class V>
template <class T>
void Epilogue<V>::finish(T* sums, i64 ld, const Block& block, const Workspace<T, V>& work) const {
  const Runs runs = runs_of(block, gate_, n_, ld);
  load_columns(runs, block, work);
  for (i64 r = 0; r < block.rows; ++r) {
    V* values;
    if constexpr (std::is_same_v<T, V>) {
      values = sums + r * ld;
    } else {
      values = work.values;
      for (const Run& run : runs) kernels_->load[GGEMM_I32](values + run.at, sums + r * ld + run.at, 1, run.columns);
    }
    const i64 row = block.row + r;
    for (const Run& run : runs) finish_run(values + run.at, run, r, row, work);
    const V* ups = values + ld / 2;
    if (gate_ == GGEMM_GATE_INTERLEAVED) {
      for (i64 j = 0; j < block.columns; ++j) work.addends[j] = values[2 * j], work.addends[block.columns + j] = values[2 * j + 1];
      values = work.addends, ups = values + block.columns;
    }
    if (activation_ != GGEMM_ACTIVATION_NONE) activate_row(values, block.columns);
    if (gate_)
      for (i64 j = 0; j < block.columns; ++j) values[j] *= ups[j];
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
