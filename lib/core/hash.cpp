// SPDX-License-Identifier: Apache-2.0
#include "core/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace ggemm::core {

Hash128 hash128(std::initializer_list<std::string_view> parts, std::uint64_t seed) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset_withSeed(&state, seed);
  for (const std::string_view part : parts)
    if (!part.empty()) XXH3_128bits_update(&state, part.data(), part.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  Hash128 hash;
  std::memcpy(hash.data(), canonical.digest, hash.size());
  return hash;
}

std::string hexadecimal(const Hash128& hash) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * hash.size());
  for (const unsigned char byte : hash) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace ggemm::core
