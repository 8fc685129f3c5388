// SPDX-License-Identifier: Apache-2.0
// Checks of user input that problem.cpp and scales.cpp share; nobody else includes this.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/problem.hpp"

namespace ggemm::core {

// Where a matrix is in a product, for sentences and checks.
struct Place {
  const char* name;  // "a"
  const char* rows;  // "m"
  const char* cols;
  bool output;
};

// Of problem.cpp: strides as they are described, and the strides of rows x cols of a call's sizes.
MatrixLayout check_matrix(const Place& place, const ggemm_matrix& matrix, int dtype, std::int64_t rows, std::int64_t cols);
GroupedLayout check_grouped_matrix(const Place& place, const ggemm_grouped_matrix& matrix, std::int64_t groups);
void check_strides(const Place& place, int dtype, std::int64_t row_stride, std::int64_t col_stride, std::int64_t rows, std::int64_t cols);
// An address that will be used. What is not used may be NULL.
void check_pointer(const void* pointer, const char* field, std::size_t align, bool used, const char* why);

// Of scales.cpp: fill the kinds of scales, the gate and what follows from them of a type whose dtypes, compute mode and epilogue are set.
void check_scale_kinds(ProblemType& type, int scale_a, int scale_b);
void check_gate(ProblemType& type, int gate);
// The layouts of a problem whose type and sizes are set; n is even where columns are paired.
void check_scales(Problem& problem, const ggemm_scale& a, const ggemm_scale& b);
void check_scales(GroupedProblem& problem, const ggemm_grouped_scale& a, const ggemm_grouped_scale& b);
void check_even(const ProblemType& type, std::int64_t n);
// The scales of one call, whose sizes are set, and that it has no C where columns are paired.
void bind_scales(kernels::GemmParams& params, const Problem& problem, const void* a, const void* b);
void bind_scales(kernels::GroupedParams& params, const GroupedProblem& problem, const void* a, const void* b);
void check_no_c(const ProblemType& type, bool reads_c, const kernels::Scalar& beta);

}  // namespace ggemm::core
