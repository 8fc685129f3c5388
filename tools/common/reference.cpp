// SPDX-License-Identifier: Apache-2.0
#include "common/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/failure.hpp"
#include "common/parallel.hpp"

namespace ggemm::tools {
namespace {

constexpr std::int64_t panel_columns = 64;  // of B in float64 at a time: 512 bytes a row of the panel

struct OutputType {
  double largest;   // finite
  double rounding;  // u_out: half the distance of 1 to the next
  double tiny;      // eta_out: half the smallest positive value
  bool saturates;
};

OutputType output_type(ggemm_dtype dtype) {
  switch (dtype) {
    case GGEMM_F64: return {std::numeric_limits<double>::max(), std::ldexp(1, -53), 0, false};
    case GGEMM_F32: return {std::numeric_limits<float>::max(), std::ldexp(1, -24), std::ldexp(1, -150), false};
    case GGEMM_F16: return {65504, std::ldexp(1, -11), std::ldexp(1, -25), false};
    case GGEMM_BF16: return {std::ldexp(2 - std::ldexp(1, -7), 127), std::ldexp(1, -8), std::ldexp(1, -134), false};
    case GGEMM_E4M3: return {448, std::ldexp(1, -4), std::ldexp(1, -10), true};
    case GGEMM_E5M2: return {57344, std::ldexp(1, -3), std::ldexp(1, -17), true};
    case GGEMM_I8: return {127, 0, 0.5, true};
    default: return {2147483647.0, 0, 0.5, true};
  }
}

// Largest slope of the activation.
double steepest(ggemm_activation activation, double p0) {
  switch (activation) {
    case GGEMM_ACTIVATION_LEAKY_RELU: return std::max(1.0, std::fabs(p0));
    case GGEMM_ACTIVATION_GELU:
    case GGEMM_ACTIVATION_GELU_TANH: return 1.13;
    case GGEMM_ACTIVATION_SILU: return 1.1;
    default: return 1;
  }
}

bool transcendental(ggemm_activation activation) { return activation >= GGEMM_ACTIVATION_GELU && activation <= GGEMM_ACTIVATION_TANH; }

double element(const MatrixView& matrix, std::int64_t row, std::int64_t col) {
  const std::size_t size = ggemm_dtype_size(matrix.dtype);
  const char* at = static_cast<const char*>(matrix.base) + (row * matrix.row_stride + col * matrix.col_stride) * static_cast<std::int64_t>(size);
  double out = 0;
  check(ggemm_convert(GGEMM_F64, &out, matrix.dtype, at, 1));
  return out;
}

// `count` elements, `stride` elements apart, as float64.
void load(const MatrixView& matrix, std::int64_t first, std::int64_t stride, std::int64_t count, double* out, std::vector<char>& scratch) {
  const std::size_t size = ggemm_dtype_size(matrix.dtype);
  const char* base = static_cast<const char*>(matrix.base);
  if (stride != 1) {
    scratch.resize(std::size_t(count) * size);
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(scratch.data() + std::size_t(i) * size, base + (first + i * stride) * std::int64_t(size), size);
    check(ggemm_convert(GGEMM_F64, out, matrix.dtype, scratch.data(), std::size_t(count)));
  } else {
    check(ggemm_convert(GGEMM_F64, out, matrix.dtype, base + first * std::int64_t(size), std::size_t(count)));
  }
}

class Checker {
 public:
  Checker(const ReferenceProduct& product, const std::vector<std::int64_t>& rows) : p_(product), rows_(rows) {
    const bool f64 = p_.a.dtype == GGEMM_F64 || p_.b.dtype == GGEMM_F64;
    integer_ = p_.a.dtype == GGEMM_I8 && p_.b.dtype == GGEMM_I8;
    unit_ = std::ldexp(1, f64 ? -52 : -23);
    out_ = output_type(p_.d.dtype);
    const std::int64_t k = p_.a.cols;
    a_.resize(rows.size() * std::size_t(k));
    std::vector<char> scratch;
    for (std::size_t r = 0; r < rows.size() && k > 0; ++r)
      load(p_.a, rows[r] * p_.a.row_stride, p_.a.col_stride, k, a_.data() + std::int64_t(r) * k, scratch);
    if (p_.bias != GGEMM_BIAS_NONE) {
      bias_.resize(std::size_t(p_.bias == GGEMM_BIAS_PER_COLUMN ? p_.d.cols : p_.d.rows));
      check(ggemm_convert(GGEMM_F64, bias_.data(), p_.bias_dtype, p_.bias_data, bias_.size()));
    }
  }

  // Columns begin .. end of the chosen rows.
  ErrorReport panel(std::int64_t begin, std::int64_t end) const {
    const std::int64_t k = p_.a.cols, width = end - begin;
    // The k x width panel of B, packed by rows.
    std::vector<double> b(std::size_t(k * width)), line(std::size_t(std::max(k, width)));
    std::vector<char> scratch;
    if (p_.b.col_stride == 1) {
      for (std::int64_t i = 0; i < k; ++i) load(p_.b, i * p_.b.row_stride + begin, 1, width, b.data() + i * width, scratch);
    } else {
      for (std::int64_t j = 0; j < width && k > 0; ++j) {
        load(p_.b, (begin + j) * p_.b.col_stride, p_.b.row_stride, k, line.data(), scratch);
        for (std::int64_t i = 0; i < k; ++i) b[std::size_t(i * width + j)] = line[std::size_t(i)];
      }
    }
    ErrorReport report;
    std::vector<double> sum(static_cast<std::size_t>(width)), magnitude(static_cast<std::size_t>(width));
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      std::fill(sum.begin(), sum.end(), 0.0);
      std::fill(magnitude.begin(), magnitude.end(), 0.0);
      for (std::int64_t i = 0; i < k; ++i) {
        const double a = a_[r * std::size_t(k) + std::size_t(i)];
        const double* row = b.data() + i * width;
        for (std::int64_t j = 0; j < width; ++j) {
          const double product = a * row[j];
          sum[std::size_t(j)] += product;
          magnitude[std::size_t(j)] += std::fabs(product);
        }
      }
      for (std::int64_t j = 0; j < width; ++j) compare(rows_[r], begin + j, sum[std::size_t(j)], magnitude[std::size_t(j)], report);
    }
    return report;
  }

 private:
  double bias_at(std::int64_t row, std::int64_t col) const {
    if (p_.bias == GGEMM_BIAS_NONE) return 0;
    return bias_[std::size_t(p_.bias == GGEMM_BIAS_PER_COLUMN ? col : row)];
  }

  static std::int32_t wrap(double value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value))); }

  // int32 arithmetic that wraps, as ggemm.h lays down for i8 products stored as i32.
  double integer_result(double sum, double c, double bias) const {
    const auto bits = [](double value) { return static_cast<std::uint32_t>(wrap(value)); };
    const std::uint32_t x = bits(p_.alpha) * bits(sum) + bits(p_.beta) * bits(c) + bits(bias);
    return activate(p_.activation, static_cast<std::int32_t>(x), p_.p0, p_.p1);
  }

  void compare(std::int64_t row, std::int64_t col, double sum, double magnitude, ErrorReport& report) const {
    const double got = element(p_.d, row, col);
    const double c = p_.beta != 0 ? element(p_.c, row, col) : 0, bias = bias_at(row, col);
    double reference, bound;
    if (integer_ && p_.d.dtype == GGEMM_I32) {
      reference = integer_result(sum, c, bias);
      bound = 0;
    } else {
      if (integer_) sum = wrap(sum);
      const auto g = [this](double n) { return n * unit_ / (1 - n * unit_); };
      const double before = p_.alpha * sum + p_.beta * c + bias;
      bound = std::fabs(p_.alpha) * magnitude * (g(double(p_.a.cols) + 2) + (p_.compute == GGEMM_COMPUTE_TF32 ? std::ldexp(1, -9) : 0));
      bound = steepest(p_.activation, p_.p0) * (bound + g(3) * (std::fabs(p_.beta * c) + std::fabs(bias)));
      // A few ulp of the function itself, where 1 + erf or 1 + tanh may cancel.
      if (transcendental(p_.activation)) bound += 8 * unit_ * (1 + std::fabs(before));
      reference = activate(p_.activation, before, p_.p0, p_.p1);
      const double computed = bound;
      bound += out_.rounding * std::fabs(reference) + out_.tiny;
      if (out_.saturates) saturate(reference, computed, bound);
    }
    add(row, col, got, reference, bound, report);
  }

  // A sum that is surely beyond the output's range has one right result.
  void saturate(double& reference, double computed, double& bound) const {
    const double smallest = out_.rounding > 0 ? -out_.largest : -out_.largest - 1;
    if (reference - computed >= out_.largest || reference + computed <= smallest) bound = 0;
    reference = std::clamp(reference, smallest, out_.largest);
  }

  void add(std::int64_t row, std::int64_t col, double got, double reference, double bound, ErrorReport& report) const {
    ++report.elements;
    double error = std::fabs(got - reference), share = bound > 0 ? error / bound : (error > 0 ? HUGE_VAL : 0);
    const bool integers = p_.d.dtype == GGEMM_I8 || p_.d.dtype == GGEMM_I32;
    const bool overflow_allowed =
        !out_.saturates && std::isinf(got) && std::fabs(reference) + bound >= out_.largest && std::signbit(got) == std::signbit(reference);
    if ((std::isnan(reference) && (std::isnan(got) || (integers && got == 0))) || got == reference || overflow_allowed) error = share = 0;
    if (!std::isfinite(error) || !std::isfinite(share)) share = HUGE_VAL;
    report.max_error = std::isnan(error) ? HUGE_VAL : std::max(report.max_error, error);
    if (report.row < 0 || share > report.max_share) {
      report.max_share = share;
      report.row = row;
      report.col = col;
      report.got = got;
      report.wanted = reference;
    }
  }

  const ReferenceProduct& p_;
  const std::vector<std::int64_t>& rows_;
  std::vector<double> a_, bias_;
  bool integer_ = false;
  double unit_ = 0;
  OutputType out_{};
};

}  // namespace

void ErrorReport::add(const ErrorReport& other) {
  elements += other.elements;
  max_error = std::max(max_error, other.max_error);
  if (other.row < 0 || (row >= 0 && other.max_share <= max_share)) return;
  max_share = other.max_share;
  row = other.row;
  col = other.col;
  got = other.got;
  wanted = other.wanted;
}

ErrorReport check_rows(const ReferenceProduct& product, const std::vector<std::int64_t>& rows) {
  const Checker checker(product, rows);
  const std::int64_t n = product.d.cols, panels = (n + panel_columns - 1) / panel_columns;
  std::vector<ErrorReport> reports(static_cast<std::size_t>(panels));
  parallel_for(panels, [&](std::int64_t panel) {
    reports[std::size_t(panel)] = checker.panel(panel * panel_columns, std::min(n, (panel + 1) * panel_columns));
  });
  ErrorReport total;
  for (const ErrorReport& report : reports) total.add(report);
  return total;
}

std::vector<std::int64_t> sample_rows(std::int64_t m, std::int64_t n, std::int64_t k, double limit) {
  const double row_cost = std::max(1.0, double(n) * double(k));
  const std::int64_t count = std::min(m, std::max<std::int64_t>(2, std::int64_t(limit / row_cost)));
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(count == 1 ? 0 : std::int64_t(double(m - 1) * double(i) / double(count - 1)));
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

double activate(ggemm_activation activation, double x, double p0, double p1) {
  const double z = std::max(x, std::numeric_limits<double>::lowest());  // at -infinity the gelus and silu are their limit
  switch (activation) {
    case GGEMM_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case GGEMM_ACTIVATION_LEAKY_RELU: return x > 0 ? x : p0 * x;
    case GGEMM_ACTIVATION_GELU: return z / 2 * (1 + std::erf(z / std::sqrt(2.0)));
    case GGEMM_ACTIVATION_GELU_TANH: return z / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
    case GGEMM_ACTIVATION_SILU: return z / (1 + std::exp(-z));
    case GGEMM_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-x));
    case GGEMM_ACTIVATION_TANH: return std::tanh(x);
    case GGEMM_ACTIVATION_CLAMP: return x < p0 ? p0 : x > p1 ? p1 : x;
    default: return x;
  }
}

}  // namespace ggemm::tools
