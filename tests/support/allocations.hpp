// SPDX-License-Identifier: Apache-2.0
// Counts what the whole process takes from the heap, and lets a part of it fail. A program that uses this has its own malloc, calloc, realloc and
// aligned_alloc; under a sanitizer, which has put itself there already, its own operator new.
#pragma once
#include <climits>

#include "ggemm.h"

namespace ggemm::tests {

// Since the program began, of all threads.
long allocations();

// From now on, allocations number nth .. nth + count - 1 (the next is 1) get no memory; count < 0: all from the nth on.
void fail_allocations(long nth, long count);
// Ends that; answers how many failed.
long clear_failed_allocations();

// What is taken where one of these says 1 is neither counted nor fails: a stand-in for CUDA is at work, which a real one would do otherwise.
using Inside = int (*)();
void leave_out_allocations(Inside driver, Inside nvrtc);

// What `call` takes from the heap in ten runs, after three that warm up; LONG_MAX if one of them fails.
template <class Call>
long taken_by(Call call) {
  bool ok = true;
  for (int i = 0; i < 3; ++i) ok = ok && call() == GGEMM_OK;
  const long before = allocations();
  for (int i = 0; i < 10; ++i) ok = ok && call() == GGEMM_OK;
  return ok ? allocations() - before : LONG_MAX;
}

}  // namespace ggemm::tests
