// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/library.hpp"

namespace ggemm::cuda {
namespace {

std::mutex load_mutex;
std::atomic<const Driver*> loaded_driver{nullptr};  // never freed: the library is never closed
std::atomic<bool> in_forked_child{false};

void after_fork_in_child() {
  if (loaded_driver.load(std::memory_order_relaxed)) in_forked_child.store(true, std::memory_order_relaxed);
}

// Asks for functions by the CUDA version whose signature driver_api.hpp declares; keeps the first complaint.
class Resolver {
 public:
  explicit Resolver(cu::GetProcAddress* get) : get_(get) {}

  template <class F>
  void operator()(F*& slot, const char* name, int version) {
    if (!missing_.empty()) return;
    void* address = nullptr;
    auto status = cu::SymbolStatus::success;
    result_ = get_(name, &address, version, cu::legacy_stream_symbols, &status);
    if (result_ == cu::Result::success && status == cu::SymbolStatus::success && address) {
      slot = reinterpret_cast<F*>(address);
    } else {
      missing_ = name;
    }
  }
  const std::string& missing() const { return missing_; }
  cu::Result result() const { return result_; }

 private:
  cu::GetProcAddress* get_;
  std::string missing_;
  cu::Result result_ = cu::Result::success;
};

void resolve_all(Resolver& resolve, cu::Functions& call) {
  resolve(call.get_error_name, "cuGetErrorName", 6000);
  resolve(call.get_error_string, "cuGetErrorString", 6000);
  resolve(call.init, "cuInit", 2000);
  resolve(call.driver_get_version, "cuDriverGetVersion", 2020);
  resolve(call.device_get_count, "cuDeviceGetCount", 2000);
  resolve(call.device_get, "cuDeviceGet", 2000);
  resolve(call.device_get_name, "cuDeviceGetName", 2000);
  resolve(call.device_get_attribute, "cuDeviceGetAttribute", 2000);
  resolve(call.device_total_mem, "cuDeviceTotalMem", 3020);
  resolve(call.device_primary_ctx_retain, "cuDevicePrimaryCtxRetain", 7000);
  resolve(call.device_primary_ctx_release, "cuDevicePrimaryCtxRelease", 11000);
  resolve(call.ctx_get_current, "cuCtxGetCurrent", 4000);
  resolve(call.ctx_push_current, "cuCtxPushCurrent", 4000);
  resolve(call.ctx_pop_current, "cuCtxPopCurrent", 4000);
  resolve(call.ctx_get_device, "cuCtxGetDevice", 2000);
  resolve(call.module_load_data, "cuModuleLoadData", 2000);
  resolve(call.module_unload, "cuModuleUnload", 2000);
  resolve(call.module_get_function, "cuModuleGetFunction", 2000);
  resolve(call.func_get_attribute, "cuFuncGetAttribute", 2020);
  resolve(call.func_set_attribute, "cuFuncSetAttribute", 9000);
  resolve(call.occupancy_max_active_blocks_per_multiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050);
  resolve(call.occupancy_max_active_clusters, "cuOccupancyMaxActiveClusters", 11070);
  resolve(call.tensor_map_encode_tiled, "cuTensorMapEncodeTiled", 12000);
  resolve(call.launch_kernel_ex, "cuLaunchKernelEx", 11060);
  resolve(call.stream_create, "cuStreamCreate", 2000);
  resolve(call.stream_destroy, "cuStreamDestroy", 4000);
  resolve(call.stream_synchronize, "cuStreamSynchronize", 2000);
  resolve(call.stream_get_id, "cuStreamGetId", 12000);
  resolve(call.stream_is_capturing, "cuStreamIsCapturing", 10000);
  resolve(call.thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode", 10010);
  resolve(call.event_create, "cuEventCreate", 2000);
  resolve(call.event_destroy, "cuEventDestroy", 4000);
  resolve(call.event_record, "cuEventRecord", 2000);
  resolve(call.event_synchronize, "cuEventSynchronize", 2000);
  resolve(call.event_elapsed_time, "cuEventElapsedTime", 2000);
  resolve(call.mem_alloc, "cuMemAlloc", 3020);
  resolve(call.mem_free, "cuMemFree", 3020);
  resolve(call.mem_alloc_async, "cuMemAllocAsync", 11020);
  resolve(call.mem_free_async, "cuMemFreeAsync", 11020);
  resolve(call.mem_host_alloc, "cuMemHostAlloc", 2020);
  resolve(call.mem_free_host, "cuMemFreeHost", 2000);
  resolve(call.memcpy_htod_async, "cuMemcpyHtoDAsync", 3020);
  resolve(call.memcpy_dtoh_async, "cuMemcpyDtoHAsync", 3020);
  resolve(call.memcpy_dtod_async, "cuMemcpyDtoDAsync", 3020);
  resolve(call.memset_d8_async, "cuMemsetD8Async", 3020);
}

std::string refusal(const Driver& driver, const char* function, cu::Result result) {
  std::string text = std::string(function) + ": " + describe(driver, result);
  if (result == cu::Result::stub_library) text += "; this is the CUDA toolkit's stub for linking, not a driver";
  return text;
}

// Why the library is of no use; "" if it is a driver with a device, which `driver` then is.
std::string set_up(void* library, Driver& driver) {
  auto* get = reinterpret_cast<cu::GetProcAddress*>(core::find_symbol(library, "cuGetProcAddress_v2"));
  if (!get) return "cuGetProcAddress_v2 is missing; a driver for CUDA 12.0 or newer is needed";
  driver.path = core::library_path(reinterpret_cast<const void*>(get));
  Resolver resolve(get);
  resolve_all(resolve, driver.call);
  if (resolve.result() == cu::Result::stub_library) return refusal(driver, "cuGetProcAddress", resolve.result());
  if (!resolve.missing().empty()) return resolve.missing() + " is missing; a driver for CUDA 12.0 or newer is needed";

  if (const cu::Result result = driver.call.init(0); result != cu::Result::success) return refusal(driver, "cuInit", result);
  if (const cu::Result result = driver.call.driver_get_version(&driver.version); result != cu::Result::success)
    return refusal(driver, "cuDriverGetVersion", result);
  int devices = 0;
  if (const cu::Result result = driver.call.device_get_count(&devices); result != cu::Result::success)
    return refusal(driver, "cuDeviceGetCount", result);
  if (devices < 1) return core::text("the driver (CUDA %d.%d) has no device", driver.version / 1000, driver.version % 1000 / 10);
  return "";
}

const Driver* load_driver(std::vector<std::string>& tried) {
  std::vector<void*> seen;
  for (const std::string& path : {core::environment("GGEMM_LIBCUDA"), std::string("libcuda.so.1")}) {
    if (path.empty()) continue;
    void* library = core::open_library(path, tried);
    // A file that carries this SONAME is what the loader returns for the SONAME too.
    if (!library || std::find(seen.begin(), seen.end(), library) != seen.end()) continue;
    seen.push_back(library);
    auto driver = std::make_unique<Driver>();
    const std::string trouble = set_up(library, *driver);
    if (trouble.empty()) return driver.release();
    tried.push_back((driver->path.empty() ? path : driver->path) + ": " + trouble);
  }
  return nullptr;
}

}  // namespace

const char* const forked_text = "this process was forked after CUDA was initialised, and CUDA does not work in such a child; fork earlier, or call exec";

bool forked() noexcept { return in_forked_child.load(std::memory_order_relaxed); }

const Driver* find_driver(std::string& why) {
  if (forked()) {
    why = forked_text;
    return nullptr;
  }
  if (const Driver* driver = loaded_driver.load(std::memory_order_acquire)) return driver;
  std::lock_guard lock(load_mutex);
  if (const Driver* driver = loaded_driver.load(std::memory_order_acquire)) return driver;
  std::vector<std::string> tried;
  const Driver* driver = load_driver(tried);
  if (driver) {
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
    loaded_driver.store(driver, std::memory_order_release);
    return driver;
  }
  why = "no CUDA driver with a device was found; tried ";
  for (std::size_t i = 0; i < tried.size(); ++i) why += (i ? "; " : "") + tried[i];
  return nullptr;
}

const Driver& driver() {
  std::string why;
  const Driver* driver = find_driver(why);
  if (!driver) core::fail(GGEMM_ERROR_DEVICE, "%s", why.c_str());
  return *driver;
}

std::string describe(const Driver& driver, cu::Result result) {
  const char* name = nullptr;
  const char* words = nullptr;
  const auto ask = [result](auto* function, const char*& answer) {
    if (!function || function(result, &answer) != cu::Result::success) answer = nullptr;
  };
  ask(driver.call.get_error_name, name);
  ask(driver.call.get_error_string, words);
  std::string text = name ? name : core::text("CUDA error %d", static_cast<int>(result));
  return words ? text + " (" + words + ")" : text;
}

ggemm_status status_of(cu::Result result, ggemm_status otherwise) noexcept {
  switch (result) {
    case cu::Result::out_of_memory: return GGEMM_ERROR_OUT_OF_MEMORY;
    case cu::Result::stream_capture_unsupported:
    case cu::Result::stream_capture_invalidated:
    case cu::Result::stream_capture_implicit:
    case cu::Result::stream_capture_wrong_thread: return GGEMM_ERROR_NOT_PREPARED;
    case cu::Result::not_initialized:
    case cu::Result::deinitialized:
    case cu::Result::stub_library:
    case cu::Result::device_unavailable:
    case cu::Result::no_device:
    case cu::Result::invalid_device:
    case cu::Result::ecc_uncorrectable:
    case cu::Result::context_is_destroyed:
    case cu::Result::system_not_ready:
    case cu::Result::system_driver_mismatch: return GGEMM_ERROR_DEVICE;
    default: return otherwise;
  }
}

void check(const Driver& driver, cu::Result result, const char* function, ggemm_status otherwise) {
  if (result == cu::Result::success) return;
  core::fail(status_of(result, otherwise), "%s: %s", function, describe(driver, result).c_str());
}

}  // namespace ggemm::cuda
