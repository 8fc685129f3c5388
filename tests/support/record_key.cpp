// SPDX-License-Identifier: Apache-2.0
#include "support/record_key.hpp"

#include <sstream>
#include <vector>

namespace ggemm::tests {
namespace {

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(" | ", begin);
    out.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return out;
    begin = end + 3;
  }
}

// The number from `first` to `last` that has this name.
template <class Name>
std::optional<std::uint8_t> number_of(const std::string& word, int first, int last, Name name) {
  for (int number = first; number <= last; ++number)
    if (word == name(number)) return static_cast<std::uint8_t>(number);
  return std::nullopt;
}

bool read_type(const std::string& text, core::ProblemType& type) {
  std::istringstream in(text);
  std::string a, b, c, d, sum, word, layout;
  int compute = 0;
  if (!(in >> a >> b >> c >> d >> sum >> word >> compute) || word != "compute" || !(in >> word >> layout) || word != "layout" || layout.size() != 3) return false;
  const auto dtype = [](const std::string& name) { return number_of(name, GGEMM_F64, GGEMM_I32, [](int n) { return core::dtype_name(n); }); };
  const auto sums = number_of(sum, 0, 2, [](int n) { return core::sum_name(static_cast<core::Sum>(n)); });
  if (!dtype(a) || !dtype(b) || !dtype(c) || !dtype(d) || !sums) return false;
  type.a = *dtype(a), type.b = *dtype(b), type.c = *dtype(c), type.d = *dtype(d);
  type.sum = static_cast<core::Sum>(*sums), type.compute = static_cast<std::uint8_t>(compute);
  type.major_a = layout[0] == 't' ? core::Major::k : core::Major::mn;
  type.major_b = layout[1] == 'n' ? core::Major::k : core::Major::mn;
  type.major_d = layout[2] == 'n' ? core::Major::k : core::Major::mn;
  while (in >> word) {
    int number = 0;
    std::string other;
    if (word == "unaligned" && in >> number) type.unreachable = static_cast<std::uint8_t>(number);
    else if (word == "scales" && in >> word >> other) {
      const auto scale = [](const std::string& name) { return number_of(name, 0, 4, [](int n) { return core::scale_name(n); }); };
      if (!scale(word) || !scale(other)) return false;
      type.scale_a = *scale(word) & 7, type.scale_b = *scale(other) & 7;
    } else if (word == "gate" && in >> word) {
      const auto gate = number_of(word, 0, 2, [](int n) { return core::gate_name(n); });
      if (!gate) return false;
      type.gate = *gate & 3;
    } else if (word == "plain") type.grouped = 0;
    else if (word == "grouped") type.grouped = core::grouped_call;
    else if (word == "gather") type.grouped |= core::gathered_rows;
    else if (word == "batch") type.grouped |= core::batch_groups;
    else return false;
  }
  return true;
}

}  // namespace

std::optional<RecordKey> read_record_key(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  if (parts.size() != 5) return std::nullopt;
  RecordKey out;
  out.device = parts[0], out.arch = parts[1];
  std::istringstream multiprocessors(parts[2]), sizes(parts[4]);
  std::string word, names[4];
  core::ProblemKey& key = out.problem;
  if (!(multiprocessors >> out.multiprocessors >> word) || word != "multiprocessors" || !read_type(parts[3], key.type)) return std::nullopt;
  if (!(sizes >> names[0] >> key.groups >> names[1] >> key.m >> names[2] >> key.n >> names[3] >> key.k)) return std::nullopt;
  if (sizes >> word && (word != "spread" || !(sizes >> key.skew) || key.skew < core::skew_alike || key.skew > core::skew_most || sizes >> word)) return std::nullopt;
  if (names[0] != "groups" || names[1] != "m" || names[2] != "n" || names[3] != "k") return std::nullopt;
  return out;
}

}  // namespace ggemm::tests
