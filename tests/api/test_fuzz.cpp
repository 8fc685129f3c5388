// SPDX-License-Identifier: Apache-2.0
// Random descriptions through the interface on the host device. GGEMM_FUZZ_CASES says how many (10,000); a failure prints what repeats its case alone.
#include <sys/mman.h>


#include "fixture.hpp"
#include "fuzz.hpp"
#include "support/child.hpp"

namespace ggemm::tests {
namespace {

using fuzz::Memory;

// Where a child says what it is at: it may not live to say it otherwise.
struct Progress {
  long number;
  long ran;  // products that were computed
  char fault[600];
};

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const value = std::getenv(variable);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

// Notes a status that no such call may have, or a failure without a sentence; true if the call succeeded.
bool judged(Progress& progress, const char* call, ggemm_status status) {
  const bool known = status == GGEMM_OK || status == GGEMM_ERROR_ARGUMENT || status == GGEMM_ERROR_UNSUPPORTED || status == GGEMM_ERROR_VERSION;
  if (!known || (status != GGEMM_OK && !*ggemm_last_error()))
    std::snprintf(progress.fault, sizeof progress.fault, "%s: %s: %s", call, ggemm_status_string(status), ggemm_last_error());
  return status == GGEMM_OK;
}

ggemm_status run(ggemm_context* context, const fuzz::Plain& p) { return ggemm_gemm(context, &p.desc, &p.args, nullptr); }
ggemm_status run(ggemm_context* context, const fuzz::Grouped& p) { return ggemm_grouped_gemm(context, &p.desc, &p.args, nullptr); }
ggemm_status run(const ggemm_plan* plan, const fuzz::Plain& p) { return ggemm_plan_run(plan, &p.args, nullptr); }
ggemm_status run(const ggemm_plan* plan, const fuzz::Grouped& p) { return ggemm_plan_run_grouped(plan, &p.args, nullptr); }
ggemm_status make_plan(ggemm_context* context, const fuzz::Plain& p, ggemm_plan** out) { return ggemm_plan_create(context, &p.desc, out); }
ggemm_status make_plan(ggemm_context* context, const fuzz::Grouped& p, ggemm_plan** out) { return ggemm_plan_create_grouped(context, &p.desc, out); }
ggemm_problem problem_of(const fuzz::Plain& p) { return {&p.desc, nullptr}; }
ggemm_problem problem_of(const fuzz::Grouped& p) { return {nullptr, &p.desc}; }

template <class Problem>
void play(Progress& progress, ggemm_context* context, Rng& random, Problem p) {
  const bool spoilt = random.chance(0.5);
  if (spoilt) fuzz::spoil(random, p.desc);
  else progress.ran += judged(progress, "a call", run(context, p));
  ggemm_plan* plan = nullptr;
  if (judged(progress, "making a plan", make_plan(context, p, &plan)) && !spoilt) judged(progress, "a plan's run", run(plan, p));
  char text[64];
  if (plan) judged(progress, "explaining a plan", ggemm_plan_explain(plan, text, sizeof text, nullptr));
  ggemm_plan_destroy(plan);
  const ggemm_problem problem = problem_of(p);
  std::size_t count = 0;
  ggemm_config config = GGEMM_CONFIG_INIT;
  if (judged(progress, "counting configurations", ggemm_config_count(context, &problem, &count))) judged(progress, "a configuration", ggemm_config_get(context, &problem, random.below(count + 2), &config));
}

void play_names_and_tiles(Progress& progress, Rng& random, Memory& memory) {
  ggemm_config config = GGEMM_CONFIG_INIT;
  judged(progress, "reading a name", ggemm_config_parse(fuzz::name(random).c_str(), &config));
  const fuzz::Grouped p = fuzz::grouped(random, memory);
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  grid.groups = p.desc.groups > 100 ? -1 : p.desc.groups;
  grid.m = p.desc.m, grid.n = p.desc.n;
  grid.tile_m = static_cast<std::int32_t>(random.between(-1, 9)), grid.tile_n = random.pick({0, 1, 8, INT32_MAX}), grid.raster = random.pick({0, 1, 3, INT32_MAX, -1});
  std::int64_t tiles = 0;
  ggemm_tile tile = GGEMM_TILE_INIT;
  if (judged(progress, "counting tiles", ggemm_tile_count(&grid, &tiles))) judged(progress, "a tile", ggemm_tile_at(&grid, random.between(-1, tiles), &tile));
}

void play_case(Progress& progress, ggemm_context* context, std::uint64_t seed, long number) {
  Rng random(mix(seed, static_cast<std::uint64_t>(number)));
  Memory memory(random);
  switch (random.below(8)) {
    case 0: return play_names_and_tiles(progress, random, memory);
    case 1: case 2: case 3: return play(progress, context, random, fuzz::plain(random, memory));
    default: return play(progress, context, random, fuzz::grouped(random, memory));
  }
}

}  // namespace

TEST_CASE("fuzz: whatever a description says, the answer is a status and a sentence") {
  const std::uint64_t seed = number_from("GGEMM_SEED", 1);
  const long one = static_cast<long>(number_from("GGEMM_FUZZ_CASE", 0)), cases = one ? one : static_cast<long>(number_from("GGEMM_FUZZ_CASES", 10000));
  auto* const progress = static_cast<Progress*>(::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(progress != MAP_FAILED);
  const int result = wait_for(start_child([&] {
    const ContextPointer context = host_context();
    for (long number = one ? one : 1; number <= cases && !progress->fault[0]; ++number) {
      progress->number = number;
      play_case(*progress, context.get(), seed, number);
    }
    return 0;
  }));
  INFO("case " << progress->number << "; again: GGEMM_SEED=" << seed << " GGEMM_FUZZ_CASE=" << progress->number << " ggemm_test_api \"fuzz: *\"");
  CHECK(result == 0);
  CHECK(std::string(progress->fault) == "");
  CHECK(progress->number == cases);
  if (!one) CHECK(progress->ran > cases / 50);  // else nearly all are refused, and little is tried
  std::printf("%ld of %ld cases were products that were computed\n", progress->ran, cases);
  ::munmap(progress, sizeof(Progress));
}

}  // namespace ggemm::tests
