// SPDX-License-Identifier: Apache-2.0
// The benchmark on the host device from end to end, and its kernels through NVRTC.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "bench/ceiling.hpp"
#include "bench/kernels.hpp"
#include "bench/product.hpp"
#include "bench/runner.hpp"
#include "bench/suites.hpp"
#include "common/failure.hpp"
#include "core/error.hpp"
#include "core/library.hpp"
#include "jit/compile.hpp"

using namespace ggemm::bench;

namespace {

struct Host {
  ggemm::tools::Context context;
  ggemm_device_info info;
  std::unique_ptr<Runner> runner;
  std::vector<std::string> notes;

  explicit Host(bool peers) {
    ggemm::tools::DeviceOptions device;
    device.device = GGEMM_DEVICE_HOST;
    device.threads = 2;
    device.cblas = "libopenblas.so.0";  // named, so that it is used however slow
    context = device.create();
    info = ggemm::tools::device_info(context.get());
    RunOptions options;
    options.peers = peers;
    options.protocol.samples = 4;
    options.protocol.rest_s = 0;
    options.note = [this](const std::string& text) { notes.push_back(text); };
    runner = make_host_runner(context.get(), info, options);
  }
};

}  // namespace

TEST_CASE("the host device is timed and checked in every dtype") {
  Host host(false);
  for (const Type& type : types())
    for (const char* layout : {"nt", "tn"}) {
      INFO(type.name << " " << layout);
      const Row row = host.runner->run(single_case("shape", type.name, layout, {33, 17, 40}));
      CHECK(row.ours_us > 0);
      CHECK_FALSE(row.config.empty());
      CHECK_FALSE(row.limit_us);
      CHECK_FALSE(row.ratio);
      CHECK(row.peers.empty());
    }
}

TEST_CASE("grouped cases run on the host device, empty groups included") {
  Host host(false);
  Case one = single_case("shape", "f32", "nt", {});
  one.groups = {{5, 16, 24}, {0, 16, 24}, {40, 16, 24}};
  one.generator = "three";
  const Row row = host.runner->run(one);
  CHECK(row.ours_us > 0);
  CHECK(row.groups == "three");
}

namespace {

Case grouped_case(const char* dtype, const char* layout, Form form, const std::vector<Size>& groups) {
  Case one = single_case("shape", dtype, layout, {});
  one.groups = groups;
  one.generator = "some";
  one.form = form;
  return one;
}

// One case of each form, small.
std::vector<Case> forms() {
  const std::vector<Size> rows{{50, 24, 256}, {0, 24, 256}, {30, 24, 256}};
  std::vector<Case> out{grouped_case("bf16", "nt", Form::masked, rows), grouped_case("bf16", "nt", Form::gathered, rows), grouped_case("bf16", "nt", Form::scattered, rows)};
  out[0].rows = 64, out[1].rows = out[2].rows = 16;
  out.push_back(grouped_case("bf16", "nt", Form::batch, std::vector<Size>(3, {20, 24, 40})));
  out.push_back(grouped_case("bf16", "tn", Form::ragged_k, {{20, 24, 40}, {20, 24, 0}, {20, 24, 7}}));
  out.push_back(out.back());
  out.back().accumulate = true;
  return out;
}

// A product computed and checked; "" if it is right. `described`: as what ggemm is told of it, with the operands of `one`.
std::string checked(const Host& host, const Case& one, const Case& described, bool tuned = false) {
  const std::unique_ptr<ggemm::tools::DeviceMemory> memory = ggemm::tools::DeviceMemory::create(host.info);
  Operands operands(one, *memory, [](void* destination, std::int64_t elements, const Block& block) {
    const size_t size = block.bytes().size() / static_cast<size_t>(block.period());
    for (std::int64_t i = 0; i < elements; i++)
      std::memcpy(static_cast<char*>(destination) + static_cast<size_t>(i) * size, block.bytes().data() + static_cast<size_t>(i % block.period()) * size, size);
  });
  operands.reset(false);
  Product product(host.context.get(), described, operands, "");
  if (tuned) product.tune(0.01);
  product.run(nullptr);
  return operands.check(false);
}

}  // namespace

TEST_CASE("scaled products are right on the host device, and one without its scales is found wrong") {
  Host host(false);
  Case masked = grouped_case("e4m3", "nt", Form::masked, {{50, 132, 300}, {0, 132, 300}, {30, 132, 300}});
  masked.rows = 70;
  for (const Case& unscaled : {single_case("shape", "e4m3", "nt", {133, 150, 300}), single_case("shape", "e4m3", "tn", {60, 150, 256}),
                               grouped_case("e4m3", "nt", Form::own, {{256, 132, 256}, {0, 132, 256}, {77, 132, 256}}), masked})
    for (const Scaling scaling : {Scaling::tensor, Scaling::row, Scaling::block}) {
      const Case one = scaled(unscaled, scaling);
      INFO(one.name << " " << one.layout << " " << scaling_name(scaling) << " " << form_name(one.form));
      CHECK(checked(host, one, one, true) == "");
      CHECK(checked(host, one, unscaled).find("should be") != std::string::npos);
      CHECK(host.runner->run(one).ours_us > 0);
    }
}

TEST_CASE("every form of groups is right on the host device") {
  Host host(false);
  for (const Case& one : forms()) {
    INFO(form_name(one.form) << (one.accumulate ? ", accumulated" : ""));
    CHECK(checked(host, one, one, true) == "");
    CHECK(host.runner->run(one).ours_us > 0);
  }
  // What is told otherwise than it is meant is found: rows left out, a smaller k, nothing added.
  for (Case told : forms()) {
    const Case one = told;
    INFO(form_name(one.form) << (one.accumulate ? ", accumulated" : ""));
    if (one.rows) told.rows = 10;
    else if (one.accumulate) told.accumulate = false;
    else told.groups[0].m--, told.groups[0].k--;
    CHECK(checked(host, one, told) != "");
  }
}

TEST_CASE("CBLAS is timed beside the host device where it is installed") {
  Host host(true);
  if (host.info.blas[0] == 0) SKIP("no CBLAS on this machine");
  for (const char* dtype : {"f32", "f64"})
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      INFO(dtype << " " << layout);
      const Row row = host.runner->run(single_case("shape", dtype, layout, {64, 48, 80}));
      REQUIRE(row.peers.count("cblas") == 1);
      CHECK(row.peers.at("cblas") > 0);
      REQUIRE(row.ratio);
      CHECK(*row.ratio > 0);
    }
}

TEST_CASE("the suite host times a plan and the one call") {
  Host host(false);
  const std::vector<Row> rows = host.runner->host_costs();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == "plan run");
  CHECK(rows[1].name == "one call");
  for (const Row& row : rows) {
    CHECK(row.category == "host");
    CHECK(row.ours_us > 0);
    CHECK(row.ours_us < 10000);
  }
}

TEST_CASE("a configuration that does not exist fails the case with ggemm's sentence") {
  ggemm::tools::DeviceOptions device;
  device.device = GGEMM_DEVICE_HOST;
  const ggemm::tools::Context context = device.create();
  RunOptions options;
  options.config = "no_such_config";
  options.note = [](const std::string&) {};
  const std::unique_ptr<Runner> runner = make_host_runner(context.get(), ggemm::tools::device_info(context.get()), options);
  CHECK_THROWS_AS(runner->run(single_case("shape", "f32", "nt", {8, 8, 8})), ggemm::tools::Failure);
}

TEST_CASE("the benchmark's kernels compile for every architecture that they serve") {
  std::shared_ptr<const ggemm::jit::Nvrtc> nvrtc;
  try {
    nvrtc = ggemm::jit::load_nvrtc(ggemm::core::environment("GGEMM_NVRTC"), 0);
  } catch (const ggemm::core::Error& error) {
    SKIP(error.text());
  }
  const auto compile = [&](const std::string& file, const std::string& kernel, const std::string& arch,
                           const std::vector<std::pair<std::string, std::string>>& defines) {
    INFO(file << " " << kernel << " " << arch);
    const ggemm::jit::Cubin cubin = ggemm::jit::compile(*nvrtc, {kernel, file, defines, arch}, kernel_files(), true);
    CHECK(cubin.bytes.size() > 64);
    CHECK(ggemm::jit::ptxas_complaint(cubin.log) == "");
  };
  for (const char* arch : {"sm_75", "sm_80", "sm_90a"})
    for (const char* kernel : {"flush_read", "copy_vectors", "nothing"}) compile("memory.cu", kernel, arch, {});
  for (const char* arch : {"sm_75", "sm_80", "sm_89", "sm_90a"})
    for (const Type& type : types()) {
      const CeilingKernel ceiling = ceiling_kernel(type.name, arch);
      if (!ceiling.file.empty()) compile(ceiling.file, "ceiling", arch, ceiling.defines);
    }
}
