// SPDX-License-Identifier: Apache-2.0
#include "bench/product.hpp"

#include <algorithm>
#include <chrono>

#include "common/failure.hpp"

namespace ggemm::bench {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Reader {
  tools::DeviceMemory* memory;
  const char* base;
  size_t element;
};

std::vector<char> read_row(void* user, const View& d, std::int64_t row) {
  const auto& reader = *static_cast<const Reader*>(user);
  std::vector<char> out(static_cast<size_t>(d.cols) * reader.element);
  reader.memory->copy_out(out.data(), reader.base + static_cast<size_t>(d.at(row, 0)) * reader.element, out.size());
  return out;
}

}  // namespace

Operands::Operands(const Case& one, tools::DeviceMemory& memory, const Filler& fill)
    : case_(one),
      memory_(memory),
      fill_(fill),
      layout_(lay_out(one)),
      in_size_(ggemm_dtype_size(type_named(one.dtype).input)),
      out_size_(ggemm_dtype_size(one.output())) {
  const ggemm_dtype input = type_named(one.dtype).input;
  a_ = tools::DeviceBlock(memory, static_cast<size_t>(layout_.elements_a) * in_size_);
  b_ = tools::DeviceBlock(memory, static_cast<size_t>(layout_.elements_b) * in_size_);
  d_ = tools::DeviceBlock(memory, static_cast<size_t>(layout_.elements_d) * out_size_);
  d_peer_ = tools::DeviceBlock(memory, static_cast<size_t>(layout_.elements_d) * out_size_);
  memory.synchronize();  // the filler may use a stream of its own
  fill(a_.data(), layout_.elements_a, block_a(input));
  fill(b_.data(), layout_.elements_b, block_b(input));
  const auto numbers = [&](tools::DeviceBlock& block, std::int64_t count, const Block& values) {
    block = tools::DeviceBlock(memory, static_cast<size_t>(count) * sizeof(float));
    memory.synchronize();
    fill(block.data(), count, values);
  };
  if (one.scaling != Scaling::none) numbers(scale_a_, layout_.scales_a, scales_a()), numbers(scale_b_, layout_.scales_b, scales_b());
  if (one.form == Form::scattered) numbers(weights_, static_cast<std::int64_t>(layout_.index.size()), scales_a());
  if (one.grouped()) place_groups();
}

void Operands::place_groups() {
  std::vector<void*> pointers;
  for (const char operand : {'a', 'b', 'd', 'p'})
    for (size_t g = 0; g < case_.groups.size(); g++) pointers.push_back(operand == 'a' ? a(g) : operand == 'b' ? b(g) : operand == 'd' ? d(g) : d_peer(g));
  pointers_ = tools::DeviceBlock(memory_, pointers.data(), pointers.size() * sizeof(void*));
  const auto keep = [&](tools::DeviceBlock& block, const std::vector<std::int32_t>& numbers) {
    block = tools::DeviceBlock(memory_, numbers.data(), numbers.size() * sizeof(std::int32_t));
  };
  keep(sizes_, group_sizes(case_));
  keep(lds_, group_lds(layout_));
  keep(ends_, group_ends(case_));
  if (!layout_.index.empty()) keep(index_, layout_.index);
}

void Operands::reset(bool peer) {
  const tools::DeviceBlock& block = peer ? d_peer_ : d_;
  if (case_.accumulate) {
    memory_.synchronize();
    fill_(block.data(), layout_.elements_d, block_c());
    return;
  }
  const std::vector<char> ones(std::min<size_t>(block.size(), size_t{64} << 20), static_cast<char>(0xff));
  for (size_t at = 0; at < block.size(); at += ones.size()) memory_.copy_in(block.data() + at, ones.data(), std::min(ones.size(), block.size() - at));
}

GroupArrays Operands::arrays() const {
  const auto at = [](const tools::DeviceBlock& block) { return reinterpret_cast<const std::int32_t*>(block.data()); };
  return {at(sizes_), at(lds_), at(ends_), at(index_)};
}

std::string Operands::check(bool peer) const {
  memory_.synchronize();
  Reader reader{&memory_, peer ? d_peer_.data() : d_.data(), out_size_};
  return check_sample(case_, layout_, read_row, &reader);
}

const void* Operands::pointers(char operand) const {
  const size_t list = operand == 'a' ? 0 : operand == 'b' ? 1 : operand == 'd' ? 2 : 3;
  return pointers_.data() + list * case_.groups.size() * sizeof(void*);
}

Product::Product(ggemm_context* context, const Case& one, const Operands& operands, const std::string& config, bool model)
    : context_(context), description_(one, operands.layout(), operands.arrays(), config) {
  static const float whole = 1;
  gemm_args_.a = operands.a(), gemm_args_.b = operands.b(), gemm_args_.d = operands.d();
  gemm_args_.scale_a = grouped_args_.scale_a = operands.scale_a(), gemm_args_.scale_b = grouped_args_.scale_b = operands.scale_b();
  if (one.grouped()) {
    const bool pointers = description_.group().form == GGEMM_GROUPS_POINTERS;
    const auto given = [&](char operand, const void* first) { return pointers ? operands.pointers(operand) : first; };
    grouped_args_.a = given('a', operands.a()), grouped_args_.b = given('b', operands.b()), grouped_args_.d = given('d', operands.d());
    grouped_args_.row_weights = operands.weights();
    if (one.accumulate) grouped_args_.c = grouped_args_.d, grouped_args_.beta = &whole;
  }
  if (model)
    for (const std::string& first : description_.ranked(context_, 1)) description_.force(first);
  make_plan();
}

void Product::make_plan() {
  const auto begin = std::chrono::steady_clock::now();
  plan_ = description_.plan(context_);
  prepare_seconds_ = seconds_since(begin);
}

void Product::run(void* stream) const {
  tools::check(description_.grouped() ? ggemm_plan_run_grouped(plan_.get(), &grouped_args_, stream) : ggemm_plan_run(plan_.get(), &gemm_args_, stream));
}

void Product::one_call(void* stream) const {
  tools::check(description_.grouped() ? ggemm_grouped_gemm(context_, &description_.group(), &grouped_args_, stream)
                                      : ggemm_gemm(context_, &description_.gemm(), &gemm_args_, stream));
}

double Product::tune(double budget_seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const ggemm_problem problem = description_.problem();
  const ggemm_tune_options options = description_.tune_options(budget_seconds);
  tools::check(ggemm_tune(context_, &problem, &options, nullptr));
  const double seconds = seconds_since(begin);
  make_plan();
  return seconds;
}

}  // namespace ggemm::bench
