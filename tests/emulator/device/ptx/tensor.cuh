// SPDX-License-Identifier: Apache-2.0
// As kernels/ptx/tensor.cuh, on the emulated GPU.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

constexpr bool copy_engine = GG_EMULATED_ARCH >= 90;

GG_DEVICE void tensor_prefetch(const TensorMap& map) { emulator::machine().tensor_prefetch(&map); }
GG_DEVICE void tensor_load(u32 shared, const TensorMap& map, u32 barrier, i32 inner, i32 outer) { emulator::machine().tensor_load(shared, &map, barrier, {2, inner, 0, outer}, false, 0); }
GG_DEVICE void tensor_load(u32 shared, const TensorMap& map, u32 barrier, i32 inner, i32 middle, i32 outer) { emulator::machine().tensor_load(shared, &map, barrier, {3, inner, middle, outer}, false, 0); }
GG_DEVICE void tensor_load_multicast(u32 shared, const TensorMap& map, u32 barrier, i32 inner, i32 outer, u16 ctas) {
  emulator::machine().tensor_load(shared, &map, barrier, {2, inner, 0, outer}, true, ctas);
}
GG_DEVICE void tensor_load_multicast(u32 shared, const TensorMap& map, u32 barrier, i32 inner, i32 middle, i32 outer, u16 ctas) {
  emulator::machine().tensor_load(shared, &map, barrier, {3, inner, middle, outer}, true, ctas);
}
GG_DEVICE void tensor_store(const TensorMap& map, u32 shared, i32 inner, i32 outer) { emulator::machine().tensor_store(&map, shared, {2, inner, 0, outer}); }
GG_DEVICE void tensor_store(const TensorMap& map, u32 shared, i32 inner, i32 middle, i32 outer) { emulator::machine().tensor_store(&map, shared, {3, inner, middle, outer}); }
GG_DEVICE void bulk_store(void* global, u32 shared, u32 bytes) { emulator::machine().bulk_store(global, shared, bytes); }
GG_DEVICE void store_commit() { emulator::machine().store_commit(); }
template <int PENDING>
GG_DEVICE void store_wait_read() { emulator::machine().store_wait(PENDING, true); }
GG_DEVICE void fence_async() { emulator::machine().fence(emulator::Fence::async); }

GG_DEVICE void tensor_map_replace(TensorMap& map, const void* data, u32 length) { emulator::machine().tensor_map_replace(&map, data, length); }
template <int DIMENSION>
GG_DEVICE void tensor_map_replace(TensorMap& map, u32 count, u64 pitch) {
  emulator::machine().tensor_map_replace(&map, DIMENSION, count, pitch);
}
GG_DEVICE void tensor_map_release() { emulator::machine().fence(emulator::Fence::tensor_map); }
GG_DEVICE void tensor_map_acquire(const TensorMap& map) { emulator::machine().tensor_map_acquire(&map); }

GG_DEVICE void stmatrix(u32 shared, const u32 (&in)[4]) { emulator::machine().store_matrices(shared, in, false); }
GG_DEVICE void stmatrix_transposed(u32 shared, const u32 (&in)[4]) { emulator::machine().store_matrices(shared, in, true); }

}  // namespace ggemm::kernels::ptx
