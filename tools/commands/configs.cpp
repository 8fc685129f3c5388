// SPDX-License-Identifier: Apache-2.0
// ggemm configs: the configurations that are legal for a problem, best estimate first.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "common/context.hpp"
#include "common/failure.hpp"
#include "common/problems.hpp"
#include "common/table.hpp"

namespace ggemm::tools {
namespace {

struct Options {
  DeviceOptions device;
  ProblemOptions problems;
  bool json = false;
};

std::vector<ggemm_config> legal_configs(ggemm_context* context, const ggemm_problem& problem) {
  std::size_t count = 0;
  check(ggemm_config_count(context, &problem, &count));
  std::vector<ggemm_config> out(count, ggemm_config GGEMM_CONFIG_INIT);
  for (std::size_t i = 0; i < count; ++i) check(ggemm_config_get(context, &problem, i, &out[i]));
  return out;
}

void run(const Options& options) {
  std::vector<ProblemSpec> specs = options.problems.specs();
  const Context context = options.device.create();
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (ProblemSpec& spec : specs) {
    const std::vector<ggemm_config> configs = legal_configs(context.get(), spec.problem());
    if (options.json) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const ggemm_config& c : configs)
        list.push_back({{"name", c.name},
                        {"family", c.family},
                        {"tile", {c.tile_m, c.tile_n, c.tile_k}},
                        {"warps", {c.warps_m, c.warps_n}},
                        {"stages", c.stages},
                        {"raster", c.raster},
                        {"cluster", {c.cluster_m, c.cluster_n, c.cluster_k}},
                        {"swapped", c.swapped != 0},
                        {"slices", c.slices},
                        {"teams", c.teams},
                        {"large_above", c.large_above}});
      json.push_back({{"problem", spec.text()}, {"configs", list}});
      continue;
    }
    std::printf("%s: %zu on %s\n", spec.text().c_str(), configs.size(), describe(device_info(context.get())).c_str());
    Table table({"family", "tile", "warps", "stages", "raster", "cluster", "swapped", "slices", "configuration"});
    for (const ggemm_config& c : configs) {
      const bool tiled = c.tile_m > 0;
      // As in the name: a third number where there are teams, or CTAs that share a tile along k.
      const auto numbers = [](int a, int b, int more) { return format("%dx%d", a, b) + (more > 1 ? format("x%d", more) : ""); };
      table.add({c.family, tiled ? format("%dx%dx%d", c.tile_m, c.tile_n, c.tile_k) : "-", tiled ? numbers(c.warps_m, c.warps_n, c.teams) : "-", tiled ? std::to_string(c.stages) : "-",
                 tiled ? std::to_string(c.raster) : "-", c.cluster_m > 0 ? numbers(c.cluster_m, c.cluster_n, c.cluster_k) : "-", c.swapped ? "yes" : "-",
                 c.slices > 1 ? std::to_string(c.slices) : c.slices == 1 ? "left over" : "-", c.name});
    }
    std::fputs(table.text().c_str(), stdout);
  }
  if (options.json) std::printf("%s\n", json.dump(2).c_str());
}

}  // namespace

void add_configs(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("configs", "List the configurations that are legal for a problem, best estimate first");
  options->problems.add_to(*command);
  command->add_flag("--json", options->json, "print JSON");
  options->device.add_to(*command);
  command->footer(suite_help);
  command->callback([options] { run(*options); });
}

}  // namespace ggemm::tools
