// SPDX-License-Identifier: Apache-2.0
// Tuning records that the library is built with: lib/select/records, a file a device, where a line is a record's key, a tab and the best configuration, and # begins a comment.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/embedded.hpp"

namespace ggemm::select {

class Shipped {
 public:
  Shipped() = default;
  // The texts outlive this. Of a key that comes twice the first counts; a line that is no record is passed over.
  explicit Shipped(const std::vector<std::string_view>& texts);
  std::optional<std::string_view> find(std::string_view key) const;
  const std::unordered_map<std::string_view, std::string_view>& records() const { return records_; }

 private:
  std::unordered_map<std::string_view, std::string_view> records_;
};

const std::vector<core::EmbeddedFile>& record_files();
// Those of record_files(), read at the first call.
const Shipped& shipped();

}  // namespace ggemm::select
