// SPDX-License-Identifier: Apache-2.0
// A validated problem. Everything that a user can get wrong in a description or in arguments is checked by `lib/core`, but for what a function of `lib/api` takes besides, and what groups have in memory.
#pragma once
#include <cstdint>

#include "ggemm.h"
#include "grouped_call.cuh"
#include "params.cuh"
#include "tile/scales.cuh"

namespace ggemm::core {

// The type that products are summed in.
enum class Sum : std::uint8_t { f32 = 0, f64 = 1, i32 = 2 };
// Along which index an operand is contiguous: k, or its other one (m for A, n for B). An operand with no unit stride counts as k.
enum class Major : std::uint8_t { k = 0, mn = 1 };

// What a kernel is compiled for, besides its configuration, and what else its choice depends on (unreachable, of which unaligned_operands is compiled in, apart_groups). Bytes only, so that it can be hashed and compared as memory.
struct ProblemType {
  std::uint8_t a, b, c, d, bias_dtype;  // ggemm_dtype; c and bias_dtype are resolved; bias_dtype is 0 without a bias
  std::uint8_t compute;                 // ggemm_compute
  Sum sum;
  Major major_a, major_b;
  std::uint8_t activation;  // ggemm_activation
  std::uint8_t bias;        // ggemm_bias
  std::uint8_t grouped;     // 0: plain; else grouped_call and others
  Major major_d;            // mn: D is contiguous along m, k: along n or along neither
  std::uint8_t unreachable; // operand_a, operand_b: those that tensor maps cannot describe, by their strides or addresses (of a batch by strides and distances, of other groups unknown); strided_a, strided_b: of these, those with no unit stride; too_long: a size above kernels::longest_side
  std::uint8_t scale_a : 3, scale_b : 3, gate : 2;  // ggemm_scale_kind, ggemm_gate
  std::uint8_t limited : 1;  // to fewer CTAs at once than the device holds, or to as many
  std::uint8_t by_engine : 1;  // below; the choice does not depend on it, but the kernel of sm90 is another one (kernels/traits.cuh: BY_ENGINE)
  std::uint8_t lines_wait : 1;  // likewise, of groups of which calls have met lines of D that the engine does not reach (kernels/traits.cuh: LINES_WAIT)
  std::uint8_t transposed : 1;  // of what was described (check_problem): for bind, and for what callers read; no kernel depends on it
  std::uint8_t reserved : 4;
  bool operator==(const ProblemType&) const = default;
};

// Of a grouped problem: rows of A that lie where an index says, rows of D that do, those of D that may meet; and that groups are checked before, which needs a kernel of
// its own and nothing of the others.
constexpr std::uint8_t grouped_call = 1, gathered_rows = 2, scattered_rows = 4, summed_rows = 8, checked_groups = 16;
// Groups that differ in more than m and where their parts of operands begin: where each lies is worked out in a launch of its own, ahead of kernels that copy by tensor maps. (Of others, too, where alignment or
// distances ask for it, which the class does not tell; and of groups that are checked.) It is for the choice: no kernel is compiled for it.
constexpr std::uint8_t apart_groups = 32;
// Groups that are alike, at distances that the host knows: each is computed as a plain product is, by a kernel of its own (core::compiled).
constexpr std::uint8_t batch_groups = 64;
constexpr std::uint8_t batch_or_indexed = batch_groups | gathered_rows | scattered_rows;  // what kernels of tiles that are cut, or whose lines wait, are not made for

// A or B is scaled by blocks along k.
inline bool scaled_by_blocks(const ProblemType& type) { return kernels::scaled_by_blocks(type.scale_a) || kernels::scaled_by_blocks(type.scale_b); }
inline bool fp8(int dtype) { return dtype == GGEMM_E4M3 || dtype == GGEMM_E5M2; }
inline bool fp8(const ProblemType& type) { return fp8(type.a) && fp8(type.b); }
// Tensor cores' sums are added to others, of full f32, every 128 of k.
inline bool promoted(const ProblemType& type) { return (fp8(type) && type.compute != GGEMM_COMPUTE_FP8_FAST) || scaled_by_blocks(type); }
// D = alpha A B + beta C and nothing else (kernels/traits.cuh: BARE).
inline bool bare(const ProblemType& type) { return !type.activation && !type.bias && !type.scale_a && !type.scale_b && !type.gate; }
// The dtype that the epilogue computes in. Of i8 products that are stored as i32 it has integers alone.
inline bool int_epilogue(const ProblemType& type) { return type.sum == Sum::i32 && type.d == GGEMM_I32; }
inline int epilogue_dtype(const ProblemType& type) { return type.sum == Sum::f64 ? GGEMM_F64 : int_epilogue(type) ? GGEMM_I32 : GGEMM_F32; }
// Columns of D, and of C, of a product of n.
inline std::int64_t columns_of_d(const ProblemType& type, std::int64_t n) { return type.gate ? n / 2 : n; }
inline kernels::Source columns_of_d(const ProblemType& type, kernels::Source n) { return n.value = columns_of_d(type, n.value), n; }
// What kernels::group_params is told of a type.
inline kernels::u32 group_shape(const ProblemType& type) { return kernels::group_shape(type.scale_a, type.scale_b, type.gate); }

constexpr std::uint8_t operand_a = 1, operand_b = 2, strided_a = 4, strided_b = 8, too_long = 16;

// A matrix of a plain problem. packed_rows: the row stride is the number of columns, whatever size a call brings; packed_cols: the column stride that of rows.
struct MatrixLayout {
  std::int64_t row_stride, col_stride;
  bool packed_rows = false, packed_cols = false;
};

struct EpilogueScalars {
  bool on_device;
  double activation_p0, activation_p1;
};

// One plain product. What is described with a D that is contiguous along m alone is the transposed product from here on, so that there is one way to compute it, whose D lies in rows, and its tuning records are
// those of all. (Not pairs, which are columns.)
struct Problem {
  ProblemType type;
  std::int64_t m, n, k;
  MatrixLayout a, b, c, d;
  EpilogueScalars scalars;
  MatrixLayout scale_a, scale_b;
  std::int32_t max_ctas;  // 0: no limit
};

// A matrix of each group: an array of pointers, or one operand for all groups. Strides in elements.
struct GroupedLayout {
  kernels::Source row_stride, col_stride;
  bool pointers = true;
  std::int64_t group_stride = 0;  // from group to group; GGEMM_PACKED where it is not known, and not used either
  std::int64_t start_stride = 0;  // for each row, or step of k, that groups before take
};
struct GroupedBias {
  bool pointers = true;
  std::int64_t group_stride = 0, start_stride = 0;
};

// Transposed as a plain one is where m and n are constants, and D's rows are in order.
struct GroupedProblem {
  ProblemType type;
  ggemm_grouped_form form;
  std::int64_t groups;
  kernels::Source m, n, k;
  kernels::Source stored_m, stored_k;  // of the matrices: what a ragged size is in all, what a masked one has room for
  GroupedLayout a, b, c, d;
  GroupedBias bias;
  kernels::Source a_index, d_index;  // with how many rows A and D have; kind 0: rows in order
  EpilogueScalars scalars;
  std::int64_t expected_m, expected_n, expected_k;  // 0: not known
  std::int64_t expected_largest_m;                  // likewise; of groups that are alike as expected_m
  GroupedLayout scale_a, scale_b;
  std::int32_t max_ctas;  // 0: no limit
};

// The same product with A and B, rows and columns changed over: D' = B' A'. Of a whole problem ProblemType::transposed says the opposite then. (transposed.cpp)
ProblemType transposed(const ProblemType& type);
Problem transposed(const Problem& problem);
GroupedProblem transposed(const GroupedProblem& problem);
kernels::GroupedParams transposed(const kernels::GroupedParams& params);

// Throw Error with GGEMM_ERROR_ARGUMENT or _VERSION and a sentence that names the field and the values.
Problem check_problem(const ggemm_gemm_desc& desc);
GroupedProblem check_problem(const ggemm_grouped_desc& desc);

// Joins a problem with the arguments of one call, which are of the product as it was described: sizes and packed strides resolved, pointers checked. `raster` is left 1.
// In the result m and n may be 0 (nothing to do), k may be 0.
kernels::GemmParams bind(const Problem& problem, const ggemm_gemm_args& args);
kernels::GroupedParams bind(const GroupedProblem& problem, const ggemm_grouped_args& args);

// ProblemType::unreachable. Tensor maps take unit strides in one direction, and in the other, as at the address, multiples of
// 16 bytes; coordinates have 31 bits.
std::uint8_t unreachable_operands(const ProblemType& type, const kernels::GemmParams& params);
// Of a batch, as its strides tell. (by_engine.cpp)
std::uint8_t unreachable_operands(const ProblemType& type, const kernels::GroupedParams& params);

// Whether the tensor copy engine moves all of A, B (or their copies) and D of a call, and C is not read; and whether it may be so in calls of a description: with operands as aligned as it says. (by_engine.cpp)
bool by_engine(const ProblemType& type, const kernels::GemmParams& params);
bool by_engine(const ProblemType& type, const kernels::GroupedParams& params);
bool may_be_by_engine(const Problem& problem);
bool may_be_by_engine(const GroupedProblem& problem);
// Of groups: whether C is not read, and D has lines that the engine does not reach, by its strides or address, or, where the host does not know these, as calls before have `met` some; and whether it may be
// so in calls of a description, with operands that begin at multiples of 16 bytes.
bool has_lines(const ProblemType& type, const kernels::GroupedParams& params, bool met);
bool may_have_lines(const GroupedProblem& problem);

// Where rows of D may meet: bytes of what is computed before they are added up, m rows, in whole 256. Else 0.
std::size_t sum_bytes(const ProblemType& type, std::int64_t m, std::int64_t n);

// What the kernels' check of groups needs to know. numbers: sizes, ends and indices are to be what they say, not cut to what is legal.
kernels::GroupChecks group_checks(const ProblemType& type, bool numbers);

// Bytes of an element; text of an enum. The names of ggemm.h.
inline std::size_t dtype_size(int dtype) {
  constexpr std::uint8_t sizes[] = {0, 8, 4, 2, 2, 1, 1, 1, 4};  // by ggemm_dtype
  return dtype > 0 && dtype < static_cast<int>(sizeof sizes) ? sizes[dtype] : 0;
}
const char* dtype_name(int dtype);
// Behind what names A, B, m or n of the product as it is computed: says so where it is not the one described.
inline const char* which_product(const ProblemType& type) { return type.transposed ? " (of the transposed product, whose A is B, as D is contiguous along m)" : ""; }
const char* activation_name(int activation);
const char* scale_name(int scale);
const char* gate_name(int gate);
const char* sum_name(Sum sum);
const char* form_name(ggemm_grouped_form form);

}  // namespace ggemm::core
