// SPDX-License-Identifier: Apache-2.0
// A folder of small files, one an entry, that survives crashes, races, full disks and damage. Every failure is soft.
//
// Written to a temporary beside the entry, fsync, rename. Each file begins with a header: magic, schema, lengths, XXH3-128 of the rest, the
// NVRTC version (or ""), and the full key text, which is compared on a read. A damaged entry is removed. The folder is 0700 and files 0600; a folder or
// file of another owner, a symbolic link, or a folder that others may write is not used.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.hpp"

namespace ggemm::core {

struct DiskOptions {
  std::string folder;         // "": memory only, nothing is read or written
  std::string shared_folder;  // read only; "": none
  std::uint64_t limit_bytes = std::uint64_t(1) << 30;
};

// The folder of a context that names none: by the environment, as ggemm.h says ($GGEMM_CACHE_DIR, $XDG_CACHE_HOME/ggemm, $HOME/.cache/ggemm);
// "" if there is none or the program runs with raised privileges.
std::string default_cache_folder();

class Disk {
 public:
  struct Entry {
    std::string body;
    std::string maker;  // NVRTC version, "" for tuning records
  };
  struct Listing {
    std::string kind, key, path, maker;
    std::uint64_t bytes;
    std::int64_t last_used;  // seconds since 1970
  };

  Disk(DiskOptions options, const Log& log);
  ~Disk();
  // kind: "cubin" or "tuning", part of the file's name. key: any text. Marks the entry as used.
  std::optional<Entry> read(std::string_view kind, std::string_view key) const;
  // False if it could not be kept; the reason is logged. Old entries are dropped to stay under the limit.
  bool write(std::string_view kind, std::string_view key, std::string_view body, std::string_view maker) const;
  bool remove(std::string_view kind, std::string_view key) const;
  std::vector<Listing> list() const;  // the own folder's sound entries
  std::size_t clear(std::optional<std::string_view> maker) const;  // all, or only those by this maker; returns how many
  std::string folder() const;   // "" if memory only
  std::string problem() const;  // why the own folder is not used; "" if it is

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ggemm::core
