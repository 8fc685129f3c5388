// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "bench/ceiling.hpp"
#include "bench/cublas.hpp"
#include "bench/gpu.hpp"
#include "bench/product.hpp"
#include "bench/runner.hpp"
#include "bench/stats.hpp"
#include "common/failure.hpp"
#include "common/table.hpp"
#include "core/error.hpp"

namespace ggemm::bench {
namespace {

constexpr int graph_launches = 20;
constexpr size_t finalists = 3;  // of the algorithms that were screened

struct TimedArm {
  Arm arm;
  std::shared_ptr<std::vector<Telemetry>> telemetry = std::make_shared<std::vector<Telemetry>>();
};

// Operands must outlive the work on the stream, also when a case fails: made after them, this waits before they go.
struct Drain {
  Gpu& gpu;
  ~Drain() {
    try {
      gpu.synchronize();
    } catch (const core::Error&) {
      // What broke the device has been thrown already.
    }
  }
};

double median_mhz(const std::vector<Telemetry>& telemetry) {
  std::vector<double> values;
  for (const Telemetry& one : telemetry) values.push_back(one.sm_mhz);
  return median(std::move(values));
}

double median_watts(const std::vector<Telemetry>& telemetry) {
  std::vector<double> values;
  for (const Telemetry& one : telemetry) values.push_back(one.watts);
  return median(std::move(values));
}

class CudaRunner final : public Runner {
 public:
  CudaRunner(ggemm_context* context, const ggemm_device_info& info, const RunOptions& options)
      : options_(options), context_(context), memory_(tools::DeviceMemory::create(info)), gpu_(info.ordinal, options.nvrtc), ceilings_(gpu_) {
    std::string why;
    if (options.peers) library_ = blas::open(options.cublaslt, why);
    if (library_)
      options_.note("cuBLASLt " + library_->version_text() + ": " + library_->path);
    else if (options.peers)
      options_.note("no peers: " + why);
    cublas_ = std::make_unique<Cublas>(library_.get(), gpu_);
  }

  Row run(const Case& one) override {
    Row row = row_for(one, options_);
    row.limit_us = limit_us(one.flops(), one.bytes(), ceilings_.of(one.dtype), ceilings_.bytes_per_second());
    Operands operands = make_operands(one);
    const Drain drain{gpu_};
    Product product(context_, one, operands, options_.config, options_.model);
    if (options_.tune) options_.note(tools::format("  tuned in %.1f s", product.tune(options_.tune_budget_s)));
    row.config = product.config();
    verify(product, operands);
    options_.note(tools::format("  %s, prepared in %.0f ms", row.config.c_str(), product.prepare_seconds() * 1e3));

    const TimedArm ours = timed("ggemm", [&] { product.run(gpu_.stream()); });
    const std::vector<TimedArm> peers = right_peers(one, operands, row);
    const TimedArm* best = nullptr;
    for (const TimedArm& peer : peers)
      if (!best || row.peers[peer.arm.name] < row.peers[best->arm.name]) best = &peer;
    ours.telemetry->clear();
    if (best) best->telemetry->clear();
    const Comparison comparison = compare(options_.protocol, ours.arm, best ? &best->arm : nullptr);
    row.ours_us = median(comparison.ours);
    if (best) {
      row.peers[best->arm.name] = median(comparison.peer);
      row.ratio = paired_ratio(comparison.ours, comparison.peer);
    }
    if (!ours.telemetry->empty()) row.sm_mhz = static_cast<int>(median_mhz(*ours.telemetry));
    note_arms(ours, best);
    return row;
  }

  std::vector<Row> host_costs() override;
  double above_bare_launch(const std::string& name, const std::function<void()>& call);

  std::string machine() const override { return ceilings_.describe(); }

 private:
  Operands make_operands(const Case& one) {
    return Operands(one, *memory_, [this](void* destination, std::int64_t elements, const Block& block) { gpu_.fill(destination, elements, block); });
  }

  void verify(Product& product, Operands& operands) {
    operands.reset(false);
    product.run(gpu_.stream());
    gpu_.synchronize();
    const std::string wrong = operands.check(false);
    if (!wrong.empty()) tools::fail("wrong result of %s: %s", product.config().c_str(), wrong.c_str());
  }

  TimedArm timed(const std::string& name, std::function<void()> launch) {
    TimedArm out;
    out.arm.name = name;
    out.arm.run = [this, launch = std::move(launch), telemetry = out.telemetry](int samples) {
      gpu_.take_telemetry();
      std::vector<double> taken = options_.graph ? gpu_.graph(samples, graph_launches, launch) : gpu_.cold(samples, launch);
      for (const Telemetry& note : gpu_.take_telemetry()) telemetry->push_back(note);
      return taken;
    };
    return out;
  }

  // Every peer whose numbers are right, with its time in row.peers.
  std::vector<TimedArm> right_peers(const Case& one, Operands& operands, Row& row) {
    std::vector<TimedArm> out;
    for (const std::vector<Peer>& family : cublas_->families(one, operands)) {
      double us = 0;
      std::optional<TimedArm> best = best_of(family, operands, us);
      if (!best) continue;
      row.peers[best->arm.name] = us;
      out.push_back(std::move(*best));
    }
    return out;
  }

  // The fastest of a family of algorithms that computes the right numbers.
  std::optional<TimedArm> best_of(const std::vector<Peer>& family, Operands& operands, double& us) {
    std::vector<Arm> arms;
    std::vector<TimedArm> all;
    for (const Peer& peer : family) {
      all.push_back(timed(peer.name, peer.launch));
      arms.push_back(all.back().arm);
    }
    std::vector<double> medians;
    if (fastest(arms, options_.protocol.screen, &medians) < 0) return std::nullopt;
    std::vector<size_t> order(arms.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::erase_if(order, [&](size_t i) { return std::isnan(medians[i]); });
    std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return medians[x] < medians[y]; });
    for (size_t i = 0; i < std::min(finalists, order.size()) && order.size() > 1; i++)
      medians[order[i]] = median(arms[order[i]].run(3 * options_.protocol.screen));
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(finalists, order.size())),
              [&](size_t x, size_t y) { return medians[x] < medians[y]; });
    for (const size_t i : order) {
      operands.reset(true);
      family[i].launch();
      gpu_.synchronize();
      const std::string wrong = operands.check(true);
      if (wrong.empty()) {
        us = medians[i];
        return all[i];
      }
      options_.note("  left out: wrong result of " + family[i].name + ": " + wrong);
    }
    return std::nullopt;
  }

  void note_arms(const TimedArm& ours, const TimedArm* peer) const {
    std::string text;
    for (const TimedArm* arm : {&ours, peer})
      if (arm && !arm->telemetry->empty())
        text += tools::format("%s%s at %.0f MHz, %.0f W", text.empty() ? "  " : "; ", arm->arm.name.c_str(), median_mhz(*arm->telemetry),
                              median_watts(*arm->telemetry));
    if (!text.empty()) options_.note(text);
  }

  RunOptions options_;
  ggemm_context* context_;
  std::unique_ptr<tools::DeviceMemory> memory_;
  Gpu gpu_;
  Ceilings ceilings_;
  std::unique_ptr<blas::Library> library_;
  std::unique_ptr<Cublas> cublas_;
};

// What a call costs the host above a bare launch.
double CudaRunner::above_bare_launch(const std::string& name, const std::function<void()>& call) {
  constexpr int samples = 256;
  const auto [calls, bare] = gpu_.host(samples, call);
  std::vector<double> above;
  for (size_t i = 0; i < calls.size(); i++) above.push_back(calls[i] - bare[i]);
  options_.note(tools::format("  %s: %.3f us, a bare launch %.3f us", name.c_str(), median(calls), median(bare)));
  return median(above);
}

std::vector<Row> CudaRunner::host_costs() {
  const Case one = host_cost_case();
  Case group = one;
  group.groups = {one.size, one.size};
  Operands operands = make_operands(one), group_operands = make_operands(group);
  const Drain drain{gpu_};
  Product product(context_, one, operands, options_.config), group_product(context_, group, group_operands, "");
  verify(product, operands);
  verify(group_product, group_operands);

  std::map<std::string, double> peers;
  const std::vector<Peer> algorithms = cublas_->algorithms(one, operands);
  if (!algorithms.empty()) peers["cublaslt"] = above_bare_launch("cublasLtMatmul", algorithms[0].launch);
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const Product& of, const std::function<void()>& call) {
    rows.push_back(host_cost_row(name, above_bare_launch(name, call)));
    rows.back().config = of.config();
    rows.back().peers = peers;
  };
  add("plan run", product, [&] { product.run(gpu_.stream()); });
  add("one call", product, [&] { product.one_call(gpu_.stream()); });
  add("grouped plan run", group_product, [&] { group_product.run(gpu_.stream()); });
  add("grouped one call", group_product, [&] { group_product.one_call(gpu_.stream()); });
  return rows;
}

}  // namespace

std::unique_ptr<Runner> make_cuda_runner(ggemm_context* context, const ggemm_device_info& info, const RunOptions& options) {
  return std::make_unique<CudaRunner>(context, info, options);
}

}  // namespace ggemm::bench
