// SPDX-License-Identifier: Apache-2.0
#include "demo/products.hpp"

#include <algorithm>
#include <cmath>

#include "common/failure.hpp"
#include "common/mean_size.hpp"

namespace ggemm::tools {
namespace {

DeviceBlock upload(DeviceMemory& memory, const std::vector<char>& bytes) { return {memory, bytes.data(), bytes.size()}; }

std::vector<char> download(const DeviceBlock& block) {
  std::vector<char> out(block.size());
  block.copy_out(out.data());
  return out;
}

}  // namespace

Products::Products(DeviceMemory& memory, const LayerShape& shape, const LayerData& data)
    : memory_(memory),
      shape_(shape),
      data_(data),
      tokens_(upload(memory, data.tokens)),
      router_(upload(memory, data.router)),
      router_bias_(memory, data.router_bias.data(), data.router_bias.size() * sizeof(float)),
      gate_(upload(memory, data.gate)),
      up_(upload(memory, data.up)),
      down_(upload(memory, data.down)) {
  const auto rows = std::size_t(shape.rows()), size = ggemm_dtype_size(shape.dtype);
  const std::size_t hidden = rows * std::size_t(shape.d_ff) * size, model = rows * std::size_t(shape.d_model) * size;
  logits_ = DeviceBlock(memory, std::size_t(shape.tokens * shape.experts) * sizeof(float));
  input_ = DeviceBlock(memory, model);
  gate_out_ = DeviceBlock(memory, hidden);
  up_out_ = DeviceBlock(memory, hidden);
  hidden_in_ = DeviceBlock(memory, hidden);
  down_out_ = DeviceBlock(memory, model);
}

ggemm_gemm_desc Products::router_desc() const {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = shape_.tokens;
  desc.n = shape_.experts;
  desc.k = shape_.d_model;
  desc.a.dtype = desc.b.dtype = shape_.dtype;
  desc.d.dtype = GGEMM_F32;
  desc.b.row_stride = 1;  // stored [experts, d_model]
  desc.b.col_stride = shape_.d_model;
  desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN;
  return desc;
}

ggemm_gemm_args Products::router_args() const {
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = tokens_.data();
  args.b = router_.data();
  args.d = logits_.data();
  args.bias = router_bias_.data();
  return args;
}

Products::Experts Products::experts(Stage stage) const {
  const std::int64_t n = stage == stage_down ? shape_.d_model : shape_.d_ff, k = stage == stage_down ? shape_.d_ff : shape_.d_model;
  Experts out{GGEMM_GROUPED_DESC_INIT, GGEMM_GROUPED_ARGS_INIT};
  ggemm_grouped_desc& desc = out.desc;
  desc.groups = shape_.experts;
  desc.m = ggemm_i64_at(counts_.data(), sizeof(std::int64_t));
  desc.n = ggemm_const(n);
  desc.k = ggemm_const(k);
  desc.a.dtype = desc.b.dtype = desc.d.dtype = shape_.dtype;
  desc.b.row_stride = ggemm_const(1);  // stored [n, k]
  desc.b.col_stride = ggemm_const(k);
  if (stage == stage_gate) desc.epilogue.activation = GGEMM_ACTIVATION_SILU;
  desc.expected_m = mean_size(shape_.rows(), shape_.experts);
  desc.expected_n = n;
  desc.expected_k = k;
  out.args.a = pointers_[stage][0].data();
  out.args.b = pointers_[stage][1].data();
  out.args.d = pointers_[stage][2].data();
  return out;
}

void Products::run(ggemm_context* context, Stage stage) const {
  if (stage == stage_router) {
    const ggemm_gemm_desc desc = router_desc();
    const ggemm_gemm_args args = router_args();
    check(ggemm_gemm(context, &desc, &args, nullptr));
  } else {
    const Experts product = experts(stage);
    check(ggemm_grouped_gemm(context, &product.desc, &product.args, nullptr));
  }
}

void Products::set_pointers(Stage stage, const DeviceBlock& a, const DeviceBlock& b, const DeviceBlock& d) {
  const std::size_t size = ggemm_dtype_size(shape_.dtype), weights = std::size_t(shape_.d_model * shape_.d_ff) * size;
  const std::size_t k = std::size_t(stage == stage_down ? shape_.d_ff : shape_.d_model) * size,
                    n = std::size_t(stage == stage_down ? shape_.d_model : shape_.d_ff) * size;
  std::vector<char*> pointers[3];
  for (std::int64_t e = 0; e < shape_.experts; ++e) {
    const auto first = std::size_t(routing_.ends[std::size_t(e)] - routing_.counts[std::size_t(e)]);
    pointers[0].push_back(a.data() + first * k);
    pointers[1].push_back(b.data() + std::size_t(e) * weights);
    pointers[2].push_back(d.data() + first * n);
  }
  for (std::size_t i = 0; i < 3; ++i) pointers_[stage][i] = DeviceBlock(memory_, pointers[i].data(), pointers[i].size() * sizeof(char*));
}

void Products::route_tokens() {
  std::vector<float> logits(std::size_t(shape_.tokens * shape_.experts));
  logits_.copy_out(logits.data());
  const auto wrong = std::find_if(logits.begin(), logits.end(), [](float logit) { return !std::isfinite(logit); });
  if (wrong != logits.end()) {
    const auto at = static_cast<long long>(wrong - logits.begin());
    fail("the router's product is wrong: token %lld, expert %lld came out as %g", at / static_cast<long long>(shape_.experts),
         at % static_cast<long long>(shape_.experts), double(*wrong));
  }
  routing_ = route(shape_, logits);
  gathered_ = gather(shape_, data_.tokens, routing_);
  memory_.copy_in(input_.data(), gathered_.data(), gathered_.size());
  counts_ = DeviceBlock(memory_, routing_.counts.data(), routing_.counts.size() * sizeof(std::int64_t));
  set_pointers(stage_gate, input_, gate_, gate_out_);
  set_pointers(stage_up, input_, up_, up_out_);
  set_pointers(stage_down, hidden_in_, down_, down_out_);
}

void Products::multiply_gate_up() {
  hidden_ = multiply(shape_.dtype, download(gate_out_), download(up_out_));
  memory_.copy_in(hidden_in_.data(), hidden_.data(), hidden_.size());
}

Plan Products::plan(ggemm_context* context, Stage stage) const {
  ggemm_plan* plan = nullptr;
  if (stage == stage_router) {
    const ggemm_gemm_desc desc = router_desc();
    check(ggemm_plan_create(context, &desc, &plan));
  } else {
    const Experts product = experts(stage);
    check(ggemm_plan_create_grouped(context, &product.desc, &plan));
  }
  return Plan(plan);
}

ggemm_tune_result Products::tune(ggemm_context* context, Stage stage, double seconds) const {
  const ggemm_gemm_desc router = router_desc();
  const Experts product = experts(stage);
  ggemm_problem problem{stage == stage_router ? &router : nullptr, stage == stage_router ? nullptr : &product.desc};
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.budget_seconds = seconds;
  std::vector<std::int64_t> sizes;
  if (stage != stage_router) {
    for (const std::int64_t rows : routing_.counts) sizes.insert(sizes.end(), {rows, product.desc.n.value, product.desc.k.value});
    options.sample_sizes = sizes.data();
    options.sample_groups = routing_.counts.size();
  }
  ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
  check(ggemm_tune(context, &problem, &options, &result));
  return result;
}

double Products::flops(Stage stage) const {
  if (stage == stage_router) return 2.0 * double(shape_.tokens) * double(shape_.experts) * double(shape_.d_model);
  return 2.0 * double(shape_.rows()) * double(shape_.d_ff) * double(shape_.d_model);
}

std::vector<char> Products::output(Stage stage) const {
  const DeviceBlock* blocks[stage_count] = {&logits_, &gate_out_, &up_out_, &down_out_};
  return download(*blocks[stage]);
}

}  // namespace ggemm::tools
