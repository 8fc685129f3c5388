// SPDX-License-Identifier: Apache-2.0
// What kernels that were compiled for the emulated GPU ask of the machine that runs them. Both sides include it: the kernels' headers beside it, and machine/.
#pragma once
#include <cstddef>
#include <cstdint>

namespace emulator {

using std::uint16_t, std::uint32_t, std::uint64_t, std::int32_t, std::uintptr_t;

struct Index {
  unsigned x, y, z;
};

enum class Mma : int { f16, bf16, tf32, i8, f64, f64_rows16, f64_rows16_deep8, f64_rows16_deep16 };
enum class Element : int { f16, bf16, tf32, i8, e4m3, e5m2 };
enum class Shuffle : int { from, up, down, across };  // __shfl_sync, _up, _down, _xor
// Where a box begins in the matrix of a map of so many dimensions; middle: 0 if these are two.
struct BoxPlace {
  int32_t rank, inner, middle, outer;
};

enum class Fence : int { barrier_init, async, tensor_map };

// A product of a warpgroup (wgmma): types, whether an operand is contiguous along m or n, columns, whether it adds.
struct Product {
  Element a, b;
  bool a_mn_major, b_mn_major;
  int columns;
  bool add;
  uint64_t descriptor_a, descriptor_b;
  bool a_in_registers = false;  // then there is no descriptor of it
  bool operator==(const Product&) const = default;
};

// The instructions that the language has no words for, as the calling CUDA thread executes them. Shared addresses are offsets in the CTA's window; those of a
// cluster have the CTA's number + 1 in their upper 8 bits. A misuse that is noticed ends the launch: the call does not return.
class Machine {
 public:
  virtual void barrier(int number, int threads) = 0;  // bar.sync; threads 0: all of the CTA
  virtual bool barrier_any(int number, int threads, bool vote) = 0;  // bar.red.or
  virtual void warp_barrier(uint32_t lanes) = 0;
  virtual void cluster_arrive(bool release) = 0;
  virtual void cluster_wait() = 0;
  virtual uint64_t shuffle(Shuffle how, uint32_t lanes, uint64_t value, int argument) = 0;
  virtual uint32_t ballot(uint32_t lanes, bool vote) = 0;

  // An ordinary access that may be to shared memory, where the kernel was compiled to tell (nvrtc/nvrtc.cpp).
  virtual void access(const void* pointer, std::size_t bytes, bool write) = 0;
  virtual uint32_t shared_address(const void* pointer) = 0;
  virtual void* shared_pointer(uint32_t address, std::size_t bytes, std::size_t alignment, const char* what) = 0;  // of a shared::cluster address
  virtual uint32_t map_to(uint32_t address, uint32_t cta) = 0;                                                 // mapa
  virtual uint32_t cluster_rank() = 0;
  virtual uint32_t cluster_size() = 0;
  virtual void check_global(const void* pointer, std::size_t alignment, const char* what) = 0;
  virtual bool late() = 0;  // whether this thread does not see yet what others wrote to global memory, where nothing says that it must: at random

  virtual void barrier_init(uint32_t barrier, uint32_t arrivals) = 0;
  virtual void barrier_arrive(uint32_t barrier, uint32_t expected_bytes) = 0;
  virtual void barrier_expect(uint32_t barrier, uint32_t bytes) = 0;
  virtual void barrier_wait(uint32_t barrier, uint32_t parity) = 0;
  virtual void fence(Fence which) = 0;
  virtual void set_registers(int count, bool take) = 0;
  virtual void launch_wait() = 0;  // griddepcontrol.wait
  virtual void launch_next() = 0;  // griddepcontrol.launch_dependents
  virtual void launch_beside() = 0;  // nothing, but that the thread needs nothing of the launch ahead

  virtual void copy_async(uint32_t shared, const void* global, int bytes, bool on) = 0;
  virtual void copy_commit() = 0;
  virtual void copy_wait(int pending) = 0;

  virtual void tensor_prefetch(const void* map) = 0;
  virtual void tensor_map_replace(void* map, const void* data, uint32_t inner) = 0;
  virtual void tensor_map_replace(void* map, uint32_t dimension, uint32_t count, uint64_t stride) = 0;
  virtual void tensor_map_acquire(const void* map) = 0;
  virtual void tensor_load(uint32_t shared, const void* map, uint32_t barrier, const BoxPlace& at, bool multicast, uint16_t ctas) = 0;
  virtual void tensor_store(const void* map, uint32_t shared, const BoxPlace& at) = 0;
  virtual void bulk_store(void* global, uint32_t shared, uint32_t bytes) = 0;
  virtual void store_commit() = 0;
  virtual void store_wait(int pending, bool read_only) = 0;

  virtual void load_matrices(uint32_t (&out)[4], uint32_t shared, bool transposed) = 0;
  virtual void store_matrices(uint32_t shared, const uint32_t (&in)[4], bool transposed) = 0;
  virtual void multiply(Mma kind, void* sums, const void* a, const void* b) = 0;

  virtual void product_fence() = 0;
  // a: of four words, where A is in registers. They are read until the product was waited for.
  virtual void product(const Product& product, void* sums, const uint32_t* a = nullptr) = 0;
  virtual void product_commit() = 0;
  virtual void product_wait(int pending) = 0;

 protected:
  ~Machine() = default;
};

// The CUDA thread that runs: at the upper end of its stack, whose address and size are multiples of stack_bytes.
struct Thread {
  Machine* machine;
  char* window;  // of the CTA's shared memory
  uint32_t dynamic_offset;
  Index thread, block, block_dim, grid_dim;
};
constexpr std::size_t stack_bytes = 128 * 1024, thread_room = 256;
static_assert(sizeof(Thread) <= thread_room);

inline Thread& self() {
  return *reinterpret_cast<Thread*>((reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) | (stack_bytes - 1)) + 1 - thread_room);
}
inline Machine& machine() { return *self().machine; }

// What a compiled kernel says of itself.
struct Kernel {
  const char* name;
  void (*run)(const void* parameters);  // as one thread
  std::size_t parameter_bytes;
  int most_threads, least_ctas;  // __launch_bounds__; 0: not said
  int cluster[3];                // __cluster_dims__; 1, 1, 1 if not said
  uint32_t static_shared;        // bytes
  bool tells_accesses;
};
constexpr const char* kernel_symbol = "emulator_kernel";  // const Kernel* emulator_kernel()

// Shared memory lies where these are the upper bits of an address, so that it is told from other memory at once.
constexpr int shared_region_shift = 40;
constexpr uintptr_t shared_region = 0x5e;

// Shared memory that the system keeps at the beginning of a CTA's window.
constexpr uint32_t reserved_shared = 1024;

}  // namespace emulator
