// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "formats.hpp"

namespace ggemm::tests {
namespace {

using std::int64_t;
using Four = double __attribute__((vector_size(32)));
using LongDouble = long double;

double element(const Bytes& image, const View& view, ggemm_dtype dtype, int64_t i, int64_t j) {
  if (!view.has(i)) return 0;
  return decode(dtype, image.data() + view.at(i, j) * static_cast<int64_t>(size_of(dtype)));
}

// An operand's scale at its row or column mn and at k, once for each.
class Scales {
 public:
  Scales(const Bytes& image, const View& view, ggemm_scale_kind kind, bool rows) : image_(image), view_(view), kind_(kind), rows_(rows) {}
  double at(int64_t mn, int64_t k) const {
    if (!kind_) return 1;
    const int64_t along = scale_of(kind_, mn), deep = scale_block_of(kind_, k);
    return element(image_, view_, GGEMM_F32, rows_ ? along : deep, rows_ ? deep : along);
  }

 private:
  const Bytes& image_;
  const View& view_;
  ggemm_scale_kind kind_;
  bool rows_;
};

// The sums of one row of A B, scaled, and of |A| |B|.
class Product {
 public:
  Product(const Case& c, const Group& g, const Images& images, bool tensor_cores)
      : c_(c), g_(g), images_(images), scale_a_(images[slot_scale_a], g.scale_a, c.type.scale_a, true), padded_((g.n + 3) / 4 * 4), real_(c.values == Values::normal || c.values == Values::special) {
    if (tensor_cores && !c.type.sums_f64()) smallest_a_ = smallest_normal(c.type.a), smallest_b_ = smallest_normal(c.type.b);
    if (tensor_cores && c.type.compute == GGEMM_COMPUTE_F32_ACCURATE) smallest_a_ = smallest_b_ = 0x1p-110;  // below it an operand's last term may end early
    const int64_t k = std::max<int64_t>(g.k, 0);
    const Scales scale_b(images[slot_scale_b], g.scale_b, c.type.scale_b, false);
    b_.assign(static_cast<std::size_t>(k * padded_), 0.0);
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < g.n; ++j) b_[static_cast<std::size_t>(p * padded_ + j)] = element(images[slot_b], g.b, c.type.b, p, j);
    if (real_) {
      b_sizes_.resize(b_.size());
      std::transform(b_.begin(), b_.end(), b_sizes_.begin(), [&](double b) { return counted(b, smallest_b_); });
    }
    for (int64_t p = 0; p < k && c.type.scale_b; ++p)
      for (int64_t j = 0; j < g.n; ++j) {
        const std::size_t at = static_cast<std::size_t>(p * padded_ + j);
        b_[at] *= scale_b.at(j, p);
        if (real_) b_sizes_[at] *= std::fabs(scale_b.at(j, p));
      }
    sum.resize(static_cast<std::size_t>(padded_));
    magnitude.resize(static_cast<std::size_t>(padded_));
  }
  void row(int64_t i) {
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(magnitude.begin(), magnitude.end(), 0.0);
    // Real f64 products are summed in long double: the bound under test is about as tight as a float64 reference would be wrong.
    if (real_ && c_.type.sums_f64()) return long_row(i);
    for (int64_t p = 0; p < g_.k; ++p) {
      const double a = element(images_[slot_a], g_.a, c_.type.a, i, p);
      const double scale = scale_a_.at(i, p);
      add_scaled(a * scale, &b_[static_cast<std::size_t>(p * padded_)], sum);
      if (real_) add_scaled(counted(a, smallest_a_) * std::fabs(scale), &b_sizes_[static_cast<std::size_t>(p * padded_)], magnitude);
    }
  }
  std::vector<double> sum, magnitude;

 private:
  // An operand as |A||B| counts it.
  static double counted(double x, double smallest) { return x == 0 ? 0 : std::isnan(x) ? x : std::max(std::fabs(x), smallest); }
  void add_scaled(double scale, const double* row, std::vector<double>& to) const {
    const Four factor = {scale, scale, scale, scale};
    for (int64_t j = 0; j < padded_; j += 4) {
      Four values, sums;
      std::memcpy(&values, row + j, sizeof values);
      std::memcpy(&sums, &to[static_cast<std::size_t>(j)], sizeof sums);
      sums += factor * values;
      std::memcpy(&to[static_cast<std::size_t>(j)], &sums, sizeof sums);
    }
  }
  void long_row(int64_t i) {
    long_sum_.assign(static_cast<std::size_t>(padded_), 0.0L);
    for (int64_t p = 0; p < g_.k; ++p) {
      const double a = element(images_[slot_a], g_.a, c_.type.a, i, p);
      for (int64_t j = 0; j < g_.n; ++j) {
        const LongDouble term = static_cast<LongDouble>(a) * b_[static_cast<std::size_t>(p * padded_ + j)];
        long_sum_[static_cast<std::size_t>(j)] += term;
        magnitude[static_cast<std::size_t>(j)] += std::fabs(static_cast<double>(term));
      }
    }
    for (int64_t j = 0; j < g_.n; ++j) sum[static_cast<std::size_t>(j)] = static_cast<double>(long_sum_[static_cast<std::size_t>(j)]);
  }
  const Case& c_;
  const Group& g_;
  const Images& images_;
  Scales scale_a_;
  int64_t padded_;
  double smallest_a_ = 0, smallest_b_ = 0;
  bool real_;
  std::vector<double> b_, b_sizes_;
  std::vector<LongDouble> long_sum_;
};

double activated(const CaseType& t, double x) {
  const double z = std::max(x, std::numeric_limits<double>::lowest());  // at -infinity the gelus and silu are their limit
  switch (t.activation) {
    case GGEMM_ACTIVATION_RELU:
      return x < 0 ? 0 : x;
    case GGEMM_ACTIVATION_LEAKY_RELU:
      return x > 0 ? x : t.p0 * x;
    case GGEMM_ACTIVATION_GELU:
      return z / 2 * (1 + std::erf(z / std::sqrt(2.0)));
    case GGEMM_ACTIVATION_GELU_TANH:
      return z / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
    case GGEMM_ACTIVATION_SILU:
      return z / (1 + std::exp(-z));
    case GGEMM_ACTIVATION_SIGMOID:
      return 1 / (1 + std::exp(-x));
    case GGEMM_ACTIVATION_TANH:
      return std::tanh(x);
    case GGEMM_ACTIVATION_CLAMP:
      return x < t.p0 ? t.p0 : x > t.p1 ? t.p1 : x;
    default:
      return x;
  }
}

// The steepest slope of an activation: what an error before it may grow by.
double slope(const CaseType& t) {
  switch (t.activation) {
    case GGEMM_ACTIVATION_LEAKY_RELU:
      return std::max(1.0, std::fabs(t.p0));
    case GGEMM_ACTIVATION_GELU:
    case GGEMM_ACTIVATION_GELU_TANH:
      return 1.13;
    case GGEMM_ACTIVATION_SILU:
      return 1.1;
    case GGEMM_ACTIVATION_SIGMOID:
      return 0.25;
    default:
      return 1;
  }
}

// The error of evaluating an activation at x with value y: a few units in the last place of exp, erf or tanh. The gelus cancel for negative x, so
// theirs is relative to x.
double evaluation_error(const CaseType& t, double x, double y, double u) {
  switch (t.activation) {
    case GGEMM_ACTIVATION_NONE:
    case GGEMM_ACTIVATION_RELU:
      return 0;
    case GGEMM_ACTIVATION_LEAKY_RELU:
    case GGEMM_ACTIVATION_CLAMP:
      return 2 * u * std::fabs(y);
    case GGEMM_ACTIVATION_GELU:
    case GGEMM_ACTIVATION_GELU_TANH:
      return 8 * u * std::fabs(x) + 0x1p-126;
    default:
      return 8 * u * std::fabs(y) + 0x1p-126;
  }
}

// The verdict on the elements of one group.
class Judge {
 public:
  Judge(const Case& c, const Group& g, const Images& before, const Bytes& after, const CheckOptions& options)
      : c_(c), t_(c.type), g_(g), alpha_(c.alpha_of(g)), beta_(c.beta_of(g)), before_(before), after_(after), u_(c.type.sums_f64() ? 0x1p-52 : 0x1p-23) {
    const double k = static_cast<double>(std::max<int64_t>(g.k, 0)) + 3;
    of_products_ = gamma(k - 1 + (t_.scaled() ? 3 : 0)) + (t_.compute == GGEMM_COMPUTE_TF32 ? 0x1p-9 : 0) + (options.short_sums ? cut_sums(options.promoted ? std::min(k - 3, 128.0) : k - 3, options.promoted) : 0);
    gamma_3_ = gamma(3);
    tiny_ = k * (t_.sums_f64() ? 0x1p-1074 : options.tensor_cores ? 0x1p-126 : 0x1p-149) * (t_.scaled() ? 4 : 1);  // two scales come to 4 at most
  }
  // The verdict on D's element (i, j), where `product` has row i.
  std::optional<std::string> element_at(int64_t i, int64_t j, const Product& product) const {
    if (!g_.d.has(i)) return std::nullopt;
    const double weight = c_.weight_of(g_, i);
    const unsigned char* got = after_.data() + g_.d.at(i, j) * static_cast<int64_t>(size_of(t_.d));
    if (t_.gate) return pair_at(i, j, got, product, weight);
    const auto at = static_cast<std::size_t>(j);
    const double c = beta_ == 0 ? 0 : element(before_[c_.use_of_c == UseOfC::same_as_d ? slot_d : slot_c], g_.c, t_.c_dtype(), i, j), bias = bias_of(i, j);
    if (t_.epilogue_i32()) return exactly(i, j, got, whole(product.sum[at], c, bias));
    const double x = alpha_ * product.sum[at] + (beta_ == 0 ? 0 : beta_ * c) + bias;
    if (exact()) return exactly(i, j, got, weight * activated(t_, x));
    const double error = error_before(x, product.magnitude[at], c, bias), y = activated(t_, x);
    return within(i, j, got, weight, y, std::isfinite(y) ? activated_error(x, y, error) : 0, product.magnitude[at]);
  }

 private:
  bool exact() const { return c_.values == Values::small || c_.values == Values::full_i8; }
  double bias_of(int64_t i, int64_t j) const {
    const std::size_t size = size_of(t_.bias_type());
    return !t_.bias ? 0 : decode(t_.bias_type(), before_[slot_bias].data() + static_cast<std::size_t>(g_.bias + (t_.bias == GGEMM_BIAS_PER_ROW ? i : j)) * size);
  }
  // How wrong alpha sum + beta c + bias may be, and the activation y of such an x.
  double error_before(double x, double magnitude, double c, double bias) const {
    if (!std::isfinite(x)) return 0;
    return std::fabs(alpha_) * of_products_ * magnitude + gamma_3_ * (std::fabs(beta_ == 0 ? 0 : beta_ * c) + std::fabs(bias)) + tiny_ * std::max(1.0, std::fabs(alpha_));
  }
  double activated_error(double x, double y, double error) const { return slope(t_) * error + evaluation_error(t_, std::isfinite(x) ? x : 0, y, u_); }

  std::optional<std::string> pair_at(int64_t i, int64_t j, const unsigned char* got, const Product& product, double weight) const {
    const int64_t columns[2] = {t_.gate == GGEMM_GATE_HALVES ? j : 2 * j, t_.gate == GGEMM_GATE_HALVES ? g_.n / 2 + j : 2 * j + 1};
    double x[2], error[2];
    for (int part = 0; part < 2; ++part) {
      const auto at = static_cast<std::size_t>(columns[part]);
      const double bias = bias_of(i, columns[part]);
      x[part] = alpha_ * product.sum[at] + bias;
      error[part] = error_before(x[part], product.magnitude[at], 0, bias);
    }
    const double gate = activated(t_, x[0]), y = gate * x[1];
    if (exact()) return exactly(i, j, got, weight * (t_.sums_f64() ? y : static_cast<float>(y)));  // the product of two whole numbers, rounded once
    if (std::isfinite(gate)) error[0] = activated_error(x[0], gate, error[0]);
    // An infinity times what may be 0 is NaN or not.
    if ((std::isinf(gate) && std::fabs(x[1]) <= error[1]) || (std::isinf(x[1]) && std::fabs(gate) <= error[0])) return std::nullopt;
    const double bound = std::fabs(x[1]) * error[0] + std::fabs(gate) * error[1] + error[0] * error[1];
    return within(i, j, got, weight, y, std::isfinite(y) ? bound + u_ * std::fabs(y) + tiny_ : 0, product.magnitude[static_cast<std::size_t>(columns[0])]);
  }

  double gamma(double n) const { return n * u_ / (1 - n * u_); }
  // Of sums of k products in 14 bits. The errors of many like terms nearly cancel: 4 sqrt(k / 32) cuts of |A||B|, of promoted sums 4, is far outside what random numbers reach. One outlier among
  // them may cost every other term its bits, and all in one direction; as they are where all are the same product, of operands that repeat an element along k.
  double cut_sums(double k, bool promoted) const {
    const bool same = g_.a.col_stride == 0 && g_.b.row_stride == 0;
    return 0x1p-13 * (same || c_.values == Values::special ? k + 2 * std::ceil(k / 32) + 2 : promoted ? 4 : 4 * std::sqrt(std::max(1.0, k / 32)));
  }

  // Wraps as int32 arithmetic does.
  double whole(double sum, double c, double bias) const {
    const auto word = [](double v) { return static_cast<std::uint32_t>(static_cast<int64_t>(v)); };
    const auto v = static_cast<std::int32_t>(word(alpha_) * word(sum) + word(beta_) * word(c) + word(bias));
    return activated(t_, v);
  }

  std::optional<std::string> exactly(int64_t i, int64_t j, const unsigned char* got, double value) const {
    unsigned char expected[8];
    encode(t_.d, value, expected);
    if (!std::memcmp(expected, got, size_of(t_.d))) return std::nullopt;
    char text[200];
    std::snprintf(text, sizeof text, "D[%lld,%lld] is %.17g and must be exactly %.17g (%.17g as %s)", static_cast<long long>(i),
                  static_cast<long long>(j), decode(t_.d, got), decode(t_.d, expected), value, name_of(t_.d));
    return text;
  }

  // The largest number that the epilogue computes in.
  double cut(double v) const { return t_.sums_f64() || std::fabs(v) < 0x1.ffffffp+127 ? v : std::copysign(std::numeric_limits<double>::infinity(), v); }

  // The value computed before its row's weight, a power of 2, lies within `error` of `before`, and what follows is monotone: D lies between the two ends, weighted and converted.
  std::optional<std::string> within(int64_t i, int64_t j, const unsigned char* got, double weight, double before, double error, double magnitude) const {
    const double value = decode(t_.d, got), y = weight * before, ends[2] = {cut(weight * cut(before - error)), cut(weight * cut(before + error))};
    if (std::isnan(y)) {
      if (is_integer(t_.d) ? value == 0 : std::isnan(value)) return std::nullopt;
    } else if (std::isinf(y)) {
      if (value == rounded(t_.d, y)) return std::nullopt;
    } else if (value >= rounded(t_.d, std::min(ends[0], ends[1])) && value <= rounded(t_.d, std::max(ends[0], ends[1]))) {
      return std::nullopt;
    }
    char text[300];
    std::snprintf(text, sizeof text,
                  "D[%lld,%lld] is %.17g, the reference %.17g (%.17g as %s) and the largest error allowed before conversion %.3g (|A||B| is %.6g)",
                  static_cast<long long>(i), static_cast<long long>(j), value, rounded(t_.d, y), y, name_of(t_.d), std::fabs(weight) * error, magnitude);
    return text;
  }

  const Case& c_;
  const CaseType& t_;
  const Group& g_;
  const double alpha_, beta_;
  const Images& before_;
  const Bytes& after_;
  double u_, of_products_ = 0, gamma_3_ = 0, tiny_ = 0;
};

std::optional<std::string> check_elements(const Case& c, std::size_t index, const Images& before, const Bytes& after, const CheckOptions& options,
                                          double work) {
  const Group& g = c.groups[index];
  if (g.m <= 0 || g.n <= 0) return std::nullopt;
  Product product(c, g, before, options.tensor_cores);
  const Judge judge(c, g, before, after, options);
  const double row = static_cast<double>(g.n) * static_cast<double>(std::max<int64_t>(g.k, 1));
  const int64_t affordable = std::max<int64_t>(2, static_cast<int64_t>(options.work * (row * static_cast<double>(g.m) / work) / row));
  Rng rng(mix(c.data_seed, 1000 + index));
  const int64_t rows = std::min(g.m, affordable);
  for (int64_t count = 0; count < rows; ++count) {
    // Where not every row is affordable: the first, the last, and one of each stripe between them.
    const int64_t begin = g.m * count / rows, end = g.m * (count + 1) / rows;
    const int64_t i = count == 0 ? 0 : count + 1 == rows ? g.m - 1 : rng.between(begin, end - 1);
    product.row(i);
    for (int64_t j = 0; j < g.d.cols; ++j) {
      auto wrong = judge.element_at(i, j, product);
      if (!wrong) continue;
      if (c.type.grouped) *wrong = "group " + std::to_string(index) + ": " + *wrong;
      return wrong;
    }
  }
  return std::nullopt;
}

std::optional<std::string> check_surroundings(const Case& c, const Bytes& before, const Bytes& after) {
  // What the memory should hold: as before, but for D's elements.
  Bytes expected = before;
  const std::size_t size = size_of(c.type.d);
  for (const Group& g : c.groups)
    for (int64_t i = 0; i < g.d.rows; ++i)
      for (int64_t j = 0; g.d.has(i) && j < g.d.cols; ++j) {
        const std::size_t at = static_cast<std::size_t>(g.d.at(i, j)) * size;
        std::memcpy(&expected[at], &after[at], size);
      }
  if (expected == after) return std::nullopt;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (expected[i] != after[i])
      return "byte " + std::to_string(i) + " of D's memory lies outside D's elements and was changed from " + std::to_string(before[i]) + " to " +
             std::to_string(after[i]);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_result(const Case& c, const Images& before, const Bytes& d_after, const CheckOptions& options) {
  const double work = std::max(c.work(), 1.0);
  for (std::size_t g = 0; g < c.groups.size(); ++g)
    if (auto wrong = check_elements(c, g, before, d_after, options, work)) return wrong;
  return check_surroundings(c, before[slot_d], d_after);
}

}  // namespace ggemm::tests
