// SPDX-License-Identifier: Apache-2.0
// The fake NVRTC for tests of the whole interface: its control functions, and options of a context that uses it. GGEMM_FAKE_NVRTC is the path of the built
// library.
#pragma once
#include <dlfcn.h>

#include <stdexcept>

#include "fake_nvrtc/fake_nvrtc.h"
#include "machine.hpp"

namespace ggemm::tests {

struct FakeNvrtc {
  // Members are named as the functions of fake_nvrtc.h, less "fake_nvrtc_".
  decltype(&::fake_nvrtc_fail) fail;
  decltype(&::fake_nvrtc_clear_failures) clear_failures;
  decltype(&::fake_nvrtc_hold) hold;
  decltype(&::fake_nvrtc_complain) complain;
  decltype(&::fake_nvrtc_held) held;
  decltype(&::fake_nvrtc_calls) calls;
  decltype(&::fake_nvrtc_live) live;
  decltype(&::fake_nvrtc_inside) inside;

  static const FakeNvrtc& get() {
    static const FakeNvrtc nvrtc;
    return nvrtc;
  }

 private:
  FakeNvrtc() {
    void* const library = dlopen(GGEMM_FAKE_NVRTC, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    const auto bind = [&](auto& member, const char* name) { member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(library, name)); };
    bind(fail, "fake_nvrtc_fail");
    bind(clear_failures, "fake_nvrtc_clear_failures");
    bind(hold, "fake_nvrtc_hold");
    bind(complain, "fake_nvrtc_complain");
    bind(held, "fake_nvrtc_held");
    bind(calls, "fake_nvrtc_calls");
    bind(live, "fake_nvrtc_live");
    bind(inside, "fake_nvrtc_inside");
  }
};

inline const FakeNvrtc& nvrtc() { return FakeNvrtc::get(); }

// As cuda_options, with the fake NVRTC.
inline ggemm_context_options fake_nvrtc_options(const std::string& cache_folder, LogLines* log = nullptr, ggemm_log_level level = GGEMM_LOG_DEBUG) {
  ggemm_context_options options = cuda_options(cache_folder, log);
  options.nvrtc_path = GGEMM_FAKE_NVRTC;
  if (log) options.log_level = level;
  return options;
}

}  // namespace ggemm::tests
