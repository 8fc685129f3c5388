// SPDX-License-Identifier: Apache-2.0
// Device memory: buffers, copies, fills.
#include <cstring>
#include <utility>

#include "cuda/device_impl.hpp"

namespace ggemm::cuda {
namespace {

constexpr std::size_t allocation_alignment = 256;  // bytes; what the driver gives, and what ggemm_allocate_fn is asked for

void* allocate_by_driver(const OpenDevice& device, std::size_t bytes, void* stream) {
  cu::Address address = 0;
  const cu::Functions& call = device.driver.call;
  const cu::Result result = device.pools ? call.mem_alloc_async(&address, bytes, as_stream(stream)) : call.mem_alloc(&address, bytes);
  if (result != cu::Result::success)
    core::fail(status_of(result, GGEMM_ERROR_LAUNCH), "%s of %zu bytes: %s", device.pools ? "cuMemAllocAsync" : "cuMemAlloc", bytes,
               describe(device.driver, result).c_str());
  return reinterpret_cast<void*>(address);
}

void* allocate_by_caller(const Allocator& allocator, std::size_t bytes, void* stream) {
  void* data = nullptr;
  const std::int32_t answer = allocator.allocate(allocator.user, bytes, stream, &data);
  if (answer != 0 || !data)
    core::fail(GGEMM_ERROR_OUT_OF_MEMORY, "allocate, the context's allocator, returned %d and %p for %zu bytes", static_cast<int>(answer), data, bytes);
  if (as_address(data) % allocation_alignment != 0) {
    allocator.deallocate(allocator.user, data, bytes, stream);
    core::fail(GGEMM_ERROR_ARGUMENT, "allocate, the context's allocator, returned %p, which is not a multiple of %zu bytes", data, allocation_alignment);
  }
  return data;
}

}  // namespace

Buffer::Buffer(const Device& device, std::size_t bytes, void* stream) : device_(&device), size_(bytes), stream_(stream) {
  if (bytes == 0) return;
  if (device.capturing(stream)) core::fail(GGEMM_ERROR_NOT_PREPARED, "%zu bytes of device memory are needed, but the stream is being captured: ggemm_prepare and plans reserve them before", bytes);
  const OpenDevice& open = *device.impl_;
  const ColdScope scope(open);
  scope.require();
  data_ = open.allocator.allocate ? allocate_by_caller(open.allocator, bytes, stream) : allocate_by_driver(open, bytes, stream);
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(stream_, other.stream_);
  std::swap(stream_may_be_gone_, other.stream_may_be_gone_);
  return *this;
}

// The driver's result says nothing of this memory: a release reports failures of earlier work, and cannot be tried twice.
Buffer::~Buffer() {
  if (!data_) return;
  const OpenDevice& open = *device_->impl_;
  const ReleaseScope scope(open);
  if (!scope.entered()) return;
  if (open.allocator.allocate) {
    open.allocator.deallocate(open.allocator.user, data_, size_, stream_);
  } else if (open.pools && !stream_may_be_gone_) {
    open.driver.call.mem_free_async(as_address(data_), as_stream(stream_));
  } else {
    open.driver.call.mem_free(as_address(data_));
  }
}

void Buffer::forget_stream() {
  stream_ = nullptr;
  stream_may_be_gone_ = true;
}

void* Device::allocate_on_host(std::size_t bytes) const {
  const ColdScope scope(*impl_);
  scope.require();
  void* memory = nullptr;
  if (impl_->driver.call.mem_host_alloc(&memory, bytes, cu::host_memory_mapped) != cu::Result::success) return nullptr;
  std::memset(memory, 0, bytes);
  return memory;
}

void Device::free_on_host(void* memory) const {
  const ReleaseScope scope(*impl_);
  if (scope.entered()) impl_->driver.call.mem_free_host(memory);
}

void Device::copy_to_device(void* destination, const void* source, std::size_t bytes, void* stream) const {
  if (bytes == 0) return;
  const ColdScope scope(*impl_);
  scope.require();
  check(impl_->driver, impl_->driver.call.memcpy_htod_async(as_address(destination), source, bytes, as_stream(stream)), "cuMemcpyHtoDAsync");
}

void Device::copy_to_host(void* destination, const void* source, std::size_t bytes, void* stream) const {
  if (bytes == 0) return;
  const ColdScope scope(*impl_);
  scope.require();
  check(impl_->driver, impl_->driver.call.memcpy_dtoh_async(destination, as_address(source), bytes, as_stream(stream)), "cuMemcpyDtoHAsync");
  check(impl_->driver, impl_->driver.call.stream_synchronize(as_stream(stream)), "cuStreamSynchronize");
}

void Device::copy_on_device(void* destination, const void* source, std::size_t bytes, void* stream) const {
  if (bytes == 0) return;
  const ColdScope scope(*impl_);
  scope.require();
  check(impl_->driver, impl_->driver.call.memcpy_dtod_async(as_address(destination), as_address(source), bytes, as_stream(stream)), "cuMemcpyDtoDAsync");
}

void Device::fill(void* destination, unsigned char value, std::size_t bytes, void* stream) const {
  if (bytes == 0) return;
  const ColdScope scope(*impl_);
  scope.require();
  check(impl_->driver, impl_->driver.call.memset_d8_async(as_address(destination), value, bytes, as_stream(stream)), "cuMemsetD8Async");
}

}  // namespace ggemm::cuda
