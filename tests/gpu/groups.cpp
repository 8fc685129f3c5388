// SPDX-License-Identifier: Apache-2.0
// Checked mode: what is wrong in device memory is found there, and nothing is computed then.
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>

#include "checks.hpp"

namespace ggemm::tests {
namespace {

struct Told {
  std::int32_t fault, group, field, row;
};

// A number of an array of the case, changed in device memory.
void put(Loaded& loaded, SlotName slot, const Given& given, std::int64_t count, std::int64_t place, std::int64_t value) {
  const std::int64_t first = given.byte_stride < 0 ? -given.byte_stride * (count - 1) : 0;
  const std::int32_t narrow = static_cast<std::int32_t>(value);
  char* const at = loaded.addresses()[slot] + first + place * given.byte_stride;
  if (given.kind == GGEMM_SOURCE_I32)
    loaded.memory().write(at, &narrow, sizeof narrow);
  else
    loaded.memory().write(at, &value, sizeof value);
}

// The status after a run, which leaves D alone if it tells a fault, and makes it right if it tells none.
void expect_told(GpuContext& context, Loaded& loaded, const Told& wanted, const std::string& what) {
  loaded.run(context.get());
  loaded.memory().wait();
  Told told;
  loaded.memory().read(&told, loaded.addresses()[slot_status], sizeof told);
  const auto text = [](const Told& t) {
    return "fault " + std::to_string(t.fault) + " in field " + std::to_string(t.field) + " of group " + std::to_string(t.group) + ", row " +
           std::to_string(t.row);
  };
  expect(!std::memcmp(&told, &wanted, sizeof told), what + ": the status tells " + text(told) + ", not " + text(wanted));
  if (!wanted.fault) return loaded.verify();
  expect(loaded.result() == loaded.images()[slot_d], what + ": D was written");
}

// A checked case of groups of some rows, n 20 and k 24.
Case checked_case(const CaseType& type, ggemm_grouped_form form, std::int64_t groups) {
  Drawing drawing;
  drawing.seed = 17;
  drawing.grouped = drawing.forms = true;
  std::vector<Size> sizes;
  for (std::int64_t g = 0; g < groups; ++g) sizes.push_back({1 + g * 7 % 5, 20, 24});
  for (std::uint64_t number = 0; number < 1000; ++number) {
    Case c = draw_sized_case(drawing, type, sizes, number);
    if (c.checked && c.form == form) return c;
  }
  wrong("no such case is drawn: a fault of this test");
}

void ends_and_indices(int ordinal, std::int64_t groups) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  CaseType type;
  type.grouped = type.gather = type.scatter = true;
  const Case c = checked_case(type, GGEMM_GROUPS_RAGGED_M, groups);
  const auto end = [&](std::int64_t g) { return c.groups[static_cast<std::size_t>(g)].first + c.groups[static_cast<std::size_t>(g)].m; };
  const std::int64_t middle = groups / 2, last = groups - 1, row = c.groups[static_cast<std::size_t>(middle)].first;
  const auto number = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
  const auto put_end = [&](std::int64_t g, std::int64_t value) { put(loaded, slot_m, c.given_m, groups, g, value); };
  loaded.load(c);
  expect_told(context, loaded, {0, 0, 0, 0}, "what is right");
  loaded.load(c);
  put_end(last, c.stored_m + 1);
  expect_told(context, loaded, {GGEMM_FAULT_END, number(last), GGEMM_FIELD_M, 0}, "an end past the last row");
  put_end(middle, end(middle - 1) - 1);
  expect_told(context, loaded, {GGEMM_FAULT_END, number(middle), GGEMM_FIELD_M, 0}, "two ends, of which the first is told");
  loaded.load(c);
  put(loaded, slot_a_index, c.given_a_index.given, c.stored_m, end(last) - 1, c.given_a_index.rows);
  expect_told(context, loaded, {GGEMM_FAULT_INDEX, number(last), GGEMM_FIELD_A, number(end(last) - 1)}, "an index of A in the last row");
  put(loaded, slot_d_index, c.given_d_index.given, c.stored_m, row, c.given_d_index.rows + 5);
  expect_told(context, loaded, {GGEMM_FAULT_INDEX, number(middle), GGEMM_FIELD_D, number(row)}, "an index of D before one of A");
  loaded.load(c);
  expect_told(context, loaded, {0, 0, 0, 0}, "what is right again");
}

void pointers(int ordinal) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  CaseType type;
  type.grouped = true;
  const Case c = checked_case(type, GGEMM_GROUPS_POINTERS, 70);
  const auto put_pointer = [&](SlotName slot, std::int64_t g, std::uint64_t value) {
    loaded.memory().write(loaded.addresses()[slot] + 8 * g, &value, 8);
  };
  loaded.load(c);
  put_pointer(slot_b_pointers, 68, 0);
  expect_told(context, loaded, {GGEMM_FAULT_NULL, 68, GGEMM_FIELD_B, 0}, "a pointer of B that is NULL");
  put_pointer(slot_a_pointers, 33, 0x10002);
  expect_told(context, loaded, {GGEMM_FAULT_ALIGN, 33, GGEMM_FIELD_A, 0}, "a pointer of A off its alignment");
  put_pointer(slot_d_pointers, 0, 0);
  expect_told(context, loaded, {GGEMM_FAULT_NULL, 0, GGEMM_FIELD_D, 0}, "a pointer of D that is NULL");
}

// The same call on the host device.
Bytes on_host(const Case& c) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST, options.cache_dir = "", options.shared_cache_dir = "";
  ggemm_context* made = nullptr;
  expect_ok(ggemm_context_create(&options, &made), "ggemm_context_create");
  const std::unique_ptr<ggemm_context, void (*)(ggemm_context*)> context(made, ggemm_context_destroy);
  Images images = make_images(c);
  const auto addresses = [&] {
    Addresses at{};
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = images[i].empty() ? nullptr : reinterpret_cast<char*>(images[i].data());
    return at;
  };
  add_metadata(c, addresses(), images);
  Call call;
  bind_call(c, addresses(), call);
  expect_ok(ggemm_grouped_gemm(context.get(), &call.grouped, &call.grouped_args, nullptr), "ggemm_grouped_gemm on the host");
  return images[slot_d];
}

// Of numbers whose sums are exact, rows that meet have the host's bits, whatever family computes them; all of D's memory is compared.
void rows_meet(int ordinal, ggemm_dtype in, ggemm_dtype out, ggemm_compute compute) {
  GpuContext context(ordinal);
  Loaded loaded(ordinal);
  Rng rng(mix(61, static_cast<std::uint64_t>(in * 16 + out)));
  Drawing drawing;
  drawing.seed = 62;
  drawing.grouped = drawing.forms = true;
  for (std::uint64_t number = 0; number < 5; ++number) {
    CaseType type;
    type.a = type.b = in, type.compute = compute;
    draw_epilogue(type, true, rng);
    type.d = out, type.c = GGEMM_DTYPE_NONE, type.bias_dtype = GGEMM_DTYPE_NONE, type.layout_a = 0, type.layout_b = rng.between(0, 1) != 0, type.scale_a = GGEMM_SCALE_NONE;
    if (type.epilogue_i32()) type.activation = GGEMM_ACTIVATION_RELU, type.gate = GGEMM_GATE_NONE, type.scale_b = GGEMM_SCALE_NONE;
    type.grouped = type.scatter = type.meet = true, type.gather = number % 2;
    std::vector<Size> sizes;
    for (int g = 0; g < 9; ++g) sizes.push_back({rng.between(0, number == 4 ? 200 : 40), 70, 24});
    const Case c = draw_sized_case(drawing, type, sizes, number);
    const Bytes wanted = on_host(c);
    // Sums of 128 columns go out in four steps, though D's rows may be two.
    for (const auto& [family, config] : families(context.get(), c, "_64x128x")) {
      loaded.load(c);
      loaded.call().force(config);
      loaded.run(context.get());
      loaded.memory().wait();
      expect(loaded.result() == wanted, config + ": D is not the host's, " + c.text());
    }
  }
}

// Of numbers whose sums round, each group has the bits of a plain product by the same configuration: full tiles and cut ones, several rows of tiles, halves of tiles, none.
void plain_bits(int ordinal, ggemm_dtype in, ggemm_compute compute) {
  const ggemm_dtype out = in == GGEMM_F64 ? GGEMM_F64 : in == GGEMM_I8 ? GGEMM_I32 : GGEMM_F32;  // as the sums, so that nothing hides their last bits
  GpuContext context(ordinal);
  const std::unique_ptr<Memory> memory = cuda_memory(ordinal, false);
  constexpr std::int64_t n = 160, k = 336, rows[] = {40, 0, 200, 64, 1};
  constexpr std::size_t groups = std::size(rows);
  const std::int64_t size = static_cast<std::int64_t>(ggemm_dtype_size(in)), size_d = static_cast<std::int64_t>(ggemm_dtype_size(out));
  std::array<std::int32_t, groups> ends{};
  for (std::size_t g = 0; g < groups; ++g) ends[g] = static_cast<std::int32_t>((g ? ends[g - 1] : 0) + rows[g]);
  const std::int64_t m = ends.back();
  Rng rng(mix(64, static_cast<std::uint64_t>(in)));
  std::vector<Slot> slots;
  const auto put = [&](const void* data, std::size_t bytes) {
    slots.emplace_back(*memory);
    char* const at = slots.back().place(bytes, Placement::free);
    memory->write(at, data, bytes);
    return at;
  };
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(rng.between(-4000, 4000)) / (in == GGEMM_I8 ? 40 : 1024);
    Bytes bytes(static_cast<std::size_t>(count * size));
    expect_ok(ggemm_convert(in, bytes.data(), GGEMM_F32, values.data(), values.size()), "ggemm_convert");
    return put(bytes.data(), bytes.size());
  };
  char *const a = numbers(m * k), *const b = numbers(static_cast<std::int64_t>(groups) * n * k);
  const Bytes empty(static_cast<std::size_t>(m * n * size_d));
  char *const together = put(empty.data(), empty.size()), *const apart = put(empty.data(), empty.size());
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.form = GGEMM_GROUPS_RAGGED_M, desc.groups = groups, desc.compute = compute;
  desc.m = ggemm_const(m), desc.n = ggemm_const(n), desc.k = ggemm_const(k), desc.ends = ggemm_i32_at(put(ends.data(), sizeof ends), 4);
  desc.a.dtype = desc.b.dtype = in, desc.d.dtype = out;
  desc.b.row_stride = ggemm_const(1), desc.b.col_stride = ggemm_const(k);
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = a, args.b = b, args.d = together;
  const ggemm_problem problem{nullptr, &desc};
  std::size_t count = 0;
  expect_ok(ggemm_config_count(context.get(), &problem, &count), "ggemm_config_count");
  std::set<std::string> tried;  // a configuration of each family, and of the tensor cores' newest also those that differ in how they go about groups
  for (std::size_t i = 0; i < count; ++i) {
    ggemm_config config = GGEMM_CONFIG_INIT;
    expect_ok(ggemm_config_get(context.get(), &problem, i, &config), "ggemm_config_get");
    if (config.slices || config.large_above) continue;  // of another order of sums, or of other tiles
    const bool high = config.tile_m == 128 && config.tile_n == 128;
    if (!tried.insert(std::string(config.family) + (config.swapped ? " swapped" : high ? " high" : "") + (config.cluster_m * config.cluster_n > 1 ? " clusters" : "") + (config.teams ? " teams" : "")).second) continue;
    desc.config = config.name;
    expect_ok(ggemm_grouped_gemm(context.get(), &desc, &args, memory->stream()), config.name);
    for (std::size_t g = 0; g < groups; ++g) {
      const std::int64_t start = ends[g] - rows[g];
      ggemm_gemm_desc plain = GGEMM_GEMM_DESC_INIT;
      plain.m = rows[g], plain.n = n, plain.k = k, plain.compute = compute, plain.config = config.name;
      plain.a.dtype = plain.b.dtype = in, plain.d.dtype = out;
      plain.b.row_stride = 1, plain.b.col_stride = k;
      ggemm_gemm_args of = GGEMM_GEMM_ARGS_INIT;
      of.a = a + start * k * size, of.b = b + static_cast<std::int64_t>(g) * n * k * size, of.d = apart + start * n * size_d;
      expect_ok(ggemm_gemm(context.get(), &plain, &of, memory->stream()), config.name);
    }
    memory->wait();
    Bytes got(empty.size()), wanted(empty.size());
    memory->read(got.data(), together, got.size());
    memory->read(wanted.data(), apart, wanted.size());
    expect(wanted != empty, std::string(config.name) + " has computed nothing");
    expect(got == wanted, std::string(config.name) + ": groups have other bits than plain products");
  }
  desc.config = nullptr;
}

// More rows than are remembered at once, of numbers whose sum depends on their order.
void sums_in_order(int ordinal) {
  GpuContext context(ordinal);
  const std::unique_ptr<Memory> memory = cuda_memory(ordinal, false);
  constexpr std::int64_t m = 5000, n = 37, d_rows = 40;
  Rng rng(63);
  std::vector<float> a(m), b(n), weights(m), d(d_rows * n, -7), wanted(d);
  std::vector<std::int32_t> index(m);
  for (std::int64_t j = 0; j < n; ++j) b[static_cast<std::size_t>(j)] = std::ldexp(1.0f, static_cast<int>(j % 5));
  std::vector<char> begun(d_rows, 0);
  for (std::int64_t i = 0; i < m; ++i) {
    const auto at = static_cast<std::size_t>(i);
    a[at] = std::ldexp(static_cast<float>(rng.between(-1000, 1000)), static_cast<int>(rng.between(-20, 20)));
    weights[at] = static_cast<float>(rng.between(-99, 99)) / 64;
    const std::int64_t to = rng.chance(0.5) ? 3 : rng.between(-1, d_rows - 2);  // one row of D with very many, one with none
    index[at] = static_cast<std::int32_t>(to);
    for (std::int64_t j = 0; to >= 0 && j < n; ++j) {
      float& sum = wanted[static_cast<std::size_t>(to * n + j)];
      const float value = a[at] * b[static_cast<std::size_t>(j)];
      sum = begun[static_cast<std::size_t>(to)] ? std::fmaf(weights[at], value, sum) : weights[at] * value;
    }
    if (to >= 0) begun[static_cast<std::size_t>(to)] = 1;
  }
  const std::int64_t ends[] = {2000, 2000, m};
  std::vector<Slot> slots;
  const auto put = [&](const void* data, std::size_t bytes) {
    slots.emplace_back(*memory);
    char* const at = slots.back().place(bytes, Placement::free);
    memory->write(at, data, bytes);
    return at;
  };
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.form = GGEMM_GROUPS_RAGGED_M, desc.groups = 3;
  desc.m = ggemm_const(m), desc.n = ggemm_const(n), desc.k = ggemm_const(1);
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.b.group_stride = 0;
  desc.ends = ggemm_i64_at(put(ends, sizeof ends), 8);
  desc.d_index = ggemm_i32_at(put(index.data(), 4 * m), 4), desc.d_rows = d_rows;
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = put(a.data(), 4 * m), args.b = put(b.data(), 4 * n), args.row_weights = reinterpret_cast<const float*>(put(weights.data(), 4 * m));
  char* const to = put(d.data(), 4 * d.size());
  args.d = to;
  for (const int most : {0, 1}) {
    desc.max_ctas = most;
    memory->write(to, d.data(), 4 * d.size());
    expect_ok(ggemm_grouped_gemm(context.get(), &desc, &args, memory->stream()), "ggemm_grouped_gemm");
    memory->wait();
    std::vector<float> got(d.size());
    memory->read(got.data(), to, 4 * got.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      if (std::memcmp(&got[i], &wanted[i], 4)) wrong("D[" + std::to_string(i / n) + "," + std::to_string(i % n) + "] is " + std::to_string(got[i]) + ", not " + std::to_string(wanted[i]));
  }
}

}  // namespace

std::vector<Check> group_checks(int ordinal) {
  std::vector<Check> out;
  for (const std::int64_t groups : {9, 33, 4096})
    out.push_back({"checked mode finds ends and indices, " + std::to_string(groups) + " groups", [=] { ends_and_indices(ordinal, groups); }});
  out.push_back({"checked mode finds pointers", [=] { pointers(ordinal); }});
  const struct {
    const char* name;
    ggemm_dtype in, out;
    ggemm_compute compute;
  } types[] = {{"bf16", GGEMM_BF16, GGEMM_BF16, GGEMM_COMPUTE_DEFAULT}, {"f16", GGEMM_F16, GGEMM_F32, GGEMM_COMPUTE_DEFAULT}, {"tf32", GGEMM_F32, GGEMM_F16, GGEMM_COMPUTE_TF32},
               {"i8", GGEMM_I8, GGEMM_I32, GGEMM_COMPUTE_DEFAULT},      {"i8 to f32", GGEMM_I8, GGEMM_F32, GGEMM_COMPUTE_DEFAULT}, {"f64", GGEMM_F64, GGEMM_F64, GGEMM_COMPUTE_DEFAULT},
               {"e4m3", GGEMM_E4M3, GGEMM_E5M2, GGEMM_COMPUTE_DEFAULT}};
  for (const auto& t : types) out.push_back({std::string("rows of D that meet are added up as on the host: ") + t.name, [=] { rows_meet(ordinal, t.in, t.out, t.compute); }});
  for (const auto& t : types)
    if (t.out != GGEMM_F32 || t.in != GGEMM_I8) out.push_back({std::string("groups have the bits of plain products: ") + t.name, [=] { plain_bits(ordinal, t.in, t.compute); }});
  out.push_back({"rows of D that meet are added up in their order", [=] { sums_in_order(ordinal); }});
  return out;
}

}  // namespace ggemm::tests
