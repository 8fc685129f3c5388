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
  Size tile{0, 0, 0};
};

// The legal configurations of a described problem, best estimate first. Throws std::runtime_error with the library's words.
std::vector<Configuration> legal_configurations(ggemm_context* context, const Call& call);

// What a result of this family may differ by. A family that is not known here is taken to use tensor cores.
// Whether a family's kernels add up their sums of fp8 products in f32 (CheckOptions).
bool promotes(const std::string& family, const CaseType& type);
CheckOptions check_options(const std::string& family, const CaseType& type, double work);

enum class Verdict { right, refused, wrong };
struct Outcome {
  Verdict verdict = Verdict::right;
  std::string what;
};

class Session {
 public:
  Session(ggemm_context* context, std::unique_ptr<Memory> memory, bool host);
  // config "": the library's choice. A forced configuration may be refused as unsupported for the case; then D is as it was.
  Outcome run(const Case& c, const std::string& config, const CheckOptions& options);
  // The device reported an error that ends its use, such as an access to an unmapped page.
  bool broken() const { return broken_; }

 private:
  Outcome launch(const Case& c, Call& call);
  Outcome compare(const Case& c, const Images& images, const Addresses& at, const CheckOptions& options);
  Bytes read_back(const Images& images, const Addresses& at);
  ggemm_context* context_;
  std::unique_ptr<Memory> memory_;
  bool host_, broken_ = false;
  std::vector<Slot> slots_;
};

}  // namespace ggemm::tests
