// SPDX-License-Identifier: Apache-2.0
// As kernels/ptx/memory.cuh, on the emulated GPU.
#pragma once
#include "tile/types.cuh"

namespace ggemm::kernels::ptx {

struct alignas(16) Vector16 { u32 word[4]; };

template <class T>
GG_DEVICE T load_constant_of(const T* p, bool on) {
  if (!on) return 0;
  emulator::machine().check_global(p, sizeof(T), "ld.global.nc");
  return *p;
}
GG_DEVICE u64 load_constant(const u64* p, bool on) { return load_constant_of(p, on); }
GG_DEVICE u32 load_constant(const u32* p, bool on) { return load_constant_of(p, on); }
GG_DEVICE u16 load_constant(const u16* p, bool on) { return load_constant_of(p, on); }
GG_DEVICE u32 load_constant(const u8* p, bool on) { return load_constant_of(p, on); }

GG_DEVICE Vector16 load_constant(const Vector16* p, bool on) {
  if (!on) return {};
  emulator::machine().check_global(p, 16, "ld.global.nc.v4");
  return *p;
}

GG_DEVICE Vector16 load_streamed(const Vector16* p, bool on) { return load_constant(p, on); }

template <bool>
GG_DEVICE i64 load_number(const void* p, i32 kind, i64 otherwise) {
  if (kind == 0) return otherwise;
  emulator::machine().check_global(p, kind == 1 ? 4 : 8, "ld.global");
  return kind == 1 ? static_cast<i64>(*static_cast<const i32*>(p)) : *static_cast<const i64*>(p);
}

struct AskedNumber {
  i64 number;
  GG_DEVICE i64 value(i32) const { return number; }
};
GG_DEVICE AskedNumber ask_number(const void* p, i32 kind, i64 otherwise) { return {load_number<false>(p, kind, otherwise)}; }

GG_DEVICE u32 funnel_right(u32 low, u32 high, u32 shift) {
  const u32 by = shift < 32 ? shift : 32;
  return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> by);
}

GG_DEVICE u32 permute(u32 low, u32 high, u32 selector) {
  u32 out = 0;
  for (int i = 0; i < 4; ++i) out |= static_cast<u32>((static_cast<u64>(high) << 32 | low) >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return out;
}

// The threads of a launch take turns: nobody comes between.
GG_DEVICE u32 count_arrival(u32* counter, u32 last) {
  emulator::machine().check_global(counter, 4, "atom.inc");
  const u32 before = *counter;
  *counter = before >= last ? 0 : before + 1;
  return before;
}
// What is not mapped may not be asked for: PTX promises nothing of it, and a driver may take long over the fault.
GG_DEVICE void prefetch(const void* p) { static_cast<void>(*static_cast<const volatile char*>(p)); }
GG_DEVICE u32 take_next(u32* counter) {
  emulator::machine().check_global(counter, 4, "atom.add");
  return (*counter)++;
}
GG_DEVICE u32 set_bits(u32* word, u32 bits) {
  emulator::machine().check_global(word, 4, "atom.or");
  const u32 before = *word;
  *word |= bits;
  return before;
}
GG_DEVICE u64 take_bytes(u64* counter, u64 bytes) {
  emulator::machine().check_global(counter, 8, "atom.add");
  const u64 before = *counter;
  *counter += bytes;
  return before;
}
// Others' arrivals may be seen late.
GG_DEVICE u32 seen_arrivals(const u32* counter) {
  emulator::machine().check_global(counter, 4, "ld.acquire");
  return emulator::machine().late() ? 0 : *counter;
}

GG_DEVICE Vector16 load_vector(const void* p) {
  emulator::machine().check_global(p, 16, "ld.global.v4");
  return *static_cast<const Vector16*>(p);
}
GG_DEVICE void store_vector(void* p, Vector16 v) {
  emulator::machine().check_global(p, 16, "st.global.v4");
  *static_cast<Vector16*>(p) = v;
}

GG_DEVICE int renewed(int x) { return x; }
GG_DEVICE i64 renewed(i64 x) { return x; }
GG_DEVICE u64 renewed(u64 x) { return x; }
template <class T>
GG_DEVICE const T* renewed(const T* x) { return x; }
GG_DEVICE int of_first_lane(int x) { return __shfl_sync(0xffffffffu, x, 0); }
GG_DEVICE void keep_order() {}

GG_DEVICE u32 cluster_address(u32 shared, u32 cta) { return emulator::machine().map_to(shared, cta); }
GG_DEVICE Vector16 load_cluster(u32 address) { return *static_cast<const Vector16*>(emulator::machine().shared_pointer(address, 16, 16, "ld.shared::cluster.v4")); }

}  // namespace ggemm::kernels::ptx
