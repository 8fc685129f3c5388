// SPDX-License-Identifier: Apache-2.0
// The checks of grouped problems: each form becomes sources of sizes and places of operands (grouped_layout.cpp), and beyond these checks no form is known.
#include <algorithm>
#include <cstddef>

#include "core/problem_checks.hpp"

namespace ggemm::core {
namespace {

using namespace checks;
using std::int64_t;

constexpr const char* forms[] = {"pointers", "ragged_m", "ragged_k", "masked", "batch"};
// Of a description that knows other forms than pointers.
constexpr std::size_t forms_size = offsetof(ggemm_grouped_desc, reserved0) + sizeof(ggemm_grouped_desc::reserved0);

// Sizes that must be constants of the form.
void require_constant(const kernels::Source& size, const char* field, const char* form, const char* meaning) {
  if (!is_constant(size)) fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%d with form=%s: it must be a constant, %s", field, size.kind, form, meaning);
}
void refuse_given(const ggemm_source& source, const char* field, const char* form) {
  if (source.kind != GGEMM_SOURCE_CONST || source.value != 0)
    fail(GGEMM_ERROR_ARGUMENT, "%s is given with form=%s: it must be a constant 0", field, form);
}

// The ends of a ragged size, `total` in all.
kernels::Source ends_of(const ggemm_grouped_desc& desc, int64_t total) {
  kernels::Source ends = check_source(desc.ends, "ends", "", desc.groups);
  if (is_constant(ends))
    fail(GGEMM_ERROR_ARGUMENT, "ends.kind=%d with form=%s: each group's end must be in device memory", ends.kind, forms[desc.form]);
  ends.value = total, ends.mode = kernels::source_ends;
  return ends;
}
kernels::Source counts_of(const ggemm_grouped_desc& desc, int64_t room) {
  kernels::Source counts = check_size_source(desc.counts, "counts", desc.groups);
  counts.value = is_constant(counts) ? kernels::min_of(counts.value, room) : room;
  counts.mode = is_constant(counts) ? kernels::source_itself : kernels::source_count;
  return counts;
}

GroupedBias check_bias(const ggemm_grouped_desc& desc, const ProblemType& type, const kernels::Source& rows, const kernels::Source& cols) {
  if (desc.bias_pointers > 1) fail(GGEMM_ERROR_ARGUMENT, "bias_pointers=%u must be 0 or 1", desc.bias_pointers);
  check_reserved(desc.reserved0, "", "reserved0");
  GroupedBias bias{desc.form == GGEMM_GROUPS_POINTERS || desc.bias_pointers, 0, 0};
  const bool beside_rows = !bias.pointers && type.bias == GGEMM_BIAS_PER_ROW && desc.form == GGEMM_GROUPS_RAGGED_M;
  if ((bias.pointers || beside_rows) && desc.bias_group_stride != 0 && desc.bias_group_stride != GGEMM_PACKED)
    fail(GGEMM_ERROR_ARGUMENT, "bias_group_stride=%lld with form=%s%s: it is not looked at, and must be 0 or GGEMM_PACKED",
         ll(desc.bias_group_stride), forms[desc.form],
         beside_rows          ? " and a bias per row"
         : desc.bias_pointers ? " and pointers"
                              : "");
  if (beside_rows) bias.start_stride = 1;
  if (!type.bias || bias.pointers || beside_rows || desc.groups <= 1) return bias;
  const kernels::Source& length = type.bias == GGEMM_BIAS_PER_ROW ? rows : cols;
  bias.group_stride = desc.bias_group_stride;
  if (bias.group_stride == GGEMM_PACKED && !is_constant(length))
    fail(GGEMM_ERROR_ARGUMENT, "bias_group_stride=GGEMM_PACKED with a length of the group's own: the distance of groups must be given");
  if (bias.group_stride == GGEMM_PACKED) bias.group_stride = length.value;
  int64_t bytes;
  if (__builtin_mul_overflow(bias.group_stride, desc.groups - 1, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<int64_t>(dtype_size(type.bias_dtype)), &bytes))
    fail(GGEMM_ERROR_ARGUMENT, "bias_group_stride=%lld with groups=%lld: the groups do not fit in 2^63 bytes", ll(bias.group_stride),
         ll(desc.groups));
  return bias;
}

// The index of rows that lie apart, of a matrix that has `rows` of them.
kernels::Source check_index(const ggemm_grouped_desc& desc, const ggemm_source& index, int64_t rows, const char* name, const char* rows_name) {
  check_size(rows, rows_name);
  const bool no_rows = desc.m.kind == GGEMM_SOURCE_CONST && desc.m.value == 0;  // an empty array may be at NULL
  kernels::Source out = check_source(index, name, "", no_rows ? 0 : desc.groups);
  if (is_constant(out)) {
    if (index.value != 0) fail(GGEMM_ERROR_ARGUMENT, "%s.kind=%d, value=%lld: the rows' numbers must be in device memory; without them it must be a constant 0", name, out.kind, ll(index.value));
    if (rows) fail(GGEMM_ERROR_ARGUMENT, "%s=%lld without %s: it must be 0", rows_name, ll(rows), name);
  } else if (desc.form != GGEMM_GROUPS_RAGGED_M) {
    fail(GGEMM_ERROR_ARGUMENT, "%s is given with form=%s: only rows of a ragged m lie where an index says", name, forms[desc.form]);
  }
  out.value = rows;
  return out;
}

void check_rows(const ggemm_grouped_desc& desc, GroupedProblem& p) {
  p.a_index = check_index(desc, desc.a_index, desc.a_rows, "a_index", "a_rows");
  p.d_index = check_index(desc, desc.d_index, desc.d_rows, "d_index", "d_rows");
  if (desc.d_index_unique > 1) fail(GGEMM_ERROR_ARGUMENT, "d_index_unique=%u must be 0 or 1", desc.d_index_unique);
  if (desc.d_index_unique && is_constant(p.d_index)) fail(GGEMM_ERROR_ARGUMENT, "d_index_unique=1 without d_index: it must be 0");
  if (!is_constant(p.a_index)) p.type.grouped |= gathered_rows;
  if (!is_constant(p.d_index)) p.type.grouped |= scattered_rows;
  if (!is_constant(p.d_index) && !desc.d_index_unique) p.type.grouped |= summed_rows;
  if (desc.checked > 1) fail(GGEMM_ERROR_ARGUMENT, "checked=%u must be 0 or 1", desc.checked);
  if (desc.checked) p.type.grouped |= checked_groups;
}

void check_form(const ggemm_grouped_desc& desc) {
  if (static_cast<unsigned>(desc.form) > GGEMM_GROUPS_BATCH)
    fail(GGEMM_ERROR_ARGUMENT, "form=%d is not a ggemm_grouped_form", static_cast<int>(desc.form));
  if (desc.form != GGEMM_GROUPS_POINTERS && desc.struct_size < forms_size)
    fail(GGEMM_ERROR_VERSION, "form=%s with struct_size=%zu < %zu: the program was built with a header that does not know it", forms[desc.form],
         desc.struct_size, forms_size);
  const bool ragged = desc.form == GGEMM_GROUPS_RAGGED_M || desc.form == GGEMM_GROUPS_RAGGED_K;
  if (!ragged) refuse_given(desc.ends, "ends", forms[desc.form]);
  if (desc.form != GGEMM_GROUPS_MASKED) refuse_given(desc.counts, "counts", forms[desc.form]);
}

// Which sizes are constants, and which say what is stored.
void check_sizes(const ggemm_grouped_desc& desc, const kernels::Source& m, const kernels::Source& n, const kernels::Source& k) {
  const char* const form = forms[desc.form];
  const bool ragged_m = desc.form == GGEMM_GROUPS_RAGGED_M, ragged_k = desc.form == GGEMM_GROUPS_RAGGED_K;
  if (ragged_m) require_constant(m, "m", form, "the rows of A and D in all");
  if (ragged_k) require_constant(k, "k", form, "the columns of A and rows of B in all");
  if (ragged_k) require_constant(m, "m", form, "as A is one matrix");
  if (ragged_m) require_constant(k, "k", form, "as A is one matrix");
  if (ragged_m || ragged_k) require_constant(n, "n", form, ragged_m ? "as D is one matrix" : "as B is one matrix");
  if (desc.form == GGEMM_GROUPS_MASKED) require_constant(m, "m", form, "the rows that each group has room for");
}

// The hint, or what the sizes say.
int64_t expected(int64_t hint, const kernels::Source& source, int64_t groups) {
  if (hint) return hint;
  if (is_constant(source) || source.mode == kernels::source_count) return source.value;
  return source.mode == kernels::source_ends ? kernels::ceil_div(source.value, std::max<int64_t>(groups, 1)) : 0;
}

// The addresses of an operand of all groups, if it leaves none out.
Extent dense_groups(const GroupedLayout& layout, const void* data, int dtype, int64_t groups, const kernels::Source& rows,
                    const kernels::Source& cols) {
  if (layout.pointers || !is_constant(rows) || !is_constant(cols) || !is_constant(layout.row_stride) || !is_constant(layout.col_stride)) return {};
  const int64_t row_stride = layout.row_stride.value == GGEMM_PACKED ? cols.value : layout.row_stride.value, one = rows.value * cols.value;
  Extent extent = dense_extent({data, row_stride, layout.col_stride.value}, dtype, rows.value, cols.value);
  if (layout.group_stride != 0 && layout.group_stride != one) return {};
  if (extent.end != extent.begin && layout.group_stride)
    extent.end += static_cast<std::uintptr_t>(groups - 1) * static_cast<std::uintptr_t>(one) * dtype_size(dtype);
  return extent;
}

// A scalar of each group, at a stride.
void check_scalar_stride(const ProblemType& type, bool on_device, const void* pointer, int64_t byte_stride, const char* name) {
  if (byte_stride == 0) return;
  const int64_t size = type.sum == Sum::f64 ? 8 : 4;
  if (!pointer) fail(GGEMM_ERROR_ARGUMENT, "%s is NULL with %s_byte_stride=%lld", name, name, ll(byte_stride));
  if (!on_device)
    fail(GGEMM_ERROR_ARGUMENT, "%s_byte_stride=%lld with epilogue.scalars_on_device=0: a scalar of each group must be in device memory", name,
         ll(byte_stride));
  if (byte_stride % size) fail(GGEMM_ERROR_ARGUMENT, "%s_byte_stride=%lld is not a multiple of %lld bytes", name, ll(byte_stride), ll(size));
}

// The rows of A or D: as many as its index leads to, or as there are in the groups.
kernels::Source rows_of(const kernels::Source& index, const kernels::Source& m) {
  return is_constant(index) ? m : kernels::Source{nullptr, 0, index.value, 0, kernels::source_itself};
}

// What goes with an index of rows, and with checked mode.
void bind_rows(const GroupedProblem& problem, const ggemm_grouped_args& args, bool output, kernels::GroupedParams& p) {
  const ProblemType& type = problem.type;
  if (args.row_weights && !(type.grouped & scattered_rows))
    fail(GGEMM_ERROR_ARGUMENT, "row_weights=%p without d_index: they are of rows that go where it says", args.row_weights);
  if (args.row_weights && int_epilogue(type))
    fail(GGEMM_ERROR_ARGUMENT, "row_weights=%p: i8 products stored as i32 take none", args.row_weights);
  if (args.row_weights) check_pointer(args.row_weights, "row_weights", 4, output, "");
  p.rows = {problem.a_index, problem.d_index, static_cast<const float*>(args.row_weights)};
  if (!(type.grouped & checked_groups)) return;
  check_pointer(args.status, "status", 4, true, "checked=1");
  p.status = static_cast<const kernels::i32*>(args.status);
}

bool differ(const kernels::Source& x, const kernels::Source& y) { return is_constant(x) && is_constant(y) && x.value != y.value; }

}  // namespace

kernels::GroupChecks group_checks(const ProblemType& type, bool numbers) {
  const auto size = [](int dtype) { return static_cast<kernels::i32>(dtype_size(dtype)); };
  return {size(type.a), size(type.b), size(type.c), size(type.d), type.bias ? size(type.bias_dtype) : 0, epilogue_dtype(type), numbers, group_shape(type)};
}

const char* form_name(ggemm_grouped_form form) { return forms[form]; }

namespace {

// What of this is known before a call brings pointers (cuda/kernel_params.cpp, uniform_groups).
bool lie_apart(const GroupedProblem& p) {
  const auto told = [](const GroupedLayout& l) { return !l.pointers && is_constant(l.row_stride) && is_constant(l.col_stride); };
  const bool matrices = told(p.a) && told(p.b) && told(p.c) && told(p.d) && (!p.type.scale_a || told(p.scale_a)) && (!p.type.scale_b || told(p.scale_b)) && !(p.type.bias && p.bias.pointers);
  const bool sizes = is_constant(p.n) && is_constant(p.k) && (is_constant(p.m) || p.m.mode != kernels::source_itself);
  // Lines along a ragged m, and blocks of its rows, begin where no map says.
  const bool across = p.m.mode == kernels::source_ends && (p.type.major_a == Major::mn || p.type.scale_a == GGEMM_SCALE_BLOCK_128X128);
  return !matrices || !sizes || across;
}

kernels::SourceMatrix matrix(const GroupedLayout& layout, const void* data, int dtype) {
  // Strides of what has one line may be any.
  const auto bytes = [dtype](int64_t stride) { return static_cast<int64_t>(static_cast<std::uint64_t>(stride) * dtype_size(dtype)); };
  return {data, layout.group_stride == GGEMM_PACKED ? 0 : bytes(layout.group_stride), bytes(layout.start_stride), layout.pointers, 0, layout.row_stride, layout.col_stride};
}

}  // namespace

GroupedProblem check_problem(const ggemm_grouped_desc& desc) {
  GroupedProblem p{};
  p.type = check_type(desc);
  p.type.grouped = grouped_call;
  check_size(desc.groups, "groups");
  if (desc.groups > INT32_MAX - 32) fail(GGEMM_ERROR_ARGUMENT, "groups=%lld is more than %d", ll(desc.groups), INT32_MAX - 32);
  check_form(desc);
  check_size(desc.expected_m, "expected_m");
  check_size(desc.expected_n, "expected_n");
  check_size(desc.expected_k, "expected_k");
  check_size(desc.expected_largest_m, "expected_largest_m");
  p.form = desc.form;
  p.groups = desc.groups;
  // As the matrices are stored.
  const kernels::Source m = check_size_source(desc.m, "m", p.groups), n = check_size_source(desc.n, "n", p.groups),
                        k = check_size_source(desc.k, "k", p.groups);
  check_sizes(desc, m, n, k);
  check_rows(desc, p);
  const bool ragged_m = desc.form == GGEMM_GROUPS_RAGGED_M, ragged_k = desc.form == GGEMM_GROUPS_RAGGED_K;
  p.stored_m = m, p.stored_k = k;
  p.a = check_grouped_matrix(place_a, desc, desc.a, p.type.a, {rows_of(p.a_index, p.stored_m), k, ragged_m, ragged_k});
  p.b = check_grouped_matrix(place_b, desc, desc.b, p.type.b, {k, n, ragged_k, false});
  const kernels::Source no_rows{nullptr, 0, 0, GGEMM_SOURCE_CONST, kernels::source_itself};
  p.c = check_grouped_matrix(place_c, desc, desc.c, p.type.c, {p.type.gate ? no_rows : m, n, ragged_m, false});  // there is no C of pairs
  kernels::Source columns = n;
  if (is_constant(n)) check_even(p.type, n.value), columns.value = columns_of_d(p.type, n.value);
  p.d = check_grouped_matrix(place_of_d(p.type), desc, desc.d, p.type.d, {rows_of(p.d_index, p.stored_m), columns, ragged_m, false});
  if (!is_constant(p.a_index)) p.a.start_stride = 0;
  if (!is_constant(p.d_index)) p.d.start_stride = 0;
  check_scales(p, desc, rows_of(p.a_index, p.stored_m), n, k);
  require_distance(place_a, p.a);
  require_distance(place_b, p.b);
  require_distance(place_d, p.d);
  p.bias = check_bias(desc, p.type, m, n);
  p.m = ragged_m ? ends_of(desc, m.value) : desc.form == GGEMM_GROUPS_MASKED ? counts_of(desc, m.value) : m;
  p.n = n;
  p.k = ragged_k ? ends_of(desc, k.value) : k;
  p.scalars = scalars(desc.epilogue);
  p.max_ctas = desc.max_ctas;
  p.expected_m = expected(desc.expected_m, p.m, p.groups);
  p.expected_n = expected(desc.expected_n, p.n, p.groups);
  p.expected_k = expected(desc.expected_k, p.k, p.groups);
  p.expected_largest_m = is_constant(p.m) ? p.expected_m : desc.expected_largest_m;
  // A packed row stride is not a unit stride even when there is one column.
  const auto unit = [](const ggemm_source& s) { return s.kind == GGEMM_SOURCE_CONST && s.value == 1; };
  p.type.major_a = !is_constant(p.a.col_stride, 1) && unit(desc.a.row_stride) ? Major::mn : Major::k;
  p.type.major_b = !unit(desc.b.row_stride) && is_constant(p.b.col_stride, 1) ? Major::mn : Major::k;
  p.type.major_d = !is_constant(p.d.col_stride, 1) && unit(desc.d.row_stride) ? Major::mn : Major::k;
  if (lie_apart(p)) p.type.grouped |= apart_groups;
  const bool alike = is_constant(p.m) && is_constant(p.n) && is_constant(p.k) && is_constant(p.a_index) && is_constant(p.d_index);
  if (alike && !(p.type.grouped & (apart_groups | checked_groups)) && !p.type.limited && !scaled_by_blocks(p.type) && p.type.gate != GGEMM_GATE_HALVES) p.type.grouped |= batch_groups;
  // Of what all groups have together one may have all.
  const auto known = [](const kernels::Source& size) { return is_constant(size) ? size.value : 0; };
  p.type.unreachable = long_side(p.type, known(m), known(n), known(k));
  if (p.type.grouped & batch_groups) p.type.unreachable |= unreachable_operands(p.type, checks::described(p));
  return in_rows(p);
}

kernels::GroupedParams checks::described(const GroupedProblem& problem) {
  kernels::GroupedParams p{};
  p.groups = problem.groups;
  p.m = problem.m, p.n = problem.n, p.k = problem.k;
  p.a = matrix(problem.a, nullptr, problem.type.a);
  p.b = matrix(problem.b, nullptr, problem.type.b);
  p.d = matrix(problem.d, nullptr, problem.type.d);
  p.rows.a_index = problem.a_index, p.rows.d_index = problem.d_index;
  p.epilogue = bind_epilogue(problem.type, problem.scalars, nullptr, nullptr);
  return p;
}

kernels::GroupedParams bind(const GroupedProblem& problem, const ggemm_grouped_args& args) {
  if (problem.type.transposed) return transposed(bind(transposed(problem), args));
  const ProblemType& type = problem.type;
  kernels::GroupedParams p = checks::described(problem);
  p.a.data = args.a, p.b.data = args.b, p.d.data = args.d;
  p.c = matrix(problem.c, args.c, type.c);
  p.scale_a = matrix(problem.scale_a, type.scale_a ? args.scale_a : nullptr, GGEMM_F32);
  p.scale_b = matrix(problem.scale_b, type.scale_b ? args.scale_b : nullptr, GGEMM_F32);
  const int64_t bias_size = static_cast<int64_t>(dtype_size(type.bias_dtype));
  p.bias = {args.bias, problem.bias.group_stride * bias_size, problem.bias.start_stride * bias_size, problem.bias.pointers, 0};
  check_scalar_stride(type, problem.scalars.on_device, args.alpha, args.alpha_byte_stride, "alpha");
  check_scalar_stride(type, problem.scalars.on_device, args.beta, args.beta_byte_stride, "beta");
  p.epilogue = bind_epilogue(type, problem.scalars, args.alpha, args.beta);
  p.alpha_stride = args.alpha_byte_stride, p.beta_stride = args.beta_byte_stride;
  p.raster = 1;
  p.max_ctas = static_cast<kernels::u32>(problem.max_ctas);

  const auto nothing = [](const kernels::Source& s) { return is_constant(s, 0); };
  const bool output = p.groups > 0 && !nothing(problem.stored_m) && !nothing(p.n), product = output && !nothing(problem.stored_k);
  const bool reads_c = output && !is_zero(type, p.epilogue.beta);
  check_no_c(type, reads_c, p.epilogue.beta);
  const auto check = [](const GroupedLayout& layout, const void* data, const char* field, int dtype, bool used, const char* why) {
    check_pointer(data, field, layout.pointers ? 8 : dtype_size(dtype), used, why);
  };
  check(problem.a, args.a, "a", type.a, product, "groups above 0");
  check(problem.b, args.b, "b", type.b, product, "groups above 0");
  check(problem.d, args.d, "d", type.d, output, "groups above 0");
  check(problem.c, args.c, "c", type.c, reads_c, why_c(p.epilogue.beta));
  if (type.scale_a) check(problem.scale_a, args.scale_a, "scale_a", GGEMM_F32, product, "groups above 0");
  if (type.scale_b) check(problem.scale_b, args.scale_b, "scale_b", GGEMM_F32, product, "groups above 0");
  if (type.bias) check_pointer(args.bias, "bias", problem.bias.pointers ? 8 : dtype_size(type.bias_dtype), output, "epilogue.bias set");
  if (product) {
    const auto in_all = [&](const GroupedLayout& layout, const void* data, int dtype, const kernels::Source& rows, const kernels::Source& cols) {
      return dense_groups(layout, data, dtype, p.groups, rows, cols);
    };
    const Extent d = in_all(problem.d, args.d, type.d, rows_of(problem.d_index, problem.stored_m), columns_of_d(type, p.n));
    const auto same = [&](const GroupedLayout& layout, const void* data) { return !layout.pointers && !problem.d.pointers && data == args.d; };
    const bool in_a =
        same(problem.a, args.a) || d.overlaps(in_all(problem.a, args.a, type.a, rows_of(problem.a_index, problem.stored_m), problem.stored_k));
    if (in_a || same(problem.b, args.b) || d.overlaps(in_all(problem.b, args.b, type.b, problem.stored_k, p.n)))
      fail(GGEMM_ERROR_ARGUMENT, "d=%p overlaps %s=%p: D must not overlap A or B", args.d, in_a ? "a" : "b", in_a ? args.a : args.b);
  }
  if (reads_c && args.c != args.d) {
    const Extent c = dense_groups(problem.c, args.c, type.c, p.groups, problem.stored_m, p.n);
    if (c.overlaps(dense_groups(problem.d, args.d, type.d, p.groups, rows_of(problem.d_index, problem.stored_m), p.n)))
      fail(GGEMM_ERROR_ARGUMENT, "d=%p overlaps c=%p: C must be D itself, or lie elsewhere", args.d, args.c);
  }
  if (reads_c && !problem.c.pointers) {
    require_distance(place_c, problem.c);
    const bool unlike = type.c != type.d || problem.c.group_stride != problem.d.group_stride || differ(problem.c.row_stride, problem.d.row_stride) ||
                        differ(problem.c.col_stride, problem.d.col_stride);
    if (args.c == args.d && (type.grouped & scattered_rows))
      fail(GGEMM_ERROR_ARGUMENT, "c is d with d_index: C is in the groups' order, and must not be D");
    if (args.c == args.d && unlike)
      fail(GGEMM_ERROR_ARGUMENT, "c is d but their dtypes (%s, %s), strides or group strides differ", dtype_name(type.c), dtype_name(type.d));
  }
  if (!reads_c) p.c.data = nullptr;
  // Of groups' pointers that are not looked at the array is not read either: it may be anything.
  for (kernels::SourceMatrix* operand : {&p.a, &p.b, &p.scale_a, &p.scale_b})
    if (!product && operand->pointers) operand->data = nullptr;
  if (!output && p.d.pointers) p.d.data = nullptr;
  if (!output || !type.bias) p.bias.data = nullptr;
  bind_rows(problem, args, output, p);
  return p;
}

}  // namespace ggemm::core
