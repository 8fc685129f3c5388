// SPDX-License-Identifier: Apache-2.0
// The error that a call throws. A test that gets none fails.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "core/error.hpp"

namespace ggemm::tests {

template <class Call>
core::Error error_of(Call&& call) {
  try {
    call();
  } catch (const core::Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  return {GGEMM_OK, ""};
}

// Its text; the status is checked.
template <class Call>
std::string error_of(Call&& call, ggemm_status status) {
  const core::Error error = error_of(call);
  CHECK(error.status() == status);
  return error.text();
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace ggemm::tests
