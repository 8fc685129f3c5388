// SPDX-License-Identifier: Apache-2.0
// The cases of the suites that have scales, or groups in a form of their own.
#include <algorithm>
#include <string_view>

#include "bench/suites.hpp"

namespace ggemm::bench {
namespace {

bool any_of(std::initializer_list<std::string_view> names, const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); }

bool by_blocks(const Case& one) {
  if (any_of({"square_4096x4096x4096", "square_8192x8192x8192", "llama3-8b_2048x28672x4096", "llama3-8b_16x28672x4096"}, one.name)) return true;
  return (one.size.m == 128 || one.size.m == 4096) && (one.name.starts_with("llama3-8b_") || one.name.starts_with("dsv3_"));
}

bool by_tensor_and_row(const Case& one) {
  return any_of({"square_4096x4096x4096", "square_8192x8192x8192", "llama3-8b_2048x28672x4096", "llama3-8b_128x28672x4096", "llama3-8b_16x28672x4096", "dsv3_4096x4096x7168",
                 "dsv3_128x7168x2048"},
                one.name);
}

// Those of which the marks tell what the peers reach.
bool grouped_with_scales(const Case& one) {
  return any_of({"dsv3-up_t4096", "dsv3-down_t4096", "dsv3-up_t32768", "mixtral-up_t8192", "mixtral-down_t8192", "qwen3-up_t32768", "qwen3-down_t32768",
                 "qwen3-up_t512", "dsv3-up_t256", "square4096_x4"},
                one.name);
}

struct Batch {
  std::size_t count;
  Size size;
  const char* layout = "nt";
  const char* dtype = "bf16";
};
// Heads of attention, their scores and what these weigh, of many tokens and of one; and matrices from large to tiny.
std::vector<Batch> batches() {
  return {{64, {2048, 2048, 128}},    {32, {2048, 128, 2048}, "nn"},     {256, {128, 128, 64}},
          {128, {1, 4096, 128}},      {128, {1, 128, 4096}, "nn"},       {128, {8, 4096, 128}},
          {128, {8, 128, 4096}, "nn"}, {16, {1024, 1024, 1024}},         {16, {1024, 1024, 1024}, "nt", "e4m3"},
          {32, {512, 512, 512}},      {1024, {64, 64, 64}},              {4096, {32, 32, 32}},
          {256, {256, 256, 256}, "nn", "f32"}, {4096, {32, 32, 32}, "nn", "f32"}, {4096, {16, 16, 16}, "nn", "f64"},
          {256, {128, 128, 128}, "nn", "f64"}, {4096, {16, 16, 16}},               {4096, {16, 16, 16}, "nn", "f32"},
          {10000, {8, 8, 8}, "nn", "f32"},     {10000, {8, 8, 8}, "nn", "f64"},    {1000, {32, 32, 32}, "nn", "f64"},
          {10000, {8, 8, 8}, "nn"},            {1000, {30, 30, 30}, "nn"},         {1000, {30, 30, 30}, "nn", "f32"},
          {4096, {15, 15, 15}, "nn", "f64"}};
}

Case in_form(const std::string& name, const std::string& generator, Form form, const std::vector<Size>& groups) {
  Case one;
  one.suite = "grouped";
  one.category = "grouped-forms";
  one.name = name;
  one.dtype = "bf16";
  one.layout = form == Form::ragged_k ? "tn" : "nt";
  one.groups = groups;
  one.generator = generator;
  one.form = form;
  return one;
}

}  // namespace

void append_scaled(std::vector<Case>& cases) {
  std::vector<Case> more;
  for (const Scaling scaling : {Scaling::tensor, Scaling::row, Scaling::block})
    for (const Case& one : cases) {
      const bool wanted = one.grouped() ? grouped_with_scales(one) : scaling == Scaling::block ? by_blocks(one) : by_tensor_and_row(one);
      if (wanted && one.dtype == "e4m3" && one.layout == "nt") more.push_back(scaled(one, scaling));
    }
  cases.insert(cases.end(), more.begin(), more.end());
}

void append_forms(std::vector<Case>& cases) {
  const auto experts = [](std::int64_t tokens, std::int64_t n, std::int64_t k) {
    std::vector<Size> groups;
    for (const std::int64_t rows : expert_rows(32, tokens, Spread::skewed)) groups.push_back({rows, n, k});
    return groups;
  };
  // dsv3-up and dsv3-down: 32 experts. Of 512 tokens each goes to 8 of them.
  Case masked = in_form("dsv3-up_t256_masked", "experts 32, tokens 256, skewed, room for 128 each", Form::masked, experts(256, 4096, 7168));
  masked.rows = 128;
  cases.push_back(masked);
  masked.dtype = "e4m3";
  cases.push_back(scaled(masked, Scaling::block));
  for (const Batch& b : batches()) {
    const std::string count = std::to_string(b.count), size = size_name(b.size);
    Case batch = in_form("batch_x" + count + "_" + size, count + " x " + size + ", a distance apart", Form::batch, std::vector<Size>(b.count, b.size));
    batch.layout = b.layout, batch.dtype = b.dtype;
    cases.push_back(batch);
  }
  Case gathered = in_form("dsv3-up_t4096_gathered", "experts 32, tokens 4096, skewed, rows of A by index from 512", Form::gathered, experts(4096, 4096, 7168));
  gathered.rows = 512;
  cases.push_back(gathered);
  Case scattered = in_form("dsv3-down_t4096_scattered", "experts 32, tokens 4096, skewed, rows of D by index to 512, weighted", Form::scattered, experts(4096, 7168, 2048));
  scattered.rows = 512;
  cases.push_back(scattered);
  std::vector<Size> gradients;
  for (const Size& s : experts(8192, 4096, 7168)) gradients.push_back({s.n, s.k, s.m});
  Case ragged = in_form("dsv3-up-wgrad_t8192_ragged", "ragged k in one matrix, experts 32, tokens 8192, skewed", Form::ragged_k, gradients);
  cases.push_back(ragged);
  ragged.name = "dsv3-up-wgrad_t8192_accumulated", ragged.generator += ", added to f32", ragged.accumulate = true;
  cases.push_back(ragged);
}

}  // namespace ggemm::bench
