// SPDX-License-Identifier: Apache-2.0
// What the host hands to the kernels of a grouped call: where groups' sizes and operands are, what is known of each group, and what those kernels take that prepare, check and copy groups and add up their rows.
#pragma once
#if defined(__CUDACC_RTC__)
#include "ptx/memory.cuh"
#endif
#include "params.cuh"

namespace ggemm::kernels {

// What a number in memory means.
constexpr u32 source_itself = 0;  // the number
constexpr u32 source_count = 1;   // the same, but `value` at most
constexpr u32 source_ends = 2;    // where group g ends and the next begins, within 0 to `value`: the group's number is the distance from the end before it

// Where a per-group number comes from; laid out as ggemm_source.
struct Source {
  const void* data;
  i64 byte_stride;
  i64 value;  // of a constant; else the limit that the mode speaks of
  i32 kind;   // ggemm_source_kind
  u32 mode;
};

// A group's number, as memory has it or as a constant has. On a GPU without a branch: each is on its way from memory for most of a microsecond, and those of a group are asked for at once.
// FRESH: by a thread that has not waited for the launch ahead.
template <bool FRESH = false>
GG_HD i64 number_at(const void* address, i32 kind, i64 otherwise) {
#if defined(__CUDACC_RTC__)
  return ptx::load_number<FRESH>(address, kind, otherwise);
#else
  return kind == 0 ? otherwise : kind == 1 ? static_cast<i64>(*static_cast<const i32*>(address)) : *static_cast<const i64*>(address);
#endif
}
GG_HD i64 read_number(const Source& source, i64 group) { return number_at(static_cast<const char*>(source.data) + group * source.byte_stride, source.kind, source.value); }

// What memory has of a group's number: where it is the distance between two ends, both.
struct SourceNumbers {
  i64 own, before;
};
template <bool FRESH = false>
GG_HD SourceNumbers read_numbers(const Source& source, i64 group) {
  const char* const at = static_cast<const char*>(source.data) + group * source.byte_stride;
  return {number_at<FRESH>(at, source.kind, source.value), number_at<FRESH>(at - source.byte_stride, source.mode == source_ends && group > 0 ? source.kind : 0, 0)};
}
GG_HD i64 end_of(const Source& source, i64 number) { return min_of(max_of(number, 0), source.value); }
// May be below 0.
GG_HD i64 number_of(const Source& source, SourceNumbers numbers) {
  if (source.kind == 0) return source.value;
  if (source.mode == source_ends) return end_of(source, numbers.own) - end_of(source, numbers.before);
  return source.mode == source_count ? min_of(numbers.own, source.value) : numbers.own;
}
GG_HD i64 read_source(const Source& source, i64 group) { return number_of(source, read_numbers(source, group)); }
// Where a group of cumulative ends ends. The one before the first ends at 0.
GG_HD i64 read_end(const Source& source, i64 group) { return group < 0 ? 0 : end_of(source, read_number(source, group)); }

// Where the groups' parts of an operand begin. Either `data` is an array of one pointer a group; or it is where the operand begins, and group g's part is
// g * group_bytes + start * start_bytes behind it, start being what all groups before g take of the index that the groups share (rows of a ragged m, depth of a ragged k).
struct SourceVector {
  const void* data;
  i64 group_bytes, start_bytes;
  i32 pointers;  // 0 or 1
  u32 reserved;
};

struct SourceMatrix {
  const void* data;  // this and the next three: as SourceVector; for D it is written
  i64 group_bytes, start_bytes;
  i32 pointers;
  u32 reserved;
  Source row_stride, col_stride;
};

// Where row i lies in a matrix that is not in order: an index, `value` rows in the matrix. Below 0: nowhere. (kind 0: in order; not to be asked.)
GG_HD i64 read_row(const Source& index, i64 i) {
  const i64 row = read_number(index, i);
  return row < index.value ? max_of(row, -1) : -1;
}

// Of a group's rows, the first one's number being the index's first; or of all groups' rows.
struct GroupRows {
  Source a_index, d_index;
  const float* weights;  // nullptr: none
};

// One product a group, everything read on the device. With a ragged m (m.mode is source_ends), A, C and D are one matrix each, of m.value rows; with a ragged k, A and B
// are, k.value deep. These have constant strides.
struct GroupedParams {
  i64 groups;
  Source m, n, k;
  SourceMatrix a, b, c, d;
  SourceVector bias;
  EpilogueParams epilogue;
  i64 alpha_stride, beta_stride;  // bytes from one group's scalar in device memory to the next one's; 0: one for all
  GroupRows rows;                 // of all groups, in their order: of a ragged m only
  const i32* status;              // where this is not nullptr and not 0, the check before has found a fault: nothing is to be computed
  i32 raster;
  u32 max_ctas;                   // as in GemmParams
  SourceMatrix scale_a, scale_b;  // where blocks are ragged, group g's first is start / 128 of them on, besides group_bytes
};

// What prepare.cu finds out about a group for the kernels that copy by tensor maps: its product, which of A (1) and B (2) the copy engine reaches, and the number of its
// first row in the groups' order.
struct alignas(16) GroupFacts {
  GemmParams problem;
  i32 reach;          // this and the next: one word of group_word
  TensorStore store;
  i64 start;
  i64 reserved;  // 0: the whole is 32 words, one for each lane of a warp
};
struct alignas(128) GroupRecord {
  TensorMap maps[3];  // of A, B and D, where it reaches them
  GroupFacts facts;
};

// Where a group's part of an operand begins in a map of all groups' parts: so many lines on from one group to the next, and for each row of the groups before.
struct GroupLines {
  i32 of_group, of_start;
};
GG_HD i32 first_line(const GroupLines& lines, i32 group, i32 start) { return group * lines.of_group + start * lines.of_start; }

// Groups that differ in m, and in where their parts of operands begin, alone: the host knows the rest, and nothing has to be prepared. Sizes as the kernel sees them, which may compute the
// transposed product.
struct UniformGroups {
  static constexpr int words = sizeof(GroupFacts) / sizeof(u64);
  // What the first tile is found by, in one line of parameters or two: each line is a wait of its own.
  Source rows;           // of each group: its m, or, where swapped, its n
  i32 above, most;       // this kernel's are groups of more rows than `above`, and no more than `most`
  i32 other_tiles;       // of n, or, where swapped, of m
  i32 steps;             // of k
  GroupLines lines_a, lines_b, lines_d;
  i32 swap;
  TensorMap a, b, d;  // of all groups' parts
  ScaleLines scales;
  u64 base[words], of_group[words], of_start[words];  // group_word
};
// A group's first row in the order of all groups (of rooms and batches, which are apart by the group's number, 0), and how many it has: fewer than 2^31 in all.
struct GroupSpan {
  i32 start, rows;
};
GG_HD GroupSpan group_span(const UniformGroups& groups, SourceNumbers numbers) {
  const Source& rows = groups.rows;
  const auto number = [&rows](i64 read) { return static_cast<i32>(end_of(rows, read)); };
  const i32 start = rows.mode == source_ends ? number(numbers.before) : 0, end = number(numbers.own);
  return {start, end > start ? end - start : 0};
}
GG_HD GroupSpan group_span(const UniformGroups& groups, i32 group) { return group_span(groups, read_numbers(groups.rows, group)); }
// Whether no group behind this one has rows, in a ragged m. (Whatever ends say: up to a group that ends behind the last row each row was some group's.)
GG_HD bool last_rows(const UniformGroups& groups, GroupSpan span) { return groups.rows.mode == source_ends && span.start + span.rows >= groups.rows.value; }
// A word of the facts of a group: what it is made of, and what it is.
struct GroupWord {
  u64 base, of_group, of_start;
};
GG_HD GroupWord word_parts(const UniformGroups& groups, int word) { return {groups.base[word], groups.of_group[word], groups.of_start[word]}; }
GG_HD u64 group_word(const UniformGroups& groups, const GroupWord& parts, int word, i32 group, GroupSpan span) {
  if (word == (groups.swap ? 1 : 0)) return static_cast<u64>(span.rows);  // n, or m
  const u64 whole = parts.base + static_cast<u64>(group) * parts.of_group + static_cast<u64>(span.start) * parts.of_start;
  // D's map ends with the last group.
  constexpr int store_word = sizeof(GemmParams) / sizeof(u64);
  static_assert(sizeof(GroupFacts) == sizeof(u64) * (store_word + 3), "reach and store, start, reserved");
  const bool boxes = word == store_word && whole >> 32 == static_cast<u64>(TensorStore::inner_boxes) && last_rows(groups, span);
  return boxes ? static_cast<u32>(whole) | static_cast<u64>(TensorStore::boxes) << 32 : whole;
}

// A group's tiles, as prepare.cu counts them for a kernel: cluster tiles, and tiles down, across and along k. One vector, since who looks for a tile waits for it.
struct alignas(16) GroupTiles {
  i32 count, down, across, steps;
};

// The sizes of groups that have records, as the caller has them. Where there are few groups a CTA's first tile is found from these, while the launches before write the records and copy operands: the first of them has waited for all before
// it let the next begin.
struct GroupSizes {
  Source m, n, k;
  const i32* status;  // as in GroupedParams
};
constexpr i64 most_early = 32;  // groups: as many as a warp looks at once

// Those kernels' parameters.
struct GroupedTensorParams {
  static constexpr u32 none_left = 0x80000000;                // in `taken`: all tiles have been
  static constexpr i32 falls = static_cast<i32>(0x80000000);  // in all of `order`, or in none: the deeper groups come first
  const GroupRecord* records;  // nullptr: the groups are uniform
  i32 groups, raster;
  u32* taken;      // nullptr: clusters take tiles by turns; else the one that is free takes the next, and counts it here. For clusters of one
  u32* cleared;    // `taken` of the next launch: is set to 0 before that may begin, and to none_left if it has no tiles; or nullptr
  i32 beside;      // 1: the launch ahead is of the same call, and computes other groups
  i32 early;       // 1: tiles are found from `sizes`
  UniformGroups uniform;
  const GroupTiles* tiles;
  const i32* order;  // which groups are computed one after the other (scheduler/groups.cuh); nullptr: as they come
  GroupRows rows;  // as in GroupedParams
  void* sums;      // this and the next: as in SliceParams, where tiles that are left over are cut; nullptr: none is
  u32* arrivals;
  GroupSizes sizes;
};

// In the host's memory: what calls have met of operands of groups that the copy engine does not reach.
struct GroupNote {
  u64 met;    // 1: there was one
  u64 bytes;  // that copies would take, as the last call with too little room for them counted; 0: none has
  u64 lines;  // 1: there were lines of D, contiguous ones, that it does not reach
};
// Copies of those operands of groups that the copy engine does not reach, as far as there is room: prepare.cu finds out which they are and where they go, repack_groups.cu
// makes them. What finds no room is gathered by the product's own threads.
struct GroupCopies {
  CopyParams* copies;  // of each group's A and B, as the kernel sees them; nullptr: none are made
  i32* blocks;         // of each; 0: it is not copied
  char* room;
  i64 room_bytes;
  u64* used;    // bytes that all copies would take; 0 between calls
  u32* done;    // CTAs that have copied; 0 between calls
  GroupNote* note;
};
// repack_groups.cu's.
struct RepackGroupsParams {
  GroupCopies groups;
  i32 copies;
  u32 reserved;
};
constexpr int repack_groups_threads = repack_threads + 32;

// What prepare.cu must know of a kernel, which may compute the transposed product: the sizes and directions are as it sees them. The maps are right but for addresses, sizes and strides.
struct PrepareKernel {
  TensorMap maps[3];  // this and the next two: of A, B and D
  i32 sizes[3];       // bytes of an element
  i32 by_columns[3];  // 1: its columns are the lines that the copy engine moves
  GroupTiles* tiles;
  Divisor tile_m, tile_n, tile_k;
  i32 cluster_m, cluster_n;
  i32 boxes;          // 1: D's steps are whole boxes
  i32 swap;           // 1: the transposed product
};
// prepare.cu's parameters. Groups of more than `large_above` rows are of kernels[1], if there are two.
struct PrepareParams {
  PrepareKernel kernels[2];
  GroupedParams problem;
  GroupRecord* records;
  i32* order;       // nullptr: groups are computed as they come
  u32* taken;       // is set to 0
  i64 large_above;  // below 0: there is one kernel
  GroupCopies copies;
  u32 shape;        // of the upright problem: tile/scales.cuh's group_shape
  i32 by_index;     // 1: rows of A of the upright problem lie by an index
  u32 blocks;       // CTAs that write records; the others find the order
  u32 reserved;
};
constexpr int prepare_threads = 128, prepare_lanes = 4;  // threads of a CTA, and for each group

// What group_fault (scheduler/group_check.cuh) needs to know besides.
struct GroupChecks {
  i32 size_a, size_b, size_c, size_d, size_bias;  // bytes of an element; size_bias 0: there is none
  i32 scalar;                                     // as ggemm_dtype: f32, f64 or i32
  i32 numbers;                                    // 1: sizes, counts, ends and indices too, which are cut to what is legal where they are used
  u32 shape;                                      // tile/scales.cuh's group_shape
};
struct CheckParams {
  GroupedParams groups;
  GroupChecks checks;
  i32* status;  // 4 of them
};
constexpr int check_threads = 512;

// sum_rows.cu's: rows of values in the groups' order, which are added up where they go to one row of D.
struct SumParams {
  void* values;  // rows of `columns`, one after the other; sums under way are kept in them
  i64 columns, groups;
  i64 block_columns;  // that a CTA takes at a time, of sum_rows rows of D
  u32 blocks_across;  // of these, all columns
  u32 reserved;
  Source ends;        // of the groups
  GroupRows rows;
  Matrix d;
  const i32* status;  // as in GroupedParams
};
constexpr int sum_rows = 16, sum_threads = 32 * sum_rows;  // rows of D that a CTA takes at a time, a warp each
constexpr i64 sum_columns_at_once = 128;                   // of its row, by a warp

}  // namespace ggemm::kernels
