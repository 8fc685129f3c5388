// SPDX-License-Identifier: Apache-2.0
// ProblemKey says which configuration is best for a call. (Which binary a kernel is, is jit::cubin_key: the two are different things.)
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/problem.hpp"

namespace ggemm::core {

constexpr int octave_of(std::int64_t size) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1))); }
constexpr std::int64_t rounded_up(std::int64_t size, int bits) { return (((size - 1) >> bits) + 1) << bits; }

// Sizes up to 16 stand for themselves, larger ones for the next of 8 steps an octave.
constexpr std::int64_t bucket(std::int64_t size) { return size <= 16 ? size : rounded_up(size, octave_of(size) - 4); }

// Of one product's rows above 2048 no step is longer than a tile's rows, until there are 128 of them an octave: with 12608 counted as 13312 the last of the rounds of tiles would be another.
constexpr std::int64_t rows_bucket(std::int64_t rows) { return rows <= 2048 ? bucket(rows) : rounded_up(rows, std::max(7, octave_of(rows) - 8)); }

// How unlike groups are, by the largest: 0: not known; they are alike, or it has up to some 2.5 times the mean; else what it has above the mean, of all that the others could leave it, in quarters (none or one of them: some have
// many more rows than most), up to: it has all rows.
constexpr int skew_alike = 1, skew_little = 2, skew_most = 7;
constexpr std::int64_t skew_of(std::int64_t groups, double mean, std::int64_t largest) {
  constexpr double alike = 1.25, little = 2.5;
  if (mean <= 0 || largest <= 0) return 0;
  const double others = (static_cast<double>(groups) - 1) * mean, above = static_cast<double>(largest) - mean;
  if (above <= 0 || others <= 0) return skew_alike;
  const auto quarters = static_cast<std::int64_t>(4 * (above < others ? above / others : 1) + 0.5);
  if (quarters == 4) return skew_most;
  const double times = static_cast<double>(largest) / mean;
  return times <= alike ? skew_alike : times <= little ? skew_little : skew_little + 1 + quarters;
}

// Plain data without padding, made at every call: hashed and compared as memory.
struct ProblemKey {
  ProblemType type{};
  std::int64_t groups = 0, m = 0, n = 0, k = 0;  // m, and groups, as buckets; of a grouped problem those that have rows, as far as that is known, and the expected sizes
  std::uint64_t config = 0, tune_key = 0;        // hashes of the forced name and of the caller's own key; 0: none
  std::int64_t max_ctas = 0;                     // 0: no limit
  std::int64_t skew = 0;                         // of groups, above
  bool operator==(const ProblemKey&) const = default;
};
static_assert(sizeof(ProblemKey) == 80 && sizeof(ProblemType) == 16);

struct ProblemKeyHash {
  std::size_t operator()(const ProblemKey& key) const {
    std::uint64_t words[10], hash = 0x9e3779b97f4a7c15;
    std::memcpy(words, &key, sizeof words);
    for (const std::uint64_t word : words) hash = std::rotl((hash ^ word) * 0xff51afd7ed558ccd, 31);
    return hash ^ hash >> 29;
  }
};

// FNV-1a, never 0; of a NULL text 0.
inline std::uint64_t text_hash(const char* text) {
  if (!text) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (; *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
  return hash | 1;
}

inline ProblemKey problem_key(const Problem& p) { return {p.type, 1, rows_bucket(p.m), p.n, p.k, 0, 0, p.max_ctas}; }
// Groups that have rows, as far as it is known: where it is told how rows are spread over a ragged m, the mean is of these, and there are no more rows in all than the matrix has. (Not where the mean alone is told: calls whose
// rows differ are then of one class.)
inline std::int64_t groups_with_rows(const GroupedProblem& p) {
  const std::int64_t rows = p.m.mode == kernels::source_ends ? p.m.value : 0;
  if (p.expected_m <= 0 || p.expected_largest_m <= 0 || rows <= 0) return p.groups;
  const std::int64_t groups = (rows - 1) / p.expected_m + 1;
  return groups < p.groups ? groups : p.groups;
}
inline ProblemKey problem_key(const GroupedProblem& p) {
  const std::int64_t groups = groups_with_rows(p);
  return {p.type, bucket(groups), bucket(p.expected_m), bucket(p.expected_n), bucket(p.expected_k), 0, 0, p.max_ctas, skew_of(groups, static_cast<double>(p.expected_m), p.expected_largest_m)};
}

}  // namespace ggemm::core
