// SPDX-License-Identifier: Apache-2.0
// Before a grouped product by tensor maps: reads each group's sizes, strides and pointers, and writes its record, and which operands are to be copied. Four threads a group: one
// for each of A, B and D, one for the rest, of a warp each, since instructions come from memory, slowly. Other CTAs find the order in which groups are computed.
#include "ptx/launch.cuh"
#include "ptx/memory.cuh"
#include "ptx/tensor.cuh"
#include "scheduler/group_params.cuh"
#include "scheduler/groups.cuh"
#include "scheduler/raster.cuh"
#include "lines.cuh"

using namespace ggemm::kernels;

// Writes the map of `lines` after `model`, if it can be told; says whether.
GG_DEVICE bool write_map(TensorMap& out, const TensorMap& model, const Lines& lines, int size) {
  if (lines.lines == 0 || lines.length == 0 || !reachable(lines, size)) return false;
  // In shared memory, as each change of a map reads what the one before has written.
  struct alignas(128) Draft { TensorMap map; };
  __shared__ Draft drafts[prepare_threads];
  TensorMap& map = drafts[threadIdx.x].map;
  map = model;
  const u32 count = static_cast<u32>(lines.lines);
  const u64 apart = static_cast<u64>(pitch(lines, size));
  ptx::tensor_map_replace(map, lines.data, static_cast<u32>(lines.length));
  if (lines.half) ptx::tensor_map_replace<1>(map, 2, static_cast<u64>(lines.half) * apart), ptx::tensor_map_replace<2>(map, count, apart);
  else ptx::tensor_map_replace<1>(map, count, apart);
  out = map;
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

// In 32 bits below 2^31, which a Divisor is for and sizes nearly always are: a division in 64 is long.
GG_DEVICE i64 tiles_of(i64 size, const Divisor& tile) {
  const i64 up = size + tile.by - 1;
  return up >> 31 ? up / tile.by : divided(static_cast<u32>(up), tile);
}

// A thread each finds its group's place in the order: of ordered_groups that follow one another the deeper come first.
GG_DEVICE void find_place(const PrepareParams& params, u32 block) {
  __shared__ ptx::Vector16 keys[ordered_groups / 4];
  const GroupedParams& all = params.problem;
  const i64 group = i64(block) * prepare_threads + threadIdx.x, first = ptx::renewed(i64(block) * prepare_threads / ordered_groups * ordered_groups), even = even_depth(params.kernels[0].sizes[0], params.kernels[0].sizes[2]);
  const u32 count = static_cast<u32>(min_of(all.groups - first, i64(ordered_groups))), vectors = (count + 3) / 4;
  for (u32 i = threadIdx.x; i < 4 * vectors; i += prepare_threads) keys[i / 4].word[i % 4] = i < count ? order_key(read_source(all.k, first + i) - even, i) : 0;
  __syncthreads();
  if (group >= all.groups) return;
  const u32 number = static_cast<u32>(group - first), own = keys[number / 4].word[number % 4];
  u32 before = 0, deepest = 0, least = 0xffffffff;
#pragma unroll 2
  for (u32 i = 0; i < vectors; ++i) {
    const ptx::Vector16 four = keys[i];
#pragma unroll
    for (const u32 other : four.word) before += other > own, deepest = max_of(deepest, other), least = min_of(least, other - 1);  // (0: there is none)
  }
  const bool falls = depth_of_key(deepest) - depth_of_key(least + 1) >= even;
  // Of more groups depths fall anew, again and again.
  params.order[falls ? first + before : group] = static_cast<i32>(group) | (falls && all.groups <= ordered_groups ? GroupedTensorParams::falls : 0);
}

// Warp 0, 1 and 2 of a CTA has A, B and D of 32 groups, of the product as the kernel sees it, and warp 3 the rest.
extern "C" __global__ void __launch_bounds__(prepare_threads) GG_KERNEL_NAME(const __grid_constant__ PrepareParams params) {
  ptx::launch_wait();
  ptx::launch_next();
  const GroupedParams& all = params.problem;
  if (blockIdx.x >= params.blocks) return find_place(params, blockIdx.x - params.blocks);
  constexpr int at_once = prepare_threads / prepare_lanes;
  static_assert(at_once == 32, "a warp's lanes are groups");
  __shared__ bool reach[2][at_once];
  const int lane = static_cast<int>(threadIdx.x) % at_once, part = static_cast<int>(threadIdx.x) / at_once;
  const i64 group = ptx::renewed(i64(blockIdx.x) * at_once + lane);  // so that nothing of it is read before the launch ahead has ended
  const bool on = group < all.groups;
  bool reached = false;
  if (group == 0 && part == 3) *params.taken = 0;
  if (on) {
    // All that is in memory is asked for before any of it is looked at.
    const auto pinned = [](SourceNumbers x) { return SourceNumbers{ptx::renewed(x.own), ptx::renewed(x.before)}; };
    SourceNumbers m_numbers = read_numbers(all.m, group), n_numbers = read_numbers(all.n, group), k_numbers = read_numbers(all.k, group);
    m_numbers = pinned(m_numbers), n_numbers = pinned(n_numbers), k_numbers = pinned(k_numbers);
    const i64 m = max_of(number_of(all.m, m_numbers), 0), n = max_of(number_of(all.n, n_numbers), 0), k = max_of(number_of(all.k, k_numbers), 0), start = group_start(all, m_numbers, k_numbers);
    const int large = params.large_above >= 0 && m > params.large_above ? 1 : 0;
    const PrepareKernel& kernel = params.kernels[large];
    GroupRecord& record = params.records[group];
    const bool swap = kernel.swap, live = group < live_groups(all);
    if (part < 3) {
      const bool of_a = part == (swap ? 1 : 0), of_d = part == 2;  // of the upright product
      const SourceMatrix& source = of_d ? all.d : of_a ? all.a : all.b;
      const i64 stored = of_d && paired(params.shape) ? n / 2 : n, upright_rows = of_d || of_a ? m : k, upright_columns = of_a ? k : stored;
      const Matrix upright = group_matrix(source, group, start, upright_columns);
      const Matrix matrix = swap ? Matrix{upright.data, upright.col_stride, upright.row_stride} : upright;
      Lines lines = lines_of(matrix, swap ? upright_columns : upright_rows, swap ? upright_rows : upright_columns, kernel.by_columns[part]);
      const int size = kernel.sizes[part];
      const bool pairs = !of_a && !of_d && split_pairs(params.shape);
      const auto map = [&] { return write_map(record.maps[part], kernel.maps[part], pairs ? in_pairs(lines) : lines, size); };
      reached = (!of_d || kernel.boxes) && map();
      if (of_d) {
        record.facts.store = reached ? store_way(lines, size) : TensorStore::threads;
        if (!reached && params.copies.note && live && m > 0 && n > 0 && contiguous(lines)) params.copies.note->lines = 1;
      } else if (params.copies.copies || params.copies.note) {
        const i64 number = 2 * group + part;
        if (params.copies.copies) params.copies.blocks[number] = 0;
        // Of an empty group nothing is copied, nor what lies by an index, nor, for each group anew, what all of them share.
        const bool copied = !reached && live && m > 0 && n > 0 && !(of_a && params.by_index) && !shared_by_groups(source, all.groups);
        if (copied && find_room(params.copies, number, lines, size)) reached = map();
      }
    } else {
      const GemmParams upright = group_params(all, group, start, m, n, k, params.shape);
      const GemmParams p = swap ? transposed(upright) : upright;
      record.facts.problem = p;
      record.facts.start = start;
      record.facts.reserved = 0;
      GroupTiles tiles{0, static_cast<i32>(tiles_of(p.m, kernel.tile_m)), static_cast<i32>(tiles_of(p.n, kernel.tile_n)), static_cast<i32>(tiles_of(p.k, kernel.tile_k))};
      if (live) tiles.count = static_cast<i32>(cluster_tiles(static_cast<u32>(tiles.down), static_cast<u32>(tiles.across), kernel.cluster_m, kernel.cluster_n));
      kernel.tiles[group] = tiles;
      if (params.large_above >= 0) params.kernels[1 - large].tiles[group] = {};
    }
  }
  if (part < 2) reach[part][lane] = reached;
  __syncthreads();
  if (on && part == 3) params.records[group].facts.reach = (reach[0][lane] ? 1 : 0) | (reach[1][lane] ? 2 : 0);
}
