// SPDX-License-Identifier: Apache-2.0
// What the checks of plain and of grouped problems share.
#pragma once
#include <cstddef>

#include "core/error.hpp"
#include "core/problem.hpp"
#include "lines.cuh"
#include "tile/scales.cuh"
#include "tile/terms.cuh"

namespace ggemm::core::checks {

inline long long ll(std::int64_t value) { return value; }

// Where a matrix is in a product, for sentences and checks.
struct Place {
  const char* name;  // "a"
  const char* rows;  // "m"
  const char* cols;
  bool output;
};
constexpr Place place_a{"a", "m", "k", false}, place_b{"b", "k", "n", false}, place_c{"c", "m", "n", false}, place_d{"d", "m", "n", true}, place_pairs{"d", "m", "n/2", true};
constexpr Place place_scale_a{"scale_a", "rows", "columns", false}, place_scale_b{"scale_b", "rows", "columns", false};

// A field's name comes in two parts, its owner's and its own, so that no text is made where nothing is wrong.
void check_reserved(std::int64_t value, const char* owner, const char* field);
void check_size(std::int64_t value, const char* field);
// ProblemType::too_long. (Terms lie one after the other along k.)
inline std::uint8_t long_side(const ProblemType& type, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t most = kernels::longest_side, deepest = type.compute == GGEMM_COMPUTE_F32_ACCURATE ? most / kernels::term_count : most;
  return m > most || n > most || k > deepest ? too_long : 0;
}
inline bool is_constant(const kernels::Source& source) { return source.kind == GGEMM_SOURCE_CONST; }
inline bool is_constant(const kernels::Source& source, std::int64_t value) { return is_constant(source) && source.value == value; }
// What is each group's own, and a size of each.
kernels::Source check_source(const ggemm_source& source, const char* owner, const char* field, std::int64_t groups);
kernels::Source check_size_source(const ggemm_source& source, const char* field, std::int64_t groups);
// The strides of a matrix of rows x cols.
void check_strides(const Place& place, int dtype, std::int64_t row_stride, std::int64_t col_stride, std::int64_t rows, std::int64_t cols);
MatrixLayout check_matrix(const Place& place, const ggemm_matrix& matrix, int dtype, std::int64_t rows, std::int64_t cols);
// What plain and grouped problems share.
template <class Desc>
ProblemType check_type(const Desc& desc);
// Parameters that the activation does not take are cleared: they may be anything, and kernels convert them to their own type.
EpilogueScalars scalars(const ggemm_epilogue_desc& epilogue);

// A matrix's address that will be used. What is not used may be NULL.
void check_pointer(const void* pointer, const char* field, std::size_t align, bool used, const char* why);
kernels::EpilogueParams bind_epilogue(const ProblemType& type, const EpilogueScalars& scalars, const void* alpha, const void* beta);
bool is_zero(const ProblemType& type, const kernels::Scalar& scalar);
// What a description alone says of a call: operands are nowhere, alpha and beta are not given.
kernels::GemmParams described(const Problem& problem);
kernels::GroupedParams described(const GroupedProblem& problem);

// The transposed product where D lies in columns and it can be said as well, else the problem as it is. (transposed.cpp)
Problem in_rows(const Problem& problem);
GroupedProblem in_rows(const GroupedProblem& problem);

// The addresses of a matrix that leaves none out between its first element and its last; else nothing: columns of one buffer may well be an operand
// each.
struct Extent {
  std::uintptr_t begin = 0, end = 0;
  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};
Extent dense_extent(const kernels::Matrix& matrix, int dtype, std::int64_t rows, std::int64_t cols);

// What a grouped form says of a matrix: the sizes that it is stored with, and whether all groups share it.
struct Stored {
  const kernels::Source &rows, &cols;
  bool ragged_rows = false, ragged_cols = false;
  bool one() const { return ragged_rows || ragged_cols; }
};
// (grouped_layout.cpp)
GroupedLayout check_grouped_matrix(const Place& place, const ggemm_grouped_desc& desc, const ggemm_grouped_matrix& matrix, int dtype, const Stored& stored);
// Whether groups of a D, of which no two elements of one group meet, share an element: each of the three is counted so often, at a distance of so many elements.
struct Repeats {
  std::int64_t count, stride;
};
bool groups_meet(const Repeats& groups, const Repeats& rows, const Repeats& cols);
// Throws if groups are apart by a distance that is not known.
void require_distance(const Place& place, const GroupedLayout& layout);

// Of scales.cpp. The kinds of scales and the gate of a type whose dtypes, compute mode and epilogue are set, and what follows from them.
void check_scale_kinds(ProblemType& type, int scale_a, int scale_b);
void check_gate(ProblemType& type, int gate);
// Columns in pairs are even in number, and have no C.
void check_even(const ProblemType& type, std::int64_t n);
void check_no_c(const ProblemType& type, bool reads_c, const kernels::Scalar& beta);
inline const char* why_c(const kernels::Scalar& beta) { return beta.pointer ? "beta in device memory" : "beta other than 0"; }  // C is needed
MatrixLayout check_scale(const Place& place, const ggemm_scale& scale, std::int64_t rows, std::int64_t cols);
// m, n and k as the operands are stored: of rows of A that an index leads to, as many as A has.
void check_scales(GroupedProblem& problem, const ggemm_grouped_desc& desc, const kernels::Source& m, const kernels::Source& n, const kernels::Source& k);

inline const Place& place_of_d(const ProblemType& type) { return type.gate ? place_pairs : place_d; }
inline std::int64_t rows_of_c(const ProblemType& type, std::int64_t m) { return type.gate ? 0 : m; }  // pairs have no C
inline std::int64_t scale_rows(const ProblemType& type, std::int64_t m) { return kernels::scales_along(type.scale_a, m); }
inline std::int64_t scale_columns(const ProblemType& type, std::int64_t n) { return kernels::scales_along(type.scale_b, n); }
inline std::int64_t scale_depth(int kind, std::int64_t k) { return kernels::scales_deep(kind, k); }

}  // namespace ggemm::core::checks
