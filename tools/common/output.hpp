// SPDX-License-Identifier: Apache-2.0
// Files that a user names for what a command writes.
#pragma once
#include <string>
#include <string_view>

namespace ggemm::tools {

// How each kind of file begins.
inline constexpr std::string_view npy_begin = "\x93NUMPY", svg_begin = "<svg", demo_begin = "{\n  \"version\"";

// Called before the work that a file is for. Throws Failure if it cannot be written, or if a file is there that begins otherwise: that is another's, and would be lost. An empty one is as good as none,
// devices and pipes take anything, and "" is no file.
void check_output(const std::string& path, std::string_view begin);

// Whether two outputs would be one file, there or not yet. "" is none.
bool same_file(const std::string& a, const std::string& b);

}  // namespace ggemm::tools
