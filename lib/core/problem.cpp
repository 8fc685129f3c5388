// SPDX-License-Identifier: Apache-2.0
#include "core/problem.hpp"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/problem_checks.hpp"
#include "lines.cuh"

namespace ggemm::core {

using namespace checks;

namespace checks {
namespace {

using std::int64_t;

struct DtypeInfo {
  const char* name;
  bool input;
};
// Indexed by ggemm_dtype.
constexpr DtypeInfo dtypes[] = {{"none", false}, {"f64", true}, {"f32", true}, {"f16", true}, {"bf16", true}, {"e4m3", true}, {"e5m2", true}, {"i8", true}, {"i32", false}};
constexpr int dtype_count = sizeof dtypes / sizeof dtypes[0];
constexpr const char* activations[] = {"none", "relu", "leaky_relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "clamp"};

static_assert(static_cast<int>(kernels::Dtype::i32) == GGEMM_I32 && static_cast<int>(kernels::Dtype::f64) == GGEMM_F64 && static_cast<int>(kernels::Dtype::e5m2) == GGEMM_E5M2);
static_assert(sizeof(kernels::Source) == sizeof(ggemm_source) && kernels::packed_stride == GGEMM_PACKED);

void check_dtype(int dtype, const char* field, bool input) {
  if (dtype <= 0 || dtype >= dtype_count) fail(GGEMM_ERROR_ARGUMENT, "%s=%d is not a ggemm_dtype%s", field, dtype, dtype == 0 ? " (it must be given)" : "");
  if (input && !dtypes[dtype].input) fail(GGEMM_ERROR_ARGUMENT, "%s=%s: A and B take f64, f32, f16, bf16, e4m3, e5m2 and i8", field, dtypes[dtype].name);
}

}  // namespace

void check_reserved(int64_t value, const char* owner, const char* field) {
  if (value != 0) fail(GGEMM_ERROR_ARGUMENT, "%s%s=%lld: reserved words must be 0", owner, field, ll(value));
}

void check_strides(const Place& place, int dtype, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols) {
  if (rows <= 0 || cols <= 0) return;
  const auto magnitude = [](int64_t v) { return v < 0 ? -v : v; };
  if (place.output && row_stride == 0 && rows > 1) fail(GGEMM_ERROR_ARGUMENT, "%s.row_stride=0 with %s=%lld: rows of D must not coincide", place.name, place.rows, ll(rows));
  if (place.output && col_stride == 0 && cols > 1) fail(GGEMM_ERROR_ARGUMENT, "%s.col_stride=0 with %s=%lld: columns of D must not coincide", place.name, place.cols, ll(cols));
  // Elements (i, j) and (i + col_stride / g, j - row_stride / g) share an address.
  if (place.output && magnitude(row_stride) > 1 && magnitude(col_stride) > 1) {
    const int64_t g = std::gcd(row_stride, col_stride);
    if (magnitude(col_stride) / g < rows && magnitude(row_stride) / g < cols)
      fail(GGEMM_ERROR_ARGUMENT, "%s.row_stride=%lld, %s.col_stride=%lld with %s=%lld, %s=%lld: elements of D must not coincide", place.name,
           ll(row_stride), place.name, ll(col_stride), place.rows, ll(rows), place.cols, ll(cols));
  }
  const bool row_major = magnitude(col_stride) == 1, col_major = magnitude(row_stride) == 1;
  const bool rows_meet = row_major && rows > 1 && row_stride != 0 && magnitude(row_stride) < cols;
  const bool cols_meet = col_major && cols > 1 && col_stride != 0 && magnitude(col_stride) < rows;
  // Either reading may be meant; it is wrong only if no reading holds.
  if (rows_meet && !(col_major && !cols_meet))
    fail(GGEMM_ERROR_ARGUMENT, "%s.row_stride=%lld < %s=%lld (%s is row-major): rows overlap", place.name, ll(row_stride), place.cols, ll(cols), place.name);
  if (cols_meet && !(row_major && !rows_meet))
    fail(GGEMM_ERROR_ARGUMENT, "%s.col_stride=%lld < %s=%lld (%s is column-major): columns overlap", place.name, ll(col_stride), place.rows, ll(rows), place.name);
  int64_t down, across, span;
  if (__builtin_mul_overflow(rows - 1, magnitude(row_stride), &down) || __builtin_mul_overflow(cols - 1, magnitude(col_stride), &across) || __builtin_add_overflow(down, across, &span) ||
      __builtin_mul_overflow(span, static_cast<int64_t>(dtype_size(dtype)), &span))
    fail(GGEMM_ERROR_ARGUMENT, "%s: %lldx%lld elements with strides %lld, %lld do not fit in 2^63 bytes", place.name, ll(rows), ll(cols), ll(row_stride), ll(col_stride));
}

MatrixLayout check_matrix(const Place& place, const ggemm_matrix& matrix, int dtype, int64_t rows, int64_t cols) {
  check_reserved(matrix.reserved0, place.name, ".reserved0");
  check_reserved(matrix.reserved1, place.name, ".reserved1");
  MatrixLayout layout{matrix.row_stride, matrix.col_stride == GGEMM_PACKED ? 1 : matrix.col_stride, matrix.row_stride == GGEMM_PACKED, false};
  if (layout.packed_rows && layout.col_stride != 1)
    fail(GGEMM_ERROR_ARGUMENT, "%s.row_stride=GGEMM_PACKED with %s.col_stride=%lld: a packed row stride needs col_stride 1 or GGEMM_PACKED", place.name, place.name, ll(layout.col_stride));
  if (layout.packed_rows) layout.row_stride = cols;
  check_strides(place, dtype, layout.row_stride, layout.col_stride, rows, cols);
  return layout;
}

namespace {

Sum sum_type(int a, int b) {
  if (a == GGEMM_F64 || b == GGEMM_F64) return Sum::f64;
  return a == GGEMM_I8 && b == GGEMM_I8 ? Sum::i32 : Sum::f32;
}

void check_int_epilogue(const ProblemType& type, const ggemm_epilogue_desc& e) {
  if (type.c != GGEMM_I32) fail(GGEMM_ERROR_ARGUMENT, "c.dtype=%s: i8 products stored as i32 take C as i32", dtypes[type.c].name);
  if (type.bias && type.bias_dtype != GGEMM_I32) fail(GGEMM_ERROR_ARGUMENT, "epilogue.bias_dtype=%s: i8 products stored as i32 take an i32 bias", dtypes[type.bias_dtype].name);
  if (type.activation != GGEMM_ACTIVATION_NONE && type.activation != GGEMM_ACTIVATION_RELU && type.activation != GGEMM_ACTIVATION_CLAMP)
    fail(GGEMM_ERROR_ARGUMENT, "epilogue.activation=%s: i8 products stored as i32 take none, relu or clamp", activations[type.activation]);
  const auto whole = [](double v) { return v >= -2147483648.0 && v <= 2147483647.0 && v == std::rint(v); };
  if (type.activation == GGEMM_ACTIVATION_CLAMP && (!whole(e.activation_p0) || !whole(e.activation_p1)))
    fail(GGEMM_ERROR_ARGUMENT, "epilogue.activation_p0=%g, activation_p1=%g: clamping i32 takes integers in its range", e.activation_p0, e.activation_p1);
}

}  // namespace

template <class Desc>
ProblemType check_type(const Desc& desc) {
  check_dtype(desc.a.dtype, "a.dtype", true);
  check_dtype(desc.b.dtype, "b.dtype", true);
  check_dtype(desc.d.dtype, "d.dtype", false);
  if (desc.c.dtype != GGEMM_DTYPE_NONE) check_dtype(desc.c.dtype, "c.dtype", false);
  const ggemm_epilogue_desc& e = desc.epilogue;
  if (static_cast<unsigned>(e.activation) > GGEMM_ACTIVATION_CLAMP) fail(GGEMM_ERROR_ARGUMENT, "epilogue.activation=%d is not a ggemm_activation", static_cast<int>(e.activation));
  if (static_cast<unsigned>(e.bias) > GGEMM_BIAS_PER_ROW) fail(GGEMM_ERROR_ARGUMENT, "epilogue.bias=%d is not a ggemm_bias", static_cast<int>(e.bias));
  if (e.bias && e.bias_dtype != GGEMM_DTYPE_NONE) check_dtype(e.bias_dtype, "epilogue.bias_dtype", false);
  if (e.scalars_on_device > 1) fail(GGEMM_ERROR_ARGUMENT, "epilogue.scalars_on_device=%u must be 0 or 1", e.scalars_on_device);
  check_reserved(e.reserved0, "epilogue", ".reserved0");
  check_reserved(e.reserved1, "epilogue", ".reserved1");
  if (std::isnan(e.activation_p0) || std::isnan(e.activation_p1)) fail(GGEMM_ERROR_ARGUMENT, "epilogue.activation_p0=%g, activation_p1=%g must not be NaN", e.activation_p0, e.activation_p1);
  if (e.activation == GGEMM_ACTIVATION_CLAMP && e.activation_p0 > e.activation_p1)
    fail(GGEMM_ERROR_ARGUMENT, "epilogue.activation_p0=%g > activation_p1=%g: clamp takes the low end first", e.activation_p0, e.activation_p1);
  if (static_cast<unsigned>(desc.compute) > GGEMM_COMPUTE_F32_ACCURATE) fail(GGEMM_ERROR_ARGUMENT, "compute=%d is not a ggemm_compute", static_cast<int>(desc.compute));
  if ((desc.compute == GGEMM_COMPUTE_TF32 || desc.compute == GGEMM_COMPUTE_F32_ACCURATE) && (desc.a.dtype != GGEMM_F32 || desc.b.dtype != GGEMM_F32))
    fail(GGEMM_ERROR_ARGUMENT, "compute=%s with a.dtype=%s, b.dtype=%s: it takes f32 and f32", desc.compute == GGEMM_COMPUTE_TF32 ? "tf32" : "f32_accurate", dtypes[desc.a.dtype].name, dtypes[desc.b.dtype].name);
  if (desc.compute == GGEMM_COMPUTE_FP8_FAST && (!fp8(desc.a.dtype) || !fp8(desc.b.dtype)))
    fail(GGEMM_ERROR_ARGUMENT, "compute=fp8_fast with a.dtype=%s, b.dtype=%s: it takes e4m3 and e5m2", dtypes[desc.a.dtype].name, dtypes[desc.b.dtype].name);
  ProblemType type{};
  type.a = static_cast<std::uint8_t>(desc.a.dtype);
  type.b = static_cast<std::uint8_t>(desc.b.dtype);
  type.d = static_cast<std::uint8_t>(desc.d.dtype);
  type.c = desc.c.dtype ? static_cast<std::uint8_t>(desc.c.dtype) : type.d;
  type.compute = static_cast<std::uint8_t>(desc.compute);
  type.sum = sum_type(type.a, type.b);
  type.activation = static_cast<std::uint8_t>(e.activation);
  type.bias = static_cast<std::uint8_t>(e.bias);
  type.bias_dtype = !e.bias ? 0 : e.bias_dtype ? static_cast<std::uint8_t>(e.bias_dtype) : type.d;
  check_scale_kinds(type, desc.scale_a.kind, desc.scale_b.kind);
  check_gate(type, e.gate);
  if (int_epilogue(type)) check_int_epilogue(type, e);
  if (type.activation == GGEMM_ACTIVATION_LEAKY_RELU && !(std::abs(e.activation_p0) <= (type.sum == Sum::f64 ? DBL_MAX : FLT_MAX)))
    fail(GGEMM_ERROR_ARGUMENT, "epilogue.activation_p0=%g: a slope must be finite in %s, in which the epilogue computes", e.activation_p0, dtypes[epilogue_dtype(type)].name);
  if (desc.max_ctas < 0) fail(GGEMM_ERROR_ARGUMENT, "max_ctas=%d must be 0, for no limit, or more", desc.max_ctas);
  check_reserved(desc.reserved1, "", "reserved1");
  type.limited = desc.max_ctas > 0;
  return type;
}
template ProblemType check_type(const ggemm_grouped_desc&);

void check_size(int64_t value, const char* field) {
  if (value < 0) fail(GGEMM_ERROR_ARGUMENT, "%s=%lld: sizes must be 0 or more", field, ll(value));
}

EpilogueScalars scalars(const ggemm_epilogue_desc& e) {
  const bool clamp = e.activation == GGEMM_ACTIVATION_CLAMP;
  return {e.scalars_on_device != 0, clamp || e.activation == GGEMM_ACTIVATION_LEAKY_RELU ? e.activation_p0 : 0, clamp ? e.activation_p1 : 0};
}

namespace {

// A scalar as the epilogue of this type computes: f64, i32 or f32.
kernels::Scalar bind_scalar(const ProblemType& type, const void* pointer, bool on_device, int fallback, const char* field) {
  const bool f64 = type.sum == Sum::f64, i32 = int_epilogue(type);
  const std::size_t size = f64 ? 8 : 4;
  kernels::Scalar scalar{nullptr, 0};
  if (!pointer) {
    const double d = fallback;
    const float f = static_cast<float>(fallback);
    const std::int32_t i = fallback;
    std::memcpy(&scalar.bits, f64 ? static_cast<const void*>(&d) : i32 ? static_cast<const void*>(&i) : &f, size);
  } else if (on_device) {
    if (reinterpret_cast<std::uintptr_t>(pointer) % size) fail(GGEMM_ERROR_ARGUMENT, "%s=%p is not a multiple of %zu bytes", field, pointer, size);
    scalar.pointer = pointer;
  } else {
    std::memcpy(&scalar.bits, pointer, size);
  }
  return scalar;
}

}  // namespace

bool is_zero(const ProblemType& type, const kernels::Scalar& scalar) {
  if (scalar.pointer) return false;
  if (type.sum == Sum::f64) {
    double v;
    std::memcpy(&v, &scalar.bits, 8);
    return v == 0;
  }
  if (int_epilogue(type)) return static_cast<std::uint32_t>(scalar.bits) == 0;
  float v;
  std::memcpy(&v, &scalar.bits, 4);
  return v == 0;
}

void check_pointer(const void* pointer, const char* field, std::size_t align, bool used, const char* why) {
  if (!used) return;
  if (!pointer) fail(GGEMM_ERROR_ARGUMENT, "%s is NULL with %s", field, why);
  if (reinterpret_cast<std::uintptr_t>(pointer) % align) fail(GGEMM_ERROR_ARGUMENT, "%s=%p is not a multiple of its element's %zu bytes", field, pointer, align);
}

Extent dense_extent(const kernels::Matrix& matrix, int dtype, int64_t rows, int64_t cols) {
  const bool row_major = matrix.col_stride == 1 && (matrix.row_stride == cols || rows == 1);
  const bool col_major = matrix.row_stride == 1 && (matrix.col_stride == rows || cols == 1);
  if (!row_major && !col_major) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(matrix.data);
  return {begin, begin + static_cast<std::uintptr_t>(rows) * static_cast<std::uintptr_t>(cols) * dtype_size(dtype)};
}

kernels::EpilogueParams bind_epilogue(const ProblemType& type, const EpilogueScalars& scalars, const void* alpha, const void* beta) {
  return {bind_scalar(type, alpha, scalars.on_device, 1, "alpha"), bind_scalar(type, beta, scalars.on_device, 0, "beta"), scalars.activation_p0, scalars.activation_p1};
}

kernels::GemmParams described(const Problem& problem) {
  const auto matrix = [](const MatrixLayout& layout) { return kernels::Matrix{nullptr, layout.row_stride, layout.col_stride}; };
  kernels::GemmParams p{};
  p.m = problem.m, p.n = problem.n, p.k = problem.k, p.a = matrix(problem.a), p.b = matrix(problem.b), p.d = matrix(problem.d);
  p.epilogue = bind_epilogue(problem.type, problem.scalars, nullptr, nullptr);
  return p;
}

}  // namespace checks

const char* dtype_name(int dtype) { return dtype > 0 && dtype < dtype_count ? dtypes[dtype].name : "none"; }
const char* activation_name(int activation) { return activation >= 0 && activation <= GGEMM_ACTIVATION_CLAMP ? activations[activation] : "none"; }
const char* sum_name(Sum sum) { return sum == Sum::f64 ? "f64" : sum == Sum::i32 ? "i32" : "f32"; }

Problem check_problem(const ggemm_gemm_desc& desc) {
  Problem p{};
  p.type = check_type(desc);
  check_size(desc.m, "m");
  check_size(desc.n, "n");
  check_size(desc.k, "k");
  check_reserved(desc.reserved0, "", "reserved0");
  check_even(p.type, desc.n);
  p.m = desc.m, p.n = desc.n, p.k = desc.k;
  p.a = check_matrix(place_a, desc.a, p.type.a, p.m, p.k);
  p.b = check_matrix(place_b, desc.b, p.type.b, p.k, p.n);
  p.d = check_matrix(place_of_d(p.type), desc.d, p.type.d, p.m, columns_of_d(p.type, p.n));
  p.c = check_matrix(place_c, desc.c, p.type.c, rows_of_c(p.type, p.m), p.n);
  p.scale_a = check_scale(place_scale_a, desc.scale_a, scale_rows(p.type, p.m), scale_depth(p.type.scale_a, p.k));
  p.scale_b = check_scale(place_scale_b, desc.scale_b, scale_depth(p.type.scale_b, p.k), scale_columns(p.type, p.n));
  p.scalars = scalars(desc.epilogue);
  p.max_ctas = desc.max_ctas;
  // A packed row stride is not a unit stride even when there is one column: the class must not depend on sizes.
  p.type.major_a = p.a.col_stride != 1 && p.a.row_stride == 1 ? Major::mn : Major::k;
  p.type.major_b = (p.b.row_stride != 1 || p.b.packed_rows) && p.b.col_stride == 1 ? Major::mn : Major::k;
  p.type.major_d = p.d.col_stride != 1 && p.d.row_stride == 1 ? Major::mn : Major::k;
  p.type.unreachable = unreachable_operands(p.type, checks::described(p));
  return in_rows(p);
}

std::uint8_t unreachable_operands(const ProblemType& type, const kernels::GemmParams& p) {
  const auto check = [](const kernels::Lines& lines, int dtype) -> int {
    if (!kernels::contiguous(lines)) return operand_a | strided_a;
    return kernels::aligned(lines, static_cast<int>(dtype_size(dtype))) ? 0 : operand_a;
  };
  const int a = check(kernels::lines_of(p.a, p.m, p.k, type.major_a == Major::mn), type.a);
  const kernels::Lines of_b = kernels::lines_of(p.b, p.k, p.n, type.major_b == Major::k);
  const int b = check(type.gate == GGEMM_GATE_HALVES && type.major_b == Major::k ? kernels::in_pairs(of_b) : of_b, type.b);
  return static_cast<std::uint8_t>(a | b << 1 | long_side(type, p.m, p.n, p.k));
}

kernels::GemmParams bind(const Problem& problem, const ggemm_gemm_args& args) {
  if (problem.type.transposed) return kernels::transposed(bind(transposed(problem), args));
  const auto size = [](int64_t given, int64_t described, const char* field) {
    if (given == GGEMM_AS_DESCRIBED) return described;
    check_size(given, field);
    return given;
  };
  kernels::GemmParams p{};
  p.m = size(args.m, problem.m, "args.m");
  p.n = size(args.n, problem.n, "args.n");
  p.k = size(args.k, problem.k, "args.k");
  const bool other = p.m != problem.m || p.n != problem.n || p.k != problem.k;
  const auto matrix = [&](const Place& place, const MatrixLayout& layout, int dtype, const void* data, int64_t rows, int64_t cols) {
    const int64_t row_stride = layout.packed_rows ? cols : layout.row_stride, col_stride = layout.packed_cols ? rows : layout.col_stride;
    if (other) check_strides(place, dtype, row_stride, col_stride, rows, cols);
    return kernels::Matrix{data, row_stride, col_stride};
  };
  p.a = matrix(place_a, problem.a, problem.type.a, args.a, p.m, p.k);
  p.b = matrix(place_b, problem.b, problem.type.b, args.b, p.k, p.n);
  check_even(problem.type, p.n);
  p.d = matrix(place_of_d(problem.type), problem.d, problem.type.d, args.d, p.m, columns_of_d(problem.type, p.n));
  p.c = matrix(place_c, problem.c, problem.type.c, args.c, rows_of_c(problem.type, p.m), p.n);
  p.bias = args.bias;
  p.epilogue = bind_epilogue(problem.type, problem.scalars, args.alpha, args.beta);
  p.raster = 1;
  p.max_ctas = static_cast<kernels::u32>(problem.max_ctas);
  const bool output = p.m > 0 && p.n > 0, product = output && p.k > 0;
  const bool reads_c = output && !is_zero(problem.type, p.epilogue.beta);
  check_no_c(problem.type, reads_c, p.epilogue.beta);
  check_pointer(args.a, "a", dtype_size(problem.type.a), product, "m, n and k above 0");
  check_pointer(args.b, "b", dtype_size(problem.type.b), product, "m, n and k above 0");
  check_pointer(args.d, "d", dtype_size(problem.type.d), output, "m and n above 0");
  check_pointer(args.c, "c", dtype_size(problem.type.c), reads_c, why_c(p.epilogue.beta));
  if (problem.type.bias) check_pointer(args.bias, "bias", dtype_size(problem.type.bias_dtype), output, "epilogue.bias set");
  if (product) {
    const Extent d = dense_extent(p.d, problem.type.d, p.m, columns_of_d(problem.type, p.n));
    const bool in_a = args.d == args.a || d.overlaps(dense_extent(p.a, problem.type.a, p.m, p.k));
    if (in_a || args.d == args.b || d.overlaps(dense_extent(p.b, problem.type.b, p.k, p.n)))
      fail(GGEMM_ERROR_ARGUMENT, "d=%p overlaps %s=%p: D must not overlap A or B", args.d, in_a ? "a" : "b", in_a ? args.a : args.b);
  }
  if (reads_c && args.c == args.d && (problem.type.c != problem.type.d || (p.m > 1 && p.c.row_stride != p.d.row_stride) || (p.n > 1 && p.c.col_stride != p.d.col_stride)))
    fail(GGEMM_ERROR_ARGUMENT, "c is d but their dtypes (%s, %s) or strides (%lld, %lld and %lld, %lld) differ", dtype_name(problem.type.c), dtype_name(problem.type.d), ll(p.c.row_stride), ll(p.c.col_stride),
         ll(p.d.row_stride), ll(p.d.col_stride));
  if (reads_c && args.c != args.d && dense_extent(p.c, problem.type.c, p.m, p.n).overlaps(dense_extent(p.d, problem.type.d, p.m, p.n)))
    fail(GGEMM_ERROR_ARGUMENT, "d=%p overlaps c=%p: C must be D itself, or lie elsewhere", args.d, args.c);
  if (!reads_c) p.c.data = nullptr;
  if (!product) return p;
  const auto scale = [&](const Place& place, int kind, const MatrixLayout& layout, const void* data, int64_t rows, int64_t cols) {
    if (!kind) return kernels::Matrix{nullptr, 0, 0};
    check_pointer(data, place.name, dtype_size(GGEMM_F32), true, "m, n and k above 0");
    if (data == args.d) fail(GGEMM_ERROR_ARGUMENT, "d=%p is %s too: D must not overlap the scales", args.d, place.name);
    return matrix(place, layout, GGEMM_F32, data, rows, cols);
  };
  p.scale_a = scale(place_scale_a, problem.type.scale_a, problem.scale_a, args.scale_a, scale_rows(problem.type, p.m), scale_depth(problem.type.scale_a, p.k));
  p.scale_b = scale(place_scale_b, problem.type.scale_b, problem.scale_b, args.scale_b, scale_depth(problem.type.scale_b, p.k), scale_columns(problem.type, p.n));
  return p;
}

}  // namespace ggemm::core
