// SPDX-License-Identifier: Apache-2.0
// Our own declarations of the driver's ABI against NVIDIA's header, where the build found one.
#include <catch2/catch_test_macros.hpp>

#include "cuda/driver_api.hpp"

#ifdef GGEMM_HAVE_CUDA_H
#include <cuda.h>
#include <cudaTypedefs.h>

#include <type_traits>

namespace {

namespace cu = ggemm::cuda::cu;

// Two types that are passed alike: both pointers, or both integers or enumerations of one size.
template <class Ours, class Theirs>
constexpr bool alike = sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                       std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
struct SameCall<R (*)(A...), S (*)(B...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) == sizeof...(B)) {
      return alike<R, S> && (alike<A, B> && ...);
    } else {
      return false;
    }
  }
  static constexpr bool value = compare();
};

// The member, and the version of the function that driver.cpp asks for.
#define SAME_CALL(member, typedef_name) static_assert(SameCall<decltype(cu::Functions::member), typedef_name>::value)
SAME_CALL(get_error_name, PFN_cuGetErrorName_v6000);
SAME_CALL(get_error_string, PFN_cuGetErrorString_v6000);
SAME_CALL(init, PFN_cuInit_v2000);
SAME_CALL(driver_get_version, PFN_cuDriverGetVersion_v2020);
SAME_CALL(device_get_count, PFN_cuDeviceGetCount_v2000);
SAME_CALL(device_get, PFN_cuDeviceGet_v2000);
SAME_CALL(device_get_name, PFN_cuDeviceGetName_v2000);
SAME_CALL(device_get_attribute, PFN_cuDeviceGetAttribute_v2000);
SAME_CALL(device_total_mem, PFN_cuDeviceTotalMem_v3020);
SAME_CALL(device_primary_ctx_retain, PFN_cuDevicePrimaryCtxRetain_v7000);
SAME_CALL(device_primary_ctx_release, PFN_cuDevicePrimaryCtxRelease_v11000);
SAME_CALL(ctx_get_current, PFN_cuCtxGetCurrent_v4000);
SAME_CALL(ctx_push_current, PFN_cuCtxPushCurrent_v4000);
SAME_CALL(ctx_pop_current, PFN_cuCtxPopCurrent_v4000);
SAME_CALL(ctx_get_device, PFN_cuCtxGetDevice_v2000);
SAME_CALL(module_load_data, PFN_cuModuleLoadData_v2000);
SAME_CALL(module_unload, PFN_cuModuleUnload_v2000);
SAME_CALL(module_get_function, PFN_cuModuleGetFunction_v2000);
SAME_CALL(func_get_attribute, PFN_cuFuncGetAttribute_v2020);
SAME_CALL(func_set_attribute, PFN_cuFuncSetAttribute_v9000);
SAME_CALL(occupancy_max_active_blocks_per_multiprocessor, PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050);
SAME_CALL(occupancy_max_active_clusters, PFN_cuOccupancyMaxActiveClusters_v11070);
SAME_CALL(tensor_map_encode_tiled, PFN_cuTensorMapEncodeTiled_v12000);
SAME_CALL(launch_kernel_ex, PFN_cuLaunchKernelEx_v11060);
SAME_CALL(stream_create, PFN_cuStreamCreate_v2000);
SAME_CALL(stream_destroy, PFN_cuStreamDestroy_v4000);
SAME_CALL(stream_synchronize, PFN_cuStreamSynchronize_v2000);
SAME_CALL(stream_get_id, PFN_cuStreamGetId_v12000);
SAME_CALL(stream_is_capturing, PFN_cuStreamIsCapturing_v10000);
SAME_CALL(thread_exchange_stream_capture_mode, PFN_cuThreadExchangeStreamCaptureMode_v10010);
SAME_CALL(event_create, PFN_cuEventCreate_v2000);
SAME_CALL(event_destroy, PFN_cuEventDestroy_v4000);
SAME_CALL(event_record, PFN_cuEventRecord_v2000);
SAME_CALL(event_synchronize, PFN_cuEventSynchronize_v2000);
SAME_CALL(event_elapsed_time, PFN_cuEventElapsedTime_v2000);
SAME_CALL(mem_alloc, PFN_cuMemAlloc_v3020);
SAME_CALL(mem_free, PFN_cuMemFree_v3020);
SAME_CALL(mem_alloc_async, PFN_cuMemAllocAsync_v11020);
SAME_CALL(mem_free_async, PFN_cuMemFreeAsync_v11020);
SAME_CALL(mem_host_alloc, PFN_cuMemHostAlloc_v2020);
SAME_CALL(mem_free_host, PFN_cuMemFreeHost_v2000);
SAME_CALL(memcpy_htod_async, PFN_cuMemcpyHtoDAsync_v3020);
SAME_CALL(memcpy_dtoh_async, PFN_cuMemcpyDtoHAsync_v3020);
SAME_CALL(memcpy_dtod_async, PFN_cuMemcpyDtoDAsync_v3020);
SAME_CALL(memset_d8_async, PFN_cuMemsetD8Async_v3020);
static_assert(SameCall<cu::GetProcAddress*, PFN_cuGetProcAddress_v12000>::value);
#undef SAME_CALL

#define SAME_NUMBER(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
SAME_NUMBER(cu::Result::success, CUDA_SUCCESS);
SAME_NUMBER(cu::Result::invalid_value, CUDA_ERROR_INVALID_VALUE);
SAME_NUMBER(cu::Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(cu::Result::not_initialized, CUDA_ERROR_NOT_INITIALIZED);
SAME_NUMBER(cu::Result::deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME_NUMBER(cu::Result::stub_library, CUDA_ERROR_STUB_LIBRARY);
SAME_NUMBER(cu::Result::device_unavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME_NUMBER(cu::Result::no_device, CUDA_ERROR_NO_DEVICE);
SAME_NUMBER(cu::Result::invalid_device, CUDA_ERROR_INVALID_DEVICE);
SAME_NUMBER(cu::Result::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
SAME_NUMBER(cu::Result::ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME_NUMBER(cu::Result::invalid_handle, CUDA_ERROR_INVALID_HANDLE);
SAME_NUMBER(cu::Result::not_found, CUDA_ERROR_NOT_FOUND);
SAME_NUMBER(cu::Result::context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME_NUMBER(cu::Result::system_not_ready, CUDA_ERROR_SYSTEM_NOT_READY);
SAME_NUMBER(cu::Result::system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME_NUMBER(cu::Result::stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME_NUMBER(cu::Result::stream_capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME_NUMBER(cu::Result::stream_capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME_NUMBER(cu::Result::stream_capture_wrong_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME_NUMBER(cu::DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_NUMBER(cu::DeviceAttribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME_NUMBER(cu::DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_NUMBER(cu::DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_NUMBER(cu::DeviceAttribute::shared_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_NUMBER(cu::DeviceAttribute::single_to_double_ratio, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
SAME_NUMBER(cu::DeviceAttribute::shared_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_NUMBER(cu::DeviceAttribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_NUMBER(cu::TensorType::u8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
SAME_NUMBER(cu::TensorType::i32, CU_TENSOR_MAP_DATA_TYPE_INT32);
SAME_NUMBER(cu::TensorType::f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME_NUMBER(cu::TensorType::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
SAME_NUMBER(cu::TensorType::bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME_NUMBER(cu::TensorType::tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
SAME_NUMBER(cu::TensorInterleave::none, CU_TENSOR_MAP_INTERLEAVE_NONE);
SAME_NUMBER(cu::TensorSwizzle::none, CU_TENSOR_MAP_SWIZZLE_NONE);
SAME_NUMBER(cu::TensorSwizzle::bytes_128, CU_TENSOR_MAP_SWIZZLE_128B);
SAME_NUMBER(cu::TensorL2::none, CU_TENSOR_MAP_L2_PROMOTION_NONE);
SAME_NUMBER(cu::TensorL2::bytes_128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
SAME_NUMBER(cu::TensorFill::zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
SAME_NUMBER(cu::LaunchAttributeId::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(sizeof(cu::LaunchAttribute) == sizeof(CUlaunchAttribute) && offsetof(cu::LaunchAttribute, cluster) == offsetof(CUlaunchAttribute, value));
SAME_NUMBER(cu::FunctionAttribute::shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_NUMBER(cu::FunctionAttribute::local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME_NUMBER(cu::FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME_NUMBER(cu::FunctionAttribute::max_dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_NUMBER(cu::CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE);
SAME_NUMBER(cu::CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME_NUMBER(cu::CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME_NUMBER(cu::CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME_NUMBER(cu::CaptureMode::thread_local_only, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME_NUMBER(cu::CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_NUMBER(cu::SymbolStatus::success, CU_GET_PROC_ADDRESS_SUCCESS);
SAME_NUMBER(cu::SymbolStatus::not_found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
SAME_NUMBER(cu::SymbolStatus::version_not_sufficient, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
SAME_NUMBER(cu::legacy_stream_symbols, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
SAME_NUMBER(cu::stream_non_blocking, CU_STREAM_NON_BLOCKING);
SAME_NUMBER(cu::event_default, CU_EVENT_DEFAULT);
#undef SAME_NUMBER

#define SAME_FIELD(ours, theirs)                                                        \
  static_assert(offsetof(cu::LaunchConfig, ours) == offsetof(CUlaunchConfig, theirs)); \
  static_assert(alike<decltype(cu::LaunchConfig::ours), decltype(CUlaunchConfig::theirs)>)
SAME_FIELD(grid_x, gridDimX);
SAME_FIELD(grid_y, gridDimY);
SAME_FIELD(grid_z, gridDimZ);
SAME_FIELD(block_x, blockDimX);
SAME_FIELD(block_y, blockDimY);
SAME_FIELD(block_z, blockDimZ);
SAME_FIELD(shared_bytes, sharedMemBytes);
SAME_FIELD(stream, hStream);
SAME_FIELD(attributes, attrs);
SAME_FIELD(attribute_count, numAttrs);
#undef SAME_FIELD
static_assert(sizeof(cu::LaunchConfig) == sizeof(CUlaunchConfig) && alignof(cu::LaunchConfig) == alignof(CUlaunchConfig));
static_assert(sizeof(cu::Device) == sizeof(CUdevice) && sizeof(cu::Address) == sizeof(CUdeviceptr));

}  // namespace

TEST_CASE("The driver interface is declared as in cuda.h") { SUCCEED("compared while this file was compiled, with CUDA_VERSION " << CUDA_VERSION); }

#else

TEST_CASE("The driver interface is declared as in cuda.h") {
  SKIP("cuda.h was not found when the tests were built; pip install nvidia-cuda-runtime, or set GGEMM_CUDA_INCLUDE");
}

#endif
