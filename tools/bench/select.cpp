// SPDX-License-Identifier: Apache-2.0
// Which cases of a suite a run takes: names, dtypes, layouts, shards.
#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>

#include "bench/suites.hpp"
#include "common/failure.hpp"
#include "common/names.hpp"

namespace ggemm::bench {
namespace {

bool named(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

bool matches(const std::string& filter, const std::string& text) {
  if (filter.empty()) return true;
  if (filter.find_first_of("*?") == std::string::npos) return text.find(filter) != std::string::npos;
  return fnmatch(filter.c_str(), text.c_str(), 0) == 0;
}

// A whole positive number, all of `text` from `at` up to `end`.
std::int64_t number(const std::string& text, size_t at, size_t end) {
  const std::string part = text.substr(at, end - at);
  if (part.empty() || part.size() > 12 || part.find_first_not_of("0123456789") != std::string::npos) return -1;
  return std::strtoll(part.c_str(), nullptr, 10);
}

}  // namespace

std::vector<Case> select(const std::vector<Case>& cases, const Selection& selection) {
  std::vector<Case> chosen;
  for (const Case& one : cases)
    if (named(selection.dtypes, one.dtype) && named(selection.layouts, one.layout) && named(selection.scalings, scaling_name(one.scaling)) &&
        matches(selection.filter, one.category + "/" + one.name))
      chosen.push_back(one);
  std::vector<Case> mine;
  for (size_t i = 0; i < chosen.size(); i++)
    if (static_cast<int>(i % static_cast<size_t>(selection.shards)) == selection.shard - 1) mine.push_back(chosen[i]);
  return mine;
}

void parse_shard(const std::string& text, Selection& selection) {
  const size_t slash = text.find('/');
  const std::int64_t shard = slash == std::string::npos ? -1 : number(text, 0, slash),
                     shards = slash == std::string::npos ? -1 : number(text, slash + 1, text.size());
  if (shard < 1 || shards < 1 || shard > shards || shards > 10000) tools::fail_usage("--shard %s is not i/n with 1 <= i <= n", text.c_str());
  selection.shard = static_cast<int>(shard);
  selection.shards = static_cast<int>(shards);
}

Size parse_size(const std::string& text) {
  std::vector<std::int64_t> extents;
  const auto refuse = [&] { tools::fail_usage("size %s is not MxNxK with numbers of 1 and up", text.c_str()); };
  for (const std::string& part : tools::split(text, 'x')) {
    if (part.empty() || part.find_first_not_of("0123456789") != std::string::npos || part.find_first_not_of('0') == std::string::npos) refuse();
    extents.push_back(number(part, 0, part.size()));
  }
  if (extents.size() == 1) extents.assign(3, extents[0]);
  if (extents.size() != 3) refuse();
  const Size size{extents[0], extents[1], extents[2]};
  // Bytes of an operand are counted in 64 bits.
  constexpr double most = 1e17;
  const double m = static_cast<double>(size.m), n = static_cast<double>(size.n), k = static_cast<double>(size.k);
  if (std::min({size.m, size.n, size.k}) < 1 || std::max({m * n, m * k, n * k}) > most) tools::fail_usage("size %s is too large: no matrix may have more than %g elements, no number more than 12 digits", text.c_str(), most);
  return size;
}

}  // namespace ggemm::bench
