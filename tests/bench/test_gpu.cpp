// SPDX-License-Identifier: Apache-2.0
// The benchmark's way over a GPU, on the fake driver: kernels are answered with the right numbers and with the time that they are to have taken.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "bench/ceiling.hpp"
#include "bench/gpu.hpp"
#include "bench/runner.hpp"
#include "bench/suites.hpp"
#include "common/failure.hpp"
#include "core/error.hpp"
#include "core/library.hpp"
#include "fake_driver/fake.hpp"
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
  ggemm_dtype input = GGEMM_BF16, output = GGEMM_BF16;
  bool wrong = false;
  double ceiling_flops = ceiling_kernel("bf16", "sm_90a").flops;
};

double element(ggemm_dtype dtype, const void* data, std::int64_t index) {
  double value = 0;
  ggemm_convert(GGEMM_F64, &value, dtype, static_cast<const char*>(data) + index * static_cast<std::int64_t>(ggemm_dtype_size(dtype)), 1);
  return value;
}

// Only into poison: launches that are timed would write the same again, slowly.
void multiply(const Fake& fake, const Size& size, const kernels::Matrix& a, const kernels::Matrix& b, const kernels::Matrix& d) {
  if (size.m > 0 && static_cast<const unsigned char*>(d.data)[0] != 0xff) return;
  for (std::int64_t i = 0; i < size.m; i++)
    for (std::int64_t j = 0; j < size.n; j++) {
      double sum = fake.wrong && i == 0 && j == 0 ? 1e4 : 0;
      for (std::int64_t k = 0; k < size.k; k++)
        sum += element(fake.input, a.data, i * a.row_stride + k * a.col_stride) * element(fake.input, b.data, k * b.row_stride + j * b.col_stride);
      char* to = static_cast<char*>(const_cast<void*>(d.data)) +
                 (i * d.row_stride + j * d.col_stride) * static_cast<std::int64_t>(ggemm_dtype_size(fake.output));
      ggemm_convert(fake.output, to, GGEMM_F64, &sum, 1);
    }
}

template <class T>
T parameter(const fake_launch* launch, int index) {
  T out;
  std::memcpy(&out, launch->parameters[index], sizeof out);
  return out;
}

bool is_grouped(const std::string& kernel) { return kernel.find("grouped") != std::string::npos; }

bool by_tensor_maps(const std::string& kernel) { return kernel.rfind("ggemm_sm90_", 0) == 0; }

// The product that a plain kernel was asked for, as the caller described it.
kernels::GemmParams plain_params(const std::string& kernel, const fake_launch* launch) {
  if (!by_tensor_maps(kernel)) return parameter<kernels::GemmParams>(launch, 0);
  const kernels::GemmParams upright = parameter<kernels::TensorParams>(launch, 0).problem;
  return kernel.find("_swap_") == std::string::npos ? upright : kernels::transposed(upright);
}

void multiply_groups(const Fake& fake, const kernels::GroupedParams& p) {
  for (std::int64_t g = 0; g < p.groups; g++) {
    const kernels::GemmParams group = kernels::group_params(p, g);
    multiply(fake, {group.m, group.n, group.k}, group.a, group.b, group.d);
  }
}

int parameter_sizes(void*, const char* kernel, size_t* sizes) {
  const std::string name = kernel;
  if (name == "ceiling") return sizes[0] = 4, sizes[1] = 8, 2;
  if (name == "flush_read" || name == "copy_vectors") return std::fill(sizes, sizes + 3, 8), 3;
  if (name == "nothing") return sizes[0] = 4, 1;
  return sizes[0] = is_grouped(name) ? sizeof(kernels::GroupedParams) : by_tensor_maps(name) ? sizeof(kernels::TensorParams) : sizeof(kernels::GemmParams), 1;
}

double answer(void* user, const fake_launch* launch) {
  const Fake& fake = *static_cast<Fake*>(user);
  const std::string name = launch->kernel;
  if (name == "ceiling") return 1e3 * fake.ceiling_flops * launch->grid[0] * parameter<int>(launch, 0) / flops_per_second;
  if (name == "copy_vectors") return 1e3 * 2 * 16 * static_cast<double>(parameter<unsigned long long>(launch, 2)) / bytes_per_second;
  if (name == "flush_read") return 0.06;
  if (name == "nothing") return nothing_ms;
  if (is_grouped(name)) return multiply_groups(fake, parameter<kernels::GroupedParams>(launch, 0)), product_ms;
  const kernels::GemmParams p = plain_params(name, launch);
  multiply(fake, {p.m, p.n, p.k}, p.a, p.b, p.d);
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
  fake.wrong = false;
  return &fake;
}

struct Cuda {
  ggemm::tools::Context context;
  std::vector<std::string> notes;
  std::unique_ptr<Runner> runner;

  explicit Cuda(const Fake& fake, bool graph) {
    ggemm::tools::DeviceOptions device;
    device.device = GGEMM_DEVICE_CUDA;
    device.nvrtc = fake.nvrtc;
    context = device.create();
    RunOptions options;
    options.peers = false;
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
  for (const double one : us) CHECK(one == Approx(1e3 * nothing_ms).epsilon(0.05));
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
  for (const double one : us) CHECK(one == Approx(1e3 * nothing_ms).epsilon(0.05));
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
    CHECK(row.ours_us == Approx(1e3 * product_ms).epsilon(0.05));
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
  Cuda cuda(*fake, false);
  for (const char* layout : {"nt", "tn"}) {
    Case one = single_case("shape", "bf16", layout, {});
    one.groups = {{5, 16, 24}, {0, 16, 24}, {40, 16, 8}};
    one.generator = "three";
    const Row row = cuda.runner->run(one);
    CHECK(row.ours_us == Approx(1e3 * product_ms).epsilon(0.05));
    CHECK(row.groups == "three");
    CHECK(row.limit_us);
  }
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
  CHECK(bare >= 4 * 8 * 64);  // four comparisons of eight batches
}
