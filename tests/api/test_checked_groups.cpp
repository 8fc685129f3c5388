// SPDX-License-Identifier: Apache-2.0
// Checked mode on the host device: what is found, what the status word says, and that D stays.
#include <functional>

#include "ragged.hpp"

namespace ggemm::tests {
namespace {

using namespace ragged;

struct Checked : Ragged {
  Checked() {
    desc.checked = 1;
    args.status = status;
  }
  std::int32_t status[4] = {9, 9, 9, 9};
  std::int32_t index[rows] = {0, 1, 2, 3, 4, 5, 6};
  const float* pointers[groups] = {b.data(), b.data() + 4, b.data() + 8};
};

struct Faulty {
  const char* title;
  std::function<void(Checked&)> spoil;
  std::int32_t status[4];
  std::vector<std::string> sentence;
};

const Faulty faults[] = {
    {"an end below the one before", [](Checked& p) { p.ends[1] = 2; }, {GGEMM_FAULT_END, 1, GGEMM_FIELD_M, 0}, {"ends[1] = 2", "after 3"}},
    {"an end below 0", [](Checked& p) { p.ends[0] = -1, p.ends[1] = -2; }, {GGEMM_FAULT_END, 0, GGEMM_FIELD_M, 0}, {"ends[0] = -1"}},
    {"an end past the last row", [](Checked& p) { p.ends[2] = 8; }, {GGEMM_FAULT_END, 2, GGEMM_FIELD_M, 0}, {"ends[2] = 8", "m=7"}},
    {"an end of a ragged k",
     [](Checked& p) { to_ragged_k(p), p.ends[2] = 8, p.args.b = p.a.data() + 0, p.args.a = p.c.data(); },
     {GGEMM_FAULT_END, 2, GGEMM_FIELD_K, 0},
     {"ends[2] = 8", "k=7"}},
    {"a count above the room",
     [](Checked& p) { to_masked(p), p.ends[0] = 2, p.ends[1] = 0, p.ends[2] = 3; },
     {GGEMM_FAULT_SIZE, 2, GGEMM_FIELD_M, 0},
     {"counts[2] = 3", "m=2"}},
    {"a count below 0", [](Checked& p) { to_masked(p), p.ends[0] = -1; }, {GGEMM_FAULT_SIZE, 0, GGEMM_FIELD_M, 0}, {"counts[0] = -1"}},
    {"a size below 0",
     [](Checked& p) {
       to_batch(p), p.desc.n = ggemm_i32_at(p.ends, 4);
       p.ends[0] = p.ends[1] = 1, p.ends[2] = -4;
       p.desc.b.group_stride = 4, p.desc.d.group_stride = 4;
     },
     {GGEMM_FAULT_SIZE, 2, GGEMM_FIELD_N, 0},
     {"n[2] = -4"}},
    {"an odd n of pairs",
     [](Checked& p) {
       to_batch(p), p.desc.n = ggemm_i32_at(p.ends, 4), p.desc.epilogue.gate = GGEMM_GATE_INTERLEAVED;
       p.ends[0] = 2, p.ends[1] = 1, p.ends[2] = 2;
       p.desc.b.group_stride = 4, p.desc.d.group_stride = 4;
     },
     {GGEMM_FAULT_SIZE, 1, GGEMM_FIELD_N, 0},
     {"n[1] = 1", "interleaved"}},
    {"scales that are NULL",
     [](Checked& p) { p.desc.scale_b = {GGEMM_SCALE_VECTOR, 1, ggemm_const(GGEMM_PACKED), ggemm_const(GGEMM_PACKED), 0}, p.args.scale_b = p.pointers, p.pointers[2] = nullptr; },
     {GGEMM_FAULT_NULL, 2, GGEMM_FIELD_SCALE_B, 0},
     {"scale_b[2] is NULL"}},
    {"scales off their alignment",
     [](Checked& p) {
       p.desc.scale_a = {GGEMM_SCALE_TENSOR, 1, ggemm_const(GGEMM_PACKED), ggemm_const(GGEMM_PACKED), 0}, p.args.scale_a = p.pointers;
       p.pointers[0] = reinterpret_cast<const float*>(reinterpret_cast<const char*>(p.pointers[0]) + 2);
     },
     {GGEMM_FAULT_ALIGN, 0, GGEMM_FIELD_SCALE_A, 0},
     {"scale_a[0] = 0x", "4 bytes"}},
    {"a pointer that is NULL",
     [](Checked& p) { p.desc.b.pointers = 1, p.args.b = p.pointers, p.pointers[2] = nullptr; },
     {GGEMM_FAULT_NULL, 2, GGEMM_FIELD_B, 0},
     {"b[2] is NULL"}},
    {"a pointer off its alignment",
     [](Checked& p) {
       p.desc.b.pointers = 1, p.args.b = p.pointers;
       p.pointers[0] = reinterpret_cast<const float*>(reinterpret_cast<const char*>(p.pointers[0]) + 2);
     },
     {GGEMM_FAULT_ALIGN, 0, GGEMM_FIELD_B, 0},
     {"b[0] = 0x", "4 bytes"}},
    {"an index of A past its rows",
     [](Checked& p) { p.desc.a_index = ggemm_i32_at(p.index, 4), p.desc.a_rows = rows, p.index[4] = 7, p.index[3] = -1; },
     {GGEMM_FAULT_INDEX, 2, GGEMM_FIELD_A, 4},
     {"a_index[4] = 7", "a_rows=7"}},
    {"an index of D past its rows",
     [](Checked& p) { p.desc.d_index = ggemm_i32_at(p.index, 4), p.desc.d_rows = rows, p.index[1] = 100, p.index[4] = 200; },
     {GGEMM_FAULT_INDEX, 0, GGEMM_FIELD_D, 1},
     {"d_index[1] = 100", "d_rows=7"}},
};

}  // namespace

TEST_CASE("checked mode tells the first fault and its group, and D stays") {
  for (const Faulty& row : faults) {
    Checked p;
    row.spoil(p);
    INFO(row.title);
    CHECK(p.run() == GGEMM_ERROR_ARGUMENT);
    check_sentence(row.sentence);
    CHECK(std::vector<std::int32_t>(p.status, p.status + 4) == std::vector<std::int32_t>(row.status, row.status + 4));
    CHECK(p.d == std::vector<float>(rows * n, -7.0f));
  }
}

TEST_CASE("checked mode of what is right writes zeros and computes; rows of no group, and those left out, are not looked at") {
  Checked p;
  const std::vector<std::int32_t> zeros(4, 0);
  const auto status = [&] { return std::vector<std::int32_t>(p.status, p.status + 4); };
  p.index[0] = -5, p.index[5] = 1000;
  p.desc.a_index = ggemm_i32_at(p.index, 4), p.desc.a_rows = rows;
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(status() == zeros);
  CHECK(p.d == std::vector<float>{0, 0, 1, 1, 2, 1, 9, 3, 12, 3, -7, -7, -7, -7});
  p.desc.groups = 0, p.status[0] = 5;
  REQUIRE(p.run() == GGEMM_OK);
  CHECK(status() == zeros);
}

TEST_CASE("checked mode is for pointer arrays too") {
  const ContextPointer context = host_context();
  GroupedProblem p;
  std::int32_t status[4] = {9, 9, 9, 9};
  p.desc.checked = 1, p.args.status = status;
  REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  CHECK(status[0] == GGEMM_FAULT_NONE);
  p.sizes[5] = -1;
  CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
  CHECK((status[0] == GGEMM_FAULT_SIZE && status[1] == 1 && status[2] == GGEMM_FIELD_K && status[3] == 0));
  // Rows of D that overlap, as a stride in memory says.
  p.sizes[5] = 5;
  std::int64_t strides[] = {3, 3, 2};
  p.desc.d.row_stride = ggemm_i64_at(strides, 8), p.desc.d.col_stride = ggemm_const(1);
  CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
  CHECK((status[0] == GGEMM_FAULT_STRIDE && status[1] == 2 && status[2] == GGEMM_FIELD_D && status[3] == 0));
  strides[2] = -3, p.d_pointers[2] += 3 * 3;
  CHECK(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  CHECK(status[0] == GGEMM_FAULT_NONE);
}

}  // namespace ggemm::tests
