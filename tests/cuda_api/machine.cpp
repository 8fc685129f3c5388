// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <algorithm>

#include "params.cuh"

namespace ggemm::tests {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Cuts `end` off, if it is there.
bool cut(std::string& text, const std::string& end) {
  if (!ends_with(text, end)) return false;
  text.resize(text.size() - end.size());
  return true;
}

}  // namespace

core::ProblemType type_of_kernel(const std::string& symbol) {
  std::string rest = symbol;
  REQUIRE(rest.starts_with("ggemm_"));
  rest.erase(0, 6);
  const bool grouped = cut(rest, "_grouped");
  const int bias = cut(rest, "_bias_column") ? GGEMM_BIAS_PER_COLUMN : cut(rest, "_bias_row") ? GGEMM_BIAS_PER_ROW : GGEMM_BIAS_NONE;
  int activation = GGEMM_ACTIVATION_NONE;
  // The longer name first: "gelu_tanh" ends like "tanh".
  for (const int candidate : {GGEMM_ACTIVATION_GELU_TANH, GGEMM_ACTIVATION_LEAKY_RELU, GGEMM_ACTIVATION_RELU, GGEMM_ACTIVATION_GELU,
                              GGEMM_ACTIVATION_SILU, GGEMM_ACTIVATION_SIGMOID, GGEMM_ACTIVATION_TANH, GGEMM_ACTIVATION_CLAMP})
    if (!activation && cut(rest, std::string("_") + core::activation_name(candidate))) activation = candidate;
  const std::size_t last = rest.rfind('_');
  core::ProblemType type = core::parse_config(rest.substr(0, last) + "_r1").type;
  for (int dtype = GGEMM_F64; dtype <= GGEMM_I32; ++dtype)
    if (rest.substr(last + 1) == core::dtype_name(dtype)) type.d = static_cast<std::uint8_t>(dtype);
  type.c = type.d;
  type.activation = static_cast<std::uint8_t>(activation);
  type.bias = static_cast<std::uint8_t>(bias);
  type.bias_dtype = bias ? type.d : 0;
  type.grouped = grouped;
  return type;
}

Machine::Machine(std::vector<int> capabilities) {
  driver().reset();
  REQUIRE(driver().set_devices(capabilities.data(), static_cast<int>(capabilities.size())));
  driver().set_parameter_sizes(sizes, this);
  driver().set_answer(answer, this);
}

Machine::~Machine() { driver().reset(); }

std::string Machine::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}

void Machine::set_time(const std::string& part, double milliseconds) {
  std::lock_guard lock(mutex_);
  times_.emplace_back(part, milliseconds);
}

void Machine::check_clean() const {
  driver().wait();
  CHECK(std::string(driver().live_text()) == "");
  CHECK(driver().context_depth() == 0);
  CHECK(driver().capture_mode() == 0);
  CHECK(faults() == "");
}

int Machine::sizes(void*, const char* kernel, std::size_t* out) {
  out[0] = ends_with(kernel, "_grouped") ? sizeof(kernels::GroupedParams) : sizeof(kernels::GemmParams);
  return 1;
}

double Machine::answer(void* user, const fake_launch* launch) {
  Machine& machine = *static_cast<Machine*>(user);
  const std::string kernel = launch->kernel;
  try {
    const core::ProblemType type = type_of_kernel(kernel);
    if (type.grouped)
      machine.reference_.run(type, *static_cast<const kernels::GroupedParams*>(launch->parameters[0]));
    else
      machine.reference_.run(type, *static_cast<const kernels::GemmParams*>(launch->parameters[0]));
  } catch (const std::exception& e) {
    std::lock_guard lock(machine.mutex_);
    machine.faults_ += kernel + ": " + e.what() + "\n";
  }
  std::lock_guard lock(machine.mutex_);
  for (const auto& [part, milliseconds] : machine.times_)
    if (kernel.find(part) != std::string::npos) return milliseconds;
  return 1.0;
}

void LogLines::receive(void* user, ggemm_log_level, const char* message) {
  LogLines& log = *static_cast<LogLines*>(user);
  std::lock_guard lock(log.mutex);
  log.lines.push_back(message);
}

int LogLines::count(const std::string& start) {
  std::lock_guard lock(mutex);
  return static_cast<int>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(start); }));
}

ggemm_context_options cuda_options(const std::string& cache_folder, LogLines* log) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_CUDA;
  options.threads = 2;
  options.cache_dir = cache_folder.c_str();
  options.shared_cache_dir = "";
  if (log) {
    options.log = LogLines::receive;
    options.log_user = log;
    options.log_level = GGEMM_LOG_DEBUG;
  }
  return options;
}

}  // namespace ggemm::tests
