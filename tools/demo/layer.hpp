// SPDX-License-Identifier: Apache-2.0
// A small mixture-of-experts layer in ordinary memory: its weights, the tokens of a text, and who goes to which expert.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ggemm.h"

namespace ggemm::tools {

struct LayerShape {
  std::int64_t tokens = 0, d_model = 0, d_ff = 0, experts = 0, top_k = 0;
  ggemm_dtype dtype = GGEMM_F32;
  std::uint64_t seed = 1;

  std::int64_t rows() const { return tokens * top_k; }  // of all experts' inputs together
};

// Weights are stored as [out, in], as frameworks do. All of LayerShape::dtype.
struct LayerData {
  std::vector<char> tokens;          // [tokens, d_model]
  std::vector<char> router;          // [experts, d_model]
  std::vector<float> router_bias;    // [experts]: some experts are liked by all tokens, as in any router that nothing has balanced
  std::vector<char> gate, up;        // [experts, d_ff, d_model]
  std::vector<char> down;            // [experts, d_model, d_ff]
};

// Normally distributed weights of variance 1 / inputs; each token is its byte's embedding mixed with those of the three bytes before it. The text is
// repeated as often as needed.
LayerData make_layer(const LayerShape& shape, const std::string& text);

// Tokens sorted by expert.
struct Routing {
  std::vector<std::int64_t> counts, ends;  // rows of each expert, and where they end
  std::vector<std::int64_t> token;         // whose token a row is, [rows]
  std::vector<float> weight;               // of the row in its token's sum, [rows]
};

// The top_k experts of each token by its logits [tokens, experts]; weights are their softmax.
Routing route(const LayerShape& shape, const std::vector<float>& logits);
// The tokens' vectors in the order of the routing, [rows, d_model].
std::vector<char> gather(const LayerShape& shape, const std::vector<char>& tokens, const Routing& routing);
// The layer's output: each token's sum of its experts' rows by their weights, [tokens, d_model] in f32.
std::vector<float> combine(const LayerShape& shape, const std::vector<char>& rows, const Routing& routing);
// left[i] * right[i], rounded to the dtype.
std::vector<char> multiply(ggemm_dtype dtype, const std::vector<char>& left, const std::vector<char>& right);

}  // namespace ggemm::tools
