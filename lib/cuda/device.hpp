// SPDX-License-Identifier: Apache-2.0
// One CUDA device: its context, memory, modules and launches. Leaves the calling thread's current context as it was in every call.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/config.hpp"
#include "core/error.hpp"
#include "tile/panels.cuh"
#include "ggemm.h"

namespace ggemm::cuda {

struct Allocator {
  ggemm_allocate_fn allocate = nullptr;  // nullptr: cuMemAllocAsync, or cuMemAlloc where the device has no memory pools
  ggemm_deallocate_fn deallocate = nullptr;
  void* user = nullptr;
};

class Device;

// A matrix as a tensor map tells it to the copy engine, and the boxes that are copied of it.
struct TensorLayout {
  int dtype;
  bool tf32;  // f32 elements are wanted as tf32
  const void* data;
  std::int64_t length;  // elements of a line, next to each other
  std::int64_t lines;
  std::int64_t line_bytes;  // from one line to the next, a multiple of 16
  int box_lines;
  int box_length = 0;              // elements, as they lie; 0: 128 bytes, swizzled
  std::int64_t half = 0;           // if not 0: `lines` are pairs of lines, the second of each so many behind the first, and boxes have whole ones
  std::int64_t products = 0;       // if not 0: so many such matrices,
  std::int64_t product_bytes = 0;  // so far apart
  bool operator==(const TensorLayout&) const = default;
};

// When a launch begins, and where. Both are for sm_90 and newer; elsewhere they ask for nothing.
struct LaunchOptions {
  bool overlap = false;   // it may begin before the launch ahead of it has ended, which the kernel waits for by itself (kernels/ptx/launch.cuh); not with drivers before CUDA 12.3, whose graphs do not know it
  bool by_turns = false;  // CTAs that form no clusters are dealt to GPCs by turns, as clusters are; else they fill one GPC after the other
};

// A loaded kernel. Holds its module; destroying it unloads the module.
struct Kernel {
  Kernel() = default;
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();
  const Device* device = nullptr;
  void* module = nullptr;    // CUmodule
  void* function = nullptr;  // CUfunction
  int threads = 0;           // of a CTA
  int dynamic_shared = 0;    // bytes
  int registers = 0;         // a thread
  int local_bytes = 0;       // a thread; more than 0 means spills or a stack
  std::string complaint;     // that its compiler made it slow, and how; "": it did not
  int ctas_per_multiprocessor = 0;  // by the driver's occupancy calculator
  int cluster = 1;                  // CTAs of a cluster, as it was compiled
  int resident_ctas = 0;            // on the whole device, whole clusters only
  // Of a persistent launch: as many as the device holds, or as the caller allows (0: any number), in whole clusters.
  unsigned ctas(unsigned most) const {
    const auto resident = static_cast<unsigned>(resident_ctas), each = static_cast<unsigned>(cluster);
    return most ? std::min(resident, std::max(most / each, 1u) * each) : resident;
  }
};

// Device memory that frees itself, on the stream that it was allocated on.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Device& device, std::size_t bytes, void* stream);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  void* data() const { return data_; }
  std::size_t size() const { return size_; }
  // The stream may be destroyed before this buffer is: all work that uses the memory is complete by then, and it is freed in no stream's order.
  void forget_stream();

 private:
  const Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
  void* stream_ = nullptr;
  bool stream_may_be_gone_ = false;
};

// Thrown where the driver does not take a binary as such, whatever the device has room for.
class RefusedBinary : public core::Error {
 public:
  using core::Error::Error;
};

class Device {
 public:
  // cuda_context: a CUcontext to use, or nullptr to retain the ordinal's primary one. Throws GGEMM_ERROR_DEVICE with everything that was tried.
  Device(int ordinal, void* cuda_context, const Allocator& allocator);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const core::DeviceFacts& facts() const;
  int ordinal() const;

  // True while `stream` (nullptr: the default stream) records a graph. Also true when the driver says that a default-stream call would break a capture.
  bool capturing(void* stream) const;

  // A number that no other stream of this process ever has. Not to be asked of a stream that is being captured.
  unsigned long long stream_id(void* stream) const;

  // Throws GGEMM_ERROR_LAUNCH. dynamic_shared above 48 KiB is opted into here.
  Kernel load(std::span<const char> cubin, const std::string& name, int threads, int dynamic_shared, int cluster = 1) const;
  // Throws GGEMM_ERROR_LAUNCH.
  kernels::TensorMap tensor_map(const TensorLayout& layout) const;
  // One-dimensional grid of `ctas`; `params` as cuLaunchKernel takes them. Throws GGEMM_ERROR_LAUNCH.
  void launch(const Kernel& kernel, unsigned ctas, void* stream, void** params, LaunchOptions options = {}) const;

  // The tuner's and the workspace's needs. All but allocation and synchronisation are asynchronous on the stream.
  void* create_stream() const;
  void destroy_stream(void* stream) const;
  void synchronize(void* stream) const;
  void copy_to_device(void* destination, const void* source, std::size_t bytes, void* stream) const;
  void copy_to_host(void* destination, const void* source, std::size_t bytes, void* stream) const;  // complete on return
  void copy_on_device(void* destination, const void* source, std::size_t bytes, void* stream) const;
  void fill(void* destination, unsigned char value, std::size_t bytes, void* stream) const;
  // Host memory that kernels may write to as well, at the same address; zeros. nullptr where there is none.
  void* allocate_on_host(std::size_t bytes) const;
  void free_on_host(void* memory) const;
  void* create_event() const;
  void destroy_event(void* event) const;
  void record(void* event, void* stream) const;
  double milliseconds(void* begin, void* end) const;  // waits for `end`

 private:
  friend class Buffer;
  friend struct Kernel;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What ggemm_diagnose says of the driver and its devices; never throws.
struct DriverReport {
  bool found = false;
  int version = 0;            // 1000 * major + 10 * minor
  std::string path;           // of libcuda
  std::string detail;         // what went wrong, every path tried
  struct Entry { int ordinal; std::string name; int compute_capability; std::int64_t memory_bytes; };
  std::vector<Entry> devices;
};
DriverReport diagnose();

}  // namespace ggemm::cuda
