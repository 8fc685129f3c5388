// SPDX-License-Identifier: Apache-2.0
// A case's operands in memory, and the description and arguments that hand them to the library.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "case.hpp"
#include "memory.hpp"

namespace ggemm::tests {

enum SlotName {
  slot_a,
  slot_b,
  slot_c,
  slot_d,
  slot_bias,
  slot_scale_a,
  slot_scale_b,  // the last that add_metadata needs the address of
  slot_alpha,
  slot_beta,
  slot_m,
  slot_n,
  slot_k,
  slot_a_rows,
  slot_a_cols,
  slot_b_rows,
  slot_b_cols,
  slot_c_rows,
  slot_c_cols,
  slot_d_rows,
  slot_d_cols,
  slot_scale_a_rows,
  slot_scale_a_cols,
  slot_scale_b_rows,
  slot_scale_b_cols,  // strides
  slot_a_pointers,
  slot_b_pointers,
  slot_c_pointers,
  slot_d_pointers,
  slot_bias_pointers,
  slot_a_index,
  slot_d_index,
  slot_weights,
  slot_status,  // written
  slot_scale_a_pointers,
  slot_scale_b_pointers,
  slot_count
};

using Bytes = std::vector<unsigned char>;
using Images = std::array<Bytes, slot_count>;
using Addresses = std::array<char*, slot_count>;

// The contents of A, B, C, D (before the call), bias and scales. Bytes between elements are NaN in inputs and random in D, so that a read of the former
// spoils the result and a write to the latter is seen. Where C is D the image of C is empty.
Images make_images(const Case& c);
// The scalars and, for grouped cases, the arrays of sizes, strides and pointers.
void add_metadata(const Case& c, const Addresses& data, Images& images);

// A description and arguments that stay valid as long as the object.
struct Call {
  ggemm_gemm_desc gemm = GGEMM_GEMM_DESC_INIT;
  ggemm_grouped_desc grouped = GGEMM_GROUPED_DESC_INIT;
  ggemm_gemm_args gemm_args = GGEMM_GEMM_ARGS_INIT;
  ggemm_grouped_args grouped_args = GGEMM_GROUPED_ARGS_INIT;
  bool is_grouped = false;
  std::string config;
  std::uint64_t scalar_bits[2] = {0, 0};
  ggemm_problem problem() const { return is_grouped ? ggemm_problem{nullptr, &grouped} : ggemm_problem{&gemm, nullptr}; }
  void force(const std::string& name) {
    config = name;
    gemm.config = grouped.config = name.empty() ? nullptr : config.c_str();
  }
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

// Fills the description alone; array addresses are placeholders, which preparing and asking for configurations never follow.
void describe(const Case& c, Call& call);
// Fills the arguments and the arrays' addresses too.
void bind_call(const Case& c, const Addresses& at, Call& call);

}  // namespace ggemm::tests
