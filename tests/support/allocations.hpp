// SPDX-License-Identifier: Apache-2.0
// Counts what the whole process takes from the heap. A program that uses it has its own malloc, calloc, realloc and aligned_alloc, which count and hand on.
#pragma once
#include <cstdlib>

// A sanitizer has put itself there already.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GGEMM_COUNTS_ALLOCATIONS

namespace ggemm::tests {

// Since the program began, of all threads.
long allocations();

}  // namespace ggemm::tests
#endif
