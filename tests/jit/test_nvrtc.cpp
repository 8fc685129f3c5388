// SPDX-License-Identifier: Apache-2.0
// Finding and opening NVRTC, and each of its calls failing.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/library.hpp"
#include "jit/compile.hpp"
#include "jit_support.hpp"
#include "support/child.hpp"
#include "support/temp_folder.hpp"

using namespace ggemm;
using namespace ggemm::tests;
namespace fs = std::filesystem;

namespace {

std::string load_error(const std::string& path, int driver_version, int compute_capability = 0) {
  return error_of([&] { jit::load_nvrtc(path, driver_version, compute_capability); }, GGEMM_ERROR_COMPILE);
}

std::size_t place(const std::vector<std::string>& list, const std::string& item) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), item) - list.begin());
}

}  // namespace

TEST_CASE("nvrtc: it is opened once, with its version and file") {
  const auto nvrtc = nvrtc_or_skip();
  CHECK(nvrtc->major >= 12);
  CHECK(nvrtc->version == std::to_string(nvrtc->major) + '.' + std::to_string(nvrtc->minor));
  CHECK(fs::exists(nvrtc->path));
  CHECK(nvrtc_or_skip() == nvrtc);
  // A search finds what the process has loaded already.
  CHECK(jit::load_nvrtc("", 0)->path == nvrtc->path);
  const jit::NvrtcReport report = jit::diagnose({nvrtc->path, 0, false});
  CHECK(report.found);
  CHECK(report.version == nvrtc->version);
  CHECK(report.path == nvrtc->path);
  CHECK(report.detail == "");
}

TEST_CASE("nvrtc: one that is newer than the driver is passed over") {
  const auto nvrtc = nvrtc_or_skip();
  const int older_driver = (nvrtc->major - 1) * 1000 + 80;
  for (const std::string& path : {nvrtc->path, std::string()}) {
    const std::string text = load_error(path, older_driver);
    INFO(text);
    CHECK(contains(text, "is newer than the driver, which supports CUDA " + std::to_string(nvrtc->major - 1) + ".8"));
    CHECK(contains(text, "NVRTC " + nvrtc->version));
    CHECK(contains(text, "pip install nvidia-cuda-nvrtc-cu12") == (nvrtc->major == 13));
  }
  CHECK(jit::load_nvrtc(nvrtc->path, nvrtc->major * 1000)->version == nvrtc->version);  // a newer minor version is no matter
}

TEST_CASE("nvrtc: one that does not compile for the device is passed over") {
  const auto nvrtc = nvrtc_or_skip();
  for (const std::string& path : {nvrtc->path, std::string()}) {
    const std::string text = load_error(path, 0, 35);
    INFO(text);
    CHECK(contains(text, "NVRTC " + nvrtc->version + " does not compile for compute capability 3.5\n"));
    CHECK(contains(text, "pip install --upgrade nvidia-cuda-nvrtc` or with the CUDA toolkit (12.3 or newer, and one that knows compute capability 3.5)"));
  }
  for (const int known : {75, 80, 90}) CHECK(jit::load_nvrtc(nvrtc->path, 0, known)->path == nvrtc->path);
}

TEST_CASE("search for nvrtc that compiles for a newer device", "[.]") {
  // In a process of its own, which meets the oldest one first.
  const auto older = jit::load_nvrtc("", 0, 90), newer = jit::load_nvrtc("", 0, 120);
  if (!fs::equivalent(fs::path(older->path).parent_path(), fs::path(variable("CUDA_HOME")) / "lib64")) SKIP("this machine has an NVRTC where the dynamic loader finds it");
  CHECK(fs::equivalent(fs::path(newer->path).parent_path(), fs::path(variable("CUDA_PATH")) / "lib64"));
}

TEST_CASE("nvrtc: the search goes on behind one that does not compile for the device") {
  const auto nvrtc = nvrtc_or_skip();
  if (std::string(GGEMM_OLDEST_NVRTC).empty()) SKIP("needs NVRTC 12.3: configure with -DGGEMM_OLDEST_NVRTC=<its libnvrtc.so.12>");
  try {
    jit::load_nvrtc(nvrtc->path, 0, 120);
  } catch (const core::Error&) {
    SKIP("this machine has an NVRTC that does not know compute capability 12.0");
  }
  TempFolder folder;
  for (const auto& [name, library] : {std::pair{"older", std::string(GGEMM_OLDEST_NVRTC)}, {"newer", nvrtc->path}}) {
    fs::create_directories(folder / name);
    fs::create_directory_symlink(fs::absolute(library).parent_path(), fs::path(folder / name) / "lib64");
  }
  const int result = run_test("search for nvrtc that compiles for a newer device",
                              {{"CUDA_HOME", folder / "older"}, {"CUDA_PATH", folder / "newer"}, {"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}});
  if (result == 4) SKIP("this machine has an NVRTC where the dynamic loader finds it");
  CHECK(result == 0);
}

TEST_CASE("nvrtc: a file that is absent, no library, or another library is refused by name with the way to install it") {
  TempFolder folder;
  std::ofstream(folder / "text.so") << "no library";
  struct Case {
    std::string path, reason;
  };
  for (const Case& one : {Case{folder / "absent.so", "No such file"}, Case{folder / "text.so", ""}, Case{"libm.so.6", "has no nvrtcVersion"}}) {
    const std::string text = load_error(one.path, 0);
    INFO(text);
    CHECK(contains(text, "\n  " + one.path + ": "));
    CHECK(contains(text, one.reason));
    CHECK(contains(text, "pip install nvidia-cuda-nvrtc`"));
    CHECK(contains(text, "GGEMM_NVRTC"));
    const jit::NvrtcReport report = jit::diagnose({one.path, 0, false});
    CHECK_FALSE(report.found);
    CHECK(report.detail == text);
  }
}

TEST_CASE("search for nvrtc without any", "[.]") {
  // In a process of its own, which has none loaded and finds none.
  std::string text;
  try {
    jit::load_nvrtc("", 13000);
    SKIP("this machine has an NVRTC where the dynamic loader finds it");
  } catch (const core::Error& error) {
    CHECK(error.status() == GGEMM_ERROR_COMPILE);
    text = error.text();
  }
  const std::vector<std::string> candidates = jit::nvrtc_candidates();
  REQUIRE(candidates.size() >= 3);
  INFO(text);
  for (const std::string& path : candidates) CHECK(contains(text, "\n  " + path + ": "));
  CHECK(contains(text, variable("CUDA_HOME") + "/lib64/libnvrtc.so.13: "));
}

TEST_CASE("nvrtc: an unsuccessful search lists every path tried") {
  TempFolder folder;
  fs::create_directories(folder / "lib64");
  std::ofstream(folder / "lib64/libnvrtc.so.13") << "no library";
  const int result =
      run_test("search for nvrtc without any", {{"CUDA_HOME", folder.path()}, {"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}, {"CUDA_PATH", ""}});
  if (result == 4) SKIP("this machine has an NVRTC where the dynamic loader finds it");
  CHECK(result == 0);
}

TEST_CASE("open nvrtc without its builtins", "[.]") {
  std::vector<std::string> tried;
  const std::string version = variable("GGEMM_TEST_VERSION"), path = variable("GGEMM_NVRTC");
  if (core::open_library("libnvrtc-builtins.so." + version, tried)) SKIP("this machine has the builtins where the dynamic loader finds them");
  const std::string text = load_error(path, 0);
  INFO(text);
  CHECK(contains(text, path + ": its libnvrtc-builtins.so." + version + " cannot be opened: "));
}

TEST_CASE("nvrtc: one whose builtins are missing is passed over and says which file is missing") {
  const auto nvrtc = nvrtc_or_skip();
  TempFolder folder;
  const std::string lonely = folder / fs::path(nvrtc->path).filename().string();
  fs::create_symlink(fs::absolute(nvrtc->path), lonely);
  const int result = run_test("open nvrtc without its builtins", {{"GGEMM_NVRTC", lonely}, {"GGEMM_TEST_VERSION", nvrtc->version}});
  if (result == 4) SKIP("this machine has the builtins where the dynamic loader finds them");
  CHECK(result == 0);
}

TEST_CASE("print the places to search", "[.]") {
  std::ofstream out(variable("GGEMM_TEST_OUTPUT"));
  for (const std::string& path : jit::nvrtc_candidates()) out << path << '\n';
}

TEST_CASE("nvrtc: the search goes from the loader's names over wheels to toolkits, newest first, and only to folders named in full") {
  TempFolder folder;
  const auto library = [&](const std::string& name) {
    fs::create_directories(fs::path(folder / name).parent_path());
    std::ofstream(folder / name) << "x";
    return folder / name;
  };
  const std::string wheel = library("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const std::string old_wheel = library("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const std::string newer_python = library("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const std::string home = library("home/lib64/libnvrtc.so.13"), home_12 = library("home/lib64/libnvrtc.so.12");
  const std::string path = library("path/lib64/libnvrtc.so.12");
  const auto search = [&](const std::string& venv, const std::string& cuda_home) {
    const std::string output = folder / "output";
    REQUIRE(run_test("print the places to search", {{"GGEMM_TEST_OUTPUT", output},
                                                    {"VIRTUAL_ENV", venv},
                                                    {"CUDA_HOME", cuda_home},
                                                    {"CUDA_PATH", folder / "path"},
                                                    {"CONDA_PREFIX", folder / "no-conda"}}) == 0);
    std::vector<std::string> lines;
    std::ifstream in(output);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  };
  const std::vector<std::string> all = search(folder / "venv", folder / "home");
  const std::vector<std::string> expected = {"libnvrtc.so.13", "libnvrtc.so.12", newer_python, wheel, old_wheel, home, home_12, path};
  REQUIRE(all.size() >= expected.size());
  CHECK(std::vector<std::string>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(expected.size())) == expected);
  for (const std::string& line : search("venv", "")) CHECK((line.starts_with('/') || line.starts_with("libnvrtc.so.")));
  CHECK(place(search("", folder / "home"), home) == 2);
}

namespace {

// An NVRTC whose calls work but for one, which fails with number 9.
struct FakeNvrtc {
  std::string failing;
  int destroyed = 0;
};
FakeNvrtc fake;

int result_of(const char* name) { return fake.failing == name ? 9 : 0; }

jit::Nvrtc make_fake() {
  jit::Nvrtc out;
  out.path = "/fake/libnvrtc.so.13";
  out.version = "13.0";
  out.major = 13;
  out.error_string = [](int result) { return result == 9 ? "FAKE_ERROR_NINE" : "FAKE_SUCCESS"; };
  out.create = [](jit::NvrtcProgram**, const char*, const char*, int, const char* const*, const char* const*) {
    return result_of("nvrtcCreateProgram");
  };
  out.destroy = [](jit::NvrtcProgram**) { return fake.destroyed++, 0; };
  out.compile = [](jit::NvrtcProgram*, int, const char* const*) { return result_of("nvrtcCompileProgram"); };
  out.log_size = [](jit::NvrtcProgram*, std::size_t* bytes) { return *bytes = 5, result_of("nvrtcGetProgramLogSize"); };
  out.log = [](jit::NvrtcProgram*, char* text) { return std::strcpy(text, "log\n"), result_of("nvrtcGetProgramLog"); };
  out.cubin_size = [](jit::NvrtcProgram*, std::size_t* bytes) { return *bytes = fake.failing == "empty" ? 0 : 3, result_of("nvrtcGetCUBINSize"); };
  out.cubin = [](jit::NvrtcProgram*, char* bytes) { return std::memcpy(bytes, "bin", 3), result_of("nvrtcGetCUBIN"); };
  return out;
}

}  // namespace

TEST_CASE("nvrtc: each call may fail and the error names it, and the program is given back") {
  const jit::Nvrtc nvrtc = make_fake();
  const std::vector<jit::EmbeddedFile> files = {{"root.cu", "text"}};
  const jit::Request request{"kernel", "root.cu", {}, "sm_90a"};
  const auto compile = [&](const std::string& failing) {
    fake = {failing, 0};
    return jit::compile(nvrtc, request, files, false);
  };
  const jit::Cubin good = compile("");
  CHECK(good.bytes == "bin");
  CHECK(good.log == "log");
  CHECK(fake.destroyed == 1);
  for (const std::string& call : {std::string("nvrtcCompileProgram"), std::string("nvrtcGetCUBINSize"), std::string("nvrtcGetCUBIN")}) {
    const std::string text = error_of([&] { compile(call); }, GGEMM_ERROR_COMPILE);
    INFO(text);
    CHECK(contains(text, "kernel for sm_90a: " + call + " of NVRTC 13.0 (/fake/libnvrtc.so.13) fails with FAKE_ERROR_NINE"));
    CHECK(contains(text, "\nlog") == (call == "nvrtcCompileProgram"));
    CHECK(fake.destroyed == 1);
  }
  CHECK(contains(error_of([&] { compile("nvrtcCreateProgram"); }, GGEMM_ERROR_COMPILE), "nvrtcCreateProgram"));
  CHECK(fake.destroyed == 0);  // there was nothing to give back
  CHECK(contains(error_of([&] { compile("empty"); }, GGEMM_ERROR_COMPILE), "empty binary"));
  // A log that cannot be had is no reason to fail.
  CHECK(compile("nvrtcGetProgramLogSize").log == "");
  CHECK(compile("nvrtcGetProgramLog").log == "");
}
