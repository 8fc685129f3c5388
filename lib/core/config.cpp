// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "tile/depth.cuh"
#include "tile/panels.cuh"

namespace ggemm::core {
namespace {

constexpr const char* families[] = {"host", "simt", "sm80", "sm90", "gemv"};
constexpr const char* examples[] = {"host_f32_f32_f32_tn", "simt_f32_f32_f32_tn_128x128x16_w2x4_s2_r4", "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", "sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_r8", "gemv_bf16_bf16_f32_tn_8x16x256_w1x8_s4_r1"};

// What stands for both dtypes under a compute mode of f32 inputs; nullptr for the others.
const char* compute_word(int compute) { return compute == GGEMM_COMPUTE_TF32 ? "tf32" : compute == GGEMM_COMPUTE_F32_ACCURATE ? "f32x3" : nullptr; }

std::string problem_part(const ProblemType& type) {
  const char* const word = compute_word(type.compute);
  const char* a = word ? word : dtype_name(type.a);
  const char* b = word ? word : dtype_name(type.b);
  return text("%s_%s_%s_%c%c", a, b, sum_name(type.sum), type.major_a == Major::k ? 't' : 'n', type.major_b == Major::k ? 'n' : 't');
}

// slices: their number, or nothing for the kernel, which serves any; "t" for tails.
std::string cluster_part(const Config& config, const std::string& slices) {
  const std::string cut = config.slices ? "_k" + slices : "";
  if (config.family != Family::sm90) return cut;
  const std::string along = config.cluster_k > 1 ? text("x%d", config.cluster_k) : "", large = config.large_above ? text("_m%d", config.large_above) : "";
  return text("_c%dx%d%s%s%s%s", config.cluster_m, config.cluster_n, along.c_str(), cut.c_str(), large.c_str(), config.swap ? "_swap" : "");
}

std::string name_of(const ProblemType& type, const Config& config, const std::string& slices) {
  const std::string head = std::string(family_name(config.family)) + "_" + problem_part(type);
  if (config.family == Family::host) return head;
  const std::string teams = config.teams > 1 ? text("x%d", config.teams) : "";
  return head + text("_%dx%dx%d_w%dx%d%s_s%d", config.tile_m, config.tile_n, config.tile_k, config.warps_m, config.warps_n, teams.c_str(), config.stages) + cluster_part(config, slices);
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
    if (error != std::errc() || value < 1 || value > 4096 || rest.front() == '0') bad_name(name, part, expected);
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
  for (const int compute : {GGEMM_COMPUTE_TF32, GGEMM_COMPUTE_F32_ACCURATE})
    if (part == compute_word(compute)) {
      type.compute = static_cast<std::uint8_t>(compute);
      return GGEMM_F32;
    }
  for (int dtype = GGEMM_F64; dtype <= GGEMM_I8; ++dtype)
    if (part == dtype_name(dtype)) return dtype;
  bad_name(name, part, "a dtype of A or B");
}

}  // namespace

const char* family_name(Family family) { return families[static_cast<int>(family)]; }

std::string kernel_name(const ProblemType& type, const Config& config) {
  Config kernel = config;
  kernel.large_above = 0;
  return name_of(type, kernel, config.slices == tail_slices ? "t" : "");
}

std::string config_name(const ProblemType& type, const Config& config) {
  const std::string name = name_of(type, config, config.slices == tail_slices ? "t" : std::to_string(config.slices));
  return config.family == Family::host ? name : name + text("_r%d", config.raster);
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
  for (int i = 0; i < family_count; ++i)
    if (parts[0] == families[i]) family = i;
  if (family < 0) bad_name(name, parts[0], "a kernel family (host, simt, sm80, sm90, gemv)");
  out.config.family = static_cast<Family>(family);
  const bool sm90 = out.config.family == Family::sm90;
  // Parts that may be missing, in their order; the raster group is the last.
  std::size_t part = sm90 ? 9 : 8;
  const auto optional = [&](bool any, const auto& is) { return any && part + 1 < parts.size() && is(parts[part]) ? part++ : 0; };
  const std::size_t slices_part = optional(true, [](std::string_view text) { return text.starts_with('k'); }), large_part = optional(sm90, [](std::string_view text) { return text.starts_with('m'); });
  out.config.swap = optional(sm90, [](std::string_view text) { return text == "swap"; }) != 0;
  const std::size_t expected = out.config.family == Family::host ? 5 : part + 1;
  if (parts.size() != expected)
    fail(GGEMM_ERROR_ARGUMENT, "config=\"%.*s\" has %zu parts; a name of the %s family has %zu, such as %s", static_cast<int>(name.size()), name.data(), parts.size(), families[family],
         expected, examples[family]);
  out.type.a = static_cast<std::uint8_t>(read_dtype(name, parts[1], out.type));
  out.type.b = static_cast<std::uint8_t>(read_dtype(name, parts[2], out.type));
  if (out.type.compute && parts[1] != parts[2])
    bad_name(name, name.substr(parts[0].size() + 1, parts[1].size() + 1 + parts[2].size()), "a pair of dtypes: either A and B are both tf32 (f32x3), or neither is");
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
  const char* const such_warps = sm90 ? "warps such as w8x1, or w4x1x2 where two sets of them take turns" : "warps such as w2x4";
  const bool teams = sm90 && std::count(parts[6].begin(), parts[6].end(), 'x') > 1;
  const auto warps = numbers(name, parts[6], 'w', teams ? 3 : 2, such_warps);
  out.config.tile_m = static_cast<std::uint16_t>(tile[0]), out.config.tile_n = static_cast<std::uint16_t>(tile[1]), out.config.tile_k = static_cast<std::uint16_t>(tile[2]);
  if (warps[0] > 32 || warps[1] > 32 || (teams && warps[2] != 2)) bad_name(name, parts[6], such_warps);
  out.config.warps_m = static_cast<std::uint8_t>(warps[0]), out.config.warps_n = static_cast<std::uint8_t>(warps[1]);
  out.config.teams = teams ? 2 : 0;
  const int stages = numbers(name, parts[7], 's', 1, "stages such as s3")[0];
  if (stages > 32) bad_name(name, parts[7], "stages such as s3");
  out.config.stages = static_cast<std::uint8_t>(stages);
  out.config.raster = static_cast<std::uint16_t>(numbers(name, parts.back(), 'r', 1, "a raster group such as r8")[0]);
  if (slices_part && parts[slices_part] == "kt") {
    out.config.slices = tail_slices;
  } else if (slices_part) {
    const char* const such = sm90 ? "slices of k such as k4" : "kt, for tiles that are left over";
    out.config.slices = sm90 ? static_cast<std::uint16_t>(numbers(name, parts[slices_part], 'k', 1, such)[0]) : 0;
    if (out.config.slices < 2) bad_name(name, parts[slices_part], such);
  }
  if (sm90) {
    constexpr const char* such = "a cluster such as c2x1, or c1x1x2 where two CTAs share a tile along k";
    const bool along = std::count(parts[8].begin(), parts[8].end(), 'x') > 1;
    const auto cluster = numbers(name, parts[8], 'c', along ? 3 : 2, such);
    if (cluster[0] > 16 || cluster[1] > 16 || (along && (cluster[2] < 2 || cluster[2] > 16))) bad_name(name, parts[8], such);
    out.config.cluster_m = static_cast<std::uint8_t>(cluster[0]), out.config.cluster_n = static_cast<std::uint8_t>(cluster[1]);
    out.config.cluster_k = static_cast<std::uint8_t>(along ? cluster[2] : 1);
    if (large_part) out.config.large_above = static_cast<std::uint16_t>(numbers(name, parts[large_part], 'm', 1, "rows of larger groups such as m64")[0]);
  }
  return out;
}

ProblemType kernel_type(const ProblemType& described, const Config& config) {
  const ProblemType type = config.swap ? transposed(described) : described;
  ProblemType out = type;
  const bool by_registers = type.compute == GGEMM_COMPUTE_TF32 && !type.grouped;
  if (dtype_size(type.a) != 2 && !by_registers) out.major_a = Major::k;
  if (dtype_size(type.b) != 2) out.major_b = Major::k;
  if (by_terms(type, config.family)) out.a = out.b = GGEMM_BF16, out.major_a = type.major_a, out.major_b = type.major_b;
  return out;
}

ProblemType packed(const ProblemType& type, const Config& config) {
  const ProblemType kernel = kernel_type(type, config);
  return config.swap ? transposed(kernel) : kernel;
}

bool in_halves(const ProblemType& kernel, const Config& upright) {
  return upright.family == Family::sm90 && kernels::in_halves(kernel.grouped & grouped_call, upright.swap != 0, upright.tile_m, upright.warps_m, upright.cluster_m * upright.cluster_n * upright.cluster_k, upright.teams, upright.tile_k,
                                                              static_cast<int>(dtype_size(kernel.a)), kernel.major_a == Major::mn);
}
int parts_of_a(const ProblemType& kernel, const Config& upright) { return in_halves(kernel, upright) ? 2 : upright.cluster_n; }

std::uint8_t repacked_operands(const ProblemType& type, const Config& config) {
  if (by_terms(type, config.family)) return operand_a | operand_b;
  const ProblemType p = packed(type, config);
  constexpr int turned_a = operand_a | strided_a, turned_b = operand_b | strided_b;
  return static_cast<std::uint8_t>(type.unreachable | (p.major_a != type.major_a ? turned_a : 0) | (p.major_b != type.major_b ? turned_b : 0));
}

ProblemType before_sums(const ProblemType& type) {
  ProblemType out = type;
  if (!(type.grouped & summed_rows)) return out;
  out.grouped &= static_cast<std::uint8_t>(~(summed_rows | scattered_rows));
  out.d = static_cast<std::uint8_t>(epilogue_dtype(type));
  out.major_d = Major::k;
  return out;
}

std::size_t sum_bytes(const ProblemType& type, std::int64_t m, std::int64_t n) {
  if (!(type.grouped & summed_rows)) return 0;
  const std::int64_t columns = columns_of_d(type, n), size = static_cast<std::int64_t>(dtype_size(before_sums(type).d));
  std::int64_t bytes;
  if (__builtin_mul_overflow(m, columns, &bytes) || __builtin_mul_overflow(bytes, size, &bytes) || bytes > INT64_MAX - 256)
    fail(GGEMM_ERROR_OUT_OF_MEMORY, "no memory for %lld x %lld elements that go to rows of D", static_cast<long long>(m), static_cast<long long>(columns));
  return static_cast<std::size_t>(kernels::ceil_div(bytes, 256) * 256);
}

ProblemType compiled(const ProblemType& type, Family family) {
  if (family == Family::host) return type;
  ProblemType out = before_sums(type);
  if (type.limited && family != Family::sm90) out.grouped |= grouped_call;
  if (type.grouped & batch_groups) out.grouped = family != Family::sm90 || type.by_engine ? batch_groups : out.grouped & static_cast<std::uint8_t>(~batch_groups);
  if (family != Family::sm90) out.by_engine = out.lines_wait = 0;
  return out;
}

std::uint8_t unaligned_operands(const ProblemType& type, const Config& c) {
  if (c.family != Family::sm80 || (type.grouped & ~batch_groups) || type.limited || type.gate || dtype_size(type.a) < 4 || type.compute == GGEMM_COMPUTE_TF32) return 0;
  // A thread's elements are all in one column of the tile (kernels/pipeline/copy.cuh).
  const int threads = 32 * c.warps_m * c.warps_n;
  const auto even = [&](Major major, int span, std::uint8_t operand) { return threads % (major == Major::mn ? span : c.tile_k) == 0 && span * c.tile_k % threads == 0 ? operand : 0; };
  const int made = even(type.major_a, c.tile_m, operand_a) | even(type.major_b, c.tile_n, operand_b);
  return static_cast<std::uint8_t>(type.unreachable & ~(type.unreachable >> 2) & made);
}

bool lines_may_wait(const ProblemType& type, const Config& c) {
  return c.family == Family::sm90 && !c.swap && !type.by_engine && bare(type) && dtype_size(type.d) == 2 && dtype_size(type.c) <= 2 && !promoted(type) && c.warps_m * c.warps_n == 8 && c.tile_n / c.warps_n % 64 == 0 && c.teams <= 1 && c.cluster_k <= 1 &&
         c.slices <= tail_slices && !(type.grouped && c.slices && kernels::large_tile(c.tile_m, c.tile_n)) && !(type.grouped & batch_or_indexed);
}

Config transposed(const Config& config) {
  Config out = config;
  std::swap(out.tile_m, out.tile_n);
  std::swap(out.warps_m, out.warps_n);
  std::swap(out.cluster_m, out.cluster_n);
  return out;
}

Config upright(const Config& config) { return config.swap ? transposed(config) : config; }

}  // namespace ggemm::core
