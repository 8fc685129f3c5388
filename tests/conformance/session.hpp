// SPDX-License-Identifier: Apache-2.0
// Runs cases on a context, one after the other, with memory that is kept from case to case.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/check.hpp"

namespace ggemm::tests {

struct Configuration {
  std::string name, family;
  int tile_m = 0, tile_n = 0, tile_k = 0, stages = 0;
};

// The legal configurations of a described problem, best estimate first. Throws std::runtime_error with the library's words.
std::vector<Configuration> legal_configurations(ggemm_context* context, const Call& call);

class Session {
 public:
  Session(ggemm_context* context, std::unique_ptr<Memory> memory, bool host);
  // Empty if all is right, else what is wrong. config "": the library's choice.
  std::optional<std::string> run(const Case& c, const std::string& config, const CheckOptions& options);
  Memory& memory() { return *memory_; }
  // The device reported an error that ends its use, such as an access to an unmapped page.
  bool broken() const { return broken_; }

 private:
  std::optional<std::string> launch(const Case& c, Call& call);
  std::optional<std::string> compare(const Case& c, const Images& images, const Addresses& at, const CheckOptions& options);
  ggemm_context* context_;
  std::unique_ptr<Memory> memory_;
  bool host_, broken_ = false;
  std::vector<Slot> slots_;
};

}  // namespace ggemm::tests
