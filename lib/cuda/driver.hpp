// SPDX-License-Identifier: Apache-2.0
// libcuda, found and loaded at run time. One for the process, never closed.
#pragma once
#include <string>

#include "core/error.hpp"
#include "cuda/driver_api.hpp"

namespace ggemm::cuda {

struct Driver {
  cu::Functions call{};
  int version = 0;   // 1000 * major + 10 * minor
  std::string path;  // of the file
};

// The driver, once there is one that initialises and has a device: $GGEMM_LIBCUDA first, then libcuda.so.1. nullptr if there is none; `why` then lists
// every path tried. A failure is not remembered: the next call tries again. Thread-safe.
const Driver* find_driver(std::string& why);
// The same; throws GGEMM_ERROR_DEVICE.
const Driver& driver();

// True in a child forked by a process that had initialised the driver: nothing of CUDA works there, and calls may hang.
bool forked() noexcept;
// What is wrong then.
extern const char* const forked_text;

// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", by the driver's own tables.
std::string describe(const Driver& driver, cu::Result result);
// What a failed call means to the caller of ggemm; `otherwise` if the result itself does not say.
ggemm_status status_of(cu::Result result, ggemm_status otherwise) noexcept;
// Throws unless the call succeeded: "cuModuleLoadData (what): CUDA_ERROR_...".
void check(const Driver& driver, cu::Result result, const char* function, ggemm_status otherwise = GGEMM_ERROR_LAUNCH);

}  // namespace ggemm::cuda
