// SPDX-License-Identifier: Apache-2.0
// The devices: a product of each architecture, by its published figures.
#include <unistd.h>

#include <cstdio>

#include "state.hpp"

namespace fake {
namespace {

struct Product {
  int capability;
  const char* name;
  double memory_gib;
  int multiprocessors, l2_kib;
  int shared_per_multiprocessor_kib, threads_per_multiprocessor;
  int f64_slower;
};
constexpr Product products[] = {
    {75, "NVIDIA T4", 15, 40, 4 * 1024, 64, 1024, 32},
    {80, "NVIDIA A100-SXM4-80GB", 80, 108, 40 * 1024, 164, 2048, 2},
    {86, "NVIDIA A10", 22, 72, 6 * 1024, 100, 1536, 32},
    {89, "NVIDIA L4", 22, 58, 48 * 1024, 100, 1536, 64},
    {90, "NVIDIA H200", 140, 132, 60 * 1024, 228, 2048, 2},
    {100, "NVIDIA B200", 179, 148, 126 * 1024, 228, 2048, 2},
    {120, "NVIDIA RTX PRO 6000 Blackwell", 95, 188, 128 * 1024, 100, 1536, 64},
};

constexpr int emulated_l2_kib = 256;  // there is none, and what empties it for the tuner is soon done

// Attributes that the library does not ask for by name, but the fake's own occupancy does.
enum : int { max_threads_per_block = 1, max_shared_per_block = 8, max_threads_per_multiprocessor = 39, max_registers_per_multiprocessor = 82 };

DeviceModel make_device(const Product& product) {
  DeviceModel device{product.capability, product.name, static_cast<std::size_t>(product.memory_gib * 1024) << 20, {}};
  // One KiB of each CTA's shared memory is the system's, but on Turing.
  const int reserved = product.capability == 75 ? 0 : 1024;
  const auto set = [&](cu::DeviceAttribute which, int value) { device.attributes[static_cast<int>(which)] = value; };
  set(cu::DeviceAttribute::multiprocessor_count, product.multiprocessors);
  set(cu::DeviceAttribute::l2_cache_size, product.l2_kib * 1024);
  set(cu::DeviceAttribute::compute_capability_major, product.capability / 10);
  set(cu::DeviceAttribute::compute_capability_minor, product.capability % 10);
  set(cu::DeviceAttribute::shared_per_multiprocessor, product.shared_per_multiprocessor_kib * 1024);
  set(cu::DeviceAttribute::shared_per_block_optin, product.shared_per_multiprocessor_kib * 1024 - reserved);
  set(cu::DeviceAttribute::single_to_double_ratio, product.f64_slower);
  set(cu::DeviceAttribute::memory_pools_supported, 1);
  device.attributes[max_threads_per_block] = 1024;
  device.attributes[max_shared_per_block] = 48 * 1024;
  device.attributes[max_threads_per_multiprocessor] = product.threads_per_multiprocessor;
  device.attributes[max_registers_per_multiprocessor] = 65536;
  return device;
}

DeviceModel* device_model(cu::Device device) {
  std::vector<DeviceModel>& devices = state().devices;
  return device >= 0 && static_cast<std::size_t>(device) < devices.size() ? &devices[static_cast<std::size_t>(device)] : nullptr;
}

}  // namespace

bool make_devices(const int* capabilities, int count, std::vector<DeviceModel>& out) {
  std::vector<DeviceModel> made;
  for (int i = 0; i < count; ++i)
    for (const Product& product : products)
      if (product.capability == capabilities[i]) made.push_back(make_device(product));
  if (made.size() != static_cast<std::size_t>(count)) return false;
  out = std::move(made);
  return true;
}

bool shrink_devices(int multiprocessors, std::vector<DeviceModel>& devices) {
  for (DeviceModel& device : devices) {
    device.attributes[static_cast<int>(cu::DeviceAttribute::multiprocessor_count)] = multiprocessors;
    device.attributes[static_cast<int>(cu::DeviceAttribute::l2_cache_size)] = emulated_l2_kib * 1024;
    device.name += " (emulated)";
  }
  return multiprocessors > 0;
}

}  // namespace fake

using namespace fake;

FAKE_DRIVER Result cuInit(unsigned flags) {
  Call call("cuInit", Call::Kind::before_init);
  if (call.fails()) return call.result();
  if (flags != 0) return Result::invalid_value;
  if (state().devices.empty() && state().initialised_by == 0) return Result::no_device;
  state().initialised_by = getpid();
  return Result::success;
}

FAKE_DRIVER Result cuDriverGetVersion(int* version) {
  Call call("cuDriverGetVersion", Call::Kind::before_init);
  if (call.fails()) return call.result();
  *version = state().driver_version;
  return Result::success;
}

FAKE_DRIVER Result cuDeviceGetCount(int* count) {
  Call call("cuDeviceGetCount");
  if (call.fails()) return call.result();
  *count = static_cast<int>(state().devices.size());
  return Result::success;
}

FAKE_DRIVER Result cuDeviceGet(cu::Device* device, int ordinal) {
  Call call("cuDeviceGet");
  if (call.fails()) return call.result();
  if (!device_model(ordinal)) return Result::invalid_device;
  *device = ordinal;
  return Result::success;
}

FAKE_DRIVER Result cuDeviceGetName(char* name, int length, cu::Device device) {
  Call call("cuDeviceGetName");
  if (call.fails()) return call.result();
  const DeviceModel* model = device_model(device);
  if (!model) return Result::invalid_device;
  if (length < 1) return Result::invalid_value;
  std::snprintf(name, static_cast<std::size_t>(length), "%s", model->name.c_str());
  return Result::success;
}

FAKE_DRIVER Result cuDeviceGetAttribute(int* value, int attribute, cu::Device device) {
  Call call("cuDeviceGetAttribute");
  if (call.fails()) return call.result();
  const DeviceModel* model = device_model(device);
  if (!model) return Result::invalid_device;
  const auto found = model->attributes.find(attribute);
  if (found == model->attributes.end()) return Result::invalid_value;
  *value = found->second;
  return Result::success;
}

FAKE_DRIVER Result cuDeviceTotalMem_v2(std::size_t* bytes, cu::Device device) {
  Call call("cuDeviceTotalMem");
  if (call.fails()) return call.result();
  const DeviceModel* model = device_model(device);
  if (!model) return Result::invalid_device;
  *bytes = model->memory_bytes;
  return Result::success;
}

FAKE_API int fake_set_devices(const int* capabilities, int count) {
  std::lock_guard lock(state().mutex);
  return make_devices(capabilities, count, state().devices);
}

FAKE_API void fake_set_attribute(int ordinal, int attribute, int value) {
  std::lock_guard lock(state().mutex);
  state().devices.at(static_cast<std::size_t>(ordinal)).attributes[attribute] = value;
}

FAKE_API void fake_set_memory_limit(int ordinal, std::size_t bytes) {
  std::lock_guard lock(state().mutex);
  state().devices.at(static_cast<std::size_t>(ordinal)).memory_bytes = bytes;
}
