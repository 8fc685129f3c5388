// SPDX-License-Identifier: Apache-2.0
// Finding and loading the driver. A driver is loaded once a process, so each case is a child process: this program again, with the hidden test below.
#include <catch2/catch_test_macros.hpp>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "machine.hpp"

using namespace ggemm;
using namespace ggemm::test;

namespace {

constexpr char probe_mark[] = "PROBE ";
const std::string refused = "GGEMM_ERROR_DEVICE: no CUDA driver with a device was found; tried ";
const std::string fake_refused = refused + GGEMM_FAKE_DRIVER + ": ";

void answer(const std::string& line) { std::printf("%s%s\n", probe_mark, line.c_str()); }

// "opened sm_90a", or the error's status and text.
std::string open_device() {
  try {
    const cuda::Device device(0, nullptr, {});
    return "opened " + device.facts().arch;
  } catch (const core::Error& error) {
    return std::string(ggemm_status_string(error.status())) + ": " + error.text();
  }
}

// A folder that is gone at the end of the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ggemm-loader-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_; }

 private:
  std::string path_;
};

// What the hidden test says in a child process with this environment, a line each.
std::vector<std::string> probe(const std::string& mode, const std::string& environment) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "GGEMM_PROBE=" + mode + " " + environment + " '" + self + "' 'The answer of a child process' 2>&1";
  INFO(command);
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::vector<std::string> lines;
  std::string everything;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe)) {
    const std::string line(buffer);
    everything += line;
    if (line.starts_with(probe_mark)) lines.push_back(line.substr(sizeof probe_mark - 1, line.size() - sizeof probe_mark));
  }
  INFO(everything);
  REQUIRE(pclose(pipe) == 0);
  return lines;
}

// The device opened by a child that is pointed to the fake driver.
std::string opened_with(const std::string& environment) {
  const std::vector<std::string> lines = probe("open", "GGEMM_LIBCUDA='" GGEMM_FAKE_DRIVER "' " + environment);
  REQUIRE(lines.size() == 1);
  return lines[0];
}

}  // namespace

TEST_CASE("The answer of a child process", "[.probe]") {
  const std::string mode = core::text("%s", getenv("GGEMM_PROBE") ? getenv("GGEMM_PROBE") : "");
  if (mode == "open") return answer(open_device());
  if (mode == "diagnose") {
    const cuda::DriverReport report = cuda::diagnose();
    answer(core::text("found %d version %d path %s", report.found, report.version, report.path.c_str()));
    answer("detail " + report.detail);
    for (const auto& entry : report.devices)
      answer(core::text("device %d %s %d %lld", entry.ordinal, entry.name.c_str(), entry.compute_capability, static_cast<long long>(entry.memory_bytes)));
    return;
  }
  if (mode == "again") {
    driver().hide("cuLaunchKernelEx");
    answer(open_device());
    driver().reset();
    return answer(open_device());
  }
  if (mode == "no device after all") {
    REQUIRE(driver().symbol<int(unsigned)>("cuInit")(0) == 0);
    driver().set_devices(nullptr, 0);
    return answer(open_device());
  }
  FAIL("GGEMM_PROBE is not one of the modes: " << mode);
}

TEST_CASE("The driver is found where GGEMM_LIBCUDA says") {
  CHECK(opened_with("") == "opened sm_90a");
  CHECK(opened_with("GGEMM_FAKE_DEVICES=75") == "opened sm_75");
  CHECK(opened_with("GGEMM_FAKE_DEVICES=120,90") == "opened sm_120");
}

TEST_CASE("With no driver the error lists every path and why it is of no use") {
  const Folder folder;
  std::ofstream(folder.path() + "/libcuda.so.1") << "this is no library, and long enough to be taken for one by its size";
  const std::string nowhere = folder.path() + "/nowhere.so";
  const std::vector<std::string> lines = probe("open", "GGEMM_LIBCUDA='" + nowhere + "' LD_LIBRARY_PATH='" + folder.path() + "'");
  REQUIRE(lines.size() == 1);
  INFO(lines[0]);
  CHECK(lines[0].starts_with(refused));
  CHECK(contains(lines[0], nowhere + ": cannot open shared object file"));
  CHECK(contains(lines[0], "; libcuda.so.1: " + folder.path() + "/libcuda.so.1: "));
}

TEST_CASE("A library that is not a driver, or one from before CUDA 12, is passed over with the reason") {
  const Folder folder;
  std::ofstream(folder.path() + "/libcuda.so.1") << "this is no library, and long enough to be taken for one by its size";
  const std::vector<std::string> lines = probe("open", "GGEMM_LIBCUDA=libm.so.6 LD_LIBRARY_PATH='" + folder.path() + "'");
  REQUIRE(lines.size() == 1);
  INFO(lines[0]);
  CHECK(lines[0].starts_with("GGEMM_ERROR_DEVICE: "));
  CHECK(contains(lines[0], "libm.so.6: cuGetProcAddress_v2 is missing; a driver for CUDA 12.0 or newer is needed; "));
}

TEST_CASE("The toolkit's stub is told from a driver") {
  for (const char* rule : {"*:1:34:-1", "cuInit:1:34:-1"}) {
    const std::string line = opened_with(std::string("GGEMM_FAKE_FAIL='") + rule + "'");
    INFO(line);
    CHECK(line.starts_with(fake_refused + "cu"));
    CHECK(contains(line, "this is the CUDA toolkit's stub for linking, not a driver"));
  }
  CHECK(contains(opened_with("GGEMM_FAKE_FAIL=cuInit:1:34:-1"), "cuInit: CUDA_ERROR_STUB_LIBRARY (CUDA driver is a stub library)"));
}

TEST_CASE("A driver without a device is an error that says so") {
  CHECK(opened_with("GGEMM_FAKE_DEVICES=none") ==
        fake_refused + "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)");
  const std::vector<std::string> lines = probe("'no device after all'", "");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == fake_refused + "the driver (CUDA 13.0) has no device");
}

TEST_CASE("Each function that the driver lacks is named") {
  for (const char* function : {"cuInit", "cuGetErrorName", "cuLaunchKernelEx", "cuMemAllocAsync", "cuMemsetD8Async"})
    CHECK(opened_with(std::string("GGEMM_FAKE_HIDE=") + function) ==
          fake_refused + function + " is missing; a driver for CUDA 12.0 or newer is needed");
}

TEST_CASE("Failures while loading carry the driver's words") {
  for (const char* function : {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount"})
    CHECK(opened_with(std::string("GGEMM_FAKE_FAIL=") + function + ":1:803:-1") ==
          fake_refused + function +
              ": CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (system has unsupported display driver / cuda driver combination)");
  // An error of which the driver's tables know nothing.
  CHECK(contains(opened_with("GGEMM_FAKE_FAIL=cuInit:1:12345:-1"), "cuInit: CUDA error 12345"));
}

TEST_CASE("A load that failed is tried again by the next context") {
  const std::vector<std::string> lines = probe("again", "");
  REQUIRE(lines.size() == 2);
  CHECK(contains(lines[0], "cuLaunchKernelEx is missing"));
  CHECK(lines[1] == "opened sm_90a");
}

TEST_CASE("The diagnosis reports the driver and its devices, or why there are none") {
  const std::vector<std::string> found = probe("diagnose", "GGEMM_LIBCUDA='" GGEMM_FAKE_DRIVER "' GGEMM_FAKE_DEVICES=90,86");
  REQUIRE(found.size() == 4);
  CHECK(found[0] == "found 1 version 13000 path " GGEMM_FAKE_DRIVER);
  CHECK(found[1] == "detail ");
  CHECK(found[2] == "device 0 NVIDIA H200 90 150323855360");
  CHECK(found[3] == "device 1 NVIDIA A10 86 23622320128");

  const std::vector<std::string> none = probe("diagnose", "GGEMM_LIBCUDA='" GGEMM_FAKE_DRIVER "' GGEMM_FAKE_DEVICES=none");
  REQUIRE(none.size() == 2);
  CHECK(none[0] == "found 0 version 0 path ");
  CHECK(contains(none[1], "CUDA_ERROR_NO_DEVICE"));
}

TEST_CASE("A child forked after CUDA was initialised is told so, and none of its calls reaches the driver") {
  Machine machine;
  {
    const cuda::Device device(0, nullptr, {});
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      // No Catch2 here: the child only reports by its exit code.
      const auto told = [](auto&& work) {
        try {
          work();
        } catch (const core::Error& error) {
          return error.status() == GGEMM_ERROR_DEVICE && contains(error.text(), "forked after CUDA was initialised");
        }
        return false;
      };
      int trouble = 0;
      if (!told([] { cuda::Device(0, nullptr, {}); })) trouble |= 1;
      if (!told([&] { device.capturing(nullptr); })) trouble |= 2;
      if (!told([&] { cuda::Buffer(device, 16, nullptr); })) trouble |= 4;
      if (cuda::diagnose().found) trouble |= 8;
      device.destroy_stream(const_cast<char*>("any stream"));  // must return, and touch nothing
      _exit(trouble);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK_FALSE(device.capturing(nullptr));  // the parent is as before
  }
  machine.check_clean();
}
