// SPDX-License-Identifier: Apache-2.0
// The words of CUDA C++ that the kernels use, for g++. Included before a kernel's first line.
#pragma once
#include <math.h>
#include <string.h>

#include <bit>
#include <type_traits>

#include "interface.hpp"

#define __CUDACC_RTC__ 1
// The compute capability, in tens and ones: of kernels that ask for it.
#if !defined(GG_EMULATED_ARCH)
#define GG_EMULATED_ARCH 90
#endif
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __restrict__ __restrict
#define __align__(bytes) __attribute__((aligned(bytes)))
// The source's texts of these go to the kernel's description (nvrtc/source.cpp).
#define __launch_bounds__(...)
#define __cluster_dims__(...)

#define threadIdx (::emulator::self().thread)
#define blockIdx (::emulator::self().block)
#define blockDim (::emulator::self().block_dim)
#define gridDim (::emulator::self().grid_dim)

namespace emulator {

// Where a static __shared__ variable lies. Each is laid out when the kernel is loaded. Tag: a type of the variable's own.
inline uint32_t& static_shared_end() {
  static uint32_t end = reserved_shared;
  return end;
}
inline uint32_t place_static_shared(std::size_t bytes, std::size_t alignment) {
  uint32_t& end = static_shared_end();
  const uint32_t at = static_cast<uint32_t>((end + alignment - 1) / alignment * alignment);
  end = at + static_cast<uint32_t>(bytes);
  return at;
}
template <class T, class Tag>
struct StaticShared {
  static inline const uint32_t offset = place_static_shared(sizeof(T), alignof(T) < 16 ? 16 : alignof(T));
};
template <class T, class Tag>
T& static_shared() {
  return *reinterpret_cast<T*>(self().window + StaticShared<T, Tag>::offset);
}
inline void* dynamic_shared() { return self().window + self().dynamic_offset; }

template <class Parameters>
Kernel describe(void (*)(Parameters), const char* name, void (*run)(const void*), const int (&bounds)[2], const int (&cluster)[3]) {
  return {name, run, sizeof(Parameters), bounds[0], bounds[1], {cluster[0] ? cluster[0] : 1, cluster[1] ? cluster[1] : 1, cluster[2] ? cluster[2] : 1}, static_shared_end() - reserved_shared,
#ifdef __SANITIZE_THREAD__
          true};
#else
          false};
#endif
}
template <class Parameters>
Parameters parameters_of(void (*)(Parameters));

template <class T>
T shuffle(Shuffle how, uint32_t lanes, T value, int argument) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return std::bit_cast<T>(static_cast<Word>(machine().shuffle(how, lanes, std::bit_cast<Word>(value), argument)));
}

}  // namespace emulator

#ifdef __SANITIZE_THREAD__
// What g++ calls at every access that it cannot see to be a thread's own.
#define EMULATOR_UNTOLD extern "C" __attribute__((no_sanitize_thread, visibility("hidden")))
EMULATOR_UNTOLD inline void emulator_access(const void* pointer, std::size_t bytes, bool write) {
  if (reinterpret_cast<uintptr_t>(pointer) >> emulator::shared_region_shift == emulator::shared_region) emulator::machine().access(pointer, bytes, write);
}
#define EMULATOR_ACCESS(BYTES)                                                                           \
  EMULATOR_UNTOLD void __tsan_read##BYTES(void* p) { emulator_access(p, BYTES, false); }                 \
  EMULATOR_UNTOLD void __tsan_write##BYTES(void* p) { emulator_access(p, BYTES, true); }                 \
  EMULATOR_UNTOLD void __tsan_volatile_read##BYTES(void* p) { emulator_access(p, BYTES, false); }        \
  EMULATOR_UNTOLD void __tsan_volatile_write##BYTES(void* p) { emulator_access(p, BYTES, true); }        \
  EMULATOR_UNTOLD void __tsan_unaligned_read##BYTES(void* p) { emulator_access(p, BYTES, false); }       \
  EMULATOR_UNTOLD void __tsan_unaligned_write##BYTES(void* p) { emulator_access(p, BYTES, true); }
EMULATOR_ACCESS(1)
EMULATOR_ACCESS(2)
EMULATOR_ACCESS(4)
EMULATOR_ACCESS(8)
EMULATOR_ACCESS(16)
EMULATOR_UNTOLD void __tsan_read_range(void* p, std::size_t bytes) { emulator_access(p, bytes, false); }
EMULATOR_UNTOLD void __tsan_write_range(void* p, std::size_t bytes) { emulator_access(p, bytes, true); }
EMULATOR_UNTOLD void __tsan_vptr_update(void*, void*) {}
EMULATOR_UNTOLD void __tsan_func_entry(void*) {}
EMULATOR_UNTOLD void __tsan_func_exit() {}
EMULATOR_UNTOLD void __tsan_init() {}
#endif

inline void __syncthreads() { emulator::machine().barrier(0, 0); }
inline void __syncwarp(unsigned lanes = 0xffffffffu) { emulator::machine().warp_barrier(lanes); }
template <class T> T __shfl_sync(unsigned lanes, T value, int lane) { return emulator::shuffle(emulator::Shuffle::from, lanes, value, lane); }
template <class T> T __shfl_up_sync(unsigned lanes, T value, unsigned by) { return emulator::shuffle(emulator::Shuffle::up, lanes, value, static_cast<int>(by)); }
template <class T> T __shfl_down_sync(unsigned lanes, T value, unsigned by) { return emulator::shuffle(emulator::Shuffle::down, lanes, value, static_cast<int>(by)); }
template <class T> T __shfl_xor_sync(unsigned lanes, T value, int mask) { return emulator::shuffle(emulator::Shuffle::across, lanes, value, mask); }
inline unsigned __ballot_sync(unsigned lanes, bool vote) { return emulator::machine().ballot(lanes, vote); }
inline bool __any_sync(unsigned lanes, bool vote) { return emulator::machine().ballot(lanes, vote) != 0; }
inline bool __all_sync(unsigned lanes, bool vote) { return emulator::machine().ballot(lanes, !vote) == 0; }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __clz(int value) { return value ? __builtin_clz(static_cast<unsigned>(value)) : 32; }
inline std::size_t __cvta_generic_to_shared(const void* pointer) { return emulator::machine().shared_address(pointer); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __trap() { emulator::machine().check_global(nullptr, 0, "__trap()"); }

// CTAs of a launch run one cluster after the other and threads in turns, so that these are single steps as they stand.
template <class T, class V>
T atomicAdd(T* p, V value) {
  const T old = *p;
  *p = old + static_cast<T>(value);
  return old;
}
template <class T, class V>
T atomicExch(T* p, V value) {
  const T old = *p;
  *p = static_cast<T>(value);
  return old;
}
template <class T, class V>
T atomicCAS(T* p, V compare, V value) {
  const T old = *p;
  if (old == static_cast<T>(compare)) *p = static_cast<T>(value);
  return old;
}
template <class T, class V>
T atomicMax(T* p, V value) {
  const T old = *p;
  if (static_cast<T>(value) > old) *p = static_cast<T>(value);
  return old;
}
