// SPDX-License-Identifier: Apache-2.0
#include "demo/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/table.hpp"

namespace ggemm::tools {
namespace {

constexpr std::size_t shown_experts = 12;  // more are summed up
constexpr int bar = 48;

long long ll(std::int64_t value) { return value; }

std::vector<std::int64_t> sorted_counts(const Routing& routing) {
  std::vector<std::int64_t> counts = routing.counts;
  std::sort(counts.rbegin(), counts.rend());
  return counts;
}

double mean_rows(const DemoReport& report) { return double(report.shape.rows()) / double(report.shape.experts); }

std::string first_line(const char* name, const FirstCalls& calls) {
  std::string out = format("  %s  %s: context %s", name, seconds_text(calls.total()).c_str(), seconds_text(calls.context).c_str());
  for (int i = 0; i < stage_count; ++i) out += format(", %s %s", stage_names[i], seconds_text(calls.product[std::size_t(i)]).c_str());
  return out + "\n";
}

double tflops(const ProductReport& product) { return product.seconds > 0 ? product.flops / product.seconds * 1e-12 : 0; }

nlohmann::ordered_json first_json(const FirstCalls& calls) {
  nlohmann::ordered_json out{{"total_s", calls.total()}, {"context_s", calls.context}};
  for (int i = 0; i < stage_count; ++i) out[std::string(stage_names[i]) + "_s"] = calls.product[std::size_t(i)];
  return out;
}

}  // namespace

double FirstCalls::total() const { return std::accumulate(product.begin(), product.end(), context); }

std::string head_text(const DemoReport& report) {
  const LayerShape& s = report.shape;
  std::string out = format("device   %s, ggemm %s\n", describe(report.device).c_str(), ggemm_version_string());
  const bool repeats = std::size_t(s.tokens) > report.text_bytes;
  out += format("text     %s, %zu bytes, %lld tokens%s\n", report.text_name.c_str(), report.text_bytes, ll(s.tokens),
                repeats ? " (the text repeats)" : "");
  return out + format("layer    %s, d_model %lld, d_ff %lld, %lld experts, top %lld: %lld rows\n", ggemm_dtype_name(s.dtype), ll(s.d_model),
                      ll(s.d_ff), ll(s.experts), ll(s.top_k), ll(s.rows()));
}

std::string routing_text(const DemoReport& report) {
  const std::vector<std::int64_t> counts = sorted_counts(report.routing);
  const auto empty = std::count(counts.begin(), counts.end(), 0);
  std::string out =
      format("groups   largest %lld, median %lld, smallest %lld rows, %lld empty; the largest is %.1f times the mean\n", ll(counts.front()),
             ll(counts[counts.size() / 2]), ll(counts.back()), ll(empty), double(counts.front()) / mean_rows(report));
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return report.routing.counts[a] > report.routing.counts[b]; });
  // The largest, and the smallest if there are more than fit.
  const std::size_t all = order.size(), tail = all > shown_experts ? shown_experts / 3 : 0;
  for (std::size_t i = 0; i < all; ++i) {
    if (tail > 0 && i == shown_experts - tail) {
      out += format("  ... %zu more ...\n", all - shown_experts);
      i = all - tail;
    }
    const std::int64_t rows = report.routing.counts[order[i]];
    const auto length = counts.front() > 0 ? std::size_t(bar * rows / counts.front()) : 0;
    out += format("  expert %3zu %7lld %s", order[i], ll(rows), std::string(length, '#').c_str());
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string result_text(const DemoReport& report, bool explain) {
  std::string out = format("first results, %s\n", report.fresh_cache ? "with an empty disk cache (cold) and with what it then holds (warm)"
                                                                     : "with the given disk cache (cold) and again (warm)");
  out += first_line("cold", report.cold) + first_line("warm", report.warm);
  out += format("products, median of %d calls; errors against float64 on %lld rows\n", report.runs, ll(report.accuracy.rows));
  Table table({"  product", "size", "time", "TFLOP/s", "largest error", "of its bound", "", "configuration"});
  for (std::size_t i = 0; i < stage_count; ++i) {
    const ProductReport& product = report.product[i];
    const ErrorReport& error = report.accuracy.product[i];
    table.add({std::string("  ") + stage_names[i], product.size, seconds_text(product.seconds), format("%.4g", tflops(product)),
               format("%.2e", error.max_error), format("%.3f", error.max_share), error.passed() ? "pass" : "FAIL", product.config});
  }
  out += table.text();
  if (explain)
    for (std::size_t i = 0; i < stage_count; ++i) out += std::string(stage_names[i]) + ":\n" + report.product[i].explain + "\n";
  out += format("layer    error against float64 all the way: %.2e (root mean square, relative)\n", report.accuracy.end_to_end);
  return out + (report.accuracy.passed() ? "PASS\n" : "FAIL\n");
}

nlohmann::ordered_json to_json(const DemoReport& report) {
  const LayerShape& s = report.shape;
  nlohmann::ordered_json out{
      {"version", ggemm_version_string()},
      {"device", report.device.name},
      {"kind", report.device.kind == GGEMM_DEVICE_CUDA ? "cuda" : "host"},
      {"arch", report.device.arch},
      {"driver_version", report.device.driver_version},
      {"blas", report.device.blas},
      {"threads", report.device.threads},
      {"text", report.text_name},
      {"text_bytes", report.text_bytes},
      {"dtype", ggemm_dtype_name(s.dtype)},
      {"tokens", s.tokens},
      {"d_model", s.d_model},
      {"d_ff", s.d_ff},
      {"experts", s.experts},
      {"top_k", s.top_k},
      {"seed", s.seed},
      {"groups", report.routing.counts},
      {"largest_over_mean", double(*std::max_element(report.routing.counts.begin(), report.routing.counts.end())) / mean_rows(report)},
      {"fresh_cache", report.fresh_cache},
      {"cold", first_json(report.cold)},
      {"warm", first_json(report.warm)},
      {"runs", report.runs}};
  for (std::size_t i = 0; i < stage_count; ++i) {
    const ProductReport& product = report.product[i];
    const ErrorReport& error = report.accuracy.product[i];
    out["products"].push_back({{"name", stage_names[i]},
                               {"size", product.size},
                               {"config", product.config},
                               {"explain", product.explain},
                               {"us", product.seconds * 1e6},
                               {"tflops", tflops(product)},
                               {"elements_checked", error.elements},
                               {"max_error", error.max_error},
                               {"share_of_bound", error.max_share},
                               {"passed", error.passed()}});
  }
  out["end_to_end_relative_rms"] = report.accuracy.end_to_end;
  out["passed"] = report.accuracy.passed();
  return out;
}

}  // namespace ggemm::tools
