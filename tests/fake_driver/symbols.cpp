// SPDX-License-Identifier: Apache-2.0
// The driver's tables: functions by name and CUDA version, errors by name and text.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "state.hpp"

using namespace fake;

namespace {

// A function as cuGetProcAddress knows it: from which CUDA version on, and the suffix of the symbol that is then meant.
struct Symbol {
  const char* name;
  int version;
  const char* suffix = "";
};
constexpr Symbol symbols[] = {
    {"cuGetErrorName", 6000}, {"cuGetErrorString", 6000}, {"cuInit", 2000}, {"cuDriverGetVersion", 2020}, {"cuGetProcAddress", 12000, "_v2"},
    {"cuDeviceGetCount", 2000}, {"cuDeviceGet", 2000}, {"cuDeviceGetName", 2000}, {"cuDeviceGetAttribute", 2000}, {"cuDeviceTotalMem", 3020, "_v2"},
    {"cuDevicePrimaryCtxRetain", 7000}, {"cuDevicePrimaryCtxRelease", 11000, "_v2"},
    {"cuCtxCreate", 3020, "_v2"}, {"cuCtxDestroy", 4000, "_v2"}, {"cuCtxGetCurrent", 4000}, {"cuCtxSetCurrent", 4000},
    {"cuCtxPushCurrent", 4000, "_v2"}, {"cuCtxPopCurrent", 4000, "_v2"}, {"cuCtxGetDevice", 2000}, {"cuCtxSynchronize", 2000},
    {"cuModuleLoadData", 2000}, {"cuModuleUnload", 2000}, {"cuModuleGetFunction", 2000}, {"cuFuncGetAttribute", 2020}, {"cuFuncSetAttribute", 9000},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050}, {"cuLaunchKernelEx", 11060},
    {"cuOccupancyMaxActiveClusters", 11070}, {"cuTensorMapEncodeTiled", 12000},
    {"cuStreamCreate", 2000}, {"cuStreamDestroy", 4000, "_v2"}, {"cuStreamSynchronize", 2000}, {"cuStreamIsCapturing", 10000}, {"cuStreamGetId", 12000},
    {"cuStreamBeginCapture", 10010, "_v2"}, {"cuStreamEndCapture", 10000}, {"cuThreadExchangeStreamCaptureMode", 10010},
    {"cuGraphInstantiateWithFlags", 11040}, {"cuGraphLaunch", 10000}, {"cuGraphExecDestroy", 10000}, {"cuGraphDestroy", 10000},
    {"cuEventCreate", 2000}, {"cuEventDestroy", 4000, "_v2"}, {"cuEventRecord", 2000}, {"cuEventSynchronize", 2000}, {"cuEventElapsedTime", 2000},
    {"cuMemAlloc", 3020, "_v2"}, {"cuMemFree", 3020, "_v2"}, {"cuMemAllocAsync", 11020}, {"cuMemFreeAsync", 11020}, {"cuMemHostAlloc", 2020}, {"cuMemFreeHost", 2000},
    {"cuMemcpyHtoDAsync", 3020, "_v2"}, {"cuMemcpyDtoHAsync", 3020, "_v2"}, {"cuMemcpyDtoDAsync", 3020, "_v2"}, {"cuMemsetD8Async", 3020},
};

struct ErrorText {
  int code;
  const char* name;
  const char* words;
};
constexpr ErrorText errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* find_error(Result result) {
  const auto* found = std::find_if(std::begin(errors), std::end(errors), [&](const ErrorText& error) { return error.code == static_cast<int>(result); });
  return found == std::end(errors) ? nullptr : found;
}

// This library itself.
void* self() {
  static void* const handle = [] {
    Dl_info info{};
    return dladdr(reinterpret_cast<void*>(&state), &info) ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  }();
  return handle;
}

}  // namespace

FAKE_DRIVER Result cuGetErrorName(Result result, const char** out) {
  Call call("cuGetErrorName", Call::Kind::unfailing);
  const ErrorText* error = find_error(result);
  *out = error && !call.fails() ? error->name : nullptr;
  return call.fails() ? call.result() : error ? Result::success : Result::invalid_value;
}

FAKE_DRIVER Result cuGetErrorString(Result result, const char** out) {
  Call call("cuGetErrorString", Call::Kind::unfailing);
  const ErrorText* error = find_error(result);
  *out = error && !call.fails() ? error->words : nullptr;
  return call.fails() ? call.result() : error ? Result::success : Result::invalid_value;
}

FAKE_DRIVER Result cuGetProcAddress_v2(const char* name, void** out, int cuda_version, std::uint64_t flags, cu::SymbolStatus* status) {
  Call call("cuGetProcAddress", Call::Kind::before_init);
  *out = nullptr;
  *status = cu::SymbolStatus::not_found;
  if (call.fails()) return call.result();
  if (flags > cu::legacy_stream_symbols) return Result::invalid_value;  // the per-thread variants are not faked
  const State& s = state();
  const auto* found = std::find_if(std::begin(symbols), std::end(symbols), [&](const Symbol& symbol) { return std::strcmp(symbol.name, name) == 0; });
  const bool hidden = std::find(s.hidden.begin(), s.hidden.end(), name) != s.hidden.end();
  if (found == std::end(symbols) || hidden || found->version > s.driver_version) return Result::not_found;
  *status = cu::SymbolStatus::version_not_sufficient;
  if (found->version > cuda_version) return Result::not_found;
  *out = dlsym(self(), (std::string(found->name) + found->suffix).c_str());
  if (!*out) return Result::not_found;
  *status = cu::SymbolStatus::success;
  return Result::success;
}
