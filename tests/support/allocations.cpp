// SPDX-License-Identifier: Apache-2.0
#include "support/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> number{0}, first{0}, until{0}, failed{0};  // until < 0: for ever
std::atomic<ggemm::tests::Inside> left_out[2];

bool is_left_out() {
  // To ask may itself take memory: a library's thread-local variables come into being by that.
  static thread_local bool asking = false;
  if (asking) return true;
  asking = true;
  bool out = false;
  for (const auto& inside : left_out)
    if (const auto ask = inside.load(); ask && !out) out = ask() != 0;
  asking = false;
  return out;
}

// Whether an allocation gets its memory.
bool granted() {
  if (is_left_out()) return true;
  const long own = ++number, end = until;
  if (end == 0 || own < first || (end > 0 && own >= end)) return true;
  ++failed;
  errno = ENOMEM;
  return false;
}

}  // namespace

namespace ggemm::tests {

long allocations() { return number; }

void fail_allocations(long nth, long count) {
  first = number + nth;
  until = count < 0 ? -1 : first + count;
}

long clear_failed_allocations() {
  until = 0;
  return failed.exchange(0);
}

void leave_out_allocations(Inside driver, Inside nvrtc) { left_out[0] = driver, left_out[1] = nvrtc; }

}  // namespace ggemm::tests

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t items, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) { return granted() ? __libc_malloc(bytes) : nullptr; }
void* calloc(std::size_t items, std::size_t bytes) { return granted() ? __libc_calloc(items, bytes) : nullptr; }
void* realloc(void* old, std::size_t bytes) { return granted() ? __libc_realloc(old, bytes) : nullptr; }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return granted() ? __libc_memalign(alignment, bytes) : nullptr; }
}

#else

namespace {
void* take(std::size_t bytes, std::size_t alignment) {
  if (!granted()) return nullptr;
  return alignment <= alignof(std::max_align_t) ? std::malloc(bytes ? bytes : 1) : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const out = take(bytes, alignment)) return out;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return take_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return take_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return take_or_throw(bytes, static_cast<std::size_t>(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return take_or_throw(bytes, static_cast<std::size_t>(alignment)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
