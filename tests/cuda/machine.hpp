// SPDX-License-Identifier: Apache-2.0
// What these tests share: a machine with a fake driver, fresh for each test, that is clean at the end of each.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "cuda/device.hpp"
#include "fake_driver/fake.hpp"
#include "support/errors.hpp"

namespace ggemm::test {

// CUresult numbers that tests make calls fail with.
enum : int { out_of_memory = 2, invalid_context = 201, invalid_handle = 400, illegal_address = 700, unknown_error = 999 };

inline const fake::Driver& driver() { return fake::Driver::get(); }

// Contexts as the caller of the library sees them.
inline void* current_context() {
  void* context = nullptr;
  REQUIRE(driver().symbol<int(void**)>("cuCtxGetCurrent")(&context) == 0);
  return context;
}
inline void* make_context(int device) {  // current when made
  void* context = nullptr;
  REQUIRE(driver().symbol<int(void**, unsigned, int)>("cuCtxCreate_v2")(&context, 0, device) == 0);
  return context;
}
inline void destroy_context(void* context) { REQUIRE(driver().symbol<int(void*)>("cuCtxDestroy_v2")(context) == 0); }
inline void set_current(void* context) { REQUIRE(driver().symbol<int(void*)>("cuCtxSetCurrent")(context) == 0); }

class Machine {
 public:
  explicit Machine(std::vector<int> capabilities = {90}) {
    driver().reset();
    REQUIRE(driver().set_devices(capabilities.data(), static_cast<int>(capabilities.size())));
    REQUIRE(driver().symbol<int(unsigned)>("cuInit")(0) == 0);
  }
  // To be called when everything that the test made is gone.
  void check_clean() const {
    CHECK(std::string(driver().live_text()) == "");
    CHECK(driver().context_depth() == 0);
    CHECK(driver().capture_mode() == 0);
  }
};

using tests::contains;
using tests::error_of;

}  // namespace ggemm::test
