// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: what is captured, what a replay reads anew, and what is refused.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "checks.hpp"
#include "graph.hpp"

namespace ggemm::tests {
namespace {

Drawing drawing_of(bool grouped) {
  Drawing d;
  d.seed = 11;
  d.grouped = grouped;
  return d;
}

// A case whose scalars, C and metadata are all on the device, so that a replay can change them.
Case replayable(const CaseType& type, const std::vector<Size>& sizes, std::uint64_t number) {
  Case c = draw_sized_case(drawing_of(type.grouped), type, sizes, number);
  c.alpha_given = c.beta_given = c.scalars_on_device = true;
  c.alpha = number % 2 ? 2 : -1;
  c.beta = number % 3 ? 1 : 0;
  c.use_of_c = UseOfC::apart;
  c.packed_a = c.packed_b = c.packed_c = c.packed_d = c.described_otherwise = false;
  if (!type.grouped) {
    c.described_m = sizes[0].m, c.described_n = sizes[0].n, c.described_k = sizes[0].k;
    return c;
  }
  c.expected_m = c.expected_n = c.expected_k = 64;
  c.given_m = c.given_n = c.given_k = Given{GGEMM_SOURCE_I32, 12, false};
  const Given memory{GGEMM_SOURCE_I64, 8, false}, unit{};
  c.given_a = type.layout_a == 0 ? GivenMatrix{memory, unit} : GivenMatrix{unit, memory};
  c.given_b = type.layout_b == 0 ? GivenMatrix{memory, unit} : GivenMatrix{unit, memory};
  c.given_c = c.given_d = GivenMatrix{memory, memory};
  // The constant unit strides need views that have them.
  for (Group& g : c.groups) {
    (type.layout_a == 0 ? g.a.col_stride : g.a.row_stride) = 1;
    (type.layout_b == 0 ? g.b.col_stride : g.b.row_stride) = 1;
  }
  return c;
}

std::vector<Size> group_sizes(std::uint64_t round) {
  Rng rng(mix(41, round));
  std::vector<Size> sizes;
  for (int g = 0; g < 20; ++g) sizes.push_back({rng.between(-1, 150), rng.between(0, 140), rng.between(0, 200)});
  if (round == 2) sizes.assign(20, {0, 64, 64});
  if (round == 3) sizes[7] = {900, 130, 70};
  return sizes;
}

// One launch; a plain product whose operands tensor maps cannot describe copies one or both of them first, a grouped one by tensor maps prepares them, and may copy some.
void expect_launches(const Graph& graph, const std::string& what) {
  const std::size_t most = 3;
  expect(graph.nodes() >= 1 && graph.nodes() <= most, what + ": the graph has " + std::to_string(graph.nodes()) + " nodes, not 1 to " + std::to_string(most) + " launches");
}

void replay_and_verify(Graph& graph, Loaded& loaded, const std::string& what) {
  graph.replay();
  loaded.memory().wait();
  try {
    loaded.verify();
  } catch (const std::exception& e) {
    wrong(what + ": " + e.what());
  }
}

void replay_with_changes(int ordinal, const Kind& kind, int mode) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  const bool grouped = kind.type.grouped;
  const Size plain{129, 190, 77};
  const Case first = replayable(kind.type, grouped ? group_sizes(0) : std::vector<Size>{plain}, 1);
  for (const auto& [family, config] : families(context.get(), first)) {
    loaded.load(first);
    loaded.call().force(config);
    for (int call = 0; call < 3; ++call) {  // operands of groups are gathered, counted, and then copied
      loaded.run(context.get());
      loaded.verify();
    }
    const int compiled = context.compiled();
    Graph graph(loaded.stream(), mode, [&] { loaded.run(context.get()); });
    expect_launches(graph, config);
    expect(context.compiled() == compiled, config + ": something was compiled during the capture");
    // Plain calls have their sizes and addresses in the graph: data and scalars change. Grouped ones read sizes, strides and addresses anew.
    const Addresses before = loaded.addresses();
    for (std::uint64_t round = 0; round < 6; ++round) {
      Case next = grouped ? replayable(kind.type, group_sizes(round), 2 + round) : first;
      next.data_seed += round;
      next.alpha = 1 + static_cast<double>(round);
      loaded.load(next);
      for (const int slot : {slot_m, slot_alpha, slot_a_pointers})
        expect(loaded.addresses()[static_cast<std::size_t>(slot)] == before[static_cast<std::size_t>(slot)],
               "the metadata moved: a fault of this test");
      replay_and_verify(graph, loaded, config + ", replay " + std::to_string(round));
    }
  }
}

// Groups that differ in m alone, with other rows, of which there are as many in all at most.
Case with_rows(Case c, const std::vector<std::int64_t>& rows) {
  std::int64_t start = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Group& g = c.groups[i];
    g.m = rows[i], g.first = start;
    set_shapes(c.type, g);
    g.a.offset = c.given_a.base + start * g.a.row_stride;
    g.c.offset = c.given_c.base + start * g.c.row_stride;
    g.d.offset = c.given_d.base + start * g.d.row_stride;
    start += rows[i];
  }
  return c;
}

// The ends alone change: how many tiles there are, whose k is cut, which kernel has which groups, and that some have none.
void replay_with_other_ends(int ordinal, const Kind& kind) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  const Case first = uniform_case(kind.type, {{240, 256, 2816}, {0, 256, 2816}, {60, 256, 2816}}, GGEMM_GROUPS_RAGGED_M);
  const auto configs = families(context.get(), first, "_m64");
  const auto have = [&](const char* part) { return std::any_of(configs.begin(), configs.end(), [&](const auto& c) { return c.second.find(part) != std::string::npos; }); };
  if (have("sm90_")) expect(have("_kt_") && have("_m64_"), "no configuration cuts tiles, or has another beside");
  for (const auto& [family, config] : configs) {
    loaded.load(first);
    loaded.call().force(config);
    for (int call = 0; call < 3; ++call) loaded.run(context.get());
    loaded.verify();
    Graph graph(loaded.stream(), 0, [&] { loaded.run(context.get()); });
    const Addresses before = loaded.addresses();
    int round = 0;
    for (const std::vector<std::int64_t>& rows : std::vector<std::vector<std::int64_t>>{{1, 0, 0}, {0, 33, 7}, {0, 0, 0}, {100, 90, 110}, {0, 0, 300}, {5, 70, 7}}) {
      loaded.load(with_rows(first, rows));
      expect(loaded.addresses() == before, "something moved: a fault of this test");
      replay_and_verify(graph, loaded, config + ", replay " + std::to_string(round++));
    }
  }
}

// On a stream that no call was made on before: what the plan reserved is enough, whatever its kernel needs.
void plans_are_captured(int ordinal, const Kind& kind) {
  Loaded loaded(ordinal);
  Case c = replayable(kind.type, kind.type.grouped ? group_sizes(0) : std::vector<Size>{{65, 66, 67}}, 3);
  c.placement = Placement::free;
  for (const auto& [family, config] : families(GpuContext(ordinal).get(), c)) {
    GpuContext context(ordinal);
    loaded.load(c);
    Call& call = loaded.call();
    call.force(config);
    ggemm_plan* raw = nullptr;
    expect_ok(kind.type.grouped ? ggemm_plan_create_grouped(context.get(), &call.grouped, &raw) : ggemm_plan_create(context.get(), &call.gemm, &raw),
              "creating a plan of " + config);
    const std::unique_ptr<ggemm_plan, void (*)(ggemm_plan*)> plan(raw, ggemm_plan_destroy);
    Graph graph(loaded.stream(), 0, [&] {
      expect_ok(kind.type.grouped ? ggemm_plan_run_grouped(raw, &call.grouped_args, loaded.stream()) : ggemm_plan_run(raw, &call.gemm_args, loaded.stream()),
                "running a plan of " + config + " during capture");
    });
    expect_launches(graph, "the plan");
    graph.replay();
    loaded.memory().wait();
    loaded.verify();
  }
}

// An unprepared kernel is refused, the capture stays valid, and nothing is compiled; after ggemm_prepare the same call is captured.
void unprepared_is_refused(int ordinal, const Kind& kind, int mode) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  loaded.load(replayable(kind.type, kind.type.grouped ? group_sizes(1) : std::vector<Size>{{70, 80, 90}}, 4));
  Call& call = loaded.call();
  const ggemm_problem problem = call.problem();
  const auto run = [&] {
    return kind.type.grouped ? ggemm_grouped_gemm(context.get(), &call.grouped, &call.grouped_args, loaded.stream())
                             : ggemm_gemm(context.get(), &call.gemm, &call.gemm_args, loaded.stream());
  };
  const Bytes before = loaded.result();
  Graph refused(loaded.stream(), mode, [&] {
    const ggemm_status status = run();
    expect(status == GGEMM_ERROR_NOT_PREPARED, std::string("an unprepared call during capture returned ") + ggemm_status_string(status));
    expect(std::string(ggemm_last_error()).find("captur") != std::string::npos,
           std::string("the sentence does not speak of the capture: ") + ggemm_last_error());
  });
  expect(refused.nodes() == 0, "a refused call left nodes in the graph");
  expect(context.compiled() == 0, "a kernel was compiled during capture");
  expect(loaded.result() == before, "a refused call wrote to D");
  expect_ok(ggemm_prepare(context.get(), &problem, 1, nullptr, nullptr), "ggemm_prepare");
  Graph taken(loaded.stream(), mode, [&] { expect_ok(run(), "a prepared call during capture"); });
  expect_launches(taken, "a prepared call");
  taken.replay();
  loaded.memory().wait();
  loaded.verify();
}

// f32 by terms goes through k twice where an operand is not finite, or very large: a graph that has met one must not go on so.
void unusual_data_are_forgotten(int ordinal, const Kind& kind) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  Case usual = replayable(kind.type, {{129, 190, 300}}, 1), unusual = usual;
  usual.values = unusual.values = Values::normal;
  unusual.spread_a = 0x1p70, unusual.spread_b = 0x1p-70;
  for (const auto& [family, config] : families(context.get(), usual)) {
    loaded.load(usual);
    loaded.call().force(config);
    loaded.run(context.get());
    loaded.verify();
    const Bytes before = loaded.result();
    Graph graph(loaded.stream(), 0, [&] { loaded.run(context.get()); });
    for (int round = 0; round < 5; ++round) {
      loaded.load(round % 2 ? unusual : usual);
      graph.replay();
      loaded.memory().wait();
      loaded.verify();
      if (round % 2 == 0) expect(loaded.result() == before, config + ", replay " + std::to_string(round) + ": other bits than before the large operand");
    }
  }
}

// Of elements of which a term's product is not finite though the element's own is (kernels/tile/terms.cuh), beside the largest f32, from both sides; and of some whose product is not.
void large_products_are_right(int ordinal, const Kind& kind) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  Case c = replayable(kind.type, {{129, 190, 300}}, 1);
  c.values = Values::small, c.alpha = 1, c.beta = 0;
  for (const auto& [family, config] : families(context.get(), c)) {
    loaded.load(c);
    loaded.call().force(config);
    const Group& g = c.groups[0];
    constexpr float large = 0x1.ff8p63f;  // its high term is 2^64
    const auto put = [&](int slot, const View& view, std::int64_t row, std::int64_t column, float value) { loaded.memory().write(loaded.addresses()[slot] + 4 * view.at(row, column), &value, 4); };
    constexpr float largest = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
    put(slot_a, g.a, 5, 7, large), put(slot_a, g.a, 77, 7, -large), put(slot_b, g.b, 7, 9, large);
    // Two that cancel, in one tile of k.
    put(slot_a, g.a, 9, 64, large), put(slot_a, g.a, 9, 84, large), put(slot_b, g.b, 64, 12, large), put(slot_b, g.b, 84, 12, -large);
    put(slot_a, g.a, 6, 200, largest), put(slot_a, g.a, 78, 200, -largest), put(slot_b, g.b, 200, 10, largest);
    loaded.run(context.get());
    loaded.memory().wait();
    if (only_filling) continue;
    const Bytes d = loaded.result();
    for (const auto& [row, column, wanted, off] :
         {std::tuple(5, 9, large * large, 0.0f), std::tuple(77, 9, -large * large, 0.0f), std::tuple(6, 10, infinity, 0.0f), std::tuple(78, 10, -infinity, 0.0f), std::tuple(9, 12, 0.0f, 0x1p104f)}) {
      float got;
      std::memcpy(&got, d.data() + 4 * g.d.at(row, column), 4);
      expect(got == wanted || std::fabs(got - wanted) <= off, config + ": " + std::to_string(got) + " is not " + std::to_string(wanted));
    }
  }
}

void empty_products_are_captured(int ordinal) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  const Kind plain = kinds(false)[0], grouped = kinds(true)[0];
  loaded.load(replayable(plain.type, {{64, 64, 64}}, 5));
  loaded.run(context.get());
  loaded.memory().wait();
  loaded.call().gemm_args.m = 0;
  Graph nothing(loaded.stream(), 0, [&] { loaded.run(context.get()); });
  expect(nothing.nodes() == 0, "an empty product is " + std::to_string(nothing.nodes()) + " nodes in the graph");
}

}  // namespace

std::vector<Check> capture_checks(int ordinal) {
  std::vector<Check> out;
  constexpr const char* modes[] = {"global", "thread-local", "relaxed"};
  for (const bool grouped : {false, true})
    for (const Kind& kind : kinds(grouped)) {
      const int mode = static_cast<int>(out.size() / 3 % 3);
      out.push_back({"capture and replay with changes: " + kind.name + ", " + modes[mode], [=] { replay_with_changes(ordinal, kind, mode); }});
      out.push_back({"a plan is captured: " + kind.name, [=] { plans_are_captured(ordinal, kind); }});
      out.push_back({"an unprepared kernel is refused during capture: " + kind.name + ", " + modes[(mode + 1) % 3],
                     [=] { unprepared_is_refused(ordinal, kind, (mode + 1) % 3); }});
    }
  for (const Kind& kind : kinds(true))
    if (kind.type.a == GGEMM_BF16 || kind.type.a == GGEMM_E4M3) out.push_back({"replay with other ends: " + kind.name, [=] { replay_with_other_ends(ordinal, kind); }});
  for (const Kind& kind : kinds(false))
    if (kind.type.compute == GGEMM_COMPUTE_F32_ACCURATE) {
      out.push_back({"large operands are forgotten: " + kind.name, [=] { unusual_data_are_forgotten(ordinal, kind); }});
      out.push_back({"large products are right: " + kind.name, [=] { large_products_are_right(ordinal, kind); }});
    }
  out.push_back({"an empty product is captured as nothing", [=] { empty_products_are_captured(ordinal); }});
  return out;
}

}  // namespace ggemm::tests
