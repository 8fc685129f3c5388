// SPDX-License-Identifier: Apache-2.0
// NVRTC, opened at run time. Its functions are declared here, so that no CUDA header is needed to build.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ggemm::jit {

// NVRTC's own object, of which we hold pointers only.
struct NvrtcProgram;

// The functions in use, with nvrtcResult as the int that it is.
struct Nvrtc {
  std::string path, version;  // "13.5"
  int major = 0, minor = 0;
  const char* (*error_string)(int) = nullptr;
  int (*get_version)(int*, int*) = nullptr;
  int (*arch_count)(int*) = nullptr;  // of what it compiles for, as the next
  int (*archs)(int*) = nullptr;       // 90 for sm_90a
  int (*create)(NvrtcProgram**, const char* source, const char* name, int headers, const char* const* texts, const char* const* names) = nullptr;
  int (*destroy)(NvrtcProgram**) = nullptr;
  int (*compile)(NvrtcProgram*, int count, const char* const* options) = nullptr;
  int (*log_size)(NvrtcProgram*, std::size_t*) = nullptr;
  int (*log)(NvrtcProgram*, char*) = nullptr;
  int (*cubin_size)(NvrtcProgram*, std::size_t*) = nullptr;
  int (*cubin)(NvrtcProgram*, char*) = nullptr;
};

// Loaded when it is first needed and never unloaded: one for the process, but for unlike devices. `path` is the library's file; "" searches. An NVRTC of
// a newer major version than the driver's (1000 * major + 10 * minor; 0: any) is passed over, and one that does not compile for a device of this
// compute capability (90; 0: any). Throws GGEMM_ERROR_COMPILE with every path tried; the next call tries again.
std::shared_ptr<const Nvrtc> load_nvrtc(const std::string& path, int driver_version, int compute_capability = 0);

// Where a search looks, in this order, after the libraries that the process has loaded already. A name without a folder is left to the dynamic
// loader.
std::vector<std::string> nvrtc_candidates();

}  // namespace ggemm::jit
