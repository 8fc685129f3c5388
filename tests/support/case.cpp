// SPDX-License-Identifier: Apache-2.0
#include "case.hpp"

#include <algorithm>
#include <cmath>

#include "formats.hpp"

namespace ggemm::tests {
namespace {

using std::int64_t;

constexpr double most_elements = 1 << 19;  // of one operand, unless the case may be larger than most

// tile: 0, or the length whose multiples are worth meeting.
int64_t draw_dimension(Rng& rng, int64_t tile) {
  const double u = rng.unit();
  if (u < 0.03) return 0;
  if (u < 0.10) return 1;
  if (u < 0.28) return rng.between(2, 17);
  if (u < 0.58 && tile > 0) return tile * rng.pick<int64_t>({1, 1, 1, 2, 2, 3}) + rng.between(-1, 1);
  if (u < 0.58) return rng.pick<int64_t>({16, 32, 48, 64, 96, 128, 192, 256}) + rng.between(-1, 1);
  if (u < 0.75) return rng.pick<int64_t>({19, 31, 37, 53, 61, 67, 97, 101, 127, 131, 151, 193, 211, 251, 257, 307, 509, 521, 1021});
  if (u < 0.88) return 8 * rng.between(1, 40);
  return rng.between(1, 300);
}

ggemm_dtype draw_dtype(Rng& rng, bool input) { return static_cast<ggemm_dtype>(rng.between(GGEMM_F64, input ? GGEMM_I8 : GGEMM_I32)); }

// A number that the scalar's type holds exactly.
double representable(ggemm_dtype scalar, double value) { return scalar == GGEMM_F64 ? value : rounded(scalar, value); }

void draw_parameters(Case& c, Mode mode, Rng& rng) {
  const bool whole = mode != Mode::real || c.type.epilogue_i32();
  if (c.type.activation == GGEMM_ACTIVATION_LEAKY_RELU)
    c.type.p0 = whole ? std::ldexp(1, -static_cast<int>(rng.between(1, 6))) : rng.pick({0.01, 0.3, 1.5});
  if (c.type.activation == GGEMM_ACTIVATION_CLAMP) {
    c.type.p0 = whole ? static_cast<double>(rng.between(-20, 0)) : -1.5 * rng.unit();
    c.type.p1 = whole ? static_cast<double>(rng.between(0, 30)) : 2.25 * rng.unit();
  }
}

// Keeps alpha * sum + beta * c + bias below 2^24, where f32 counts every integer.
void draw_exact(Case& c, bool promoted, Rng& rng, int64_t longest) {
  c.values = Values::small;
  const double scales = c.type.scaled() ? 16 : 1;  // from a quarter to four: f32 then counts in quarters
  const double choice = rng.unit();
  if (choice < 0.25)
    c.low = 0;
  else if (choice < 0.35)
    c.low = 1;
  // Tensor cores may sum fp8 products in 14 bits (check.hpp): sums stay below 2^13, promoted ones those of a block, while a long k's need more.
  if (promoted && choice >= 0.85)
    c.low = 1, c.high = 6;
  else if (c.type.both_fp8() && !promoted && longest * 4 >= 1 << 13)
    c.low = std::max(c.low, -1), c.high = 1;
  c.alpha = c.alpha_given ? rng.pick({1.0, -1.0, 2.0, -3.0, 5.0, 64.0, 0.0}) : 1.0;
  c.beta = c.beta_given ? rng.pick({0.0, 1.0, -1.0, 2.0, 3.0}) : 0.0;
  if (c.type.sums_i32() && rng.chance(0.6)) {
    if (c.type.epilogue_i32()) {
      c.values = Values::full_i8;
      if (c.alpha_given && rng.chance(0.5)) c.alpha = static_cast<double>(rng.between(INT32_MIN, INT32_MAX));
      if (c.beta_given && rng.chance(0.5)) c.beta = static_cast<double>(rng.between(INT32_MIN, INT32_MAX));
    } else if (static_cast<double>(longest) * 16384 * std::max(1.0, std::fabs(c.alpha)) * scales + 100 < 0x1p24) {
      c.values = Values::full_i8;
    }
  }
  if (c.values == Values::small && static_cast<double>(longest) * c.high * c.high * std::fabs(c.alpha) * scales + 100 * scales >= 0x1p24) c.alpha = 1;
}

void draw_real(Case& c, Rng& rng) {
  const ggemm_dtype scalar = c.type.scalar();
  if (c.type.epilogue_i32()) {
    c.alpha = c.alpha_given ? static_cast<double>(rng.between(-1000, 1000)) : 1;
    c.beta = c.beta_given ? static_cast<double>(rng.between(-1000, 1000)) : 0;
  } else {
    c.alpha = c.alpha_given ? representable(scalar, rng.pick({1.0, -1.0, 0.5, 0.3, 1.7, -0.01})) : 1;
    c.beta = c.beta_given ? representable(scalar, rng.pick({0.0, 1.0, -1.0, 0.7, 2.0})) : 0;
  }
  if (c.type.sums_i32()) {
    c.values = c.type.epilogue_i32() ? Values::full_i8 : Values::normal;
    return;
  }
  c.values = rng.chance(0.3) ? Values::special : Values::normal;
  const auto wide = [](ggemm_dtype d) { return d == GGEMM_F64 || d == GGEMM_F32 || d == GGEMM_BF16; };
  c.spread_a = wide(c.type.a) ? rng.pick({1.0, 1e-3, 1e3}) : rng.pick({1.0, 0.25, 4.0});
  c.spread_b = wide(c.type.b) ? rng.pick({1.0, 1e-3, 1e3}) : rng.pick({1.0, 0.25, 4.0});
  // Denormals in A, brought back to visible sizes by B. Not under tf32, where rounding leaves them few bits.
  if (c.values == Values::special && c.type.compute == GGEMM_COMPUTE_DEFAULT && !is_integer(c.type.a) && rng.chance(0.25)) {
    c.values = Values::normal;
    c.spread_a = smallest_denormal(c.type.a) * 4;
    c.spread_b = c.type.b == GGEMM_F64 ? 0x1p400 : c.type.b == GGEMM_F32 || c.type.b == GGEMM_BF16 ? 0x1p60 : largest(c.type.b) / 16;
  }
}

// A scalar for each group, in device memory, now and then. They are as harmless as the one for all.
void draw_own_scalars(Case& c, Rng& rng) {
  if (!c.type.grouped || !c.scalars_on_device) return;
  const int64_t size = static_cast<int64_t>(size_of(c.type.scalar()));
  if (c.alpha_given && rng.chance(0.5)) c.alpha_byte_stride = size * rng.pick<int64_t>({1, 1, 2, 3, -1});
  if (c.beta_given && rng.chance(0.5)) c.beta_byte_stride = size * rng.pick<int64_t>({1, 1, 2, 3, -1});
  for (Group& g : c.groups) {
    g.alpha = rng.pick({c.alpha, 1.0, -1.0});
    g.beta = rng.pick({c.beta, 0.0, 1.0, -1.0});
  }
}

}  // namespace

double Case::work() const {
  double sum = 0;
  for (const Group& g : groups) sum += static_cast<double>(std::max<int64_t>(g.m, 0)) * std::max<int64_t>(g.n, 0) * std::max<int64_t>(g.k, 1);
  return sum;
}

bool takes_exact(const CaseType& type) {
  switch (type.activation) {
    case GGEMM_ACTIVATION_NONE:
    case GGEMM_ACTIVATION_RELU:
    case GGEMM_ACTIVATION_LEAKY_RELU:
    case GGEMM_ACTIVATION_CLAMP:
      return true;
    default:
      return false;
  }
}

void draw_scales(CaseType& t, Rng& rng) {
  const bool i8_by_blocks = t.both_i8() && t.scaled_by_blocks();
  t.scale_a = t.scale_b = GGEMM_SCALE_NONE;
  if (t.sums_f64() || (t.both_i8() && t.d == GGEMM_I32)) return;
  if (!i8_by_blocks && rng.chance(0.6)) return;
  const int most = t.both_i8() && !i8_by_blocks ? GGEMM_SCALE_VECTOR : GGEMM_SCALE_BLOCK_128X128;
  do {
    t.scale_a = static_cast<ggemm_scale_kind>(rng.between(GGEMM_SCALE_NONE, most));
    t.scale_b = static_cast<ggemm_scale_kind>(rng.between(GGEMM_SCALE_NONE, most));
  } while (i8_by_blocks && !t.scaled_by_blocks());
}

void draw_epilogue(CaseType& t, bool exact_only, Rng& rng) {
  const double v = rng.unit();
  t.d = v < 0.5 ? (t.sums_i32() ? GGEMM_I32 : t.a) : v < 0.65 ? GGEMM_F32 : draw_dtype(rng, false);
  while (t.both_i8() && t.scaled_by_blocks() && t.d == GGEMM_I32) t.d = draw_dtype(rng, false);  // which takes no scales
  t.bias = rng.chance(0.5) ? GGEMM_BIAS_NONE : rng.pick({GGEMM_BIAS_PER_COLUMN, GGEMM_BIAS_PER_ROW});
  if (t.both_fp8()) t.compute = rng.chance(0.3) ? GGEMM_COMPUTE_FP8_FAST : GGEMM_COMPUTE_DEFAULT;
  draw_scales(t, rng);
  const bool fixed = t.epilogue_i32();
  t.gate = fixed || rng.chance(0.8) ? GGEMM_GATE_NONE : rng.pick({GGEMM_GATE_HALVES, GGEMM_GATE_INTERLEAVED});
  if (rng.chance(0.4)) t.c = fixed ? GGEMM_I32 : draw_dtype(rng, false);
  if (t.bias && rng.chance(0.5)) t.bias_dtype = fixed ? GGEMM_I32 : draw_dtype(rng, false);
  if (!exact_only && !fixed && rng.chance(0.25))
    t.activation = static_cast<ggemm_activation>(rng.between(GGEMM_ACTIVATION_GELU, GGEMM_ACTIVATION_TANH));
  else
    t.activation =
        rng.pick({GGEMM_ACTIVATION_NONE, GGEMM_ACTIVATION_NONE, GGEMM_ACTIVATION_RELU, GGEMM_ACTIVATION_CLAMP, GGEMM_ACTIVATION_LEAKY_RELU});
  if (fixed && t.activation == GGEMM_ACTIVATION_LEAKY_RELU) t.activation = GGEMM_ACTIVATION_RELU;
  t.layout_d = rng.chance(0.55) ? 0 : rng.chance(0.75) ? 1 : 2;
}

Size draw_size(Rng& rng, const Drawing& drawing, double work) {
  const Size& tile = drawing.tile;
  Size s{draw_dimension(rng, tile.m), draw_dimension(rng, tile.n), rng.chance(0.12) ? rng.between(300, 4096) : draw_dimension(rng, tile.k)};
  if (rng.chance(0.1)) s.m = rng.between(300, 2000);
  if (rng.chance(0.1)) s.n = rng.between(300, 2000);
  const auto over = [&] {
    const double m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(std::max<int64_t>(s.k, 1));
    const double most = std::max(most_elements, work / 16);
    return m * n * k > work || m * n > most || m * k > most || n * k > most;
  };
  // Now the largest is halved, now a length becomes small: the others stay what they are, about a tile for instance.
  while (over()) {
    int64_t& largest_one = s.m >= s.n && s.m >= s.k ? s.m : s.n >= s.k ? s.n : s.k;
    if (tile.m > 0 && rng.chance(0.5))
      largest_one = std::min(largest_one, rng.between(1, 48));
    else
      largest_one = (largest_one + 1) / 2;
  }
  return s;
}

View draw_view(Rng& rng, int64_t rows, int64_t cols, std::size_t element, int layout, Strides strides) {
  View v{rows, cols, 0, 0, 0};
  if (layout == 1) {
    const View t = draw_view(rng, cols, rows, element, 0, strides);
    v.row_stride = t.col_stride;
    v.col_stride = t.row_stride == 1 ? 2 : t.row_stride;  // with two unit strides the library would see a row-major matrix
    return v;
  }
  if (layout == 0) {
    const int64_t vector = static_cast<int64_t>(16 / element), least = std::max<int64_t>(cols, 1);
    const double u = rng.unit();
    v.col_stride = 1;
    v.row_stride = cols;
    if (u < 0.25 || (strides.aligned && (u < 0.65 || cols % vector != 0)))
      v.row_stride = (least + vector - 1) / vector * vector + vector * rng.between(0, 2);
    else if (strides.aligned)
      v.row_stride = cols;
    else if (u < 0.50)
      v.row_stride = least + rng.between(1, 9);
    else if (u < 0.55)
      v.row_stride = 2 * least + rng.between(0, 3);
    else if (u < 0.60)
      v.row_stride = -(least + rng.between(0, 9));
    else if (u < 0.65 && strides.repeats)
      v.row_stride = 0;
    return v;
  }
  const bool rows_outside = rng.chance(0.5);
  const int64_t inner = rows * cols > 65536 ? 2 : rng.between(2, 3), inner_length = std::max<int64_t>(rows_outside ? cols : rows, 1);
  const int64_t outer = std::max<int64_t>(2, inner * (inner_length - 1) + 1 + rng.between(0, 5));
  v.row_stride = rows_outside ? outer : inner;
  v.col_stride = rows_outside ? inner : outer;
  if (rng.chance(0.2)) v.row_stride = -v.row_stride;
  if (rng.chance(0.2)) v.col_stride = -v.col_stride;
  if (strides.repeats && rng.chance(0.1)) v.row_stride = 0;
  if (strides.repeats && rng.chance(0.1)) v.col_stride = 0;
  return v;
}

int64_t scales_along(ggemm_scale_kind kind, int64_t size) {
  return kind == GGEMM_SCALE_VECTOR || kind == GGEMM_SCALE_BLOCK_1X128 ? size : kind == GGEMM_SCALE_BLOCK_128X128 ? (size + 127) / 128 : 1;
}
int64_t scales_deep(ggemm_scale_kind kind, int64_t k) { return kind >= GGEMM_SCALE_BLOCK_1X128 ? (k + 127) / 128 : 1; }
int64_t scale_of(ggemm_scale_kind kind, int64_t i) { return scales_along(kind, i + 1) - 1; }
int64_t scale_block_of(ggemm_scale_kind kind, int64_t k) { return scales_deep(kind, k + 1) - 1; }

Extent extent(const View& view) {
  if (view.empty()) return {0, 0};
  const int64_t down = (view.rows - 1) * view.row_stride, across = (view.cols - 1) * view.col_stride;
  return {std::min<int64_t>(down, 0) + std::min<int64_t>(across, 0), std::max<int64_t>(down, 0) + std::max<int64_t>(across, 0) + 1};
}

void place_views(Rng& rng, const std::vector<View*>& views, std::size_t element, const Case& c) {
  const int64_t vector = static_cast<int64_t>(16 / element);
  const auto gap = [&]() -> int64_t { return c.aligned || rng.chance(0.45) ? vector * rng.between(0, 4) : rng.between(0, 31); };
  int64_t end = c.placement == Placement::begins_at_guard ? 0 : gap();
  bool first = true;
  for (View* view : views) {
    const Extent e = extent(*view);
    if (!view->empty() && !first) end += gap();
    if (c.aligned) end = (end + vector - 1) / vector * vector;
    view->offset = end - e.low;
    end += e.high - e.low;
    first = first && view->empty();
  }
}

void draw_values(Case& c, const Drawing& drawing, Rng& rng) {
  const Mode mode = drawing.mode;
  const CaseType& t = c.type;
  c.data_seed = rng.next();
  c.alpha_given = rng.chance(0.7);
  c.beta_given = t.gate == GGEMM_GATE_NONE && !drawing.overwrites && rng.chance(0.6);
  c.scalars_on_device = rng.chance(0.35);
  c.through_plan = rng.chance(0.25);
  if (drawing.guarded) c.placement = rng.pick({Placement::ends_at_guard, Placement::ends_at_guard, Placement::begins_at_guard});
  int64_t longest = 1;
  for (const Group& g : c.groups) longest = std::max(longest, g.k);
  draw_parameters(c, mode, rng);
  if (mode == Mode::real)
    draw_real(c, rng);
  else
    draw_exact(c, drawing.promoted, rng, longest);
  if (drawing.forms) draw_own_scalars(c, rng);
  const bool may_share = t.c_dtype() == t.d;
  // beta in device memory is not known to the library before the launch, so that C must be there for it.
  const bool needs_c = c.beta != 0 || (c.beta_given && c.scalars_on_device);
  if (!needs_c)
    c.use_of_c = rng.chance(0.3) ? UseOfC::apart : UseOfC::none;
  else
    c.use_of_c = may_share && rng.chance(0.4) ? UseOfC::same_as_d : UseOfC::apart;
}

namespace {

Case finish_case(const Drawing& drawing, const CaseType& type, std::vector<Size> sizes, bool uniform, bool alike, Rng& rng) {
  Case c;
  c.type = type;
  c.aligned = drawing.aligned;
  c.uniform = (uniform || drawing.overwrites) && drawing.aligned && drawing.forms && type.grouped;
  c.alike = (alike || type.batch) && drawing.forms && type.grouped && !type.gather && !type.scatter && !sizes.empty();
  // Aligned operands can end at an unmapped page only if their lengths are aligned too.
  const bool whole = drawing.aligned && (drawing.overwrites || rng.chance(0.5));
  for (Size& s : sizes) {
    if (type.gate) s.n += s.n & 1;
    if (whole)
      for (int64_t* length : {&s.m, &s.n, &s.k})
        if (*length > 0) *length = (*length + 15) / 16 * 16;
    Group g;
    g.m = s.m, g.n = s.n, g.k = s.k;
    c.groups.push_back(g);
  }
  draw_values(c, drawing, rng);
  if (drawing.aligned && !whole && c.placement == Placement::ends_at_guard) c.placement = Placement::begins_at_guard;
  if (c.type.grouped && (drawing.forms || type.gather || type.scatter)) draw_form(c, rng, drawing.overwrites && rng.chance(0.3));
  if (!c.type.grouped)
    draw_plain(c, sizes[0], rng);
  else if (c.form == GGEMM_GROUPS_POINTERS)
    draw_grouped(c, rng);
  else
    draw_formed(c, rng);
  return c;
}

std::uint64_t stream_of(const Drawing& d) { return mix(d.seed, static_cast<std::uint64_t>(d.mode) * 2 + (d.grouped ? 1 : 0)); }

// By numbers of its own, so that other cases are what they are without it.
bool draws_uniform(const Drawing& d, std::uint64_t number) { return Rng(mix(mix(stream_of(d), 3), number)).chance(0.6); }
bool draws_alike(const Drawing& d, std::uint64_t number) { return Rng(mix(mix(stream_of(d), 4), number)).chance(0.25); }

}  // namespace

Case draw_case(const Drawing& drawing, const CaseType& type, std::uint64_t number) {
  Rng own(mix(mix(stream_of(drawing), 1), number));
  // Most are small, a few as large as they may be.
  const double least = std::min(14.0, std::log2(drawing.work)), work = std::exp2(least + (std::log2(drawing.work) - least) * own.unit());
  std::vector<Size> sizes = drawing.grouped ? draw_group_sizes(own, drawing, work) : std::vector<Size>{draw_size(own, drawing, work)};
  const bool alike = draws_alike(drawing, number) || type.batch;
  if (alike && !sizes.empty()) {
    // As many as are about as much to do, and to lay out, as groups of different sizes.
    const Size one{std::abs(sizes.back().m), std::abs(sizes.back().n), std::abs(sizes.back().k)};
    const double m = static_cast<double>(one.m), n = static_cast<double>(one.n), k = static_cast<double>(one.k), most = std::min(2 * work / std::max(1.0, m * n * k), (1 << 20) / std::max({1.0, m * n, m * k, n * k}));
    sizes.assign(std::clamp<std::size_t>(static_cast<std::size_t>(most), 1, sizes.size()), one);
  }
  return finish_case(drawing, type, sizes, draws_uniform(drawing, number), alike, own);
}

Case draw_sized_case(const Drawing& drawing, const CaseType& type, const std::vector<Size>& sizes, std::uint64_t number) {
  Rng own(mix(mix(stream_of(drawing), 2), number));
  const bool one_size = std::all_of(sizes.begin(), sizes.end(), [&](const Size& s) { return s.m == sizes[0].m && s.n == sizes[0].n && s.k == sizes[0].k && std::min({s.m, s.n, s.k}) >= 0; });
  return finish_case(drawing, type, sizes, draws_uniform(drawing, number), sizes.size() > 1 && one_size, own);
}

}  // namespace ggemm::tests
