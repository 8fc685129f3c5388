// SPDX-License-Identifier: Apache-2.0
#include "host_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "host/pool.hpp"
#include "host/product.hpp"
#include "support/formats.hpp"

namespace ggemm::tests {
namespace {

constexpr unsigned char canary = 0xa5;

std::int64_t span_end(std::int64_t count, std::int64_t stride) { return count > 0 ? (count - 1) * stride : 0; }

void set_scalar(kernels::Scalar& scalar, const HostCase& c, double value) {
  scalar = {nullptr, 0};
  const float single = static_cast<float>(value);
  const std::int32_t whole = static_cast<std::int32_t>(value);
  if (c.sums_f64())
    std::memcpy(&scalar.bits, &value, 8);
  else if (c.epilogue_i32())
    std::memcpy(&scalar.bits, &whole, 4);
  else
    std::memcpy(&scalar.bits, &single, 4);
}

double activated(ggemm_activation activation, double x, double p0, double p1) {
  const double z = std::max(x, std::numeric_limits<double>::lowest());  // at -infinity the gelus and silu are their limit
  switch (activation) {
    case GGEMM_ACTIVATION_RELU: return x > 0 ? x : 0;
    case GGEMM_ACTIVATION_LEAKY_RELU: return x > 0 ? x : p0 * x;
    case GGEMM_ACTIVATION_GELU: return z / 2 * std::erfc(-z / std::sqrt(2.0));
    case GGEMM_ACTIVATION_GELU_TANH: return z / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
    case GGEMM_ACTIVATION_SILU: return z / (1 + std::exp(-z));
    case GGEMM_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-x));
    case GGEMM_ACTIVATION_TANH: return std::tanh(x);
    case GGEMM_ACTIVATION_CLAMP: return std::min(std::max(x, p0), p1);
    default: return x;
  }
}

void lay_out(Rng& random, HostMatrix& x, bool output) {
  const std::int64_t pad = random.chance(0.5) ? 0 : random.between(1, 7);
  switch (random.below(output ? 5 : 7)) {
    case 0:
    case 1: x.col_stride = 1, x.row_stride = std::max<std::int64_t>(x.cols, 1) + pad; break;
    case 2: x.row_stride = 1, x.col_stride = std::max<std::int64_t>(x.rows, 1) + pad; break;
    case 3: x.col_stride = 2, x.row_stride = 2 * x.cols + 1 + pad; break;
    case 4: x.row_stride = 3, x.col_stride = 3 * x.rows + 1 + pad; break;
    case 5: x.row_stride = 0, x.col_stride = 1; break;
    case 6: x.col_stride = 0, x.row_stride = 1; break;
  }
  if (random.chance(0.15)) x.row_stride = -x.row_stride;
  if (random.chance(0.15)) x.col_stride = -x.col_stride;
}

void fill(Rng& random, HostMatrix& x, bool exact) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) {
      double value = exact ? static_cast<double>(random.between(-2, 2)) : random.normal();
      if (!exact && is_integer(x.dtype)) value *= 40;
      x.set(i, j, value);
    }
  }
}

std::int64_t random_size(Rng& random, std::int64_t largest) {
  if (random.chance(0.05)) return random.between(0, 1);
  return random.chance(0.7) ? random.between(1, std::min<std::int64_t>(largest, 40)) : random.between(1, largest);
}

template <class T, class V>
void run_typed(const host::Isa& isa, core::ProblemType type, const kernels::GemmParams& given) {
  const kernels::GemmParams params = host::turned_if_better(type, given, isa.kernels<T>().b.width);
  const host::Product<T, V> product(isa, type, params, 1);
  host::Scratch scratch(host::scratch_bytes);
  for (std::int64_t tile = 0; tile < product.tiles(); ++tile) product.compute(tile, scratch);
}

}  // namespace

void HostMatrix::allocate() {
  const std::int64_t down = span_end(rows, row_stride), across = span_end(cols, col_stride);
  origin = -(std::min<std::int64_t>(down, 0) + std::min<std::int64_t>(across, 0));
  const std::int64_t count = rows == 0 || cols == 0 ? 0 : std::abs(down) + std::abs(across) + 1;
  bytes.assign(static_cast<std::size_t>(count) * size_of(dtype), canary);
}
unsigned char* HostMatrix::at(std::int64_t i, std::int64_t j) {
  return bytes.data() + (origin + i * row_stride + j * col_stride) * static_cast<std::int64_t>(size_of(dtype));
}
const unsigned char* HostMatrix::at(std::int64_t i, std::int64_t j) const { return const_cast<HostMatrix*>(this)->at(i, j); }
double HostMatrix::value(std::int64_t i, std::int64_t j) const { return decode(dtype, at(i, j)); }
void HostMatrix::set(std::int64_t i, std::int64_t j, double value) { encode(dtype, value, at(i, j)); }
kernels::Matrix HostMatrix::view() const { return {bytes.empty() ? nullptr : at(0, 0), row_stride, col_stride}; }

HostMatrix row_major(ggemm_dtype dtype, std::int64_t rows, std::int64_t cols) {
  HostMatrix x;
  x.dtype = dtype, x.rows = rows, x.cols = cols, x.row_stride = cols, x.col_stride = 1;
  x.allocate();
  return x;
}

void HostCase::allocate() {
  a = row_major(a_dtype, m, k);
  b = row_major(b_dtype, k, n);
  d = row_major(d_dtype, m, n);
  c = row_major(d_dtype, m, n);
  remember();
}

core::ProblemType HostCase::type() const {
  core::ProblemType t{};
  t.a = static_cast<std::uint8_t>(a_dtype);
  t.b = static_cast<std::uint8_t>(b_dtype);
  t.c = static_cast<std::uint8_t>(c_is_d ? d_dtype : c.dtype);
  t.d = static_cast<std::uint8_t>(d_dtype);
  t.compute = static_cast<std::uint8_t>(compute);
  t.sum = sums_f64() ? core::Sum::f64 : sums_i32() ? core::Sum::i32 : core::Sum::f32;
  t.activation = static_cast<std::uint8_t>(activation);
  t.bias = static_cast<std::uint8_t>(bias_kind);
  t.bias_dtype = static_cast<std::uint8_t>(bias_kind ? bias.dtype : GGEMM_DTYPE_NONE);
  return t;
}

kernels::GemmParams HostCase::params() const {
  kernels::GemmParams p{};
  p.m = m, p.n = n, p.k = k;
  p.a = a.view(), p.b = b.view(), p.d = d.view();
  p.c = c_is_d ? p.d : c.view();
  p.bias = bias_kind ? bias.view().data : nullptr;
  set_scalar(p.epilogue.alpha, *this, alpha);
  set_scalar(p.epilogue.beta, *this, beta);
  p.epilogue.activation_p0 = p0, p.epilogue.activation_p1 = p1;
  p.raster = 1;
  return p;
}

std::string HostCase::text() const {
  char line[400];
  std::snprintf(line, sizeof line,
                "%s x %s -> %s, c %s, bias %d %s, %lldx%lldx%lld, strides a %lld %lld b %lld %lld c %lld %lld d %lld %lld, "
                "alpha %g beta %g, act %d (%g, %g)%s%s",
                name_of(a_dtype), name_of(b_dtype), name_of(d_dtype), c_is_d ? "is d" : name_of(c.dtype), bias_kind, name_of(bias.dtype),
                static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k), static_cast<long long>(a.row_stride),
                static_cast<long long>(a.col_stride), static_cast<long long>(b.row_stride), static_cast<long long>(b.col_stride),
                static_cast<long long>(c.row_stride), static_cast<long long>(c.col_stride), static_cast<long long>(d.row_stride),
                static_cast<long long>(d.col_stride), alpha, beta, activation, p0, p1, compute == GGEMM_COMPUTE_TF32 ? ", tf32" : compute ? ", f32x3" : "", exact ? ", exact" : "");
  return line;
}

// The interval that D may have been rounded from. RELIABILITY's bound: |alpha| g(k + 2) |A||B| + g(3) (|beta C| + |bias|), g(n) = n u / (1 - n u).
void HostCase::expect(std::int64_t i, std::int64_t j, const Numbers& numbers, double& low, double& high) const {
  long double sum = 0, magnitude = 0;
  for (std::int64_t l = 0; l < k; ++l) {
    const double left = numbers.a[static_cast<std::size_t>(i * k + l)], right = numbers.b[static_cast<std::size_t>(j * k + l)];
    const long double product = static_cast<long double>(left) * right;
    sum += product;
    magnitude += std::fabs(product);
  }
  if (sums_i32()) sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
  const long double c_value = beta == 0 ? 0 : numbers.c.value(i, j);
  const long double bias_value = bias_kind == GGEMM_BIAS_NONE ? 0 : bias.value(0, bias_kind == GGEMM_BIAS_PER_ROW ? i : j);
  const long double x = alpha * sum + beta * c_value + bias_value;
  if (epilogue_i32()) {
    const double wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)));
    low = high = activated(activation, wrapped, p0, p1);
    return;
  }
  if (exact) {
    low = high = activated(activation, static_cast<double>(x), p0, p1);
    return;
  }
  const long double u = sums_f64() ? 0x1p-52L : 0x1p-23L;
  const auto g = [u](long double count) { return count * u / (1 - count * u); };
  long double bound = std::fabs(alpha) * (sums_i32() ? u * std::fabs(sum) : g(static_cast<long double>(k + 2)) * magnitude) +
                      g(3) * (std::fabs(beta * c_value) + std::fabs(bias_value) + (sums_i32() ? std::fabs(alpha * sum) : 0));
  if (compute == GGEMM_COMPUTE_TF32) bound += 0x1p-9L * std::fabs(alpha) * magnitude;
  const double y = activated(activation, static_cast<double>(x), p0, p1);
  // No activation is steeper than 1.2, but a leaky one with such a slope; their own arithmetic is good to some units of the last place.
  if (activation != GGEMM_ACTIVATION_NONE) bound = std::max(1.2, std::fabs(p0)) * bound + 16 * u * (std::fabs(x) + 1);
  low = static_cast<double>(y - bound);
  high = static_cast<double>(y + bound);
}

std::string HostCase::judge() const {
  Numbers numbers{{}, {}, c_is_d ? d : c};
  if (c_is_d) numbers.c.bytes = d_before;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l) numbers.a.push_back(a.value(i, l));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t l = 0; l < k; ++l) numbers.b.push_back(b.value(l, j));
  std::vector<bool> own(d.bytes.size(), false);
  const std::size_t size = size_of(d_dtype);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::size_t offset = static_cast<std::size_t>(d.at(i, j) - d.bytes.data());
      for (std::size_t byte = 0; byte < size; ++byte) own[offset + byte] = true;
      double low, high;
      expect(i, j, numbers, low, high);
      const double got = d.value(i, j), from = rounded(d_dtype, low), to = rounded(d_dtype, high);
      if (got >= from && got <= to) continue;
      char line[200];
      std::snprintf(line, sizeof line, "D(%lld, %lld) is %.17g, not in %.17g .. %.17g", static_cast<long long>(i), static_cast<long long>(j), got, from,
                    to);
      return line;
    }
  }
  for (std::size_t at = 0; at < d.bytes.size(); ++at) {
    if (!own[at] && d.bytes[at] != d_before[at]) return "byte " + std::to_string(at) + " of D's buffer is no element's and was written";
  }
  return "";
}

HostCase random_case(Rng& random, bool exact, std::int64_t largest) {
  HostCase x;
  const auto input = [&] { return random.pick({GGEMM_F64, GGEMM_F32, GGEMM_F16, GGEMM_BF16, GGEMM_E4M3, GGEMM_E5M2, GGEMM_I8}); };
  const auto output = [&] { return random.pick({GGEMM_F64, GGEMM_F32, GGEMM_F16, GGEMM_BF16, GGEMM_E4M3, GGEMM_E5M2, GGEMM_I8, GGEMM_I32}); };
  x.exact = exact;
  x.a_dtype = input();
  x.b_dtype = random.chance(0.3) ? x.a_dtype : input();
  x.d_dtype = output();
  if (x.a_dtype == GGEMM_F32 && x.b_dtype == GGEMM_F32 && random.chance(0.4)) x.compute = random.chance(0.7) ? GGEMM_COMPUTE_TF32 : GGEMM_COMPUTE_F32_ACCURATE;
  x.m = random_size(random, largest), x.n = random_size(random, largest), x.k = random_size(random, largest);
  const bool whole = x.epilogue_i32();
  if (exact || whole)
    x.activation = random.pick({GGEMM_ACTIVATION_NONE, GGEMM_ACTIVATION_NONE, GGEMM_ACTIVATION_RELU, GGEMM_ACTIVATION_CLAMP});
  else
    x.activation = static_cast<ggemm_activation>(random.below(9));
  if (x.activation == GGEMM_ACTIVATION_LEAKY_RELU) x.p0 = 0.125;
  if (x.activation == GGEMM_ACTIVATION_CLAMP) x.p0 = -3, x.p1 = 5;
  x.alpha = exact || whole ? random.pick({1.0, 1.0, 2.0, -1.0, 0.0}) : random.pick({1.0, 0.75, -1.5});
  x.beta = exact || whole ? random.pick({0.0, 0.0, 1.0, -2.0}) : random.pick({0.0, 1.0, 0.5});
  x.bias_kind = random.pick({GGEMM_BIAS_NONE, GGEMM_BIAS_NONE, GGEMM_BIAS_PER_COLUMN, GGEMM_BIAS_PER_ROW});
  x.c_is_d = x.beta != 0 && random.chance(0.4);

  const auto place = [&](HostMatrix& matrix, ggemm_dtype dtype, std::int64_t rows, std::int64_t cols, bool is_output) {
    matrix.dtype = dtype, matrix.rows = rows, matrix.cols = cols;
    lay_out(random, matrix, is_output);
    matrix.allocate();
  };
  place(x.a, x.a_dtype, x.m, x.k, false);
  place(x.b, x.b_dtype, x.k, x.n, false);
  place(x.d, x.d_dtype, x.m, x.n, true);
  place(x.c, whole ? GGEMM_I32 : output(), x.m, x.n, false);
  x.bias = row_major(whole ? GGEMM_I32 : output(), 1, x.bias_kind == GGEMM_BIAS_PER_ROW ? x.m : x.n);
  for (HostMatrix* matrix : {&x.a, &x.b, &x.c, &x.bias}) fill(random, *matrix, exact || whole);
  if (x.c_is_d) fill(random, x.d, exact || whole);
  // Where beta is 0, C may hold anything.
  if (x.beta == 0 && !is_integer(x.c.dtype)) {
    for (std::int64_t i = 0; i < x.m; ++i)
      for (std::int64_t j = 0; j < x.n; ++j) x.c.set(i, j, std::numeric_limits<double>::quiet_NaN());
  }
  x.remember();
  return x;
}

void run_by(const host::Isa& isa, const core::ProblemType& type, const kernels::GemmParams& params) {
  if (type.sum == core::Sum::f64) return run_typed<double, double>(isa, type, params);
  if (type.sum == core::Sum::f32) return run_typed<float, float>(isa, type, params);
  if (type.d == GGEMM_I32) return run_typed<std::int32_t, std::int32_t>(isa, type, params);
  run_typed<std::int32_t, float>(isa, type, params);
}

std::uint64_t seed_of_run() {
  const char* given = std::getenv("GGEMM_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 1;
}

std::string again(const char* test, std::uint64_t number) {
  return "case " + std::to_string(number) + "; again: GGEMM_SEED=" + std::to_string(seed_of_run()) + " ggemm_test_host '" + test + "'";
}

}  // namespace ggemm::tests
