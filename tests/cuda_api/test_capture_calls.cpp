// SPDX-License-Identifier: Apache-2.0
// Stream capture through the public interface: nothing is compiled, loaded, allocated or synchronised while it lasts.
#include "machine.hpp"

namespace ggemm::tests {
namespace {

constexpr const char* config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1";

}  // namespace

TEST_CASE("An unprepared call is refused during capture and a prepared one becomes one launch, in every capture mode") {
  nvrtc_or_skip();
  const TempFolder folder;
  for (const int mode : {0, 1, 2}) {
    INFO("capture mode " << mode);
    Machine machine;
    LogLines log;
    {
      Stream stream;
      const ContextPointer context = make_context(cuda_options(folder.path(), &log));
      PlainProblem<float> p(GGEMM_F32);
      p.desc.config = config;
      const ggemm_problem problem{&p.desc, nullptr};
      stream.begin(mode);
      CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_ERROR_NOT_PREPARED);
      check_sentence({"captur", "ggemm_prepare"});
      CHECK(driver().capture_calls() == 0);
      stream.end();
      stream.drop_graph();
      CHECK(p.d_untouched());
      CHECK(log.count("compiled ") + log.count("loaded ") == 0);
      REQUIRE(ggemm_prepare(context.get(), &problem, 1, nullptr, nullptr) == GGEMM_OK);
      const long before = driver().launches();
      stream.begin(mode);
      CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_OK);
      CHECK(driver().capture_calls() == 0);
      stream.end();
      CHECK(driver().launches() == before + 1);
      CHECK(p.d_untouched());
      stream.replay();
      for (const float value : p.d) CHECK(value == 12.0f);
      // The sizes are in the graph, the data is read at each replay.
      std::fill(p.a.begin(), p.a.end(), 2.0f);
      stream.replay();
      for (const float value : p.d) CHECK(value == 24.0f);
      stream.drop_graph();
    }
    machine.check_clean();
  }
}

TEST_CASE("Tuning is refused while a stream that the default stream waits for is captured") {
  nvrtc_or_skip();
  const TempFolder folder;
  for (const int mode : {0, 1, 2}) {
    INFO("capture mode " << mode);
    Machine machine;
    {
      Stream stream;
      const ContextPointer context = make_context(cuda_options(folder.path()));
      PlainProblem<float> p(GGEMM_F32);
      const char* names[] = {config};
      const ggemm_problem problem{&p.desc, nullptr};
      ggemm_tune_options options = GGEMM_TUNE_OPTIONS_INIT;
      options.budget_seconds = 0.01;
      options.configs = names;
      options.config_count = 1;
      stream.begin(mode);
      CHECK(ggemm_tune(context.get(), &problem, &options, nullptr) == GGEMM_ERROR_NOT_PREPARED);
      CHECK(driver().capture_calls() == 0);
      stream.end();
      stream.drop_graph();
      CHECK(ggemm_tune(context.get(), &problem, &options, nullptr) == GGEMM_OK);
    }
    machine.check_clean();
  }
}

TEST_CASE("A captured grouped call reads sizes, strides and addresses at each replay") {
  nvrtc_or_skip();
  const TempFolder folder;
  Machine machine;
  {
    Stream stream;
    const ContextPointer context = make_context(cuda_options(folder.path()));
    GroupedProblem p;
    p.desc.config = config;
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create_grouped(context.get(), &p.desc, &plan) == GGEMM_OK);
    stream.begin(0);
    CHECK(ggemm_plan_run_grouped(plan, &p.args, stream.get()) == GGEMM_OK);
    CHECK(driver().capture_calls() == 0);
    stream.end();
    stream.replay();
    for (const float value : p.d) CHECK(value == 10.0f);
    std::fill(p.d.begin(), p.d.end(), -1.0f);
    p.sizes = {2, 3, 5, 0, 3, 5, 4, 3, 1};
    std::swap(p.d_pointers[0], p.d_pointers[2]);
    stream.replay();
    for (std::size_t i = 0; i < 12; ++i) CHECK(p.d[i] == 2.0f);                       // group 2, k of 1
    for (std::size_t i = 12; i < 24; ++i) CHECK(p.d[i] == -1.0f);                     // empty
    for (std::size_t i = 24; i < 36; ++i) CHECK(p.d[i] == (i < 30 ? 10.0f : -1.0f));  // group 0, 2 rows
    stream.drop_graph();
    ggemm_plan_destroy(plan);
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
