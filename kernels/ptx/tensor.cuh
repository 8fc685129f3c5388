// SPDX-License-Identifier: Apache-2.0
// The tensor copy engine (TMA) of sm_90: boxes of a matrix between global and shared memory, by one thread. What lies outside the matrix reads as zero and is not written.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

// Whether what is compiled for has a copy engine, where kernels are for others too.
#if __CUDA_ARCH__ >= 900
constexpr bool copy_engine = true;
#else
constexpr bool copy_engine = false;
#endif

// Brings the matrix's description near, before its first use. PTX ISA, "prefetch.tensormap".
GG_DEVICE void tensor_prefetch(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

// Changes a map in shared memory, a multiple of 128: base address, elements of a line. Any one thread. PTX ISA, "tensormap.replace".
GG_DEVICE void tensor_map_replace(TensorMap& map, const void* data, u32 length) {
  asm volatile(
      "{ .reg .u64 map; cvta.to.shared.u64 map, %0;\n"
      "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], %1;\n"
      "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, %2; }" ::"l"(&map), "l"(data), "r"(length) : "memory");
}
// Of one of its other dimensions, counted from 1: how many there are, bytes from one to the next.
template <int DIMENSION>
GG_DEVICE void tensor_map_replace(TensorMap& map, u32 count, u64 pitch) {
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1205
  pitch >>= 4;  // compilers before 12.5 wrote the stride's field as it was given, which counts 16 bytes
#endif
  asm volatile(
      "{ .reg .u64 map; cvta.to.shared.u64 map, %0;\n"
      "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], %1, %2;\n"
      "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [map], %3, %4; }" ::"l"(&map), "n"(DIMENSION), "r"(count), "n"(DIMENSION - 1), "l"(pitch) : "memory");
}
// Tells what this thread wrote to maps to those who acquire them. PTX ISA, "fence.proxy.tensormap".
GG_DEVICE void tensor_map_release() { asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory"); }
// Before this thread uses a map that lies in global memory and was written by a kernel.
GG_DEVICE void tensor_map_acquire(const TensorMap& map) { asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&map) : "memory"); }

// Copies the box whose first element is (inner, outer) to shared memory, and counts its bytes on the barrier. `shared` is a multiple of 1024 where the box is
// swizzled over 128 bytes. Any one thread. Asynchronous: complete when the barrier's phase is. PTX ISA, "cp.async.bulk.tensor".
GG_DEVICE void tensor_load(u32 shared, const TensorMap& map, u32 barrier, i32 inner, i32 outer) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(shared), "l"(&map), "r"(barrier), "r"(inner), "r"(outer) : "memory");
}
// Of a map of three dimensions.
GG_DEVICE void tensor_load(u32 shared, const TensorMap& map, u32 barrier, i32 inner, i32 middle, i32 outer) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared), "l"(&map), "r"(barrier), "r"(inner), "r"(middle), "r"(outer) : "memory");
}
// Likewise, to the same place of each CTA of the cluster whose bit is set, and counted on the barrier at the same place there.
GG_DEVICE void tensor_load_multicast(u32 shared, const TensorMap& map, u32 barrier, i32 inner, i32 outer, u16 ctas) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared), "l"(&map), "r"(barrier), "r"(inner), "r"(outer), "h"(ctas)
               : "memory");
}
GG_DEVICE void tensor_load_multicast(u32 shared, const TensorMap& map, u32 barrier, i32 inner, i32 middle, i32 outer, u16 ctas) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared), "l"(&map), "r"(barrier), "r"(inner), "r"(middle), "r"(outer), "h"(ctas)
               : "memory");
}
// Copies a box from shared memory to (inner, outer). Any one thread, after fence_async by those who wrote it and a barrier. Asynchronous, in this thread's open group.
GG_DEVICE void tensor_store(const TensorMap& map, u32 shared, i32 inner, i32 outer) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(shared), "r"(inner), "r"(outer) : "memory");
}
GG_DEVICE void tensor_store(const TensorMap& map, u32 shared, i32 inner, i32 middle, i32 outer) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map), "r"(shared), "r"(inner), "r"(middle), "r"(outer) : "memory");
}
// Copies so many bytes, a multiple of 16, from shared memory to global memory, both at multiples of 16. As tensor_store. PTX ISA, "cp.async.bulk".
GG_DEVICE void bulk_store(void* global, u32 shared, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared), "r"(bytes) : "memory");
}
// Closes this thread's group of stores. PTX ISA, "cp.async.bulk.commit_group".
GG_DEVICE void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all but this thread's newest PENDING groups have read their shared memory. PTX ISA, "cp.async.bulk.wait_group".
template <int PENDING>
GG_DEVICE void store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }
// Orders this thread's accesses to shared memory before those of the copy engine and of wgmma that a barrier puts after them. PTX ISA, "fence.proxy.async".
GG_DEVICE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Four 8x8 matrices of 16-bit elements to shared memory: the reverse of ldmatrix. The whole warp. PTX ISA, "stmatrix".
GG_DEVICE void stmatrix(u32 shared, const u32 (&in)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(in[0]), "r"(in[1]), "r"(in[2]), "r"(in[3]) : "memory");
}
GG_DEVICE void stmatrix_transposed(u32 shared, const u32 (&in)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared), "r"(in[0]), "r"(in[1]), "r"(in[2]), "r"(in[3]) : "memory");
}

}  // namespace ggemm::kernels::ptx
