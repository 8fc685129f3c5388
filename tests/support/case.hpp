// SPDX-License-Identifier: Apache-2.0
// One random problem, plain or grouped: a function of a seed and a number, so that a failure can be repeated from the two.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ggemm.h"
#include "rng.hpp"

namespace ggemm::tests {

// A matrix within its buffer: element (i, j) at offset + i * row_stride + j * col_stride, in elements. With an index row i is where number first + i of it says; below 0:
// nowhere.
struct View {
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 0;
  std::int64_t offset = 0;
  std::shared_ptr<const std::vector<std::int64_t>> index{};
  std::int64_t first = 0;
  std::int64_t row(std::int64_t i) const { return index ? (*index)[static_cast<std::size_t>(first + i)] : i; }
  bool has(std::int64_t i) const { return row(i) >= 0; }
  std::int64_t at(std::int64_t i, std::int64_t j) const { return offset + row(i) * row_stride + j * col_stride; }
  bool empty() const { return rows <= 0 || cols <= 0; }
};

// One product. A plain case has exactly one.
struct Group {
  std::int64_t m = 0, n = 0, k = 0;
  View a, b, c, d;
  std::int64_t bias = 0;       // offset of its first element
  double alpha = 1, beta = 0;  // where each group has its own
  std::int64_t first = 0;      // of its rows in the groups' order
  View scale_a, scale_b;       // empty where they are not looked at
};

// How a per-group number reaches the library.
struct Given {
  ggemm_source_kind kind = GGEMM_SOURCE_CONST;
  std::int64_t byte_stride = 0;
  bool packed = false;  // a stride that is the constant GGEMM_PACKED
};
struct GivenMatrix {
  Given row_stride, col_stride;
  bool pointers = true;           // else one address, of the element at `base`
  bool packed_groups = false;     // the distance of groups is GGEMM_PACKED
  std::int64_t group_stride = 0;  // of groups at a distance
  std::int64_t base = 0;
  std::int64_t end = 0;           // the buffer has so many elements at least: what no group has may be read too
};
// Rows of A or D that lie where an index says. Numbers as they are in memory.
struct GivenIndex {
  Given given;
  std::vector<std::int64_t> numbers;
  std::int64_t rows = 0;  // of the matrix
};
struct GivenBias {
  bool pointers = true, packed_groups = false;
  std::int64_t group_stride = 0, base = 0, end = 0;
};

// What the elements are.
enum class Values {
  small,    // integers whose products and sums are exact in every type that sums are made in
  full_i8,  // all of int8; sums wrap as int32 does
  normal,   // a normal distribution
  special,  // the same with a few NaN, infinities, denormals, large and tiny numbers
};
enum class Placement { free, ends_at_guard, begins_at_guard };
enum class UseOfC { none, apart, same_as_d };

// What decides which kernel is needed, apart from the configuration.
struct CaseType {
  bool grouped = false;
  bool gather = false, scatter = false;  // rows of A, of D, lie where an index says
  bool batch = false;                    // grouped: a batch alone (Case::alike), as some configurations are for
  bool meet = false;                     // rows of D may be the same: what they should be is not known to check_result
  ggemm_dtype a = GGEMM_F32, b = GGEMM_F32, c = GGEMM_DTYPE_NONE, d = GGEMM_F32, bias_dtype = GGEMM_DTYPE_NONE;
  ggemm_compute compute = GGEMM_COMPUTE_DEFAULT;
  ggemm_activation activation = GGEMM_ACTIVATION_NONE;
  ggemm_bias bias = GGEMM_BIAS_NONE;
  double p0 = 0, p1 = 0;
  ggemm_scale_kind scale_a = GGEMM_SCALE_NONE, scale_b = GGEMM_SCALE_NONE;
  ggemm_gate gate = GGEMM_GATE_NONE;
  int layout_a = 0, layout_b = 0, layout_d = any_layout;  // 0 row-major, 1 column-major, 2 neither
  static constexpr int any_layout = -1;

  ggemm_dtype c_dtype() const { return c ? c : d; }
  ggemm_dtype bias_type() const { return bias_dtype ? bias_dtype : d; }
  bool sums_f64() const { return a == GGEMM_F64 || b == GGEMM_F64; }
  bool both_i8() const { return a == GGEMM_I8 && b == GGEMM_I8; }
  bool both_fp8() const { return (a == GGEMM_E4M3 || a == GGEMM_E5M2) && (b == GGEMM_E4M3 || b == GGEMM_E5M2); }
  bool scaled() const { return scale_a || scale_b; }
  bool scaled_by_blocks() const { return scale_a >= GGEMM_SCALE_BLOCK_1X128 || scale_b >= GGEMM_SCALE_BLOCK_1X128; }
  std::int64_t columns(std::int64_t n) const { return gate ? n / 2 : n; }  // of D
  bool sums_i32() const { return both_i8() && !scaled_by_blocks(); }
  bool epilogue_i32() const { return sums_i32() && d == GGEMM_I32; }
  ggemm_dtype scalar() const { return sums_f64() ? GGEMM_F64 : epilogue_i32() ? GGEMM_I32 : GGEMM_F32; }
};

struct Case {
  CaseType type;
  std::vector<Group> groups;
  Values values = Values::small;
  int low = -2, high = 2;           // of A's and B's integers, where values is small
  double spread_a = 1, spread_b = 1;  // of normal numbers
  std::uint64_t data_seed = 0;
  Placement placement = Placement::free;
  bool aligned = false;
  bool uniform = false;  // grouped: all but m, and where the groups' parts of operands begin, is constant
  bool alike = false;    // grouped: a batch of products of one size, at distances that are constants
  UseOfC use_of_c = UseOfC::none;
  bool alpha_given = false, beta_given = false, scalars_on_device = false;
  double alpha = 1, beta = 0;
  bool through_plan = false;  // plan and run, not the one call
  int max_ctas = 0;
  // Plain: the description's sizes, where they are not the call's.
  bool described_otherwise = false;
  std::int64_t described_m = 0, described_n = 0, described_k = 0;
  bool packed_a = false, packed_b = false, packed_c = false, packed_d = false, packed_scale_a = false, packed_scale_b = false;  // described by GGEMM_PACKED
  // Grouped.
  ggemm_grouped_form form = GGEMM_GROUPS_POINTERS;
  std::int64_t stored_m = 0, stored_k = 0;  // ragged: rows, or depth, of all groups; masked: rows that each has room for
  bool beyond = false;                      // the last end, or the counts of full groups, are larger than that
  Given given_m, given_n, given_k;          // a ragged size: its ends; a masked one: its counts
  GivenMatrix given_a, given_b, given_c, given_d, given_scale_a, given_scale_b;
  GivenBias given_bias;
  GivenIndex given_a_index, given_d_index;
  std::vector<float> row_weights;           // by the groups' order; empty: none
  bool checked = false;
  std::int64_t alpha_byte_stride = 0, beta_byte_stride = 0;  // not 0: each group has its own
  std::int64_t expected_m = 0, expected_n = 0, expected_k = 0;

  double alpha_of(const Group& g) const { return alpha_byte_stride ? g.alpha : alpha; }
  double weight_of(const Group& g, std::int64_t i) const { return row_weights.empty() ? 1 : static_cast<double>(row_weights[static_cast<std::size_t>(g.first + i)]); }
  double beta_of(const Group& g) const { return beta_byte_stride ? g.beta : beta; }
  double work() const;       // multiply-adds
  std::string text() const;  // one line
};

struct Size {
  std::int64_t m, n, k;
};

// exact: integers whose result is known to the last bit; real: whatever else the types hold.
enum class Mode { exact, real };

// What cases are drawn from. Two equal Drawings give the same case for the same number.
struct Drawing {
  std::uint64_t seed = 1;
  Mode mode = Mode::exact;
  bool grouped = false;
  bool forms = false;     // grouped cases of any form, some checked, some with scalars of each group; else of pointers, with scalars for all
  bool guarded = false;   // operands end or begin at an unmapped page
  bool aligned = false;   // bases and rows of operands lie at multiples of 16 bytes, strides are positive
  bool overwrites = false;  // with `aligned` and `forms`: C is not read, sizes are multiples of 16, and groups lie in one matrix an operand, so that the copy engine reaches nearly all (core::by_engine)
  bool promoted = false;  // sums of fp8 products are (CheckOptions), so that those of each block alone must be exact in 14 bits
  double work = 1 << 20;  // multiply-adds a case, at most
  Size tile{0, 0, 0};     // sizes about its multiples are drawn often; 0: about common tiles
};

// A case of a given type with random sizes, strides, scalars and values.
Case draw_case(const Drawing& drawing, const CaseType& type, std::uint64_t number);
// The same with these sizes. A plain case takes the first.
Case draw_sized_case(const Drawing& drawing, const CaseType& type, const std::vector<Size>& sizes, std::uint64_t number);
// The rest of a type whose A, B and compute are set: D, C, bias, activation, scales, gate, layouts; of fp8 the compute mode too. exact_only: activations of integers
// whose results are exact. Whether i8 products are scaled by blocks, which gives them other sums, is left as it is.
void draw_epilogue(CaseType& type, bool exact_only, Rng& rng);
bool takes_exact(const CaseType& type);

// Sets the scalars, C, activation parameters and values of a case. Part of draw_case.
void draw_values(Case& c, const Drawing& drawing, Rng& rng);
Size draw_size(Rng& rng, const Drawing& drawing, double work);
struct Strides {
  bool repeats = false;  // 0 is allowed
  bool aligned = false;
  bool constant = false;  // for all groups
};
// Strides of a rows x cols matrix; its offset is left 0. layout as in CaseType, given.
View draw_view(Rng& rng, std::int64_t rows, std::int64_t cols, std::size_t element, int layout, Strides strides);

// Rows (of A's scales; columns of B's) and blocks of k that a kind has a scale for.
std::int64_t scales_along(ggemm_scale_kind kind, std::int64_t size);
std::int64_t scales_deep(ggemm_scale_kind kind, std::int64_t k);
// Which of them is row (column) i's, and k's.
std::int64_t scale_of(ggemm_scale_kind kind, std::int64_t i);
std::int64_t scale_block_of(ggemm_scale_kind kind, std::int64_t k);

// The lowest and one past the highest element that a view reaches, counted from its offset; 0 and 0 if it is empty.
struct Extent {
  std::int64_t low, high;
};
Extent extent(const View& view);

// Lays views into one buffer: sets their offsets so that they do not touch, with gaps as the placement asks.
void place_views(Rng& rng, const std::vector<View*>& views, std::size_t element, const Case& c);

void draw_plain(Case& c, const Size& size, Rng& rng);
void draw_grouped(Case& c, Rng& rng);
// A form that the groups' sizes fit, and what it says of them.
void draw_form(Case& c, Rng& rng, bool gradients);  // gradients: a ragged k, where groups lie in one matrix an operand
// As draw_grouped, for the other forms than pointers.
void draw_formed(Case& c, Rng& rng);
// Parts of both. A stride is a constant, or from memory; a size likewise.
Given draw_size_source(Rng& rng, const std::vector<Group>& groups, std::int64_t Group::* size);
Given from_memory(Rng& rng);
GivenMatrix draw_matrix(Rng& rng, std::vector<View*>& views, std::size_t element, int layout, Strides strides);
int some_layout(Rng& rng, int layout);
void set_shapes(const CaseType& type, Group& g);
// The shape of A's scales or B's, `rows` of A that there is room for; nothing where there is no product, as they are not looked at then.
void set_scale_shapes(const CaseType& type, Group& g, std::int64_t rows);
bool no_product(const Group& g);
// The scales of each, where the type has any.
void draw_plain_scales(Case& c, Rng& rng);
void draw_pointed_scales(Case& c, Rng& rng);
// Numbers of tensors, in any form.
GivenMatrix draw_numbers(Case& c, View Group::* member, Rng& rng);
void set_expectations(Case& c, Rng& rng);
std::vector<Size> draw_group_sizes(Rng& rng, const Drawing& drawing, double work);

}  // namespace ggemm::tests
