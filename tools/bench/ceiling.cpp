// SPDX-License-Identifier: Apache-2.0
#include "bench/ceiling.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "common/table.hpp"

namespace ggemm::bench {
namespace {

constexpr size_t copy_bytes = size_t{1} << 30;
constexpr int copy_samples = 12;
constexpr double rest_s = 0.1;
// Lengths of a launch, in microseconds, from the fastest clock to that which long work settles at.
constexpr double lengths_us[] = {150, 600, 2500, 10000, 40000};
constexpr int probe_iterations = 512;

// What a type is called in PTX, and how its numbers are packed (CEILING_DATA).
struct Unit {
  const char* dtype;
  const char* wgmma;       // shape and types
  const char* wgmma_tail;  // behind the scale-d predicate
  const char* mma;
  int k_wgmma, k_mma, integer, data;
  int least_arch;  // for mma.sync
};
constexpr Unit units[] = {
    {"bf16", "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", "m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 0, 0, 80},
    {"f16", "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", "m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 0, 4, 80},
    {"e4m3", "m64n256k32.f32.e4m3.e4m3", ", 1, 1", "m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 32, 0, 1, 89},
    {"tf32", "m64n256k8.f32.tf32.tf32", ", 1, 1", "m16n8k8.row.col.f32.tf32.tf32.f32", 8, 8, 0, 2, 80},
    {"i8", "m64n256k32.s32.s8.s8", "", "m16n8k32.row.col.s32.s8.s8.s32", 32, 32, 1, 3, 80},
};

std::string quoted(const std::string& text) { return '"' + text + '"'; }

int arch_number(const std::string& arch) { return arch.size() > 3 ? std::atoi(arch.c_str() + 3) : 0; }

CeilingKernel wgmma_kernel(const Unit& unit) {
  constexpr int stages = 4, stage_bytes = 128 * (2 * 64 + 256), warpgroups = 2, steps = 4;  // as in ceiling_wgmma.cu
  return {"ceiling_wgmma.cu",
          {{"CEILING_INSTRUCTION", quoted(std::string("wgmma.mma_async.sync.aligned.") + unit.wgmma)},
           {"CEILING_TAIL", quoted(unit.wgmma_tail)},
           {"CEILING_INTEGER", std::to_string(unit.integer)},
           {"CEILING_DATA", std::to_string(unit.data)}},
          128 * warpgroups,
          stages * stage_bytes,
          1,
          2.0 * warpgroups * steps * 64 * 256 * unit.k_wgmma};
}

CeilingKernel mma_kernel(const Unit& unit) {
  constexpr int warps = 8, chains = 8;  // as in ceiling_mma.cu
  return {"ceiling_mma.cu",
          {{"CEILING_UNIT", "0"},
           {"CEILING_INSTRUCTION", quoted(std::string("mma.sync.aligned.") + unit.mma)},
           {"CEILING_INTEGER", std::to_string(unit.integer)},
           {"CEILING_DATA", std::to_string(unit.data)}},
          32 * warps,
          0,
          2,
          2.0 * warps * chains * 16 * 8 * unit.k_mma};
}

CeilingKernel other_kernel(const std::string& dtype, int arch) {
  if (dtype == "f32") return {"ceiling_mma.cu", {{"CEILING_UNIT", "3"}}, 256, 0, 4, 2.0 * 256 * 64};
  if (dtype != "f64" || arch < 80) return {};
  if (arch >= 90) return {"ceiling_mma.cu", {{"CEILING_UNIT", "1"}}, 256, 0, 2, 2.0 * 8 * 8 * 16 * 8 * 16};
  return {"ceiling_mma.cu", {{"CEILING_UNIT", "2"}}, 256, 0, 2, 2.0 * 8 * 8 * 8 * 8 * 4};
}

void rest() { std::this_thread::sleep_for(std::chrono::duration<double>(rest_s)); }

}  // namespace

CeilingKernel ceiling_kernel(const std::string& dtype, const std::string& arch) {
  const int number = arch_number(arch);
  if (dtype == "f32x3") {  // six products of bf16 terms each, where there is such a kernel
    const bool hopper = arch == "sm_90a";
    CeilingKernel kernel = ceiling_kernel(hopper ? "bf16" : "f32", arch);
    if (hopper) kernel.flops /= 6;
    return kernel;
  }
  for (const Unit& unit : units) {
    if (dtype != unit.dtype) continue;
    if (arch == "sm_90a") return wgmma_kernel(unit);
    return number >= unit.least_arch ? mma_kernel(unit) : CeilingKernel{};
  }
  return other_kernel(dtype, number);
}

double Ceilings::bytes_per_second() {
  if (bytes_per_second_ > 0) return bytes_per_second_;
  const cuda::Buffer source(gpu_.device(), copy_bytes, gpu_.stream()), destination(gpu_.device(), copy_bytes, gpu_.stream());
  gpu_.device().fill(source.data(), 1, copy_bytes, gpu_.stream());
  const cuda::Kernel kernel = gpu_.build("memory.cu", "copy_vectors", {}, 512, 0);
  const void* from = source.data();
  void* to = destination.data();
  unsigned long long vectors = copy_bytes / 16;
  void* params[] = {&from, &to, &vectors};
  const unsigned ctas = static_cast<unsigned>(gpu_.device().facts().multiprocessors) * 4;
  rest();
  double us = median(gpu_.cold(copy_samples, [&] { gpu_.device().launch(kernel, ctas, gpu_.stream(), params); }));
  rest();
  us = std::min(us, median(gpu_.cold(copy_samples, [&] { gpu_.device().copy_on_device(to, from, copy_bytes, gpu_.stream()); })));
  bytes_per_second_ = 2.0 * copy_bytes / (1e-6 * us);
  return bytes_per_second_;
}

const Ceiling& Ceilings::of(const std::string& dtype) {
  const auto found = by_dtype_.find(dtype);
  if (found != by_dtype_.end()) return found->second;
  const CeilingKernel plan = ceiling_kernel(dtype, gpu_.device().facts().arch);
  Ceiling measured = plan.file.empty() ? Ceiling() : measure(plan);
  // Products of f32 may be f64's, where these are made faster.
  if (constexpr double long_flops = 1e30; dtype == "f32")
    if (const Ceiling& f64 = of("f64"); f64.known() && f64.rate(long_flops) > measured.rate(long_flops)) measured = f64;
  std::string words = "none";
  if (measured.known()) {
    words.clear();
    for (const double us : lengths_us) {
      const double rate = measured.rate(us * 1e-6 * measured.rate(1e30));  // near enough to that length
      words += tools::format("%s%.0f at %g us", words.empty() ? "" : ", ", rate * 1e-12, us);
    }
  }
  words_[dtype] = words;
  return by_dtype_[dtype] = std::move(measured);
}

Ceiling Ceilings::measure(const CeilingKernel& plan) {
  const cuda::Kernel kernel = gpu_.build(plan.file, "ceiling", plan.defines, plan.threads, plan.shared_bytes);
  const cuda::Buffer sink(gpu_.device(), 256, gpu_.stream());
  void* to = sink.data();
  const unsigned ctas = static_cast<unsigned>(gpu_.device().facts().multiprocessors * plan.ctas_per_multiprocessor);
  const auto seconds = [&](int iterations, int samples) {
    void* params[] = {&iterations, &to};
    rest();
    return 1e-6 * median(gpu_.cold(samples, [&] { gpu_.device().launch(kernel, ctas, gpu_.stream(), params); }));
  };
  // A launch that does not multiply: what filling the operands costs is no part of the ceiling.
  const double idle = seconds(0, 16);
  const double one = std::max(1e-9, (seconds(probe_iterations, 16) - idle) / probe_iterations);
  std::vector<std::pair<double, double>> points;
  for (const double us : lengths_us) {
    const int iterations = std::max(1, static_cast<int>(us * 1e-6 / one));
    const double taken = seconds(iterations, us > 5000 ? 5 : 16) - idle;
    if (taken > 0) points.emplace_back(plan.flops * ctas * iterations, taken);
  }
  return Ceiling(std::move(points));
}

std::string Ceilings::describe() const {
  std::string out;
  if (bytes_per_second_ > 0) out += tools::format("copy bandwidth %.2f TB/s\n", bytes_per_second_ * 1e-12);
  for (const auto& [dtype, words] : words_) out += tools::format("ceiling %s, TFLOP/s: %s\n", dtype.c_str(), words.c_str());
  return out;
}

}  // namespace ggemm::bench
