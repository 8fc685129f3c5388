// SPDX-License-Identifier: Apache-2.0
// What `ggemm demo` found out, as text and as JSON.
#pragma once
#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "demo/accuracy.hpp"

namespace ggemm::tools {

// Seconds of the first calls, from nothing to each product's result on the device.
struct FirstCalls {
  double context = 0;
  std::array<double, stage_count> product{};
  double total() const;
};

struct ProductReport {
  std::string size, config, explain;
  double flops = 0, seconds = 0;  // of a warm call, median
};

struct DemoReport {
  ggemm_device_info device = GGEMM_DEVICE_INFO_INIT;
  LayerShape shape;
  std::string text_name;
  std::size_t text_bytes = 0;
  Routing routing;
  FirstCalls cold, warm;
  bool fresh_cache = true;
  int runs = 0;
  std::array<ProductReport, stage_count> product;
  Accuracy accuracy;
};

// In the order in which things are known; each ends with a line end.
std::string head_text(const DemoReport& report);
std::string routing_text(const DemoReport& report);
std::string result_text(const DemoReport& report, bool explain);
nlohmann::ordered_json to_json(const DemoReport& report);

}  // namespace ggemm::tools
