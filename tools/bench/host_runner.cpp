// SPDX-License-Identifier: Apache-2.0
// Without a GPU: ggemm's host device by the clock, and CBLAS beside it for f32 and f64. There is no limit here: the machine's ceilings are not
// measured.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "bench/product.hpp"
#include "bench/runner.hpp"
#include "bench/stats.hpp"
#include "bench/suites.hpp"
#include "common/failure.hpp"
#include "core/library.hpp"

namespace ggemm::bench {
namespace {

constexpr int host_batch = 64;

// cblas.h: CblasRowMajor, CblasNoTrans, CblasTrans.
enum CblasOrder : int { row_major = 101 };
enum CblasTranspose : int { no_trans = 111, trans = 112 };

struct Cblas {
  void (*sgemm)(int, int, int, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c,
                int ldc) = nullptr;
  void (*dgemm)(int, int, int, int m, int n, int k, double alpha, const double* a, int lda, const double* b, int ldb, double beta, double* c,
                int ldc) = nullptr;

  // `path`: the one that the library uses, "" if it has none.
  explicit Cblas(const std::string& path) {
    std::vector<std::string> tried;
    for (const std::string& name : {path, std::string("libopenblas.so.0"), std::string("libcblas.so.3"), std::string("libblas.so.3")}) {
      void* library = name.empty() ? nullptr : core::open_library(name, tried);
      if (!library) continue;
      sgemm = reinterpret_cast<decltype(sgemm)>(core::find_symbol(library, "cblas_sgemm"));
      dgemm = reinterpret_cast<decltype(dgemm)>(core::find_symbol(library, "cblas_dgemm"));
      if (sgemm && dgemm) return;
    }
    sgemm = nullptr;
    dgemm = nullptr;
  }

  // Empty where CBLAS has no such product.
  std::function<void()> product(const Case& one, const Operands& operands) const {
    if (!sgemm || one.grouped() || one.scaling != Scaling::none || (one.dtype != "f32" && one.dtype != "f64")) return {};
    const int ta = one.layout[0] == 't' ? trans : no_trans, tb = one.layout[1] == 't' ? trans : no_trans;
    const int m = static_cast<int>(one.size.m), n = static_cast<int>(one.size.n), k = static_cast<int>(one.size.k);
    const int lda = static_cast<int>(operands.layout().a[0].ld), ldb = static_cast<int>(operands.layout().b[0].ld),
              ldd = static_cast<int>(operands.layout().d[0].ld);
    const void *a = operands.a(), *b = operands.b();
    void* d = operands.d_peer();
    if (one.dtype == "f32")
      return [=, call = sgemm] {
        call(row_major, ta, tb, m, n, k, 1, static_cast<const float*>(a), lda, static_cast<const float*>(b), ldb, 0, static_cast<float*>(d), ldd);
      };
    return [=, call = dgemm] {
      call(row_major, ta, tb, m, n, k, 1, static_cast<const double*>(a), lda, static_cast<const double*>(b), ldb, 0, static_cast<double*>(d), ldd);
    };
  }
};

void repeat_block(void* destination, std::int64_t elements, const Block& block) {
  const size_t element = block.bytes().size() / static_cast<size_t>(block.period()), total = static_cast<size_t>(elements) * element;
  for (size_t at = 0; at < total; at += block.bytes().size())
    std::memcpy(static_cast<char*>(destination) + at, block.bytes().data(), std::min(block.bytes().size(), total - at));
}

// Microseconds of each of `samples` runs of `batch` calls, a call.
std::vector<double> clocked(int samples, int batch, const std::function<void()>& call) {
  call();
  std::vector<double> out;
  for (int i = 0; i < samples; i++) {
    const auto begin = std::chrono::steady_clock::now();
    for (int j = 0; j < batch; j++) call();
    out.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / batch);
  }
  return out;
}

class HostRunner final : public Runner {
 public:
  HostRunner(ggemm_context* context, const ggemm_device_info& info, const RunOptions& options)
      : options_(options), context_(context), memory_(tools::DeviceMemory::create(info)), cblas_(options.peers ? info.blas : "") {}

  Row run(const Case& one) override {
    Row row = row_for(one, options_);
    Operands operands(one, *memory_, repeat_block);
    Product product(context_, one, operands, options_.config, options_.model);
    if (options_.tune) product.tune(options_.tune_budget_s);
    row.config = product.config();
    operands.reset(false);
    product.run(nullptr);
    if (const std::string wrong = operands.check(false); !wrong.empty()) tools::fail("wrong result of %s: %s", row.config.c_str(), wrong.c_str());

    const Arm ours{"ggemm", [&](int samples) { return clocked(samples, 1, [&] { product.run(nullptr); }); }};
    const std::function<void()> call = options_.peers ? cblas_.product(one, operands) : nullptr;
    const Arm peer{"cblas", [&](int samples) { return clocked(samples, 1, call); }};
    if (call) {
      operands.reset(true);
      call();
      if (const std::string wrong = operands.check(true); !wrong.empty()) tools::fail("wrong result of CBLAS: %s", wrong.c_str());
    }
    const Comparison comparison = compare(options_.protocol, ours, call ? &peer : nullptr);
    row.ours_us = median(comparison.ours);
    if (call) {
      row.peers["cblas"] = median(comparison.peer);
      row.ratio = paired_ratio(comparison.ours, comparison.peer);
    }
    return row;
  }

  // There is no launch to subtract: the whole call of a product of one element.
  std::vector<Row> host_costs() override {
    Case one = host_cost_case();
    one.size = {1, 1, 1};
    Operands operands(one, *memory_, repeat_block);
    Product product(context_, one, operands, options_.config);
    std::vector<Row> rows;
    const std::pair<const char*, std::function<void()>> calls[] = {{"plan run", [&] { product.run(nullptr); }},
                                                                   {"one call", [&] { product.one_call(nullptr); }}};
    for (const auto& [name, call] : calls) {
      const Arm arm{name, [&call = call](int samples) { return clocked(samples, host_batch, call); }};
      rows.push_back(host_cost_row(name, median(compare(options_.protocol, arm, nullptr).ours)));
      rows.back().config = product.config();
      rows.back().size = one.size;
    }
    return rows;
  }

  std::string machine() const override { return ""; }

 private:
  RunOptions options_;
  ggemm_context* context_;
  std::unique_ptr<tools::DeviceMemory> memory_;
  Cblas cblas_;
};

}  // namespace

std::unique_ptr<Runner> make_host_runner(ggemm_context* context, const ggemm_device_info& info, const RunOptions& options) {
  return std::make_unique<HostRunner>(context, info, options);
}

Row row_for(const Case& one, const RunOptions& options) {
  Row row = row_for(one);
  if (options.graph) row.suite += "-graph";
  if (options.model) row.suite += "-model";
  return row;
}

Case host_cost_case() {
  Case one = single_case("host", "bf16", "nt", {64, 64, 64});
  one.category = "host";
  return one;
}

Row host_cost_row(const std::string& name, double us) {
  Row row = row_for(host_cost_case());
  row.name = name;
  row.ours_us = us;
  return row;
}

}  // namespace ggemm::bench
