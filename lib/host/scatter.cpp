// SPDX-License-Identifier: Apache-2.0
#include "host/scatter.hpp"

#include <new>
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

// By counting: the rows of each row of D stay in their order.
template <class V>
void Scatter<V>::sort() {
  const kernels::Source& index = given_.rows.d_index;
  firsts_.assign(static_cast<std::size_t>(index.value) + 1, 0);
  for (i64 i = 0; i < count_; ++i)
    if (const i64 row = kernels::read_row(index, i); row >= 0) ++firsts_[static_cast<std::size_t>(row) + 1];
  for (std::size_t i = 1; i < firsts_.size(); ++i) firsts_[i] += firsts_[i - 1];
  from_.resize(static_cast<std::size_t>(firsts_.back()));
  std::vector<i64> next(firsts_.begin(), firsts_.end() - 1);
  for (i64 i = 0; i < count_; ++i)
    if (const i64 row = kernels::read_row(index, i); row >= 0) from_[static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++)] = i;
}

template <class V>
double Scatter<V>::work() const {
  return 4.0 * static_cast<double>(from_.size()) * static_cast<double>(columns());
}

template <class V>
void Scatter<V>::store(i64 row, V* sums, i64 most_columns) const {
  const i64* const begin = from_.data() + firsts_[static_cast<std::size_t>(row)];
  const i64* const end = from_.data() + firsts_[static_cast<std::size_t>(row) + 1];
  if (begin == end) return;
  const i64 n = columns(), size = static_cast<i64>(core::dtype_size(dtype_));
  const kernels::Matrix d = kernels::group_matrix(given_.d, 0, 0, n);
  const float* const weights = given_.rows.weights;
  for (i64 column = 0; column < n; column += most_columns) {
    const i64 count = std::min(most_columns, n - column);
    for (const i64* from = begin; from != end; ++from) {
      const V* const values = values_.get() + *from * n + column;
      const V weight = weights ? static_cast<V>(weights[*from]) : V(1);
      if (from == begin)
        for (i64 j = 0; j < count; ++j) sums[j] = weights ? weight * values[j] : values[j];
      else
        for (i64 j = 0; j < count; ++j) sums[j] = kernels::multiply_add(weight, values[j], sums[j]);
    }
    char* const to = static_cast<char*>(const_cast<void*>(d.data)) + (row * d.row_stride + column * d.col_stride) * size;
    kernels_->store[dtype_](to, d.col_stride, sums, count);
  }
}

template class Scatter<float>;
template class Scatter<double>;
template class Scatter<i32>;

}  // namespace ggemm::host
