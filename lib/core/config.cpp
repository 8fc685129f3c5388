// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/error.hpp"

namespace ggemm::core {
namespace {

constexpr const char* families[] = {"host", "simt", "sm80"};

std::string problem_part(const ProblemType& type) {
  const bool tf32 = type.compute == GGEMM_COMPUTE_TF32;
  const char* a = tf32 ? "tf32" : dtype_name(type.a);
  const char* b = tf32 ? "tf32" : dtype_name(type.b);
  return text("%s_%s_%s_%c%c", a, b, sum_name(type.sum), type.major_a == Major::k ? 't' : 'n', type.major_b == Major::k ? 'n' : 't');
}

[[noreturn]] void bad_name(std::string_view name, std::string_view part, const char* expected) {
  fail(GGEMM_ERROR_ARGUMENT, "config=\"%.*s\": \"%.*s\" is not %s", static_cast<int>(name.size()), name.data(), static_cast<int>(part.size()), part.data(), expected);
}

// Reads "12x34" or "s3": a prefix letter if it is not 0, then `count` numbers between x.
std::vector<int> numbers(std::string_view name, std::string_view part, char prefix, int count, const char* expected) {
  std::string_view rest = part;
  if (prefix) {
    if (rest.empty() || rest.front() != prefix) bad_name(name, part, expected);
    rest.remove_prefix(1);
  }
  std::vector<int> out;
  for (int i = 0; i < count; ++i) {
    int value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 1 || value > 4096) bad_name(name, part, expected);
    out.push_back(value);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (i + 1 < count) {
      if (rest.empty() || rest.front() != 'x') bad_name(name, part, expected);
      rest.remove_prefix(1);
    }
  }
  if (!rest.empty()) bad_name(name, part, expected);
  return out;
}

int read_dtype(std::string_view name, std::string_view part, ProblemType& type) {
  if (part == "tf32") {
    type.compute = GGEMM_COMPUTE_TF32;
    return GGEMM_F32;
  }
  for (int dtype = GGEMM_F64; dtype <= GGEMM_I8; ++dtype)
    if (part == dtype_name(dtype)) return dtype;
  bad_name(name, part, "a dtype of A or B");
}

}  // namespace

const char* family_name(Family family) { return families[static_cast<int>(family)]; }

std::string kernel_name(const ProblemType& type, const Config& config) {
  const std::string head = std::string(family_name(config.family)) + "_" + problem_part(type);
  if (config.family == Family::host) return head;
  return head + text("_%dx%dx%d_w%dx%d_s%d", config.tile_m, config.tile_n, config.tile_k, config.warps_m, config.warps_n, config.stages);
}

std::string config_name(const ProblemType& type, const Config& config) {
  if (config.family == Family::host) return kernel_name(type, config);
  return kernel_name(type, config) + text("_r%d", config.raster);
}

ParsedConfig parse_config(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('_', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  ParsedConfig out{};
  int family = -1;
  for (int i = 0; i < 3; ++i)
    if (parts[0] == families[i]) family = i;
  if (family < 0) bad_name(name, parts[0], "a kernel family (host, simt, sm80)");
  out.config.family = static_cast<Family>(family);
  const std::size_t expected = out.config.family == Family::host ? 5 : 9;
  if (parts.size() != expected)
    fail(GGEMM_ERROR_ARGUMENT, "config=\"%.*s\" has %zu parts; a name of the %s family has %zu, such as sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", static_cast<int>(name.size()), name.data(), parts.size(), families[family],
         expected);
  out.type.a = static_cast<std::uint8_t>(read_dtype(name, parts[1], out.type));
  out.type.b = static_cast<std::uint8_t>(read_dtype(name, parts[2], out.type));
  int sum = -1;
  for (int i = 0; i < 3; ++i)
    if (parts[3] == sum_name(static_cast<Sum>(i))) sum = i;
  if (sum < 0) bad_name(name, parts[3], "a type of sums (f32, f64, i32)");
  out.type.sum = static_cast<Sum>(sum);
  if (parts[4].size() != 2 || (parts[4][0] != 't' && parts[4][0] != 'n') || (parts[4][1] != 't' && parts[4][1] != 'n')) bad_name(name, parts[4], "a layout (nn, nt, tn, tt)");
  out.type.major_a = parts[4][0] == 't' ? Major::k : Major::mn;
  out.type.major_b = parts[4][1] == 'n' ? Major::k : Major::mn;
  if (out.config.family == Family::host) return out;
  const auto tile = numbers(name, parts[5], 0, 3, "a tile such as 128x256x64");
  const auto warps = numbers(name, parts[6], 'w', 2, "warps such as w2x4");
  out.config.tile_m = static_cast<std::uint16_t>(tile[0]), out.config.tile_n = static_cast<std::uint16_t>(tile[1]), out.config.tile_k = static_cast<std::uint16_t>(tile[2]);
  if (warps[0] > 32 || warps[1] > 32) bad_name(name, parts[6], "warps such as w2x4");
  out.config.warps_m = static_cast<std::uint8_t>(warps[0]), out.config.warps_n = static_cast<std::uint8_t>(warps[1]);
  const int stages = numbers(name, parts[7], 's', 1, "stages such as s3")[0];
  if (stages > 32) bad_name(name, parts[7], "stages such as s3");
  out.config.stages = static_cast<std::uint8_t>(stages);
  out.config.raster = static_cast<std::uint16_t>(numbers(name, parts[8], 'r', 1, "a raster group such as r8")[0]);
  return out;
}

}  // namespace ggemm::core
