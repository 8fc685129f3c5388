// SPDX-License-Identifier: Apache-2.0
// A text file that the library was built with. Made by cmake/embed.cmake.
#pragma once

namespace ggemm::core {

struct EmbeddedFile {
  const char* name;  // relative to the folder that was embedded
  const char* text;
};

}  // namespace ggemm::core
