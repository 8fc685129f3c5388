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
      // tf32 has denormals of its own, which f32's round to 0, and so have terms of f32: those are no exact matter.
      case 2:
        return sign * (c_.type.compute == GGEMM_COMPUTE_TF32 || c_.type.compute == GGEMM_COMPUTE_F32_ACCURATE ? 0x1p-120 : smallest_denormal(dtype_) * static_cast<double>(rng_.between(1, 3)));
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

int64_t bytes_for(const Case& c, View Group::* member, const GivenMatrix& given, ggemm_dtype dtype, int64_t tail) {
  int64_t end = given.end;
  for (const Group& g : c.groups)
    if (!(g.*member).empty() && !(g.*member).index) end = std::max(end, (g.*member).offset + extent(g.*member).high);
  return (end > 0 ? end + tail : 0) * static_cast<int64_t>(size_of(dtype));
}

template <class Draw>
void fill_view(Bytes& image, const View& view, ggemm_dtype dtype, Draw draw) {
  const int64_t size = static_cast<int64_t>(size_of(dtype));
  for (int64_t i = 0; i < view.rows; ++i)
    for (int64_t j = 0; view.has(i) && j < view.cols; ++j) encode(dtype, draw(), image.data() + view.at(i, j) * size);
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

void put_array(Bytes& image, const Given& given, const std::vector<int64_t>& numbers) {
  if (given.kind == GGEMM_SOURCE_CONST || numbers.empty()) return;
  const int64_t size = given.kind == GGEMM_SOURCE_I32 ? 4 : 8, step = given.byte_stride, count = static_cast<int64_t>(numbers.size());
  image.assign(static_cast<std::size_t>((step < 0 ? -step : step) * (count - 1) + size), 0xff);
  for (int64_t g = 0; g < count; ++g)
    put(image, static_cast<std::size_t>(first_byte(given, numbers.size()) + g * step), given.kind, numbers[static_cast<std::size_t>(g)]);
}

void put_index(Bytes& image, const GivenIndex& index) { put_array(image, index.given, index.numbers); }

// A ragged size as its ends, a masked one as its count, any other as itself.
std::vector<int64_t> numbers_of(const Case& c, int64_t Group::* size, ggemm_grouped_form ragged) {
  std::vector<int64_t> out;
  int64_t sum = 0;
  for (const Group& g : c.groups) {
    sum += g.*size;
    const bool full = c.form == GGEMM_GROUPS_MASKED && ragged == GGEMM_GROUPS_RAGGED_M && g.m == c.stored_m;
    out.push_back(c.form == ragged ? sum : g.*size + (full && c.beyond ? 7 : 0));
  }
  if (c.form == ragged && c.beyond && !out.empty()) out.back() += 5;
  return out;
}

// A scalar of each group, or the one of all.
void put_scalars(Bytes& image, const Case& c, int64_t byte_stride, double one, double Group::* own) {
  const ggemm_dtype scalar = c.type.scalar();
  const int64_t size = static_cast<int64_t>(size_of(scalar)), count = byte_stride ? static_cast<int64_t>(c.groups.size()) : 1;
  image.assign(static_cast<std::size_t>(std::abs(byte_stride) * std::max<int64_t>(count - 1, 0) + size), 0xff);
  for (int64_t g = 0; g < count; ++g) {
    const int64_t at = byte_stride < 0 ? -byte_stride * (count - 1 - g) : byte_stride * g;
    encode(scalar, byte_stride ? c.groups[static_cast<std::size_t>(g)].*own : one, image.data() + at);
  }
}

// Nothing lies there, and nothing may be looked for.
char* const nowhere = reinterpret_cast<char*>(0x10000);

void put_pointers(Bytes& image, const Case& c, char* base, ggemm_dtype dtype, View Group::* member, const GivenMatrix& given) {
  if (!given.pointers) return;
  image.resize(8 * c.groups.size());
  for (std::size_t g = 0; g < c.groups.size(); ++g) {
    const View& view = c.groups[g].*member;
    // An empty operand's address is never followed: NULL, or one that nothing lies at.
    char* address =
        view.empty() || !base ? (g % 2 ? nullptr : nowhere) : base + view.offset * static_cast<int64_t>(size_of(dtype));
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

int64_t first_scalar(const Case& c, int64_t byte_stride) { return byte_stride < 0 && !c.groups.empty() ? -byte_stride * static_cast<int64_t>(c.groups.size() - 1) : 0; }

const void* matrix_address(const GivenMatrix& given, const Addresses& at, SlotName pointers, SlotName data, ggemm_dtype dtype) {
  if (given.pointers) return at[pointers];
  return at[data] ? at[data] + given.base * static_cast<int64_t>(size_of(dtype)) : nowhere + 256 * data;  // not the same for two
}

ggemm_source source(const Case& c, const Given& given, char* at, int64_t value) {
  if (given.packed) return ggemm_const(GGEMM_PACKED);
  if (given.kind == GGEMM_SOURCE_CONST) return ggemm_const(value);
  if (c.groups.empty()) at = reinterpret_cast<char*>(64);
  at += first_byte(given, std::max<std::size_t>(c.groups.size(), 1));
  return given.kind == GGEMM_SOURCE_I32 ? ggemm_i32_at(at, given.byte_stride) : ggemm_i64_at(at, given.byte_stride);
}

// The index of rows; a constant 0 if there is none.
ggemm_source index_source(const GivenIndex& index, char* at) {
  if (index.given.kind == GGEMM_SOURCE_CONST) return ggemm_const(0);
  at = (index.numbers.empty() ? nowhere : at) + first_byte(index.given, std::max<std::size_t>(index.numbers.size(), 1));
  return index.given.kind == GGEMM_SOURCE_I32 ? ggemm_i32_at(at, index.given.byte_stride) : ggemm_i64_at(at, index.given.byte_stride);
}

void describe_sizes(const Case& c, const Addresses& at, const Group& first, ggemm_grouped_desc& d) {
  const bool ragged_m = c.form == GGEMM_GROUPS_RAGGED_M, ragged_k = c.form == GGEMM_GROUPS_RAGGED_K, masked = c.form == GGEMM_GROUPS_MASKED;
  const ggemm_source m = source(c, c.given_m, at[slot_m], first.m), k = source(c, c.given_k, at[slot_k], first.k);
  d.groups = static_cast<int64_t>(c.groups.size());
  d.form = c.form;
  d.m = ragged_m || masked ? ggemm_const(c.stored_m) : m;
  d.n = source(c, c.given_n, at[slot_n], first.n);
  d.k = ragged_k ? ggemm_const(c.stored_k) : k;
  if (ragged_m) d.ends = m;
  if (ragged_k) d.ends = k;
  if (masked) d.counts = m;
  d.expected_m = c.expected_m, d.expected_n = c.expected_n, d.expected_k = c.expected_k;
}

void describe_grouped(const Case& c, const Addresses& at, ggemm_grouped_desc& d) {
  const Group empty{}, &first = c.groups.empty() ? empty : c.groups[0];
  describe_sizes(c, at, first, d);
  const auto slots = stride_slots(c);
  const auto place = [&](auto& matrix, std::size_t i, bool by_form) {
    const GivenMatrix& given = slots[i].given;
    const View view = c.groups.empty() ? View{0, 0, 1, 1, 0} : first.*slots[i].view;
    matrix.row_stride = source(c, given.row_stride, at[slots[i].rows], view.row_stride);
    matrix.col_stride = source(c, given.col_stride, at[slots[i].cols], view.col_stride);
    matrix.pointers = given.pointers && !by_form;
    matrix.group_stride = given.packed_groups ? GGEMM_PACKED : given.group_stride;
  };
  const bool by_form = c.form == GGEMM_GROUPS_POINTERS;
  place(d.a, 0, by_form), place(d.b, 1, by_form), place(d.c, 2, by_form), place(d.d, 3, by_form);
  if (c.type.scale_a) place(d.scale_a, 4, by_form && c.type.scale_a != GGEMM_SCALE_TENSOR);
  if (c.type.scale_b) place(d.scale_b, 5, by_form && c.type.scale_b != GGEMM_SCALE_TENSOR);
  d.a_index = index_source(c.given_a_index, at[slot_a_index]), d.a_rows = c.given_a_index.rows;
  d.d_index = index_source(c.given_d_index, at[slot_d_index]), d.d_rows = c.given_d_index.rows;
  d.d_index_unique = c.type.scatter && !c.type.meet;
  d.checked = c.checked;
  d.bias_pointers = c.given_bias.pointers && c.form != GGEMM_GROUPS_POINTERS;
  d.bias_group_stride = c.given_bias.packed_groups ? GGEMM_PACKED : c.given_bias.pointers ? 0 : c.given_bias.group_stride;
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
  images[slot_a].assign(static_cast<std::size_t>(bytes_for(c, &Group::a, c.given_a, t.a, tail)), 0xff);
  images[slot_b].assign(static_cast<std::size_t>(bytes_for(c, &Group::b, c.given_b, t.b, tail)), 0xff);
  images[slot_d].resize(static_cast<std::size_t>(bytes_for(c, &Group::d, c.given_d, t.d, tail)));
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
    images[slot_c].assign(static_cast<std::size_t>(bytes_for(c, &Group::c, c.given_c, t.c_dtype(), tail)), 0xff);
    // Where beta is 0, C stays NaN throughout: it must not be read into the result.
    for (const Group& g : c.groups)
      if (c.beta_of(g) != 0) fill_view(images[slot_c], g.c, t.c_dtype(), [&] { return addend.addend(); });
  }
  Filler scale_a(c, GGEMM_F32, 1, 6), scale_b(c, GGEMM_F32, 1, 7);
  images[slot_scale_a].assign(static_cast<std::size_t>(bytes_for(c, &Group::scale_a, c.given_scale_a, GGEMM_F32, tail)), 0xff);
  images[slot_scale_b].assign(static_cast<std::size_t>(bytes_for(c, &Group::scale_b, c.given_scale_b, GGEMM_F32, tail)), 0xff);
  for (const Group& g : c.groups) {
    fill_view(images[slot_scale_a], g.scale_a, GGEMM_F32, [&] { return scale_a.scale(); });
    fill_view(images[slot_scale_b], g.scale_b, GGEMM_F32, [&] { return scale_b.scale(); });
  }
  if (t.bias) {
    const std::size_t size = size_of(t.bias_type());
    images[slot_bias].assign(static_cast<std::size_t>(c.given_bias.end) * size, 0xff);
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
  if (c.alpha_given && c.scalars_on_device) put_scalars(images[slot_alpha], c, c.alpha_byte_stride, c.alpha, &Group::alpha);
  if (c.beta_given && c.scalars_on_device) put_scalars(images[slot_beta], c, c.beta_byte_stride, c.beta, &Group::beta);
  if (!c.type.grouped) return;
  put_array(images[slot_m], c.given_m, numbers_of(c, &Group::m, GGEMM_GROUPS_RAGGED_M));
  put_array(images[slot_n], c.given_n, numbers_of(c, &Group::n, GGEMM_GROUPED_FORM_FORCE32));
  put_array(images[slot_k], c.given_k, numbers_of(c, &Group::k, GGEMM_GROUPS_RAGGED_K));
  for (const StrideSlots& s : stride_slots(c)) {
    std::vector<int64_t> rows, cols;
    for (const Group& g : c.groups) rows.push_back((g.*s.view).row_stride), cols.push_back((g.*s.view).col_stride);
    put_array(images[s.rows], s.given.row_stride, rows);
    put_array(images[s.cols], s.given.col_stride, cols);
  }
  put_pointers(images[slot_a_pointers], c, data[slot_a], c.type.a, &Group::a, c.given_a);
  put_pointers(images[slot_b_pointers], c, data[slot_b], c.type.b, &Group::b, c.given_b);
  put_pointers(images[slot_d_pointers], c, data[slot_d], c.type.d, &Group::d, c.given_d);
  if (c.use_of_c == UseOfC::apart) put_pointers(images[slot_c_pointers], c, data[slot_c], c.type.c_dtype(), &Group::c, c.given_c);
  put_index(images[slot_a_index], c.given_a_index);
  put_index(images[slot_d_index], c.given_d_index);
  images[slot_weights].resize(4 * c.row_weights.size());
  if (!c.row_weights.empty()) std::memcpy(images[slot_weights].data(), c.row_weights.data(), images[slot_weights].size());
  images[slot_status].assign(c.checked ? 16 : 0, 0x77);
  if (c.type.scale_a) put_pointers(images[slot_scale_a_pointers], c, data[slot_scale_a], GGEMM_F32, &Group::scale_a, c.given_scale_a);
  if (c.type.scale_b) put_pointers(images[slot_scale_b_pointers], c, data[slot_scale_b], GGEMM_F32, &Group::scale_b, c.given_scale_b);
  if (!c.type.bias || !c.given_bias.pointers) return;
  images[slot_bias_pointers].resize(8 * c.groups.size());
  for (std::size_t g = 0; g < c.groups.size(); ++g) {
    char* address = c.groups[g].m > 0 && c.groups[g].n > 0 ? data[slot_bias] + c.groups[g].bias * static_cast<int64_t>(size_of(c.type.bias_type())) : nullptr;
    std::memcpy(images[slot_bias_pointers].data() + 8 * g, &address, 8);
  }
}

void describe(const Case& c, Call& call) {
  call.is_grouped = c.type.grouped;
  if (c.type.grouped) {
    describe_type(c.type, c.scalars_on_device, call.grouped);
    call.grouped.max_ctas = c.max_ctas;
    describe_grouped(c, placeholders(), call.grouped);
  } else {
    describe_type(c.type, c.scalars_on_device, call.gemm);
    call.gemm.max_ctas = c.max_ctas;
    describe_plain(c, call.gemm);
  }
}

void bind_call(const Case& c, const Addresses& at, Call& call) {
  describe(c, call);
  const ggemm_dtype scalar = c.type.scalar();
  call.scalar_bits[0] = scalar_bits(scalar, c.alpha);
  call.scalar_bits[1] = scalar_bits(scalar, c.beta);
  const void* alpha = !c.alpha_given ? nullptr : c.scalars_on_device ? static_cast<const void*>(at[slot_alpha] + first_scalar(c, c.alpha_byte_stride)) : &call.scalar_bits[0];
  const void* beta = !c.beta_given ? nullptr : c.scalars_on_device ? static_cast<const void*>(at[slot_beta] + first_scalar(c, c.beta_byte_stride)) : &call.scalar_bits[1];
  if (c.type.grouped) {
    describe_grouped(c, at, call.grouped);
    ggemm_grouped_args& x = call.grouped_args;
    x.a = matrix_address(c.given_a, at, slot_a_pointers, slot_a, c.type.a);
    x.b = matrix_address(c.given_b, at, slot_b_pointers, slot_b, c.type.b);
    x.d = matrix_address(c.given_d, at, slot_d_pointers, slot_d, c.type.d);
    x.c = c.use_of_c == UseOfC::same_as_d ? x.d : c.use_of_c == UseOfC::none ? nullptr : matrix_address(c.given_c, at, slot_c_pointers, slot_c, c.type.c_dtype());
    if (c.type.bias) x.bias = c.given_bias.pointers ? at[slot_bias_pointers] : at[slot_bias] ? at[slot_bias] + c.given_bias.base * static_cast<int64_t>(size_of(c.type.bias_type())) : nowhere;
    x.row_weights = at[slot_weights];
    x.status = at[slot_status];
    x.alpha = alpha, x.beta = beta;
    x.alpha_byte_stride = alpha ? c.alpha_byte_stride : 0;
    x.beta_byte_stride = beta ? c.beta_byte_stride : 0;
    if (c.type.scale_a) x.scale_a = matrix_address(c.given_scale_a, at, slot_scale_a_pointers, slot_scale_a, GGEMM_F32);
    if (c.type.scale_b) x.scale_b = matrix_address(c.given_scale_b, at, slot_scale_b_pointers, slot_scale_b, GGEMM_F32);
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
