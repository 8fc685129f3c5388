// SPDX-License-Identifier: Apache-2.0
// The element types by their definition: tables of every value, and the nearest one found by search. Written apart from the library's
// conversions, so that the two can be held against each other.
#pragma once
#include <cstddef>

#include "ggemm.h"

namespace ggemm::tests {

std::size_t size_of(ggemm_dtype dtype);
const char* name_of(ggemm_dtype dtype);
// 0 (GGEMM_DTYPE_NONE) for an unknown name.
ggemm_dtype dtype_of(const char* name);
bool is_integer(ggemm_dtype dtype);

// The value of one element in memory; exact.
double decode(ggemm_dtype dtype, const void* element);
// Nearest element, ties to even; fp8 and integers saturate, NaN is 0 in integers.
void encode(ggemm_dtype dtype, double value, void* element);
// decode(encode(value))
double rounded(ggemm_dtype dtype, double value);

double largest(ggemm_dtype dtype);            // finite
double smallest_denormal(ggemm_dtype dtype);  // 1 for integers
double smallest_normal(ggemm_dtype dtype);    // likewise

}  // namespace ggemm::tests
