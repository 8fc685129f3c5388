// SPDX-License-Identifier: Apache-2.0
// The layer's four products on a device: the router, which is plain, and the experts' gate, up and down, which are grouped.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "common/context.hpp"
#include "common/device_memory.hpp"
#include "demo/layer.hpp"
#include "ggemm.h"

namespace ggemm::tools {

enum Stage : int { stage_router = 0, stage_gate = 1, stage_up = 2, stage_down = 3, stage_count = 4 };
constexpr const char* stage_names[stage_count] = {"router", "gate", "up", "down"};

// The operands of the layer in device memory. gate's product has silu in its epilogue; what follows it, times up, is done on ordinary memory, since
// it is no product.
class Products {
 public:
  Products(DeviceMemory& memory, const LayerShape& shape, const LayerData& data);

  // One call of the library, asynchronous on a GPU.
  void run(ggemm_context* context, Stage stage) const;
  // Reads the router's logits, sorts the tokens by expert and lays out the experts' operands.
  void route_tokens();
  // hidden = gate * up; down's input.
  void multiply_gate_up();

  Plan plan(ggemm_context* context, Stage stage) const;
  ggemm_tune_result tune(ggemm_context* context, Stage stage, double seconds) const;
  double flops(Stage stage) const;
  const Routing& routing() const { return routing_; }
  const std::vector<char>& gathered() const { return gathered_; }
  const std::vector<char>& hidden() const { return hidden_; }
  std::vector<char> output(Stage stage) const;

 private:
  struct Experts {
    ggemm_grouped_desc desc;
    ggemm_grouped_args args;
  };
  ggemm_gemm_desc router_desc() const;
  ggemm_gemm_args router_args() const;
  Experts experts(Stage stage) const;
  void set_pointers(Stage stage, const DeviceBlock& a, const DeviceBlock& b, const DeviceBlock& d);

  DeviceMemory& memory_;
  LayerShape shape_;
  const LayerData& data_;
  Routing routing_;
  std::vector<char> gathered_, hidden_;
  DeviceBlock tokens_, router_, router_bias_, gate_, up_, down_;          // inputs and weights
  DeviceBlock logits_, input_, gate_out_, up_out_, hidden_in_, down_out_;
  DeviceBlock counts_;                                       // int64 rows of each expert
  std::array<std::array<DeviceBlock, 3>, stage_count> pointers_;  // of A, B and D, an array each
};

}  // namespace ggemm::tools
