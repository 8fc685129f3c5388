// SPDX-License-Identifier: Apache-2.0
// What follows the sums: rows of D = act(alpha * sums + beta * C + bias), by the arithmetic of kernels/epilogue.
#pragma once
#include "core/problem.hpp"
#include "epilogue/value.cuh"
#include "host/blocking.hpp"

namespace ggemm::host {

template <class V>
class Epilogue {
 public:
  Epilogue(const Isa& isa, const core::ProblemType& type, const kernels::GemmParams& params);

  bool reads_c() const { return !(scalars_.beta == V(0)); }
  // alpha 1, beta 0, no bias, no activation: D is the sums, converted.
  bool trivial() const;
  // Stores the block's sums, which lie in rows `ld` apart and may be used up, or be where they go in D. At most max_columns columns and max_rows rows.
  template <class T> void finish(T* sums, i64 ld, const Block& block, const Workspace<T, V>& work) const;

 private:
  void activate_row(V* values, i64 count) const;

  const Kernels<V>* kernels_;
  kernels::EpilogueScalars<V> scalars_;
  kernels::Matrix c_, d_;
  const char* bias_;
  LoadRow<V> load_c_, load_bias_;
  StoreRow<V> store_;
  i64 c_size_, d_size_, bias_size_;  // bytes of an element
  int activation_, bias_kind_;
};

}  // namespace ggemm::host
