// SPDX-License-Identifier: Apache-2.0
// The search for a tile's group, with the warp's 32 lanes as an array.
#include "scheduler/groups.cuh"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "grouped_call.cuh"
#include "scheduler/group_check.cuh"
#include "scheduler/group_params.cuh"
#include "support/rng.hpp"

using namespace ggemm::kernels;
using ggemm::tests::Rng;

namespace {

struct HostWarp {
  using Vector = std::array<i32, 32>;
  template <class Function>
  static Vector map(Function function) {
    Vector out;
    for (int lane = 0; lane < 32; ++lane) out[static_cast<std::size_t>(lane)] = function(lane);
    return out;
  }
  static Vector inclusive_sum(Vector values) {
    for (std::size_t lane = 1; lane < 32; ++lane) values[lane] += values[lane - 1];
    return values;
  }
  static int first_above(const Vector& values, i32 x) {
    for (int lane = 0; lane < 32; ++lane)
      if (values[static_cast<std::size_t>(lane)] > x) return lane;
    return 32;
  }
  static i32 at(const Vector& values, int lane) { return values[static_cast<std::size_t>(lane)]; }
};

// Walks as one CTA does, from `start` in steps, and compares with the list written out. Counts how often each group's size is read.
void walk(const std::vector<i32>& counts, i32 start, i32 step) {
  std::vector<GroupTile> all;
  for (std::size_t g = 0; g < counts.size(); ++g)
    for (i32 tile = 0; tile < counts[g]; ++tile) all.push_back({static_cast<i32>(g), tile});
  const i32 groups = static_cast<i32>(counts.size());
  std::vector<int> reads(counts.size(), 0);
  const auto count = [&](i32 g) {
    ++reads.at(static_cast<std::size_t>(g));
    return counts.at(static_cast<std::size_t>(g));
  };
  GroupCursor<HostWarp> cursor;
  i64 wrong = 0, found = 0;
  for (i64 tile = start;; tile += step) {
    const GroupTile got = cursor.find(static_cast<i32>(tile), groups, count);
    const bool past = tile >= static_cast<i64>(all.size());
    if (past) {
      wrong += got.group != groups;
      break;
    }
    const GroupTile& wanted = all[static_cast<std::size_t>(tile)];
    wrong += got.group != wanted.group || got.tile != wanted.tile;
    ++found;
  }
  // past the end it stays past the end
  wrong += cursor.find(static_cast<i32>(all.size()) + start + step, groups, count).group != groups;
  const i64 size = static_cast<i64>(all.size());
  const i64 wanted_found = start < size ? (size - start + step - 1) / step : 0;
  int most_reads = 0;
  for (const int n : reads) most_reads = n > most_reads ? n : most_reads;
  INFO("groups " << groups << ", tiles " << size << ", start " << start << ", step " << step);
  CHECK(wrong == 0);
  CHECK(found == wanted_found);
  CHECK(most_reads <= 1);
}

void walk_all(const std::vector<i32>& counts) {
  for (const i32 step : {1, 2, 7, 132, 1000}) {
    for (const i32 start : {0, 1, step - 1}) walk(counts, start, step);
  }
}

std::uint64_t seed_of_run() {
  const char* text = std::getenv("GGEMM_SEED");
  return text ? std::strtoull(text, nullptr, 0) : 1;
}

}  // namespace

TEST_CASE("groups: no groups, empty groups, a single one, and the edges of the 32-group window") {
  walk_all({});
  walk_all({0});
  walk_all({1});
  walk_all({5});
  walk_all(std::vector<i32>(31, 1));
  walk_all(std::vector<i32>(32, 1));
  walk_all(std::vector<i32>(33, 1));
  walk_all(std::vector<i32>(64, 0));
  walk_all(std::vector<i32>(200, 0));
  std::vector<i32> last(97, 0);
  last.back() = 3;
  walk_all(last);
  std::vector<i32> first(97, 0);
  first.front() = 3;
  walk_all(first);
  std::vector<i32> thirty_third(70, 0);
  thirty_third[32] = 200;
  walk_all(thirty_third);
}

TEST_CASE("groups: every tile of random group lists is found, in ascending order, from any start with any step") {
  const std::uint64_t seed = seed_of_run();
  for (std::uint64_t i = 0; i < 300; ++i) {
    Rng random(ggemm::tests::mix(seed, i));
    const std::size_t groups = static_cast<std::size_t>(random.chance(0.1) ? random.between(0, 1000) : random.between(0, 100));
    const double empty = random.unit();
    const i64 largest = random.pick<i64>({1, 4, 50});
    std::vector<i32> counts(groups);
    for (i32& c : counts) c = random.chance(empty) ? 0 : static_cast<i32>(random.between(1, largest));
    if (groups && random.chance(0.3)) counts[random.below(groups)] = 3000;  // skew
    INFO("list " << i << "; again: GGEMM_SEED=" << seed << " <this program> 'groups: every tile of random*'");
    walk(counts, 0, 1);
    const i32 grid = static_cast<i32>(random.between(1, 300));
    walk(counts, static_cast<i32>(random.below(static_cast<std::uint64_t>(grid))), grid);
    walk(counts, static_cast<i32>(random.between(0, 5000)), static_cast<i32>(random.between(1, 5000)));
  }
}

TEST_CASE("groups: the deeper come first, of equal ones the former, and no two have one key") {
  const std::vector<i64> depths = {0, 1, 2, 63, 64, 4096, i64(0xffffffffu / ordered_groups) - 1, 0xffffffffu / ordered_groups};
  u32 before = 0;
  bool any = false;
  for (const i64 depth : depths) {
    for (u32 number = ordered_groups; number-- > 0;) {
      const u32 key = order_key(depth, number);
      REQUIRE((!any || key > before));
      any = true, before = key;
    }
  }
  for (const u32 number : {0u, 7u, ordered_groups - 1}) {
    CHECK(order_key(-5, number) == order_key(0, number));
    CHECK(order_key(i64(1) << 40, number) == order_key(depths.back(), number));
  }
}

TEST_CASE("groups: 4096 groups, shared by 132 CTAs: each tile once") {
  Rng random(4096);
  std::vector<i32> counts(4096);
  i64 total = 0;
  for (i32& c : counts) total += c = static_cast<i32>(random.chance(0.4) ? 0 : random.between(1, 9));
  std::vector<std::vector<int>> seen(counts.size());
  for (std::size_t g = 0; g < counts.size(); ++g) seen[g].assign(static_cast<std::size_t>(counts[g]), 0);
  for (i32 cta = 0; cta < 132; ++cta) {
    GroupCursor<HostWarp> cursor;
    for (i32 tile = cta;; tile += 132) {
      const GroupTile found = cursor.find(tile, 4096, [&](i32 g) { return counts[static_cast<std::size_t>(g)]; });
      if (found.group == 4096) break;
      ++seen.at(static_cast<std::size_t>(found.group)).at(static_cast<std::size_t>(found.tile));
    }
  }
  i64 once = 0;
  for (const auto& group : seen)
    for (const int times : group) once += times == 1;
  CHECK(once == total);
}

TEST_CASE("groups: the search may stay on a tile") {
  const std::vector<i32> counts = {0, 2, 0, 1};
  const auto count = [&](i32 g) { return counts[static_cast<std::size_t>(g)]; };
  GroupCursor<HostWarp> cursor;
  for (int i = 0; i < 3; ++i) {
    const GroupTile found = cursor.find(1, 4, count);
    CHECK(found.group == 1);
    CHECK(found.tile == 1);
  }
  CHECK(cursor.find(2, 4, count).group == 3);
}

TEST_CASE("groups: sizes, strides and pointers of a group are read from constants, 32-bit and 64-bit arrays, at any distance") {
  struct Row {
    std::int32_t m, n;
    std::int64_t k;
  };
  const Row rows[] = {{3, 4, 5}, {-2, 7, -1}};
  const std::int64_t strides[] = {100, 200};
  const float x = 0;
  const void* pointers[] = {&x, nullptr};
  GroupedParams p{};
  p.groups = 2;
  p.m = {&rows[0].m, sizeof(Row), 0, 1, 0};
  p.n = {&rows[0].n, sizeof(Row), 0, 1, 0};
  p.k = {&rows[0].k, sizeof(Row), 0, 2, 0};
  const Source packed{nullptr, 0, packed_stride, 0, 0}, one{nullptr, 0, 1, 0, 0};
  p.a = {pointers, 0, 0, 1, 0, packed, packed};
  p.b = {pointers, 0, 0, 1, 0, one, {strides, 8, 0, 2, 0}};
  p.c = {nullptr, 0, 0, 1, 0, packed, packed};
  p.d = {pointers, 0, 0, 1, 0, {&strides[1], -8, 0, 2, 0}, one};
  p.raster = 6;
  const GemmParams first = group_params(p, 0), second = group_params(p, 1);
  CHECK((first.m == 3 && first.n == 4 && first.k == 5));
  CHECK((second.m == 0 && second.n == 7 && second.k == 0));
  CHECK((first.a.row_stride == 5 && first.a.col_stride == 1 && first.a.data == &x));
  CHECK((first.b.row_stride == 1 && first.b.col_stride == 100 && second.b.col_stride == 200));
  CHECK((first.c.data == nullptr && first.c.row_stride == 4 && second.c.row_stride == 7));
  CHECK((first.d.row_stride == 200 && second.d.row_stride == 100));
  CHECK(second.a.data == nullptr);
  CHECK(first.bias == nullptr);
  CHECK(first.raster == 6);
}

TEST_CASE("groups: a plain product is the only group of a grouped one") {
  const float numbers[8] = {};
  GemmParams p{};
  p.m = 3, p.n = 4, p.k = 5;
  p.a = {&numbers[0], 7, -1}, p.b = {&numbers[1], 1, 9}, p.c = {&numbers[2], 0, 1}, p.d = {&numbers[3], 1, 30};
  p.bias = &numbers[4];
  p.epilogue = {{nullptr, 17}, {&numbers[5], 0}, 0.5, 2};
  p.raster = 3, p.max_ctas = 20;
  p.scale_a = {&numbers[6], 1, 2}, p.scale_b = {&numbers[7], 3, 4};
  const GroupedParams one = one_group(p);
  CHECK((one.groups == 1 && one.raster == 3 && one.max_ctas == 20 && !one.status && !one.rows.weights));
  const GemmParams back = group_params(one, 0, group_shape(scale_block_1x128, scale_block_1x128, 0));
  CHECK(!std::memcmp(&back, &p, sizeof p));
}

TEST_CASE("groups: a ragged size is the distance of ends within the whole, and operands begin where the groups before end") {
  const std::int32_t ends[] = {3, -1, 2, 5, 5, 100};
  GroupedParams p{};
  p.groups = 6;
  const Source one{nullptr, 0, 1, 0, 0}, eight{nullptr, 0, 8, 0, 0};
  p.m = {ends, 4, 7, 1, source_ends};
  p.n = p.k = eight;
  p.a.data = reinterpret_cast<const char*>(1000), p.a.start_bytes = 32, p.a.row_stride = eight, p.a.col_stride = one;
  p.b.data = reinterpret_cast<const char*>(5000), p.b.group_bytes = -100, p.b.row_stride = one, p.b.col_stride = eight;
  p.d = p.a;
  p.bias = {reinterpret_cast<const char*>(9000), 0, 4, 0, 0};
  const float scalars[6] = {};
  p.epilogue.alpha.pointer = &scalars[5], p.alpha_stride = -4;
  p.epilogue.beta.bits = 7, p.beta_stride = 4;
  const i64 sizes[] = {3, 0, 2, 3, 0, 2}, starts[] = {0, 3, 0, 2, 5, 5};
  for (int g = 0; g < 6; ++g) {
    const GemmParams group = group_params(p, g);
    INFO("group " << g);
    CHECK((group.m == sizes[g] && group.n == 8 && group.k == 8));
    CHECK(reinterpret_cast<i64>(group.a.data) == 1000 + 32 * starts[g]);
    CHECK(reinterpret_cast<i64>(group.b.data) == 5000 - 100 * g);
    CHECK(reinterpret_cast<i64>(group.bias) == 9000 + 4 * starts[g]);
    CHECK(group.c.data == nullptr);
    CHECK((group.epilogue.alpha.pointer == &scalars[5 - g] && group.epilogue.beta.pointer == nullptr && group.epilogue.beta.bits == 7));
  }
  // The same along k.
  p.k = p.m, p.m = eight;
  CHECK((group_params(p, 3).m == 8 && group_params(p, 3).k == 3 && group_params(p, 1).k == 0));
  CHECK(reinterpret_cast<i64>(group_params(p, 3).a.data) == 1000 + 32 * 2);
}

TEST_CASE("groups: a count is cut at the room that there is") {
  const std::int64_t counts[] = {4, 5, 6, -3};
  GroupedParams p{};
  p.m = {counts, 8, 5, 2, source_count};
  for (int g = 0; g < 4; ++g) CHECK(group_params(p, g).m == (g == 3 ? 0 : g == 0 ? 4 : 5));
}

TEST_CASE("groups: scales follow what they scale, and those by blocks begin anew with each group") {
  const std::int32_t ends[] = {130, 130, 300};
  GroupedParams p{};
  p.groups = 3;
  const Source one{nullptr, 0, 1, 0, 0}, size{nullptr, 0, 300, 0, 0};
  const auto at = [](const Matrix& matrix) { return reinterpret_cast<i64>(matrix.data); };
  p.m = {ends, 4, 300, 1, source_ends};
  p.n = p.k = size;
  // 3 blocks of k: of a row, or of 128 rows, where each group has a block of its own besides.
  p.scale_a.data = reinterpret_cast<const char*>(1000), p.scale_a.start_bytes = 12, p.scale_a.row_stride = {nullptr, 0, packed_stride, 0, 0}, p.scale_a.col_stride = one;
  p.scale_b = p.scale_a, p.scale_b.start_bytes = 0, p.scale_b.group_bytes = 36;
  const GemmParams rows = group_params(p, 2, group_shape(scale_block_1x128, scale_block_128x128, 0));
  CHECK((at(rows.scale_a) == 1000 + 12 * 130 && rows.scale_a.row_stride == 3 && rows.scale_a.col_stride == 1));
  CHECK((at(rows.scale_b) == 1000 + 36 * 2 && rows.scale_b.row_stride == 3));
  p.scale_a.group_bytes = 12;
  CHECK(at(group_params(p, 2, group_shape(scale_block_128x128, 0, 0)).scale_a) == 1000 + 12 * (130 / 128 + 2));
  CHECK(at(group_params(p, 0, group_shape(scale_block_128x128, 0, 0)).scale_a) == 1000);
  // One for each row is packed alone, and a kernel without scales is told of none.
  CHECK(group_params(p, 2, group_shape(scale_vector, 0, 0)).scale_a.row_stride == 1);
  CHECK((at(group_params(p, 2).scale_a) == 0 && at(group_params(p, 2).scale_b) == 0));
  // Along a ragged k the blocks of both do; where there is no product there is no scale.
  p.k = p.m, p.m = size, p.scale_b = p.scale_a;
  const u32 shape = group_shape(scale_block_1x128, scale_block_1x128, 0);
  CHECK((at(group_params(p, 2, shape).scale_a) == 1000 + 12 * (130 / 128 + 2) && at(group_params(p, 2, shape).scale_b) == 1000 + 12 * (130 / 128 + 2)));
  CHECK((at(group_params(p, 1, shape).scale_a) == 0 && at(group_params(p, 1, shape).scale_b) == 0));
}

TEST_CASE("groups: D is packed to the width of gated pairs") {
  GroupedParams p{};
  p.groups = 1;
  p.m = p.n = p.k = {nullptr, 0, 6, 0, 0};
  p.b.row_stride = p.d.row_stride = {nullptr, 0, packed_stride, 0, 0};
  const auto width = [&](int gate) { return group_params(p, 0, group_shape(0, 0, gate)).d.row_stride; };
  CHECK((width(0) == 6 && width(1) == 3 && width(2) == 3));
  CHECK(group_params(p, 0, group_shape(0, 0, 1)).b.row_stride == 6);
}

TEST_CASE("a transposed product has each operand's scales where the operand is, turned as it is") {
  const char bytes[2] = {};
  GemmParams p{};
  p.m = 3, p.n = 5, p.k = 7;
  p.scale_a = {&bytes[0], 11, 12};
  p.scale_b = {&bytes[1], 13, 14};
  const GemmParams turned = transposed(p);
  CHECK((turned.m == 5 && turned.n == 3 && turned.k == 7));
  CHECK((turned.scale_a.data == &bytes[1] && turned.scale_a.row_stride == 14 && turned.scale_a.col_stride == 13));
  CHECK((turned.scale_b.data == &bytes[0] && turned.scale_b.row_stride == 12 && turned.scale_b.col_stride == 11));
}

TEST_CASE("groups: elements of a matrix are known to meet exactly where two of them do") {
  for (i64 rows = 1; rows <= 5; ++rows)
    for (i64 columns = 1; columns <= 5; ++columns)
      for (i64 row_stride = -12; row_stride <= 12; ++row_stride)
        for (i64 col_stride = -12; col_stride <= 12; ++col_stride) {
          std::set<i64> places;
          for (i64 i = 0; i < rows; ++i)
            for (i64 j = 0; j < columns; ++j) places.insert(i * row_stride + j * col_stride);
          CAPTURE(rows, columns, row_stride, col_stride);
          REQUIRE(elements_meet({nullptr, row_stride, col_stride}, rows, columns) == (static_cast<i64>(places.size()) < rows * columns));
        }
  constexpr i64 most = INT64_MAX, least = INT64_MIN;
  CHECK_FALSE(elements_meet({nullptr, most, 1}, most, most));
  CHECK(elements_meet({nullptr, most - 1, 1}, most, most));
  CHECK_FALSE(elements_meet({nullptr, 1, least}, most, most));
  CHECK_FALSE(elements_meet({nullptr, least, 1}, most, most));
  CHECK(elements_meet({nullptr, least, 0}, 1, 2));
  CHECK_FALSE(elements_meet({nullptr, least, 0}, most, 1));
  CHECK(elements_meet({nullptr, least, least}, 2, 2));
  CHECK_FALSE(elements_meet({nullptr, least, least / 2}, most, 2));
  CHECK(elements_meet({nullptr, least, least / 2}, 2, 3));
}

TEST_CASE("groups: D of the last rows of a ragged m is stored by whole boxes, as its map ends there; of others no box goes behind the group") {
  UniformGroups groups{};
  GroupFacts facts{};
  groups.rows = {nullptr, 0, 100, 1, source_ends};
  groups.swap = 1;
  facts.reach = 3, facts.start = 7;
  const auto told = [&](TensorStore store, i32 group, GroupSpan span) {
    facts.store = store;
    std::memcpy(groups.base, &facts, sizeof groups.base);
    std::array<u64, UniformGroups::words> words;
    for (int i = 0; i < UniformGroups::words; ++i) words[static_cast<std::size_t>(i)] = group_word(groups, word_parts(groups, i), i, group, span);
    GroupFacts out;
    std::memcpy(&out, words.data(), sizeof out);
    CHECK((out.reach == 3 && out.problem.n == span.rows && out.start == 7 + i64(span.start)));
    return out.store;
  };
  std::fill(std::begin(groups.of_start), std::end(groups.of_start), 0);
  groups.of_start[sizeof(GemmParams) / sizeof(u64) + 1] = 1;
  CHECK(told(TensorStore::inner_boxes, 2, {40, 60}) == TensorStore::boxes);
  CHECK(told(TensorStore::inner_boxes, 2, {40, 59}) == TensorStore::inner_boxes);
  CHECK(told(TensorStore::inner_boxes, 2, {100, 0}) == TensorStore::boxes);
  CHECK(told(TensorStore::threads, 2, {40, 60}) == TensorStore::threads);
  groups.rows.mode = source_count;  // rooms: another's rows follow
  CHECK(told(TensorStore::inner_boxes, 2, {0, 100}) == TensorStore::inner_boxes);
}
