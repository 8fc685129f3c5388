// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "formats.hpp"

namespace ggemm::tests {
namespace {

using std::int64_t;

// Draws the elements of one operand.
class Filler {
 public:
  Filler(const Case& c, ggemm_dtype dtype, double scale, std::uint64_t salt) : c_(c), rng_(mix(c.data_seed, salt)), dtype_(dtype), scale_(scale) {
    special_ = c.values == Values::special ? rng_.pick({0.001, 0.01}) : 0.0;
  }
  double product_operand() {  // of A and B
    if (c_.values == Values::full_i8) return static_cast<double>(rng_.between(-128, 127));
    if (c_.values == Values::small) return static_cast<double>(rng_.between(c_.low, c_.high));
    return real();
  }
  double scale() {
    // Products of two are from a quarter to four, or the other way about.
    if (c_.values == Values::small || c_.values == Values::full_i8) return rng_.pick({0.5, 1.0, 2.0}) * (rng_.chance(0.1) ? -1 : 1);
    if (special_ > 0 && rng_.chance(special_)) return rng_.chance(0.5) ? 0.0 : std::numeric_limits<double>::quiet_NaN();
    return (0.25 + 1.75 * rng_.unit()) * (rng_.chance(0.1) ? -1 : 1);
  }
  double addend() {  // of C and bias
    if (c_.values == Values::full_i8 && c_.type.epilogue_i32()) return static_cast<double>(rng_.between(INT32_MIN, INT32_MAX));
    if (c_.values == Values::small || c_.values == Values::full_i8) return static_cast<double>(rng_.between(-8, 8));
    return real();
  }

 private:
  double real() {
    if (special_ > 0 && rng_.chance(special_)) return special();
    if (is_integer(dtype_)) return static_cast<double>(rng_.between(-100, 100));
    return scale_ * rng_.normal();
  }
  double special() {
    const double huge = c_.type.sums_f64() ? 0x1p500 : 0x1p60, sign = rng_.chance(0.5) ? 1 : -1;
    switch (rng_.below(5)) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return sign * std::numeric_limits<double>::infinity();
      // tf32 has denormals of its own, which f32's round to 0: those are no exact matter.
      case 2:
        return sign * (c_.type.compute == GGEMM_COMPUTE_TF32 ? 0x1p-120 : smallest_denormal(dtype_) * static_cast<double>(rng_.between(1, 3)));
      case 3:
        return sign * std::min(largest(dtype_), huge);
      default:
        return sign * 0.0;
    }
  }
  const Case& c_;
  Rng rng_;
  ggemm_dtype dtype_;
  double scale_, special_;
};

int64_t bytes_for(const Case& c, View Group::* member, ggemm_dtype dtype, int64_t tail) {
  int64_t end = 0;
  for (const Group& g : c.groups)
    if (!(g.*member).empty()) end = std::max(end, (g.*member).offset + extent(g.*member).high);
  return (end > 0 ? end + tail : 0) * static_cast<int64_t>(size_of(dtype));
}

template <class Draw>
void fill_view(Bytes& image, const View& view, ggemm_dtype dtype, Draw draw) {
  const int64_t size = static_cast<int64_t>(size_of(dtype));
  for (int64_t i = 0; i < view.rows; ++i)
    for (int64_t j = 0; j < view.cols; ++j) encode(dtype, draw(), image.data() + view.at(i, j) * size);
}

void put(Bytes& image, std::size_t at, ggemm_source_kind kind, int64_t value) {
  const std::int32_t narrow = static_cast<std::int32_t>(value);
  if (kind == GGEMM_SOURCE_I32)
    std::memcpy(image.data() + at, &narrow, 4);
  else
    std::memcpy(image.data() + at, &value, 8);
}

int64_t first_byte(const Given& given, std::size_t groups) {
  return given.byte_stride < 0 ? -given.byte_stride * static_cast<int64_t>(groups - 1) : 0;
}

template <class Value>
void put_array(Bytes& image, const Case& c, const Given& given, Value value) {
  if (given.kind == GGEMM_SOURCE_CONST || c.groups.empty()) return;
  const int64_t size = given.kind == GGEMM_SOURCE_I32 ? 4 : 8, step = given.byte_stride, count = static_cast<int64_t>(c.groups.size());
  image.assign(static_cast<std::size_t>((step < 0 ? -step : step) * (count - 1) + size), 0xff);
  for (int64_t g = 0; g < count; ++g)
    put(image, static_cast<std::size_t>(first_byte(given, c.groups.size()) + g * step), given.kind, value(c.groups[static_cast<std::size_t>(g)]));
}

void put_pointers(Bytes& image, const Case& c, char* base, ggemm_dtype dtype, View Group::* member) {
  image.resize(8 * c.groups.size());
  for (std::size_t g = 0; g < c.groups.size(); ++g) {
    const View& view = c.groups[g].*member;
    // An empty operand's address is never followed: NULL, or one that nothing lies at.
    char* address =
        view.empty() || !base ? (g % 2 ? nullptr : reinterpret_cast<char*>(0x10000)) : base + view.offset * static_cast<int64_t>(size_of(dtype));
    std::memcpy(image.data() + 8 * g, &address, 8);
  }
}

struct StrideSlots {
  SlotName rows, cols;
  const GivenMatrix& given;
  View Group::* view;
};
std::array<StrideSlots, 6> stride_slots(const Case& c) {
  return {{{slot_a_rows, slot_a_cols, c.given_a, &Group::a},
           {slot_b_rows, slot_b_cols, c.given_b, &Group::b},
           {slot_c_rows, slot_c_cols, c.given_c, &Group::c},
           {slot_d_rows, slot_d_cols, c.given_d, &Group::d},
           {slot_scale_a_rows, slot_scale_a_cols, c.given_scale_a, &Group::scale_a},
           {slot_scale_b_rows, slot_scale_b_cols, c.given_scale_b, &Group::scale_b}}};
}

std::uint64_t scalar_bits(ggemm_dtype dtype, double value) {
  std::uint64_t bits = 0;
  encode(dtype, value, &bits);
  return bits;
}

ggemm_source source(const Case& c, const Given& given, char* at, int64_t value) {
  if (given.packed) return ggemm_const(GGEMM_PACKED);
  if (given.kind == GGEMM_SOURCE_CONST) return ggemm_const(value);
  if (c.groups.empty()) at = reinterpret_cast<char*>(64);
  at += first_byte(given, std::max<std::size_t>(c.groups.size(), 1));
  return given.kind == GGEMM_SOURCE_I32 ? ggemm_i32_at(at, given.byte_stride) : ggemm_i64_at(at, given.byte_stride);
}

void describe_grouped(const Case& c, const Addresses& at, ggemm_grouped_desc& d) {
  const Group empty{}, &first = c.groups.empty() ? empty : c.groups[0];
  d.groups = static_cast<int64_t>(c.groups.size());
  d.m = source(c, c.given_m, at[slot_m], first.m);
  d.n = source(c, c.given_n, at[slot_n], first.n);
  d.k = source(c, c.given_k, at[slot_k], first.k);
  const auto slots = stride_slots(c);
  const auto strides = [&](auto& matrix, std::size_t i) {
    const View view = c.groups.empty() ? View{0, 0, 1, 1, 0} : first.*slots[i].view;
    matrix.row_stride = source(c, slots[i].given.row_stride, at[slots[i].rows], view.row_stride);
    matrix.col_stride = source(c, slots[i].given.col_stride, at[slots[i].cols], view.col_stride);
  };
  strides(d.a, 0), strides(d.b, 1), strides(d.c, 2), strides(d.d, 3);
  if (c.type.scale_a) strides(d.scale_a, 4);
  if (c.type.scale_b) strides(d.scale_b, 5);
  if (c.type.scale_a == GGEMM_SCALE_TENSOR) d.scale_a.col_stride = ggemm_const(GGEMM_PACKED);
  if (c.type.scale_b == GGEMM_SCALE_TENSOR) d.scale_b.col_stride = ggemm_const(GGEMM_PACKED);
  d.expected_m = c.expected_m, d.expected_n = c.expected_n, d.expected_k = c.expected_k;
}

template <class Desc>
void describe_type(const CaseType& t, bool scalars_on_device, Desc& d) {
  d.a.dtype = t.a, d.b.dtype = t.b, d.c.dtype = t.c, d.d.dtype = t.d;
  d.compute = t.compute;
  d.epilogue.activation = t.activation;
  d.epilogue.bias = t.bias;
  d.epilogue.bias_dtype = t.bias_dtype;
  d.epilogue.activation_p0 = t.p0;
  d.epilogue.activation_p1 = t.p1;
  d.epilogue.scalars_on_device = scalars_on_device;
  d.epilogue.gate = t.gate;
  d.scale_a.kind = t.scale_a, d.scale_b.kind = t.scale_b;
}

void describe_plain(const Case& c, ggemm_gemm_desc& d) {
  const Group& g = c.groups[0];
  d.m = c.described_m, d.n = c.described_n, d.k = c.described_k;
  const auto matrix = [](auto& out, const View& view, bool packed) {
    if (!packed) out.row_stride = view.row_stride, out.col_stride = view.col_stride;
  };
  matrix(d.a, g.a, c.packed_a);
  matrix(d.b, g.b, c.packed_b);
  matrix(d.c, g.c, c.packed_c);
  matrix(d.d, g.d, c.packed_d);
  matrix(d.scale_a, g.scale_a, c.packed_scale_a);
  matrix(d.scale_b, g.scale_b, c.packed_scale_b);
}

Addresses placeholders() {
  Addresses at;
  at.fill(reinterpret_cast<char*>(0x10000));
  return at;
}

}  // namespace

Images make_images(const Case& c) {
  const CaseType& t = c.type;
  Images images;
  const int64_t tail = c.placement == Placement::free ? 67 : 0;
  images[slot_a].assign(static_cast<std::size_t>(bytes_for(c, &Group::a, t.a, tail)), 0xff);
  images[slot_b].assign(static_cast<std::size_t>(bytes_for(c, &Group::b, t.b, tail)), 0xff);
  images[slot_d].resize(static_cast<std::size_t>(bytes_for(c, &Group::d, t.d, tail)));
  Rng noise(mix(c.data_seed, 5));
  for (std::size_t at = 0; at < images[slot_d].size(); at += 8) {
    const std::uint64_t word = noise.next();
    std::memcpy(&images[slot_d][at], &word, std::min<std::size_t>(8, images[slot_d].size() - at));
  }
  Filler a(c, t.a, c.spread_a, 1), b(c, t.b, c.spread_b, 2), addend(c, t.c_dtype(), 1, 3), bias(c, t.bias_type(), 1, 4);
  for (const Group& g : c.groups) {
    fill_view(images[slot_a], g.a, t.a, [&] { return a.product_operand(); });
    fill_view(images[slot_b], g.b, t.b, [&] { return b.product_operand(); });
    if (c.use_of_c == UseOfC::same_as_d) fill_view(images[slot_d], g.d, t.d, [&] { return addend.addend(); });
  }
  if (c.use_of_c == UseOfC::apart) {
    images[slot_c].assign(static_cast<std::size_t>(bytes_for(c, &Group::c, t.c_dtype(), tail)), 0xff);
    // Where beta is 0, C stays NaN throughout: it must not be read into the result.
    if (c.beta != 0)
      for (const Group& g : c.groups) fill_view(images[slot_c], g.c, t.c_dtype(), [&] { return addend.addend(); });
  }
  Filler scale_a(c, GGEMM_F32, 1, 6), scale_b(c, GGEMM_F32, 1, 7);
  images[slot_scale_a].assign(static_cast<std::size_t>(bytes_for(c, &Group::scale_a, GGEMM_F32, tail)), 0xff);
  images[slot_scale_b].assign(static_cast<std::size_t>(bytes_for(c, &Group::scale_b, GGEMM_F32, tail)), 0xff);
  for (const Group& g : c.groups) {
    fill_view(images[slot_scale_a], g.scale_a, GGEMM_F32, [&] { return scale_a.scale(); });
    fill_view(images[slot_scale_b], g.scale_b, GGEMM_F32, [&] { return scale_b.scale(); });
  }
  if (t.bias) {
    const std::size_t size = size_of(t.bias_type());
    for (const Group& g : c.groups) {
      if (g.m <= 0 || g.n <= 0) continue;
      const int64_t length = t.bias == GGEMM_BIAS_PER_ROW ? g.m : g.n;
      images[slot_bias].resize(std::max(images[slot_bias].size(), static_cast<std::size_t>(g.bias + length) * size), 0xff);
      for (int64_t i = 0; i < length; ++i)
        encode(t.bias_type(), bias.addend(), images[slot_bias].data() + static_cast<std::size_t>(g.bias + i) * size);
    }
  }
  return images;
}

void add_metadata(const Case& c, const Addresses& data, Images& images) {
  const ggemm_dtype scalar = c.type.scalar();
  const auto scalar_image = [&](SlotName slot, bool given, double value) {
    if (!given || !c.scalars_on_device) return;
    images[slot].resize(size_of(scalar));
    encode(scalar, value, images[slot].data());
  };
  scalar_image(slot_alpha, c.alpha_given, c.alpha);
  scalar_image(slot_beta, c.beta_given, c.beta);
  if (!c.type.grouped) return;
  put_array(images[slot_m], c, c.given_m, [](const Group& g) { return g.m; });
  put_array(images[slot_n], c, c.given_n, [](const Group& g) { return g.n; });
  put_array(images[slot_k], c, c.given_k, [](const Group& g) { return g.k; });
  for (const StrideSlots& s : stride_slots(c)) {
    put_array(images[s.rows], c, s.given.row_stride, [&](const Group& g) { return (g.*s.view).row_stride; });
    put_array(images[s.cols], c, s.given.col_stride, [&](const Group& g) { return (g.*s.view).col_stride; });
  }
  put_pointers(images[slot_a_pointers], c, data[slot_a], c.type.a, &Group::a);
  put_pointers(images[slot_b_pointers], c, data[slot_b], c.type.b, &Group::b);
  put_pointers(images[slot_d_pointers], c, data[slot_d], c.type.d, &Group::d);
  if (c.use_of_c == UseOfC::apart) put_pointers(images[slot_c_pointers], c, data[slot_c], c.type.c_dtype(), &Group::c);
  if (c.type.scale_a > GGEMM_SCALE_TENSOR) put_pointers(images[slot_scale_a_pointers], c, data[slot_scale_a], GGEMM_F32, &Group::scale_a);
  if (c.type.scale_b > GGEMM_SCALE_TENSOR) put_pointers(images[slot_scale_b_pointers], c, data[slot_scale_b], GGEMM_F32, &Group::scale_b);
  if (c.type.bias) {
    images[slot_bias_pointers].resize(8 * c.groups.size());
    for (std::size_t g = 0; g < c.groups.size(); ++g) {
      char* address =
          c.groups[g].m > 0 && c.groups[g].n > 0 ? data[slot_bias] + c.groups[g].bias * static_cast<int64_t>(size_of(c.type.bias_type())) : nullptr;
      std::memcpy(images[slot_bias_pointers].data() + 8 * g, &address, 8);
    }
  }
}

void describe(const Case& c, Call& call) {
  call.is_grouped = c.type.grouped;
  if (c.type.grouped) {
    describe_type(c.type, c.scalars_on_device, call.grouped);
    describe_grouped(c, placeholders(), call.grouped);
  } else {
    describe_type(c.type, c.scalars_on_device, call.gemm);
    describe_plain(c, call.gemm);
  }
}

void bind_call(const Case& c, const Addresses& at, Call& call) {
  describe(c, call);
  const ggemm_dtype scalar = c.type.scalar();
  call.scalar_bits[0] = scalar_bits(scalar, c.alpha);
  call.scalar_bits[1] = scalar_bits(scalar, c.beta);
  const void* alpha = !c.alpha_given ? nullptr : c.scalars_on_device ? static_cast<const void*>(at[slot_alpha]) : &call.scalar_bits[0];
  const void* beta = !c.beta_given ? nullptr : c.scalars_on_device ? static_cast<const void*>(at[slot_beta]) : &call.scalar_bits[1];
  if (c.type.grouped) {
    describe_grouped(c, at, call.grouped);
    ggemm_grouped_args& x = call.grouped_args;
    x.a = at[slot_a_pointers], x.b = at[slot_b_pointers], x.d = at[slot_d_pointers], x.bias = at[slot_bias_pointers];
    x.c = c.use_of_c == UseOfC::same_as_d ? at[slot_d_pointers] : at[slot_c_pointers];
    x.alpha = alpha, x.beta = beta;
    // The numbers of tensors begin at group 0's, whether or not it is empty.
    const auto scales = [&](ggemm_scale_kind kind, SlotName numbers, SlotName pointers, View Group::* view) -> const void* {
      if (kind != GGEMM_SCALE_TENSOR) return at[pointers];
      char* const base = at[numbers] ? at[numbers] : reinterpret_cast<char*>(0x10000);
      return c.groups.empty() ? base : base + (c.groups[0].*view).offset * 4;
    };
    x.scale_a = scales(c.type.scale_a, slot_scale_a, slot_scale_a_pointers, &Group::scale_a);
    x.scale_b = scales(c.type.scale_b, slot_scale_b, slot_scale_b_pointers, &Group::scale_b);
    return;
  }
  const Group& g = c.groups[0];
  const auto address = [](char* base, const View& view, ggemm_dtype dtype) {
    return base ? base + view.offset * static_cast<int64_t>(size_of(dtype)) : nullptr;
  };
  ggemm_gemm_args& x = call.gemm_args;
  x.a = address(at[slot_a], g.a, c.type.a);
  x.b = address(at[slot_b], g.b, c.type.b);
  x.d = address(at[slot_d], g.d, c.type.d);
  x.c = c.use_of_c == UseOfC::same_as_d ? x.d : address(at[slot_c], g.c, c.type.c_dtype());
  x.bias = at[slot_bias] ? at[slot_bias] + g.bias * static_cast<int64_t>(size_of(c.type.bias_type())) : nullptr;
  x.alpha = alpha, x.beta = beta;
  x.scale_a = address(at[slot_scale_a], g.scale_a, GGEMM_F32);
  x.scale_b = address(at[slot_scale_b], g.scale_b, GGEMM_F32);
  if (c.described_otherwise) x.m = g.m, x.n = g.n, x.k = g.k;
}

}  // namespace ggemm::tests
