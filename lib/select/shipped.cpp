// SPDX-License-Identifier: Apache-2.0
#include "select/shipped.hpp"

#include <algorithm>

namespace ggemm::select {

Shipped::Shipped(const std::vector<std::string_view>& texts) {
  for (std::string_view rest : texts)
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const std::size_t tab = line.find('\t');
      if (!line.starts_with('#') && tab != std::string_view::npos) records_.emplace(line.substr(0, tab), line.substr(tab + 1));
    }
}

std::optional<std::string_view> Shipped::find(std::string_view key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
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
