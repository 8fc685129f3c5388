// SPDX-License-Identifier: Apache-2.0
// The one exception type. Thrown anywhere inside, caught only by api::guard().
#pragma once
#include <exception>
#include <string>
#include <utility>

#include "ggemm.h"

namespace ggemm::core {

class Error : public std::exception {
 public:
  Error(ggemm_status status, std::string text) : status_(status), text_(std::move(text)) {}
  ggemm_status status() const noexcept { return status_; }
  const std::string& text() const noexcept { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ggemm_status status_;
  std::string text_;
};

// printf-style, because std::format is not in every compiler that must build this.
[[noreturn]] void fail(ggemm_status status, const char* format, ...) __attribute__((format(printf, 2, 3)));
std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace ggemm::core
