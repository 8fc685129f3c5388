// SPDX-License-Identifier: Apache-2.0
#include "fiber.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "../device/interface.hpp"

namespace emulator {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

#if defined(__x86_64__)

// What a function must keep for its caller (System V ABI), less the floating-point modes, which nobody changes.
asm(R"(
.text
.hidden emulator_switch
.globl emulator_switch
.type emulator_switch, @function
emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulator_switch, .-emulator_switch
)");

void* prepare_stack(void* end, void (*entry)()) {
  auto* top = reinterpret_cast<std::uintptr_t*>(reinterpret_cast<std::uintptr_t>(end) & ~std::uintptr_t(63));
  *--top = 0;  // where entry would return to; also puts the stack where a call would
  *--top = reinterpret_cast<std::uintptr_t>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = 0;
  return top;
}

#else

// Slower: it saves the signal mask too.
void* prepare_stack(void* end, void (*entry)()) {
  auto* const context = reinterpret_cast<ucontext_t*>((reinterpret_cast<std::uintptr_t>(end) - sizeof(ucontext_t)) & ~std::uintptr_t(63));
  char* const begin = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(end) & ~std::uintptr_t(stack_bytes - 1)) + page;
  getcontext(context);
  context->uc_stack.ss_sp = begin;
  context->uc_stack.ss_size = static_cast<std::size_t>(reinterpret_cast<char*>(context) - begin);
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

extern "C" void emulator_switch(void** from, void* to) {
  ucontext_t here;
  *from = &here;
  swapcontext(&here, static_cast<ucontext_t*>(to));
}

#endif

namespace {

struct Kept {
  std::mutex mutex;
  std::vector<std::pair<char*, std::size_t>> regions;
};
Kept& kept() {
  static auto* const made = new Kept;  // threads may outlive main
  return *made;
}

}  // namespace

Stacks::Stacks(std::size_t count) {
  Kept& k = kept();
  {
    std::lock_guard lock(k.mutex);
    for (auto& region : k.regions)
      if (region.second >= count) {
        data_ = region.first, count_ = region.second;
        region = k.regions.back();
        k.regions.pop_back();
        return;
      }
  }
  const std::size_t bytes = count * stack_bytes;
  void* all = mmap(nullptr, bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  data_ = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(all) + stack_bytes - 1) / stack_bytes * stack_bytes);
  count_ = count;
  for (std::size_t i = 0; i < count; ++i)
    if (mprotect(begin(i), page, PROT_NONE) != 0) throw std::bad_alloc();
}

Stacks::~Stacks() {
  Kept& k = kept();
  std::lock_guard lock(k.mutex);
  k.regions.emplace_back(data_, count_);
}

char* Stacks::begin(std::size_t index) const { return data_ + index * stack_bytes; }
bool Stacks::hold(const void* address) const { return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(data_) < count_ * stack_bytes; }

}  // namespace emulator
