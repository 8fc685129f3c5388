// SPDX-License-Identifier: Apache-2.0
// Memory that is reserved, made and mapped in steps, which tests use for operands between unmapped pages.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "state.hpp"

using namespace fake;

namespace {

constexpr int new_memory = 0xCD;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
void* pointer(cu::Address address) { return reinterpret_cast<void*>(address); }
bool whole_pages(std::size_t bytes) { return bytes > 0 && bytes % page_bytes() == 0; }

}  // namespace

FAKE_DRIVER Result cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
  Call call("cuMemGetAllocationGranularity");
  if (call.fails()) return call.result();
  *bytes = page_bytes();
  return Result::success;
}

FAKE_DRIVER Result cuMemAddressReserve(cu::Address* out, std::size_t bytes, std::size_t, cu::Address, std::uint64_t) {
  Call call("cuMemAddressReserve");
  if (call.fails()) return call.result();
  if (!whole_pages(bytes)) return Result::invalid_value;
  void* const data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return Result::out_of_memory;
  *out = reinterpret_cast<cu::Address>(data);
  return Result::success;
}

FAKE_DRIVER Result cuMemAddressFree(cu::Address address, std::size_t bytes) {
  Call call("cuMemAddressFree");
  if (!call.alive()) return call.result();
  return call.after(munmap(pointer(address), bytes) == 0 ? Result::success : Result::invalid_value);
}

// Memory is made where it is mapped; a handle is a number.
FAKE_DRIVER Result cuMemCreate(std::uint64_t* out, std::size_t bytes, const void*, std::uint64_t) {
  Call call("cuMemCreate");
  if (call.fails()) return call.result();
  if (!whole_pages(bytes)) return Result::invalid_value;
  *out = reinterpret_cast<std::uintptr_t>(state().new_handle());
  return Result::success;
}

FAKE_DRIVER Result cuMemRelease(std::uint64_t) {
  Call call("cuMemRelease");
  return call.result();
}

FAKE_DRIVER Result cuMemMap(cu::Address address, std::size_t bytes, std::size_t offset, std::uint64_t handle, std::uint64_t) {
  Call call("cuMemMap");
  if (call.fails()) return call.result();
  if (!whole_pages(bytes) || offset != 0 || handle == 0) return Result::invalid_value;
  state().memory[static_cast<std::uintptr_t>(address)] = {nullptr, bytes, 0, false};
  return Result::success;
}

FAKE_DRIVER Result cuMemUnmap(cu::Address address, std::size_t bytes) {
  Call call("cuMemUnmap");
  if (!call.alive()) return call.result();
  state().memory.erase(static_cast<std::uintptr_t>(address));
  mprotect(pointer(address), bytes, PROT_NONE);
  madvise(pointer(address), bytes, MADV_DONTNEED);
  return call.after(Result::success);
}

FAKE_DRIVER Result cuMemSetAccess(cu::Address address, std::size_t bytes, const void*, std::size_t) {
  Call call("cuMemSetAccess");
  if (call.fails()) return call.result();
  if (mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) != 0) return Result::invalid_value;
  std::memset(pointer(address), new_memory, std::min(bytes, std::size_t(64) << 20));
  return Result::success;
}

FAKE_DRIVER Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  Call call("cuMemGetInfo");
  if (call.fails()) return call.result();
  const std::shared_ptr<Context> context = current_object();
  if (!context) return Result::invalid_context;
  const DeviceModel& device = state().devices[static_cast<std::size_t>(context->device)];
  *total = device.memory_bytes;
  *free = device.memory_bytes - std::min(device.allocated, device.memory_bytes);
  return Result::success;
}
