// SPDX-License-Identifier: Apache-2.0
// First calls of several threads: one shape is compiled once, and while it is, no other shape waits for it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <list>
#include <thread>

#include "fake_nvrtc.hpp"
#include "operands.hpp"

namespace ggemm::tests {
namespace {

using F32 = PlainProblem<float>;

constexpr const char* held_config = "simt_f32_f32_f32_tt_64x64x16_w2x2_s2_r1";
constexpr const char* held_kernel = "ggemm_simt_f32_f32_f32_tt_64x64x16_w2x2_s2_f32";
constexpr const char* other_config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1";

// Far more than anything here takes: who waits so long is held up.
constexpr std::chrono::seconds patience{30};

// Compiles of the held kernel wait as long as it lives, in whichever way that ends.
class HeldCompiles {
 public:
  HeldCompiles() { nvrtc().hold(held_kernel); }
  ~HeldCompiles() { nvrtc().hold(nullptr); }
  HeldCompiles(const HeldCompiles&) = delete;
};

bool become(const std::function<bool()>& what) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!what() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return what();
}

bool all_are(const std::vector<float>& values, float expected) { return values == std::vector<float>(values.size(), expected); }

// What others do meanwhile: each must be right, and come back.
struct Other {
  const char* name;
  std::function<bool(ggemm_context*)> act;
};

bool plain_works(ggemm_context* context, const char* config) {
  F32 p(GGEMM_F32);
  p.desc.config = config;
  const bool ok = ggemm_gemm(context, &p.desc, &p.args, nullptr) == GGEMM_OK;
  driver().wait();
  return ok && all_are(p.d, 12);
}

const Other others[] = {
    {"a first call of another configuration", [](ggemm_context* context) { return plain_works(context, other_config); }},
    {"a warm call", [](ggemm_context* context) { return plain_works(context, other_config); }},
    {"a first grouped call",
     [](ggemm_context* context) {
       GroupedProblem g;
       g.desc.config = other_config;
       const bool ok = ggemm_grouped_gemm(context, &g.desc, &g.args, nullptr) == GGEMM_OK;
       driver().wait();
       return ok && all_are(g.d, 10);
     }},
    {"a first call of the library's own choice that has copies of operands",
     [](ggemm_context* context) {
       const auto p = std::make_unique<Bytes>(nullptr, 1);
       return ggemm_gemm(context, &p->desc, &p->args, nullptr) == GGEMM_OK && p->right();
     }},
    {"preparing another problem, with another thread for its second kernel",
     [](ggemm_context* context) {
       const auto p = std::make_unique<Bytes>("sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c2x1_k3_r1");
       const ggemm_problem problem{&p->desc, nullptr};
       return ggemm_prepare(context, &problem, 1, nullptr, nullptr) == GGEMM_OK;
     }},
    {"tuning another problem",
     [](ggemm_context* context) {
       F32 p(GGEMM_F32);
       const char* names[] = {"simt_f32_f32_f32_tt_128x64x16_w4x2_s2_r1"};
       const ggemm_problem problem{&p.desc, nullptr};
       ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
       options.budget_seconds = 0.001;
       options.configs = names, options.config_count = 1;
       return ggemm_tune(context, &problem, &options, nullptr) == GGEMM_OK;
     }},
    {"a call of another context, which is made first",
     [](ggemm_context*) {
       const std::string no_folder;
       const ggemm_context_options options = fake_nvrtc_options(no_folder);
       ggemm_context* made = nullptr;
       const bool ok = ggemm_context_create(&options, &made) == GGEMM_OK && plain_works(made, other_config);
       ggemm_context_destroy(made);
       return ok;
     }},
};

}  // namespace

TEST_CASE("While a shape is compiled, calls of other shapes compile, load and run; calls of its own wait, and it is compiled once") {
  Machine machine;
  const TempFolder folder;
  LogLines log;
  {
    const ContextPointer context = make_context(fake_nvrtc_options(folder.path(), &log, GGEMM_LOG_INFO));
    std::list<F32> same;
    std::atomic<int> returned = 0, failed = 0;
    std::vector<std::jthread> threads;
    std::future<std::vector<std::string>> wrong;
    {
      const HeldCompiles held;
      for (int i = 0; i < 6; ++i) {
        F32& p = same.emplace_back(GGEMM_F32);
        p.desc.config = held_config;
        p.desc.m = F32::m - i % 2;  // another class of problems that has the same kernel
        threads.emplace_back([&] {
          failed += ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) != GGEMM_OK;
          ++returned;
        });
      }
      CHECK(become([] { return nvrtc().held() == 1; }));
      wrong = std::async(std::launch::async, [&] {
        std::vector<std::string> names;
        for (const Other& other : others)
          if (!other.act(context.get())) names.push_back(other.name);
        return names;
      });
      CHECK(wrong.wait_for(patience) == std::future_status::ready);
      CHECK((nvrtc().held() == 1 && returned == 0));
    }
    CHECK(wrong.get() == std::vector<std::string>());
    threads.clear();
    CHECK(failed == 0);
    driver().wait();
    for (const F32& p : same) CHECK(std::count(p.d.begin(), p.d.end(), 12.0f) == p.desc.m * F32::n);
    CHECK(log.count(std::string("compiled ") + held_kernel + " in") == 1);
  }
  machine.check_clean();
  CHECK(nvrtc().live() == 0);
}

}  // namespace ggemm::tests
