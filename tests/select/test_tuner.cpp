// SPDX-License-Identifier: Apache-2.0
#include "select/tuner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "core/problem_support.hpp"
#include "devices.hpp"
#include "support/errors.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using core::Config;

namespace {

// Candidate i is told by its raster group.
Config candidate(int i) { return tile(core::Family::sm80, 64, 64, 32, 2, 2, 4, i + 1); }
std::vector<Config> candidates(int count) {
  std::vector<Config> out;
  for (int i = 0; i < count; ++i) out.push_back(candidate(i));
  return out;
}

enum class At { load, verify, time };

// Answers from a script and keeps what it was asked.
class FakeRunner final : public select::Runner {
 public:
  struct Script {
    std::vector<double> times;  // of successive rounds; the last one is repeated
    std::string wrong;          // what verify says
    ggemm_status fails = GGEMM_OK;
    At at = At::load;
    int in_round = 0;           // of `time`
  };
  explicit FakeRunner(std::vector<Script> scripts) : scripts_(std::move(scripts)) {}

  void load(const Config& config) override {
    note("load", config);
    fail_at(At::load, config);
  }
  std::string verify(const Config& config) override {
    note("verify", config);
    fail_at(At::verify, config);
    return script(config).wrong;
  }
  double time(const Config& config) override {
    if (slow_.count() > 0) std::this_thread::sleep_for(slow_);
    note("time", config);
    const std::size_t round = static_cast<std::size_t>(timed_[config.raster - 1]++);
    if (static_cast<int>(round) == script(config).in_round) fail_at(At::time, config);
    const std::vector<double>& times = script(config).times;
    return times[std::min(round, times.size() - 1)];
  }

  void make_slow(std::chrono::milliseconds time) { slow_ = time; }
  int timed(int i) const { return timed_.count(i) ? timed_.at(i) : 0; }
  std::vector<std::string> calls;  // "load 0", "time 2"

 private:
  const Script& script(const Config& config) const { return scripts_.at(static_cast<std::size_t>(config.raster - 1)); }
  void note(const char* what, const Config& config) { calls.push_back(what + std::string(" ") + std::to_string(config.raster - 1)); }
  void fail_at(At at, const Config& config) const {
    if (script(config).fails != GGEMM_OK && script(config).at == at) core::fail(script(config).fails, "candidate %d fails", config.raster - 1);
  }

  std::vector<Script> scripts_;
  std::map<int, int> timed_;
  std::chrono::milliseconds slow_{0};
};
using Script = FakeRunner::Script;

constexpr double plenty = 1e6;  // seconds

select::TuneOutcome tune(FakeRunner& runner, int count, double budget = plenty, const select::TuneProgress& progress = {}) { return select::tune(candidates(count), runner, budget, progress); }

}  // namespace

TEST_CASE("tuner: what is measured are twelve kernels, of which none does what another does, and some with other raster groups") {
  core::ProblemType type = type_of(GGEMM_BF16);
  int tails = 0;
  for (const bool grouped : {false, true}) {
    type.grouped = grouped ? core::grouped_call : 0;
    for (const select::Sizes& sizes : {select::Sizes{grouped ? 32 : 1, 1024, 4096, 7168}, select::Sizes{grouped ? 32 : 1, 64, 4096, 7168}, select::Sizes{1, 2048, 2112, 7168}}) {
      const std::vector<core::Config> found = select::candidates(select::rank(type, sizes, device(90)), sizes);
      std::set<std::string> kernels, names;
      int larger = 0;
      for (const core::Config& config : found) {
        kernels.insert(core::kernel_name(type, config)), names.insert(core::config_name(type, config));
        larger += config.large_above != 0, tails += config.slices == core::tail_slices;
      }
      CHECK(names.size() == found.size());
      CHECK((kernels.size() <= 12 && kernels.size() >= 8 && found.size() > kernels.size()));
      // Of groups that are nearly all large those are left out that have small tiles for the others.
      CHECK((larger == 0) == (!grouped || sizes.m > 96));
    }
  }
  CHECK(tails > 0);
}

TEST_CASE("tuner: a sample has the mean's rows, and the largest group what it is said to have of them") {
  const auto sample = [](std::int64_t groups, std::int64_t m, std::int64_t largest) {
    std::int64_t rows = 0, most = 0;
    const std::vector<select::Sizes> out = select::sample_of({groups, m, 300, 400}, largest);
    for (const select::Sizes& s : out) {
      rows += s.m, most = std::max(most, s.m);
      CHECK((s.groups == 1 && s.n == 300 && s.k == 400 && s.m >= 0));
    }
    CHECK(rows == m * static_cast<std::int64_t>(out.size()));
    return std::pair(out.size(), most);
  };
  CHECK(sample(32, 100, 0) == std::pair<std::size_t, std::int64_t>(32, 100));
  CHECK(sample(32, 100, 100) == std::pair<std::size_t, std::int64_t>(32, 100));
  CHECK(sample(33, 100, 1700) == std::pair<std::size_t, std::int64_t>(33, 1700));
  CHECK(sample(33, 100, 3300) == std::pair<std::size_t, std::int64_t>(33, 3300));
  CHECK(sample(33, 100, 99999) == std::pair<std::size_t, std::int64_t>(33, 3300));
  CHECK(sample(1, 100, 99999) == std::pair<std::size_t, std::int64_t>(1, 100));
  CHECK(sample(0, 100, 50).first == 0);
  CHECK(sample(1000, 8, 8000) == std::pair<std::size_t, std::int64_t>(256, 2048));
}

TEST_CASE("tuner: the fastest wins, and each row has its candidate and its time") {
  FakeRunner runner({{{30}, ""}, {{20}, ""}, {{40}, ""}});
  const select::TuneOutcome out = tune(runner, 3);
  CHECK(out.best == 1);
  CHECK_FALSE(out.stopped);
  REQUIRE(out.rows.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(out.rows[static_cast<std::size_t>(i)].config == candidate(i));
    CHECK(out.rows[static_cast<std::size_t>(i)].rejected == "");
  }
  CHECK(out.rows[0].microseconds == 30);
  CHECK(out.rows[1].microseconds == 20);
  CHECK(out.rows[2].microseconds == 40);
}

TEST_CASE("tuner: each candidate is loaded, then verified, then timed") {
  FakeRunner runner({{{10}, ""}, {{100}, ""}});
  tune(runner, 2);
  const std::vector<std::string> expected = {"load 0", "verify 0", "time 0", "load 1", "verify 1", "time 1", "time 0", "time 0"};
  CHECK(runner.calls == expected);
}

TEST_CASE("tuner: a wrong result cannot win, however fast") {
  FakeRunner runner({{{30}, ""}, {{1}, "d[3,4] is 7, not 8"}, {{25}, ""}});
  const select::TuneOutcome out = tune(runner, 3);
  CHECK(out.best == 2);
  CHECK(out.rows[1].rejected == "d[3,4] is 7, not 8");
  CHECK(out.rows[1].microseconds == 0);
  CHECK(runner.timed(1) == 0);
}

TEST_CASE("tuner: there is no winner among none, and none where all are wrong") {
  FakeRunner none({});
  CHECK(tune(none, 0).best == -1);
  CHECK(tune(none, 0).rows.empty());
  FakeRunner wrong({{{1}, "wrong"}, {{2}, "wrong too"}});
  const select::TuneOutcome out = tune(wrong, 2);
  CHECK(out.best == -1);
  CHECK(out.rows.size() == 2);
  CHECK(out.rows[1].rejected == "wrong too");
}

TEST_CASE("tuner: a candidate that cannot be compiled, launched or served is recorded with its error, and the others go on") {
  for (const ggemm_status status : {GGEMM_ERROR_COMPILE, GGEMM_ERROR_LAUNCH, GGEMM_ERROR_UNSUPPORTED}) {
    for (const At at : {At::load, At::verify, At::time}) {
      INFO(ggemm_status_string(status) << " at " << static_cast<int>(at));
      FakeRunner runner({{{1}, "", status, at}, {{50}, ""}});
      const select::TuneOutcome out = tune(runner, 2);
      CHECK(out.best == 1);
      CHECK(out.first == 1);
      CHECK(out.rows[0].rejected == "candidate 0 fails");
      CHECK(out.rows[0].microseconds == 0);
    }
  }
}

TEST_CASE("tuner: a candidate that fails when it is timed once more drops out with its error, is told of again, and the others go on") {
  for (const ggemm_status status : {GGEMM_ERROR_COMPILE, GGEMM_ERROR_LAUNCH, GGEMM_ERROR_UNSUPPORTED}) {
    for (const int round : {1, 2}) {
      INFO(ggemm_status_string(status) << " in round " << round);
      FakeRunner runner({{{52}, ""}, {{50}, "", status, At::time, round}, {{54}, ""}});
      std::vector<std::string> told;
      const select::TuneOutcome out = tune(runner, 3, plenty, [&](std::size_t index, std::size_t total, const select::TuneRow& row) {
        told.push_back(std::to_string(index) + " of " + std::to_string(total) + " " + std::to_string(static_cast<int>(row.microseconds)) + " " + row.rejected);
        return true;
      });
      CHECK(out.best == 0);
      CHECK_FALSE(out.stopped);
      CHECK(out.rows[1].rejected == "candidate 1 fails");
      CHECK(out.rows[1].microseconds == 0);
      CHECK(runner.timed(0) == 3);
      CHECK(runner.timed(1) == round + 1);
      CHECK(runner.timed(2) == 3);
      const std::vector<std::string> expected = {"0 of 3 52 ", "1 of 3 50 ", "2 of 3 54 ", "1 of 3 0 candidate 1 fails"};
      CHECK(told == expected);
    }
  }
}

TEST_CASE("tuner: when the fastest drops out, how far the others are behind is counted from the next") {
  FakeRunner runner({{{50}, "", GGEMM_ERROR_LAUNCH, At::time, 1}, {{100}, ""}, {{109}, ""}, {{111}, ""}});
  const select::TuneOutcome out = tune(runner, 4);
  CHECK(out.best == 1);
  CHECK(runner.timed(1) == 3);
  CHECK(runner.timed(2) == 3);
  CHECK(runner.timed(3) == 1);
}

TEST_CASE("tuner: where all fail when they are timed once more there is no winner") {
  FakeRunner runner({{{50}, "", GGEMM_ERROR_LAUNCH, At::time, 1}, {{51}, "", GGEMM_ERROR_LAUNCH, At::time, 2}});
  const select::TuneOutcome out = tune(runner, 2);
  CHECK(out.best == -1);
  CHECK(out.rows[0].rejected == "candidate 0 fails");
  CHECK(out.rows[1].rejected == "candidate 1 fails");
}

TEST_CASE("tuner: a stop that is asked for when a candidate drops out ends the rounds") {
  FakeRunner runner({{{50}, "", GGEMM_ERROR_LAUNCH, At::time, 1}, {{51}, ""}});
  const select::TuneOutcome out = tune(runner, 2, plenty, [&](std::size_t, std::size_t, const select::TuneRow& row) { return row.rejected.empty(); });
  CHECK(out.stopped);
  CHECK(out.best == 1);
  CHECK(runner.timed(1) == 1);
}

TEST_CASE("tuner: an error that is not the candidate's own ends the tuning") {
  for (const ggemm_status status : {GGEMM_ERROR_OUT_OF_MEMORY, GGEMM_ERROR_DEVICE, GGEMM_ERROR_NOT_PREPARED, GGEMM_ERROR_INTERNAL}) {
    for (const At at : {At::load, At::verify, At::time}) {
      INFO(ggemm_status_string(status) << " at " << static_cast<int>(at));
      FakeRunner runner({{{1}, ""}, {{2}, "", status, at}, {{3}, ""}});
      CHECK(error_of([&] { tune(runner, 3); }, status) == "candidate 1 fails");
      for (const std::string& call : runner.calls) CHECK(call != "load 2");
    }
  }
}

TEST_CASE("tuner: out of memory in a later round ends the tuning too") {
  FakeRunner runner({{{10}, ""}, {{10}, "", GGEMM_ERROR_OUT_OF_MEMORY, At::time, 1}});
  CHECK_THROWS_AS(tune(runner, 2), core::Error);
}

TEST_CASE("tuner: of two within 1% the earlier one wins") {
  const auto winner = [](double first, double second) {
    FakeRunner runner({{{first}, ""}, {{second}, ""}});
    return tune(runner, 2).best;
  };
  CHECK(winner(100, 100) == 0);
  CHECK(winner(100, 99.5) == 0);
  CHECK(winner(100, 99.02) == 0);
  CHECK(winner(100, 98.9) == 1);
  CHECK(winner(100, 100.5) == 0);
  // The better of two that are alike each time is still found: 98.5 is not within 1% of the leader.
  FakeRunner chain({{{100}, ""}, {{99.5}, ""}, {{98.5}, ""}});
  CHECK(tune(chain, 3).best == 2);
}

TEST_CASE("tuner: what is more than 10% behind after the first round is not timed again, the others twice, in turns") {
  FakeRunner runner({{{100}, ""}, {{111}, ""}, {{109}, ""}, {{90.5}, "wrong"}});
  const select::TuneOutcome out = tune(runner, 4);
  CHECK(runner.timed(0) == 3);
  CHECK(runner.timed(1) == 1);
  CHECK(runner.timed(2) == 3);
  CHECK(runner.timed(3) == 0);
  CHECK(out.rows[1].microseconds == 111);
  const std::vector<std::string> expected = {"time 0", "time 2", "time 0", "time 2"};
  REQUIRE(runner.calls.size() >= 4);
  CHECK(std::vector<std::string>(runner.calls.end() - 4, runner.calls.end()) == expected);
}

TEST_CASE("tuner: a time is the median of its rounds, so that one lucky or unlucky round decides nothing") {
  FakeRunner runner({{{100, 99, 98}, ""}, {{92, 107, 108}, ""}, {{105, 90, 91}, ""}});
  const select::TuneOutcome out = tune(runner, 3);
  CHECK(out.first == 0);
  // 105 is more than 10% behind 92: never timed again
  CHECK(out.rows[0].microseconds == 99);
  CHECK(out.rows[1].microseconds == 107);
  CHECK(out.rows[2].microseconds == 105);
  CHECK(out.best == 0);
}

TEST_CASE("tuner: a spent budget leaves the rest untried, with that reason, but for the first candidate") {
  FakeRunner runner({{{30}, ""}, {{20}, ""}, {{10}, ""}});
  const select::TuneOutcome out = tune(runner, 3, 0);
  CHECK(out.best == 0);
  CHECK_FALSE(out.stopped);
  CHECK(out.rows[0].rejected == "");
  CHECK(out.rows[1].rejected == "not tried: the time budget is spent");
  CHECK(out.rows[2].rejected == "not tried: the time budget is spent");
  const std::vector<std::string> expected = {"load 0", "verify 0", "time 0"};
  CHECK(runner.calls == expected);
}

TEST_CASE("tuner: with a slow runner the tuning ends about when the budget does") {
  FakeRunner runner(std::vector<Script>(50, {{30}, ""}));
  runner.make_slow(std::chrono::milliseconds(20));
  const auto start = std::chrono::steady_clock::now();
  const select::TuneOutcome out = tune(runner, 50, 0.1);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // 50 candidates would take 1 s in the first round alone; a busy machine may be slow, but not to start what is too late.
  int tried = 0, untried = 0;
  for (const select::TuneRow& row : out.rows) (row.rejected.empty() ? tried : untried) += 1;
  CHECK(out.rows.size() == 50);
  CHECK(tried >= 1);
  CHECK(tried <= 6);  // begun before 0.1 s, 20 ms each
  CHECK(untried == 50 - tried);
  CHECK(runner.calls.size() == static_cast<std::size_t>(3 * tried));
  CHECK(seconds >= 0.02 * tried);
  CHECK(out.best >= 0);
}

TEST_CASE("tuner: progress tells of each candidate when it is finished with") {
  FakeRunner runner({{{30}, ""}, {{1}, "wrong"}, {{20}, "", GGEMM_ERROR_COMPILE, At::load}});
  std::vector<std::string> told;
  tune(runner, 3, plenty, [&](std::size_t index, std::size_t total, const select::TuneRow& row) {
    told.push_back(std::to_string(index) + " of " + std::to_string(total) + " " + std::to_string(row.config.raster) + " " + std::to_string(static_cast<int>(row.microseconds)) + " " + row.rejected);
    return true;
  });
  const std::vector<std::string> expected = {"0 of 3 1 30 ", "1 of 3 2 0 wrong", "2 of 3 3 0 candidate 2 fails"};
  CHECK(told == expected);
}

TEST_CASE("tuner: when progress says stop, what is known decides and nothing more is run") {
  FakeRunner runner({{{30}, ""}, {{20}, ""}, {{10}, ""}, {{5}, ""}});
  int told = 0;
  const select::TuneOutcome out = tune(runner, 4, plenty, [&](std::size_t index, std::size_t, const select::TuneRow&) {
    ++told;
    return index < 1;
  });
  CHECK(out.stopped);
  CHECK(out.best == 1);
  CHECK(told == 2);
  CHECK(runner.calls.size() == 6);
  REQUIRE(out.rows.size() == 4);
  CHECK(out.rows[1].microseconds == 20);
  CHECK(out.rows[2].rejected == "not tried: stopped");
  CHECK(out.rows[3].rejected == "not tried: stopped");
}
