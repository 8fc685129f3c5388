// SPDX-License-Identifier: Apache-2.0
// The scenarios of tests/loader through the C interface. A driver is loaded once a process, so each is a child process: this program with the hidden test.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/fixture.hpp"
#include "support/child.hpp"
#include "support/temp_folder.hpp"

namespace ggemm::tests {
namespace {

ggemm_status open_context(ggemm_context** out) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_CUDA;
  return ggemm_context_create(&options, out);
}

ggemm_status make_plan(ggemm_context* context) {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.n = desc.k = 2;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
  desc.config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1";
  ggemm_plan* plan = nullptr;
  const ggemm_status status = ggemm_plan_create(context, &desc, &plan);
  ggemm_plan_destroy(plan);
  return status;
}

void report(ggemm_status status) { std::ofstream(std::getenv("GGEMM_TEST_OUTPUT")) << ggemm_status_string(status) << '\n' << (status ? ggemm_last_error() : ""); }

std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [name, value] : values)
    for (std::size_t at; (at = text.find('{' + name + '}')) != std::string::npos;) text.replace(at, name.size() + 2, value);
  return text;
}

}  // namespace

TEST_CASE("a step of a loader's scenario", "[.]") {
  const std::string step = std::getenv("GGEMM_TEST_STEP");
  ggemm_context* context = nullptr;
  const ggemm_status status = open_context(&context);
  if (step == "context" || status != GGEMM_OK) report(status);
  else if (step == "plan") report(make_plan(context));
  else if (step == "fork") REQUIRE(wait_for(start_child([&] { return report(open_context(&context)), 0; })) == 0);
  else FAIL("an unknown step: " << step);
  ggemm_context_destroy(context);
}

TEST_CASE("Where the driver or NVRTC is missing or unfit, status and text are those of tests/loader") {
  const TempFolder folder;
  std::filesystem::create_symlink(GGEMM_FAKE_NVRTC, folder / "libnvrtc.so.13");
  std::ofstream(folder / "libcuda.so.1") << "no library";
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  const std::vector<std::pair<std::string, std::string>> values{{"driver", GGEMM_FAKE_DRIVER}, {"nvrtc", GGEMM_FAKE_NVRTC}, {"folder", folder.path()}, {"LD_LIBRARY_PATH", path ? path : ""}};
  const nlohmann::json file = nlohmann::json::parse(std::ifstream(std::string(std::getenv("GGEMM_SOURCE_DIR")) + "/tests/loader/scenarios.json"));
  REQUIRE(file.at("format") == 1);
  for (const auto& scenario : file.at("scenarios")) {
    INFO(scenario.at("name"));
    std::vector<std::pair<std::string, std::string>> environment{{"GGEMM_LIBCUDA", GGEMM_FAKE_DRIVER}, {"GGEMM_NVRTC", GGEMM_FAKE_NVRTC}, {"GGEMM_FAKE_DEVICES", "90"}, {"GGEMM_CACHE_DIR", folder / "cache"},
                                                                 {"GGEMM_TEST_STEP", scenario.at("step")}, {"GGEMM_TEST_OUTPUT", folder / "output"}};
    for (const auto& [name, value] : scenario.at("environment").items()) environment.emplace_back(name, replaced(value, values));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (scenario.at("environment").contains("LD_PRELOAD")) continue;  // a sanitizer's runtime must be the first
#endif
    std::filesystem::remove(folder / "output");
    REQUIRE(run_test("a step of a loader's scenario", environment) == 0);
    std::ifstream output(folder / "output");
    std::string status;
    std::getline(output, status);
    CHECK(status == scenario.at("status"));
    CHECK(std::string(std::istreambuf_iterator<char>(output), {}) == replaced(scenario.at("text"), values));
  }
}

}  // namespace ggemm::tests
