// SPDX-License-Identifier: Apache-2.0
// Words of the command line and what they stand for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ggemm.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace ggemm::tools {

// A word for each number that an option takes; any case, - or _.
using Words = std::vector<std::pair<std::string, int>>;
CLI::Validator one_of(const Words& words);
CLI::Validator at_least(double low);

// "f64" ... "i32", which is of D alone.
CLI::Option* add_dtype_option(CLI::App& command, const std::string& name, ggemm_dtype& dtype, const std::string& help, ggemm_dtype last = GGEMM_I32);
CLI::Option* add_compute_option(CLI::App& command, ggemm_compute& compute);

struct ActivationOptions {
  ggemm_activation activation = GGEMM_ACTIVATION_NONE;
  std::optional<double> p0, p1;
  void add_to(CLI::App& command);
  // The parameters that the activation has must be given, and no others: 0 would be a number like any other. Throws Failure.
  void check() const;
};

// A duration such as 60s, 500ms or 2m, in seconds.
CLI::Option* add_seconds_option(CLI::App& command, const std::string& name, double& seconds, const std::string& help);

// "1024x768" or "4096x4096x1024": exactly `count` numbers, each 0 or more.
std::vector<std::int64_t> parse_extents(const std::string& text, std::size_t count, const char* option);
std::vector<std::string> split(const std::string& text, char separator);

// What D is when nobody says: the inputs' own type; f32 for fp8, i32 for int8; of two different types f64 if one is f64, else f32.
ggemm_dtype default_out_dtype(ggemm_dtype a, ggemm_dtype b);

}  // namespace ggemm::tools
