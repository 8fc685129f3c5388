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
      layout_(lay_out(one)),
      in_size_(ggemm_dtype_size(type_named(one.dtype).input)),
      out_size_(ggemm_dtype_size(type_named(one.dtype).output)) {
  const ggemm_dtype input = type_named(one.dtype).input;
  a_ = tools::DeviceBlock(memory, static_cast<size_t>(layout_.elements_a) * in_size_);
  b_ = tools::DeviceBlock(memory, static_cast<size_t>(layout_.elements_b) * in_size_);
  d_ = tools::DeviceBlock(memory, static_cast<size_t>(layout_.elements_d) * out_size_);
  d_peer_ = tools::DeviceBlock(memory, static_cast<size_t>(layout_.elements_d) * out_size_);
  memory.synchronize();  // the filler may use a stream of its own
  fill(a_.data(), layout_.elements_a, block_a(input));
  fill(b_.data(), layout_.elements_b, block_b(input));
  if (!one.grouped()) return;
  const size_t groups = one.groups.size();
  std::vector<void*> pointers;
  for (const char operand : {'a', 'b', 'd', 'p'})
    for (size_t g = 0; g < groups; g++) pointers.push_back(operand == 'a' ? a(g) : operand == 'b' ? b(g) : operand == 'd' ? d(g) : d_peer(g));
  const std::vector<std::int32_t> sizes = group_sizes(one), lds = group_lds(layout_), ends = group_ends(one);
  pointers_ = tools::DeviceBlock(memory, pointers.data(), pointers.size() * sizeof(void*));
  sizes_ = tools::DeviceBlock(memory, sizes.data(), sizes.size() * sizeof(std::int32_t));
  lds_ = tools::DeviceBlock(memory, lds.data(), lds.size() * sizeof(std::int32_t));
  ends_ = tools::DeviceBlock(memory, ends.data(), ends.size() * sizeof(std::int32_t));
}

void Operands::poison(bool peer) {
  const tools::DeviceBlock& block = peer ? d_peer_ : d_;
  const std::vector<char> ones(std::min<size_t>(block.size(), size_t{64} << 20), static_cast<char>(0xff));
  for (size_t at = 0; at < block.size(); at += ones.size()) memory_.copy_in(block.data() + at, ones.data(), std::min(ones.size(), block.size() - at));
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
    : context_(context), description_(one, operands.layout(), operands.sizes(), operands.lds(), operands.ends(), config) {
  gemm_args_.a = operands.a(), gemm_args_.b = operands.b(), gemm_args_.d = operands.d();
  if (ragged_rows(one, operands.layout())) grouped_args_.a = operands.a(), grouped_args_.b = operands.b(), grouped_args_.d = operands.d();
  else if (one.grouped()) grouped_args_.a = operands.pointers('a'), grouped_args_.b = operands.pointers('b'), grouped_args_.d = operands.pointers('d');
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
