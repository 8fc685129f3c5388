// SPDX-License-Identifier: Apache-2.0
// The bytes of one cache file.
//
// All numbers are little-endian:
//    0  8  magic
//    8  4  schema
//   12  4  length of the kind
//   16  4  length of the maker
//   20  4  length of the key
//   24  8  length of the body
//   32 16  XXH3-128 of bytes 0 to 31 and of everything after the header
//   48     kind, maker, key, body
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ggemm::core {

// Part of the file names too, so that versions of the library that differ in it leave each other's entries alone.
inline constexpr std::uint32_t entry_schema = 1;
inline constexpr std::size_t entry_header_bytes = 48;
// Far more than any cubin or record needs; a larger file is not read into memory.
inline constexpr std::uint64_t entry_limit_bytes = std::uint64_t(1) << 28;

// Views into the file's bytes, or into the caller's texts.
struct EntryParts {
  std::string_view kind, maker, key, body;
};

// Everything before the body: the header, then kind, maker and key. The body follows in the file.
std::string entry_head(const EntryParts& parts);
// NULL if the file is sound, else what is wrong with it.
const char* parse_entry(std::string_view file, EntryParts& out);

// The name of an entry's file: "cubin-0123456789abcdef0123456789abcdef.ggemm". The ending keeps eviction away from other people's files in
// a folder that somebody names for the cache.
std::string entry_file_name(std::string_view kind, std::string_view key);
// Whether a file's name can be one of an entry.
bool is_entry_file_name(std::string_view name);

}  // namespace ggemm::core
