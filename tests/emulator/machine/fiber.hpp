// SPDX-License-Identifier: Apache-2.0
// Stacks, and going from one to another.
#pragma once
#include <cstddef>

namespace emulator {

// Runs `entry` on the stack that ends at `end` when it is first switched to; it must not return.
void* prepare_stack(void* end, void (*entry)());
// Leaves this stack, whose place goes to `from`, for the one at `to`.
extern "C" void emulator_switch(void** from, void* to);

// Stacks of stack_bytes each, aligned to that, with an unmapped page below each. Kept for the next launch.
class Stacks {
 public:
  explicit Stacks(std::size_t count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  char* begin(std::size_t index) const;
  bool hold(const void* address) const;

 private:
  char* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace emulator
