// SPDX-License-Identifier: Apache-2.0
// Before a grouped product by tensor maps: reads each group's sizes, strides and pointers, and writes its record, and which operands are to be copied. Four threads a group: one
// for each of A, B and D, one for the rest.
#include "ptx/launch.cuh"
#include "ptx/memory.cuh"
#include "ptx/tensor.cuh"
#include "scheduler/group_params.cuh"
#include "scheduler/raster.cuh"
#include "lines.cuh"

using namespace ggemm::kernels;

// Writes the map of `lines` after `model`, if it can be told; says whether.
GG_DEVICE bool write_map(TensorMap& out, const TensorMap& model, const Lines& lines, int size) {
  if (lines.lines == 0 || lines.length == 0 || !reachable(lines, size)) return false;
  out = model;
  ptx::tensor_map_replace(out, lines.data, static_cast<u32>(lines.length), static_cast<u32>(lines.lines), static_cast<u64>(pitch(lines, size)));
  ptx::tensor_map_release();
  return true;
}

// One matrix for several groups, of which none has a part of its own.
GG_DEVICE bool shared_by_groups(const SourceMatrix& m, i64 groups) { return groups > 1 && !m.pointers && m.group_bytes == 0 && m.start_bytes == 0; }

// Finds room for a copy that a map can tell, of lines that none can, and notes what is to be copied. Says whether there is a copy, of which `lines` tells from now on.
GG_DEVICE bool find_room(const GroupCopies& all, i64 number, Lines& lines, int size) {
  // Elements that are repeated would take many times their memory.
  const bool repeated = (lines.lines > 1 && lines.stride == 0) || (lines.length > 1 && lines.unit == 0);
  if (lines.lines == 0 || lines.length == 0 || !short_enough(lines) || repeated) return false;
  if (!all.copies) {
    if (all.note) all.note->met = 1;
    return false;
  }
  constexpr i64 most_bytes = i64(1) << 46;
  const i64 pitch = copy_pitch(lines.length * size);
  if (lines.lines > most_bytes / pitch) return false;
  const i64 bytes = ceil_div(lines.lines * pitch, 128) * 128;
  const bool turned = !contiguous(lines);
  const u64 at = ptx::take_bytes(all.used, static_cast<u64>(bytes));
  if (at + static_cast<u64>(bytes) > static_cast<u64>(all.room_bytes)) return false;
  char* const to = all.room + at;
  CopyParams copy{};
  copy.from = lines.data, copy.line_stride = lines.stride, copy.element_stride = lines.unit;
  copy.to = to, copy.to_stride = pitch / size;
  copy.lines = lines.lines, copy.length = lines.length;
  copy.blocks_across = repack_across(lines.length * size, turned), copy.blocks = copy.blocks_across * repack_down(lines.lines, turned);
  copy.turned = turned;
  all.copies[number] = copy;
  all.blocks[number] = static_cast<i32>(copy.blocks);
  lines = {to, lines.length, lines.lines, 1, copy.to_stride};
  return true;
}

// The map of A or B, the group's operand `number`, or of a copy of it.
GG_DEVICE bool reach(TensorMap& out, const TensorMap& model, Lines lines, int size, const GroupCopies& all, i64 number, bool may_copy) {
  if (all.copies) all.blocks[number] = 0;
  return write_map(out, model, lines, size) || (may_copy && find_room(all, number, lines, size) && write_map(out, model, lines, size));
}

extern "C" __global__ void __launch_bounds__(prepare_threads) GG_KERNEL_NAME(const __grid_constant__ PrepareParams params) {
  ptx::launch_next();
  const i64 index = i64(blockIdx.x) * prepare_threads + threadIdx.x, group = index / prepare_lanes;
  const int lane = static_cast<int>(threadIdx.x) % 32, part = lane % prepare_lanes;
  const bool on = group < params.problem.groups;
  bool reached = false;
  if (index == 0) *params.taken = 0;
  if (on) {
    const GemmParams upright = group_params(params.problem, group, params.shape);
    const int large = params.large_above >= 0 && upright.m > params.large_above ? 1 : 0;
    const PrepareKernel& kernel = params.kernels[large];
    const GemmParams p = kernel.swap ? transposed(upright) : upright;
    GroupRecord& record = params.records[group];
    // Of an empty group nothing is copied, nor what lies by an index, nor, for each group anew, what all of them share.
    const bool copies = p.m > 0 && p.n > 0 && group < live_groups(params.problem);
    const bool copies_a = copies && !params.by_index && !shared_by_groups(params.problem.a, params.problem.groups), copies_b = copies && !shared_by_groups(params.problem.b, params.problem.groups);
    if (part == 0) reached = reach(record.a, kernel.a, lines_of(p.a, p.m, p.k, kernel.mn_a), kernel.size_a, params.copies, 2 * group, kernel.swap ? copies_b : copies_a);
    if (part == 1) reached = reach(record.b, kernel.b, lines_of(p.b, p.k, p.n, !kernel.mn_b), kernel.size_b, params.copies, 2 * group + 1, kernel.swap ? copies_a : copies_b);
    if (part == 2) {
      const Lines d = lines_of(p.d, p.m, paired(params.shape) ? p.n / 2 : p.n, kernel.mn_d);
      record.facts.store = kernel.boxes && write_map(record.d, kernel.d, d, kernel.size_d) ? store_way(d, kernel.size_d) : TensorStore::threads;
    }
    if (part == 3) {
      record.facts.problem = p;
      record.facts.start = group_start(params.problem, group);
      record.facts.reserved = 0;
      kernel.tiles[group] = group < live_groups(params.problem) ? static_cast<i32>(cluster_tiles(ceil_div(p.m, kernel.tile_m), ceil_div(p.n, kernel.tile_n), kernel.cluster_m, kernel.cluster_n)) : 0;
      if (params.large_above >= 0) params.kernels[1 - large].tiles[group] = 0;
    }
  }
  const u32 all = __ballot_sync(0xffffffffu, reached);
  if (on && part == 3) params.records[group].facts.reach = static_cast<i32>(all >> (lane - 3) & 3);
}
