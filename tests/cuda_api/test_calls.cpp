// SPDX-License-Identifier: Apache-2.0
// From a call to a launch: which device, what is compiled and loaded when, and what the kernel is handed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "grouped_call.cuh"
#include "machine.hpp"
#include "params.cuh"

namespace ggemm::tests {
namespace {

constexpr const char* small_tile = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r3";

using F32 = PlainProblem<float>;

bool all_are(const std::vector<float>& values, float expected) {
  return std::all_of(values.begin(), values.end(), [&](float value) { return value == expected; });
}

// The only file of a kind in a cache folder.
std::string cache_file(const std::string& folder) {
  std::string found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) {
      REQUIRE(found.empty());
      found = entry.path();
    }
  REQUIRE_FALSE(found.empty());
  return found;
}

}  // namespace

TEST_CASE("The first call compiles, loads and launches; later ones only launch") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  LogLines log;
  {
    const ContextPointer context = make_context(cuda_options(folder.path(), &log));
    F32 p(GGEMM_F32);
    p.desc.config = small_tile;
    REQUIRE(call_and_wait(context, p) == GGEMM_OK);
    CHECK(log.count("compiled ") == 1);
    CHECK(std::any_of(log.lines.begin(), log.lines.end(), [](const std::string& line) { return line.starts_with("compiled ") && line.find(" ms by NVRTC ") != std::string::npos; }));
    const long loads = driver().calls("cuModuleLoadData");
    CHECK(loads == 1);
    const long before = driver().calls(nullptr), launches = driver().calls("cuLaunchKernelEx");
    CHECK(launches == 1);
    REQUIRE(call_and_wait(context, p) == GGEMM_OK);
    CHECK(driver().calls("cuLaunchKernelEx") == 2);
    CHECK(driver().calls("cuModuleLoadData") == loads);
    CHECK(log.count("compiled ") == 1);
    // A warm call enters the context, launches and leaves it.
    CHECK(driver().calls(nullptr) - before <= 5);
    // Another raster group, other sizes and strides take the same binary.
    p.desc.config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1";
    p.args.m = 3;
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    CHECK(log.count("compiled ") == 1);
  }
  machine.check_clean();
}

TEST_CASE("A kernel in the disk cache is loaded without NVRTC, and a damaged one is made again") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  const auto run_with = [&](const char* nvrtc_path) {
    LogLines log;
    ggemm_context_options options = cuda_options(folder.path(), &log);
    options.nvrtc_path = nvrtc_path;
    const ContextPointer context = make_context(options);
    F32 p(GGEMM_F32);
    p.desc.config = small_tile;
    const ggemm_status status = call_and_wait(context, p);
    return std::tuple(status, log.count("compiled "), log.count("loaded "));
  };
  CHECK(run_with("/nowhere/libnvrtc.so.13") == std::tuple(GGEMM_ERROR_COMPILE, 0, 0));
  check_sentence({"/nowhere/libnvrtc.so.13"});
  CHECK(run_with(nullptr) == std::tuple(GGEMM_OK, 1, 0));
  CHECK(run_with("/nowhere/libnvrtc.so.13") == std::tuple(GGEMM_OK, 0, 1));
  const std::string file = cache_file(folder.path());
  const auto size = std::filesystem::file_size(file);
  for (const auto cut : {std::uintmax_t(0), std::uintmax_t(10), size / 2, size - 1}) {
    INFO("cut to " << cut << " of " << size);
    std::filesystem::resize_file(file, cut);
    CHECK(run_with(nullptr) == std::tuple(GGEMM_OK, 1, 0));
    CHECK(run_with(nullptr) == std::tuple(GGEMM_OK, 0, 1));
  }
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(size / 2));
    const char flipped = static_cast<char>(bytes.get() ^ 0x10);
    bytes.seekp(static_cast<std::streamoff>(size / 2));
    bytes.put(flipped);
  }
  CHECK(run_with(nullptr) == std::tuple(GGEMM_OK, 1, 0));
  CHECK(run_with("/nowhere/libnvrtc.so.13") == std::tuple(GGEMM_OK, 0, 1));
  machine.check_clean();
}

TEST_CASE("A driver that refuses a cached binary does not stop a problem that another kernel serves") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  LogLines log;
  {
    const ContextPointer context = make_context(cuda_options(folder.path(), &log));
    F32 p(GGEMM_F32);
    driver().fail("cuModuleLoadData", 1, 209, 1);
    REQUIRE(call_and_wait(context, p) == GGEMM_OK);
    CHECK(driver().clear_failures() == 1);
  }
  machine.check_clean();
}

TEST_CASE("A plain kernel is handed the problem and a CTA for each tile") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    F32 p(GGEMM_F32);
    std::vector<float> a(100 * 50), b(50 * 70), c(100 * 80), d(100 * 75);
    p.desc.config = small_tile;
    p.desc.m = 100, p.desc.n = 70, p.desc.k = 50;
    p.desc.c.row_stride = 80, p.desc.c.col_stride = 1;
    p.desc.d.row_stride = 75, p.desc.d.col_stride = 1;
    p.desc.epilogue.activation = GGEMM_ACTIVATION_CLAMP;
    p.desc.epilogue.activation_p0 = -3, p.desc.epilogue.activation_p1 = 4;
    p.alpha = 1.5f;
    p.args.a = a.data(), p.args.b = b.data(), p.args.c = c.data(), p.args.d = d.data();
    p.args.alpha = &p.alpha, p.args.beta = &p.beta;
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    const auto launches = driver().all_launches();
    REQUIRE(launches.size() == 1);
    const fake_launch& launch = launches[0];
    CHECK(std::string(launch.kernel) == "ggemm_simt_f32_f32_f32_tt_32x32x16_w2x1_s2_f32_clamp");
    CHECK((launch.grid[0] == 4 * 3 && launch.grid[1] == 1 && launch.grid[2] == 1));
    CHECK((launch.block[0] == 64 && launch.block[1] == 1 && launch.block[2] == 1));
    CHECK(launch.stream == nullptr);
    REQUIRE(launch.parameter_count == 1);
    const auto& g = static_cast<const kernels::PlainParams*>(launch.parameters[0])->problem;
    CHECK((g.m == 100 && g.n == 70 && g.k == 50 && g.raster == 3));
    CHECK((g.a.data == a.data() && g.a.row_stride == 50 && g.a.col_stride == 1));
    CHECK((g.b.data == b.data() && g.b.row_stride == 70 && g.b.col_stride == 1));
    CHECK((g.c.data == c.data() && g.c.row_stride == 80 && g.c.col_stride == 1));
    CHECK((g.d.data == d.data() && g.d.row_stride == 75 && g.d.col_stride == 1));
    CHECK((g.epilogue.alpha.pointer == nullptr && g.epilogue.activation_p0 == -3 && g.epilogue.activation_p1 == 4));
    float alpha = 0;
    std::memcpy(&alpha, &g.epilogue.alpha.bits, sizeof alpha);
    CHECK(alpha == 1.5f);
    // Scalars in device memory are handed on, not read.
    p.desc.epilogue.scalars_on_device = 1;
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    const auto& h = static_cast<const kernels::PlainParams*>(driver().all_launches().at(1).parameters[0])->problem;
    CHECK((h.epilogue.alpha.pointer == &p.alpha && h.epilogue.beta.pointer == &p.beta));
  }
  machine.check_clean();
}

TEST_CASE("A grouped kernel is handed the arrays and as many CTAs as the device holds at once") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
    REQUIRE(ggemm_context_device(context.get(), &info) == GGEMM_OK);
    GroupedProblem p;
    p.desc.config = "simt_f32_f32_f32_tt_64x64x16_w2x2_s2_r2";
    REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    for (const float value : p.d) CHECK(value == 10.0f);
    const auto launches = driver().all_launches();
    REQUIRE(launches.size() == 1);
    CHECK(std::string(launches[0].kernel).ends_with("_grouped"));
    CHECK(launches[0].grid[0] >= static_cast<unsigned>(info.multiprocessors));
    CHECK(launches[0].grid[0] % static_cast<unsigned>(info.multiprocessors) == 0);
    CHECK(launches[0].block[0] == 128);
    const auto& g = *static_cast<const kernels::GroupedParams*>(launches[0].parameters[0]);
    CHECK((g.groups == 3 && g.raster == 2));
    CHECK((g.m.data == &p.sizes[0] && g.m.byte_stride == 12 && g.m.kind == GGEMM_SOURCE_I32));
    CHECK((static_cast<const void*>(g.a.data) == p.a_pointers && static_cast<const void*>(g.d.data) == p.d_pointers));
    CHECK((g.a.row_stride.data == p.lds.data() && g.a.row_stride.kind == GGEMM_SOURCE_I64));
    // The sizes are read when it runs: the same launch after a change.
    p.sizes[0] = 1;
    std::fill(p.d.begin(), p.d.end(), -1.0f);
    REQUIRE(ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    for (std::size_t i = 0; i < 12; ++i) CHECK(p.d[i] == (i < 3 ? 10.0f : -1.0f));
  }
  machine.check_clean();
}

TEST_CASE("Empty products launch nothing, and k of 0 launches") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    F32 p(GGEMM_F32);
    p.desc.config = small_tile;
    p.args.m = 0;
    p.args.a = p.args.b = p.args.d = nullptr;
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    CHECK(driver().launches() == 0);
    p.args.m = GGEMM_AS_DESCRIBED;
    p.args.k = 0;
    p.args.d = p.d.data();
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    CHECK(driver().launches() == 1);
    CHECK(all_are(p.d, 0.0f));
    GroupedProblem g;
    g.desc.groups = 0;
    CHECK(ggemm_grouped_gemm(context.get(), &g.desc, &g.args, nullptr) == GGEMM_OK);
    driver().wait();
    CHECK(driver().launches() == 1);
  }
  machine.check_clean();
}

TEST_CASE("Threads that ask for one kernel at once compile and load it once") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  LogLines log;
  {
    const ContextPointer context = make_context(cuda_options(folder.path(), &log));
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        F32 p(GGEMM_F32);
        p.desc.config = small_tile;
        if (ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) != GGEMM_OK) return;
        driver().wait();
        if (all_are(p.d, 12.0f)) ++right;
      });
    for (std::thread& t : threads) t.join();
    CHECK(right == 8);
    CHECK(log.count("compiled ") == 1);
    CHECK(driver().calls("cuModuleLoadData") == 1);
  }
  machine.check_clean();
}

TEST_CASE("The best device is the GPU if there is one, else the host; a GPU that is demanded and missing is an error") {
  const TempFolder folder;
  ggemm_context_options options = cuda_options(folder.path());
  options.device = GGEMM_DEVICE_BEST;
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  {
    Machine machine;
    {
      const ContextPointer context = make_context(options);
      REQUIRE(ggemm_context_device(context.get(), &info) == GGEMM_OK);
      CHECK((info.kind == GGEMM_DEVICE_CUDA && info.compute_capability == 90 && std::string(info.arch) == "sm_90a"));
      CHECK((info.multiprocessors > 0 && info.memory_bytes > 0 && info.l2_bytes > 0 && info.shared_memory_bytes > 48 * 1024 &&
             info.driver_version == 13000));
    }
    machine.check_clean();
  }
  Machine machine;
  REQUIRE(driver().set_devices(nullptr, 0));
  {
    const ContextPointer context = make_context(options);
    REQUIRE(ggemm_context_device(context.get(), &info) == GGEMM_OK);
    CHECK(info.kind == GGEMM_DEVICE_HOST);
  }
  options.device = GGEMM_DEVICE_CUDA;
  ggemm_context* context = nullptr;
  CHECK(ggemm_context_create(&options, &context) == GGEMM_ERROR_DEVICE);
  CHECK(context == nullptr);
  CHECK(std::string(ggemm_last_error()).size() > 10);
  machine.check_clean();
}

TEST_CASE("An ordinal beyond the last device is named with the number of devices") {
  Machine machine({90, 80});
  const std::string no_folder;
  ggemm_context_options options = cuda_options(no_folder);
  options.ordinal = 2;
  ggemm_context* context = nullptr;
  CHECK(ggemm_context_create(&options, &context) == GGEMM_ERROR_DEVICE);
  check_sentence({"2"});
  options.ordinal = 1;
  {
    const ContextPointer second = make_context(options);
    ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
    REQUIRE(ggemm_context_device(second.get(), &info) == GGEMM_OK);
    CHECK((info.ordinal == 1 && info.compute_capability == 80 && std::string(info.arch) == "sm_80"));
  }
  machine.check_clean();
}

TEST_CASE("Tuning times candidates, keeps the fastest, and later calls and contexts use it") {
  nvrtc_or_skip();
  Machine machine;
  machine.set_time("_32x32x16_", 0.25);
  const TempFolder folder;
  F32 p(GGEMM_F32);
  const ggemm_problem problem{&p.desc, nullptr};
  const char* names[] = {"simt_f32_f32_f32_tt_64x64x16_w2x2_s2_r1", small_tile};
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.configs = names;
    options.config_count = 2;
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    const ggemm_status status = ggemm_tune(context.get(), &problem, &options, &result);
    INFO(ggemm_last_error());
    REQUIRE(status == GGEMM_OK);
    CHECK(std::string(result.best) == small_tile);
    CHECK(result.timed == 2);
    CHECK(std::string(result.first) == names[0]);
    CHECK(result.first_microseconds > result.microseconds);
  }
  const ContextPointer later = make_context(cuda_options(folder.path()));
  ggemm_plan* raw = nullptr;
  REQUIRE(ggemm_plan_create(later.get(), &p.desc, &raw) == GGEMM_OK);
  ggemm_config config = GGEMM_CONFIG_INIT;
  CHECK(ggemm_plan_config(raw, &config) == GGEMM_OK);
  CHECK(std::string(config.name) == small_tile);
  std::string text(4096, '\0');
  CHECK(ggemm_plan_explain(raw, text.data(), text.size(), nullptr) == GGEMM_OK);
  for (const char* part : {"tuned", "registers", "shared memory", "\ntuning key: NVIDIA H200 | sm_90a | "}) CHECK(text.find(part) != std::string::npos);
  ggemm_plan_destroy(raw);
  CHECK(machine.faults() == "");
}

// Of one candidate.
static ggemm_status tune_small_tile(ggemm_context* context) {
  F32 p(GGEMM_F32);
  const char* names[] = {small_tile};
  const ggemm_problem problem{&p.desc, nullptr};
  ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
  options.configs = names;
  options.config_count = 1;
  return ggemm_tune(context, &problem, &options, nullptr);
}

TEST_CASE("Tuning times each launch behind one that is given four times L2 to read, and stays within some milliseconds a round") {
  nvrtc_or_skip();
  Machine machine;
  machine.set_time("_32x32x16_", 60.0);
  const TempFolder folder;
  const ContextPointer context = make_context(cuda_options(folder.path()));
  REQUIRE(tune_small_tile(context.get()) == GGEMM_OK);
  constexpr std::int64_t l2_bytes = 60 << 20;
  int products = 0, flushes = 0;
  std::string before;
  for (const fake_launch& launch : driver().all_launches()) {
    const std::string kernel = launch.kernel;
    if (kernel == "ggemm_flush") {
      ++flushes;
      CHECK(static_cast<const kernels::FlushParams*>(launch.parameters[0])->vectors * 16 == 4 * l2_bytes);
    } else {
      CHECK(kernel.find("_32x32x16_") != std::string::npos);
      CHECK((products == 0) == (before != "ggemm_flush"));  // the first is the one that is verified
      ++products;
    }
    before = kernel;
  }
  // One launch of 60 ms brings the device to its clock, and does not count. Then one fills a round by itself: three rounds.
  CHECK(flushes == 4);
  CHECK(products == 5);
  CHECK(machine.faults() == "");
}

TEST_CASE("A tuning that finds no memory says so and leaves nothing behind") {
  nvrtc_or_skip();
  Machine machine;
  const TempFolder folder;
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    driver().set_memory_limit(0, 100);
    CHECK(tune_small_tile(context.get()) == GGEMM_ERROR_OUT_OF_MEMORY);
    CHECK(driver().live("allocation") == 0);
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
