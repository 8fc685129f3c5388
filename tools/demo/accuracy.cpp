// SPDX-License-Identifier: Apache-2.0
#include "demo/accuracy.hpp"

#include <cmath>

#include "common/failure.hpp"
#include "common/parallel.hpp"

namespace ggemm::tools {
namespace {

// Rows of one expert, counted from its first.
struct Share {
  std::int64_t expert, first;
  std::vector<std::int64_t> rows;
};

std::vector<Share> share_out(const Routing& routing, const std::vector<std::int64_t>& rows) {
  std::vector<Share> out;
  std::int64_t expert = 0;
  for (const std::int64_t row : rows) {
    while (row >= routing.ends[std::size_t(expert)]) ++expert;
    const std::int64_t first = routing.ends[std::size_t(expert)] - routing.counts[std::size_t(expert)];
    if (out.empty() || out.back().expert != expert) out.push_back({expert, first, {}});
    out.back().rows.push_back(row - first);
  }
  return out;
}

const char* at(const std::vector<char>& bytes, std::int64_t element, std::size_t size) { return bytes.data() + std::size_t(element) * size; }

// One expert's product: rows x k times its [n, k] weights.
ErrorReport check_expert(const LayerShape& shape, const Share& share, Stage stage, const std::vector<char>& in, const std::vector<char>& weights,
                         const std::vector<char>& out) {
  const std::int64_t n = stage == stage_down ? shape.d_model : shape.d_ff, k = stage == stage_down ? shape.d_ff : shape.d_model;
  const std::size_t size = ggemm_dtype_size(shape.dtype);
  const std::int64_t rows = share.rows.back() + 1;
  ReferenceProduct reference;
  reference.a = {shape.dtype, at(in, share.first * k, size), rows, k, k, 1};
  reference.b = {shape.dtype, at(weights, share.expert * n * k, size), k, n, 1, k};
  reference.d = {shape.dtype, at(out, share.first * n, size), rows, n, n, 1};
  if (stage == stage_gate) reference.activation = GGEMM_ACTIVATION_SILU;
  return check_rows(reference, share.rows);
}

// x [rows, k] times the transpose of weights [n, k], all in float64.
std::vector<double> product(const std::vector<double>& x, std::int64_t k, const char* weights, ggemm_dtype dtype, std::int64_t n) {
  const std::int64_t rows = std::int64_t(x.size()) / k;
  std::vector<double> out(std::size_t(rows * n));
  const std::size_t size = ggemm_dtype_size(dtype);
  parallel_for(n, [&](std::int64_t j) {
    std::vector<double> line(static_cast<std::size_t>(k));
    check(ggemm_convert(GGEMM_F64, line.data(), dtype, weights + std::size_t(j * k) * size, line.size()));
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += x[std::size_t(row * k + i)] * line[std::size_t(i)];
      out[std::size_t(row * n + j)] = sum;
    }
  });
  return out;
}

std::vector<double> load_rows(const std::vector<char>& bytes, ggemm_dtype dtype, const Share& share, std::int64_t width) {
  const std::size_t size = ggemm_dtype_size(dtype);
  std::vector<double> out(share.rows.size() * std::size_t(width));
  for (std::size_t i = 0; i < share.rows.size(); ++i)
    check(ggemm_convert(GGEMM_F64, out.data() + i * std::size_t(width), dtype, at(bytes, (share.first + share.rows[i]) * width, size),
                        std::size_t(width)));
  return out;
}

// The expert with no rounding between its products.
std::vector<double> whole_expert(const LayerShape& shape, const LayerData& data, const Share& share, const std::vector<char>& in) {
  const std::size_t size = ggemm_dtype_size(shape.dtype);
  const std::int64_t weights = shape.d_model * shape.d_ff;
  const std::vector<double> x = load_rows(in, shape.dtype, share, shape.d_model);
  std::vector<double> hidden = product(x, shape.d_model, at(data.gate, share.expert * weights, size), shape.dtype, shape.d_ff);
  const std::vector<double> up = product(x, shape.d_model, at(data.up, share.expert * weights, size), shape.dtype, shape.d_ff);
  for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] = activate(GGEMM_ACTIVATION_SILU, hidden[i], 0, 0) * up[i];
  return product(hidden, shape.d_ff, at(data.down, share.expert * weights, size), shape.dtype, shape.d_model);
}

ErrorReport check_router(const LayerShape& shape, const LayerData& data, const std::vector<char>& logits) {
  ReferenceProduct reference;
  reference.a = {shape.dtype, data.tokens.data(), shape.tokens, shape.d_model, shape.d_model, 1};
  reference.b = {shape.dtype, data.router.data(), shape.d_model, shape.experts, 1, shape.d_model};
  reference.d = {GGEMM_F32, logits.data(), shape.tokens, shape.experts, shape.experts, 1};
  reference.bias = GGEMM_BIAS_PER_COLUMN;
  reference.bias_dtype = GGEMM_F32;
  reference.bias_data = data.router_bias.data();
  return check_rows(reference, sample_rows(shape.tokens, shape.experts, shape.d_model, 1e9));
}

}  // namespace

bool Accuracy::passed() const {
  bool all = true;
  for (const ErrorReport& report : product) all &= report.passed();
  return all;
}

Accuracy check_accuracy(const LayerShape& shape, const LayerData& data, const Products& products, std::int64_t sample) {
  Accuracy out;
  out.product[stage_router] = check_router(shape, data, products.output(stage_router));
  const std::vector<std::int64_t> rows = sample_rows(shape.rows(), 1, 1, double(sample));
  out.rows = std::int64_t(rows.size());
  const std::vector<char> gate = products.output(stage_gate), up = products.output(stage_up), down = products.output(stage_down);
  double error = 0, magnitude = 0;
  for (const Share& share : share_out(products.routing(), rows)) {
    out.product[stage_gate].add(check_expert(shape, share, stage_gate, products.gathered(), data.gate, gate));
    out.product[stage_up].add(check_expert(shape, share, stage_up, products.gathered(), data.up, up));
    out.product[stage_down].add(check_expert(shape, share, stage_down, products.hidden(), data.down, down));
    const std::vector<double> wanted = whole_expert(shape, data, share, products.gathered()), got = load_rows(down, shape.dtype, share, shape.d_model);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      error += (got[i] - wanted[i]) * (got[i] - wanted[i]);
      magnitude += wanted[i] * wanted[i];
    }
  }
  out.end_to_end = magnitude > 0 ? std::sqrt(error / magnitude) : 0;
  return out;
}

}  // namespace ggemm::tools
