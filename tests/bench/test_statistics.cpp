// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "bench/ceiling.hpp"
#include "bench/protocol.hpp"
#include "bench/stats.hpp"
#include "common/failure.hpp"

using namespace ggemm::bench;
using Catch::Approx;

TEST_CASE("the median is the middle value, or the mean of the two middle ones") {
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(std::isnan(median({})));
}

TEST_CASE("a paired ratio is blind to a drift that both share") {
  std::vector<double> ours, peer;
  for (int i = 0; i < 31; i++) {
    const double drift = 1 + 0.1 * i;
    ours.push_back(10 * drift);
    peer.push_back(12 * drift);
  }
  CHECK(paired_ratio(ours, peer) == Approx(1.2));
  peer[3] = 1e6;  // one outlier does not move it
  CHECK(paired_ratio(ours, peer) == Approx(1.2));
  CHECK(std::isnan(paired_ratio({}, {})));
}

TEST_CASE("a tally counts wins, ties within two percent and losses") {
  const Tally counted = tally({2.0, 1.03, 1.019, 0.981, 0.97, 0.5});
  CHECK(counted.wins == 2);
  CHECK(counted.ties == 2);
  CHECK(counted.losses == 2);
  CHECK(counted.worst == 0.5);
  CHECK(counted.mean == Approx(std::pow(2.0 * 1.03 * 1.019 * 0.981 * 0.97 * 0.5, 1.0 / 6)));
  CHECK(geometric_mean({4, 9}) == Approx(6));
}

TEST_CASE("a ceiling interpolates the time between measured lengths and keeps the rate outside them") {
  const Ceiling ceiling({{400.0, 5.0}, {100.0, 1.0}});  // 100 a second when short, 80 when long
  CHECK(ceiling.seconds(100) == Approx(1));
  CHECK(ceiling.seconds(50) == Approx(0.5));
  CHECK(ceiling.seconds(400) == Approx(5));
  CHECK(ceiling.seconds(250) == Approx(3));
  CHECK(ceiling.seconds(800) == Approx(10));
  CHECK(ceiling.rate(800) == Approx(80));
  CHECK_FALSE(Ceiling().known());
}

TEST_CASE("the limit is the larger of the time for the flops and the time for the bytes") {
  const Ceiling ceiling({{1e9, 1e-6}});  // 1e15 a second
  CHECK(limit_us(2e9, 1e6, ceiling, 1e12).value() == Approx(2));
  CHECK(limit_us(2e9, 5e6, ceiling, 1e12).value() == Approx(5));
  CHECK(limit_us(0, 5e6, ceiling, 1e12).value() == Approx(5));
  CHECK_FALSE(limit_us(2e9, 1e6, Ceiling(), 1e12));
  CHECK_FALSE(limit_us(2e9, 1e6, ceiling, 0));
}

namespace {

Protocol without_sleep(std::vector<double>& rests) {
  Protocol protocol;
  protocol.sleep = [&rests](double seconds) { rests.push_back(seconds); };
  return protocol;
}

}  // namespace

TEST_CASE("two providers run in turns A B B A with a rest before each, and samples pair with their neighbours in time") {
  std::vector<double> rests;
  Protocol protocol = without_sleep(rests);
  protocol.samples = 30;
  protocol.rest_s = 0.25;
  std::string order;
  double clock = 0;
  const auto arm = [&](char name) {
    return Arm{std::string(1, name), [&, name](int samples) {
                 order += name;
                 return std::vector<double>(static_cast<size_t>(samples), clock += 1);
               }};
  };
  const Arm a = arm('A'), b = arm('B');
  const Comparison both = compare(protocol, a, &b);
  CHECK(order == "ABBAABBA");
  CHECK(rests == std::vector<double>(8, 0.25));
  REQUIRE(both.ours.size() == both.peer.size());
  CHECK(both.ours.size() >= 30);
  for (size_t i = 0; i < both.ours.size(); i++) CHECK(std::fabs(both.ours[i] - both.peer[i]) == 1);

  order.clear();
  CHECK(compare(protocol, a, nullptr).peer.empty());
  CHECK(order == "AAAA");
}

TEST_CASE("the fastest arm is chosen by its median, and one that fails is passed over") {
  const auto steady = [](double us) { return Arm{"", [us](int samples) { return std::vector<double>(static_cast<size_t>(samples), us); }}; };
  const Arm spiky{"", [](int samples) {
                    std::vector<double> out(static_cast<size_t>(samples), 9.0);
                    out[0] = 0.1;
                    return out;
                  }};
  const Arm broken{"", [](int) -> std::vector<double> { ggemm::tools::fail("cannot"); }};
  std::vector<double> medians;
  CHECK(fastest({steady(7), spiky, broken, steady(5)}, 5, &medians) == 3);
  CHECK(medians[1] == 9);
  CHECK(std::isnan(medians[2]));
  CHECK(fastest({broken}, 5) == -1);
  CHECK(fastest({}, 5) == -1);
}

TEST_CASE("a deadline starts no case that would end after it, going by the longest so far") {
  Deadline deadline(10);
  CHECK(deadline.allows_another(9.9));
  deadline.finished(4);
  deadline.finished(1);
  CHECK(deadline.allows_another(6));
  CHECK_FALSE(deadline.allows_another(6.1));
  CHECK(Deadline(0).allows_another(1e9));
}

TEST_CASE("every dtype has a ceiling kernel where the architecture has the unit") {
  for (const Type& type : types()) {
    INFO(type.name);
    const CeilingKernel hopper = ceiling_kernel(type.name, "sm_90a");
    CHECK_FALSE(hopper.file.empty());
    CHECK(hopper.flops > 0);
  }
  CHECK(ceiling_kernel("bf16", "sm_90a").file == "ceiling_wgmma.cu");
  CHECK(ceiling_kernel("bf16", "sm_80").file == "ceiling_mma.cu");
  CHECK(ceiling_kernel("e4m3", "sm_89").file == "ceiling_mma.cu");
  CHECK(ceiling_kernel("e4m3", "sm_86").file.empty());
  CHECK(ceiling_kernel("f64", "sm_75").file.empty());
  // 64 x 256 x 16, four deep, two warpgroups.
  CHECK(ceiling_kernel("bf16", "sm_90a").flops == 2.0 * 64 * 256 * 16 * 4 * 2);
}
