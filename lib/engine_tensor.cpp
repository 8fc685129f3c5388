// SPDX-License-Identifier: Apache-2.0
// Launches of plain products that need more than their kernel: with copies of operands, which the sm90 family cannot do without and others may, and of all whose k is cut, with memory where pieces meet.
#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "cuda/kernel_params.hpp"
#include "engine.hpp"
#include "jit/render.hpp"
#include "lines.cuh"
#include "scheduler/raster.cuh"
#include "select/deal.hpp"
#include "select/footprint.hpp"
#include "tile/terms.cuh"

namespace ggemm {
namespace {

constexpr std::int64_t most_ctas = INT32_MAX;
constexpr std::int64_t alignment = cuda::Workspace::alignment;

std::int64_t aligned(std::int64_t bytes) { return static_cast<std::int64_t>(cuda::Workspace::aligned(static_cast<std::size_t>(bytes))); }

// What the kernel computes, which may be the transposed product.
struct Upright {
  const core::ProblemType& type;
  const core::Config& config;
  std::int64_t down, across, tiles;  // tiles; of clusters
  Upright(const Choice& choice, std::int64_t m, std::int64_t n) : type(choice.upright_type), config(choice.upright) {
    if (choice.config.swap) std::swap(m, n);
    down = kernels::ceil_div(m, config.tile_m), across = kernels::ceil_div(n, config.tile_n);
    tiles = kernels::cluster_tiles(down, across, std::max<int>(1, config.cluster_m), std::max<int>(1, config.cluster_n));
  }
  // What the sums of so many pieces of tiles take of workspace.
  std::int64_t piece_bytes(std::int64_t pieces) const { return aligned(pieces * select::piece_bytes(type, config)); }
};

// Into how many slices k is cut: no more than there are steps of it, but one at least.
std::int64_t slices_of(const Upright& upright, std::int64_t k) { return std::clamp<std::int64_t>(kernels::ceil_div(k, upright.config.tile_k), 1, upright.config.slices); }
select::PieceDeal dealt_tail(const Choice& choice, const core::ProblemType& type, std::int64_t tiles, std::int64_t steps, std::int64_t places) {
  const TailDeal& known = choice.tail;
  if (known.tiles == tiles && known.steps == steps && known.places == places) return known.dealt;
  if (choice.config.family != core::Family::sm90) return select::deal_pieces(type, choice.config, tiles, steps, places, choice.kernel->ctas_per_multiprocessor);
  return {select::deal_tail(type, choice.config, tiles, steps, places), 0};
}
// clusters: that the device holds at once.
kernels::DepthDeal deal_of(const Choice& choice, const core::ProblemType& type, const Upright& upright, std::int64_t k, std::int64_t clusters) {
  const core::Config& named = choice.config;
  const kernels::u32 tiles = static_cast<kernels::u32>(upright.tiles);
  const kernels::DepthDeal none = kernels::depth_deal(tiles, 0, 1);
  if (named.slices == 0) return none;
  if (named.slices != core::tail_slices) return kernels::depth_deal(0, tiles, static_cast<kernels::u32>(upright.tiles * slices_of(upright, k)));
  const std::int64_t steps = kernels::ceil_div(k, named.tile_k);
  const kernels::DepthDeal deal = dealt_tail(choice, type, upright.tiles, steps, clusters).deal;
  return deal.cut * select::parties(upright.config) > std::int64_t(cuda::Workspace::most_arrivals) || deal.sharers > kernels::most_sharers ? none : deal;
}

// The copy of an operand in workspace: lines of elements, or of the terms of elements.
struct Copy {
  bool wanted;
  bool by_columns;  // lines are columns of the operand
  bool turned;      // its elements are no neighbours in the source
  std::int64_t rows, columns;
  std::int64_t size;   // of an element of the copy
  std::int64_t depth;  // along k, of a term of the operand; 0: it is copied as it is
  bool along_k;        // lines are contiguous along k

  std::int64_t lines() const { return by_columns ? columns : rows; }
  std::int64_t length() const { return by_columns ? rows : columns; }
  std::int64_t all_lines() const { return depth && !along_k ? depth : lines(); }
  std::int64_t all_length() const { return depth && along_k ? depth : kernels::ceil_div(length() * size, 16) * 16 / size; }
  std::int64_t pitch() const { return depth ? all_length() * (along_k ? kernels::term_count : 1) : kernels::copy_pitch(length() * size) / size; }
  std::int64_t term_stride() const { return along_k ? depth : depth * pitch(); }
  bool too_large() const { return blocks_down() > most_ctas / 2 / blocks_across(); }
  // Whether a kernel that can do without is better off with it: not where lines are whole vectors as they are, or one that repeats, nor if its elements are no neighbours though the choice took them for such.
  bool worth(const kernels::Matrix& matrix) const {
    const std::int64_t inner = by_columns ? matrix.row_stride : matrix.col_stride, outer = by_columns ? matrix.col_stride : matrix.row_stride;
    const bool whole = inner == 1 && ((reinterpret_cast<std::uintptr_t>(matrix.data) | static_cast<std::uintptr_t>(outer * size)) & 15) == 0;
    return wanted && !whole && outer != 0 && (turned || inner == 1) && !too_large();
  }
  std::int64_t bytes() const { return wanted ? aligned(all_lines() * pitch() * size * (depth && !along_k ? kernels::term_count : 1)) : 0; }
  std::int64_t blocks_across() const { return depth ? kernels::ceil_div(all_length(), kernels::split_length) : kernels::repack_across(length() * size, turned); }
  std::int64_t blocks_down() const { return depth ? kernels::ceil_div(all_lines(), kernels::split_lines) : kernels::repack_down(lines(), turned); }

  // The operand's copy at `to`, which it names from now on.
  kernels::CopyParams params(kernels::Matrix& matrix, char* to) const {
    kernels::CopyParams out{};
    if (!wanted) return out;
    const std::int64_t words = kernels::ceil_div(size, jit::most_repacked_size);  // an element of 8 bytes, in a contiguous line, is copied as two of 4
    out.from = matrix.data, out.to = to, out.to_stride = pitch() * words;
    out.line_stride = (by_columns ? matrix.col_stride : matrix.row_stride) * words, out.element_stride = by_columns ? matrix.row_stride : matrix.col_stride;
    out.lines = lines(), out.length = length() * words, out.turned = turned;
    out.blocks_across = blocks_across(), out.blocks = blocks_across() * blocks_down();
    out.term_stride = term_stride(), out.all_lines = all_lines(), out.all_length = all_length();
    matrix = by_columns ? kernels::Matrix{to, 1, pitch()} : kernels::Matrix{to, pitch(), 1};
    return out;
  }
};

// type: as the caller described it.
std::array<Copy, 2> copies_of(const Choice& choice, const core::ProblemType& type, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (k == 0 || !choice.copied) return {};
  const core::ProblemType packed = choice.config.family == core::Family::sm90 ? core::packed(type, choice.config) : type;
  const std::int64_t depth = core::by_terms(type, choice.config.family) ? kernels::term_depth(k, choice.config.tile_k) : 0;
  const auto size = [](int dtype) { return static_cast<std::int64_t>(core::dtype_size(dtype)); };
  const auto flag = [&choice](int bit) { return (choice.copied & bit) != 0; };
  const bool a_k = packed.major_a == core::Major::k, b_k = packed.major_b == core::Major::k;
  return {Copy{flag(core::operand_a), !a_k, flag(core::strided_a), m, k, size(packed.a), depth, a_k}, Copy{flag(core::operand_b), b_k, flag(core::strided_b), k, n, size(packed.b), depth, b_k}};
}

}  // namespace

std::size_t Engine::tensor_workspace_bytes(const Choice& choice, const Request& request) const {
  const auto& [groups, m, n, k, skew] = request.sizes;
  const Upright upright(choice, m, n);
  // Of slices the largest sizes of the class take most; of tiles that are left over others may leave more of them, but no more pieces than this.
  const std::int64_t clusters = choice.clusters(request.key.max_ctas);
  std::int64_t bytes = 0;
  if (choice.config.slices == core::tail_slices) bytes += upright.piece_bytes(clusters + std::min(upright.tiles, (choice.config.family == core::Family::sm90 ? 2 : 1) * clusters));
  else if (choice.config.slices) bytes += upright.piece_bytes(upright.tiles * slices_of(upright, k));
  if (choice.config.family == core::Family::sm90)  // others can do without
    for (const Copy& copy : copies_of(choice, request.key.type, m, n, k)) bytes += copy.bytes();
  return static_cast<std::size_t>(bytes);
}

TailDeal Engine::tail_for(const Choice& choice, const Request& request) const {
  const auto& [groups, m, n, k, skew] = request.sizes;
  const std::int64_t tiles = Upright(choice, m, n).tiles, steps = kernels::ceil_div(k, choice.config.tile_k);
  const std::int64_t places = choice.config.family == core::Family::sm90 ? choice.clusters(request.key.max_ctas) : facts().multiprocessors;
  return {tiles, steps, places, dealt_tail(choice, request.key.type, tiles, steps, places)};
}

namespace {

// Launches what copies operands, to `to`, and returns the product of the copies.
kernels::GemmParams copied(const cuda::Device& device, const Choice& choice, const std::array<Copy, 2>& copies, const kernels::GemmParams& given, char* to, kernels::TermsMark* terms, void* stream) {
  kernels::GemmParams out = given;
  if (!copies[0].wanted && !copies[1].wanted) return out;
  for (const Copy& copy : copies)
    if (copy.wanted && copy.too_large())
      core::fail(GGEMM_ERROR_UNSUPPORTED, "an operand of %lldx%lld elements has more than 2^30 blocks to copy", static_cast<long long>(copy.rows), static_cast<long long>(copy.columns));
  kernels::RepackParams repack{{copies[0].params(out.a, to), copies[1].params(out.b, to + copies[0].bytes())}, terms};
  void* arguments[] = {&repack};
  device.launch(*choice.copy, static_cast<unsigned>(repack.copies[0].blocks + repack.copies[1].blocks), stream, arguments);
  return out;
}

}  // namespace

// Of the other families, a CTA for each tile, or piece of one.
void Engine::run_cut(const Choice& choice, const core::ProblemType& type, const kernels::GemmParams& given, void* stream) const {
  const Upright upright(choice, given.m, given.n);
  const kernels::DepthDeal whole = kernels::depth_deal(static_cast<kernels::u32>(upright.tiles), 0, 1);
  select::PieceDeal dealt = choice.config.slices ? dealt_tail(choice, type, upright.tiles, kernels::ceil_div(given.k, choice.config.tile_k), facts().multiprocessors) : select::PieceDeal{whole, 0};
  const std::int64_t ctas = std::int64_t(dealt.deal.whole) + dealt.deal.cut * dealt.deal.pieces;
  if (dealt.deal.cut > cuda::Workspace::most_arrivals || ctas > most_ctas) dealt.deal = whole;
  const std::int64_t sums = upright.piece_bytes(kernels::piece_slots(dealt.deal));
  // Copies are only wished for: without memory for them (in a capture, above all) operands are read as they lie.
  std::array<Copy, 2> copies = copies_of(choice, type, given.m, given.n, given.k);
  copies[0].wanted = copies[0].worth(given.a), copies[1].wanted = copies[1].worth(given.b);
  const std::int64_t wished = sums + copies[0].bytes() + copies[1].bytes();
  cuda::Workspace::Lease lease;  // until the product is launched
  if (wished) lease = workspace_.get(*device_, stream, static_cast<std::size_t>(sums), static_cast<std::size_t>(wished));
  if (lease.bytes < static_cast<std::size_t>(wished)) copies = {};
  const kernels::GemmParams packed = copied(*device_, choice, copies, given, static_cast<char*>(lease.data) + sums, lease.terms, stream);
  kernels::CutParams cut{cuda::plain_params(choice.config, packed), {lease.data, lease.arrivals, dealt.deal}, {}};
  cut.pieces = kernels::piece_walk(dealt.deal, dealt.first, cut.plain.walk.steps);
  void* arguments[] = {choice.config.slices ? static_cast<void*>(&cut) : &cut.plain};
  device_->launch(*choice.kernel, dealt.deal.whole + dealt.deal.cut * dealt.deal.pieces, stream, arguments);
}

// Persistent: as many clusters as the device holds, or as there are cluster tiles (of those that are cut: sharers) if those are fewer. Clusters whose CTAs share a tile along k, or
// that have a slice of a tile's k, have one each; what those leave another launch adds up.
void Engine::run_tensor(const Choice& choice, const core::ProblemType& type, const kernels::GemmParams& given, void* stream) const {
  const Upright upright(choice, given.m, given.n);
  const core::Config& c = upright.config;
  const std::int64_t slices = c.slices > core::tail_slices ? slices_of(upright, given.k) : 1;
  if (upright.tiles > most_ctas / choice.kernel->cluster / slices)
    core::fail(GGEMM_ERROR_UNSUPPORTED, "m=%lld, n=%lld has more than 2^31 tiles of %dx%d in clusters of %d%s", given.m, given.n, c.tile_m, c.tile_n, choice.kernel->cluster, core::which_product(type));
  const std::int64_t resident = choice.clusters(given.max_ctas);
  const kernels::DepthDeal deal = deal_of(choice, type, upright, given.k, resident);
  const std::int64_t sums = upright.piece_bytes(kernels::piece_slots(deal));
  const std::array<Copy, 2> copies = copies_of(choice, type, given.m, given.n, given.k);
  cuda::Workspace::Lease lease;  // until the product that uses it is launched
  if (const std::int64_t bytes = sums + copies[0].bytes() + copies[1].bytes()) lease = workspace_.get(*device_, stream, static_cast<std::size_t>(bytes));
  const kernels::GemmParams packed = copied(*device_, choice, copies, given, static_cast<char*>(lease.data) + sums, lease.terms, stream);
  kernels::TensorParams params = cuda::tensor_params(*device_, choice.upright_type, c, choice.config.swap ? kernels::transposed(packed) : packed);
  params.slices = {lease.data, lease.arrivals, deal};
  if (core::by_terms(type, c.family) && copies[0].wanted) params.terms = lease.terms;
  const bool one_each = c.cluster_k > 1 || c.slices > core::tail_slices;
  const std::int64_t wanted = std::max(deal.whole, deal.cut ? deal.sharers : 0), clusters = one_each ? wanted : std::min(wanted, resident);
  void* arguments[] = {&params};
  core::Config dealt = c;
  if (c.slices > core::tail_slices) dealt.slices = static_cast<std::uint16_t>(slices > 1 ? slices : 0);  // those that k has steps for; of one alone tiles are whole
  const bool by_turns = !select::neighbours(dealt, static_cast<double>(upright.down), static_cast<double>(upright.across), multiprocessors(given.max_ctas));
  device_->launch(*choice.kernel, static_cast<unsigned>(clusters * choice.kernel->cluster), stream, arguments, {.overlap = true, .by_turns = by_turns});
  if (!choice.sum_pieces) return;
  const std::int64_t strips = upright.tiles * choice.kernel->cluster * (c.tile_m * c.tile_n / kernels::strip_size);
  device_->launch(*choice.sum_pieces, static_cast<unsigned>(kernels::ceil_div(strips, kernels::strips_at_once(deal))), stream, arguments, {.overlap = true});
}

}  // namespace ggemm
