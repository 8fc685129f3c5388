// SPDX-License-Identifier: Apache-2.0
#include "demo/layer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "common/failure.hpp"
#include "common/parallel.hpp"

namespace ggemm::tools {
namespace {

constexpr std::int64_t normal_count = 1 << 16;   // different values of a weight: an index is 16 bits
constexpr std::int64_t block = 1 << 20;          // elements that one thread fills at a time
constexpr int context_bytes = 4;                 // a byte and the three before it
constexpr double context_weight[context_bytes] = {1.0, 0.6, 0.4, 0.25};
constexpr double bias_deviation = 0.5;           // of the router's bias; its products deviate by 1

// splitmix64: every seed gives an independent stream.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return (double(next() >> 11) + 0.5) * 0x1p-53; }  // in (0, 1)
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform()); }

 private:
  std::uint64_t state_;
};

// `count` normal values of this deviation. Large arrays draw from a table of 65536 of them, which is a hundred times faster than drawing each.
std::vector<char> normals(ggemm_dtype dtype, std::int64_t count, double deviation, std::uint64_t seed) {
  const std::size_t size = ggemm_dtype_size(dtype);
  Random random(seed);
  std::vector<double> values(normal_count);
  for (double& value : values) value = random.normal() * deviation;
  std::vector<char> table(normal_count * size);
  check(ggemm_convert(dtype, table.data(), GGEMM_F64, values.data(), values.size()));
  std::vector<char> out(std::size_t(count) * size);
  const std::uint64_t base = random.next();
  parallel_for((count + block - 1) / block, [&](std::int64_t which) {
    Random stream(base + std::uint64_t(which) * 0xd1342543de82ef95u);
    const std::int64_t end = std::min(count, (which + 1) * block);
    std::uint64_t bits = 0;
    for (std::int64_t i = which * block; i < end; ++i) {
      bits = i % 4 == 0 ? stream.next() : bits >> 16;
      std::memcpy(out.data() + std::size_t(i) * size, table.data() + (bits & 0xffff) * size, size);
    }
  });
  return out;
}

std::vector<char> embed(const LayerShape& shape, const std::string& text) {
  const std::int64_t d = shape.d_model;
  const std::vector<char> table = normals(GGEMM_F64, 256 * context_bytes * d, 1.0, shape.seed * 16 + 1);
  const auto* embedding = reinterpret_cast<const double*>(table.data());
  const double norm = std::sqrt(std::inner_product(context_weight, context_weight + context_bytes, context_weight, 0.0));
  const std::size_t size = ggemm_dtype_size(shape.dtype);
  std::vector<char> out(std::size_t(shape.tokens * d) * size);
  parallel_for((shape.tokens + 255) / 256, [&](std::int64_t which) {
    std::vector<double> token(static_cast<std::size_t>(d));
    for (std::int64_t t = which * 256; t < std::min(shape.tokens, (which + 1) * 256); ++t) {
      std::fill(token.begin(), token.end(), 0.0);
      for (int back = 0; back < context_bytes && back <= t; ++back) {
        const auto byte = static_cast<unsigned char>(text[std::size_t(t - back) % text.size()]);
        const double* row = embedding + (std::int64_t(back) * 256 + byte) * d;
        for (std::int64_t i = 0; i < d; ++i) token[std::size_t(i)] += context_weight[back] / norm * row[i];
      }
      check(ggemm_convert(shape.dtype, out.data() + std::size_t(t * d) * size, GGEMM_F64, token.data(), token.size()));
    }
  });
  return out;
}

}  // namespace

LayerData make_layer(const LayerShape& shape, const std::string& text) {
  const double in = 1 / std::sqrt(double(shape.d_model)), hidden = 1 / std::sqrt(double(shape.d_ff));
  const std::int64_t weights = shape.experts * shape.d_model * shape.d_ff;
  LayerData out;
  out.tokens = embed(shape, text);
  out.router = normals(shape.dtype, shape.experts * shape.d_model, in, shape.seed * 16 + 2);
  out.router_bias.resize(std::size_t(shape.experts));
  const std::vector<char> bias = normals(GGEMM_F32, shape.experts, bias_deviation, shape.seed * 16 + 6);
  std::memcpy(out.router_bias.data(), bias.data(), bias.size());
  out.gate = normals(shape.dtype, weights, in, shape.seed * 16 + 3);
  out.up = normals(shape.dtype, weights, in, shape.seed * 16 + 4);
  out.down = normals(shape.dtype, weights, hidden, shape.seed * 16 + 5);
  return out;
}

Routing route(const LayerShape& shape, const std::vector<float>& logits) {
  const std::int64_t experts = shape.experts, top = shape.top_k;
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(shape.rows()));
  std::vector<float> weights(chosen.size());
  parallel_for((shape.tokens + 255) / 256, [&](std::int64_t which) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(experts));
    for (std::int64_t t = which * 256; t < std::min(shape.tokens, (which + 1) * 256); ++t) {
      const float* logit = logits.data() + t * experts;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + top, order.end(),
                        [logit](std::int64_t a, std::int64_t b) { return logit[a] != logit[b] ? logit[a] > logit[b] : a < b; });
      float sum = 0;
      for (std::int64_t i = 0; i < top; ++i) sum += std::exp(logit[order[std::size_t(i)]] - logit[order[0]]);
      for (std::int64_t i = 0; i < top; ++i) {
        chosen[std::size_t(t * top + i)] = order[std::size_t(i)];
        weights[std::size_t(t * top + i)] = std::exp(logit[order[std::size_t(i)]] - logit[order[0]]) / sum;
      }
    }
  });
  Routing out;
  out.counts.assign(std::size_t(experts), 0);
  for (const std::int64_t expert : chosen) ++out.counts[std::size_t(expert)];
  out.ends.resize(out.counts.size());
  std::partial_sum(out.counts.begin(), out.counts.end(), out.ends.begin());
  std::vector<std::int64_t> next(out.counts.size());
  for (std::size_t e = 0; e < next.size(); ++e) next[e] = out.ends[e] - out.counts[e];
  out.token.resize(chosen.size());
  out.weight.resize(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto row = std::size_t(next[std::size_t(chosen[i])]++);
    out.token[row] = std::int64_t(i) / top;
    out.weight[row] = weights[i];
  }
  return out;
}

std::vector<char> gather(const LayerShape& shape, const std::vector<char>& tokens, const Routing& routing) {
  const std::size_t row = std::size_t(shape.d_model) * ggemm_dtype_size(shape.dtype);
  std::vector<char> out(routing.token.size() * row);
  for (std::size_t i = 0; i < routing.token.size(); ++i) std::memcpy(out.data() + i * row, tokens.data() + std::size_t(routing.token[i]) * row, row);
  return out;
}

std::vector<float> combine(const LayerShape& shape, const std::vector<char>& rows, const Routing& routing) {
  const std::int64_t d = shape.d_model;
  const std::size_t size = ggemm_dtype_size(shape.dtype);
  std::vector<float> out(std::size_t(shape.tokens * d), 0.0f), row(static_cast<std::size_t>(d));
  for (std::size_t i = 0; i < routing.token.size(); ++i) {
    check(ggemm_convert(GGEMM_F32, row.data(), shape.dtype, rows.data() + i * std::size_t(d) * size, row.size()));
    float* sum = out.data() + routing.token[i] * d;
    for (std::int64_t j = 0; j < d; ++j) sum[j] += routing.weight[i] * row[std::size_t(j)];
  }
  return out;
}

std::vector<char> multiply(ggemm_dtype dtype, const std::vector<char>& left, const std::vector<char>& right) {
  const std::size_t size = ggemm_dtype_size(dtype);
  const auto count = static_cast<std::int64_t>(left.size() / size);
  std::vector<char> out(left.size());
  parallel_for((count + block - 1) / block, [&](std::int64_t which) {
    const auto begin = std::size_t(which * block), length = std::size_t(std::min(count, (which + 1) * block)) - begin;
    std::vector<double> a(length), b(length);
    check(ggemm_convert(GGEMM_F64, a.data(), dtype, left.data() + begin * size, length));
    check(ggemm_convert(GGEMM_F64, b.data(), dtype, right.data() + begin * size, length));
    for (std::size_t i = 0; i < length; ++i) a[i] *= b[i];
    check(ggemm_convert(dtype, out.data() + begin * size, GGEMM_F64, a.data(), length));
  });
  return out;
}

}  // namespace ggemm::tools
