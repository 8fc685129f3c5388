// SPDX-License-Identifier: Apache-2.0
// What the tests of the kernel compiler share.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>

#include "core/error.hpp"
#include "jit/jit.hpp"
#include "jit/nvrtc.hpp"

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

// The text of the error that `call` throws; the status is checked.
template <class Call>
std::string error_of(Call call, ggemm_status status) {
  try {
    call();
  } catch (const core::Error& error) {
    CHECK(error.status() == status);
    return error.text();
  }
  FAIL("no error was thrown");
  return "";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace ggemm::tests
