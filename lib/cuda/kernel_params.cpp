// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_params.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>

#include "lines.cuh"
#include "scheduler/group_params.cuh"
#include "scheduler/groups.cuh"
#include "scheduler/raster.cuh"
#include "tile/scales.cuh"
#include "tile/terms.cuh"

namespace ggemm::cuda {
namespace {

using core::Major;

int size_of(int dtype) { return static_cast<int>(core::dtype_size(dtype)); }

// How a kernel's operands and D lie, and the boxes that it moves of them.
struct Layout {
  const core::ProblemType& type;
  const core::Config& config;

  bool mn_a() const { return type.major_a == Major::mn; }
  bool mn_b() const { return type.major_b == Major::mn; }
  bool mn_d() const { return type.major_d == Major::mn; }
  bool tf32() const { return type.compute == GGEMM_COMPUTE_TF32; }
  int box_a() const { return kernels::box_rows(config.tile_m, config.tile_k, size_of(type.a), mn_a(), core::parts_of_a(type, config)); }
  int box_b() const { return kernels::box_rows(config.tile_n, config.tile_k, size_of(type.b), mn_b(), config.cluster_m); }
  // Of D, which a warpgroup stores; pairs have no C.
  int columns() const { return kernels::stored_columns(config.tile_n / config.warps_n, config.cluster_k, type.gate != GGEMM_GATE_NONE); }
  int size_c() const { return size_of(type.gate ? type.d : type.c); }
  bool boxes() const { return kernels::store_by_boxes(columns(), size_c(), size_of(type.d), mn_d()); }
  // How the copy engine sees lines of B.
  kernels::Lines of_b(const kernels::Lines& lines) const { return type.gate == GGEMM_GATE_HALVES ? kernels::in_pairs(lines) : lines; }
  int box_d() const { return mn_d() ? kernels::store_columns(columns(), size_c(), size_of(type.d), true) : 64; }
};

// products: of a batch, of which `lines` are the first one's; they are so many bytes apart, or, where that is 0, all have the same.
kernels::TensorMap map_of(const Device& device, int dtype, bool tf32, const kernels::Lines& lines, int box, std::int64_t products = 0, std::int64_t product_bytes = 0) {
  const std::int64_t pitch = kernels::pitch(lines, size_of(dtype));
  const bool same = products && !product_bytes;
  return device.tensor_map({.dtype = dtype, .tf32 = tf32, .data = lines.data, .length = lines.length, .lines = lines.lines, .line_bytes = pitch, .box_lines = box, .half = lines.half, .products = same ? 1 : products, .product_bytes = same ? pitch : product_bytes});
}

// All groups' parts of an operand, of which `first` are the lines of the one that begins it, as one matrix that a map can tell; `at` says where each begins. Nothing if they are not that, or if something
// lies between them that is nobody's, and must not be read.
std::optional<kernels::Lines> lines_of_groups(const kernels::SourceMatrix& source, kernels::Lines first, std::int64_t groups, int size, kernels::GroupLines& at) {
  const std::int64_t of_group = groups > 1 ? source.group_bytes : 0;
  constexpr std::int64_t most_stride = std::int64_t(1) << 40;  // that a map could tell
  if (source.pointers || first.lines <= 0 || first.stride <= 0 || first.stride >= most_stride || of_group < 0) return {};
  const std::int64_t pitch = first.stride * size;
  if (of_group % pitch || of_group / pitch > first.lines + first.half || source.start_bytes % pitch) return {};
  std::int64_t behind;
  if (__builtin_mul_overflow(of_group / pitch, groups - 1, &behind) || __builtin_add_overflow(first.lines, behind, &first.lines)) return {};
  // A single line, too, has the stride that says where others begin.
  if (!kernels::reachable({first.data, first.length, std::max<std::int64_t>(first.lines, 2), first.unit, first.stride, first.half}, size)) return {};
  at = {static_cast<kernels::i32>(of_group / pitch), static_cast<kernels::i32>(source.start_bytes / pitch)};
  return first;
}

// The scales of a kernel's A, of `rows` rows, if the copy engine reaches lines of them; `scales` is the first group's, `source` says where others' are, and is none for a plain product. It takes no box that begins off
// 16 bytes in a line, as rows of a ragged m do, and none longer than 256.
kernels::ScaleLines scale_lines(const Device& device, const core::ProblemType& type, const core::Config& config, const kernels::Matrix& scales, const kernels::SourceMatrix* source, std::int64_t groups, std::int64_t rows, std::int64_t k) {
  kernels::ScaleLines out{};
  constexpr int longest_box = 256;
  if (!kernels::scaled_by_lines(type.scale_a) || config.tile_m > longest_box) return out;
  kernels::Lines lines = kernels::lines_of(scales, rows, kernels::scales_deep(type.scale_a, k), true);
  if (source) {
    kernels::GroupLines at{};
    const auto all = source->start_bytes ? std::nullopt : lines_of_groups(*source, lines, groups, sizeof(float), at);
    if (!all) return out;
    lines = *all, out.of_group = at.of_group;
  }
  if (lines.lines > 1 && lines.length > lines.stride) return out;
  if (!kernels::reachable(lines, sizeof(float))) return out;
  out.map = device.tensor_map({.dtype = GGEMM_F32, .tf32 = false, .data = lines.data, .length = lines.length, .lines = lines.lines, .line_bytes = kernels::pitch(lines, sizeof(float)), .box_lines = 1, .box_length = config.tile_m});
  out.mapped = 1;
  return out;
}

kernels::TileWalk walk_of(const core::Config& upright, const kernels::GemmParams& p) {
  const auto tiles = [](std::int64_t size, int tile) { return static_cast<kernels::u32>(kernels::ceil_div(size, tile)); };  // few enough, as was checked
  return kernels::tile_walk(tiles(p.m, upright.tile_m), tiles(p.n, upright.tile_n), tiles(p.k, upright.tile_k), p.raster, std::max<int>(1, upright.cluster_m), std::max<int>(1, upright.cluster_n));
}

// tiles: of each product.
kernels::BatchParams batch_of(const kernels::GroupedParams& p, kernels::u32 tiles) {
  // What is nowhere stays so: without a product there are no scales.
  const auto step = [](const void* data, std::int64_t bytes) { return data ? bytes : 0; };
  const kernels::EpilogueParams& e = p.epilogue;
  return {kernels::divisor(tiles), 0, step(p.a.data, p.a.group_bytes), step(p.b.data, p.b.group_bytes), step(p.c.data, p.c.group_bytes), p.d.group_bytes, step(p.bias.data, p.bias.group_bytes), step(e.alpha.pointer, p.alpha_stride), step(e.beta.pointer, p.beta_stride),
          p.k.value > 0 ? step(p.scale_a.data, p.scale_a.group_bytes) : 0, p.k.value > 0 ? step(p.scale_b.data, p.scale_b.group_bytes) : 0};
}

// Any matrix: a map of it is right but for what a kernel will replace.
kernels::Lines any_lines(const void* address) { return {address, 16, 16, 1, 16}; }

}  // namespace

kernels::TensorParams tensor_params(const Device& device, const core::ProblemType& type, const core::Config& config, const kernels::GemmParams& p, const Products& products) {
  const Layout layout{type, config};
  kernels::TensorParams out{};
  out.problem = p;
  out.walk = walk_of(config, p);
  const std::int64_t depth = core::by_terms(type, config.family) ? kernels::term_count * kernels::term_depth(p.k, config.tile_k) : p.k;
  if (p.k > 0) {
    out.a = map_of(device, type.a, layout.tf32(), kernels::lines_of(p.a, p.m, depth, layout.mn_a()), layout.box_a(), products.count, products.a);
    out.b = map_of(device, type.b, layout.tf32(), layout.of_b(kernels::lines_of(p.b, depth, p.n, !layout.mn_b())), layout.box_b(), products.count, products.b);
    out.scales = scale_lines(device, type, config, p.scale_a, nullptr, 1, p.m, p.k);
  }
  const kernels::Lines d = kernels::lines_of(p.d, p.m, core::columns_of_d(type, p.n), layout.mn_d());
  if (layout.boxes()) out.store = kernels::store_way(d, size_of(type.d));
  if (out.store == kernels::TensorStore::threads) return out;
  out.d = map_of(device, type.d, false, d, layout.box_d(), products.count, products.d);
  if (products.count) return out;  // whose C is not read
  if (const kernels::Lines c = kernels::lines_of(p.c, p.m, p.n, layout.mn_d()); p.c.data && layout.size_c() == size_of(type.d) && kernels::reachable(c, layout.size_c()))
    out.c = map_of(device, type.c, false, c, layout.box_d()), out.maps_c = 1;
  return out;
}

kernels::TensorParams batch_params(const Device& device, const core::ProblemType& described, const core::Config& named, const kernels::GroupedParams& p) {
  const bool swap = named.swap;
  const core::ProblemType type = core::kernel_type(described, named);
  const core::Config c = core::upright(named);
  const kernels::GemmParams first = kernels::group_params(p, 0, core::group_shape(described));
  const kernels::SourceMatrix &a = swap ? p.b : p.a, &b = swap ? p.a : p.b;
  kernels::TensorParams out = tensor_params(device, type, c, swap ? kernels::transposed(first) : first, {p.groups, a.group_bytes, b.group_bytes, p.d.group_bytes});
  out.batch = batch_of(p, out.walk.tiles);
  if (swap) std::swap(out.batch.a, out.batch.b), std::swap(out.batch.scale_a, out.batch.scale_b);
  out.walk.tiles *= static_cast<kernels::u32>(p.groups);
  return out;
}

kernels::PlainParams plain_params(const core::Config& config, const kernels::GemmParams& p) { return {p, walk_of(config, p)}; }

kernels::BatchedParams batched_params(const core::ProblemType& type, const core::Config& config, const kernels::GroupedParams& p) {
  const kernels::PlainParams first = plain_params(config, kernels::group_params(p, 0, core::group_shape(type)));
  return {first, batch_of(p, first.walk.tiles)};
}

kernels::PrepareParams prepare_params(const Device& device, const core::ProblemType& described, std::span<const core::Config> configs, const kernels::GroupedParams& p, void* workspace) {
  kernels::PrepareParams out{};
  out.problem = p;
  out.records = static_cast<kernels::GroupRecord*>(workspace);
  const kernels::Lines any = any_lines(workspace);
  auto* tiles = reinterpret_cast<kernels::GroupTiles*>(out.records + p.groups);
  for (std::size_t i = 0; i < configs.size(); ++i, tiles += p.groups) {
    const bool swap = configs[i].swap;
    const core::ProblemType type = core::kernel_type(described, configs[i]);
    const core::Config c = core::upright(configs[i]);
    const Layout layout{type, c};
    kernels::PrepareKernel& kernel = out.kernels[i];
    kernel.maps[0] = map_of(device, type.a, layout.tf32(), any, layout.box_a());
    kernel.maps[1] = map_of(device, type.b, layout.tf32(), layout.of_b(any), layout.box_b());
    kernel.boxes = layout.boxes();
    if (kernel.boxes) kernel.maps[2] = map_of(device, type.d, false, any, layout.box_d());
    kernel.sizes[0] = size_of(type.a), kernel.sizes[1] = size_of(type.b), kernel.sizes[2] = size_of(type.d);
    kernel.by_columns[0] = layout.mn_a(), kernel.by_columns[1] = !layout.mn_b(), kernel.by_columns[2] = layout.mn_d();
    kernel.tiles = tiles;
    kernel.tile_m = kernels::divisor(c.tile_m), kernel.tile_n = kernels::divisor(c.tile_n), kernel.tile_k = kernels::divisor(c.tile_k), kernel.cluster_m = c.cluster_m, kernel.cluster_n = c.cluster_n;
    kernel.swap = swap;
  }
  // Where all are as deep, where there are few, and where tiles are cut, groups are computed as they come.
  if (p.k.kind && p.groups >= kernels::fewest_ordered && std::ranges::none_of(configs, [](const core::Config& c) { return c.slices; })) out.order = reinterpret_cast<kernels::i32*>(tiles);
  out.blocks = static_cast<kernels::u32>(kernels::ceil_div(p.groups * kernels::prepare_lanes, kernels::prepare_threads));
  out.taken = taken_of(workspace, p.groups);
  out.large_above = configs.size() > 1 ? configs[0].large_above : -1;
  out.shape = core::group_shape(described);
  out.by_index = p.rows.a_index.kind ? 1 : 0;
  return out;
}

bool uniform_groups(const Device& device, const core::ProblemType& described, const core::Config& named, const kernels::GroupedParams& p, kernels::UniformGroups& out) {
  using kernels::u64;
  const auto told = [](const kernels::SourceMatrix& m) { return m.row_stride.kind == 0 && m.col_stride.kind == 0 && !(m.data && m.pointers); };
  const bool constant = p.n.kind == 0 && p.k.kind == 0 && told(p.a) && told(p.b) && told(p.c) && told(p.d) && told(p.scale_a) && told(p.scale_b) && !(p.bias.data && p.bias.pointers);
  const bool bounded = p.m.kind == 0 || p.m.mode != kernels::source_itself, ragged = p.m.mode == kernels::source_ends;
  // Blocks of rows do not begin where a group's first row does.
  if (!constant || !bounded || p.status || p.k.mode == kernels::source_ends || p.k.value <= 0 || p.n.value <= 0 || p.m.value <= 0 || (ragged && described.scale_a == kernels::scale_block_128x128)) return false;
  const bool swap = named.swap;
  const core::ProblemType type = core::kernel_type(described, named);
  const core::Config c = core::upright(named);
  const Layout layout{type, c};
  const kernels::u32 shape = core::group_shape(described);
  // With room for as many rows as a group may have.
  const auto product = [&](std::int64_t group, std::int64_t start, std::int64_t rows) {
    const kernels::GemmParams upright = kernels::group_params(p, group, start, rows, p.n.value, p.k.value, shape);
    return swap ? kernels::transposed(upright) : upright;
  };
  const kernels::GemmParams all = product(0, 0, p.m.value);
  const kernels::SourceMatrix &source_a = swap ? p.b : p.a, &source_b = swap ? p.a : p.b;
  // What lies behind a group's lines counts for nothing if they are rows of A or columns of B; if they go along k, a tile must not reach there.
  const auto map = [&](kernels::TensorMap& to, const kernels::SourceMatrix& source, const kernels::Lines& first, int dtype, int box, bool along_k, kernels::GroupLines& at) {
    const std::optional<kernels::Lines> lines = lines_of_groups(source, first, p.groups, size_of(dtype), at);
    if (!lines || (along_k && lines->lines > p.k.value && p.k.value % c.tile_k)) return false;
    to = map_of(device, dtype, layout.tf32(), *lines, box);
    return true;
  };
  const bool index_a = p.rows.a_index.kind && !swap, index_b = p.rows.a_index.kind && swap;
  if (!index_a && !map(out.a, source_a, kernels::lines_of(all.a, all.m, all.k, layout.mn_a()), type.a, layout.box_a(), layout.mn_a(), out.lines_a)) return false;
  if (!index_b && !map(out.b, source_b, layout.of_b(kernels::lines_of(all.b, all.k, all.n, !layout.mn_b())), type.b, layout.box_b(), layout.mn_b(), out.lines_b)) return false;
  if (!index_a && !index_b) out.scales = scale_lines(device, type, c, all.scale_a, swap ? &p.scale_b : &p.scale_a, p.groups, all.m, all.k);
  kernels::TensorStore store = kernels::TensorStore::threads;
  // Where lines of D go along m they end with the group, which only the device knows.
  const bool known_lines = layout.mn_d() == swap || p.m.kind == 0;
  if (layout.boxes() && known_lines && !p.rows.d_index.kind)
    if (const auto d = lines_of_groups(p.d, kernels::lines_of(all.d, all.m, core::columns_of_d(type, all.n), layout.mn_d()), p.groups, size_of(type.d), out.lines_d))
      if (d->length * size_of(type.d) % 16 == 0) store = kernels::TensorStore::inner_boxes, out.d = map_of(device, type.d, false, *d, layout.box_d());
  if (described.by_engine && layout.boxes() && store == kernels::TensorStore::threads) return false;  // each group's own map reaches it
  out.rows = p.m;
  out.other_tiles = static_cast<kernels::i32>(kernels::ceil_div(p.n.value, swap ? c.tile_m : c.tile_n)), out.steps = static_cast<kernels::i32>(kernels::ceil_div(p.k.value, c.tile_k));
  out.swap = swap;
  const auto words = [&](std::int64_t group, std::int64_t start) {
    kernels::GroupFacts facts{};
    facts.problem = product(group, start, 0), facts.reach = (index_a ? 0 : 1) | (index_b ? 0 : 2), facts.store = store, facts.start = start;
    return std::bit_cast<std::array<u64, kernels::UniformGroups::words>>(facts);
  };
  const auto base = words(0, 0), group = words(1, 0), start = words(0, 1);
  for (std::size_t i = 0; i < base.size(); ++i) out.base[i] = base[i], out.of_group[i] = group[i] - base[i], out.of_start[i] = start[i] - base[i];
  return true;
}

namespace {
// A record, the tiles of two kernels, a place in the order.
std::size_t group_bytes(std::int64_t groups) { return static_cast<std::size_t>(groups) * (sizeof(kernels::GroupRecord) + 2 * sizeof(kernels::GroupTiles) + sizeof(kernels::i32)); }
}  // namespace

kernels::u32* taken_of(void* workspace, std::int64_t groups) { return reinterpret_cast<kernels::u32*>(static_cast<char*>(workspace) + group_bytes(groups)); }

std::size_t prepare_bytes(std::int64_t groups) { return group_bytes(groups) + sizeof(kernels::u32); }

}  // namespace ggemm::cuda
