// SPDX-License-Identifier: Apache-2.0
// Opening a device: which one, what it offers, its context.
#include "cuda/device.hpp"

#include "core/library.hpp"
#include "cuda/device_impl.hpp"

namespace ggemm::cuda {
namespace {

constexpr int oldest_capability = 75;  // the first with NVRTC support in every NVRTC that is looked for

void require(const Driver& driver, cu::Result result, const char* function) {
  if (result != cu::Result::success) core::fail(GGEMM_ERROR_DEVICE, "%s: %s", function, describe(driver, result).c_str());
}

int attribute(const Driver& driver, cu::Device device, cu::DeviceAttribute which) {
  int value = 0;
  require(driver, driver.call.device_get_attribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

int compute_capability(const Driver& driver, cu::Device device) {
  return 10 * attribute(driver, device, cu::DeviceAttribute::compute_capability_major) +
         attribute(driver, device, cu::DeviceAttribute::compute_capability_minor);
}

std::string device_name(const Driver& driver, cu::Device device) {
  char name[256] = {};
  require(driver, driver.call.device_get_name(name, sizeof name - 1, device), "cuDeviceGetName");
  return name;
}

std::int64_t device_memory(const Driver& driver, cu::Device device) {
  std::size_t bytes = 0;
  require(driver, driver.call.device_total_mem(&bytes, device), "cuDeviceTotalMem");
  return static_cast<std::int64_t>(bytes);
}

int device_count(const Driver& driver) {
  int count = 0;
  require(driver, driver.call.device_get_count(&count), "cuDeviceGetCount");
  return count;
}

cu::Device device_at(const Driver& driver, int ordinal) {
  cu::Device device = 0;
  require(driver, driver.call.device_get(&device, ordinal), "cuDeviceGet");
  return device;
}

// The device that a caller's context belongs to.
cu::Device device_of(const Driver& driver, cu::Context context) {
  cu::Device device = 0;
  cu::Context popped = nullptr;
  cu::Result result = driver.call.ctx_push_current(context);
  if (result == cu::Result::success) {
    result = driver.call.ctx_get_device(&device);
    driver.call.ctx_pop_current(&popped);
  }
  if (result == cu::Result::invalid_context || result == cu::Result::invalid_value || result == cu::Result::invalid_handle ||
      result == cu::Result::context_is_destroyed)
    core::fail(GGEMM_ERROR_ARGUMENT, "cuda_context=%p is not a context: %s", static_cast<void*>(context), describe(driver, result).c_str());
  require(driver, result, "cuCtxPushCurrent, cuCtxGetDevice");
  return device;
}

int ordinal_of(const Driver& driver, cu::Device device) {
  for (int ordinal = 0, count = device_count(driver); ordinal < count; ++ordinal)
    if (device_at(driver, ordinal) == device) return ordinal;
  core::fail(GGEMM_ERROR_DEVICE, "the context's device is none of the %d that the driver lists", device_count(driver));
}

core::DeviceFacts read_facts(const Driver& driver, cu::Device device) {
  core::DeviceFacts facts;
  facts.cuda = true;
  facts.compute_capability = compute_capability(driver, device);
  facts.multiprocessors = attribute(driver, device, cu::DeviceAttribute::multiprocessor_count);
  facts.shared_per_block = attribute(driver, device, cu::DeviceAttribute::shared_per_block_optin);
  facts.shared_per_multiprocessor = attribute(driver, device, cu::DeviceAttribute::shared_per_multiprocessor);
  facts.f64_slower = attribute(driver, device, cu::DeviceAttribute::single_to_double_ratio);
  facts.l2_bytes = attribute(driver, device, cu::DeviceAttribute::l2_cache_size);
  facts.memory_bytes = device_memory(driver, device);
  facts.threads = core::allowed_threads();
  facts.name = device_name(driver, device);
  // Only the "a" variant has wgmma and setmaxnreg; of the later architectures nothing beyond the common set is used.
  facts.arch = core::text("sm_%d%s", facts.compute_capability, facts.compute_capability == 90 ? "a" : "");
  facts.driver_version = driver.version;
  return facts;
}

}  // namespace

Device::Device(int ordinal, void* cuda_context, const Allocator& allocator) : impl_(new Impl{{.driver = driver()}}) {
  const Driver& driver = impl_->driver;
  impl_->allocator = allocator;
  if (cuda_context) {
    impl_->context = static_cast<cu::Context>(cuda_context);
    impl_->device = device_of(driver, impl_->context);
    impl_->ordinal = ordinal_of(driver, impl_->device);
  } else {
    const int count = device_count(driver);
    if (ordinal < 0 || ordinal >= count)
      core::fail(GGEMM_ERROR_DEVICE, "ordinal=%d, but %s has %d device%s", ordinal, driver.path.c_str(), count, count == 1 ? "" : "s");
    impl_->device = device_at(driver, ordinal);
    impl_->ordinal = ordinal;
  }
  impl_->facts = read_facts(driver, impl_->device);
  impl_->pools = attribute(driver, impl_->device, cu::DeviceAttribute::memory_pools_supported) != 0;
  if (impl_->facts.compute_capability < oldest_capability)
    core::fail(GGEMM_ERROR_DEVICE, "device %d (%s) has compute capability %d.%d; %d.%d is the oldest that ggemm serves", impl_->ordinal,
               impl_->facts.name.c_str(), impl_->facts.compute_capability / 10, impl_->facts.compute_capability % 10, oldest_capability / 10,
               oldest_capability % 10);
  if (!cuda_context) {
    const RelaxedCapture relaxed(driver);
    require(driver, relaxed.result(), "cuThreadExchangeStreamCaptureMode");
    require(driver, driver.call.device_primary_ctx_retain(&impl_->context, impl_->device), "cuDevicePrimaryCtxRetain");
    impl_->retained = true;
  }
}

Device::~Device() {
  if (!impl_->retained || forked()) return;
  const RelaxedCapture relaxed(impl_->driver);
  impl_->driver.call.device_primary_ctx_release(impl_->device);
}

const core::DeviceFacts& Device::facts() const { return impl_->facts; }
int Device::ordinal() const { return impl_->ordinal; }

bool Device::capturing(void* stream) const {
  const Scope scope(*impl_);
  scope.require();
  auto status = cu::CaptureStatus::none;
  const cu::Result result = impl_->driver.call.stream_is_capturing(as_stream(stream), &status);
  // Asked about the default stream while a stream that synchronises with it captures: any work on the default stream would break that capture.
  if (result == cu::Result::stream_capture_implicit) return true;
  if (result == cu::Result::invalid_handle || result == cu::Result::invalid_context)
    core::fail(GGEMM_ERROR_ARGUMENT, "stream=%p is not a stream of this context: %s", stream, describe(impl_->driver, result).c_str());
  check(impl_->driver, result, "cuStreamIsCapturing");
  return status != cu::CaptureStatus::none;
}

DriverReport diagnose() {
  DriverReport report;
  const Driver* driver = find_driver(report.detail);
  if (!driver) return report;
  report.found = true;
  report.version = driver->version;
  report.path = driver->path;
  const auto note = [&](cu::Result result, const char* function) {
    if (result == cu::Result::success) return true;
    report.detail += (report.detail.empty() ? "" : "; ") + std::string(function) + ": " + describe(*driver, result);
    return false;
  };
  int count = 0;
  if (!note(driver->call.device_get_count(&count), "cuDeviceGetCount")) return report;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cu::Device device = 0;
    char name[256] = {};
    int major = 0, minor = 0;
    std::size_t memory = 0;
    if (note(driver->call.device_get(&device, ordinal), "cuDeviceGet") &&
        note(driver->call.device_get_name(name, sizeof name - 1, device), "cuDeviceGetName") &&
        note(driver->call.device_get_attribute(&major, cu::DeviceAttribute::compute_capability_major, device), "cuDeviceGetAttribute") &&
        note(driver->call.device_get_attribute(&minor, cu::DeviceAttribute::compute_capability_minor, device), "cuDeviceGetAttribute") &&
        note(driver->call.device_total_mem(&memory, device), "cuDeviceTotalMem"))
      report.devices.push_back({ordinal, name, 10 * major + minor, static_cast<std::int64_t>(memory)});
  }
  return report;
}

}  // namespace ggemm::cuda
