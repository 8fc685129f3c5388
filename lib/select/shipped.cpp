// SPDX-License-Identifier: Apache-2.0
#include "select/shipped.hpp"

#include <algorithm>

namespace ggemm::select {
namespace {

// A key without the device's name, with which it begins.
std::string_view without_name(std::string_view key) {
  const std::size_t end = key.find(" | ");
  return end == std::string_view::npos ? key : key.substr(end);
}

}  // namespace

Shipped::Shipped(const std::vector<std::string_view>& texts) {
  for (std::string_view rest : texts)
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const std::size_t tab = line.find('\t');
      if (line.starts_with('#') || tab == std::string_view::npos) continue;
      records_.emplace(line.substr(0, tab), line.substr(tab + 1));
      of_any_name_.emplace(without_name(line.substr(0, tab)), line.substr(tab + 1));
    }
}

std::optional<std::string_view> Shipped::find(std::string_view key) const {
  if (const auto found = records_.find(key); found != records_.end()) return found->second;
  const auto found = of_any_name_.find(without_name(key));
  return found == of_any_name_.end() ? std::nullopt : std::optional(found->second);
}

const Shipped& shipped() {
  static const Shipped records = [] {
    std::vector<std::string_view> texts;
    for (const core::EmbeddedFile& file : record_files()) texts.push_back(file.text);
    return Shipped(texts);
  }();
  return records;
}

}  // namespace ggemm::select
