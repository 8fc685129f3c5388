// SPDX-License-Identifier: Apache-2.0
// One plain product on the CPU, cut into tiles of D that any thread can compute.
#pragma once
#include "host/epilogue.hpp"
#include "host/pool.hpp"

namespace ggemm::host {

// The same product with the better side as rows: D^T = B^T A^T where D is contiguous along its columns, or is too narrow to fill vectors.
// Each element's chain of sums stays as it was. `type` gets the other bias, and the
// operands their own scales. Gated pairs stay as they are.
kernels::GemmParams turned_if_better(core::ProblemType& type, const kernels::GemmParams& params, int vector_columns);

template <class T, class V>
class Product {
 public:
  // threads: those who will share the work, for the size of tiles. a_index: where A's rows lie; kind 0: in order. Throws GGEMM_ERROR_ARGUMENT if there are more
  // than 2^62 tiles.
  Product(const Isa& isa, const core::ProblemType& type, const kernels::GemmParams& params, int threads, const kernels::Source& a_index = {});
  i64 tiles() const { return tiles_m_ * tiles_n_; }
  // Multiply-adds and stores, about; to tell whether threads are worth it.
  double work() const;
  void compute(i64 tile, Scratch& scratch) const;

 private:
  // A as it is, or B turned: rows x k.
  struct Operand {
    const char* data;
    i64 row_stride, k_stride;  // elements
    i64 size;                  // bytes of an element
    LoadRow<T> load;
    bool as_is;  // elements are T already
    kernels::Source index;  // of rows that lie anywhere; else of kind 0
  };
  Operand operand(const kernels::Matrix& matrix, int dtype, i64 row_stride, i64 k_stride, bool tf32) const;
  void cut(int threads);
  void load_rows(const Operand& from, T* run, i64 row, i64 rows, i64 k, i64 depth) const;
  void load_scales(const Block& rows, const Runs& runs, i64 ld, i64 block, const Workspace<T, V>& work) const;
  void pack(const Operand& from, const PanelWriter<T>& writer, T* panels, i64 row, i64 rows, i64 k, i64 depth, T* run) const;

  const Kernels<T>* kernels_;
  i64 m_, n_, k_;
  Operand a_, b_;
  int gate_;
  kernels::Matrix scale_a_, scale_b_;
  int scale_kind_a_, scale_kind_b_;
  Epilogue<V> epilogue_;
  i64 block_rows_, block_columns_, tiles_m_, tiles_n_;
};

// D = A B of packed squares of T, in this thread: our own kernels, of which a CBLAS is asked not to be much slower.
template <class T>
void multiply_squares(const Isa& isa, i64 n, const void* a, const void* b, void* d, Scratch& scratch);

}  // namespace ggemm::host
