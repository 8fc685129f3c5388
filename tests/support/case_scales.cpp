// SPDX-License-Identifier: Apache-2.0
// The scales of A and B in plain cases and in groups of pointers.
#include <algorithm>

#include "case.hpp"

namespace ggemm::tests {
namespace {

using std::int64_t;

constexpr std::size_t size_of_scale = 4;

std::vector<View*> views_of(Case& c, View Group::* member) {
  std::vector<View*> views;
  for (Group& g : c.groups) views.push_back(&(g.*member));
  return views;
}

}  // namespace

bool no_product(const Group& g) { return g.m <= 0 || g.n <= 0 || g.k <= 0; }

void set_scale_shapes(const CaseType& t, Group& g, int64_t rows) {
  const auto cut = [](int64_t x) { return std::max<int64_t>(x, 0); };
  if (t.scale_a) g.scale_a.rows = scales_along(t.scale_a, cut(rows)), g.scale_a.cols = scales_deep(t.scale_a, cut(g.k));
  if (t.scale_b) g.scale_b.rows = scales_deep(t.scale_b, cut(g.k)), g.scale_b.cols = scales_along(t.scale_b, cut(g.n));
}

void draw_plain_scales(Case& c, Rng& rng) {
  Group& g = c.groups[0];
  set_scale_shapes(c.type, g, g.m);
  const auto draw = [&](View& view, ggemm_scale_kind kind, bool& packed) {
    if (!kind) return;
    view = draw_view(rng, view.rows, view.cols, size_of_scale, some_layout(rng, CaseType::any_layout), {true, c.aligned});
    packed = view.col_stride == 1 && view.row_stride == view.cols && rng.chance(0.7);
    if (no_product(g)) view.rows = view.cols = 0;
    place_views(rng, {&view}, size_of_scale, c);
  };
  draw(g.scale_a, c.type.scale_a, c.packed_scale_a);
  draw(g.scale_b, c.type.scale_b, c.packed_scale_b);
}

void draw_pointed_scales(Case& c, Rng& rng) {
  for (Group& g : c.groups) set_scale_shapes(c.type, g, g.m);
  const auto draw = [&](View Group::* member, ggemm_scale_kind kind, GivenMatrix& given) {
    if (kind == GGEMM_SCALE_TENSOR) given = draw_numbers(c, member, rng);
    if (kind <= GGEMM_SCALE_TENSOR) return;
    std::vector<View*> views = views_of(c, member);
    given = draw_matrix(rng, views, size_of_scale, CaseType::any_layout, {true, c.aligned});
    for (Group& g : c.groups)
      if (no_product(g)) (g.*member).rows = (g.*member).cols = 0;
    place_views(rng, views, size_of_scale, c);
  };
  draw(&Group::scale_a, c.type.scale_a, c.given_scale_a);
  draw(&Group::scale_b, c.type.scale_b, c.given_scale_b);
}

GivenMatrix draw_numbers(Case& c, View Group::* member, Rng& rng) {
  GivenMatrix given;
  given.row_stride.packed = given.col_stride.packed = true;
  for (Group& g : c.groups) {
    View& v = g.*member;
    v = {1, 1, 1, 1, 0};
    if (no_product(g)) v.rows = v.cols = 0;
  }
  given.pointers = rng.chance(0.3) && !c.uniform;
  if (given.pointers) {
    place_views(rng, views_of(c, member), size_of_scale, c);
    return given;
  }
  given.packed_groups = rng.chance(0.4);
  given.group_stride = given.packed_groups ? 1 : rng.pick<int64_t>({1, 0, 2, 3, -1});
  const int64_t count = static_cast<int64_t>(c.groups.size()), step = given.group_stride;
  given.base = (c.placement == Placement::begins_at_guard ? 0 : rng.between(0, 9)) + (step < 0 ? -step * std::max<int64_t>(count - 1, 0) : 0);
  for (int64_t g = 0; g < count; ++g) (c.groups[static_cast<std::size_t>(g)].*member).offset = given.base + g * step;
  return given;
}

}  // namespace ggemm::tests
