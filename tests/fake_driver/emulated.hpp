// SPDX-License-Identifier: Apache-2.0
// Kernels that the emulated NVRTC made: loaded into this process and run by the emulator.
#pragma once
#include "emulator/machine/launch.hpp"
#include "state.hpp"

namespace fake {

// An image is the emulated NVRTC's if it is a shared library for this machine.
bool is_emulated(const std::vector<char>& image);
// NULL if it cannot be loaded. What was loaded stays: launches may be under way.
const emulator::Kernel* load_emulated(const std::vector<char>& image);
// The state's lock is held: the launch gets its seed now, in the order of submission.
Worker::Work emulating(std::shared_ptr<const LaunchRecord> record);
// What a kernel failed with since the last reset, as every later call says; takes the lock.
Result failure_of_kernels();

}  // namespace fake
