// SPDX-License-Identifier: Apache-2.0
// A launch on the emulated GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "../device/interface.hpp"

namespace emulator {

struct Launch {
  const Kernel* kernel = nullptr;
  Index grid{1, 1, 1}, block{1, 1, 1};
  std::size_t dynamic_shared = 0;  // bytes
  const void* parameters = nullptr;
  std::uint64_t seed = 0;          // of the order in which things happen
  bool overlaps = false;           // it may begin before the launch ahead has ended
};

// What ends a launch, as the driver's result and in words.
struct Failure {
  int result = 0;  // CUresult; 0: none
  std::string text;
};
constexpr int illegal_address = 700, misaligned_address = 716, illegal_instruction = 715, launch_failed = 719;

// Registers a thread as the compiler would give them under the kernel's bounds, for occupancy and setmaxnreg.
int registers_of(const Kernel& kernel);

Failure run(const Launch& launch);

}  // namespace emulator
