// SPDX-License-Identifier: Apache-2.0
// Device memory, which is host memory.
#include <cstdlib>
#include <cstring>

#include "emulated.hpp"
#include "state.hpp"

using namespace fake;

namespace {

constexpr std::size_t alignment = 256;                       // bytes, as the driver's
constexpr std::size_t most_bytes_filled = 64 * 1024 * 1024;  // of new memory; filling gigabytes would take seconds
constexpr int new_memory = 0xCD;
constexpr double bytes_a_ms = 2e6;                           // of copies on the device

Result allocate(cu::Address* out, std::size_t bytes, bool pooled) {
  State& s = state();
  const std::shared_ptr<Context> context = current_object();
  if (!context) return Result::invalid_context;
  if (bytes == 0) return Result::invalid_value;
  DeviceModel& device = s.devices[static_cast<std::size_t>(context->device)];
  if (bytes > device.memory_bytes - std::min(device.allocated, device.memory_bytes)) return Result::out_of_memory;
  void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!data) return Result::out_of_memory;
  std::memset(data, new_memory, std::min(bytes, most_bytes_filled));
  device.allocated += bytes;
  *out = reinterpret_cast<cu::Address>(data);
  s.memory[static_cast<std::uintptr_t>(*out)] = {current_context(), bytes, context->device, pooled};
  return Result::success;
}

// Ours, live, and given by its first address.
bool freeable(cu::Address address) {
  const auto found = state().memory.find(static_cast<std::uintptr_t>(address));
  return found != state().memory.end() && found->second.context;
}

void release(cu::Address address) {
  State& s = state();
  const auto found = s.memory.find(static_cast<std::uintptr_t>(address));
  if (found == s.memory.end()) return;
  s.devices[static_cast<std::size_t>(found->second.device)].allocated -= found->second.bytes;
  s.memory.erase(found);
  std::free(reinterpret_cast<void*>(address));
}

bool within_memory(cu::Address address, std::size_t bytes) {
  const auto& memory = state().memory;
  auto after = memory.upper_bound(static_cast<std::uintptr_t>(address));
  if (after == memory.begin()) return false;
  const auto& [begin, allocation] = *--after;
  return address - begin <= allocation.bytes && bytes <= allocation.bytes - (address - begin);
}

Result submit_work(cu::Stream stream, Worker::Work work) { return submit(stream, {std::move(work), nullptr}); }

}  // namespace

FAKE_DRIVER Result cuMemAlloc_v2(cu::Address* out, std::size_t bytes) {
  Call call("cuMemAlloc");
  if (call.fails()) return call.result();
  if (const Result refused = capture_unsafe("cuMemAlloc"); refused != Result::success) return refused;
  return allocate(out, bytes, false);
}

FAKE_DRIVER Result cuMemFree_v2(cu::Address address) {
  Call call("cuMemFree");
  if (!call.alive()) return call.result();
  if (const Result refused = capture_unsafe("cuMemFree"); refused != Result::success) return refused;
  if (!current_context()) return Result::invalid_context;
  if (!freeable(address)) return Result::invalid_value;
  // It waits for the device, but for memory of the pool, whose users are taken to be done.
  if (!state().memory.at(static_cast<std::uintptr_t>(address)).pooled) drain(call.lock(), current_context());
  release(address);
  return call.after(Result::success);
}

FAKE_DRIVER Result cuMemAllocAsync(cu::Address* out, std::size_t bytes, cu::Stream stream) {
  Call call("cuMemAllocAsync");
  if (call.fails()) return call.result();
  std::shared_ptr<Stream> object;
  if (const Result bad = find_stream(stream, object); bad != Result::success) return bad;
  if (const Result refused = refuse_captured_stream("cuMemAllocAsync", object); refused != Result::success) return refused;
  if (const Result conflict = legacy_stream_conflict(stream, true); conflict != Result::success) return conflict;
  note_in_own_capture("cuMemAllocAsync");
  return allocate(out, bytes, true);
}

FAKE_DRIVER Result cuMemFreeAsync(cu::Address address, cu::Stream stream) {
  Call call("cuMemFreeAsync");
  if (!call.alive()) return call.result();
  std::shared_ptr<Stream> object;
  if (const Result bad = find_stream(stream, object); bad != Result::success) return bad;
  if (const Result refused = refuse_captured_stream("cuMemFreeAsync", object); refused != Result::success) return refused;
  if (const Result conflict = legacy_stream_conflict(stream, true); conflict != Result::success) return conflict;
  if (!freeable(address)) return Result::invalid_value;
  note_in_own_capture("cuMemFreeAsync");
  enqueue(object->context, *object, [address](Worker&) {
    std::lock_guard lock(state().mutex);
    release(address);
  });
  return call.after(Result::success);
}

FAKE_DRIVER Result cuMemHostAlloc(void** out, std::size_t bytes, unsigned) {
  Call call("cuMemHostAlloc");
  if (call.fails()) return call.result();
  if (const Result refused = capture_unsafe("cuMemHostAlloc"); refused != Result::success) return refused;
  if (!current_context()) return Result::invalid_context;
  *out = std::malloc(bytes);
  return call.after(*out ? Result::success : Result::out_of_memory);
}

FAKE_DRIVER Result cuMemFreeHost(void* memory) {
  Call call("cuMemFreeHost");
  if (!call.alive()) return call.result();
  if (!current_context()) return Result::invalid_context;
  drain(call.lock(), current_context());  // kernels may still write to it
  std::free(memory);
  return call.after(Result::success);
}

FAKE_DRIVER Result cuMemcpyHtoDAsync_v2(cu::Address destination, const void* source, std::size_t bytes, cu::Stream stream) {
  Call call("cuMemcpyHtoDAsync");
  if (call.fails()) return call.result();
  if (!within_memory(destination, bytes)) return Result::invalid_value;
  std::shared_ptr<Stream> object;
  if (const Result bad = find_stream(stream, object); bad != Result::success) return bad;
  void* to = reinterpret_cast<void*>(destination);
  if (object->capture) return submit_work(stream, [=](Worker&) { std::memcpy(to, source, bytes); });
  // Pageable memory is read before the call returns.
  const auto* first = static_cast<const char*>(source);
  return submit_work(stream, [to, staged = std::vector<char>(first, first + bytes)](Worker&) { std::memcpy(to, staged.data(), staged.size()); });
}

FAKE_DRIVER Result cuMemcpyDtoHAsync_v2(void* destination, cu::Address source, std::size_t bytes, cu::Stream stream) {
  Call call("cuMemcpyDtoHAsync");
  if (call.fails()) return call.result();
  if (!within_memory(source, bytes)) return Result::invalid_value;
  std::shared_ptr<Stream> object;
  if (const Result bad = find_stream(stream, object); bad != Result::success) return bad;
  const void* from = reinterpret_cast<const void*>(source);
  const bool captured = object->capture != nullptr;
  const Result result = submit_work(stream, [=](Worker&) { std::memcpy(destination, from, bytes); });
  if (result != Result::success || captured) return result;
  // To pageable memory the copy is complete on return.
  const Worker::Point end{object->worker, object->worker->submitted()};
  object.reset();
  call.lock().unlock();
  end.wait();
  return failure_of_kernels();
}

FAKE_DRIVER Result cuMemcpyDtoDAsync_v2(cu::Address destination, cu::Address source, std::size_t bytes, cu::Stream stream) {
  Call call("cuMemcpyDtoDAsync");
  if (call.fails()) return call.result();
  if (!within_memory(destination, bytes) || !within_memory(source, bytes)) return Result::invalid_value;
  void* to = reinterpret_cast<void*>(destination);
  const void* from = reinterpret_cast<const void*>(source);
  return submit_work(stream, [=](Worker& worker) {
    std::memcpy(to, from, bytes);
    worker.clock_ms += static_cast<double>(bytes) / bytes_a_ms;
  });
}

FAKE_DRIVER Result cuMemsetD8Async(cu::Address destination, unsigned char value, std::size_t bytes, cu::Stream stream) {
  Call call("cuMemsetD8Async");
  if (call.fails()) return call.result();
  if (!within_memory(destination, bytes)) return Result::invalid_value;
  void* to = reinterpret_cast<void*>(destination);
  return submit_work(stream, [=](Worker&) { std::memset(to, value, bytes); });
}

FAKE_API void fake_add_memory(void* data, std::size_t bytes) {
  std::lock_guard lock(state().mutex);
  state().memory[reinterpret_cast<std::uintptr_t>(data)] = {nullptr, bytes, 0, false};
}

FAKE_API void fake_remove_memory(void* data) {
  std::lock_guard lock(state().mutex);
  state().memory.erase(reinterpret_cast<std::uintptr_t>(data));
}
