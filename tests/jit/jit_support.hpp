// SPDX-License-Identifier: Apache-2.0
// What the tests of the kernel compiler share.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>

#include "jit/jit.hpp"
#include "jit/nvrtc.hpp"
#include "support/errors.hpp"

namespace ggemm::tests {

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The NVRTC that the tests use. Without one the test is skipped, but in CI that is a failure.
inline std::shared_ptr<const jit::Nvrtc> nvrtc_or_skip() {
  try {
    return jit::load_nvrtc(variable("GGEMM_NVRTC"), 0);
  } catch (const core::Error& error) {
    if (!variable("CI").empty()) FAIL(error.text());
    SKIP("needs NVRTC: install it with `pip install nvidia-cuda-nvrtc` and set GGEMM_NVRTC to its libnvrtc.so.13");
    throw;
  }
}

}  // namespace ggemm::tests
