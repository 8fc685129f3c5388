// SPDX-License-Identifier: Apache-2.0
// Libraries opened at run time. They are never closed: their threads and exit handlers would outlive them.
#pragma once
#include <string>
#include <vector>

namespace ggemm::core {

// RTLD_NOW | RTLD_LOCAL. NULL on failure, with one line "path: reason" added to `tried`.
void* open_library(const std::string& path, std::vector<std::string>& tried);
// The library if this process has it loaded already under this SONAME, else NULL.
void* loaded_library(const char* soname);
// NULL if there is none.
void* find_symbol(void* library, const char* name);
// The file that a symbol came from; "" if unknown.
std::string library_path(const void* symbol);

// An environment variable; "" if it is unset or the program runs with raised privileges (AT_SECURE).
std::string environment(const char* name);

// Host threads that this process may use (its affinity mask), at least 1.
int allowed_threads();

}  // namespace ggemm::core
