// SPDX-License-Identifier: Apache-2.0
#include "host/product.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/error.hpp"
#include "scheduler/raster.cuh"

namespace ggemm::host {
namespace {

constexpr i32 raster_rows = 4;       // tiles that are walked together share packed columns of B in a common L3
constexpr int tiles_per_thread = 3;  // so that the last tiles leave few threads idle

i64 round_up(i64 value, i64 multiple) { return kernels::ceil_div(value, multiple) * multiple; }

}  // namespace

kernels::GemmParams turned_if_better(core::ProblemType& type, const kernels::GemmParams& params, int vector_columns) {
  const bool narrow = params.n * 2 <= vector_columns && params.m > params.n;
  const bool wide = params.m * 2 <= vector_columns && params.n > params.m;
  const bool column_major = params.d.row_stride == 1 && params.d.col_stride != 1;
  if (type.gate) return params;  // pairs are of columns
  if (!narrow && (wide || !column_major)) return params;
  type = core::transposed(type);
  return kernels::transposed(params);
}

template <class T, class V>
typename Product<T, V>::Operand Product<T, V>::operand(const kernels::Matrix& matrix, int dtype, i64 row_stride, i64 k_stride, bool tf32) const {
  const bool as_is = !tf32 && ((std::is_same_v<T, float> && dtype == GGEMM_F32) || (std::is_same_v<T, double> && dtype == GGEMM_F64));
  const LoadRow<T> load = kernels_->load[tf32 ? load_tf32 : dtype];
  return {static_cast<const char*>(matrix.data), row_stride, k_stride, static_cast<i64>(core::dtype_size(dtype)), load, as_is, {}};
}

template <class T, class V>
Product<T, V>::Product(const Isa& isa, const core::ProblemType& type, const kernels::GemmParams& params, int threads, const kernels::Source& a_index)
    : kernels_(&isa.kernels<T>()), m_(params.m), n_(params.n), k_(params.k), gate_(type.gate), scale_a_(params.scale_a), scale_b_(params.scale_b), scale_kind_a_(type.scale_a), scale_kind_b_(type.scale_b), epilogue_(isa, type, params, a_index) {
  const bool tf32 = type.compute == GGEMM_COMPUTE_TF32;
  a_ = operand(params.a, type.a, params.a.row_stride, params.a.col_stride, tf32);
  a_.index = a_index;
  b_ = operand(params.b, type.b, params.b.col_stride, params.b.row_stride, tf32);
  cut(threads);
}

// The largest blocks that the caches hold, cut finer while there are fewer tiles than threads want.
template <class T, class V>
void Product<T, V>::cut(int threads) {
  const i64 mr = kernels_->a.width, nr = kernels_->b.width, n = gate_ ? n_ / 2 : n_, most_columns = gate_ ? max_columns<T> / 2 : max_columns<T>;
  tiles_m_ = kernels::ceil_div(m_, max_rows<T>);
  tiles_n_ = kernels::ceil_div(n, most_columns);
  block_rows_ = block_columns_ = 0;
  if (m_ == 0 || n_ == 0) return;
  i64 tiles;
  if (__builtin_mul_overflow(tiles_m_, tiles_n_, &tiles) || tiles >> 62)
    core::fail(GGEMM_ERROR_ARGUMENT, "m=%lld and n=%lld: too many tiles for any machine", m_, n_);
  const auto evenly = [](i64 size, i64 parts, i64 multiple) { return round_up(kernels::ceil_div(size, parts), multiple); };
  block_rows_ = std::min(evenly(m_, tiles_m_, mr), max_rows<T> / mr * mr);
  block_columns_ = std::min(evenly(n, tiles_n_, nr), most_columns / nr * nr);
  const auto count = [&] {
    tiles_m_ = kernels::ceil_div(m_, block_rows_);
    tiles_n_ = kernels::ceil_div(n, block_columns_);
    return tiles_m_ * tiles_n_;
  };
  while (count() < static_cast<i64>(threads) * tiles_per_thread && threads > 1) {
    if (block_rows_ > mr && (block_rows_ >= block_columns_ || block_columns_ <= nr))
      block_rows_ = round_up(block_rows_ / 2, mr);
    else if (block_columns_ > nr)
      block_columns_ = round_up(block_columns_ / 2, nr);
    else
      break;
  }
}

template <class T, class V>
double Product<T, V>::work() const {
  constexpr double of_an_element = 16;  // an element of D costs about as much as this many multiply-adds
  return static_cast<double>(m_) * static_cast<double>(n_) * (static_cast<double>(k_) + of_an_element);
}

// Rows [row, row + rows) from k on, converted, `depth` apart.
template <class T, class V>
void Product<T, V>::load_rows(const Operand& from, T* run, i64 row, i64 rows, i64 k, i64 depth) const {
  for (i64 i = 0; i < rows; ++i) {
    const i64 at = from.index.kind ? kernels::read_row(from.index, row + i) : row + i;
    if (at < 0)
      std::fill(run + i * depth, run + (i + 1) * depth, T(0));
    else
      from.load(run + i * depth, from.data + (at * from.row_stride + k * from.k_stride) * from.size, from.k_stride, depth);
  }
}

// Converts rows [row, row + rows) and k [k, k + depth) of an operand into panels. It goes along whichever direction is contiguous.
template <class T, class V>
void Product<T, V>::pack(const Operand& from, const PanelWriter<T>& writer, T* panels, i64 row, i64 rows, i64 k, i64 depth, T* run) const {
  const char* base = from.data + (row * from.row_stride + k * from.k_stride) * from.size;
  if (from.row_stride == 1 && from.k_stride != 1 && !from.index.kind) {
    for (i64 i = 0; i < depth; ++i) {
      const char* slice = base + i * from.k_stride * from.size;
      if (!from.as_is) from.load(run, slice, 1, rows);
      writer.from_slice(panels, from.as_is ? reinterpret_cast<const T*>(slice) : run, rows, depth, i);
    }
    return;
  }
  const bool in_place = from.as_is && from.k_stride == 1 && !from.index.kind;
  for (i64 r = 0; r < rows; r += writer.width, panels += writer.width * depth) {
    const i64 count = std::min<i64>(writer.width, rows - r);
    const char* first = base + r * from.row_stride * from.size;
    if (!in_place) load_rows(from, run, row + r, count, k, depth);
    writer.from_rows(panels, in_place ? reinterpret_cast<const T*>(first) : run, in_place ? from.row_stride : depth, count, depth);
  }
}

// The scales of the block's rows and columns for block `block` of k; 1 where an operand has none of this kind.
template <class T, class V>
void Product<T, V>::load_scales(const Block& rows, const Runs& runs, i64 ld, i64 block, const Workspace<T, V>& work) const {
  const auto value = [&](const kernels::Matrix& scales, int kind, i64 mn_stride, i64 k_stride, i64 mn) {
    return kernels::scaled_by_blocks(kind) ? static_cast<const float*>(scales.data)[kernels::scale_at(kind, mn) * mn_stride + block * k_stride] : 1.0f;
  };
  for (i64 r = 0; r < rows.rows; ++r) {
    const i64 at = a_.index.kind ? kernels::read_row(a_.index, rows.row + r) : rows.row + r;
    work.row_scales[r] = at < 0 ? 0.0f : value(scale_a_, scale_kind_a_, scale_a_.row_stride, scale_a_.col_stride, at);
  }
  std::fill(work.column_scales, work.column_scales + ld, 0.0f);
  for (const Run& run : runs)
    for (i64 j = 0; j < run.columns; ++j) work.column_scales[run.at + j] = value(scale_b_, scale_kind_b_, scale_b_.col_stride, scale_b_.row_stride, run.column + j);
}

// The loops around the microkernel, as in BLIS: blocks of k, panels of B, panels of A. The sums of the whole tile stay in memory of this thread.
template <class T, class V>
void Product<T, V>::compute(i64 tile, Scratch& scratch) const {
  const Workspace<T, V> work(scratch.data());
  const kernels::TileCoord at = kernels::raster_tile(tile, tiles_m_, tiles_n_, raster_rows);
  const i64 row = at.row * block_rows_, column = at.col * block_columns_, outputs = gate_ ? n_ / 2 : n_;
  const Block block{row, column, std::min(block_rows_, m_ - row), std::min(block_columns_, outputs - column)};
  const i64 mr = kernels_->a.width, nr = kernels_->b.width;
  const i64 ld = gate_ == GGEMM_GATE_INTERLEAVED ? round_up(2 * block.columns, nr) : gate_ ? 2 * round_up(block.columns, nr) : round_up(block.columns, nr);
  const Runs runs = runs_of(block, gate_, n_, ld);
  const bool by_blocks = kernels::scaled_by_blocks(scale_kind_a_) || kernels::scaled_by_blocks(scale_kind_b_);
  if (k_ == 0 || by_blocks) std::fill(work.sums, work.sums + block.rows * ld, T(0));
  for (i64 k = 0, depth; k < k_; k += depth) {
    depth = std::min(by_blocks ? i64(kernels::scale_block) : block_k, k_ - k);
    pack(a_, kernels_->a, work.a, block.row, block.rows, k, depth, work.run);
    for (const Run& run : runs) pack(b_, kernels_->b, work.b + run.at * depth, run.column, run.columns, k, depth, work.run);
    const i64 steps = kernels_->steps(depth);
    if (kernels_->pair) {
      for (i64 i = 0; i < block.rows; i += mr) kernels_->pair(work.a + i * depth, mr, depth);
      for (i64 j = 0; j < ld; j += nr) kernels_->pair(work.b + j * depth, nr, depth);
    }
    if (by_blocks) load_scales(block, runs, ld, k / kernels::scale_block, work);
    for (i64 j = 0; j < ld; j += nr) {
      for (i64 i = 0; i < block.rows; i += mr) {
        const i64 rows = std::min(mr, block.rows - i);
        if (!by_blocks) {
          kernels_->tile[rows - 1](steps, work.a + i * depth, work.b + j * depth, work.sums + i * ld + j, ld, k == 0);
          continue;
        }
        if constexpr (std::is_same_v<T, float>) {
          kernels_->tile[rows - 1](steps, work.a + i * depth, work.b + j * depth, work.part, nr, true);
          for (i64 r = 0; r < rows; ++r) kernels_->add_scaled(work.sums + (i + r) * ld + j, work.row_scales[i + r], work.column_scales + j, work.part + r * nr, nr);
        }
      }
    }
  }
  epilogue_.finish(work.sums, ld, block, work);
}

template <class T>
void multiply_squares(const Isa& isa, i64 n, const void* a, const void* b, void* d, Scratch& scratch) {
  constexpr bool f64 = std::is_same_v<T, double>;
  core::ProblemType type{};
  type.a = type.b = type.c = type.d = f64 ? GGEMM_F64 : GGEMM_F32;
  type.sum = f64 ? core::Sum::f64 : core::Sum::f32;
  kernels::GemmParams params{};
  params.m = params.n = params.k = n;
  params.a = {a, n, 1}, params.b = {b, n, 1}, params.d = {d, n, 1};
  constexpr T one = 1;
  std::memcpy(&params.epilogue.alpha.bits, &one, sizeof one);
  const Product<T, T> product(isa, type, params, 1);
  for (i64 tile = 0; tile < product.tiles(); ++tile) product.compute(tile, scratch);
}

template void multiply_squares<float>(const Isa&, i64, const void*, const void*, void*, Scratch&);
template void multiply_squares<double>(const Isa&, i64, const void*, const void*, void*, Scratch&);

template class Product<float, float>;
template class Product<double, double>;
template class Product<i32, i32>;
template class Product<i32, float>;

}  // namespace ggemm::host
