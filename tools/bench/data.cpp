// SPDX-License-Identifier: Apache-2.0
#include "bench/data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "bench/random.hpp"
#include "common/failure.hpp"
#include "common/parallel.hpp"
#include "common/table.hpp"

namespace ggemm::bench {
namespace {

constexpr std::int64_t period_a = 1048583, period_b = 1048589;      // the first primes above 2^20
constexpr std::int64_t period_scales_a = 65537, period_scales_b = 65539;  // and above 2^16

std::vector<double> normal_numbers(ggemm_dtype dtype, std::uint64_t seed, std::int64_t period) {
  std::vector<double> out(static_cast<size_t>(period));
  for (std::int64_t i = 0; i < period; i += 2) {
    const std::uint64_t first = mixed(seed, static_cast<std::uint64_t>(i)), second = mixed(seed, static_cast<std::uint64_t>(i + 1));
    double pair[2];
    if (dtype == GGEMM_I8) {
      pair[0] = static_cast<std::int8_t>(first >> 56);
      pair[1] = static_cast<std::int8_t>(second >> 56);
    } else {
      const double radius = std::sqrt(-2 * std::log(uniform(first))), angle = 2 * M_PI * uniform(second);
      pair[0] = radius * std::cos(angle);
      pair[1] = radius * std::sin(angle);
    }
    for (std::int64_t j = 0; j < 2 && i + j < period; j++) out[static_cast<size_t>(i + j)] = pair[j];
  }
  return out;
}

std::vector<double> scale_numbers(std::uint64_t seed, std::int64_t period) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < period; i++) out.push_back(std::exp2(4 * uniform(mixed(seed, static_cast<std::uint64_t>(i))) - 2));
  return out;
}

const Block& cached(std::map<ggemm_dtype, std::unique_ptr<Block>>& blocks, ggemm_dtype dtype, std::uint64_t seed, std::int64_t period) {
  std::unique_ptr<Block>& block = blocks[dtype];
  if (!block) block = std::make_unique<Block>(dtype, normal_numbers(dtype, seed, period));
  return *block;
}

// `count` numbers of [0, size): both ends, and others between.
std::vector<std::int64_t> sampled(std::int64_t size, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> out;
  if (size <= count) {
    for (std::int64_t i = 0; i < size; i++) out.push_back(i);
    return out;
  }
  out = {0, size - 1};
  for (std::int64_t i = 2; i < count; i++)
    out.push_back(static_cast<std::int64_t>(mixed(seed, static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(size)));
  return out;
}

bool poisoned(const char* element, size_t size) {
  return std::all_of(element, element + size, [](char byte) { return byte == static_cast<char>(0xff); });
}

double decoded(ggemm_dtype dtype, const char* element) {
  double value = 0;
  tools::check(ggemm_convert(GGEMM_F64, &value, dtype, element, 1));
  return value;
}

// What an element of D is to be.
struct Wanted {
  double sum = 0, magnitude = 0;
  std::int64_t products = 0;  // that were added up
};

// Adds `weight` times the product of row `row` of group g, which is row `line` of its A, with column `col`.
void add_dot(Wanted& out, const Case& one, const Layout& layout, size_t g, std::int64_t row, std::int64_t line, std::int64_t col, double weight) {
  const Type& type = type_named(one.dtype);
  const Block &left = block_a(type.input), &right = block_b(type.input);
  const bool ta = one.layout[0] == 't', tb = one.layout[1] == 't', scaled = one.scaling != Scaling::none;
  const View &a = layout.a[g], &b = layout.b[g];
  const std::int64_t k = one.grouped() ? one.groups[g].k : one.size.k;
  double scale = weight;
  for (std::int64_t i = 0; i < k; i++) {
    if (scaled && i % 128 == 0) scale = weight * scales_a()[layout.scale_a[g].at(row, i)] * scales_b()[layout.scale_b[g].at(i, col)];
    const double product = scale * left[ta ? a.at(i, line) : a.at(line, i)] * right[tb ? b.at(col, i) : b.at(i, col)];
    out.sum += product;
    out.magnitude += std::fabs(product);
  }
  out.products += k;
}

// Element (row, col) of group g's D; of a scattered D, of that of all groups.
Wanted wanted(const Case& one, const Layout& layout, size_t g, std::int64_t row, std::int64_t col) {
  Wanted out;
  if (one.form == Form::scattered) {
    const std::vector<std::int32_t> ends = group_ends(one);
    for (std::int32_t i = 0; i < ends.back(); i++) {
      if (layout.index[static_cast<size_t>(i)] != row) continue;
      const size_t group = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), i) - ends.begin());
      const std::int64_t in_group = i - (group ? ends[group - 1] : 0);
      add_dot(out, one, layout, group, in_group, in_group, col, scales_a()[i]);
    }
  } else if (one.form == Form::gathered) {
    const std::int32_t begin = g ? group_ends(one)[g - 1] : 0;
    add_dot(out, one, layout, g, row, layout.index[static_cast<size_t>(begin + row)], col, 1);
  } else {
    add_dot(out, one, layout, g, row, row, col, 1);
  }
  if (one.accumulate) {
    const double addend = block_c()[layout.d[g].at(row, col)];
    out.sum += addend;
    out.magnitude += std::fabs(addend);
  }
  return out;
}

struct Sample {
  size_t group;
  std::int64_t row;
  std::vector<std::int64_t> cols;
};

std::vector<Sample> draw_samples(const Case& one, const Layout& layout) {
  std::vector<Sample> samples;
  const size_t groups = one.form == Form::scattered ? 1 : layout.d.size(), stride = std::max<size_t>(1, groups / 12);
  const std::int64_t side = groups > 1 ? 5 : 16;
  for (size_t g = 0; g < groups; g++) {
    if (g % stride && g + 1 != groups) continue;
    for (const std::int64_t row : sampled(layout.d[g].rows, side, 7 + g)) samples.push_back({g, row, sampled(layout.d[g].cols, side, 1000 + g)});
  }
  return samples;
}

std::string check_row(const Case& one, const Layout& layout, const Sample& sample, const std::vector<char>& row) {
  const Type& type = type_named(one.dtype);
  const size_t size = ggemm_dtype_size(one.output());
  const auto place = [&](std::int64_t col) {
    const std::string group = one.grouped() ? "group " + std::to_string(sample.group) + ", " : "";
    return group + "row " + std::to_string(sample.row) + ", column " + std::to_string(col);
  };
  const View& d = layout.d[sample.group];
  if (one.output() != GGEMM_I32)  // there, all bits set is the number -1
    for (std::int64_t col = 0; col < d.cols; col++)
      if (poisoned(row.data() + static_cast<size_t>(col) * size, size)) return place(col) + " was not written";
  for (const std::int64_t col : sample.cols) {
    const Wanted right = wanted(one, layout, sample.group, sample.row, col);
    const double got = decoded(one.output(), row.data() + static_cast<size_t>(col) * size), error = std::fabs(got - right.sum);
    const std::int64_t whole = one.scaling == Scaling::block ? std::min<std::int64_t>(128, right.products) : right.products;
    const double bound = error_bound(type, one.output(), right.products, whole, right.magnitude, right.sum);
    if (!(error <= bound)) return place(col) + tools::format(" is %.9g, should be %.9g: off by %.3g, allowed %.3g", got, right.sum, error, bound);
  }
  return "";
}

}  // namespace

Block::Block(ggemm_dtype dtype, std::vector<double> values) : values_(std::move(values)) {
  bytes_.resize(values_.size() * ggemm_dtype_size(dtype));
  tools::check(ggemm_convert(dtype, bytes_.data(), GGEMM_F64, values_.data(), values_.size()));
  tools::check(ggemm_convert(GGEMM_F64, values_.data(), dtype, bytes_.data(), values_.size()));
}

const Block& block_a(ggemm_dtype dtype) {
  static std::map<ggemm_dtype, std::unique_ptr<Block>> blocks;
  return cached(blocks, dtype, 1, period_a);
}

const Block& block_b(ggemm_dtype dtype) {
  static std::map<ggemm_dtype, std::unique_ptr<Block>> blocks;
  return cached(blocks, dtype, 2, period_b);
}

const Block& scales_a() {
  static const Block block(GGEMM_F32, scale_numbers(3, period_scales_a));
  return block;
}

const Block& scales_b() {
  static const Block block(GGEMM_F32, scale_numbers(4, period_scales_b));
  return block;
}

const Block& block_c() { return block_a(GGEMM_F32); }

double error_bound(const Type& type, ggemm_dtype output, std::int64_t k, std::int64_t whole, double magnitude, double reference) {
  if (output == GGEMM_I32) return 0;
  const double unit = type.input == GGEMM_F64 ? 0x1p-52 : 0x1p-23;
  const double terms = static_cast<double>(k + 2) * unit;
  double bound = terms / (1 - terms) * magnitude;
  if (type.compute == GGEMM_COMPUTE_TF32) bound += 0x1p-9 * magnitude;
  if (type.input == GGEMM_E4M3)
    bound += 4 * std::sqrt(static_cast<double>(whole) / 32) * 0x1p-13 * magnitude;  // sums that are not promoted keep about 14 bits
  switch (output) {
    case GGEMM_F64:
      return bound + 0x1p-53 * std::fabs(reference);
    case GGEMM_F32:
      return bound + 0x1p-24 * std::fabs(reference) + 0x1p-150;
    case GGEMM_F16:
      return bound + 0x1p-11 * std::fabs(reference) + 0x1p-25;
    default:
      return bound + 0x1p-8 * std::fabs(reference);
  }
}

std::string check_sample(const Case& one, const Layout& layout, RowReader read, void* user) {
  const Type& type = type_named(one.dtype);
  block_a(type.input);  // made here, not by several threads
  block_b(type.input);
  scales_a(), scales_b(), block_c();
  const std::vector<Sample> samples = draw_samples(one, layout);
  std::vector<std::vector<char>> rows;
  for (const Sample& sample : samples) rows.push_back(read(user, layout.d[sample.group], sample.row));
  std::vector<std::string> wrong(samples.size());
  tools::parallel_for(static_cast<std::int64_t>(samples.size()), [&](std::int64_t i) {
    const size_t at = static_cast<size_t>(i);
    wrong[at] = check_row(one, layout, samples[at], rows[at]);
  });
  for (const std::string& text : wrong)
    if (!text.empty()) return text;
  return "";
}

}  // namespace ggemm::bench
