// SPDX-License-Identifier: Apache-2.0
// The few driver calls that the GPU tests make themselves, apart from the library's own loader, so that a fault there cannot hide from them.
#pragma once
#include <cstddef>
#include <string>

namespace ggemm::tests::cuda {

using Result = int;  // CUresult
constexpr Result success = 0;

// As in cuda.h; checked against it by the driver itself through the calls that use them.
struct Location {
  int type, id;  // 1: device
};
struct AllocationProperties {
  int type;  // 1: pinned
  int handle_types;
  Location location;
  void* windows;
  unsigned char flags[8];
};
struct AccessDescriptor {
  Location location;
  int flags;  // 3: read and write
};
static_assert(sizeof(AllocationProperties) == 32 && sizeof(AccessDescriptor) == 12);

struct Driver {
  Result (*cuInit)(unsigned);
  Result (*cuDeviceGet)(int*, int);
  Result (*cuGetErrorString)(Result, const char**);
  Result (*cuDevicePrimaryCtxRetain)(void**, int);
  Result (*cuCtxGetCurrent)(void**);
  Result (*cuCtxSetCurrent)(void*);
  Result (*cuCtxCreate_v2)(void**, unsigned, int);
  Result (*cuCtxDestroy_v2)(void*);
  Result (*cuMemGetInfo_v2)(std::size_t*, std::size_t*);
  Result (*cuMemAlloc_v2)(unsigned long long*, std::size_t);
  Result (*cuMemFree_v2)(unsigned long long);
  Result (*cuMemAddressReserve)(unsigned long long*, std::size_t, std::size_t, unsigned long long, unsigned long long);
  Result (*cuMemAddressFree)(unsigned long long, std::size_t);
  Result (*cuMemGetAllocationGranularity)(std::size_t*, const AllocationProperties*, int);
  Result (*cuMemCreate)(unsigned long long*, std::size_t, const AllocationProperties*, unsigned long long);
  Result (*cuMemRelease)(unsigned long long);
  Result (*cuMemMap)(unsigned long long, std::size_t, std::size_t, unsigned long long, unsigned long long);
  Result (*cuMemUnmap)(unsigned long long, std::size_t);
  Result (*cuMemSetAccess)(unsigned long long, std::size_t, const AccessDescriptor*, std::size_t);
  Result (*cuMemcpyHtoDAsync_v2)(unsigned long long, const void*, std::size_t, void*);
  Result (*cuMemcpyDtoHAsync_v2)(void*, unsigned long long, std::size_t, void*);
  Result (*cuMemsetD8Async)(unsigned long long, unsigned char, std::size_t, void*);
  Result (*cuStreamCreate)(void**, unsigned);
  Result (*cuStreamDestroy_v2)(void*);
  Result (*cuStreamSynchronize)(void*);
  Result (*cuStreamBeginCapture_v2)(void*, int);
  Result (*cuStreamEndCapture)(void*, void**);
  Result (*cuGraphInstantiateWithFlags)(void**, void*, unsigned long long);
  Result (*cuGraphGetNodes)(void*, void**, std::size_t*);
  Result (*cuGraphLaunch)(void*, void*);
  Result (*cuGraphExecDestroy)(void*);
  Result (*cuGraphDestroy)(void*);
};

// Loads libcuda.so.1 and initialises it, once. Throws std::runtime_error.
const Driver& driver();
// Throws std::runtime_error with `what` and the driver's words unless result is success.
void check(Result result, const char* what);
// Retains the ordinal's primary context once a process and makes it current to the calling thread.
void* use_device(int ordinal);

}  // namespace ggemm::tests::cuda
