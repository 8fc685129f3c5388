// SPDX-License-Identifier: Apache-2.0
#include "formats.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace ggemm::tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// A binary float format of up to 16 bits, as a table of its values.
struct Small {
  int exponent_bits, mantissa_bits;
  bool has_infinity;  // false: only the all-ones code is NaN, and the rest of the top exponent is finite
  bool saturates;
  std::vector<double> values;  // of every code; the finite ones 0 .. largest_code ascend with it
  unsigned largest_code = 0;
  double overflow = 0;  // magnitudes from here on round past the largest finite value

  Small(int e, int m, bool infinite, bool saturating) : exponent_bits(e), mantissa_bits(m), has_infinity(infinite), saturates(saturating) {
    const unsigned codes = 1u << (e + m);
    const int bias = (1 << (e - 1)) - 1;
    values.resize(2 * codes);
    for (unsigned code = 0; code < codes; ++code) {
      const int exponent = static_cast<int>(code >> m);
      const unsigned mantissa = code & ((1u << m) - 1);
      const bool top = exponent == (1 << e) - 1;
      double v;
      if (infinite && top)
        v = mantissa ? not_a_number : infinity;
      else if (!infinite && code == codes - 1)
        v = not_a_number;
      else if (exponent == 0)
        v = std::ldexp(mantissa, 1 - bias - m);
      else
        v = std::ldexp((1u << m) + mantissa, exponent - bias - m);
      values[code] = v;
      values[code + codes] = std::isnan(v) ? v : -v;
      if (std::isfinite(v)) largest_code = code;
    }
    // Half a step above the largest value. The next code would be even where the format has an infinity, so a tie goes up; a saturating format does
    // not care.
    overflow = values[largest_code] + (values[largest_code] - values[largest_code - 1]) / 2;
  }

  unsigned encode(double value) const {
    const unsigned sign = std::signbit(value) ? static_cast<unsigned>(values.size() / 2) : 0;
    if (std::isnan(value)) {
      for (unsigned code = largest_code + 1;; ++code)
        if (std::isnan(values[code])) return code;
    }
    const double magnitude = std::fabs(value);
    if (magnitude >= overflow) return sign | (saturates ? largest_code : largest_code + 1);
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(magnitude);
    const int exponent = static_cast<int>(bits >> 52) - 1023 + (1 << (exponent_bits - 1)) - 1;
    const unsigned low = exponent > 0 ? static_cast<unsigned>(exponent) << mantissa_bits | (bits >> (52 - mantissa_bits) & ((1u << mantissa_bits) - 1)) : static_cast<unsigned>(magnitude / values[1]);
    if (low >= largest_code) return sign | largest_code;
    const unsigned high = low + 1;
    const double to_low = magnitude - values[low], to_high = values[high] - magnitude;
    if (to_low != to_high) return sign | (to_low < to_high ? low : high);
    return sign | (low % 2 == 0 ? low : high);
  }
};

const Small& small(ggemm_dtype dtype) {
  static const Small f16(5, 10, true, false), bf16(8, 7, true, false), e4m3(4, 3, false, true), e5m2(5, 2, true, true);
  return dtype == GGEMM_F16 ? f16 : dtype == GGEMM_BF16 ? bf16 : dtype == GGEMM_E4M3 ? e4m3 : e5m2;
}

template <class Integer>
Integer saturated(double value) {
  if (std::isnan(value)) return 0;
  const double whole = std::nearbyint(value);  // ties to even in the default rounding mode
  if (whole <= std::numeric_limits<Integer>::min()) return std::numeric_limits<Integer>::min();
  if (whole >= std::numeric_limits<Integer>::max()) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(whole);
}

template <class T>
T load(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store(void* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

constexpr const char* names[] = {"none", "f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i8", "i32"};

}  // namespace

std::size_t size_of(ggemm_dtype dtype) {
  switch (dtype) {
    case GGEMM_F64:
      return 8;
    case GGEMM_F32:
    case GGEMM_I32:
      return 4;
    case GGEMM_F16:
    case GGEMM_BF16:
      return 2;
    default:
      return 1;
  }
}

const char* name_of(ggemm_dtype dtype) { return names[dtype]; }

ggemm_dtype dtype_of(const char* name) {
  for (int i = 1; i < 9; ++i)
    if (!std::strcmp(name, names[i])) return static_cast<ggemm_dtype>(i);
  return GGEMM_DTYPE_NONE;
}

bool is_integer(ggemm_dtype dtype) { return dtype == GGEMM_I8 || dtype == GGEMM_I32; }

double decode(ggemm_dtype dtype, const void* element) {
  switch (dtype) {
    case GGEMM_F64:
      return load<double>(element);
    case GGEMM_F32:
      return load<float>(element);
    case GGEMM_I8:
      return load<std::int8_t>(element);
    case GGEMM_I32:
      return load<std::int32_t>(element);
    case GGEMM_F16:
    case GGEMM_BF16:
      return small(dtype).values[load<std::uint16_t>(element)];
    default:
      return small(dtype).values[load<std::uint8_t>(element)];
  }
}

void encode(ggemm_dtype dtype, double value, void* element) {
  switch (dtype) {
    case GGEMM_F64:
      store(element, value);
      break;
    case GGEMM_F32:
      // As the small formats have it, the NaN of the lowest code: what rounds to fewer bits must not make infinity of it.
      store(element, std::isnan(value) ? std::bit_cast<float>(std::uint32_t(0x7f800001)) : static_cast<float>(value));
      break;
    case GGEMM_I8:
      store(element, saturated<std::int8_t>(value));
      break;
    case GGEMM_I32:
      store(element, saturated<std::int32_t>(value));
      break;
    case GGEMM_F16:
    case GGEMM_BF16:
      store(element, static_cast<std::uint16_t>(small(dtype).encode(value)));
      break;
    default:
      store(element, static_cast<std::uint8_t>(small(dtype).encode(value)));
      break;
  }
}

double rounded(ggemm_dtype dtype, double value) {
  alignas(8) unsigned char element[8];
  encode(dtype, value, element);
  return decode(dtype, element);
}

double largest(ggemm_dtype dtype) {
  switch (dtype) {
    case GGEMM_F64:
      return std::numeric_limits<double>::max();
    case GGEMM_F32:
      return std::numeric_limits<float>::max();
    case GGEMM_I8:
      return 127;
    case GGEMM_I32:
      return 2147483647;
    default:
      return small(dtype).values[small(dtype).largest_code];
  }
}

double smallest_denormal(ggemm_dtype dtype) {
  switch (dtype) {
    case GGEMM_F64:
      return std::numeric_limits<double>::denorm_min();
    case GGEMM_F32:
      return std::numeric_limits<float>::denorm_min();
    case GGEMM_I8:
    case GGEMM_I32:
      return 1;
    default:
      return small(dtype).values[1];
  }
}

double smallest_normal(ggemm_dtype dtype) {
  switch (dtype) {
    case GGEMM_F64:
      return std::numeric_limits<double>::min();
    case GGEMM_F32:
    case GGEMM_BF16:
      return std::numeric_limits<float>::min();
    case GGEMM_F16:
    case GGEMM_E5M2:
      return 0x1p-14;
    case GGEMM_E4M3:
      return 0x1p-6;
    default:
      return 1;
  }
}

}  // namespace ggemm::tests
