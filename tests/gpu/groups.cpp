// SPDX-License-Identifier: Apache-2.0
// Checked mode: what is wrong in device memory is found there, and nothing is computed then.
#include <cstring>

#include "checks.hpp"

namespace ggemm::tests {
namespace {

struct Told {
  std::int32_t fault, group, field, row;
};

// A number of an array of the case, changed in device memory.
void put(Loaded& loaded, SlotName slot, const Given& given, std::int64_t count, std::int64_t place, std::int64_t value) {
  const std::int64_t first = given.byte_stride < 0 ? -given.byte_stride * (count - 1) : 0;
  const std::int32_t narrow = static_cast<std::int32_t>(value);
  char* const at = loaded.addresses()[slot] + first + place * given.byte_stride;
  if (given.kind == GGEMM_SOURCE_I32)
    loaded.memory().write(at, &narrow, sizeof narrow);
  else
    loaded.memory().write(at, &value, sizeof value);
}

// The status after a run, which leaves D alone if it tells a fault, and makes it right if it tells none.
void expect_told(GpuContext& context, Loaded& loaded, const Told& wanted, const std::string& what) {
  loaded.run(context.get());
  loaded.memory().wait();
  Told told;
  loaded.memory().read(&told, loaded.addresses()[slot_status], sizeof told);
  const auto text = [](const Told& t) {
    return "fault " + std::to_string(t.fault) + " in field " + std::to_string(t.field) + " of group " + std::to_string(t.group) + ", row " +
           std::to_string(t.row);
  };
  expect(!std::memcmp(&told, &wanted, sizeof told), what + ": the status tells " + text(told) + ", not " + text(wanted));
  if (!wanted.fault) return loaded.verify();
  expect(loaded.result() == loaded.images()[slot_d], what + ": D was written");
}

// A checked case of groups of some rows, n 20 and k 24.
Case checked_case(const CaseType& type, ggemm_grouped_form form, std::int64_t groups) {
  Drawing drawing;
  drawing.seed = 17;
  drawing.grouped = drawing.forms = true;
  std::vector<Size> sizes;
  for (std::int64_t g = 0; g < groups; ++g) sizes.push_back({1 + g * 7 % 5, 20, 24});
  for (std::uint64_t number = 0; number < 1000; ++number) {
    Case c = draw_sized_case(drawing, type, sizes, number);
    if (c.checked && c.form == form) return c;
  }
  wrong("no such case is drawn: a fault of this test");
}

void ends_and_indices(int ordinal, std::int64_t groups) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  CaseType type;
  type.grouped = type.gather = type.scatter = true;
  const Case c = checked_case(type, GGEMM_GROUPS_RAGGED_M, groups);
  const auto end = [&](std::int64_t g) { return c.groups[static_cast<std::size_t>(g)].first + c.groups[static_cast<std::size_t>(g)].m; };
  const std::int64_t middle = groups / 2, last = groups - 1, row = c.groups[static_cast<std::size_t>(middle)].first;
  const auto number = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
  const auto put_end = [&](std::int64_t g, std::int64_t value) { put(loaded, slot_m, c.given_m, groups, g, value); };
  loaded.load(c);
  expect_told(context, loaded, {0, 0, 0, 0}, "what is right");
  loaded.load(c);
  put_end(last, c.stored_m + 1);
  expect_told(context, loaded, {GGEMM_FAULT_END, number(last), GGEMM_FIELD_M, 0}, "an end past the last row");
  put_end(middle, end(middle - 1) - 1);
  expect_told(context, loaded, {GGEMM_FAULT_END, number(middle), GGEMM_FIELD_M, 0}, "two ends, of which the first is told");
  loaded.load(c);
  put(loaded, slot_a_index, c.given_a_index.given, c.stored_m, end(last) - 1, c.given_a_index.rows);
  expect_told(context, loaded, {GGEMM_FAULT_INDEX, number(last), GGEMM_FIELD_A, number(end(last) - 1)}, "an index of A in the last row");
  put(loaded, slot_d_index, c.given_d_index.given, c.stored_m, row, c.given_d_index.rows + 5);
  expect_told(context, loaded, {GGEMM_FAULT_INDEX, number(middle), GGEMM_FIELD_D, number(row)}, "an index of D before one of A");
  loaded.load(c);
  expect_told(context, loaded, {0, 0, 0, 0}, "what is right again");
}

void pointers(int ordinal) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  CaseType type;
  type.grouped = true;
  const Case c = checked_case(type, GGEMM_GROUPS_POINTERS, 70);
  const auto put_pointer = [&](SlotName slot, std::int64_t g, std::uint64_t value) {
    loaded.memory().write(loaded.addresses()[slot] + 8 * g, &value, 8);
  };
  loaded.load(c);
  put_pointer(slot_b_pointers, 68, 0);
  expect_told(context, loaded, {GGEMM_FAULT_NULL, 68, GGEMM_FIELD_B, 0}, "a pointer of B that is NULL");
  put_pointer(slot_a_pointers, 33, 0x10002);
  expect_told(context, loaded, {GGEMM_FAULT_ALIGN, 33, GGEMM_FIELD_A, 0}, "a pointer of A off its alignment");
  put_pointer(slot_d_pointers, 0, 0);
  expect_told(context, loaded, {GGEMM_FAULT_NULL, 0, GGEMM_FIELD_D, 0}, "a pointer of D that is NULL");
}

}  // namespace

std::vector<Check> group_checks(int ordinal) {
  std::vector<Check> out;
  for (const std::int64_t groups : {9, 33, 4096})
    out.push_back({"checked mode finds ends and indices, " + std::to_string(groups) + " groups", [=] { ends_and_indices(ordinal, groups); }});
  out.push_back({"checked mode finds pointers", [=] { pointers(ordinal); }});
  return out;
}

}  // namespace ggemm::tests
