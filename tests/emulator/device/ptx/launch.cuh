// SPDX-License-Identifier: Apache-2.0
// As kernels/ptx/launch.cuh, on the emulated GPU, where the launch ahead has always ended.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

GG_DEVICE void launch_next() { emulator::machine().launch_next(); }
GG_DEVICE void launch_wait() { emulator::machine().launch_wait(); }
GG_DEVICE void launch_beside() { emulator::machine().launch_beside(); }

}  // namespace ggemm::kernels::ptx
