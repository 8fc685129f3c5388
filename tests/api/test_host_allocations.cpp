// SPDX-License-Identifier: Apache-2.0
// A warm call on the host device takes nothing from the heap.
#include <algorithm>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace ggemm::tests {
namespace {

// Large enough for both threads, or for one alone.
template <class T>
struct SquareProblem : PlainProblem<T> {
  SquareProblem(ggemm_dtype dtype, std::int64_t size) : PlainProblem<T>(dtype), a(static_cast<std::size_t>(size * size), T(1)), d(a) {
    this->desc.m = this->desc.n = this->desc.k = size;
    this->args.a = this->args.b = a.data(), this->args.d = d.data();
  }
  std::vector<T> a, d;
};

// A CBLAS may take memory of its own at each call: an epilogue then adds nothing to what it takes for the bare product.
template <class T>
void check_plain(ggemm_context* context, ggemm_dtype dtype, std::int64_t size, bool blas) {
  SquareProblem<T> p(dtype, size);
  INFO(ggemm_dtype_name(dtype) << ", sides of " << size);
  const long bare = taken_by([&] { return ggemm_gemm(context, &p.desc, &p.args, nullptr); });
  CHECK((blas ? bare < LONG_MAX : bare == 0));
  std::vector<T> bias(static_cast<std::size_t>(size), T(1));
  p.desc.epilogue.activation = GGEMM_ACTIVATION_RELU;
  p.desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN;
  p.args.bias = bias.data();
  CHECK(taken_by([&] { return ggemm_gemm(context, &p.desc, &p.args, nullptr); }) <= bare);
  p.desc.tune_key = "a key of the caller's own, longer than any text that a string holds within itself";
  CHECK(taken_by([&] { return ggemm_gemm(context, &p.desc, &p.args, nullptr); }) <= bare);
  ggemm_plan* raw = nullptr;
  REQUIRE(ggemm_plan_create(context, &p.desc, &raw) == GGEMM_OK);
  const PlanPointer plan(raw, ggemm_plan_destroy);
  CHECK(taken_by([&] { return ggemm_plan_run(raw, &p.args, nullptr); }) <= bare);
}

}  // namespace

TEST_CASE("The count of allocations counts") {
  const long before = allocations();
  const std::vector<char> one(static_cast<std::size_t>(before) + 1);
  const long after = allocations();
  CHECK(after == before + 1);
  CHECK(one.front() == 0);
  CHECK(taken_by([] { return std::string(ggemm_version_string()).append(100, ' ').empty() ? GGEMM_ERROR_INTERNAL : GGEMM_OK; }) >= 10);
}

TEST_CASE("A warm plain call on the host allocates nothing, alone and with its threads, with own kernels and with CBLAS") {
  for (const bool blas : {false, true}) {
    ggemm_context_options options = host_options();
    if (blas) options.cblas_path = "libopenblas.so.0";  // named, so that it is used however slow
    const ContextPointer context = make_context(options);
    ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
    REQUIRE(ggemm_context_device(context.get(), &info) == GGEMM_OK);
    if (blas && !info.blas[0]) continue;
    INFO("CBLAS \"" << info.blas << '"');
    for (const std::int64_t size : {20, 200}) {
      check_plain<float>(context.get(), GGEMM_F32, size, blas);
      check_plain<double>(context.get(), GGEMM_F64, size, blas);
      if (blas) continue;
      check_plain<std::int8_t>(context.get(), GGEMM_I8, size, blas);
      check_plain<std::uint16_t>(context.get(), GGEMM_BF16, size, blas);
    }
  }
}

TEST_CASE("A warm grouped call on the host allocates nothing") {
  const ContextPointer context = host_context();
  GroupedProblem p;
  CHECK(taken_by([&] { return ggemm_grouped_gemm(context.get(), &p.desc, &p.args, nullptr); }) == 0);
  for (const float value : p.d) CHECK(value == 10.0f);
  // 256 groups, of which both threads take a part.
  SquareProblem<float> one(GGEMM_F32, 64);
  std::vector<float> d(256 * 64 * 64);
  const std::vector<const void*> operands(256, one.a.data());
  std::vector<void*> results;
  for (std::size_t g = 0; g < 256; ++g) results.push_back(&d[g * 64 * 64]);
  ggemm_grouped_desc desc = p.desc;
  desc.groups = 256;
  desc.m = desc.n = desc.k = ggemm_const(64);
  desc.a.row_stride = ggemm_const(64);
  ggemm_grouped_args args = p.args;
  args.a = args.b = operands.data(), args.d = results.data();
  CHECK(taken_by([&] { return ggemm_grouped_gemm(context.get(), &desc, &args, nullptr); }) == 0);
  CHECK(std::count(d.begin(), d.end(), 64.0f) == 256 * 64 * 64);
}

}  // namespace ggemm::tests
