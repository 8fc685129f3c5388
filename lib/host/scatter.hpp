// SPDX-License-Identifier: Apache-2.0
// Rows that go to D where an index says: the groups are computed into memory of their own, in their order, and then each row of D takes what goes
// there.
#pragma once
#include <algorithm>
#include <compare>
#include <memory>
#include <vector>

#include "core/problem.hpp"
#include "host/isa.hpp"

namespace ggemm::host {

template <class V>
class Scatter {
 public:
  // Throws GGEMM_ERROR_OUT_OF_MEMORY.
  Scatter(const Isa& isa, const core::ProblemType& type, const kernels::GroupedParams& params);
  // What is to be computed first: as given, but with D in the groups' order, in V.
  const core::ProblemType& type() const { return type_; }
  const kernels::GroupedParams& params() const { return params_; }

  i64 rows() const { return static_cast<i64>(firsts_.size()) - 1; }  // of D, to which something goes
  double work() const;
  // Then for each of these rows, in any thread. `sums`: room for max_columns.
  void store(i64 number, V* sums, i64 most_columns) const;

 private:
  struct Move {
    i64 to, from;  // rows of D, and in the groups' order
    auto operator<=>(const Move&) const = default;
  };
  void sort();
  void by_counting();
  i64 columns() const { return std::max<i64>(core::columns_of_d(type_, given_.n.value), 0); }  // of D

  const Kernels<V>* kernels_;
  core::ProblemType type_;
  kernels::GroupedParams given_, params_;
  int dtype_;
  i64 count_ = 0;                    // rows of the groups
  std::unique_ptr<V[]> values_;      // (count, n)
  std::vector<Move> moves_;          // ascending
  std::vector<std::size_t> firsts_;  // the moves to one row of D are those from firsts_[i] to before firsts_[i + 1]
};

}  // namespace ggemm::host
