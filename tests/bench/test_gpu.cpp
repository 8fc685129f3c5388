// SPDX-License-Identifier: Apache-2.0
// The benchmark's way over a GPU, on the fake driver: kernels are answered with the right numbers and with the time that they are to have taken.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <set>

#include "bench/ceiling.hpp"
#include "bench/compile_times.hpp"
#include "bench/description.hpp"
#include "bench/gpu.hpp"
#include "bench/runner.hpp"
#include "bench/suites.hpp"
#include "common/failure.hpp"
#include "core/error.hpp"
#include "core/library.hpp"
#include "fake_driver/fake.hpp"
#include "fake_driver/groups.hpp"
#include "jit/nvrtc.hpp"
#include "scheduler/group_params.cuh"

using namespace ggemm::bench;
namespace kernels = ggemm::kernels;
using Catch::Approx;

namespace {

// A slow machine: the fake's clock runs on while its threads work, and what is measured must be long against that.
constexpr double product_ms = 10000, nothing_ms = 100, flops_per_second = 1e12, bytes_per_second = 4e9;

struct Fake {
  const fake::Driver& driver = fake::Driver::get();
  std::string nvrtc = ggemm::core::environment("GGEMM_NVRTC");
  Case of;  // whose product is answered: its dtypes, scales, and whether it is added
  bool wrong = false;
  double ceiling_flops = ceiling_kernel("bf16", "sm_90a").flops;
};

double element(ggemm_dtype dtype, const void* data, std::int64_t index) {
  double value = 0;
  ggemm_convert(GGEMM_F64, &value, dtype, static_cast<const char*>(data) + index * static_cast<std::int64_t>(ggemm_dtype_size(dtype)), 1);
  return value;
}

int kind_of(Scaling scaling, bool of_a) {
  if (scaling == Scaling::none) return kernels::scale_none;
  if (scaling == Scaling::block) return of_a ? kernels::scale_block_1x128 : kernels::scale_block_128x128;
  return scaling == Scaling::row ? kernels::scale_vector : kernels::scale_tensor;
}

// Of A's row i (of B's column) at k.
double scale(const kernels::Matrix& scales, int kind, bool of_a, std::int64_t i, std::int64_t k) {
  if (kind == kernels::scale_none) return 1;
  const std::int64_t along = kernels::scale_at(kind, i), deep = kernels::scaled_by_blocks(kind) ? k / kernels::scale_block : 0;
  return element(GGEMM_F32, scales.data, of_a ? along * scales.row_stride + deep * scales.col_stride : deep * scales.row_stride + along * scales.col_stride);
}

// Only into poison: launches that are timed would write the same again, slowly.
void multiply(const Fake& fake, const kernels::GemmParams& p) {
  const ggemm_dtype input = type_named(fake.of.dtype).input, output = fake.of.output();
  if (p.m > 0 && static_cast<const unsigned char*>(p.d.data)[0] != 0xff && !fake.of.accumulate) return;
  const int kind_a = kind_of(fake.of.scaling, true), kind_b = kind_of(fake.of.scaling, false);
  for (std::int64_t i = 0; i < p.m; i++)
    for (std::int64_t j = 0; j < p.n; j++) {
      double sum = fake.wrong && i == 0 && j == 0 ? 1e4 : 0;
      for (std::int64_t k = 0; k < p.k; k++)
        sum += scale(p.scale_a, kind_a, true, i, k) * scale(p.scale_b, kind_b, false, j, k) * element(input, p.a.data, i * p.a.row_stride + k * p.a.col_stride) *
               element(input, p.b.data, k * p.b.row_stride + j * p.b.col_stride);
      const std::int64_t at = i * p.d.row_stride + j * p.d.col_stride;
      if (fake.of.accumulate) sum += element(output, p.c.data, i * p.c.row_stride + j * p.c.col_stride);
      ggemm_convert(output, static_cast<char*>(const_cast<void*>(p.d.data)) + at * static_cast<std::int64_t>(ggemm_dtype_size(output)), GGEMM_F64, &sum, 1);
    }
}

template <class T>
T parameter(const fake_launch* launch, int index) {
  T out;
  std::memcpy(&out, launch->parameters[index], sizeof out);
  return out;
}

bool is_grouped(const std::string& kernel) { return kernel.find("grouped") != std::string::npos; }
bool is_batch(const std::string& kernel) { return kernel.find("_batch") != std::string::npos; }

bool by_tensor_maps(const std::string& kernel) { return kernel.rfind("ggemm_sm90_", 0) == 0; }

kernels::GemmParams described(const std::string& kernel, const kernels::GemmParams& upright) { return kernel.find("_swap_") == std::string::npos ? upright : kernels::transposed(upright); }

// The product that a plain kernel was asked for, as the caller described it.
kernels::GemmParams plain_params(const std::string& kernel, const fake_launch* launch) {
  return by_tensor_maps(kernel) ? described(kernel, parameter<kernels::TensorParams>(launch, 0).problem) : parameter<kernels::PlainParams>(launch, 0).problem;
}

void multiply_groups(const Fake& fake, const std::string& kernel, const fake_launch* launch) {
  if (by_tensor_maps(kernel) && is_batch(kernel)) {
    const auto p = parameter<kernels::TensorParams>(launch, 0);
    for (std::int64_t g = 0; g < ggemm::tests::products_of(p); g++) multiply(fake, described(kernel, ggemm::tests::product_of(p, g)));
    return;
  }
  if (is_batch(kernel)) {
    const auto p = parameter<kernels::BatchedParams>(launch, 0);
    for (std::int64_t g = 0; g < launch->grid[0] / p.batch.tiles.by; g++) multiply(fake, kernels::product_of(p.batch, p.plain.problem, g));
    return;
  }
  if (by_tensor_maps(kernel)) {
    const auto p = parameter<kernels::GroupedTensorParams>(launch, 0);
    for (std::int64_t g = 0; g < p.groups; g++) multiply(fake, described(kernel, ggemm::tests::facts_of(p, g).problem));
    return;
  }
  const auto p = parameter<kernels::GroupedParams>(launch, 0);
  const auto shape = kernels::group_shape(kind_of(fake.of.scaling, true), kind_of(fake.of.scaling, false), 0);
  for (std::int64_t g = 0; g < p.groups; g++) multiply(fake, kernels::group_params(p, g, shape));
}

int parameter_sizes(void*, const char* kernel, size_t* sizes) {
  const std::string name = kernel;
  if (name == "ceiling") return sizes[0] = 4, sizes[1] = 8, 2;
  if (name == "flush_read" || name == "copy_vectors") return std::fill(sizes, sizes + 3, 8), 3;
  if (name == "nothing") return sizes[0] = 4, 1;
  if (is_batch(name)) return sizes[0] = by_tensor_maps(name) ? sizeof(kernels::TensorParams) : sizeof(kernels::BatchedParams), 1;
  if (is_grouped(name)) return sizes[0] = by_tensor_maps(name) ? sizeof(kernels::GroupedTensorParams) : sizeof(kernels::GroupedParams), 1;
  return sizes[0] = by_tensor_maps(name) ? sizeof(kernels::TensorParams) : sizeof(kernels::PlainParams), 1;
}

double answer(void* user, const fake_launch* launch) {
  const Fake& fake = *static_cast<Fake*>(user);
  const std::string name = launch->kernel;
  if (name == "ceiling") return 1e3 * fake.ceiling_flops * launch->grid[0] * parameter<int>(launch, 0) / flops_per_second;
  if (name == "copy_vectors") return 1e3 * 2 * 16 * static_cast<double>(parameter<unsigned long long>(launch, 2)) / bytes_per_second;
  if (name == "flush_read") return 0.06;
  if (name == "nothing") return nothing_ms;
  if (is_grouped(name) || is_batch(name)) return multiply_groups(fake, name, launch), product_ms;
  multiply(fake, plain_params(name, launch));
  return product_ms;
}

// One process has one driver: the fake lives as long as the tests.
Fake* fake_gpu() {
  static Fake fake;
  try {
    ggemm::jit::load_nvrtc(fake.nvrtc, 0);
  } catch (const ggemm::core::Error& error) {
    SKIP(error.text());
  }
  fake.driver.reset();
  fake.driver.set_parameter_sizes(parameter_sizes, nullptr);
  fake.driver.set_answer(answer, &fake);
  fake.of = single_case("shape", "bf16", "nt", {});
  fake.wrong = false;
  return &fake;
}

struct Cuda {
  ggemm::tools::Context context;
  std::vector<std::string> notes;
  std::unique_ptr<Runner> runner;

  explicit Cuda(const Fake& fake, bool graph, bool peers = false, const std::string& config = "") {
    ggemm::tools::DeviceOptions device;
    device.device = GGEMM_DEVICE_CUDA;
    device.nvrtc = fake.nvrtc;
    context = device.create();
    RunOptions options;
    options.peers = peers;
    options.config = config;
    options.cublaslt = GGEMM_FAKE_CUBLASLT;
    options.graph = graph;
    options.nvrtc = fake.nvrtc;
    options.protocol.samples = 8;
    options.protocol.rest_s = 0;
    options.note = [this](const std::string& text) { notes.push_back(text); };
    runner = make_cuda_runner(context.get(), ggemm::tools::device_info(context.get()), options);
  }
};

}  // namespace

TEST_CASE("cold launches each follow a read of 256 MB and are timed alone") {
  Fake* fake = fake_gpu();
  Gpu gpu(0, fake->nvrtc);
  const std::vector<fake_launch> before = fake->driver.all_launches();
  const std::vector<double> us = gpu.cold(5, [&] { gpu.bare_launch(); });
  CHECK(us.size() == 5);
  for (const double one : us) CHECK(one == Approx(1e3 * nothing_ms).epsilon(1e-4));
  const std::vector<fake_launch> launches = fake->driver.all_launches();
  REQUIRE(launches.size() == before.size() + 11);  // one to wake up, then five pairs
  for (size_t i = 0; i < 5; i++) {
    const fake_launch& flush = launches[before.size() + 1 + 2 * i];
    CHECK(std::string(flush.kernel) == "flush_read");
    CHECK(parameter<unsigned long long>(&flush, 1) * 16 == 256u << 20);
    CHECK(std::string(launches[before.size() + 2 + 2 * i].kernel) == "nothing");
  }
}

TEST_CASE("a graph holds the launches back to back and its time is parted among them") {
  Fake* fake = fake_gpu();
  Gpu gpu(0, fake->nvrtc);
  const std::vector<double> us = gpu.graph(3, 20, [&] { gpu.bare_launch(); });
  CHECK(us.size() == 3);
  for (const double one : us) CHECK(one == Approx(1e3 * nothing_ms).epsilon(1e-4));
  const std::vector<fake_launch> launches = fake->driver.all_launches();
  CHECK(std::count_if(launches.begin(), launches.end(), [](const fake_launch& l) { return l.captured; }) == 20);
  CHECK(std::count_if(launches.begin(), launches.end(), [](const fake_launch& l) { return l.replayed; }) == 80);
}

TEST_CASE("operands in device memory repeat their block") {
  Fake* fake = fake_gpu();
  Gpu gpu(0, fake->nvrtc);
  const Block& block = block_a(GGEMM_I8);
  const size_t elements = 5 * static_cast<size_t>(block.period()) / 2;
  const ggemm::cuda::Buffer memory(gpu.device(), elements, gpu.stream());
  gpu.fill(memory.data(), static_cast<std::int64_t>(elements), block);
  const auto* data = static_cast<const std::int8_t*>(memory.data());  // the fake's device memory is host memory
  size_t differing = 0;
  for (size_t i = 0; i < elements; i++) differing += data[i] != block[static_cast<std::int64_t>(i)];
  CHECK(differing == 0);
}

TEST_CASE("ceilings are what the machine does, less the time of an idle launch") {
  Fake* fake = fake_gpu();
  Gpu gpu(0, fake->nvrtc);
  Ceilings ceilings(gpu);
  CHECK(ceilings.bytes_per_second() == Approx(bytes_per_second).epsilon(0.1));
  const Ceiling& bf16 = ceilings.of("bf16");
  REQUIRE(bf16.known());
  for (const double work : {1e11, 1e14}) CHECK(bf16.rate(work) == Approx(flops_per_second).epsilon(0.1));
  CHECK(ceilings.describe().find("copy bandwidth") == 0);
  CHECK(ceilings.describe().find("ceiling bf16, TFLOP/s: 1 at") != std::string::npos);
}

TEST_CASE("a case on the GPU is checked, timed and held against its limit") {
  Fake* fake = fake_gpu();
  for (const bool graph : {false, true}) {
    Cuda cuda(*fake, graph);
    const Case one = single_case("shape", "bf16", "nt", {64, 48, 80});
    const Row row = cuda.runner->run(one);
    CHECK(row.suite == (graph ? "shape-graph" : "shape"));
    CHECK(row.ours_us == Approx(1e3 * product_ms).epsilon(1e-4));
    REQUIRE(row.limit_us);
    CHECK(*row.limit_us == Approx(1e6 * std::max(one.flops() / flops_per_second, one.bytes() / bytes_per_second)).epsilon(0.1));
    CHECK_FALSE(row.ratio);
    CHECK_FALSE(row.config.empty());
  }
}

TEST_CASE("a kernel that computes wrong numbers fails its case and gives no time") {
  Fake* fake = fake_gpu();
  Cuda cuda(*fake, false);
  fake->wrong = true;
  try {
    cuda.runner->run(single_case("shape", "bf16", "nt", {64, 48, 80}));
    FAIL("nothing was thrown");
  } catch (const ggemm::tools::Failure& failure) {
    CHECK(std::string(failure.what()).find("wrong result") == 0);
    CHECK(std::string(failure.what()).find("row 0, column 0") != std::string::npos);
  }
}

TEST_CASE("grouped cases run on the GPU, empty groups and turned operands included") {
  Fake* fake = fake_gpu();
  for (const std::string layout : {"nt", "tn"}) {
    Cuda cuda(*fake, false, false, "simt_bf16_bf16_f32_" + std::string(layout == "nt" ? "tn" : "nt") + "_32x32x16_w2x1_s2_r1");
    Case one = single_case("shape", "bf16", layout, {});
    one.groups = {{5, 16, 24}, {0, 16, 24}, {40, 16, 8}};
    one.generator = "three";
    const Row row = cuda.runner->run(one);
    CHECK(row.ours_us == Approx(1e3 * product_ms).epsilon(1e-4));
    CHECK(row.groups == "three");
    CHECK(row.limit_us);
  }
}

namespace {

Case groups_of(Form form, const std::vector<Size>& groups) {
  Case one = single_case("shape", "bf16", form == Form::ragged_k ? "tn" : "nt", {});
  one.groups = groups;
  one.generator = "some";
  one.form = form;
  one.rows = form == Form::masked ? 40 : 0;
  return one;
}

// Names of the peers that computed it right.
std::set<std::string> peers_of(Fake& fake, Cuda& cuda, const Case& one) {
  fake.of = one;
  std::set<std::string> names;
  for (const auto& [name, us] : cuda.runner->run(one).peers) names.insert(name);
  for (const std::string& note : cuda.notes)
    if (note.find("left out") != std::string::npos) UNSCOPED_INFO(note);
  return names;
}

}  // namespace

TEST_CASE("scaled cases run on the GPU beside cuBLASLt, as far as it has such scales") {
  Fake* fake = fake_gpu();
  Cuda cuda(*fake, false, true, "simt_e4m3_e4m3_f32_tn_32x32x16_w2x1_s2_r1");
  const Case plain = single_case("shape", "e4m3", "nt", {12, 132, 304}), uneven = single_case("shape", "e4m3", "nt", {13, 132, 304});
  Case ragged = groups_of(Form::own, {{8, 256, 256}, {0, 256, 256}, {12, 256, 256}}), odd = ragged, masked = groups_of(Form::masked, {{8, 132, 256}, {4, 132, 256}});
  odd.groups[0].m = 9;
  for (Case* one : {&ragged, &odd, &masked}) one->dtype = "e4m3";
  using Names = std::set<std::string>;
  const Names alone{"cublaslt"}, loop{"cublaslt-loop"}, both{"cublaslt-grouped", "cublaslt-loop"};
  for (const Scaling scaling : {Scaling::tensor, Scaling::row, Scaling::block}) {
    INFO(scaling_name(scaling));
    const bool block = scaling == Scaling::block, row = scaling == Scaling::row;
    CHECK(peers_of(*fake, cuda, scaled(plain, scaling)) == alone);
    CHECK(peers_of(*fake, cuda, scaled(uneven, scaling)) == (block ? Names{} : alone));
    CHECK(peers_of(*fake, cuda, scaled(ragged, scaling)) == (row ? loop : both));
    CHECK(peers_of(*fake, cuda, scaled(odd, scaling)) == (block ? Names{} : row ? loop : both));
    CHECK(peers_of(*fake, cuda, scaled(masked, scaling)) == (row ? loop : both));
  }
  CHECK(std::none_of(cuda.notes.begin(), cuda.notes.end(), [](const std::string& note) { return note.find("left out") != std::string::npos; }));

  const auto know_modes = [](int known) {
    std::vector<std::string> tried;
    reinterpret_cast<void (*)(int)>(ggemm::core::find_symbol(ggemm::core::open_library(GGEMM_FAKE_CUBLASLT, tried), "fake_cublaslt_know_modes"))(known);
  };
  know_modes(0);
  CHECK(peers_of(*fake, cuda, scaled(plain, Scaling::tensor)) == alone);
  CHECK(peers_of(*fake, cuda, scaled(plain, Scaling::row)).empty());
  CHECK(peers_of(*fake, cuda, scaled(ragged, Scaling::block)).empty());
  know_modes(1);
}

TEST_CASE("every case with scales, or of a form of groups, has a kernel for sm_90a") {
  Fake* fake = fake_gpu();
  const Cuda cuda(*fake, false);
  for (const char* suite : {"plain", "grouped"})
    for (const Case& one : suite_cases(suite)) {
      if ((one.scaling == Scaling::none && one.form == Form::own) || one.dtype == "f32" || one.dtype == "f64") continue;
      INFO(one.name);
      const Layout layout = lay_out(one);
      const std::vector<std::int32_t> sizes = group_sizes(one), lds = group_lds(layout), ends = group_ends(one);
      const std::vector<std::string> best = Description(one, layout, {sizes.data(), lds.data(), ends.data(), layout.index.data()}, "").ranked(cuda.context.get(), 1000);
      CHECK(std::any_of(best.begin(), best.end(), [](const std::string& config) { return config.starts_with("sm90_"); }));
    }
}

TEST_CASE("forms of groups run on the GPU beside cuBLASLt") {
  Fake* fake = fake_gpu();
  Cuda cuda(*fake, false, true, "simt_bf16_bf16_f32_tn_32x32x16_w2x1_s2_r1"), turned(*fake, false, true, "simt_bf16_bf16_f32_nt_32x32x16_w2x1_s2_r1");
  Case added = groups_of(Form::ragged_k, {{16, 24, 32}, {16, 24, 0}, {16, 24, 8}});
  using Names = std::set<std::string>;
  CHECK(peers_of(*fake, turned, added) == Names{"cublaslt-grouped"});  // a group of depth 0 is nothing to a loop
  added.accumulate = true;
  CHECK(peers_of(*fake, turned, added) == Names{"cublaslt-grouped", "cublaslt-loop"});
  CHECK(peers_of(*fake, cuda, groups_of(Form::batch, std::vector<Size>(3, {16, 24, 40}))) == Names{"cublaslt-batch", "cublaslt-grouped", "cublaslt-loop"});
  CHECK(peers_of(*fake, cuda, groups_of(Form::masked, {{8, 24, 32}, {0, 24, 32}, {40, 24, 32}})) == Names{"cublaslt-grouped", "cublaslt-loop"});
}

TEST_CASE("the suite compile times each kernel once from source and once from the disk cache, those that read no C apart, and leaves other caches alone") {
  Fake* fake = fake_gpu();
  ggemm::tools::DeviceOptions device;
  device.device = GGEMM_DEVICE_CUDA;
  device.nvrtc = fake->nvrtc;
  device.cache_dir = "/nowhere/that/could/be/written";
  std::vector<std::string> told;
  const std::vector<Case> cases{single_case("plain", "bf16", "nt", {64, 64, 64}), single_case("plain", "bf16", "nt", {64, 64, 64}), single_case("plain", "f16", "nt", {64, 64, 64})};
  const std::vector<Row> rows = compile_times(device, cases, [&told](const std::string& text) { told.push_back(text); });
  CHECK(told.size() == 4);  // a kernel that two cases share counts once
  REQUIRE(rows.size() == 3);
  CHECK((rows[0].name == "from source, C is not read" && rows[1].name == "from source" && rows[2].name == "from the disk cache"));
  for (const Row& row : rows) CHECK((row.suite == "compile" && row.ours_us > 0));
  CHECK(rows[2].ours_us < rows[0].ours_us);
  // Of f64 no kernel reads no C: what was not timed has no row, as nan would make the file of results one that is refused.
  const std::vector<Row> fewer = compile_times(device, {single_case("plain", "f64", "nt", {64, 64, 64})}, [](const std::string&) {});
  REQUIRE(fewer.size() == 2);
  CHECK((fewer[0].name == "from source" && fewer[1].name == "from the disk cache"));
}

TEST_CASE("the suite host on the GPU has a row for each way to call, above a bare launch") {
  Fake* fake = fake_gpu();
  Cuda cuda(*fake, false);
  const std::vector<Row> rows = cuda.runner->host_costs();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].name == "plan run");
  CHECK(rows[1].name == "one call");
  CHECK(rows[2].name == "grouped plan run");
  CHECK(rows[3].name == "grouped one call");
  for (const Row& row : rows) CHECK(std::fabs(row.ours_us) < 1e4);
  const std::vector<fake_launch> launches = fake->driver.all_launches();
  const auto bare = std::count_if(launches.begin(), launches.end(), [](const fake_launch& l) { return std::string(l.kernel) == "nothing"; });
  CHECK(bare >= 4 * 256 * 64);  // four comparisons of so many batches
}
