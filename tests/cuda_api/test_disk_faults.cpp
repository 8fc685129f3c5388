// SPDX-License-Identifier: Apache-2.0
// Products while the disk fails: whatever the cache of kernels and records meets, D is right and the call succeeds; it is slower at most.
#include <cstring>
#include <iterator>
#include <string>

#include "cuda/driver_api.hpp"
#include "fake_nvrtc.hpp"
#include "support/disk_faults.hpp"

namespace ggemm::tests {
namespace {

constexpr const char* tuned_config = "simt_f32_f32_f32_tt_128x64x16_w4x2_s2_r1";  // which the model would not take for so small a product
constexpr const char* tuned_kernel = "ggemm_simt_f32_f32_f32_tt_128x64x16_w4x2_s2_f32";
constexpr const char* copied_config = "sm90_tf32_tf32_f32_tt_64x64x32_w4x1_s2_c1x1_r1";

// Of a context that keeps what it makes in this folder.
class Life {
 public:
  explicit Life(const std::string& folder) : folder_(folder) {
    // So that a tuning neither rests, nor repeats more than it must, nor fills memory of four times L2.
    machine_.set_time("ggemm", 0.25);
    driver().set_attribute(0, static_cast<int>(cuda::cu::DeviceAttribute::l2_cache_size), 1 << 18);
    ggemm_context_options options = fake_nvrtc_options(folder_);
    options.log = LogLines::receive, options.log_user = &log_, options.log_level = GGEMM_LOG_INFO;
    context_ = make_context(options);
  }
  ~Life() {
    context_.reset();
    machine_.check_clean();
  }
  // A call of the library's own choice asks for a record and a kernel, one whose operands are copied for two kernels.
  void call() {
    CHECK(call_and_wait(context_, own_) == GGEMM_OK);
    PlainProblem<float> copied(GGEMM_F32);
    copied.desc.compute = GGEMM_COMPUTE_TF32, copied.desc.config = copied_config;
    CHECK(call_and_wait(context_, copied) == GGEMM_OK);
  }
  // Whether or not the record is kept, this context has it.
  void tune() {
    const ggemm_problem problem{&own_.desc, nullptr};
    ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
    options.budget_seconds = 0.001;
    options.configs = &tuned_config, options.config_count = 1;
    REQUIRE(ggemm_tune(context_.get(), &problem, &options, nullptr) == GGEMM_OK);
    REQUIRE(call_and_wait(context_, own_) == GGEMM_OK);
    CHECK(driver().all_launches().back().kernel == std::string(tuned_kernel));
  }
  int count(const std::string& line) { return log_.count(line); }

 private:
  std::string folder_;
  Machine machine_;
  LogLines log_;
  ContextPointer context_{nullptr, ggemm_context_destroy};
  PlainProblem<float> own_{GGEMM_F32};
};

void call(const std::string& folder) { Life(folder).call(); }
void tune(const std::string& folder) { Life(folder).tune(); }

// Without faults: what another context would have kept is there. tuned: the record too, which decides.
void check_kept(const std::string& folder, bool tuned) {
  Life life(folder);
  life.call();
  CHECK(life.count("compiled ") == 0);
  CHECK(life.count("loaded ") == 3);
  CHECK(life.count(std::string("loaded ") + tuned_kernel + " in") == tuned);
}

// The system calls of what a context does there.
int calls_of(void (*act)(const std::string&), const std::string& folder) {
  const DiskFaults none(0, 0, 0);
  act(folder);
  return DiskFaults::calls();
}

std::string told(int first, int count, int error) {
  return std::string("error ") + std::strerror(error) + " at call " + std::to_string(first) + (count == 1 ? "" : " and all later ones");
}

constexpr int for_ever = 1 << 30;

template <class Play>
void for_each_fault(int calls, Play play) {
  for (const int error : disk_errors)
    for (const int count : {1, for_ever})
      for (int first = 0; first < calls; ++first) {
        INFO(told(first, count, error));
        play(first, count, error);
      }
}

}  // namespace

TEST_CASE("Any system call of an empty cache may fail, once or from then on: every product is right, and the next context finds or makes all") {
  int calls = 0;
  {
    const TempFolder parent(Where::memory);
    calls = calls_of(call, parent / "cache");
    check_kept(parent / "cache", false);
  }
  REQUIRE(calls > 40);
  for_each_fault(calls, [](int first, int count, int error) {
    const TempFolder parent(Where::memory);
    {
      const DiskFaults faults(first, count, error);
      call(parent / "cache");
    }
    call(parent / "cache");
    check_kept(parent / "cache", false);
  });
}

TEST_CASE("Any system call of a cache that has everything may fail, once or from then on: every product is right, and nothing is lost") {
  const TempFolder parent(Where::memory);
  tune(parent / "cache");
  call(parent / "cache");
  const int calls = calls_of(call, parent / "cache");
  REQUIRE(calls > 20);
  for_each_fault(calls, [&](int first, int count, int error) {
    {
      const DiskFaults faults(first, count, error);
      call(parent / "cache");
    }
    check_kept(parent / "cache", true);
  });
}

TEST_CASE("Any system call may fail while a problem is tuned: its context has the record, and every product is right then and later") {
  int calls = 0;
  {
    const TempFolder parent(Where::memory);
    calls = calls_of(tune, parent / "cache");
  }
  REQUIRE(calls > 40);
  for (const int count : {1, for_ever})
    for (int first = 0; first < calls; ++first) {
      const int error = disk_errors[first % std::size(disk_errors)];  // a tuning takes too long to have each error at each call
      INFO(told(first, count, error));
      const TempFolder parent(Where::memory);
      {
        const DiskFaults faults(first, count, error);
        tune(parent / "cache");
      }
      call(parent / "cache");
    }
}

TEST_CASE("Short reads and writes of the cache change no product and lose nothing; a file that ends while it is read is a miss") {
  for (const std::size_t transfer : {1u, 7u, 100u}) {
    INFO(transfer << " bytes at most");
    const TempFolder parent(Where::memory);
    const DiskFaults faults(0, 0, 0, transfer);
    tune(parent / "cache");
    call(parent / "cache");
    check_kept(parent / "cache", true);
  }
  const TempFolder parent(Where::memory);
  tune(parent / "cache");
  call(parent / "cache");
  core::io::set_fault([](const char*, std::size_t* bytes) { return *bytes = 0, 0; });
  call(parent / "cache");
  core::io::set_fault(nullptr);
  check_kept(parent / "cache", true);
}

}  // namespace ggemm::tests
