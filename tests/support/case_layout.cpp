// SPDX-License-Identifier: Apache-2.0
// How a case's operands lie in memory and how they are described to the library.
#include <algorithm>

#include "case.hpp"
#include "formats.hpp"

namespace ggemm::tests {
namespace {

using std::int64_t;

bool is_packed(const View& v) { return v.row_stride == v.cols && v.col_stride == 1; }

ggemm_source_kind draw_kind(Rng& rng) { return rng.pick({GGEMM_SOURCE_I32, GGEMM_SOURCE_I64}); }

}  // namespace

// From memory: an int32 or int64 a group, some bytes apart; from the last to the first now and then.
Given from_memory(Rng& rng) {
  Given given;
  given.kind = draw_kind(rng);
  given.byte_stride = rng.pick<int64_t>({1, 1, 2, 3, 5, -1}) * (given.kind == GGEMM_SOURCE_I32 ? 4 : 8);
  return given;
}

Given draw_size_source(Rng& rng, const std::vector<Group>& groups, int64_t Group::* size) {
  const bool same = std::all_of(groups.begin(), groups.end(), [&](const Group& g) { return g.*size == groups[0].*size; });
  return (groups.empty() || (same && groups[0].*size >= 0)) && rng.chance(0.6) ? Given{} : from_memory(rng);
}

int some_layout(Rng& rng, int layout) { return layout != CaseType::any_layout ? layout : rng.chance(0.6) ? 0 : rng.chance(0.7) ? 1 : 2; }

// One matrix of every group: strides, and how they are given.
GivenMatrix draw_matrix(Rng& rng, std::vector<View*>& views, std::size_t element, int layout, Strides strides) {
  GivenMatrix given;
  layout = some_layout(rng, layout);
  if (layout == 2 && strides.constant) layout = 0;
  if (layout == 2) {
    given.row_stride = from_memory(rng);
    given.col_stride = from_memory(rng);
    for (View* v : views) *v = draw_view(rng, v->rows, v->cols, element, static_cast<int>(rng.between(0, 2)), strides);
    return given;
  }
  const double u = strides.constant ? rng.unit() / 2 : rng.unit();
  const int64_t vector = static_cast<int64_t>(16 / element);
  const bool misaligned = strides.aligned && std::any_of(views.begin(), views.end(), [&](const View* v) { return v->cols % vector != 0; });
  if (layout == 0 && u < 0.35 && !misaligned) {
    for (View* v : views) v->row_stride = v->cols, v->col_stride = 1;
    given.row_stride.packed = given.col_stride.packed = true;
    return given;
  }
  Given& leading = layout == 0 ? given.row_stride : given.col_stride;
  given.col_stride.packed = layout == 0 && rng.chance(0.3);
  if (u < 0.5) {
    int64_t longest = 1;
    for (const View* v : views) longest = std::max(longest, layout == 0 ? v->cols : v->rows);
    // Not 1: with two unit strides the library would see the other layout.
    const int64_t ld = std::max<int64_t>(2, longest + (!strides.aligned && rng.chance(0.5) ? rng.between(0, 9) : (16 - longest % 16) % 16));
    for (View* v : views) (layout == 0 ? v->row_stride : v->col_stride) = ld, (layout == 0 ? v->col_stride : v->row_stride) = 1;
    return given;
  }
  leading = from_memory(rng);
  for (View* v : views) *v = draw_view(rng, v->rows, v->cols, element, layout, strides);
  return given;
}

namespace {

int64_t mean(const std::vector<Group>& groups, int64_t Group::* size) {
  double sum = 0;
  for (const Group& g : groups) sum += static_cast<double>(std::max<int64_t>(g.*size, 0));
  return groups.empty() ? 0 : static_cast<int64_t>(sum / static_cast<double>(groups.size()));
}

// Groups that lie anywhere.
void place_all(Case& c, Rng& rng) {
  const auto place = [&](View Group::* member, ggemm_dtype dtype) {
    std::vector<View*> views;
    for (Group& g : c.groups) views.push_back(&(g.*member));
    for (std::size_t i = views.size(); i > 1; --i) std::swap(views[i - 1], views[rng.below(i)]);
    place_views(rng, views, size_of(dtype), c);
  };
  place(&Group::a, c.type.a);
  place(&Group::b, c.type.b);
  place(&Group::d, c.type.d);
  if (c.use_of_c == UseOfC::same_as_d) {
    for (Group& g : c.groups) g.c = g.d;
  } else {
    place(&Group::c, c.type.c_dtype());
  }
  int64_t end = c.placement == Placement::begins_at_guard ? 0 : rng.between(0, 9);
  for (Group& g : c.groups) {
    g.bias = end;
    if (c.type.bias && g.m > 0 && g.n > 0)
      end += (c.type.bias == GGEMM_BIAS_PER_ROW ? g.m : g.n) + (c.placement == Placement::free ? rng.between(0, 5) : 0);
  }
}

}  // namespace

void set_shapes(const CaseType& t, Group& g) {
  const auto cut = [](int64_t x) { return std::max<int64_t>(x, 0); };
  g.a.rows = g.c.rows = g.d.rows = cut(g.m);
  g.a.cols = g.b.rows = cut(g.k);
  g.b.cols = g.c.cols = cut(g.n);
  g.d.cols = t.columns(cut(g.n));
}

void set_expectations(Case& c, Rng& rng) {
  if (rng.chance(0.5)) c.expected_m = mean(c.groups, &Group::m), c.expected_n = mean(c.groups, &Group::n), c.expected_k = mean(c.groups, &Group::k);
}

void draw_plain(Case& c, const Size& size, Rng& rng) {
  Group& g = c.groups[0];
  const CaseType& t = c.type;
  set_shapes(t, g);
  g.a = draw_view(rng, g.m, g.k, size_of(t.a), t.layout_a, {true, c.aligned});
  g.b = draw_view(rng, g.k, g.n, size_of(t.b), t.layout_b, {true, c.aligned});
  g.d = draw_view(rng, g.m, t.columns(g.n), size_of(t.d), some_layout(rng, t.layout_d), {false, c.aligned});
  g.c = draw_view(rng, g.m, g.n, size_of(t.c_dtype()), some_layout(rng, CaseType::any_layout), {true, c.aligned});
  // A row stride of 1 is one of a row-major matrix only as GGEMM_PACKED.
  const auto packed = [&](const View& v) { return is_packed(v) && (v.row_stride == 1 || rng.chance(0.7)); };
  c.packed_a = packed(g.a);
  c.packed_b = packed(g.b);
  c.packed_d = packed(g.d);
  place_all(c, rng);
  draw_plain_scales(c, rng);
  c.packed_c = packed(g.c);
  c.described_otherwise = rng.chance(0.15);
  c.described_m = size.m, c.described_n = size.n, c.described_k = size.k;
  // Smaller, so that the strides given for the call fit the description too.
  if (c.described_otherwise) c.described_m = rng.between(0, size.m), c.described_n = rng.between(0, size.n), c.described_k = rng.between(0, size.k);
  if (t.gate) c.described_n &= ~int64_t(1);
}

std::vector<Size> draw_group_sizes(Rng& rng, const Drawing& drawing, double work) {
  int64_t groups = rng.pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 8, 13, 16, 31, 32, 33, 64, 65, 100});
  const double u = rng.unit();
  if (u < 0.03)
    groups = 0;
  else if (u < 0.06)
    groups = rng.between(200, 1000);
  const int style = static_cast<int>(rng.between(0, 4));  // all, rows, rows and columns, none or depth differ
  const double each = std::max(64.0, work / static_cast<double>(std::max<int64_t>(groups, 1)));
  const Size common = draw_size(rng, drawing, each);
  const double emptiness = rng.pick({0.0, 0.1, 0.5});
  std::vector<Size> sizes;
  for (int64_t i = 0; i < groups; ++i) {
    Size s = style == 0 ? draw_size(rng, drawing, each) : common;
    if (style == 1) s.m = rng.between(0, 2 * common.m);
    if (style == 2) s.m = rng.between(0, common.m), s.n = rng.between(0, common.n);
    if (style == 4) s.k = rng.between(0, 2 * common.k);
    if (style != 3 && rng.chance(emptiness)) {
      int64_t Size::* const side = style == 4 ? &Size::k : style == 1 || rng.chance(0.5) ? &Size::m : rng.chance(0.5) ? &Size::n : &Size::k;
      s.*side = rng.chance(0.2) ? -rng.between(1, 9) : 0;
    }
    sizes.push_back(s);
  }
  return sizes;
}

void draw_grouped(Case& c, Rng& rng) {
  const CaseType& t = c.type;
  for (Group& g : c.groups) set_shapes(t, g);
  const auto matrix = [&](View Group::* member, ggemm_dtype dtype, int layout, bool repeats) {
    std::vector<View*> views;
    for (Group& g : c.groups) views.push_back(&(g.*member));
    return draw_matrix(rng, views, size_of(dtype), layout, {repeats, c.aligned});
  };
  c.given_a = matrix(&Group::a, t.a, t.layout_a, true);
  c.given_b = matrix(&Group::b, t.b, t.layout_b, true);
  c.given_d = matrix(&Group::d, t.d, t.layout_d, false);
  c.given_c = matrix(&Group::c, t.c_dtype(), CaseType::any_layout, true);
  if (c.use_of_c == UseOfC::same_as_d) c.given_c = c.given_d;
  place_all(c, rng);
  draw_pointed_scales(c, rng);
  c.given_m = draw_size_source(rng, c.groups, &Group::m);
  c.given_n = draw_size_source(rng, c.groups, &Group::n);
  c.given_k = draw_size_source(rng, c.groups, &Group::k);
  set_expectations(c, rng);
}

}  // namespace ggemm::tests
