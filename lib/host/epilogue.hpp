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
  // a_index: where A's rows lie, and their scales; of kind 0 in order.
  Epilogue(const Isa& isa, const core::ProblemType& type, const kernels::GemmParams& params, const kernels::Source& a_index = {});

  bool reads_c() const { return !(scalars_.beta == V(0)); }
  // alpha 1, beta 0, no bias, no activation, no scales, no pairs: D is the sums, converted.
  bool trivial() const;
  // Stores the block's sums, which lie in rows `ld` apart and may be used up, or be where they go in D. At most max_columns columns and max_rows rows.
  // Of pairs the block is of D, and rows of sums hold what runs_of says.
  template <class T> void finish(T* sums, i64 ld, const Block& block, const Workspace<T, V>& work) const;

 private:
  template <class T> void load_columns(const Runs& runs, const Block& block, const Workspace<T, V>& work) const;
  template <class T> void finish_run(V* values, const Run& run, i64 r, i64 row, const Workspace<T, V>& work) const;
  void activate_row(V* values, i64 count) const;

  const Kernels<V>* kernels_;
  kernels::EpilogueScalars<V> scalars_;
  kernels::Matrix c_, d_;
  const char* bias_;
  LoadRow<V> load_c_, load_bias_;
  StoreRow<V> store_;
  i64 c_size_, d_size_, bias_size_;  // bytes of an element
  int activation_, bias_kind_, gate_;
  i64 n_;
  kernels::Matrix scale_a_, scale_b_;  // of the whole sums; no data where there are none
  bool vector_a_, vector_b_;           // one a row (column), not one in all
  kernels::Source a_index_;
};

}  // namespace ggemm::host
