// SPDX-License-Identifier: Apache-2.0
// Products that follow one another in a stream: each reads what the launches ahead of it write, and writes what they read. Launches overlap (kernels/ptx/launch.cuh), and one that did not wait would have other bits
// than when the stream is waited for after each.
#include <cmath>

#include "checks.hpp"
#include "support/formats.hpp"

namespace ggemm::tests {
namespace {

using cuda::check;
using cuda::driver;

constexpr int steps = 40, repeats = 5;

// Device memory, and a stream to reach it by.
class Array {
 public:
  Array(std::size_t bytes, void* stream) : bytes_(bytes), stream_(stream) { check(driver().cuMemAlloc_v2(&at_, bytes), "cuMemAlloc"); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { driver().cuMemFree_v2(at_); }
  void* get() const { return reinterpret_cast<void*>(at_); }
  void write(const void* from) {
    check(driver().cuMemcpyHtoDAsync_v2(at_, from, bytes_, stream_), "cuMemcpyHtoDAsync");
    check(driver().cuStreamSynchronize(stream_), "cuStreamSynchronize");
  }
  Bytes read() const {
    Bytes out(bytes_);
    check(driver().cuMemcpyDtoHAsync_v2(out.data(), at_, bytes_, stream_), "cuMemcpyDtoHAsync");
    check(driver().cuStreamSynchronize(stream_), "cuStreamSynchronize");
    return out;
  }

 private:
  unsigned long long at_ = 0;
  std::size_t bytes_;
  void* stream_;
};

struct Stream {
  Stream() { check(driver().cuStreamCreate(&handle, 1), "cuStreamCreate"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { driver().cuStreamDestroy_v2(handle); }
  void* handle = nullptr;
};

Bytes normal_elements(ggemm_dtype dtype, std::int64_t count, std::uint64_t seed) {
  Rng rng(seed);
  Bytes out(static_cast<std::size_t>(count) * size_of(dtype));
  for (std::int64_t i = 0; i < count; ++i) encode(dtype, rng.normal(), &out[static_cast<std::size_t>(i) * size_of(dtype)]);
  return out;
}

// X, rows x size, times W again and again, from one place to the other and back; of groups each has a W and some of the rows, which end where `ends` says.
class Chain {
 public:
  Chain(int ordinal, const CaseType& type, std::int64_t rows, std::int64_t size)
      : context_(ordinal), type_(type), scale_(1 / std::sqrt(static_cast<double>(size))), scale_f32_(static_cast<float>(scale_)), first_(normal_elements(type.a, rows * size, 1)),
        w_(static_cast<std::size_t>((type.grouped ? groups : 1) * size * size) * size_of(type.a), stream_.handle), x_{{first_.size(), stream_.handle}, {first_.size(), stream_.handle}},
        ends_(sizeof(std::int32_t) * groups, stream_.handle) {
    w_.write(normal_elements(type.a, (type.grouped ? groups : 1) * size * size, 2).data());
    const std::int32_t ends[groups] = {static_cast<std::int32_t>(rows / 3), static_cast<std::int32_t>(rows / 3), static_cast<std::int32_t>(rows)};
    ends_.write(ends);
    plain_.m = rows, plain_.n = plain_.k = size, plain_.compute = type.compute;
    plain_.a.dtype = type.a, plain_.b.dtype = type.b, plain_.d.dtype = type.d, plain_.b.row_stride = 1, plain_.b.col_stride = size;
    grouped_.form = GGEMM_GROUPS_RAGGED_M, grouped_.groups = groups, grouped_.ends = ggemm_i32_at(ends_.get(), sizeof(std::int32_t)), grouped_.compute = type.compute;
    grouped_.m = ggemm_const(rows), grouped_.n = grouped_.k = ggemm_const(size);
    grouped_.a.dtype = type.a, grouped_.b.dtype = type.b, grouped_.d.dtype = type.d, grouped_.b.row_stride = ggemm_const(1), grouped_.b.col_stride = ggemm_const(size);
  }

  // A configuration of each family, and of each way to add up sums.
  std::vector<std::string> configs() const {
    std::vector<std::string> out;
    for (const auto& [family, config] : families(context_.get(), ggemm_problem{type_.grouped ? nullptr : &plain_, type_.grouped ? &grouped_ : nullptr})) out.push_back(config);
    return out;
  }
  // D after all steps, of which each has the next of the configurations.
  Bytes run(const std::vector<std::string>& configs, bool waited) {
    x_[0].write(first_.data());
    x_[1].write(Bytes(first_.size(), 0xff).data());
    for (int i = 0; i < steps; ++i) {
      multiply(configs[static_cast<std::size_t>(i) % configs.size()], x_[i % 2].get(), x_[1 - i % 2].get());
      if (waited) check(driver().cuStreamSynchronize(stream_.handle), "cuStreamSynchronize");
    }
    return x_[steps % 2].read();
  }

 private:
  static constexpr int groups = 3;
  void multiply(const std::string& config, const void* from, void* to) {
    const void* const alpha = type_.scalar() == GGEMM_F64 ? static_cast<const void*>(&scale_) : &scale_f32_;
    if (type_.grouped) {
      ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
      args.a = from, args.b = w_.get(), args.d = to, args.alpha = alpha;
      grouped_.config = config.c_str();
      expect_ok(ggemm_grouped_gemm(context_.get(), &grouped_, &args, stream_.handle), "ggemm_grouped_gemm by " + config);
    } else {
      ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
      args.a = from, args.b = w_.get(), args.d = to, args.alpha = alpha;
      plain_.config = config.c_str();
      expect_ok(ggemm_gemm(context_.get(), &plain_, &args, stream_.handle), "ggemm_gemm by " + config);
    }
  }

  GpuContext context_;
  Stream stream_;
  CaseType type_;
  double scale_;  // so that numbers stay of one size
  float scale_f32_;
  Bytes first_;
  Array w_, x_[2], ends_;
  ggemm_gemm_desc plain_ = GGEMM_GEMM_DESC_INIT;
  ggemm_grouped_desc grouped_ = GGEMM_GROUPED_DESC_INIT;
};

// Each configuration alone, and all of them in turn.
void one_after_the_other(int ordinal, const Kind& kind, std::int64_t rows, std::int64_t size) {
  Chain chain(ordinal, kind.type, rows, size);
  const std::vector<std::string> all = chain.configs();
  if (all.empty()) wrong("no configuration is legal");
  std::vector<std::vector<std::string>> turns{all};
  for (const std::string& config : all) turns.push_back({config});
  int differ = 0;
  std::string first;
  for (const auto& configs : turns) {
    const Bytes expected = chain.run(configs, true);
    // So that there is something to tell apart.
    std::size_t numbers = 0;
    for (std::size_t at = 0; at < expected.size(); at += size_of(kind.type.d)) {
      const double value = decode(kind.type.d, &expected[at]);
      numbers += std::isfinite(value) && value != 0;
    }
    expect(2 * numbers * size_of(kind.type.d) > expected.size(), "most of D are no numbers, or 0, by " + configs[0]);
    for (int repeat = 0; repeat < repeats; ++repeat)
      if (chain.run(configs, false) != expected && ++differ == 1) first = configs.size() > 1 ? "all in turn" : configs[0];
  }
  expect(differ == 0, std::to_string(differ) + " of " + std::to_string(turns.size() * repeats) + " runs differ from those that were waited for, the first by " + first);
  figures = std::to_string(all.size()) + " ways, each alone and all in turn, " + std::to_string(repeats) + " runs of " + std::to_string(steps) + " products";
}

}  // namespace

std::vector<Check> chain_checks(int ordinal) {
  std::vector<Check> out;
  for (const bool grouped : {false, true})
    for (const Kind& kind : kinds(grouped)) {
      if (kind.type.a != kind.type.d) continue;
      // Aligned; with lines that are copied first; few rows of a long k; and hardly anything to do.
      for (const auto& [rows, size] : {std::pair<std::int64_t, std::int64_t>{96, 512}, {70, 255}, {4, 2048}, {6, 40}}) {
        const std::string name = "products that read what the one ahead wrote: " + kind.name + ", " + std::to_string(rows) + "x" + std::to_string(size);
        out.push_back({name, [=] { one_after_the_other(ordinal, kind, rows, size); }});
      }
    }
  return out;
}

}  // namespace ggemm::tests
