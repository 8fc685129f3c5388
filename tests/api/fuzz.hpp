// SPDX-License-Identifier: Apache-2.0
// Random descriptions and arguments, most of them wrong, whose memory is nevertheless there: whatever the library makes of one, it must answer with a status.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ggemm.h"
#include "support/rng.hpp"

namespace ggemm::tests::fuzz {

// Memory for all that a call may touch. Sizes up to `most`, strides up to a few hundred and distances of groups up to a few thousand elements stay within the operands'
// part, from its middle on both ways. Numbers, pointers and scalars lie in parts of their own, which nothing writes.
class Memory {
 public:
  static constexpr std::int64_t most = 12;
  explicit Memory(Rng& random);
  void* operand(Rng& random);            // now and then NULL, or off its alignment
  const void* numbers(Rng& random);      // small ones, in int32 and int64 alike
  const void* pointers(Rng& random);     // of operands
  const void* scalar(Rng& random);
  void* status() { return status_; }

 private:
  std::vector<double> operands_, scalars_;
  std::vector<std::int64_t> small_;
  std::vector<void*> pointers_;
  std::int32_t status_[8] = {};
};

struct Plain {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
};
struct Grouped {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
};
Plain plain(Rng& random, Memory& memory);
Grouped grouped(Rng& random, Memory& memory);

// Changes random bytes of a description, but not its size and its texts. Such a one is never to be run.
void spoil(Rng& random, ggemm_gemm_desc& desc);
void spoil(Rng& random, ggemm_grouped_desc& desc);
// A configuration's name with some of it changed.
std::string name(Rng& random);

}  // namespace ggemm::tests::fuzz
