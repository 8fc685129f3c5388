// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

#include <cstdarg>
#include <cstdio>

namespace ggemm::core {
namespace {

std::string vtext(const char* format, va_list list) {
  va_list again;
  va_copy(again, list);
  const int size = std::vsnprintf(nullptr, 0, format, list);
  std::string out(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  std::vsnprintf(out.data(), out.size() + 1, format, again);
  va_end(again);
  return out;
}

}  // namespace

std::string text(const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::string out = vtext(format, list);
  va_end(list);
  return out;
}

void fail(ggemm_status status, const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::string out = vtext(format, list);
  va_end(list);
  throw Error(status, std::move(out));
}

}  // namespace ggemm::core
