// SPDX-License-Identifier: Apache-2.0
// The mode "degenerate": the corners that random cases meet too seldom, each for every kernel family that takes it.
#include <algorithm>

#include "sweep.hpp"

namespace ggemm::tests {
namespace {

using std::int64_t;

constexpr int64_t far_stride = int64_t(1) << 40, over_int32 = (int64_t(1) << 31) + 64;

CaseType type_of(bool grouped, ggemm_dtype input, ggemm_dtype output, ggemm_compute compute = GGEMM_COMPUTE_DEFAULT) {
  CaseType t;
  t.grouped = grouped;
  t.a = t.b = input;
  t.d = output;
  t.compute = compute;
  t.layout_d = 0;  // some families have a kernel for each
  return t;
}

std::vector<CaseType> types(bool grouped) {
  return {type_of(grouped, GGEMM_F32, GGEMM_F32),
          type_of(grouped, GGEMM_BF16, GGEMM_BF16),
          type_of(grouped, GGEMM_F16, GGEMM_F32),
          type_of(grouped, GGEMM_I8, GGEMM_I32),
          type_of(grouped, GGEMM_F64, GGEMM_F64),
          type_of(grouped, GGEMM_E4M3, GGEMM_BF16),
          type_of(grouped, GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_TF32),
          type_of(grouped, GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_F32_ACCURATE)};
}

// Draws the cases of the list; each has a number of its own, which its strides and data come from.
class List {
 public:
  explicit List(const Options& options) {
    drawing_.seed = options.seed;
    drawing_.guarded = true;
    drawing_.forms = true;
  }
  Case& add(const CaseType& type, const std::vector<Size>& sizes) {
    drawing_.grouped = type.grouped;
    cases.push_back(draw_sized_case(drawing_, type, sizes, cases.size()));
    return cases.back();
  }
  // From here on each group has its own strides and pointers.
  void pointers_only() { drawing_.forms = false; }
  std::vector<Case> cases;

 private:
  Drawing drawing_;
};

void add_empty_products(List& list) {
  for (CaseType t : types(false))
    for (int zeros = 1; zeros < 8; ++zeros)
      for (const ggemm_bias bias : {GGEMM_BIAS_NONE, GGEMM_BIAS_PER_COLUMN, GGEMM_BIAS_PER_ROW}) {
        t.bias = bias;
        list.add(t, {{zeros & 1 ? 0 : 37, zeros & 2 ? 0 : 45, zeros & 4 ? 0 : 70}});
      }
}

// K = 0: D = act(beta C + bias), whatever alpha is; with NULL for A and B.
void add_no_k(List& list) {
  for (const bool grouped : {false, true})
    for (CaseType t : types(grouped))
      for (const ggemm_activation activation : {GGEMM_ACTIVATION_NONE, GGEMM_ACTIVATION_RELU}) {
        t.activation = activation;
        t.bias = GGEMM_BIAS_PER_COLUMN;
        Case& c = list.add(t, grouped ? std::vector<Size>{{129, 65, 0}, {3, 200, 0}, {1, 1, 0}} : std::vector<Size>{{129, 65, 0}});
        c.beta_given = true;
        c.beta = 2;
        c.beta_byte_stride = 0;
        c.use_of_c = activation == GGEMM_ACTIVATION_NONE ? UseOfC::same_as_d : UseOfC::apart;
        if (c.use_of_c == UseOfC::apart) continue;
        for (Group& g : c.groups) g.c = g.d;
        c.given_c = c.given_d;
        c.packed_c = c.packed_d;
      }
}

// beta = 0 from the host or the device, or no beta: C is all NaN and must not show.
void add_unread_c(List& list) {
  for (const bool grouped : {false, true})
    for (const CaseType& t : types(grouped))
      for (int given = 0; given < 3; ++given) {
        Case& c = list.add(t, {{66, 130, 40}});
        c.beta = 0;
        c.beta_given = given > 0;
        c.scalars_on_device = given == 2;
        c.alpha_byte_stride = c.beta_byte_stride = 0;
        c.use_of_c = UseOfC::apart;
      }
}

void add_group_counts(List& list) {
  for (const CaseType& t : types(true)) {
    list.add(t, {});
    list.add(t, std::vector<Size>(40, Size{0, 0, 0}));
    list.add(t, {{0, 8, 8}, {-3, 8, 8}, {8, 0, 8}, {8, -1, 8}, {0, 0, 0}});
    list.add(t, {{5, 7, -4}, {0, 9, 9}, {20, 30, 0}, {17, 18, 19}, {9, 0, 9}});
    for (const int64_t groups : {1, 2, 31, 32, 33, 63, 64, 65, 127, 1000, 4096, 5000}) {
      std::vector<Size> sizes;
      for (int64_t g = 0; g < groups; ++g) sizes.push_back({1 + g * 7 % 20, 1 + g * 5 % 24, g % 9 == 4 ? 0 : 1 + g * 3 % 40});
      list.add(t, sizes);
    }
    for (const std::size_t large : {std::size_t(0), std::size_t(500), std::size_t(999)}) {
      std::vector<Size> sizes(1000, Size{1, 33, 48});
      sizes[large].m = 1000;
      list.add(t, sizes);
    }
    // The only group with work comes last, after many windows of the group search.
    std::vector<Size> sizes(2000, Size{0, 64, 64});
    sizes.back().m = 130;
    list.add(t, sizes);
  }
}

// A stride that is never stepped along may be anything: the addresses beyond are not touched.
void add_far_strides(List& list) {
  for (const bool grouped : {false, true})
    for (CaseType t : types(grouped)) {
      t.layout_a = t.layout_b = grouped ? 2 : 0;
      const auto add = [&](const Size& size) -> Case& {
        Case& c = list.add(t, {size});
        c.packed_a = c.packed_b = c.packed_c = c.packed_d = false;
        c.described_otherwise = false;
        c.described_m = size.m, c.described_n = size.n, c.described_k = size.k;
        if (c.use_of_c == UseOfC::same_as_d) c.use_of_c = UseOfC::apart;
        for (GivenMatrix* given : {&c.given_a, &c.given_b, &c.given_c, &c.given_d})
          given->row_stride = given->col_stride = grouped ? Given{GGEMM_SOURCE_I64, 8, false} : Given{};
        return c;
      };
      Case& row = add({1, 90, 70});
      row.groups[0].a.row_stride = row.groups[0].c.row_stride = row.groups[0].d.row_stride = far_stride;
      Case& column = add({90, 1, 70});
      column.groups[0].b.col_stride = column.groups[0].c.col_stride = column.groups[0].d.col_stride = -far_stride;
      Case& deep = add({90, 33, 1});
      deep.groups[0].a.col_stride = far_stride;
      deep.groups[0].b.row_stride = -far_stride;
      Case& one = add({1, 1, 1});
      for (View* v : {&one.groups[0].a, &one.groups[0].b, &one.groups[0].c, &one.groups[0].d})
        v->row_stride = far_stride, v->col_stride = -far_stride;
    }
}

// Every two kinds of scales: no product, less than a block, blocks that end with the operand and that do not.
void add_scales(List& list) {
  for (const bool grouped : {false, true})
    for (int kind_a = GGEMM_SCALE_NONE; kind_a <= GGEMM_SCALE_BLOCK_128X128; ++kind_a)
      for (int kind_b = GGEMM_SCALE_NONE; kind_b <= GGEMM_SCALE_BLOCK_128X128; ++kind_b) {
        // fp8 in all ways; others where both operands are scaled alike.
        std::vector<CaseType> all = {type_of(grouped, GGEMM_E4M3, GGEMM_BF16)};
        if (kind_a == kind_b) all.insert(all.end(), {type_of(grouped, GGEMM_F16, GGEMM_F16), type_of(grouped, GGEMM_I8, GGEMM_F32)});
        for (CaseType t : all) {
          t.scale_a = static_cast<ggemm_scale_kind>(kind_a), t.scale_b = static_cast<ggemm_scale_kind>(kind_b);
          t.bias = GGEMM_BIAS_PER_COLUMN;
          if (grouped) {
            list.add(t, {{129, 65, 0}, {1, 1, 1}, {0, 70, 70}, {130, 129, 257}, {3, 128, 128}, {64, 0, 300}, {17, 40, 127}});
            continue;
          }
          for (const Size& size : {Size{129, 65, 0}, Size{0, 65, 200}, Size{1, 1, 1}, Size{130, 129, 257}, Size{128, 256, 384}, Size{17, 40, 127}}) list.add(t, {size});
        }
      }
}

// Gated pairs of one column and of many, with and without k.
void add_pairs(List& list) {
  for (const bool grouped : {false, true})
    for (CaseType t : {type_of(grouped, GGEMM_F32, GGEMM_F32), type_of(grouped, GGEMM_BF16, GGEMM_BF16), type_of(grouped, GGEMM_F64, GGEMM_F64), type_of(grouped, GGEMM_E4M3, GGEMM_E4M3)})
      for (const ggemm_gate gate : {GGEMM_GATE_HALVES, GGEMM_GATE_INTERLEAVED}) {
        t.gate = gate;
        t.activation = GGEMM_ACTIVATION_RELU;
        t.bias = gate == GGEMM_GATE_HALVES ? GGEMM_BIAS_PER_COLUMN : GGEMM_BIAS_PER_ROW;
        if (grouped) {
          list.add(t, {{1, 2, 1}, {65, 130, 0}, {5, 0, 9}, {0, 8, 9}, {130, 258, 70}, {33, 64, 33}});
          continue;
        }
        for (const Size& size : {Size{1, 2, 1}, Size{65, 130, 0}, Size{5, 0, 9}, Size{130, 258, 70}, Size{64, 256, 64}, Size{33, 66, 40}}) list.add(t, {size});
      }
}

// D of f64 products in fewer bits: sums just above the middle of two neighbours, which those that are rounded to f32 on the way miss. Of few columns and rows, by which some kernels store in other ways, and of vectors and not.
void add_ties(List& list) {
  const std::pair<ggemm_dtype, double> outputs[] = {{GGEMM_F16, 0x1p-11}, {GGEMM_BF16, 0x1p-8}, {GGEMM_E4M3, 0x1p-4}, {GGEMM_E5M2, 0x1p-3}};
  for (const bool grouped : {false, true})
    for (const auto& [output, middle] : outputs)
      for (const Size& size : {Size{2100, 3, 1}, Size{2100, 8, 1}, Size{4, 1100, 1}, Size{130, 72, 1}, Size{37, 45, 1}}) {
        Case& c = list.add(type_of(grouped, GGEMM_F64, output), {size});
        c.values = Values::small, c.low = 1, c.high = 2;
        c.alpha_given = true, c.scalars_on_device = c.beta_given = false;
        c.alpha = 1 + middle + 0x1p-40, c.beta = 0;
        c.alpha_byte_stride = c.beta_byte_stride = 0;
        c.use_of_c = UseOfC::none;
      }
}

// A hundred thousand groups. Offsets above 2^31 and above 2^32 elements, and a dense D of more than 2^31 elements.
void add_big(List& list) {
  std::vector<Size> many;
  for (int64_t g = 0; g < 100'000; ++g) many.push_back({g % 3, 1 + g % 2 * 16, g % 5 * 4});
  list.add(type_of(true, GGEMM_I8, GGEMM_I8), many);
  CaseType t = type_of(false, GGEMM_I8, GGEMM_I8);
  const auto add = [&](const Size& size) -> Group& {
    Case& c = list.add(t, {size});
    c.packed_a = c.packed_b = c.packed_c = c.packed_d = c.described_otherwise = c.beta_given = false;
    c.described_m = size.m, c.described_n = size.n, c.described_k = size.k;
    c.beta = 0, c.use_of_c = UseOfC::none, c.values = Values::small, c.placement = Placement::ends_at_guard;
    Group& g = c.groups[0];
    g.a = {size.m, size.k, size.k, 1, 0};
    g.b = {size.k, size.n, size.n, 1, 0};
    g.d = {size.m, size.n, size.n, 1, 0};
    return g;
  };
  add({2, 70, 80}).a.row_stride = over_int32;
  add({3, 70, 80}).a.row_stride = over_int32;
  add({70, 80, 3}).b.row_stride = over_int32;
  add({2, 70, 80}).d.row_stride = over_int32;
  add({65600, 32800, 8});
}

}  // namespace

void Sweep::run_degenerate(std::vector<Job>& jobs, double deadline) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<ggemm_problem> problems;
  for (const Job& job : jobs) {
    calls.push_back(std::make_unique<Call>());
    describe(job.input, *calls.back());
    calls.back()->force(job.config);
    problems.push_back(calls.back()->problem());
  }
  // A failure shows again in the case that it belongs to.
  if (options_.cuda && ggemm_prepare(context_, problems.data(), problems.size(), nullptr, nullptr)) std::printf("ggemm_prepare: %s\n", ggemm_last_error());
  parallel(static_cast<int64_t>(jobs.size()), deadline, [&](Session& session, int64_t i) {
    const Job& job = jobs[static_cast<std::size_t>(i)];
    judge(session, {job.family, dtype_label(job.input.type), job.input.type.grouped}, Kind::degenerate, job.input, job.config,
          repeat_degenerate_case(options_, job.number));
  });
}

void Sweep::degenerate(double deadline) {
  const double begin = now();
  List list(options_);
  add_empty_products(list);
  add_no_k(list);
  add_unread_c(list);
  add_group_counts(list);
  list.pointers_only();
  add_far_strides(list);
  add_scales(list);
  add_pairs(list);
  add_ties(list);
  const std::size_t ordinary = list.cases.size();
  if (options_.big) add_big(list);
  std::vector<Job> jobs, big;
  for (std::size_t i = 0; i < list.cases.size(); ++i) {
    Case& c = list.cases[i];
    const std::string label = dtype_label(c.type);
    if ((options_.only_case >= 0 ? static_cast<int64_t>(i) != options_.only_case : static_cast<int64_t>(i) % options_.shards != options_.shard) || (!options_.dtype.empty() && options_.dtype != label) ||
        !(c.type.grouped ? options_.grouped : options_.plain))
      continue;
    // One run for each family that takes the case, with its best configuration, and one as the library chooses.
    std::vector<Configuration> wanted = {{"", "chosen", {0, 0, 0}}};
    try {
      Call call;
      describe(c, call);
      for (const Configuration& legal : legal_configurations(context_, call))
        if (std::none_of(wanted.begin(), wanted.end(), [&](const Configuration& w) { return w.family == legal.family; })) wanted.push_back(legal);
    } catch (const std::exception& e) {
      tally_.failed({"chosen", label, c.type.grouped}, Kind::degenerate, {"", e.what(), c.text(), repeat_degenerate_case(options_, static_cast<int64_t>(i))});
    }
    for (const Configuration& w : wanted) {
      if (i >= ordinary && w.name.empty()) continue;
      if ((!options_.family.empty() && w.family != options_.family) || (!options_.config.empty() && w.name != options_.config)) continue;
      (i < ordinary ? jobs : big).push_back({c, w.name, w.family, static_cast<int64_t>(i)});
    }
  }
  run_degenerate(jobs, deadline);
  // Gigabytes each: one at a time, and the memory given back after.
  for (const Job& job : big) {
    if (broken_ || (deadline != 0 && now() > deadline)) break;
    judge(*make_session(), {job.family, dtype_label(job.input.type), job.input.type.grouped}, Kind::degenerate, job.input, job.config,
          repeat_degenerate_case(options_, job.number));
  }
  tally_.add_seconds("degenerate", now() - begin);
}

}  // namespace ggemm::tests
