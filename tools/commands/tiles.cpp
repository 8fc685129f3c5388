// SPDX-License-Identifier: Apache-2.0
// ggemm tiles: which tile each program computes, and in what order, as text and as a picture.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "common/failure.hpp"
#include "common/names.hpp"
#include "common/output.hpp"
#include "common/table.hpp"
#include "ggemm.h"

namespace ggemm::tools {
namespace {

constexpr std::int64_t text_rows = 40, text_cols = 24;       // of tiles; a grid beyond is cut
constexpr std::int64_t svg_tiles = 20000, svg_labels = 2048;  // a picture has no more tiles; numbers only up to the second
constexpr int svg_tile = 32;                                  // pixels

struct Options {
  std::string size, tile, config, cluster, svg;
  std::vector<std::string> groups;
  std::optional<int> raster;
  bool swapped = false;
  std::int64_t pid = -1;
};

struct Shape {
  std::int64_t m, n;
};

long long ll(std::int64_t value) { return value; }

// The grid and the sizes that it points to.
class Grid {
 public:
  explicit Grid(const Options& options) {
    read_sizes(options);
    read_tile(options);
    grid_.groups = static_cast<std::int64_t>(shapes_.size());
    grid_.m = ggemm_i64_at(&shapes_.data()->m, sizeof(Shape));
    grid_.n = ggemm_i64_at(&shapes_.data()->n, sizeof(Shape));
    if (!grouped_) {
      grid_.m = ggemm_const(shapes_[0].m);
      grid_.n = ggemm_const(shapes_[0].n);
    }
    check(ggemm_tile_count(&grid_, &count_));
  }
  bool grouped() const { return grouped_; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  std::int64_t count() const { return count_; }
  std::int64_t rows(const Shape& shape) const { return (shape.m + grid_.tile_m - 1) / grid_.tile_m; }
  std::int64_t cols(const Shape& shape) const { return (shape.n + grid_.tile_n - 1) / grid_.tile_n; }
  // Programs of one group.
  std::int64_t programs(const Shape& shape) const {
    ggemm_tile_grid one = grid_;
    one.groups = 1;
    one.m = ggemm_const(shape.m), one.n = ggemm_const(shape.n);
    std::int64_t count = 0;
    check(ggemm_tile_count(&one, &count));
    return count;
  }
  // Which of the rows (columns, where swapped) that are walked together a tile is in.
  std::int64_t raster_group(const ggemm_tile& tile) const {
    return grid_.swapped ? tile.tile_col / std::max(1, grid_.cluster_n) / grid_.raster : tile.tile_row / std::max(1, grid_.cluster_m) / grid_.raster;
  }
  ggemm_tile at(std::int64_t pid) const {
    ggemm_tile tile = GGEMM_TILE_INIT;
    check(ggemm_tile_at(&grid_, pid, &tile));
    return tile;
  }
  std::string text() const {
    std::string out = grouped_ ? format("%zu groups", shapes_.size()) : format("%lldx%lld", ll(shapes_[0].m), ll(shapes_[0].n));
    if (grid_.cluster_m > 1 || grid_.cluster_n > 1) out += format(", clusters %dx%d", std::max(1, grid_.cluster_m), std::max(1, grid_.cluster_n));
    if (grid_.swapped) out += ", swapped";
    return out + format(", tiles %dx%d, raster group %d: %lld programs", grid_.tile_m, grid_.tile_n, grid_.raster, ll(count_));
  }

 private:
  void read_sizes(const Options& options) {
    grouped_ = !options.groups.empty();
    if (grouped_ == !options.size.empty()) fail_usage("say either --size MxN or --groups MxN,MxN");
    for (const std::string& word : grouped_ ? options.groups : std::vector<std::string>{options.size}) {
      const std::vector<std::int64_t> extents = parse_extents(word, 2, grouped_ ? "--groups" : "--size");
      shapes_.push_back({extents[0], extents[1]});
    }
  }
  void read_tile(const Options& options) {
    if (options.config.empty() == options.tile.empty()) fail_usage("say either --tile BMxBN or --config NAME");
    if (!options.config.empty() && (options.raster || !options.cluster.empty() || options.swapped))
      fail_usage("--config %s says these things itself: --raster, --cluster and --swapped go with --tile", options.config.c_str());
    grid_.raster = options.raster.value_or(1);
    grid_.swapped = options.swapped;
    if (!options.cluster.empty()) {
      const std::vector<std::int64_t> ctas = parse_extents(options.cluster, 2, "--cluster");
      for (const std::int64_t extent : ctas)
        if (extent < 1 || extent > 16) fail_usage("--cluster %s: a cluster has 1 to 16 CTAs down and across", options.cluster.c_str());
      grid_.cluster_m = static_cast<std::int32_t>(ctas[0]);
      grid_.cluster_n = static_cast<std::int32_t>(ctas[1]);
    }
    if (!options.tile.empty()) {
      const std::vector<std::int64_t> extents = parse_extents(options.tile, 2, "--tile");
      for (const std::int64_t extent : extents)
        if (extent < 1 || extent > INT32_MAX) fail_usage("--tile %s: a tile has at least one row and one column", options.tile.c_str());
      grid_.tile_m = static_cast<std::int32_t>(extents[0]);
      grid_.tile_n = static_cast<std::int32_t>(extents[1]);
      return;
    }
    ggemm_config config = GGEMM_CONFIG_INIT;
    check(ggemm_config_parse(options.config.c_str(), &config));
    if (config.tile_m < 1 || config.tile_n < 1) fail_usage("--config %s: this configuration has no tiles", options.config.c_str());
    grid_.tile_m = config.tile_m;
    grid_.tile_n = config.tile_n;
    grid_.raster = config.raster;
    grid_.cluster_m = config.cluster_m;
    grid_.cluster_n = config.cluster_n;
    grid_.swapped = config.swapped;
  }

  ggemm_tile_grid grid_ = GGEMM_TILE_GRID_INIT;
  std::vector<Shape> shapes_;
  bool grouped_ = false;
  std::int64_t count_ = 0;
};

// Of a cluster that the edge of D cuts, some programs have nothing to do.
bool empty(const ggemm_tile& tile) { return tile.row_begin == tile.row_end || tile.col_begin == tile.col_end; }

std::string sentence(const Grid& grid, std::int64_t pid) {
  const ggemm_tile tile = grid.at(pid);
  const std::string place = format("pid %lld -> %stile (%lld, %lld): ", ll(pid), grid.grouped() ? format("group %lld, ", ll(tile.group)).c_str() : "",
                                   ll(tile.tile_row), ll(tile.tile_col));
  if (empty(tile)) return place + "past the edge, nothing to do";
  return place + format("rows %lld..%lld, columns %lld..%lld", ll(tile.row_begin), ll(tile.row_end - 1), ll(tile.col_begin), ll(tile.col_end - 1));
}

// The upper left corner of one group's grid, each tile with the number of its program. first: the group's first program.
std::string text_grid(const Grid& grid, const Shape& shape, std::int64_t first) {
  const std::int64_t rows = std::min(grid.rows(shape), text_rows), cols = std::min(grid.cols(shape), text_cols);
  std::vector<std::int64_t> pids(static_cast<std::size_t>(rows * cols), -1);
  std::int64_t open = rows * cols;
  const std::int64_t end = first + grid.programs(shape);
  for (std::int64_t pid = first; pid < end && open > 0; ++pid) {
    const ggemm_tile tile = grid.at(pid);
    if (tile.tile_row >= rows || tile.tile_col >= cols) continue;
    pids[std::size_t(tile.tile_row * cols + tile.tile_col)] = pid;
    --open;
  }
  const int width = static_cast<int>(std::to_string(std::max<std::int64_t>(0, *std::max_element(pids.begin(), pids.end()))).size());
  std::string out;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) out += format("%s%*lld", col ? " " : "", width, ll(pids[std::size_t(row * cols + col)]));
    out += cols < grid.cols(shape) ? " ...\n" : "\n";
  }
  return rows < grid.rows(shape) ? out + "...\n" : out;
}

void print_grids(const Grid& grid) {
  std::printf("%s\n", grid.text().c_str());
  std::int64_t first = 0;
  for (std::size_t g = 0; g < grid.shapes().size(); ++g) {
    const Shape& shape = grid.shapes()[g];
    const std::int64_t programs = grid.programs(shape);
    if (grid.grouped()) std::printf("group %zu, %lldx%lld%s\n", g, ll(shape.m), ll(shape.n), programs == 0 ? ": empty" : "");
    if (programs > 0) std::fputs(text_grid(grid, shape, first).c_str(), stdout);
    first += programs;
  }
}

// Raster groups differ in hue, and a tile is the darker the later its program runs.
std::string tile_colour(const Grid& grid, const ggemm_tile& tile, double share) {
  const int hue = static_cast<int>((tile.group * 83 + grid.raster_group(tile) * 47) % 360);
  return format("hsl(%d,60%%,%.1f%%)", hue, 88 - 45 * share);
}

void write_svg(const Grid& grid, const std::string& path) {
  if (grid.count() > svg_tiles) fail_usage("--svg: %lld tiles are more than a picture shows (%lld)", ll(grid.count()), ll(svg_tiles));
  std::vector<std::int64_t> tops;
  std::int64_t height = 0, width = 1;
  for (const Shape& shape : grid.shapes()) {
    tops.push_back(height);
    height += grid.rows(shape) * svg_tile + (grid.grouped() ? svg_tile / 2 : 0);
    width = std::max(width, grid.cols(shape) * svg_tile);
  }
  std::ofstream file(path);
  if (!file) fail_file("%s: %s", path.c_str(), std::strerror(errno));
  file << format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-1 -1 %lld %lld\" font-family=\"sans-serif\" font-size=\"10\" text-anchor=\"middle\">\n",
      ll(width + 2), ll(height + 2));
  file << format("<title>%s</title>\n", grid.text().c_str());
  std::string line;
  for (std::int64_t pid = 0; pid < grid.count(); ++pid) {
    const ggemm_tile tile = grid.at(pid);
    if (empty(tile)) continue;
    const std::int64_t x = tile.tile_col * svg_tile, y = tops[std::size_t(tile.group)] + tile.tile_row * svg_tile;
    file << format("<rect x=\"%lld\" y=\"%lld\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"white\"><title>%s</title></rect>\n", ll(x), ll(y),
                   svg_tile, svg_tile, tile_colour(grid, tile, double(pid) / double(grid.count())).c_str(), sentence(grid, pid).c_str());
    if (grid.count() <= svg_labels) file << format("<text x=\"%lld\" y=\"%lld\">%lld</text>\n", ll(x + svg_tile / 2), ll(y + svg_tile - 6), ll(pid));
    line += format("%lld,%lld ", ll(x + svg_tile / 2), ll(y + svg_tile / 3));
  }
  file << "<polyline points=\"" << line << "\" fill=\"none\" stroke=\"black\" stroke-opacity=\"0.45\"/>\n</svg>\n";
  file.close();
  if (!file) fail_file("%s: cannot be written", path.c_str());
}

void run(const Options& options) {
  const Grid grid(options);
  check_output(options.svg, svg_begin);
  if (options.pid >= 0) {
    if (options.pid >= grid.count()) fail_usage("--pid %lld: there are %lld programs", ll(options.pid), ll(grid.count()));
    std::printf("%s\n", sentence(grid, options.pid).c_str());
  } else if (options.svg.empty()) {
    print_grids(grid);
  }
  if (options.svg.empty()) return;
  write_svg(grid, options.svg);
  if (options.pid < 0) std::printf("%s: %s\n", options.svg.c_str(), grid.text().c_str());
}

}  // namespace

void add_tiles(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("tiles", "Show which tile each program computes, and in what order");
  command->add_option("--size", options->size, "rows and columns of D")->type_name("MxN");
  command->add_option("--groups", options->groups, "rows and columns of D in each group")->delimiter(',')->type_name("MxN,MxN");
  command->add_option("--tile", options->tile, "rows and columns of a tile")->type_name("BMxBN");
  command->add_option("--raster", options->raster, "rows of tiles that are walked together")
      ->check(at_least(1))
      ->type_name("N")
      ->default_str("1");
  command->add_option("--config", options->config, "take tile, raster group, cluster and order of this configuration")->type_name("NAME");
  command->add_option("--cluster", options->cluster, "CTAs of a cluster, down and across")->type_name("CMxCN");
  command->add_flag("--swapped", options->swapped, "the kernel computes the product transposed: columns go first");
  command->add_option("--pid", options->pid, "say this program's tile only")->check(at_least(0))->type_name("N");
  command->add_option("--svg", options->svg, "draw the order into this file")->type_name("FILE");
  command->footer(
      "Without --pid and --svg it prints the grid, each tile with its program's number. Raster groups have one colour each in the picture.");
  command->callback([options] { run(*options); });
}

}  // namespace ggemm::tools
