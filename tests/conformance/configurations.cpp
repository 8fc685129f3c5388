// SPDX-License-Identifier: Apache-2.0
// The mode "configs": every configuration of the common types, in every layout, plain and grouped, on sizes about its own tile.
#include <algorithm>
#include <cmath>

#include "sweep.hpp"

namespace ggemm::tests {
namespace {

std::vector<CaseType> common_types(bool grouped) {
  struct Row {
    ggemm_dtype a, b, d;
    ggemm_compute compute;
  };
  constexpr ggemm_compute normal = GGEMM_COMPUTE_DEFAULT;
  const Row rows[] = {{GGEMM_F16, GGEMM_F16, GGEMM_F16, normal},
                      {GGEMM_BF16, GGEMM_BF16, GGEMM_BF16, normal},
                      {GGEMM_F32, GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_TF32},
                      {GGEMM_I8, GGEMM_I8, GGEMM_I32, normal},
                      {GGEMM_F64, GGEMM_F64, GGEMM_F64, normal},
                      {GGEMM_F32, GGEMM_F32, GGEMM_F32, normal},
                      {GGEMM_E4M3, GGEMM_E4M3, GGEMM_BF16, normal},
                      {GGEMM_E5M2, GGEMM_E4M3, GGEMM_F16, normal},
                      {GGEMM_BF16, GGEMM_F32, GGEMM_F32, normal}};
  std::vector<CaseType> out;
  for (const Row& row : rows)
    for (int layout = 0; layout < 4; ++layout) {
      CaseType t;
      t.grouped = grouped;
      t.a = row.a, t.b = row.b, t.d = row.d, t.compute = row.compute;
      t.layout_a = layout & 1, t.layout_b = layout >> 1;
      out.push_back(t);
    }
  return out;
}

// Two tiles and a bit in each direction, or just under; enough of k to go round the ring of stages.
Size size_about(const Configuration& c, Rng& rng) {
  const auto about = [&](int tile, int tiles) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::max(tile, 16)) * tiles + rng.pick<std::int64_t>({-1, 0, 1, 3}));
  };
  return {about(c.tile_m, static_cast<int>(rng.between(1, 2))), about(c.tile_n, static_cast<int>(rng.between(1, 2))),
          about(c.tile_k, static_cast<int>(rng.between(1, std::max(c.stages, 1) + 2)))};
}

}  // namespace

void Sweep::configurations(bool grouped, double deadline) {
  const double begin = now();
  const Drawing from = drawing(Mode::guard, grouped);
  std::vector<Job> jobs;
  std::int64_t number = 0;
  for (const CaseType& type : common_types(grouped)) {
    const bool wanted = options_.dtype.empty() || options_.dtype == dtype_label(type);
    const Case probe = draw_sized_case(from, type, {{64, 64, 64}}, 0);
    Call call;
    describe(probe, call);
    std::vector<Configuration> all;
    try {
      all = legal_configurations(context_, call);
    } catch (const std::exception& e) {
      tally_.failed("", dtype_label(type), "configs", {"configs", "", e.what(), probe.text(), repeat_command(options_, "configs", grouped, number)});
    }
    for (const Configuration& c : all) {
      for (int copy = 0; copy < 2; ++copy, ++number) {
        if (!wanted || (options_.only_case >= 0 && number != options_.only_case) || (options_.family != "any" && c.family != options_.family))
          continue;
        if (!options_.config.empty() && c.name != options_.config) continue;
        Rng rng(mix(mix(options_.seed, 77 + grouped), static_cast<std::uint64_t>(number)));
        std::vector<Size> sizes;
        for (int g = 0; g < (grouped ? 3 : 1); ++g) sizes.push_back(size_about(c, rng));
        if (grouped) sizes.push_back({0, sizes[0].n, sizes[0].k});
        Case input = draw_sized_case(from, type, sizes, static_cast<std::uint64_t>(number));
        input.placement = copy == 0 ? Placement::ends_at_guard : input.placement;
        tally_.legal({c.name});
        jobs.push_back({std::move(input), c.name, c.family, "configs", number, ""});
      }
    }
    if (jobs.size() >= 256) run(jobs, deadline);
  }
  run(jobs, deadline);
  tally_.add_seconds(grouped ? "configs, grouped" : "configs", now() - begin);
}

}  // namespace ggemm::tests
