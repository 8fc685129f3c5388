// SPDX-License-Identifier: Apache-2.0
// A kernel that keeps registers in memory, or whose products ptxas puts one after the other, is slow: the library passes over it by itself, and runs it only for who asks for it by name.
#include "cuda/driver_api.hpp"
#include "fake_nvrtc.hpp"
#include "operands.hpp"

namespace ggemm::tests {
namespace {

using F32 = PlainProblem<float>;

// What the library chooses by itself.
std::string chosen(ggemm_context* context, const ggemm_gemm_desc& desc) {
  ggemm_plan* raw = nullptr;
  const ggemm_status status = ggemm_plan_create(context, &desc, &raw);
  INFO(ggemm_last_error());
  REQUIRE(status == GGEMM_OK);
  const PlanPointer plan(raw, ggemm_plan_destroy);
  ggemm_config config = GGEMM_CONFIG_INIT;
  REQUIRE(ggemm_plan_config(raw, &config) == GGEMM_OK);
  return config.name;
}

// The part of a configuration's name that its kernel's symbol has.
std::string kernel_part(const std::string& config) { return config.substr(0, config.rfind("_r")) + "_"; }

// The first choice of the model on a machine where nothing spills.
std::string first_choice(const std::string& folder) {
  Machine machine;
  const F32 p(GGEMM_F32);
  return chosen(make_context(cuda_options(folder)).get(), p.desc);
}

}  // namespace

TEST_CASE("The model passes over a kernel that spills, says so, and takes the next") {
  nvrtc_or_skip();
  const TempFolder folder;
  const std::string first = first_choice(folder.path());
  Machine machine;
  driver().set_spill(kernel_part(first).c_str(), 24);
  LogLines log;
  {
    const ContextPointer context = make_context(cuda_options(folder.path(), &log));
    F32 p(GGEMM_F32);
    const std::string second = chosen(context.get(), p.desc);
    CHECK(second != first);
    CHECK(log.count(first + " is passed over: this NVRTC keeps 24 bytes a thread of it in memory") == 1);
    REQUIRE(call_and_wait(context, p) == GGEMM_OK);
    const auto launches = driver().all_launches();
    REQUIRE(launches.size() == 1);
    CHECK(std::string(launches[0].kernel).find(kernel_part(second)) != std::string::npos);
  }
  machine.check_clean();
}

TEST_CASE("A kernel whose products NVRTC puts one after the other is passed over, one in the disk cache too, but not where it is forced by name") {
  const TempFolder folder, another;
  std::string first;
  {
    Machine machine;
    const Bytes p;
    first = chosen(make_context(fake_nvrtc_options(another.path())).get(), p.desc);
  }
  REQUIRE(first.starts_with("sm90_"));
  struct Complaint {
    explicit Complaint(const std::string& part) { nvrtc().complain(part.c_str()); }
    ~Complaint() { nvrtc().complain(nullptr); }
  } const complaint(kernel_part(first));
  for (const bool cached : {false, true}) {
    INFO("cached: " << cached);
    Machine machine;
    LogLines log;
    {
      const ContextPointer context = make_context(fake_nvrtc_options(folder.path(), &log, GGEMM_LOG_WARNING));
      const Bytes p;
      const long compiled = nvrtc().calls();
      CHECK(chosen(context.get(), p.desc) != first);
      CHECK(log.count(first + " is passed over: NVRTC 13.0 made it slow: (C7510)") == 2);  // and that for calls by the copy engine alone
      CHECK((nvrtc().calls() == compiled) == cached);
      ggemm_gemm_desc forced = p.desc;
      forced.config = first.c_str();
      CHECK(chosen(context.get(), forced) == first);
      CHECK(log.count("ggemm_" + kernel_part(first) + "i32: NVRTC 13.0 made it slow: (C7510)") == 1);
    }
    machine.check_clean();
  }
}

TEST_CASE("A kernel that spills runs when it is forced by name, with a warning in the log") {
  nvrtc_or_skip();
  const TempFolder folder;
  const std::string first = first_choice(folder.path());
  Machine machine;
  driver().set_spill(kernel_part(first).c_str(), 24);
  LogLines log;
  {
    const ContextPointer context = make_context(cuda_options(folder.path(), &log));
    F32 p(GGEMM_F32);
    p.desc.config = first.c_str();
    REQUIRE(call_and_wait(context, p) == GGEMM_OK);
    const auto launches = driver().all_launches();
    REQUIRE(launches.size() == 1);
    const std::string kernel = launches[0].kernel;
    CHECK(kernel.find(kernel_part(first)) != std::string::npos);
    CHECK(log.count(kernel + " uses 24 bytes of local memory a thread") == 1);
    CHECK(log.count(first + " is passed over") == 0);
  }
  machine.check_clean();
}

TEST_CASE("Where all that is tried of a family spills, another family's kernel runs") {
  nvrtc_or_skip();
  const TempFolder folder;
  Machine machine;
  driver().set_spill("ggemm_gemv_", 8);
  driver().set_attribute(0, static_cast<int>(cuda::cu::DeviceAttribute::single_to_double_ratio), 64);  // so that no kernel by f64's tensor cores is among the first eight
  LogLines log;
  {
    const ContextPointer context = make_context(cuda_options(folder.path(), &log));
    F32 p(GGEMM_F32);
    REQUIRE(call_and_wait(context, p) == GGEMM_OK);
    REQUIRE(driver().launches() == 1);
    CHECK(std::string(driver().all_launches()[0].kernel).find("ggemm_gemv_") == std::string::npos);
    CHECK(log.count("gemv_") == 8);  // passed over
  }
  machine.check_clean();
}

TEST_CASE("Where every kernel that is tried spills, the call fails with the bytes, and nothing is launched") {
  nvrtc_or_skip();
  const TempFolder folder;
  Machine machine;
  driver().set_kernel_resources(255, 0, 40);
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    F32 p(GGEMM_F32);
    CHECK(call_and_wait(context, p) == GGEMM_ERROR_COMPILE);
    check_sentence({"40 bytes a thread", "registers"});
    CHECK(driver().launches() == 0);
  }
  machine.check_clean();
}

TEST_CASE("A plan of whose two kernels the one for calls by the copy engine alone spills has the other for all calls, and is what it says that it is") {
  nvrtc_or_skip();
  const TempFolder folder;
  std::string first;
  {
    Machine machine;
    const Bytes p;
    first = chosen(make_context(cuda_options(folder.path())).get(), p.desc);
  }
  REQUIRE(first.starts_with("sm90_"));
  // The first choice's alone, so that another configuration's would be had; or all.
  for (const std::string& spills : {kernel_part(first) + "i32_by_engine", std::string("_by_engine")}) {
    INFO(spills);
    Machine machine;
    driver().set_spill(spills.c_str(), 24);
    {
      const ContextPointer context = make_context(cuda_options(folder.path()));
      const Bytes p;
      ggemm_plan* raw = nullptr;
      REQUIRE(ggemm_plan_create(context.get(), &p.desc, &raw) == GGEMM_OK);
      const PlanPointer plan(raw, ggemm_plan_destroy);
      ggemm_config config = GGEMM_CONFIG_INIT;
      REQUIRE(ggemm_plan_config(raw, &config) == GGEMM_OK);
      CHECK(config.name == first);
      REQUIRE(ggemm_plan_run(raw, &p.args, nullptr) == GGEMM_OK);
      CHECK(p.right());
      CHECK(std::string(driver().all_launches().back().kernel) == "ggemm_" + kernel_part(first) + "i32");
    }
    machine.check_clean();
  }
}

TEST_CASE("A kernel that spills cannot win a tuning, however fast") {
  nvrtc_or_skip();
  const TempFolder folder;
  Machine machine;
  const char* names[] = {"simt_f32_f32_f32_tt_64x64x16_w2x2_s2_r1", "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1"};
  driver().set_spill(kernel_part(names[0]).c_str(), 8);
  machine.set_time(kernel_part(names[0]), 0.01);
  {
    const ContextPointer context = make_context(cuda_options(folder.path()));
    F32 p(GGEMM_F32);
    const ggemm_problem problem{&p.desc, nullptr};
    std::string rejected[2];
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.configs = names;
    options.config_count = 2;
    options.user = rejected;
    options.function = [](void* user, const ggemm_tune_row* row) -> std::int32_t {
      static_cast<std::string*>(user)[row->index] = row->rejected ? row->rejected : "";
      return 0;
    };
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    REQUIRE(ggemm_tune(context.get(), &problem, &options, &result) == GGEMM_OK);
    CHECK(std::string(result.best) == names[1]);
    CHECK((result.timed == 1 && result.rejected == 1));
    CHECK(rejected[0].find("8 bytes a thread") != std::string::npos);
    CHECK(rejected[1] == "");
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
