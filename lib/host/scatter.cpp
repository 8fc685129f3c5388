// SPDX-License-Identifier: Apache-2.0
#include "host/scatter.hpp"

#include <new>
#include <numeric>
#include <type_traits>

#include "core/error.hpp"
#include "epilogue/value.cuh"
#include "scheduler/group_params.cuh"

namespace ggemm::host {

template <class V>
Scatter<V>::Scatter(const Isa& isa, const core::ProblemType& type, const kernels::GroupedParams& params)
    : kernels_(&isa.kernels<V>()), type_(type), given_(params), params_(params), dtype_(type.d) {
  // However the ends go, the groups' rows are those below the largest.
  for (i64 g = 0; g < params.groups; ++g) count_ = std::max<i64>(count_, kernels::read_end(params.m, g));
  const i64 n = columns();
  i64 elements;
  if (!__builtin_mul_overflow(count_, n, &elements) && elements < (i64(1) << 59))
    values_.reset(new (std::nothrow) V[static_cast<std::size_t>(elements)]);
  if (!values_) core::fail(GGEMM_ERROR_OUT_OF_MEMORY, "no memory for %lld x %lld elements that go to rows of D", count_, n);
  type_.d = std::is_same_v<V, double> ? GGEMM_F64 : std::is_same_v<V, float> ? GGEMM_F32 : GGEMM_I32;
  const kernels::Source columns{nullptr, 0, n, 0, 0}, one{nullptr, 0, 1, 0, 0};
  params_.d = {values_.get(), 0, n * static_cast<i64>(sizeof(V)), 0, 0, columns, one};
  sort();
}

// Takes memory for the groups' rows alone: D may have any number of them. Those that go to one row of D stay in their order.
template <class V>
void Scatter<V>::sort() {
  const kernels::Source& index = given_.rows.d_index;
  moves_.reserve(static_cast<std::size_t>(count_));
  for (i64 i = 0; i < count_; ++i)
    if (const i64 row = kernels::read_row(index, i); row >= 0) moves_.push_back({row, i});
  if (given_.rows.d_index.value <= 4 * count_) by_counting();
  else std::sort(moves_.begin(), moves_.end());
  firsts_.reserve(moves_.size() + 1);
  for (std::size_t i = 0; i < moves_.size(); ++i)
    if (i == 0 || moves_[i].to != moves_[i - 1].to) firsts_.push_back(i);
  firsts_.push_back(moves_.size());
}

// Where D has not many more rows than there are.
template <class V>
void Scatter<V>::by_counting() {
  std::vector<std::size_t> next(static_cast<std::size_t>(given_.rows.d_index.value) + 1);
  for (const Move& move : moves_) ++next[static_cast<std::size_t>(move.to) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Move> sorted(moves_.size());
  for (const Move& move : moves_) sorted[next[static_cast<std::size_t>(move.to)]++] = move;
  moves_ = std::move(sorted);
}

template <class V>
double Scatter<V>::work() const {
  return 4.0 * static_cast<double>(moves_.size()) * static_cast<double>(columns());
}

template <class V>
void Scatter<V>::store(i64 number, V* sums, i64 most_columns) const {
  const Move* const begin = moves_.data() + firsts_[static_cast<std::size_t>(number)];
  const bool add = type_.grouped & core::summed_rows;  // else, if several go to one row all the same, one of them will do
  const Move* const end = add ? moves_.data() + firsts_[static_cast<std::size_t>(number) + 1] : begin + 1;
  const i64 n = columns(), size = static_cast<i64>(core::dtype_size(dtype_));
  const kernels::Matrix d = kernels::group_matrix(given_.d, 0, 0, n);
  const float* const weights = given_.rows.weights;
  for (i64 column = 0; column < n; column += most_columns) {
    const i64 count = std::min(most_columns, n - column);
    for (const Move* move = begin; move != end; ++move) {
      const V* const values = values_.get() + move->from * n + column;
      const V weight = weights ? static_cast<V>(weights[move->from]) : V(1);
      if (move == begin)
        for (i64 j = 0; j < count; ++j) sums[j] = weights ? weight * values[j] : values[j];
      else
        for (i64 j = 0; j < count; ++j) sums[j] = kernels::multiply_add(weight, values[j], sums[j]);
    }
    char* const to = static_cast<char*>(const_cast<void*>(d.data)) + (begin->to * d.row_stride + column * d.col_stride) * size;
    kernels_->store[dtype_](to, d.col_stride, sums, count);
  }
}

template class Scatter<float>;
template class Scatter<double>;
template class Scatter<i32>;

}  // namespace ggemm::host
