// SPDX-License-Identifier: Apache-2.0
#include "common/device_memory.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>

#include "cuda/device.hpp"

namespace ggemm::tools {
namespace {

constexpr std::size_t host_alignment = 256;

class HostMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    if (bytes > SIZE_MAX - host_alignment) throw std::bad_alloc();
    void* pointer = std::aligned_alloc(host_alignment, (bytes + host_alignment - 1) / host_alignment * host_alignment);
    if (!pointer) throw std::bad_alloc();
    return pointer;
  }
  void release(void* pointer) noexcept override { std::free(pointer); }
  void copy_in(void* destination, const void* source, std::size_t bytes) override { std::memcpy(destination, source, bytes); }
  void copy_out(void* destination, const void* source, std::size_t bytes) override { std::memcpy(destination, source, bytes); }
  void synchronize() override {}
  double seconds(const std::function<void()>& work) override {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

// On the primary context, where the library's own context of this ordinal runs too.
class CudaMemory final : public DeviceMemory {
 public:
  explicit CudaMemory(int ordinal) : device_(ordinal, nullptr, {}), begin_(device_.create_event()), end_(device_.create_event()) {}
  ~CudaMemory() override {
    blocks_.clear();
    device_.destroy_event(begin_);
    device_.destroy_event(end_);
  }
  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    cuda::Buffer buffer(device_, bytes, nullptr);
    void* pointer = buffer.data();
    blocks_.emplace(pointer, std::move(buffer));
    return pointer;
  }
  void release(void* pointer) noexcept override { blocks_.erase(pointer); }
  void copy_in(void* destination, const void* source, std::size_t bytes) override {
    device_.copy_to_device(destination, source, bytes, nullptr);
    device_.synchronize(nullptr);  // the source may go when this returns
  }
  void copy_out(void* destination, const void* source, std::size_t bytes) override { device_.copy_to_host(destination, source, bytes, nullptr); }
  void synchronize() override { device_.synchronize(nullptr); }
  double seconds(const std::function<void()>& work) override {
    device_.record(begin_, nullptr);
    work();
    device_.record(end_, nullptr);
    return device_.milliseconds(begin_, end_) * 1e-3;
  }

 private:
  cuda::Device device_;
  void* begin_;
  void* end_;
  std::unordered_map<void*, cuda::Buffer> blocks_;
};

}  // namespace

std::unique_ptr<DeviceMemory> DeviceMemory::create(const ggemm_device_info& info) {
  if (info.kind == GGEMM_DEVICE_CUDA) return std::make_unique<CudaMemory>(info.ordinal);
  return std::make_unique<HostMemory>();
}

}  // namespace ggemm::tools
