// SPDX-License-Identifier: Apache-2.0
#include "support/allocations.hpp"

#ifdef GGEMM_COUNTS_ALLOCATIONS
#include <atomic>
#include <cstddef>

namespace {
std::atomic<long> count{0};
}

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t items, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) { return ++count, __libc_malloc(bytes); }
void* calloc(std::size_t items, std::size_t bytes) { return ++count, __libc_calloc(items, bytes); }
void* realloc(void* old, std::size_t bytes) { return ++count, __libc_realloc(old, bytes); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return ++count, __libc_memalign(alignment, bytes); }
}

namespace ggemm::tests {

long allocations() { return count; }

}  // namespace ggemm::tests
#endif
