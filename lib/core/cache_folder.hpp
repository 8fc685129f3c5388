// SPDX-License-Identifier: Apache-2.0
// The folder of the disk cache: where it is, and whether it is safe to use.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/io.hpp"

namespace ggemm::core {

struct CacheFolder {
  io::File file;        // all work goes through this descriptor, so that a folder swapped later redirects nothing
  uid_t owner = 0;      // whose files are trusted in it
  std::string problem;  // why it is not used; "" if it is
};

// Creates it where it is missing. It must belong to this process's user and be closed to writers of any other.
CacheFolder open_own_folder(const std::string& path);
// Read only. Its owner may be anybody, since the caller chose it by name, but nobody else may be able to write to it.
CacheFolder open_shared_folder(const std::string& path);

// Temporaries: ".tmp-<machine>-<pid>-<number>.ggemm".
std::string temporary_name();
// Whether it is a temporary whose writer is gone: made on this machine by a process that is dead, or not touched for an hour.
bool is_stale_temporary(std::string_view name, std::int64_t changed_seconds, std::int64_t now_seconds);

}  // namespace ggemm::core
