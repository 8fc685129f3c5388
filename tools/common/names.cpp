// SPDX-License-Identifier: Apache-2.0
#include "common/names.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "common/failure.hpp"

namespace ggemm::tools {

CLI::Validator one_of(const Words& words) {
  return CLI::Validator(
      [words](std::string& given) -> std::string {
        std::string word = CLI::detail::to_lower(given), list;
        std::replace(word.begin(), word.end(), '_', '-');
        for (const auto& [name, number] : words) {
          if (word == name) return given = std::to_string(number), "";
          list += (list.empty() ? "" : ", ") + name;
        }
        return "'" + given + "' is none of " + list;
      },
      "");
}

CLI::Validator at_least(double low) {
  return CLI::Validator(
      [low](std::string& given) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(given.c_str(), &end);
        if (!given.empty() && !*end && value >= low) return "";
        char text[64];
        std::snprintf(text, sizeof text, "is not a number from %g up", low);
        return "'" + given + "' " + text;
      },
      "");
}

CLI::Option* add_dtype_option(CLI::App& command, const std::string& name, ggemm_dtype& dtype, const std::string& help, ggemm_dtype last) {
  Words dtypes;
  for (int number = GGEMM_F64; number <= last; ++number) dtypes.emplace_back(ggemm_dtype_name(static_cast<ggemm_dtype>(number)), number);
  return command.add_option(name, dtype, help)->transform(one_of(dtypes))->type_name("DTYPE");
}

CLI::Option* add_compute_option(CLI::App& command, ggemm_compute& compute) {
  return command.add_option("--compute", compute, "default, tf32 (f32 inputs rounded to tf32) or f32x3 (f32 accuracy on tensor cores)")
      ->transform(one_of({{"default", GGEMM_COMPUTE_DEFAULT}, {"tf32", GGEMM_COMPUTE_TF32}, {"f32x3", GGEMM_COMPUTE_F32_ACCURATE}}))
      ->type_name("MODE");
}

namespace {

const Words& activations() {
  static const Words words{{"none", GGEMM_ACTIVATION_NONE}, {"relu", GGEMM_ACTIVATION_RELU},       {"leaky-relu", GGEMM_ACTIVATION_LEAKY_RELU},
                           {"gelu", GGEMM_ACTIVATION_GELU}, {"gelu-tanh", GGEMM_ACTIVATION_GELU_TANH}, {"silu", GGEMM_ACTIVATION_SILU},
                           {"sigmoid", GGEMM_ACTIVATION_SIGMOID}, {"tanh", GGEMM_ACTIVATION_TANH}, {"clamp", GGEMM_ACTIVATION_CLAMP}};
  return words;
}

}  // namespace

void ActivationOptions::add_to(CLI::App& command) {
  command.add_option("--activation", activation, "none, relu, leaky-relu, gelu, gelu-tanh, silu, sigmoid, tanh or clamp")->transform(one_of(activations()))->type_name("NAME");
  command.add_option("--p0", p0, "slope of leaky-relu, low end of clamp; for these, and no others, it must be given")->type_name("X");
  command.add_option("--p1", p1, "high end of clamp; likewise")->type_name("X");
}

void ActivationOptions::check() const {
  const auto expect = [this](const char* option, bool given, bool wanted, const char* what) {
    const auto name = std::find_if(activations().begin(), activations().end(), [this](const auto& word) { return word.second == activation; })->first;
    if (wanted && !given) fail_usage("--activation %s needs %s, %s", name.c_str(), option, what);
    if (given && !wanted) fail_usage("%s: --activation %s has no such parameter", option, name.c_str());
  };
  const bool leaky = activation == GGEMM_ACTIVATION_LEAKY_RELU, clamp = activation == GGEMM_ACTIVATION_CLAMP;
  expect("--p0", p0.has_value(), leaky || clamp, leaky ? "its slope below 0" : "its low end");
  expect("--p1", p1.has_value(), clamp, "its high end");
}

CLI::Option* add_seconds_option(CLI::App& command, const std::string& name, double& seconds, const std::string& help) {
  static const std::map<std::string, double> units{{"ms", 1e-3}, {"s", 1.0}, {"m", 60.0}, {"min", 60.0}, {"h", 3600.0}};
  return command.add_option(name, seconds, help)
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::DEFAULT, "").description(""))
      ->check(at_least(0))
      ->type_name("TIME");
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    out.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return out;
    begin = end + 1;
  }
}

std::vector<std::int64_t> parse_extents(const std::string& text, std::size_t count, const char* option) {
  std::vector<std::int64_t> out;
  for (const std::string& word : split(text, 'x')) {
    std::int64_t value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stop != end || word.empty() || value < 0) out.assign(count + 1, 0);
    if (out.size() > count) break;
    out.push_back(value);
  }
  if (out.size() != count)
    fail_usage("%s: '%s' is not %s", option, text.c_str(), count == 3 ? "three sizes such as 4096x4096x1024" : "two sizes such as 1024x768");
  return out;
}

ggemm_dtype default_out_dtype(ggemm_dtype a, ggemm_dtype b) {
  if (a != b) return a == GGEMM_F64 || b == GGEMM_F64 ? GGEMM_F64 : GGEMM_F32;
  if (a == GGEMM_E4M3 || a == GGEMM_E5M2) return GGEMM_F32;
  return a == GGEMM_I8 ? GGEMM_I32 : a;
}

}  // namespace ggemm::tools
