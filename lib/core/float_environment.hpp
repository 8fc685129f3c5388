// SPDX-License-Identifier: Apache-2.0
// The floating-point environment that results are promised in.
#pragma once
#include <cfenv>

namespace ggemm::core {

// The caller's rounding mode and flush-to-zero must not reach the results: while it lives, this thread has the default environment.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&before_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace ggemm::core
