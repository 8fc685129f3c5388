// SPDX-License-Identifier: Apache-2.0
// As kernels/ptx/async.cuh, on the emulated GPU.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

GG_DEVICE u32 shared_address(const void* pointer) { return static_cast<u32>(__cvta_generic_to_shared(pointer)); }

template <int BYTES>
GG_DEVICE void cp_async(u32 shared, const void* global, bool on) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "sizes that cp.async knows");
  emulator::machine().copy_async(shared, global, BYTES, on);
}
GG_DEVICE void cp_async_commit() { emulator::machine().copy_commit(); }
template <int PENDING>
GG_DEVICE void cp_async_wait() { emulator::machine().copy_wait(PENDING); }

}  // namespace ggemm::kernels::ptx
