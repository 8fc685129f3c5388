// SPDX-License-Identifier: Apache-2.0
// CUDA C++ made ready for g++: what macros cannot do.
#pragma once
#include <string>

namespace emulator {

// Shared variables, static and dynamic, become references into the CTA's window. Line numbers stay.
std::string with_shared_variables(const std::string& text);
// The lines that describe the program's one kernel, to stand after its root file; "" if the text has none.
std::string kernel_description(const std::string& root_text);

}  // namespace emulator
