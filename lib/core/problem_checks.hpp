// SPDX-License-Identifier: Apache-2.0
// What the checks of plain and of grouped problems share.
#pragma once
#include <cstddef>

#include "core/error.hpp"
#include "core/problem.hpp"

namespace ggemm::core::checks {

inline long long ll(std::int64_t value) { return value; }

// Where a matrix is in a product, for sentences and checks.
struct Place {
  const char* name;  // "a"
  const char* rows;  // "m"
  const char* cols;
  bool output;
};
constexpr Place place_a{"a", "m", "k", false}, place_b{"b", "k", "n", false}, place_c{"c", "m", "n", false}, place_d{"d", "m", "n", true};

// A field's name comes in two parts, its owner's and its own, so that no text is made where nothing is wrong.
void check_reserved(std::int64_t value, const char* owner, const char* field);
void check_size(std::int64_t value, const char* field);
// The strides of a matrix of rows x cols.
void check_strides(const Place& place, int dtype, std::int64_t row_stride, std::int64_t col_stride, std::int64_t rows, std::int64_t cols);
// What plain and grouped problems share.
template <class Desc>
ProblemType check_type(const Desc& desc);
// Parameters that the activation does not take are cleared: they may be anything, and kernels convert them to their own type.
EpilogueScalars scalars(const ggemm_epilogue_desc& epilogue);

// A matrix's address that will be used. What is not used may be NULL.
void check_pointer(const void* pointer, const char* field, std::size_t align, bool used, const char* why);
kernels::EpilogueParams bind_epilogue(const ProblemType& type, const EpilogueScalars& scalars, const void* alpha, const void* beta);
bool is_zero(const ProblemType& type, const kernels::Scalar& scalar);

// The addresses of a matrix that leaves none out between its first element and its last; else nothing: columns of one buffer may well be an operand
// each.
struct Extent {
  std::uintptr_t begin = 0, end = 0;
  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};
Extent dense_extent(const kernels::Matrix& matrix, int dtype, std::int64_t rows, std::int64_t cols);

}  // namespace ggemm::core::checks
