// SPDX-License-Identifier: Apache-2.0
// Calls of which the tensor copy engine moves all that is moved. Of groups it has to be known on the host, from what all of them have in common; what this says of a call, kernels/prepare.cu then finds of each group.
#include <optional>

#include "core/config.hpp"
#include "core/problem_checks.hpp"

namespace ggemm::core {

using namespace checks;

namespace {
bool constant(const kernels::Source& source) { return source.kind == GGEMM_SOURCE_CONST; }

// Elements from row to row and from column to column, if the host knows them of all groups. columns: of the matrix.
struct Strides {
  std::int64_t row, column;
};
std::optional<Strides> known_strides(const kernels::SourceMatrix& m, const kernels::Source& columns) {
  const bool packed = m.row_stride.value == kernels::packed_stride;
  if (!constant(m.row_stride) || !constant(m.col_stride) || (packed && !constant(columns))) return std::nullopt;
  return Strides{packed ? columns.value : m.row_stride.value, m.col_stride.value};
}

}  // namespace

bool by_engine(const ProblemType& type, const kernels::GemmParams& p) {
  // A and B that it does not reach are copied first.
  const kernels::Lines d = kernels::lines_of(p.d, p.m, columns_of_d(type, p.n), type.major_d == Major::mn);
  return is_zero(type, p.epilogue.beta) && kernels::store_way(d, static_cast<int>(dtype_size(type.d))) == kernels::TensorStore::boxes;
}

bool by_engine(const ProblemType& type, const kernels::GroupedParams& p) {
  const auto bounded = [&](const kernels::Source& size) { return (constant(size) || size.mode != kernels::source_itself) && size.value <= kernels::longest_side; };
  if (!is_zero(type, p.epilogue.beta) || p.rows.a_index.kind || p.rows.d_index.kind || !bounded(p.m) || !constant(p.n) || !bounded(p.n) || !bounded(p.k)) return false;
  // Operands that are turned are gathered, or copied, as memory for that allows.
  if (by_terms(type, Family::sm90) || (dtype_size(type.a) != 2 && (type.major_a != Major::k || type.major_b != Major::k))) return false;
  // Every group's lines begin and follow one another at multiples of 16 bytes; whole_lines: groups are whole lines apart, as D's are where one map tells all of them. half: as Lines has it.
  const bool batch = type.grouped & batch_groups;  // whose products are a dimension of its maps, or have the same
  const auto reached = [&](const kernels::SourceMatrix& m, int dtype, bool by_columns, const kernels::Source& rows, const kernels::Source& columns, bool whole_lines = false, std::int64_t half = 0) {
    const std::optional<Strides> strides = known_strides(m, columns);
    if (m.pointers || !strides) return false;
    const kernels::Lines lines{m.data, 1, 2, by_columns ? strides->row : strides->column, by_columns ? strides->column : strides->row, half};
    const std::int64_t size = static_cast<std::int64_t>(dtype_size(dtype));
    if (lines.unit != 1 || !kernels::aligned(lines, static_cast<int>(size)) || m.group_bytes % 16 || m.start_bytes % 16) return false;
    if (batch) return m.group_bytes == 0 || kernels::products_apart(m.group_bytes, (by_columns ? rows : columns).value * size);
    return !whole_lines || m.group_bytes % (lines.stride * size) == 0;
  };
  const kernels::Source columns = columns_of_d(type, p.n);
  if (!reached(p.a, type.a, type.major_a == Major::mn, p.m, p.k) || !reached(p.b, type.b, type.major_b == Major::k, p.k, p.n, false, type.gate == GGEMM_GATE_HALVES ? p.n.value / 2 : 0) || !reached(p.d, type.d, type.major_d == Major::mn, p.m, columns, true)) return false;
  // Lines of D are whole vectors.
  const bool down = type.major_d == Major::mn;
  return (!down || constant(p.m)) && (down ? p.m : columns).value * static_cast<std::int64_t>(dtype_size(type.d)) % 16 == 0;
}

std::uint8_t unreachable_operands(const ProblemType& type, const kernels::GroupedParams& p) {
  const auto check = [](const kernels::SourceMatrix& m, int dtype, bool by_columns, const kernels::Source& columns) -> int {
    const std::optional<Strides> strides = known_strides(m, columns);
    if (!strides) return 0;
    const std::int64_t unit = by_columns ? strides->row : strides->column, stride = by_columns ? strides->column : strides->row, size = static_cast<std::int64_t>(dtype_size(dtype));
    if (unit != 1) return operand_a | strided_a;
    return static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(size) % 16 || m.group_bytes % 16 ? operand_a : 0;  // a description may say any
  };
  return static_cast<std::uint8_t>(check(p.a, type.a, type.major_a == Major::mn, p.k) | check(p.b, type.b, type.major_b == Major::k, p.n) << 1);
}

namespace {
// Whether D's strides keep its lines from the engine, if the host knows.
std::optional<bool> lines_by_strides(const ProblemType& type, const kernels::GroupedParams& p) {
  const std::optional<Strides> strides = known_strides(p.d, columns_of_d(type, p.n));
  if (!strides) return std::nullopt;
  const bool down = type.major_d == Major::mn;
  const std::int64_t unit = down ? strides->row : strides->column, stride = down ? strides->column : strides->row;
  return unit == 1 && static_cast<std::uint64_t>(stride) * dtype_size(type.d) % 16 != 0;  // a description may say any
}
}  // namespace

bool has_lines(const ProblemType& type, const kernels::GroupedParams& p, bool met) {
  if (!is_zero(type, p.epilogue.beta)) return false;
  const std::optional<bool> known = lines_by_strides(type, p);
  return known && (*known || !p.d.pointers) ? *known || reinterpret_cast<std::uintptr_t>(p.d.data) % 16 != 0 : met;
}

bool may_have_lines(const GroupedProblem& problem) {
  const kernels::GroupedParams p = described(problem);
  return is_zero(problem.type, p.epilogue.beta) && lines_by_strides(problem.type, p).value_or(true);
}

bool may_be_by_engine(const Problem& problem) { return by_engine(problem.type, described(problem)); }
bool may_be_by_engine(const GroupedProblem& problem) { return by_engine(problem.type, described(problem)); }

}  // namespace ggemm::core
