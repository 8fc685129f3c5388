// SPDX-License-Identifier: Apache-2.0
#include "engine_scratch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "core/element.hpp"
#include "epilogue/activation.cuh"
#include "lines.cuh"

namespace ggemm {
namespace {

using core::fail;

double element_value(int dtype, const char* data) {
  double value = 0;
  core::with_element(dtype, "dtype", [&](auto element) {
    std::memcpy(&element, data, sizeof element);
    value = kernels::to_sum<double>(element);
  });
  return value;
}

double activate(int activation, double x, double p0, double p1) {
  switch (activation) {
    case 1: return kernels::activate<1>(x, p0, p1);
    case 2: return kernels::activate<2>(x, p0, p1);
    case 3: return kernels::activate<3>(x, p0, p1);
    case 4: return kernels::activate<4>(x, p0, p1);
    case 5: return kernels::activate<5>(x, p0, p1);
    case 6: return kernels::activate<6>(x, p0, p1);
    case 7: return kernels::activate<7>(x, p0, p1);
    case 8: return kernels::activate<8>(x, p0, p1);
    default: return x;
  }
}

// Relative rounding of an output dtype, half a unit in the last place.
double output_rounding(int dtype) {
  switch (dtype) {
    case GGEMM_F64: return 0x1p-53;
    case GGEMM_F32: return 0x1p-24;
    case GGEMM_F16: return 0x1p-11;
    case GGEMM_BF16: return 0x1p-8;
    case GGEMM_E4M3: return 0x1p-4;
    case GGEMM_E5M2: return 0x1p-3;
    default: return 0;
  }
}
// Absolute rounding: half the smallest step, or half an integer.
double output_step(int dtype) {
  switch (dtype) {
    case GGEMM_F16: return 0x1p-25;
    case GGEMM_E4M3: return 0x1p-10;
    case GGEMM_E5M2: return 0x1p-17;
    case GGEMM_I8:
    case GGEMM_I32: return 0.5;
    default: return 0x1p-133;
  }
}
double largest(int dtype) {
  switch (dtype) {
    case GGEMM_F16: return 65504;
    case GGEMM_E4M3: return 448;
    case GGEMM_E5M2: return 57344;
    case GGEMM_I8: return 127;
    case GGEMM_I32: return 2147483647.0;
    default: return INFINITY;
  }
}

kernels::Source constant(std::int64_t value) { return {nullptr, 0, value, GGEMM_SOURCE_CONST, kernels::source_itself}; }

}  // namespace

ScratchProblem::ScratchProblem(const Engine& engine, std::shared_ptr<const cuda::Kernel> flush, const core::Problem* plain, const core::GroupedProblem* grouped, const std::vector<select::Sizes>& sample)
    : type_(plain ? plain->type : grouped->type), engine_(engine), device_(engine, std::move(flush)), block_a_(type_.a, 1), block_b_(type_.b, 2) {
  if (engine.host()) type_.grouped = type_.grouped != 0;  // rows by index are a ragged form's there, and not what takes the time
  else type_ = core::before_sums(type_);                  // adding up rows of D takes as long whatever the configuration
  type_.transposed = 0;  // the operands here are the computed product's
  if (type_.bias) block_bias_ = ScratchBlock(type_.bias_dtype, 3);
  if (type_.scale_a || type_.scale_b) block_scale_ = ScratchBlock(GGEMM_F32, 5);
  if (plain) make_plain(*plain);
  else make_grouped(*grouped, sample);
  make_points();
}

ScratchProblem::Operand ScratchProblem::operand(int dtype, std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride, const ScratchBlock* block) {
  Operand out;
  const std::int64_t size = static_cast<std::int64_t>(core::dtype_size(dtype));
  std::int64_t down, across, bytes;
  if (__builtin_mul_overflow(std::max<std::int64_t>(rows - 1, 0), row_stride, &down) || __builtin_mul_overflow(std::max<std::int64_t>(cols - 1, 0), col_stride, &across) ||
      __builtin_add_overflow(std::abs(down), std::abs(across), &bytes) || __builtin_add_overflow(bytes, 1, &bytes) || __builtin_mul_overflow(bytes, size, &bytes))
    fail(GGEMM_ERROR_OUT_OF_MEMORY, "no scratch memory for a matrix of %lldx%lld elements", static_cast<long long>(rows), static_cast<long long>(cols));
  out.first = -(std::min<std::int64_t>(down, 0) + std::min<std::int64_t>(across, 0));
  out.bytes = static_cast<std::size_t>(bytes);
  out.row_stride = row_stride, out.col_stride = col_stride;
  out.buffer = device_.allocate(out.bytes);
  out.base = static_cast<char*>(out.buffer) + out.first * size;
  if (block) device_.repeat(out.buffer, out.bytes, *block);
  return out;
}

void* ScratchProblem::bias(std::int64_t count) {
  if (!type_.bias) return nullptr;
  const std::size_t bytes = static_cast<std::size_t>(count) * core::dtype_size(type_.bias_dtype);
  void* out = device_.allocate(bytes);
  device_.repeat(out, bytes, block_bias_);
  return out;
}

void ScratchProblem::make_scales(Group& g, std::int64_t row_stride_a, std::int64_t col_stride_a, std::int64_t row_stride_b, std::int64_t col_stride_b) {
  const auto packed = [](std::int64_t stride, std::int64_t columns) { return stride == kernels::packed_stride ? columns : stride; };
  const auto along = kernels::scales_along, deep = kernels::scales_deep;
  if (const int kind = type_.scale_a) g.scale_a = operand(GGEMM_F32, along(kind, g.m), deep(kind, g.k), packed(row_stride_a, deep(kind, g.k)), col_stride_a, &block_scale_);
  if (const int kind = type_.scale_b) g.scale_b = operand(GGEMM_F32, deep(kind, g.k), along(kind, g.n), packed(row_stride_b, along(kind, g.n)), col_stride_b, &block_scale_);
}

void ScratchProblem::make_plain(const core::Problem& p) {
  groups_.push_back({p.m, p.n, p.k, {}, {}, {}, nullptr, {}, {}});
  Group& g = groups_.back();
  g.a = operand(type_.a, p.m, p.k, p.a.row_stride, p.a.col_stride, &block_a_);
  g.b = operand(type_.b, p.k, p.n, p.b.row_stride, p.b.col_stride, &block_b_);
  g.d = operand(type_.d, p.m, columns(g), p.d.row_stride, p.d.col_stride, nullptr);
  g.bias = bias(type_.bias == GGEMM_BIAS_PER_COLUMN ? p.n : p.m);
  make_scales(g, p.scale_a.row_stride, p.scale_a.col_stride, p.scale_b.row_stride, p.scale_b.col_stride);
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = g.a.base, args.b = g.b.base, args.d = g.d.base, args.bias = g.bias, args.scale_a = g.scale_a.base, args.scale_b = g.scale_b.base;
  core::Problem problem = p;
  problem.type = type_;
  problem.scalars.on_device = false;
  plain_ = core::bind(problem, args);
}

bool ScratchProblem::joined(const core::GroupedProblem& problem, const std::vector<select::Sizes>& sample) const {
  if (type_.grouped & core::batch_groups) return true;
  const select::Sizes& first = sample.front();
  const bool alike = std::all_of(sample.begin(), sample.end(), [&](const select::Sizes& s) { return s.n == first.n && s.k == first.k; });
  double rows = 0;
  for (const select::Sizes& s : sample) rows += static_cast<double>(s.m);
  // (As a ragged m, of which what lies along it, or in blocks of its rows, would have records all the same.)
  const bool along_k = type_.major_a == core::Major::k && type_.scale_a != kernels::scale_block_128x128;
  return !(problem.type.grouped & (core::apart_groups | core::checked_groups)) && alike && first.k > 0 && along_k && rows <= kernels::longest_side;
}

void ScratchProblem::make_grouped(const core::GroupedProblem& problem, const std::vector<select::Sizes>& sample) {
  core::GroupedProblem p = problem;
  p.groups = static_cast<std::int64_t>(sample.size());
  p.type = type_;
  p.type.grouped &= static_cast<std::uint8_t>(~core::checked_groups);
  if (!(p.type.grouped & core::gathered_rows)) p.a_index = {};
  if (!(p.type.grouped & core::scattered_rows)) p.d_index = {};
  p.scalars.on_device = false;
  const ggemm_grouped_args args = joined(problem, sample) ? lay_joined(p, sample) : lay_apart(p, sample);
  grouped_ = core::bind(p, args);
}

ggemm_grouped_args ScratchProblem::lay_apart(core::GroupedProblem& p, const std::vector<select::Sizes>& sample) {
  std::int64_t longest = 0;
  for (const select::Sizes& s : sample) {
    groups_.push_back({s.m, s.n, s.k, {}, {}, {}, nullptr, {}, {}});
    Group& g = groups_.back();
    const bool a_k = type_.major_a == core::Major::k, b_k = type_.major_b == core::Major::k;
    g.a = operand(type_.a, s.m, s.k, a_k ? s.k : 1, a_k ? 1 : s.m, &block_a_);
    g.b = operand(type_.b, s.k, s.n, b_k ? 1 : s.n, b_k ? s.k : 1, &block_b_);
    g.d = operand(type_.d, s.m, columns(g), columns(g), 1, nullptr);
    g.bias = bias(type_.bias == GGEMM_BIAS_PER_COLUMN ? s.n : s.m);
    make_scales(g, GGEMM_PACKED, 1, GGEMM_PACKED, 1);
    longest = std::max(longest, s.m);
  }
  const std::size_t count = groups_.size();
  // One row a group: m, n, k, then row and column strides of A, B, D; and six pointers.
  constexpr int operands = 6;
  std::vector<std::int64_t> numbers;
  std::vector<const void*> pointers[operands];
  for (const Group& g : groups_) {
    for (const std::int64_t v : {g.m, g.n, g.k, g.a.row_stride, g.a.col_stride, g.b.row_stride, g.b.col_stride, g.d.row_stride, g.d.col_stride}) numbers.push_back(v);
    pointers[0].push_back(g.a.base), pointers[1].push_back(g.b.base), pointers[2].push_back(g.d.base), pointers[3].push_back(g.bias);
    pointers[4].push_back(g.scale_a.base), pointers[5].push_back(g.scale_b.base);
  }
  constexpr std::int64_t row = 9 * 8;
  auto* table = static_cast<char*>(device_.allocate(count * row));
  device_.upload(table, numbers.data(), count * row);
  const auto source = [&](int column) { return kernels::Source{table + column * 8, row, 0, GGEMM_SOURCE_I64, 0}; };
  const void* arrays[operands];
  for (int i = 0; i < operands; ++i) {
    void* array = device_.allocate(count * 8);
    device_.upload(array, pointers[i].data(), count * 8);
    arrays[i] = array;
  }
  p.m = source(0), p.n = source(1), p.k = source(2);
  p.a = {source(3), source(4)}, p.b = {source(5), source(6)}, p.d = {source(7), source(8)};
  p.c = p.d;  // not read, but its strides are looked up: the caller's may have fewer groups
  p.scale_a = p.scale_b = {constant(GGEMM_PACKED), constant(1)};
  p.stored_m = p.m, p.stored_k = p.k, p.bias = {};
  make_rows_in_order(p, longest);
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = arrays[0], args.b = arrays[1], args.d = const_cast<void*>(arrays[2]), args.bias = arrays[3];
  args.scale_a = arrays[4], args.scale_b = arrays[5];
  return args;
}

ggemm_grouped_args ScratchProblem::lay_joined(core::GroupedProblem& p, const std::vector<select::Sizes>& sample) {
  const auto count = static_cast<std::int64_t>(sample.size()), n = sample.front().n, k = sample.front().k, stored = core::columns_of_d(type_, n);
  std::vector<std::int64_t> ends;
  std::int64_t rows = 0, longest = 0;
  for (const select::Sizes& s : sample) ends.push_back(rows += s.m), longest = std::max(longest, s.m);
  const bool b_k = type_.major_b == core::Major::k, batch = type_.grouped & core::batch_groups, a_k = type_.major_a == core::Major::k, d_mn = batch && type_.major_d == core::Major::mn;
  const int kind_a = type_.scale_a, kind_b = type_.scale_b;
  const std::int64_t deep_a = kernels::scales_deep(kind_a, k), deep_b = kernels::scales_deep(kind_b, k), along_b = kernels::scales_along(kind_b, n);
  const bool scale_a_group = kind_a == kernels::scale_tensor;
  const Operand a = a_k ? operand(type_.a, rows, k, k, 1, &block_a_) : operand(type_.a, longest, count * k, 1, longest, &block_a_), d = d_mn ? operand(type_.d, longest, count * stored, 1, longest, nullptr) : operand(type_.d, rows, stored, stored, 1, nullptr);
  const Operand b = b_k ? operand(type_.b, k, count * n, 1, k, &block_b_) : operand(type_.b, count * k, n, n, 1, &block_b_);
  const Operand scale_a = kind_a ? operand(GGEMM_F32, scale_a_group ? count : rows, deep_a, deep_a, 1, &block_scale_) : Operand{};
  const Operand scale_b = kind_b ? operand(GGEMM_F32, count * deep_b, along_b, along_b, 1, &block_scale_) : Operand{};
  void* const biases = bias(type_.bias == GGEMM_BIAS_PER_COLUMN ? n : longest);  // one for all groups
  const auto part = [](const Operand& all, std::int64_t first, std::int64_t elements, int dtype) {
    if (!all.buffer) return all;
    const auto size = static_cast<std::int64_t>(core::dtype_size(dtype));
    Operand out = all;
    out.base += first * size, out.first += first, out.buffer = out.base, out.bytes = static_cast<std::size_t>(elements * size);
    return out;
  };
  for (std::int64_t g = 0; g < count; ++g) {
    const std::int64_t m = sample[static_cast<std::size_t>(g)].m, start = ends[static_cast<std::size_t>(g)] - m;
    groups_.push_back({m, n, k, part(a, start * k, m * k, type_.a), part(b, g * n * k, n * k, type_.b), part(d, start * stored, m * stored, type_.d), biases,
                       part(scale_a, scale_a_group ? g : start * deep_a, scale_a_group ? 1 : m * deep_a, GGEMM_F32), part(scale_b, g * deep_b * along_b, deep_b * along_b, GGEMM_F32)});
  }
  p.n = constant(n), p.k = p.stored_k = constant(k);
  const auto layout = [](const Operand& of, std::int64_t group_stride, std::int64_t start_stride) { return core::GroupedLayout{constant(of.row_stride), constant(of.col_stride), false, group_stride, start_stride}; };
  p.b = layout(b, n * k, 0), p.scale_b = layout(scale_b, deep_b * along_b, 0), p.bias = {false, 0, 0};
  if (batch) {
    p.m = p.stored_m = constant(longest);
    p.a = layout(a, longest * k, 0), p.c = p.d = layout(d, longest * stored, 0), p.scale_a = layout(scale_a, scale_a_group ? 1 : longest * deep_a, 0);
  } else {
    auto* array = static_cast<char*>(device_.allocate(ends.size() * 8));
    device_.upload(array, ends.data(), ends.size() * 8);
    p.m = {array, 8, rows, GGEMM_SOURCE_I64, kernels::source_ends}, p.stored_m = constant(rows);
    p.a = layout(a, 0, p.a_index.kind ? 0 : k), p.c = layout(d, 0, stored), p.d = layout(d, 0, p.d_index.kind ? 0 : stored);
    p.scale_a = layout(scale_a, scale_a_group, scale_a_group || p.a_index.kind ? 0 : deep_a);
  }
  make_rows_in_order(p, rows);
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = a.base, args.b = b.base, args.d = d.base, args.bias = biases, args.scale_a = scale_a.base, args.scale_b = scale_b.base;
  return args;
}

bool ScratchProblem::has_lines() const {
  const auto size = static_cast<std::int64_t>(core::dtype_size(type_.d));
  const bool down = type_.major_d == core::Major::mn;
  return type_.grouped && std::any_of(groups_.begin(), groups_.end(), [&](const Group& g) {
    return (down ? g.d.row_stride : g.d.col_stride) == 1 && ((down ? g.d.col_stride : g.d.row_stride) * size % 16 || reinterpret_cast<std::uintptr_t>(g.d.base) % 16);
  });
}

// Where rows lie where an index says, each lies where it would without.
void ScratchProblem::make_rows_in_order(core::GroupedProblem& p, std::int64_t rows) {
  if (!p.a_index.kind && !p.d_index.kind) return;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (kernels::Source* index : {&p.a_index, &p.d_index}) {
    if (!index->kind) continue;
    void* array = device_.allocate(numbers.size() * 8);
    device_.upload(array, numbers.data(), numbers.size() * 8);
    *index = {array, 8, rows, GGEMM_SOURCE_I64, kernels::source_itself};
  }
}

void ScratchProblem::launch(const Choice& choice) {
  if (type_.grouped) engine_.run(choice, type_, grouped_, device_.stream());
  else engine_.run(choice, type_, plain_, device_.stream());
}

// Corners and a random sample of some 16 of the groups that have elements.
void ScratchProblem::make_points() {
  std::mt19937_64 generator(4);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(n)); };
  std::vector<std::size_t> stored;
  for (std::size_t index = 0; index < groups_.size(); ++index)
    if (groups_[index].m > 0 && columns(groups_[index]) > 0) stored.push_back(index);
  const std::size_t step = std::max<std::size_t>(1, stored.size() / 16);
  const int samples = static_cast<int>(std::clamp<std::size_t>(256 / std::max<std::size_t>(stored.size(), 1), 16, 256));
  for (std::size_t at = 0; at < stored.size(); at += step) {
    const std::size_t index = stored[at];
    const Group& g = groups_[index];
    for (int s = -4; s < samples; ++s) {
      const std::int64_t i = s < 0 ? (s & 1 ? g.m - 1 : 0) : below(g.m), j = s < 0 ? (s & 2 ? columns(g) - 1 : 0) : below(columns(g));
      points_.push_back(point(index, i, j));
    }
  }
}

std::string ScratchProblem::verify(const Choice& choice) {
  for (const Group& g : groups_)
    if (g.d.bytes) device_.fill(g.d.buffer, 0xff, g.d.bytes);
  launch(choice);
  const std::size_t size = core::dtype_size(type_.d);
  std::vector<const char*> elements;
  for (const Point& p : points_) {
    const Operand& d = groups_[p.group].d;
    elements.push_back(d.base + (p.i * d.row_stride + p.j * d.col_stride) * static_cast<std::int64_t>(size));
  }
  const std::vector<char> got = device_.gather(elements, size);
  for (std::size_t at = 0; at < points_.size(); ++at) {
    const Point& p = points_[at];
    const double value = element_value(type_.d, got.data() + at * size);
    if (std::abs(value - p.reference) <= p.bound || (std::isinf(value) && p.overflows)) continue;
    const std::string wrong = core::text("wrong result: D(%lld, %lld) = %.9g, not %.9g +- %.3g", static_cast<long long>(p.i), static_cast<long long>(p.j), value, p.reference, p.bound);
    return type_.grouped ? core::text("group %zu: ", p.group) + wrong : wrong;
  }
  return "";
}

ScratchProblem::Expected ScratchProblem::expected(const Group& g, std::int64_t i, std::int64_t j) const {
  // Scales along m and n are factors of the whole, those by blocks change along k.
  const auto scale = [&](int kind, const Operand& scales, std::int64_t along, std::int64_t mn_stride, std::int64_t k, std::int64_t k_stride) {
    if (!kind) return 1.0;
    return block_scale_.value(scales.first + kernels::scale_at(kind, along) * mn_stride + (kernels::scaled_by_blocks(kind) ? k / kernels::scale_block * k_stride : 0));
  };
  const auto scales_at = [&](std::int64_t k) {
    return scale(type_.scale_a, g.scale_a, i, g.scale_a.row_stride, k, g.scale_a.col_stride) * scale(type_.scale_b, g.scale_b, j, g.scale_b.col_stride, k, g.scale_b.row_stride);
  };
  const std::int64_t step_a = ScratchBlock::place(g.a.col_stride), step_b = ScratchBlock::place(g.b.row_stride);
  std::int64_t a = ScratchBlock::place(g.a.first + i * g.a.row_stride), b = ScratchBlock::place(g.b.first + j * g.b.col_stride);
  double sum = 0, size = 0;
  for (std::int64_t begin = 0; begin < g.k; begin += kernels::scale_block) {
    double part = 0, part_size = 0;
    for (std::int64_t k = begin; k < std::min<std::int64_t>(begin + kernels::scale_block, g.k); ++k) {
      const double product = block_a_.values[static_cast<std::size_t>(a)] * block_b_.values[static_cast<std::size_t>(b)];
      part += product, part_size += std::abs(product);
      a += step_a, b += step_b;
      if (a >= ScratchBlock::elements) a -= ScratchBlock::elements;
      if (b >= ScratchBlock::elements) b -= ScratchBlock::elements;
    }
    const double factor = scales_at(begin);
    sum += factor * part, size += std::abs(factor) * part_size;
  }
  const double k = static_cast<double>(g.k), unit = type_.sum == core::Sum::f64 ? 0x1p-52 : type_.sum == core::Sum::i32 ? 0 : 0x1p-23;
  double error = (k + 8) * unit * size;
  if (type_.compute == GGEMM_COMPUTE_TF32) error += 0x1p-9 * size;
  // Tensor cores may keep 14 bits of an fp8 product's sum, of 128 of k or of all.
  if (core::fp8(type_)) error += 4 * 0x1p-13 * size * (type_.compute == GGEMM_COMPUTE_FP8_FAST ? std::sqrt(std::max(1.0, k / 32)) : 1);
  if (type_.bias) sum += block_bias_.value(type_.bias == GGEMM_BIAS_PER_COLUMN ? j : i);
  return {sum, error + 4 * 0x1p-23 * std::abs(sum)};
}

ScratchProblem::Point ScratchProblem::point(std::size_t group, std::int64_t i, std::int64_t j) const {
  const Group& g = groups_[group];
  const double p0 = type_.grouped ? grouped_.epilogue.activation_p0 : plain_.epilogue.activation_p0, p1 = type_.grouped ? grouped_.epilogue.activation_p1 : plain_.epilogue.activation_p1;
  const Expected x = expected(g, i, type_.gate == GGEMM_GATE_INTERLEAVED ? 2 * j : j);
  // No activation but leaky relu is steeper than 1.2; f32 arithmetic in it and in the epilogue adds a little.
  const double slope = type_.activation == GGEMM_ACTIVATION_LEAKY_RELU ? std::max(1.2, std::abs(p0)) : 1.2;
  double result = activate(type_.activation, x.value, p0, p1), bound = x.error * slope + 4 * 0x1p-23 * std::abs(x.value);
  if (type_.gate) {
    const Expected up = expected(g, i, type_.gate == GGEMM_GATE_INTERLEAVED ? 2 * j + 1 : columns(g) + j);
    bound = bound * (std::abs(up.value) + up.error) + std::abs(result) * up.error;
    result *= up.value;
  }
  const double reference = std::clamp(result, -largest(type_.d) - (type_.d == GGEMM_I8 || type_.d == GGEMM_I32 ? 1 : 0), largest(type_.d));
  bound += 2 * output_rounding(type_.d) * std::abs(reference) + output_step(type_.d);
  return {group, i, j, reference, bound, std::abs(result) > largest(type_.d)};
}

}  // namespace ggemm
