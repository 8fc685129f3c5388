// SPDX-License-Identifier: Apache-2.0
#include "core/entry.hpp"

#include <algorithm>
#include <cstring>

#include "core/hash.hpp"

namespace ggemm::core {
namespace {

// The line ends show a copy that was made in text mode, as in PNG.
constexpr char magic[9] = "ggemm\r\n\x1a";
constexpr std::size_t fields_bytes = 32;
constexpr std::string_view ending = ".ggemm";

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255);
}

std::uint64_t take(std::string_view& in, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[static_cast<std::size_t>(i)])) << (8 * i);
  in.remove_prefix(static_cast<std::size_t>(bytes));
  return value;
}

std::string_view cut(std::string_view& in, std::uint64_t bytes) {
  const std::string_view out = in.substr(0, bytes);
  in.remove_prefix(out.size());
  return out;
}

}  // namespace

std::string entry_head(const EntryParts& parts) {
  std::string head(magic, 8);
  put(head, entry_schema, 4);
  put(head, parts.kind.size(), 4);
  put(head, parts.maker.size(), 4);
  put(head, parts.key.size(), 4);
  put(head, parts.body.size(), 8);
  const Hash128 hash = hash128({head, parts.kind, parts.maker, parts.key, parts.body});
  head.append(reinterpret_cast<const char*>(hash.data()), hash.size());
  head.append(parts.kind).append(parts.maker).append(parts.key);
  return head;
}

const char* parse_entry(std::string_view file, EntryParts& out) {
  if (file.size() < entry_header_bytes) return "it ends within its header";
  const std::string_view fields = file.substr(0, fields_bytes), stored = file.substr(fields_bytes, sizeof(Hash128));
  std::string_view in = fields, rest = file.substr(entry_header_bytes);
  if (cut(in, 8) != std::string_view(magic, 8)) return "it does not begin as a cache entry does";
  if (take(in, 4) != entry_schema) return "its schema is another one";
  const std::uint64_t kind = take(in, 4), maker = take(in, 4), key = take(in, 4), body = take(in, 8);
  // Each of the first three is below 2^32, so their sum cannot wrap; the body is compared with what is left.
  if (kind + maker + key > rest.size() || body != rest.size() - (kind + maker + key)) return "its lengths do not add up to the file's size";
  const Hash128 hash = hash128({fields, rest});
  if (std::memcmp(hash.data(), stored.data(), hash.size()) != 0) return "its checksum does not match";
  out.kind = cut(rest, kind);
  out.maker = cut(rest, maker);
  out.key = cut(rest, key);
  out.body = rest;
  return nullptr;
}

std::string entry_file_name(std::string_view kind, std::string_view key) {
  std::string name(kind);
  name.append("-").append(hexadecimal(hash128({kind, std::string_view("\0", 1), key}, entry_schema))).append(ending);
  return name;
}

bool is_entry_file_name(std::string_view name) {
  if (!name.ends_with(ending)) return false;
  name.remove_suffix(ending.size());
  const std::size_t dash = name.find('-');
  if (dash == 0 || dash == std::string_view::npos) return false;
  const std::string_view kind = name.substr(0, dash), hash = name.substr(dash + 1);
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return hash.size() == 2 * sizeof(Hash128) && std::all_of(kind.begin(), kind.end(), letter) && std::all_of(hash.begin(), hash.end(), digit);
}

}  // namespace ggemm::core
