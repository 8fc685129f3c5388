// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's ABI that ggemm uses, declared by ourselves so that building needs no CUDA header. A test compares every line with cuda.h.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ggemm::cuda::cu {

enum class Result : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  stub_library = 34,
  device_unavailable = 46,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  invalid_ptx = 218,
  unsupported_ptx_version = 222,
  invalid_source = 300,
  invalid_handle = 400,
  not_found = 500,
  context_is_destroyed = 709,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  stream_capture_implicit = 906,
  stream_capture_wrong_thread = 908,
};

using Device = int;
using Address = unsigned long long;  // CUdeviceptr
using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;

enum class DeviceAttribute : int {
  multiprocessor_count = 16,
  l2_cache_size = 38,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  shared_per_multiprocessor = 81,
  single_to_double_ratio = 87,
  shared_per_block_optin = 97,
  memory_pools_supported = 115,
};

enum class FunctionAttribute : int {
  shared_bytes = 1,
  local_bytes = 3,
  registers = 4,
  max_dynamic_shared_bytes = 8,
};

enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class CaptureMode : int { global = 0, thread_local_only = 1, relaxed = 2 };
enum class SymbolStatus : int { success = 0, not_found = 1, version_not_sufficient = 2 };

inline constexpr std::uint64_t legacy_stream_symbols = 1;   // cuGetProcAddress: functions whose NULL stream is the legacy default stream
inline constexpr unsigned stream_non_blocking = 1;          // does not synchronise with the legacy default stream
inline constexpr unsigned host_memory_mapped = 2;           // a device's kernels may use it, at the same address
inline constexpr unsigned event_default = 0;                // with timing

enum class TensorType : int { u8 = 0, i32 = 3, f16 = 6, f32 = 7, bf16 = 9, tf32 = 11 };
enum class TensorInterleave : int { none = 0 };
enum class TensorSwizzle : int { none = 0, bytes_128 = 3 };
enum class TensorL2 : int { none = 0, bytes_128 = 2 };
enum class TensorFill : int { zeros = 0 };

enum class LaunchAttributeId : int { cluster_dimension = 4, programmatic_stream_serialization = 6 };
struct LaunchAttribute {
  LaunchAttributeId id;
  int pad;
  union {
    char bytes[64];
    struct { unsigned x, y, z; } cluster;
    int programmatic_stream_serialization;
  };
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

using GetProcAddress = Result(const char* symbol, void** function, int cuda_version, std::uint64_t flags, SymbolStatus* status);  // ..._v2, CUDA 12.0

// Members are named as the driver's functions, less "cu". driver.cpp says which version of each is asked for.
struct Functions {
  Result (*get_error_name)(Result, const char**);
  Result (*get_error_string)(Result, const char**);
  Result (*init)(unsigned flags);
  Result (*driver_get_version)(int*);

  Result (*device_get_count)(int*);
  Result (*device_get)(Device*, int ordinal);
  Result (*device_get_name)(char*, int length, Device);
  Result (*device_get_attribute)(int*, DeviceAttribute, Device);
  Result (*device_total_mem)(std::size_t*, Device);
  Result (*device_primary_ctx_retain)(Context*, Device);
  Result (*device_primary_ctx_release)(Device);

  Result (*ctx_get_current)(Context*);
  Result (*ctx_push_current)(Context);
  Result (*ctx_pop_current)(Context*);
  Result (*ctx_get_device)(Device*);

  Result (*module_load_data)(Module*, const void* image);
  Result (*module_unload)(Module);
  Result (*module_get_function)(Function*, Module, const char* name);
  Result (*func_get_attribute)(int*, FunctionAttribute, Function);
  Result (*func_set_attribute)(Function, FunctionAttribute, int value);
  Result (*occupancy_max_active_blocks_per_multiprocessor)(int*, Function, int threads, std::size_t dynamic_shared);
  Result (*occupancy_max_active_clusters)(int*, Function, const LaunchConfig*);
  Result (*tensor_map_encode_tiled)(void* map, TensorType, std::uint32_t rank, void* address, const std::uint64_t* dims, const std::uint64_t* strides, const std::uint32_t* box,
                                    const std::uint32_t* element_strides, TensorInterleave, TensorSwizzle, TensorL2, TensorFill);
  Result (*launch_kernel_ex)(const LaunchConfig*, Function, void** params, void** extra);

  Result (*stream_create)(Stream*, unsigned flags);
  Result (*stream_destroy)(Stream);
  Result (*stream_synchronize)(Stream);
  Result (*stream_get_id)(Stream, unsigned long long*);
  Result (*stream_is_capturing)(Stream, CaptureStatus*);
  Result (*thread_exchange_stream_capture_mode)(CaptureMode*);
  Result (*event_create)(Event*, unsigned flags);
  Result (*event_destroy)(Event);
  Result (*event_record)(Event, Stream);
  Result (*event_synchronize)(Event);
  Result (*event_elapsed_time)(float* milliseconds, Event begin, Event end);

  Result (*mem_alloc)(Address*, std::size_t);
  Result (*mem_free)(Address);
  Result (*mem_alloc_async)(Address*, std::size_t, Stream);
  Result (*mem_free_async)(Address, Stream);
  Result (*mem_host_alloc)(void**, std::size_t, unsigned flags);
  Result (*mem_free_host)(void*);
  Result (*memcpy_htod_async)(Address, const void*, std::size_t, Stream);
  Result (*memcpy_dtoh_async)(void*, Address, std::size_t, Stream);
  Result (*memcpy_dtod_async)(Address, Address, std::size_t, Stream);
  Result (*memset_d8_async)(Address, unsigned char, std::size_t, Stream);
};

}  // namespace ggemm::cuda::cu
