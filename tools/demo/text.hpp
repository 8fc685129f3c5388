// SPDX-License-Identifier: Apache-2.0
// The text that the demo routes when none is given: the project's licence and its header, which is its manual.
#pragma once
#include <string_view>

namespace ggemm::tools {

std::string_view demo_text();

}  // namespace ggemm::tools
