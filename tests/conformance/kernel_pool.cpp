// SPDX-License-Identifier: Apache-2.0
#include "kernel_pool.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "support/formats.hpp"

namespace ggemm::tests {
namespace {

using std::int64_t;

// "..._s4_r8" and "..._s4_r8_x" without "_r8". Names without a raster group stay as they are.
struct NameParts {
  std::string head, tail;
  bool raster = false;
};
NameParts split(const std::string& name) {
  for (std::size_t at = name.find("_r"); at != std::string::npos; at = name.find("_r", at + 1)) {
    std::size_t end = at + 2;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    if (end > at + 2 && (end == name.size() || name[end] == '_')) return {name.substr(0, at), name.substr(end), true};
  }
  return {name, "", false};
}
// Nor with the number of slices of k, which the library chooses for each product.
std::string without_raster(const std::string& name) {
  const NameParts parts = split(name);
  std::string out = parts.head + parts.tail;
  if (const std::size_t slices = out.find("_k"); slices != std::string::npos) {
    const std::size_t end = out.find_first_not_of("0123456789", slices + 2);
    out.erase(slices + 2, end == std::string::npos ? end : end - slices - 2);
  }
  return out;
}

// What follows family, dtypes and layout: the tile and how it is worked on.
std::string tile_part(const std::string& name) {
  std::size_t at = 0;
  for (int i = 0; i < 5 && at != std::string::npos; ++i) at = name.find('_', at + (i > 0));
  return at == std::string::npos ? "" : name.substr(at);
}

ggemm_dtype usual_output(const CaseType& t) { return t.sums_i32() ? GGEMM_I32 : t.sums_f64() ? GGEMM_F64 : t.a == t.b ? t.a : GGEMM_F32; }

// A product that a kernel with demands on alignment takes too.
Case ordinary(const CaseType& type, std::int64_t m = 256) {
  Drawing drawing;
  drawing.grouped = type.grouped;
  drawing.aligned = true;
  drawing.forms = type.batch;
  return draw_sized_case(drawing, type, std::vector<Size>(type.batch ? 2 : 1, {m, 256, 256}), 0);
}

// Whether the library takes a name for products of this type, be it in its table or not: it says so for an empty product too, for which it compiles nothing.
bool takes_name(ggemm_context* context, const CaseType& type, const std::string& name, std::int32_t max_ctas = 0) {
  if (type.grouped) return false;
  Case empty = ordinary(type, 0);
  empty.max_ctas = max_ctas;
  Call call;
  describe(empty, call);
  call.force(name);
  return ggemm_gemm(context, &call.gemm, &call.gemm_args, nullptr) == GGEMM_OK;
}

template <class T>
void shuffle(std::vector<T>& items, Rng& rng) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng.below(i)]);
}

}  // namespace

std::string dtype_label(const CaseType& type) { return type.compute == GGEMM_COMPUTE_TF32 ? "tf32" : type.compute == GGEMM_COMPUTE_F32_ACCURATE ? "f32x3" : type.a == type.b ? name_of(type.a) : "mixed"; }

KernelPool::KernelPool(const Options& options, ggemm_context* context) : options_(options), context_(context) {
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  if (ggemm_context_device(context, &info)) throw std::runtime_error(std::string("ggemm_context_device: ") + ggemm_last_error());
  multiprocessors_ = info.multiprocessors;
  Found found;
  CaseType t;
  for (const bool grouped : {false, true}) {
    if (!(grouped ? options.grouped : options.plain)) continue;
    t.grouped = grouped;
    constexpr int pairs = GGEMM_I8 * GGEMM_I8, tf32 = pairs, i8_by_blocks = pairs + 1, f32x3 = pairs + 2, e4m3_by_blocks = pairs + 3;
    for (int pair = 0; pair < pairs + 4; ++pair) {
      t.compute = pair == tf32 ? GGEMM_COMPUTE_TF32 : pair == f32x3 ? GGEMM_COMPUTE_F32_ACCURATE : GGEMM_COMPUTE_DEFAULT;
      // By blocks i8 is summed in f32, and some tiles have fewer stages; and the largest of groups are for squares of B alone.
      t.scale_a = pair == i8_by_blocks || pair == e4m3_by_blocks ? GGEMM_SCALE_BLOCK_1X128 : GGEMM_SCALE_NONE;
      t.scale_b = pair == e4m3_by_blocks ? GGEMM_SCALE_BLOCK_128X128 : GGEMM_SCALE_NONE;
      t.a = pair == tf32 || pair == f32x3 ? GGEMM_F32 : pair == i8_by_blocks ? GGEMM_I8 : pair == e4m3_by_blocks ? GGEMM_E4M3 : static_cast<ggemm_dtype>(1 + pair / GGEMM_I8);
      t.b = pair >= pairs ? t.a : static_cast<ggemm_dtype>(1 + pair % GGEMM_I8);
      t.d = pair == i8_by_blocks || pair == e4m3_by_blocks ? GGEMM_BF16 : usual_output(t);
      if (!options.dtype.empty() && options.dtype != dtype_label(t)) continue;
      for (int layout = 0; layout < 9; ++layout) {
        t.layout_a = layout % 3, t.layout_b = layout / 3, t.layout_d = 0;
        t.batch = false;
        find(t, found);
        // Batches have configurations of their own, none for rows by index or pairs.
        if (!grouped || options.by_index || options.gathered || options.scattered || options.gated || options.halves) continue;
        t.batch = true;
        find(t, found);
      }
    }
  }
  turn_into_cells(found);
}

void KernelPool::find(const CaseType& type, Found& found) const {
  Call call;
  describe(ordinary(type), call);
  for (const Configuration& c : legal_configurations(context_, call)) {
    const std::string name = without_raster(c.name);
    if ((!options_.family.empty() && c.family != options_.family) || (!options_.config.empty() && name != without_raster(options_.config))) continue;
    auto& choices = found[{c.family, dtype_label(type), type.grouped}][name];
    // Of batches what groups do not have.
    if (!type.batch || choices.empty() || choices.front().type.batch) choices.push_back({type, c.tile});
  }
  if (options_.config.empty() || !takes_name(context_, type, options_.config)) return;
  ggemm_config c = GGEMM_CONFIG_INIT;
  if (ggemm_config_parse(options_.config.c_str(), &c)) throw std::runtime_error(std::string("ggemm_config_parse: ") + ggemm_last_error());
  auto& choices = found[{c.family, dtype_label(type), type.grouped}][without_raster(c.name)];
  if (std::none_of(choices.begin(), choices.end(), [&](const Choice& choice) { return choice.type.layout_a == type.layout_a && choice.type.layout_b == type.layout_b; })) choices.push_back({type, {c.tile_m, c.tile_n, c.tile_k}});
}

void KernelPool::turn_into_cells(const Found& found) {
  Rng rng(mix(options_.seed, 71));
  struct Place {
    double at;
    Spoke spoke;
  };
  std::vector<Place> places;
  for (const auto& [row, names] : found) {
    std::map<std::string, std::vector<std::string>> by_tile;
    for (const auto& [name, choices] : names) by_tile[tile_part(name)].push_back(name);
    std::vector<std::vector<std::string>> tiles;
    for (auto& [tile, of_tile] : by_tile) shuffle(of_tile, rng), tiles.push_back(std::move(of_tile));
    shuffle(tiles, rng);
    Cell cell{row, {}, 1};
    for (std::size_t round = 0; cell.names.size() < names.size(); ++round)
      for (const auto& of_tile : tiles)
        if (round < of_tile.size()) cell.names.push_back({of_tile[round], names.at(of_tile[round])});
    // The more there is to see, the more often; but no row much more often than others.
    cell.weight = std::clamp<int64_t>(std::llround(std::sqrt(static_cast<double>(names.size())) / 2), 1, 6);
    for (int64_t i = 0; i < cell.weight; ++i)
      places.push_back({(static_cast<double>(i) + 0.1 + 0.8 * rng.unit()) / static_cast<double>(cell.weight), {cells_.size(), i}});
    cells_.push_back(std::move(cell));
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.at < b.at; });
  for (const Place& place : places) wheel_.push_back(place.spoke);
}

// More tiles than the GPU has multiprocessors, so that persistent kernels go round and raster groups are whole.
std::vector<Size> KernelPool::many_tiles(const KernelClass& kernel, Rng& rng) const {
  const Size& tile = kernel.tile;
  if (kernel.type.grouped) {
    std::vector<Size> sizes(static_cast<std::size_t>(rng.between(multiprocessors_ / 2, 2 * multiprocessors_ + 40)));
    const Size common{rng.between(1, 3 * tile.m / 2), rng.between(1, 3 * tile.n / 2), rng.between(0, 2 * tile.k)};
    const bool own_m = !kernel.type.batch && rng.chance(0.7), own_n = own_m && rng.chance(0.5), own_k = !kernel.type.batch && (!own_m || own_n);  // ragged forms want two sizes in common
    const double deep = rng.pick({0.0, 0.05});  // of groups; they come first then (scheduler/groups.cuh)
    const auto depth = [&] { return deep > 0 && rng.chance(deep) ? rng.between(12 * tile.k, 36 * tile.k) : rng.between(0, 2 * tile.k); };
    for (Size& s : sizes) s = {own_m ? rng.between(0, 3 * tile.m / 2) : common.m, own_n ? rng.between(1, 3 * tile.n / 2) : common.n, own_k ? depth() : common.k};
    return sizes;
  }
  const int64_t most = std::max<int64_t>(1, (int64_t(1) << 23) / (tile.m * tile.n)), tiles = std::min(most, rng.between(multiprocessors_ + 8, 3 * multiprocessors_ + 24));
  const int64_t rows = std::min(tiles, rng.pick<int64_t>({1, 2, 3, 5, 8, 13, 20, tiles})), columns = tiles / rows;
  return {{tile.m * rows - rng.between(0, tile.m - 1), tile.n * columns - rng.between(0, tile.n - 1), rng.between(1, 3 * tile.k + 1)}};
}

// Of a kernel that cuts k for the tiles that are left over by so many CTAs: any number of them besides whole waves, and k so long that it pays. In few rows of tiles, as few rows
// of D are checked.
std::vector<Size> KernelPool::tiles_left_over(const KernelClass& kernel, int ctas, Rng& rng) const {
  const Size& tile = kernel.tile;
  const bool all = ctas >= multiprocessors_;  // operands of so many tiles take long to make
  if (kernel.type.grouped) {
    // Groups that differ in m alone, whose tiles together are a few, or a few more than whole waves.
    const int groups = static_cast<int>(rng.between(1, 4)), columns = static_cast<int>(rng.between(1, std::max(1, std::min(ctas, 40) / (2 * groups))));
    const int64_t n = tile.n * columns - rng.between(0, tile.n - 1), k = rng.between(20 * tile.k, 60 * tile.k);
    std::vector<Size> out;
    for (int g = 0; g < groups; ++g) out.push_back({rng.chance(0.2) ? 0 : rng.between(1, 2 * tile.m), n, k});
    return out;
  }
  const int64_t rows = all ? 3 : rng.between(1, 3), columns = std::max<int64_t>(1, rng.between(1, 5 * ctas / 2) / rows);
  return {{tile.m * rows - rng.between(0, tile.m - 1), tile.n * columns - rng.between(0, tile.n - 1), rng.between(35 * tile.k, (all ? 45 : 90) * tile.k)}};
}

std::vector<std::string> KernelPool::families() const {
  std::set<std::string> names;
  for (const Cell& cell : cells_) names.insert(cell.row.family);
  return {names.begin(), names.end()};
}

std::set<std::string> KernelPool::configurations() const {
  std::set<std::string> names;
  for (const Cell& cell : cells_)
    for (const Configurations& c : cell.names) names.insert(c.name + (cell.row.grouped ? ", grouped" : ""));
  return names;
}

std::optional<std::string> KernelPool::legal_name(const Case& c, const std::string& config) const {
  Call call;
  describe(c, call);
  for (const Configuration& legal : legal_configurations(context_, call))
    if (without_raster(legal.name) == config) return options_.config.find("_k") == std::string::npos ? legal.name : options_.config;
  // Of one that is not in the table the library says by itself for which products it is legal.
  if (options_.config.empty() || without_raster(options_.config) != config || !takes_name(context_, c.type, options_.config, c.max_ctas)) return std::nullopt;
  return options_.config;
}

namespace {

// Without an epilogue but alpha, beta and C; D is as it mostly is.
void make_bare(CaseType& t) {
  t.d = t.sums_i32() ? GGEMM_I32 : t.a == GGEMM_E4M3 || t.a == GGEMM_E5M2 ? GGEMM_BF16 : t.a;
  t.activation = GGEMM_ACTIVATION_NONE, t.bias = GGEMM_BIAS_NONE, t.gate = GGEMM_GATE_NONE;
  t.scale_a = t.scale_b = GGEMM_SCALE_NONE;
}

// With a D in columns the library computes the transposed product, whose kernel is to be the one that was drawn.
void transpose(KernelClass& kernel) {
  const auto turned = [](int layout) { return layout == 2 ? 2 : 1 - layout; };
  CaseType& t = kernel.type;
  const CaseType drawn = t;
  t.a = drawn.b, t.b = drawn.a, t.layout_a = turned(drawn.layout_b), t.layout_b = turned(drawn.layout_a), t.scale_a = drawn.scale_b, t.scale_b = drawn.scale_a;
  std::swap(kernel.tile.m, kernel.tile.n);
}

}  // namespace

std::optional<KernelClass> KernelPool::draw(std::int64_t number) const {
  const int64_t around = static_cast<int64_t>(wheel_.size());
  const Spoke& spoke = wheel_[static_cast<std::size_t>(number % around)];
  const Cell& cell = cells_[spoke.cell];
  const std::uint64_t visit = static_cast<std::uint64_t>(number / around * cell.weight + spoke.visit);
  const Configurations& drawn = cell.names[visit % cell.names.size()];
  Rng rng(mix(mix(options_.seed, 72), static_cast<std::uint64_t>(number)));
  // Layouts without a unit stride share the names of others, and need fewer visits.
  const Choice& choice = drawn.choices[rng.chance(0.7) ? 0 : rng.below(drawn.choices.size())];
  KernelClass kernel{number, cell.row, choice.type, drawn.name, choice.tile};
  // Not every output goes with every configuration.
  for (int attempt = 0; attempt < 60; ++attempt) {
    kernel.type = choice.type, kernel.tile = choice.tile;
    draw_epilogue(kernel.type, !options_.real, rng);
    if (options_.bare) make_bare(kernel.type);
    if (!options_.scales.empty()) kernel.type.scale_a = options_.scales[0], kernel.type.scale_b = options_.scales[1];
    kernel.type.gather = kernel.type.grouped && !kernel.type.batch && rng.chance(0.2) && kernel.type.scale_a != GGEMM_SCALE_BLOCK_128X128;
    kernel.type.scatter = kernel.type.grouped && !kernel.type.batch && rng.chance(0.2);
    if (options_.no_blocks && kernel.type.scaled_by_blocks()) continue;
    if (options_.bare) kernel.type.gather = kernel.type.scatter = false;
    if (options_.by_index && kernel.type.grouped && !kernel.type.gather && !kernel.type.scatter) continue;
    if ((options_.gathered && !kernel.type.gather) || (options_.scattered && !kernel.type.scatter) || (options_.gated && !kernel.type.gate) || (options_.halves && kernel.type.gate != GGEMM_GATE_HALVES)) continue;
    if (kernel.type.layout_d == 1 && (!kernel.type.grouped || kernel.type.batch) && !kernel.type.gate) transpose(kernel);
    CaseType asked = kernel.type;
    if (asked.grouped && !asked.batch && asked.layout_d == 1) asked.layout_d = 0;  // it depends on a case's form whether the transposed product is computed
    if (legal_name(ordinary(asked), kernel.config)) return kernel;
  }
  return std::nullopt;
}

std::optional<KernelCase> KernelPool::draw_case(const KernelClass& kernel, std::int64_t number) const {
  Rng rng(mix(mix(mix(options_.seed, 73), static_cast<std::uint64_t>(kernel.number)), static_cast<std::uint64_t>(number)));
  Drawing drawing;
  drawing.grouped = kernel.type.grouped;
  drawing.forms = true;
  drawing.mode = !options_.exact || (options_.real && (!takes_exact(kernel.type) || rng.chance(0.3))) ? Mode::real : Mode::exact;
  drawing.guarded = rng.chance(0.75);
  drawing.aligned = rng.chance(0.4);
  drawing.overwrites = number % 3 == 1;
  if (drawing.overwrites) drawing.aligned = true;
  drawing.promoted = promotes(kernel.row.family, kernel.type);
  drawing.work = options_.work;
  drawing.tile = kernel.tile;
  // Some kernels take only operands whose alignment the description shows.
  for (int attempt = 0; attempt < 6; ++attempt, drawing.aligned = true) {
    drawing.seed = rng.next();
    constexpr double work_of_many = 30000;  // multiply-adds that are asked for, for each multiprocessor
    const bool many = number == 1 && multiprocessors_ > 0 && options_.work >= work_of_many * static_cast<double>(multiprocessors_);
    const bool tail = number % 3 == 2 && kernel.config.find("_kt") != std::string::npos;
    const int ctas = tail ? static_cast<int>(std::min<int64_t>(multiprocessors_, rng.pick({3, 5, 8, 11, 16, 24, 24, 1 << 30}))) : 0;
    if (tail && kernel.type.grouped) drawing.aligned = true;
    const std::vector<Size> sizes = !options_.sizes.empty() ? options_.sizes : many ? many_tiles(kernel, rng) : tail ? tiles_left_over(kernel, ctas, rng) : std::vector<Size>{};
    Case input = sizes.empty() ? tests::draw_case(drawing, kernel.type, 0) : draw_sized_case(drawing, kernel.type, sizes, 0);
    auto name = legal_name(input, kernel.config);
    if (!name) continue;
    // Fewer CTAs than the device holds, where the configuration has that: 8 are a whole number of any clusters.
    if (tail ? ctas < multiprocessors_ : rng.chance(0.15)) {
      input.max_ctas = tail ? ctas : rng.pick({1, 2, 3, 5, 8, 11, 40});
      const auto limited = legal_name(input, kernel.config);
      if (limited) name = limited;
      else input.max_ctas = 0;
    }
    const NameParts parts = split(*name);
    const int raster = rng.pick({0, 0, 1, 2, 3, 4, 7, 8, 16});
    return KernelCase{std::move(input), parts.raster && raster > 0 ? parts.head + "_r" + std::to_string(raster) + parts.tail : *name};
  }
  return std::nullopt;
}

}  // namespace ggemm::tests
