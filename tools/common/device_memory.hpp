// SPDX-License-Identifier: Apache-2.0
// Memory of a context's device. The C API copies nothing; the command line copies with this.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "ggemm.h"

namespace ggemm::tools {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual void* allocate(std::size_t bytes) = 0;  // aligned to 256 bytes; NULL for 0 bytes
  virtual void release(void* pointer) noexcept = 0;
  virtual void copy_in(void* destination, const void* source, std::size_t bytes) = 0;   // host to device
  virtual void copy_out(void* destination, const void* source, std::size_t bytes) = 0;  // device to host, after all work
  virtual void synchronize() = 0;                                                        // waits for the default stream
  // Seconds that the work took on the device: between two events on CUDA, by the clock on the host. `work` launches on the default stream.
  virtual double seconds(const std::function<void()>& work) = 0;

  // For the device that the context runs on; CUDA contexts of the tool are always the ordinal's primary one.
  static std::unique_ptr<DeviceMemory> create(const ggemm_device_info& info);
};

// A block of device memory that frees itself.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(DeviceMemory& memory, std::size_t bytes) : memory_(&memory), data_(memory.allocate(bytes)), size_(bytes) {}
  DeviceBlock(DeviceMemory& memory, const void* source, std::size_t bytes) : DeviceBlock(memory, bytes) {
    if (bytes > 0) memory.copy_in(data_, source, bytes);
  }
  DeviceBlock(DeviceBlock&& other) noexcept { swap(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBlock() {
    if (memory_) memory_->release(data_);
  }
  char* data() const { return static_cast<char*>(data_); }
  std::size_t size() const { return size_; }
  void copy_out(void* destination) const {
    if (size_ > 0) memory_->copy_out(destination, data_, size_);
  }

 private:
  void swap(DeviceBlock& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  DeviceMemory* memory_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ggemm::tools
