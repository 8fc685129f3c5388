// SPDX-License-Identifier: Apache-2.0
// The fake driver for C++ tests: points the library under test to it, and binds its control interface.
// GGEMM_FAKE_DRIVER is the path of the built library.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "cubin.hpp"
#include "fake_driver.h"

namespace fake {

class Driver {
 public:
  // Members are named as the functions of fake_driver.h, less "fake_".
  decltype(&::fake_reset) reset;
  decltype(&::fake_set_devices) set_devices;
  decltype(&::fake_set_attribute) set_attribute;
  decltype(&::fake_set_driver_version) set_driver_version;
  decltype(&::fake_set_memory_limit) set_memory_limit;
  decltype(&::fake_set_kernel_resources) set_kernel_resources;
  decltype(&::fake_set_spill) set_spill;
  decltype(&::fake_add_memory) add_memory;
  decltype(&::fake_remove_memory) remove_memory;
  decltype(&::fake_fail) fail;
  decltype(&::fake_clear_failures) clear_failures;
  decltype(&::fake_hide) hide;
  decltype(&::fake_delay) delay;
  decltype(&::fake_delay_work) delay_work;
  decltype(&::fake_calls) calls;
  decltype(&::fake_call_name) call_name;
  decltype(&::fake_live) live;
  decltype(&::fake_live_text) live_text;
  decltype(&::fake_context_depth) context_depth;
  decltype(&::fake_capture_mode) capture_mode;
  decltype(&::fake_inside) inside;
  decltype(&::fake_wait) wait;
  decltype(&::fake_capture_calls) capture_calls;
  decltype(&::fake_capture_call_get) capture_call_get;
  decltype(&::fake_set_parameter_sizes) set_parameter_sizes;
  decltype(&::fake_set_answer) set_answer;
  decltype(&::fake_emulator_failure) emulator_failure;
  decltype(&::fake_set_emulator_seed) set_emulator_seed;
  decltype(&::fake_launches) launches;
  decltype(&::fake_launch_get) launch_get;

  // A function of the driver itself, by its exported name: symbol<int(void**)>("cuCtxGetCurrent").
  template <class F>
  F* symbol(const char* name) const {
    void* address = dlsym(library_, name);
    if (!address) throw std::runtime_error(std::string("the fake driver has no ") + name);
    return reinterpret_cast<F*>(address);
  }

  std::vector<fake_launch> all_launches() const {
    std::vector<fake_launch> out;
    for (fake_launch launch; launch_get(static_cast<long>(out.size()), &launch);) out.push_back(launch);
    return out;
  }

  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

 private:
  void* library_;

  template <class F>
  void bind(F*& member, const char* name) {
    member = symbol<F>(name);
  }

  Driver() {
    setenv("GGEMM_LIBCUDA", GGEMM_FAKE_DRIVER, 1);
    library_ = dlopen(GGEMM_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (!library_) throw std::runtime_error(dlerror());
    bind(reset, "fake_reset");
    bind(set_devices, "fake_set_devices");
    bind(set_attribute, "fake_set_attribute");
    bind(set_driver_version, "fake_set_driver_version");
    bind(set_memory_limit, "fake_set_memory_limit");
    bind(set_kernel_resources, "fake_set_kernel_resources");
    bind(set_spill, "fake_set_spill");
    bind(add_memory, "fake_add_memory");
    bind(remove_memory, "fake_remove_memory");
    bind(fail, "fake_fail");
    bind(clear_failures, "fake_clear_failures");
    bind(hide, "fake_hide");
    bind(delay, "fake_delay");
    bind(delay_work, "fake_delay_work");
    bind(calls, "fake_calls");
    bind(call_name, "fake_call_name");
    bind(live, "fake_live");
    bind(live_text, "fake_live_text");
    bind(context_depth, "fake_context_depth");
    bind(capture_mode, "fake_capture_mode");
    bind(inside, "fake_inside");
    bind(wait, "fake_wait");
    bind(capture_calls, "fake_capture_calls");
    bind(capture_call_get, "fake_capture_call_get");
    bind(set_parameter_sizes, "fake_set_parameter_sizes");
    bind(set_answer, "fake_set_answer");
    bind(emulator_failure, "fake_emulator_failure");
    bind(set_emulator_seed, "fake_set_emulator_seed");
    bind(launches, "fake_launches");
    bind(launch_get, "fake_launch_get");
  }
};

}  // namespace fake
