// SPDX-License-Identifier: Apache-2.0
// Grouped cases whose groups are not all given by pointers: ragged, masked, at a distance.
#include <algorithm>
#include <cstdlib>

#include "case.hpp"
#include "formats.hpp"

namespace ggemm::tests {
namespace {

using std::int64_t;

bool ragged(const Case& c) { return c.form == GGEMM_GROUPS_RAGGED_M || c.form == GGEMM_GROUPS_RAGGED_K; }

// A size as the matrices are stored with it: the same for all groups, or each group's own.
struct Stored {
  int64_t size = 0;
  bool constant = true;
};
struct Shape {
  Stored rows, cols;
  bool ragged_rows = false, ragged_cols = false, indexed = false;
  int64_t unit = 1;       // of what is ragged: the scales of a block share one
  bool own_units = false; // every group begins with one of its own
  bool scales = false;    // of which a group without a product has none
};

// An index of the groups' rows into a matrix of some rows.
GivenIndex draw_index(const Case& c, Rng& rng, bool unique, bool may_be_empty) {
  GivenIndex index;
  index.given = from_memory(rng);
  index.rows = unique ? c.stored_m + rng.between(0, 5) : may_be_empty && rng.chance(0.1) ? 0 : rng.between(1, c.stored_m + 10);
  std::vector<int64_t> all(static_cast<std::size_t>(index.rows));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  for (std::size_t i = all.size(); unique && i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
  const double nowhere = rng.pick({0.0, 0.1, 0.5});
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.stored_m); ++i) {
    const int64_t outside = c.checked || rng.chance(0.5) ? -rng.between(1, 3) : index.rows + rng.between(0, 3);
    index.numbers.push_back(all.empty() || rng.chance(nowhere) ? outside : unique ? all[i] : all[rng.below(all.size())]);
  }
  return index;
}

// The views of rows that lie where the index says.
void lead(Case& c, View Group::*member, const GivenIndex& index) {
  auto rows = std::make_shared<std::vector<int64_t>>();
  for (const int64_t row : index.numbers) rows->push_back(row >= 0 && row < index.rows ? row : -1);
  for (Group& g : c.groups) (g.*member).index = rows, (g.*member).first = g.first;
}

// What groups before this one take of the ragged size.
std::vector<int64_t> starts(const Case& c) {
  std::vector<int64_t> out;
  int64_t sum = 0;
  for (const Group& g : c.groups) out.push_back(sum), sum += c.form == GGEMM_GROUPS_RAGGED_M ? g.m : g.k;
  return out;
}

constexpr double most_elements = 1 << 22;  // of an operand, all groups together

int64_t magnitude(int64_t x) { return std::abs(x); }

class FormDrawer {
 public:
  FormDrawer(Case& c, Rng& rng) : c_(c), rng_(rng), starts_(starts(c)) {}

  GivenMatrix matrix(View Group::*member, ggemm_dtype dtype, int layout, bool repeats, const Shape& shape) {
    const Strides strides{repeats, c_.aligned, c_.uniform || c_.alike};
    element_ = size_of(dtype);
    if (shape.ragged_rows || shape.ragged_cols) return one(member, some_layout(rng_, layout), strides, shape);
    std::vector<View*> views;
    for (Group& g : c_.groups) views.push_back(&(g.*member));
    GivenMatrix given = draw_matrix(rng_, views, element_, layout, strides);
    for (Group& g : c_.groups)
      if (shape.scales && no_product(g)) (g.*member).rows = (g.*member).cols = 0;
    if (rng_.chance(0.35) && !c_.uniform && !c_.alike)
      anywhere(views, given);
    else
      at_distance(views, given, repeats, shape);
    return given;
  }

  // The scales of an operand whose rows (columns of B) and depth are stored so.
  GivenMatrix scales(View Group::*member, ggemm_scale_kind kind, const Stored& mn, const Stored& k, bool ragged_mn, bool ragged_k, bool rows_first, bool indexed = false) {
    if (kind == GGEMM_SCALE_NONE) return {};
    if (kind == GGEMM_SCALE_TENSOR) return draw_numbers(c_, member, rng_);
    ragged_k = ragged_k && kind != GGEMM_SCALE_VECTOR;
    Shape shape{{scales_along(kind, mn.size), mn.constant}, {scales_deep(kind, k.size), k.constant || kind == GGEMM_SCALE_VECTOR}, ragged_mn, ragged_k, indexed};
    shape.scales = true;
    if (ragged_k || (ragged_mn && kind == GGEMM_SCALE_BLOCK_128X128)) {
      const bool whole_blocks = std::all_of(starts_.begin(), starts_.end(), [](int64_t start) { return start % 128 == 0; });
      shape.unit = 128, shape.own_units = !whole_blocks || rng_.chance(0.5);
      Stored& ragged = ragged_k ? shape.cols : shape.rows;
      if (shape.own_units) ragged.size = (ragged_k ? k.size : mn.size) / 128 + static_cast<int64_t>(c_.groups.size());
    }
    if (!rows_first) std::swap(shape.rows, shape.cols), std::swap(shape.ragged_rows, shape.ragged_cols);
    return matrix(member, GGEMM_F32, CaseType::any_layout, true, shape);
  }

  GivenBias bias() {
    GivenBias given;
    const bool per_row = c_.type.bias == GGEMM_BIAS_PER_ROW;
    const int64_t gap = c_.placement == Placement::begins_at_guard ? 0 : rng_.between(0, 9);
    const auto length = [&](const Group& g) { return std::max<int64_t>(0, per_row ? c_.form == GGEMM_GROUPS_MASKED ? c_.stored_m : g.m : g.n); };
    if (per_row && c_.form == GGEMM_GROUPS_RAGGED_M) {
      given.pointers = false, given.packed_groups = rng_.chance(0.5), given.base = gap, given.end = gap + c_.stored_m;
      for (std::size_t i = 0; i < c_.groups.size(); ++i) c_.groups[i].bias = gap + starts_[i];
      return given;
    }
    given.pointers = rng_.chance(0.35) && !c_.uniform && !c_.alike;
    int64_t longest = 0;
    for (const Group& g : c_.groups) longest = std::max(longest, length(g));
    const bool constant = std::all_of(c_.groups.begin(), c_.groups.end(), [&](const Group& g) { return length(g) == longest; }) &&
                          (per_row ? c_.given_m.kind == GGEMM_SOURCE_CONST || c_.form != GGEMM_GROUPS_BATCH : c_.given_n.kind == GGEMM_SOURCE_CONST);
    given.packed_groups = !given.pointers && constant && !c_.groups.empty() && rng_.chance(0.5);
    given.group_stride = given.packed_groups ? longest : rng_.chance(0.15) ? 0 : longest + rng_.between(0, 5);
    given.base = gap;
    for (std::size_t i = 0; i < c_.groups.size(); ++i) c_.groups[i].bias = gap + static_cast<int64_t>(i) * given.group_stride;
    return given;
  }

 private:
  void place(const std::vector<View*>& views, GivenMatrix& given) {
    place_views(rng_, views, element_, c_);
    for (const View* v : views)
      if (!v->empty()) given.end = std::max(given.end, v->offset + extent(*v).high);
  }

  // All groups are parts of one matrix.
  GivenMatrix one(View Group::*member, int layout, Strides strides, const Shape& shape) {
    View whole = draw_view(rng_, shape.rows.size, shape.cols.size, element_, layout, strides);
    GivenMatrix given;
    given.pointers = false;
    given.row_stride.packed = given.col_stride.packed =
        whole.col_stride == 1 && whole.row_stride == whole.cols && (whole.row_stride == 1 || rng_.chance(0.7));
    given.packed_groups = shape.unit == 1 ? rng_.chance(0.5) : shape.own_units;
    place({&whole}, given);
    given.base = whole.offset;
    for (std::size_t i = 0; i < c_.groups.size(); ++i) {
      View& v = c_.groups[i].*member;
      v.row_stride = whole.row_stride, v.col_stride = whole.col_stride;
      const int64_t start = shape.indexed ? 0 : starts_[i] / shape.unit + (shape.own_units ? static_cast<int64_t>(i) : 0);
      v.offset = whole.offset + start * (shape.ragged_rows ? whole.row_stride : whole.col_stride);
    }
    return given;
  }

  void anywhere(std::vector<View*> views, GivenMatrix& given) {
    for (std::size_t i = views.size(); i > 1; --i) std::swap(views[i - 1], views[rng_.below(i)]);
    place(views, given);
  }

  // Lines of all groups by turns, as heads of attention lie: one's first, the next one's first ...
  void interleave(const std::vector<View*>& views, GivenMatrix& given, int64_t vector) {
    const View& first = *views[0];
    const bool across = first.col_stride == 1;
    if (first.empty() || (across ? first.row_stride : first.col_stride) <= 0 || (!across && first.row_stride != 1)) return;
    const int64_t length = across ? first.cols : first.rows;
    interleaved_ = c_.aligned ? (length + vector - 1) / vector * vector : length;
    for (View* v : views) (across ? v->row_stride : v->col_stride) = interleaved_ * static_cast<int64_t>(views.size());
    (across ? given.row_stride : given.col_stride).packed = false;
  }

  void at_distance(const std::vector<View*>& views, GivenMatrix& given, bool repeats, const Shape& shape) {
    given.pointers = false;
    const int64_t vector = static_cast<int64_t>(16 / element_);
    if (c_.alike && rng_.chance(0.3)) interleave(views, given, vector);
    int64_t low = 0, high = 0;
    for (const View* v : views) low = std::min(low, extent(*v).low), high = std::max(high, extent(*v).high);
    const auto constant = [](const Given& g) { return g.packed || g.kind == GGEMM_SOURCE_CONST; };
    const bool known = !views.empty() && shape.rows.constant && shape.cols.constant && constant(given.row_stride) && constant(given.col_stride);
    const int64_t between = interleaved_, packed = known ? std::max(shape.rows.size * magnitude(views[0]->row_stride), shape.cols.size * magnitude(views[0]->col_stride)) : 0;
    interleaved_ = 0;
    given.packed_groups = known && !between && (!c_.aligned || packed % vector == 0) && rng_.chance(0.6);
    int64_t distance = packed;
    if (!given.packed_groups) {
      distance = high - low + (c_.aligned ? 0 : rng_.between(0, 9));
      if (c_.aligned || rng_.chance(0.4)) distance = (distance + vector - 1) / vector * vector;
      if (!c_.aligned && rng_.chance(0.15)) distance = -distance;
      // Whole lines, mostly with nothing between the groups.
      if (between) distance = between;
      else if (c_.uniform && known) distance = packed + (rng_.chance(0.8) ? 0 : std::max(magnitude(views[0]->row_stride), magnitude(views[0]->col_stride)) * rng_.between(1, 2));
      if (repeats && rng_.chance(0.1)) distance = 0;
      if (distance == 0 && !repeats) distance = 1;  // of groups that are all empty
    }
    given.group_stride = distance;
    const int64_t last = distance * static_cast<int64_t>(std::max<std::size_t>(views.size(), 1) - 1),
                  first_element = low + std::min<int64_t>(0, last);
    View all{1, high - low + magnitude(last), 0, 1, 0};
    if (high == low) all.cols = 0;
    place({&all}, given);
    given.base = all.offset - first_element;
    for (std::size_t i = 0; i < views.size(); ++i) views[i]->offset = given.base + static_cast<int64_t>(i) * distance;
  }

  Case& c_;
  Rng& rng_;
  std::vector<int64_t> starts_;
  std::size_t element_ = 1;
  int64_t interleaved_ = 0;  // elements from one group to the next, where their lines come by turns
};

}  // namespace

void draw_form(Case& c, Rng& rng, bool gradients) {
  const auto same = [&](int64_t Group::*size) {
    return std::all_of(c.groups.begin(), c.groups.end(), [&](const Group& g) { return g.*size == c.groups[0].*size && g.*size >= 0; });
  };
  const bool indexed = c.type.gather || c.type.scatter;
  gradients = gradients && c.uniform && !indexed && !c.alike;
  c.checked = rng.chance(0.25) && !c.uniform && !c.alike;
  for (Group& g : c.groups) {
    if (indexed || c.uniform) g.n = std::max<int64_t>(0, c.groups[0].n);
    if (gradients) g.m = std::max<int64_t>(0, c.groups[0].m);
    else if (indexed || c.uniform) g.k = std::max<int64_t>(0, c.groups[0].k);
    if (c.checked) g.m = std::max<int64_t>(0, g.m), g.n = std::max<int64_t>(0, g.n), g.k = std::max<int64_t>(0, g.k);
  }
  std::vector<ggemm_grouped_form> fits = {GGEMM_GROUPS_BATCH, GGEMM_GROUPS_MASKED};
  if (same(&Group::n) && same(&Group::k)) fits.insert(fits.end(), 3, GGEMM_GROUPS_RAGGED_M);
  if (same(&Group::n) && same(&Group::m)) fits.insert(fits.end(), 3, GGEMM_GROUPS_RAGGED_K);
  // At a distance every group takes as much room as the largest.
  double m = 0, n = 0, k = 0;
  for (const Group& g : c.groups)
    m = std::max(m, static_cast<double>(g.m)), n = std::max(n, static_cast<double>(g.n)), k = std::max(k, static_cast<double>(g.k));
  const bool too_large = static_cast<double>(c.groups.size()) * std::max({m * n, m * k, n * k}) > most_elements;
  if (too_large) c.alike = false;
  if (!indexed && ((rng.chance(0.3) && !c.uniform && !c.alike) || too_large)) return;
  c.form = c.alike ? GGEMM_GROUPS_BATCH : indexed ? GGEMM_GROUPS_RAGGED_M : gradients ? GGEMM_GROUPS_RAGGED_K : c.uniform ? rng.pick({GGEMM_GROUPS_RAGGED_M, GGEMM_GROUPS_MASKED, same(&Group::m) ? GGEMM_GROUPS_BATCH : GGEMM_GROUPS_MASKED}) : fits[rng.below(fits.size())];
  c.beyond = !c.checked && rng.chance(0.2);
  const int64_t slack = rng.chance(0.5) ? 0 : rng.between(1, 17);
  int64_t Group::*const size = c.form == GGEMM_GROUPS_RAGGED_K ? &Group::k : &Group::m;
  int64_t sum = 0, most = 0;
  for (Group& g : c.groups) {
    if (ragged(c)) g.*size = std::max<int64_t>(0, g.*size);
    sum += g.*size, most = std::max(most, g.*size);
  }
  c.stored_m = c.form == GGEMM_GROUPS_MASKED ? most + slack : sum + (c.beyond ? 0 : slack);
  c.stored_k = sum + (c.beyond ? 0 : slack);
  // Sources of what is no constant of the form.
  const bool fixed_m = c.form == GGEMM_GROUPS_RAGGED_K, fixed_n = ragged(c), fixed_k = c.form == GGEMM_GROUPS_RAGGED_M;
  c.given_m = fixed_m || c.alike ? Given{} : c.form == GGEMM_GROUPS_RAGGED_M ? from_memory(rng) : draw_size_source(rng, c.groups, &Group::m);
  c.given_n = fixed_n || c.uniform || c.alike ? Given{} : draw_size_source(rng, c.groups, &Group::n);
  c.given_k = fixed_k || (c.uniform && !gradients) || c.alike ? Given{} : c.form == GGEMM_GROUPS_RAGGED_K ? from_memory(rng) : draw_size_source(rng, c.groups, &Group::k);
}

void draw_formed(Case& c, Rng& rng) {
  const CaseType& t = c.type;
  const bool ragged_m = c.form == GGEMM_GROUPS_RAGGED_M, ragged_k = c.form == GGEMM_GROUPS_RAGGED_K, masked = c.form == GGEMM_GROUPS_MASKED;
  const Group empty{}, &first = c.groups.empty() ? empty : c.groups[0];
  const auto constant = [](const Given& g) { return g.kind == GGEMM_SOURCE_CONST; };
  const Stored m{ragged_m || masked ? c.stored_m : first.m, ragged_m || masked || constant(c.given_m)}, n{first.n, constant(c.given_n)},
      k{ragged_k ? c.stored_k : first.k, ragged_k || constant(c.given_k)};
  for (Group& g : c.groups) {
    set_shapes(t, g);
    if (masked) g.a.rows = g.c.rows = g.d.rows = c.stored_m;
    set_scale_shapes(t, g, masked ? c.stored_m : g.m);
  }
  FormDrawer drawer(c, rng);
  if (ragged_m) {
    int64_t sum = 0;
    for (Group& g : c.groups) g.first = sum, sum += g.m;
  }
  if (t.gather) c.given_a_index = draw_index(c, rng, false, true);
  if (t.scatter) c.given_d_index = draw_index(c, rng, !t.meet, false);
  if (t.scatter && c.use_of_c == UseOfC::same_as_d) c.use_of_c = UseOfC::apart;
  if (t.scatter && !t.epilogue_i32() && rng.chance(0.6))
    for (int64_t i = 0; i < c.stored_m; ++i) c.row_weights.push_back(rng.pick({1.0f, 2.0f, -1.0f, 0.5f}));
  const Stored a_rows{t.gather ? c.given_a_index.rows : m.size, m.constant}, d_rows{t.scatter ? c.given_d_index.rows : m.size, m.constant};
  c.given_a = drawer.matrix(&Group::a, t.a, t.layout_a, true, {a_rows, k, ragged_m, ragged_k, t.gather});
  c.given_b = drawer.matrix(&Group::b, t.b, t.layout_b, true, {k, n, ragged_k, false});
  c.given_d = drawer.matrix(&Group::d, t.d, t.layout_d, false, {d_rows, {t.columns(n.size), n.constant}, ragged_m, false, t.scatter});
  c.given_c =
      c.use_of_c == UseOfC::same_as_d ? c.given_d : drawer.matrix(&Group::c, t.c_dtype(), CaseType::any_layout, true, {m, n, ragged_m, false});
  if (t.bias) c.given_bias = drawer.bias();
  c.given_scale_a = drawer.scales(&Group::scale_a, t.scale_a, a_rows, k, ragged_m, ragged_k, true, t.gather);
  c.given_scale_b = drawer.scales(&Group::scale_b, t.scale_b, n, k, false, ragged_k, false);
  for (Group& g : c.groups) {
    if (c.use_of_c == UseOfC::same_as_d) g.c = g.d;
    set_shapes(t, g);
    set_scale_shapes(t, g, g.m);
    if (no_product(g)) g.scale_a.rows = g.scale_a.cols = g.scale_b.rows = g.scale_b.cols = 0;
  }
  if (t.gather) lead(c, &Group::a, c.given_a_index);
  if (t.gather && t.scale_a > GGEMM_SCALE_TENSOR) lead(c, &Group::scale_a, c.given_a_index);
  if (t.scatter) lead(c, &Group::d, c.given_d_index);
  set_expectations(c, rng);
}

}  // namespace ggemm::tests
