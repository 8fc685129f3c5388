// SPDX-License-Identifier: Apache-2.0
#include "bench/data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "common/failure.hpp"
#include "common/parallel.hpp"
#include "common/table.hpp"

namespace ggemm::bench {
namespace {

constexpr std::int64_t period_a = 1048583, period_b = 1048589;  // the first primes above 2^20

// splitmix64 of a counter: any element can be made without those before it.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

const Block& cached(std::map<ggemm_dtype, std::unique_ptr<Block>>& blocks, ggemm_dtype dtype, std::uint64_t seed, std::int64_t period) {
  std::unique_ptr<Block>& block = blocks[dtype];
  if (!block) block = std::make_unique<Block>(dtype, seed, period);
  return *block;
}

std::int64_t aligned(std::int64_t elements) { return (elements + 255) / 256 * 256; }

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

struct Dot {
  double sum = 0, magnitude = 0;
};

Dot dot(const Case& one, const View& a, const View& b, std::int64_t row, std::int64_t col, std::int64_t k) {
  const Type& type = type_named(one.dtype);
  const Block &left = block_a(type.input), &right = block_b(type.input);
  const bool ta = one.layout[0] == 't', tb = one.layout[1] == 't';
  Dot out;
  for (std::int64_t i = 0; i < k; i++) {
    const double product = left[ta ? a.at(i, row) : a.at(row, i)] * right[tb ? b.at(col, i) : b.at(i, col)];
    out.sum += product;
    out.magnitude += std::fabs(product);
  }
  return out;
}

struct Sample {
  size_t group;
  std::int64_t row, k;
  std::vector<std::int64_t> cols;
};

std::vector<Sample> draw_samples(const Case& one, const Layout& layout) {
  std::vector<Sample> samples;
  const size_t groups = layout.d.size(), stride = std::max<size_t>(1, groups / 12);
  const std::int64_t side = one.grouped() ? 5 : 16;
  for (size_t g = 0; g < groups; g++) {
    if (g % stride && g + 1 != groups) continue;
    const std::int64_t k = one.grouped() ? one.groups[g].k : one.size.k;
    for (const std::int64_t row : sampled(layout.d[g].rows, side, 7 + g)) samples.push_back({g, row, k, sampled(layout.d[g].cols, side, 1000 + g)});
  }
  return samples;
}

std::string check_row(const Case& one, const Layout& layout, const Sample& sample, const std::vector<char>& row) {
  const Type& type = type_named(one.dtype);
  const size_t size = ggemm_dtype_size(type.output);
  const auto place = [&](std::int64_t col) {
    const std::string group = one.grouped() ? "group " + std::to_string(sample.group) + ", " : "";
    return group + "row " + std::to_string(sample.row) + ", column " + std::to_string(col);
  };
  const View& d = layout.d[sample.group];
  if (type.output != GGEMM_I32)  // there, all bits set is the number -1
    for (std::int64_t col = 0; col < d.cols; col++)
      if (poisoned(row.data() + static_cast<size_t>(col) * size, size)) return place(col) + " was not written";
  for (const std::int64_t col : sample.cols) {
    const Dot wanted = dot(one, layout.a[sample.group], layout.b[sample.group], sample.row, col, sample.k);
    const double got = decoded(type.output, row.data() + static_cast<size_t>(col) * size);
    const double bound = error_bound(type, sample.k, wanted.magnitude, wanted.sum);
    if (!(std::fabs(got - wanted.sum) <= bound)) {
      return place(col) + tools::format(" is %.9g, should be %.9g: off by %.3g, allowed %.3g", got, wanted.sum, std::fabs(got - wanted.sum), bound);
    }
  }
  return "";
}

}  // namespace

Block::Block(ggemm_dtype dtype, std::uint64_t seed, std::int64_t period) : values_(static_cast<size_t>(period)) {
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
    for (std::int64_t j = 0; j < 2 && i + j < period; j++) values_[static_cast<size_t>(i + j)] = pair[j];
  }
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

Layout lay_out(const Case& one) {
  Layout out;
  const std::vector<Size> groups = one.grouped() ? one.groups : std::vector<Size>{one.size};
  const bool ta = one.layout[0] == 't', tb = one.layout[1] == 't';
  const auto place = [&](std::vector<View>& views, std::int64_t& used, std::int64_t rows, std::int64_t cols) {
    const std::int64_t ld = cols + one.padding;
    views.push_back({used + one.offset, rows, cols, ld});
    used += aligned(rows * ld + one.offset);
  };
  for (const Size& s : groups) {
    place(out.a, out.elements_a, ta ? s.k : s.m, ta ? s.m : s.k);
    place(out.b, out.elements_b, tb ? s.n : s.k, tb ? s.k : s.n);
    place(out.d, out.elements_d, s.m, s.n);
  }
  return out;
}

double error_bound(const Type& type, std::int64_t k, double magnitude, double reference) {
  if (type.output == GGEMM_I32) return 0;
  const double unit = type.input == GGEMM_F64 ? 0x1p-52 : 0x1p-23;
  const double terms = static_cast<double>(k + 2) * unit;
  double bound = terms / (1 - terms) * magnitude;
  if (type.compute == GGEMM_COMPUTE_TF32) bound += 0x1p-9 * magnitude;
  if (type.input == GGEMM_E4M3)
    bound += 4 * std::sqrt(static_cast<double>(k) / 32) * 0x1p-13 * magnitude;  // sums that are not promoted keep about 14 bits
  switch (type.output) {
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
