// SPDX-License-Identifier: Apache-2.0
#include "bench/product.hpp"

#include <algorithm>
#include <chrono>

#include "common/failure.hpp"
#include "common/mean_size.hpp"

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
  std::vector<std::int32_t> sizes, lds;
  for (size_t g = 0; g < groups; g++) {
    for (const std::int64_t value : {one.groups[g].m, one.groups[g].n, one.groups[g].k}) sizes.push_back(static_cast<std::int32_t>(value));
    for (const std::int64_t value : {layout_.a[g].ld, layout_.b[g].ld, layout_.d[g].ld}) lds.push_back(static_cast<std::int32_t>(value));
  }
  pointers_ = tools::DeviceBlock(memory, pointers.data(), pointers.size() * sizeof(void*));
  sizes_ = tools::DeviceBlock(memory, sizes.data(), sizes.size() * sizeof(std::int32_t));
  lds_ = tools::DeviceBlock(memory, lds.data(), lds.size() * sizeof(std::int32_t));
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

Product::Product(ggemm_context* context, const Case& one, const Operands& operands, const std::string& config)
    : context_(context), forced_(config), is_grouped_(one.grouped()) {
  describe(one, operands);
  make_plan();
}

void Product::describe(const Case& one, const Operands& operands) {
  const Type& type = type_named(one.dtype);
  const bool ta = one.layout[0] == 't', tb = one.layout[1] == 't';
  const char* config = forced_.empty() ? nullptr : forced_.c_str();
  if (!is_grouped_) {
    gemm_.m = one.size.m, gemm_.n = one.size.n, gemm_.k = one.size.k;
    gemm_.compute = type.compute;
    gemm_.config = config;
    const auto set = [](ggemm_matrix& matrix, ggemm_dtype dtype, std::int64_t ld, bool turned) {
      matrix.dtype = dtype;
      matrix.row_stride = turned ? 1 : ld;
      matrix.col_stride = turned ? ld : 1;
    };
    set(gemm_.a, type.input, operands.layout().a[0].ld, ta);
    set(gemm_.b, type.input, operands.layout().b[0].ld, tb);
    set(gemm_.d, type.output, operands.layout().d[0].ld, false);
    gemm_args_.a = operands.a(), gemm_args_.b = operands.b(), gemm_args_.d = operands.d();
    return;
  }
  const std::int64_t count = static_cast<std::int64_t>(one.groups.size());
  grouped_.groups = count;
  grouped_.compute = type.compute;
  grouped_.config = config;
  const std::int32_t *sizes = operands.sizes(), *lds = operands.lds();
  grouped_.m = ggemm_i32_at(sizes, 12), grouped_.n = ggemm_i32_at(sizes + 1, 12), grouped_.k = ggemm_i32_at(sizes + 2, 12);
  const auto set = [](ggemm_grouped_matrix& matrix, ggemm_dtype dtype, const std::int32_t* ld, bool turned) {
    matrix.dtype = dtype;
    matrix.row_stride = turned ? ggemm_const(1) : ggemm_i32_at(ld, 12);
    matrix.col_stride = turned ? ggemm_i32_at(ld, 12) : ggemm_const(1);
  };
  set(grouped_.a, type.input, lds, ta);
  set(grouped_.b, type.input, lds + 1, tb);
  set(grouped_.d, type.output, lds + 2, false);
  for (const Size& group : one.groups) {
    grouped_.expected_m += group.m, grouped_.expected_n += group.n, grouped_.expected_k += group.k;
    sample_sizes_.insert(sample_sizes_.end(), {group.m, group.n, group.k});
  }
  for (std::int64_t* sum : {&grouped_.expected_m, &grouped_.expected_n, &grouped_.expected_k}) *sum = tools::mean_size(*sum, count);
  grouped_args_.a = operands.pointers('a'), grouped_args_.b = operands.pointers('b'), grouped_args_.d = operands.pointers('d');
}

void Product::make_plan() {
  const auto begin = std::chrono::steady_clock::now();
  ggemm_plan* plan = nullptr;
  tools::check(is_grouped_ ? ggemm_plan_create_grouped(context_, &grouped_, &plan) : ggemm_plan_create(context_, &gemm_, &plan));
  plan_.reset(plan);
  prepare_seconds_ = seconds_since(begin);
}

void Product::run(void* stream) const {
  tools::check(is_grouped_ ? ggemm_plan_run_grouped(plan_.get(), &grouped_args_, stream) : ggemm_plan_run(plan_.get(), &gemm_args_, stream));
}

void Product::one_call(void* stream) const {
  tools::check(is_grouped_ ? ggemm_grouped_gemm(context_, &grouped_, &grouped_args_, stream) : ggemm_gemm(context_, &gemm_, &gemm_args_, stream));
}

double Product::tune(double budget_seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const ggemm_problem problem{is_grouped_ ? nullptr : &gemm_, is_grouped_ ? &grouped_ : nullptr};
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.budget_seconds = budget_seconds;
  if (is_grouped_) {
    options.sample_sizes = sample_sizes_.data();
    options.sample_groups = sample_sizes_.size() / 3;
  }
  tools::check(ggemm_tune(context_, &problem, &options, nullptr));
  const double seconds = seconds_since(begin);
  make_plan();
  return seconds;
}

}  // namespace ggemm::bench
