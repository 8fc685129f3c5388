// SPDX-License-Identifier: Apache-2.0
// Calls that a kernel with tensor maps serves: what it is handed, and what becomes of operands that such maps cannot describe.
#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "cuda/driver_api.hpp"
#include "cuda/workspace.hpp"
#include "operands.hpp"
#include "params.cuh"

namespace ggemm::tests {
namespace {

constexpr const char* plain_config = "sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c1x1_r2";
constexpr const char* swapped_config = "sm90_i8_i8_i32_tn_8x64x128_w1x4_s2_c1x1_swap_r1";
constexpr const char* sliced_config = "sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c2x1_k3_r1";
constexpr const char* many_slices_config = "sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c1x1_k67_r1";
constexpr const char* tail_config = "sm90_i8_i8_i32_tn_64x64x128_w4x1_s2_c1x1_kt_r1";
constexpr const char* cluster_config = "sm90_i8_i8_i32_tn_128x64x128_w8x1_s2_c2x1_r1";

}  // namespace

TEST_CASE("A kernel with tensor maps gets the product that was described, upright, swapped, in clusters and cut along k") {
  nvrtc_or_skip();
  Machine machine;
  for (const char* config : {plain_config, swapped_config, cluster_config, sliced_config, tail_config}) {
    INFO(config);
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p(config);
    const long maps = driver().calls("cuTensorMapEncodeTiled");
    const std::size_t before = driver().all_launches().size();
    const ggemm_status status = ggemm_gemm(context.get(), &p.desc, &p.args, nullptr);
    INFO(ggemm_last_error());
    REQUIRE(status == GGEMM_OK);
    CHECK(p.right());
    CHECK(driver().calls("cuTensorMapEncodeTiled") - maps == 3);
    // Its kernel waits for what the stream did before.
    const auto launches = driver().all_launches();
    CHECK(std::all_of(launches.begin() + static_cast<std::ptrdiff_t>(before), launches.end(), [](const fake_launch& launch) { return launch.overlaps == 1; }));
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Neighbouring tiles are dealt to one GPC, those of a single column by turns") {
  nvrtc_or_skip();
  Machine machine;
  const auto cluster_of = [](const char* config, std::int64_t m) {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p(config);
    p.desc.m = m;
    const std::size_t before = driver().all_launches().size();
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    return driver().all_launches()[before].cluster;  // slices are added up behind it
  };
  CHECK(cluster_of(plain_config, Bytes::m) == 0);
  CHECK(cluster_of(swapped_config, Bytes::m) == 0);
  CHECK(cluster_of(tail_config, Bytes::m) == 0);
  CHECK(cluster_of(cluster_config, Bytes::m) == 0);  // its kernel says so itself
  CHECK(cluster_of(plain_config, 64) == 1);
  CHECK(cluster_of(swapped_config, 8) == 1);
  CHECK(cluster_of(many_slices_config, Bytes::m) == 0);  // as four steps of k make four slices; 67 would be more than two rounds
  machine.check_clean();
}

TEST_CASE("Calls that read no C, all of it aligned, have a kernel of their own; a call compiles the one that it needs, a plan and ggemm_prepare both") {
  nvrtc_or_skip();
  Machine machine;
  const std::string no_folder;
  const auto kernel_of_last = [] {
    driver().wait();
    return std::string(driver().all_launches().back().kernel);
  };
  const auto is_other = [](const std::string& kernel) { return kernel.ends_with("_by_engine"); };
  const std::int32_t one = 1;
  {
    LogLines log;
    const ContextPointer context = make_context(cuda_options(no_folder, &log));
    Bytes p(plain_config);
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    CHECK(is_other(kernel_of_last()));
    CHECK(log.count("compiled ") == 1);
    CHECK(p.right());
    std::fill_n(p.d, Bytes::m * Bytes::n, 0);
    p.args.c = p.args.d, p.args.beta = &one;
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    CHECK_FALSE(is_other(kernel_of_last()));
    CHECK(log.count("compiled ") == 2);
    CHECK(p.right());
  }
  for (const bool plan_or_prepare : {true, false}) {
    LogLines log;
    const ContextPointer context = make_context(cuda_options(no_folder, &log));
    Bytes p(plain_config);
    const ggemm_problem problem{&p.desc, nullptr};
    ggemm_plan* plan = nullptr;
    if (plan_or_prepare) REQUIRE(ggemm_plan_create(context.get(), &p.desc, &plan) == GGEMM_OK);
    else REQUIRE(ggemm_prepare(context.get(), &problem, 1, nullptr, nullptr) == GGEMM_OK);
    CHECK(log.count("compiled ") == 2);
    const auto run = [&](void* stream) { return plan ? ggemm_plan_run(plan, &p.args, stream) : ggemm_gemm(context.get(), &p.desc, &p.args, stream); };
    Stream stream;
    for (const bool adds : {false, true}) {
      std::fill_n(p.d, Bytes::m * Bytes::n, 0);
      p.args.c = adds ? p.args.d : nullptr, p.args.beta = adds ? &one : nullptr;
      stream.begin(0);
      CHECK(run(stream.get()) == GGEMM_OK);
      stream.end();
      stream.replay();
      CHECK(is_other(kernel_of_last()) == !adds);
      CHECK(p.right());
      stream.drop_graph();
    }
    CHECK(log.count("compiled ") == 2);
    ggemm_plan_destroy(plan);
  }
  {
    // During capture the other one serves, where it is loaded and that one is not.
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p(plain_config);
    std::fill_n(p.d, Bytes::m * Bytes::n, 0);
    p.args.c = p.args.d, p.args.beta = &one;
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    CHECK(p.right());
    p.args.c = nullptr, p.args.beta = nullptr;
    std::fill_n(p.d, Bytes::m * Bytes::n, 77);
    Stream stream;
    for (const std::int64_t rows : {Bytes::m, Bytes::m - 20}) {  // another class, too, that has the same kernel
      p.args.m = rows;
      stream.begin(0);
      CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_OK);
      stream.end();
      stream.replay();
      CHECK_FALSE(is_other(kernel_of_last()));
      if (rows == Bytes::m) CHECK(p.right());
      stream.drop_graph();
    }
  }
  machine.check_clean();
}

TEST_CASE("Maps of operands that come again are not encoded again, and those of others are") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    const auto p = std::make_unique<Bytes>(plain_config), other = std::make_unique<Bytes>(plain_config);
    const auto encoded = [&](const Bytes& of) {
      const long maps = driver().calls("cuTensorMapEncodeTiled");
      return ggemm_gemm(context.get(), &of.desc, &of.args, nullptr) == GGEMM_OK ? driver().calls("cuTensorMapEncodeTiled") - maps : -1;
    };
    CHECK(encoded(*p) == 3);
    CHECK(encoded(*p) == 0);
    CHECK(p->right());
    CHECK(encoded(*other) == 3);
    CHECK(encoded(*other) == 0);
    CHECK(other->right());
    CHECK(encoded(*p) == 0);
    // Another thread has them too.
    long there = -1;
    std::thread([&] { there = encoded(*p); }).join();
    CHECK(there == 0);
    // The same memory: fewer rows of A and D; a shorter k, in lines as far apart, and then packed; boxes of more rows.
    p->desc.m = Bytes::m - 1;
    CHECK(encoded(*p) == 2);
    p->desc.m = Bytes::m;
    p->desc.k = Bytes::k - 16, p->desc.a.row_stride = Bytes::k;
    CHECK(encoded(*p) == 2);
    p->desc.a.row_stride = GGEMM_PACKED;
    CHECK(encoded(*p) == 1);
    p->desc.k = Bytes::k, p->desc.config = cluster_config;
    CHECK(encoded(*p) >= 1);
    // What the driver refused is asked for again.
    p->desc.config = plain_config, p->desc.m = Bytes::m - 2;
    driver().fail("cuTensorMapEncodeTiled", 1, 1, 1);
    CHECK(ggemm_gemm(context.get(), &p->desc, &p->args, nullptr) != GGEMM_OK);
    CHECK(driver().clear_failures() == 1);
    CHECK(encoded(*p) == 2);
    // Another context has its own.
    p->desc.m = Bytes::m;
    const ContextPointer second = make_context(cuda_options(no_folder));
    const long maps = driver().calls("cuTensorMapEncodeTiled");
    CHECK(ggemm_gemm(second.get(), &p->desc, &p->args, nullptr) == GGEMM_OK);
    CHECK(driver().calls("cuTensorMapEncodeTiled") - maps == 3);
    driver().wait();
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Operands that tensor maps cannot describe are copied to workspace first") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    for (const char* config : {plain_config, swapped_config}) {
      INFO(config);
      Bytes p(config, 1);
      const long launches = driver().calls("cuLaunchKernelEx");
      const ggemm_status status = ggemm_gemm(context.get(), &p.desc, &p.args, nullptr);
      INFO(ggemm_last_error());
      REQUIRE(status == GGEMM_OK);
      CHECK(p.right());
      CHECK(driver().calls("cuLaunchKernelEx") - launches == 2);
      // Warm, the workspace is there already.
      const long allocations = driver().calls("cuMemAllocAsync");
      REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
      CHECK(driver().calls("cuMemAllocAsync") == allocations);
    }
    // A plan does not know its operands' addresses before it runs.
    Bytes p(plain_config, 1);
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create(context.get(), &p.desc, &plan) == GGEMM_OK);
    REQUIRE(ggemm_plan_run(plan, &p.args, nullptr) == GGEMM_OK);
    CHECK(p.right());
    ggemm_plan_destroy(plan);
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Sums of slices of k lie in workspace, beside copies of operands, and not during a capture that has none") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    Stream stream;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes aligned(sliced_config), copied(sliced_config, 1);
    REQUIRE(ggemm_gemm(context.get(), &aligned.desc, &aligned.args, nullptr) == GGEMM_OK);
    CHECK(aligned.right());
    const long allocations = driver().calls("cuMemAllocAsync");
    REQUIRE(ggemm_gemm(context.get(), &aligned.desc, &aligned.args, nullptr) == GGEMM_OK);
    CHECK(driver().calls("cuMemAllocAsync") == allocations);
    REQUIRE(ggemm_gemm(context.get(), &copied.desc, &copied.args, nullptr) == GGEMM_OK);
    CHECK(copied.right());
    stream.begin(1);
    CHECK(ggemm_gemm(context.get(), &aligned.desc, &aligned.args, stream.get()) == GGEMM_ERROR_NOT_PREPARED);
    stream.end();
    stream.drop_graph();
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Tiles that are left over are shared by more CTAs, and the workspace that a plan sees to is enough for any smaller sizes") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    constexpr std::int64_t m = 70, n = 100, k = 128 * 128;
    std::vector<std::int8_t> a(m * k, 1), b(n * k, 2);
    std::vector<std::int32_t> d(m * n);
    driver().add_memory(a.data(), a.size());
    driver().add_memory(b.data(), b.size());
    driver().add_memory(d.data(), d.size() * sizeof d[0]);
    ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
    ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
    desc.m = m, desc.n = n, desc.k = k;
    desc.a.dtype = desc.b.dtype = GGEMM_I8, desc.d.dtype = GGEMM_I32;
    desc.a.row_stride = k, desc.b.row_stride = 1, desc.b.col_stride = k, desc.d.row_stride = n;
    desc.config = tail_config;
    args.a = a.data(), args.b = b.data(), args.d = d.data();
    ggemm_plan* plan = nullptr;
    {
      Stream stream;
      stream.begin(1);
      CHECK(ggemm_gemm(context.get(), &desc, &args, stream.get()) == GGEMM_ERROR_NOT_PREPARED);
      stream.end();
      stream.drop_graph();
    }
    for (const std::array<std::int64_t, 3>& size : {std::array{m, n, k}, {m, n - 40, k}, {m - 10, n, k}, {m - 10, n - 40, k}, {m, n, k / 2}}) {
      INFO(size[0] << "x" << size[1] << "x" << size[2]);
      REQUIRE(ggemm_plan_create(context.get(), &desc, &plan) == GGEMM_OK);
      Stream stream;
      args.m = size[0], args.n = size[1], args.k = size[2];
      const long allocations = driver().calls("cuMemAllocAsync") + driver().calls("cuMemAlloc_v2");
      stream.begin(1);
      CHECK(ggemm_plan_run(plan, &args, stream.get()) == GGEMM_OK);
      stream.end();
      CHECK(driver().calls("cuMemAllocAsync") + driver().calls("cuMemAlloc_v2") == allocations);
      stream.replay();
      driver().wait();
      CHECK(d[0] == 2 * size[2]);
      const unsigned tiles = static_cast<unsigned>((size[0] + 63) / 64 * ((size[1] + 63) / 64)), ctas = driver().all_launches().back().grid[0];
      CHECK(ctas > tiles);
      CHECK(ctas % tiles == 0);
      stream.drop_graph();
      ggemm_plan_destroy(plan);
    }
    driver().remove_memory(a.data());
    driver().remove_memory(b.data());
    driver().remove_memory(d.data());
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Eight-bit operands that are contiguous along m and n are turned first") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p("sm90_i8_i8_i32_tt_64x64x128_w4x1_s2_c1x1_r1");
    // B as [k, n] of the same bytes: the matrix is another, and so is the reference.
    p.desc.b.row_stride = GGEMM_PACKED, p.desc.b.col_stride = GGEMM_PACKED;
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
    driver().wait();
    std::int32_t sum = 0;
    for (std::int64_t l = 0; l < Bytes::k; ++l) sum += p.a[3 * Bytes::k + l] * p.b[l * Bytes::n + 5];
    CHECK(p.d[3 * Bytes::n + 5] == sum);
    CHECK(driver().calls("cuLaunchKernelEx") == 2);
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("A tf32 operand that is contiguous along m or n comes as it lies where it is the kernel's A, and else is turned first") {
  nvrtc_or_skip();
  Machine machine;
  struct Case {
    const char* config;
    bool a_along_m, b_along_n;
    int off;  // of A, in elements
    std::int64_t turned_a, turned_b, straight_a;  // lines that are copied
  };
  constexpr std::int64_t m = 40, n = 24, k = 32;
  constexpr Case cases[] = {
      {"sm90_tf32_tf32_f32_nn_64x64x32_w4x1_s2_c1x1_r1", true, false, 0, 0, 0, 0},
      {"sm90_tf32_tf32_f32_tt_64x64x32_w1x4_s2_c1x1_swap_r1", false, true, 0, 0, 0, 0},
      {"sm90_tf32_tf32_f32_tt_64x64x32_w4x1_s2_c1x1_r1", false, true, 0, 0, n, 0},
      {"sm90_tf32_tf32_f32_nn_64x64x32_w1x4_s2_c1x1_swap_r1", true, false, 0, m, 0, 0},
      {"sm90_tf32_tf32_f32_nt_64x64x32_w4x1_s2_c1x1_r1", true, true, 0, 0, n, 0},
      {"sm90_tf32_tf32_f32_nt_64x64x32_w1x4_s2_c1x1_swap_r1", true, true, 0, m, 0, 0},
      {"sm90_tf32_tf32_f32_nn_64x64x32_w4x1_s2_c1x1_r1", true, false, 1, 0, 0, k},
  };
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    alignas(16) static float a[m * k + 4], b[n * k], d[m * n];
    for (std::size_t i = 0; i < std::size(a); ++i) a[i] = static_cast<float>(i % 7) - 3;
    for (std::size_t i = 0; i < std::size(b); ++i) b[i] = static_cast<float>(i % 5) - 2;
    driver().add_memory(a, sizeof a);
    driver().add_memory(b, sizeof b);
    driver().add_memory(d, sizeof d);
    for (const Case& c : cases) {
      INFO(c.config << ", A " << c.off << " elements off");
      ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
      ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
      desc.m = m, desc.n = n, desc.k = k, desc.config = c.config, desc.compute = GGEMM_COMPUTE_TF32;
      desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;
      desc.a.row_stride = c.a_along_m ? 1 : k, desc.a.col_stride = c.a_along_m ? m : 1;
      desc.b.row_stride = c.b_along_n ? n : 1, desc.b.col_stride = c.b_along_n ? 1 : k;
      args.a = a + c.off, args.b = b, args.d = d;
      const std::size_t before = driver().all_launches().size();
      const ggemm_status status = ggemm_gemm(context.get(), &desc, &args, nullptr);
      INFO(ggemm_last_error());
      REQUIRE(status == GGEMM_OK);
      driver().wait();
      const auto launches = driver().all_launches();
      std::int64_t turned_a = 0, turned_b = 0, straight_a = 0;
      for (std::size_t i = before; i + 1 < launches.size(); ++i) {
        REQUIRE(std::string(launches[i].kernel) == "ggemm_repack_4");
        CHECK(launches[i].overlaps == 0);  // it does not wait for what the stream did before
        const auto& copies = static_cast<const kernels::RepackParams*>(launches[i].parameters[0])->copies;
        (copies[0].turned ? turned_a : straight_a) += copies[0].lines;
        CHECK((copies[1].lines == 0 || copies[1].turned));
        turned_b += copies[1].lines;
      }
      CHECK((turned_a == c.turned_a && turned_b == c.turned_b && straight_a == c.straight_a));
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += a[c.off + 3 * desc.a.row_stride + l * desc.a.col_stride] * b[l * desc.b.row_stride + 5 * desc.b.col_stride];
      CHECK(d[3 * n + 5] == sum);
    }
    CHECK(machine.faults() == "");
    for (float* const memory : {a, b, d}) driver().remove_memory(memory);
  }
  machine.check_clean();
}

// n x n x n of Element, A and B row-major, by a configuration of sm80.
template <class Element>
struct Cube {
  std::int64_t n;
  std::vector<Element> a, b, d;
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;

  Cube(std::int64_t size, int dtype, const char* config, std::int64_t stride, std::int64_t apart) : n(size), a(elements(stride, apart)), b(elements(stride, 1)), d(elements(size, 1)) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<Element>(i % 7) - 3;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<Element>(i % 5) - 2;
    desc.m = desc.n = desc.k = n, desc.config = config;
    desc.a.dtype = desc.b.dtype = desc.d.dtype = static_cast<ggemm_dtype>(dtype);
    desc.a.row_stride = stride * apart, desc.a.col_stride = apart, desc.b.row_stride = stride;
    args.a = a.data(), args.b = b.data(), args.d = d.data();
    for (std::vector<Element>* const memory : {&a, &b, &d}) driver().add_memory(memory->data(), memory->size() * sizeof(Element));
  }
  ~Cube() {
    for (std::vector<Element>* const memory : {&a, &b, &d}) driver().remove_memory(memory->data());
  }
  std::size_t elements(std::int64_t stride, std::int64_t apart) const { return static_cast<std::size_t>(n * stride * apart); }
  bool right() const {
    const Element* const first = static_cast<const Element*>(args.a);
    for (const std::int64_t row : {std::int64_t(0), n / 2, n - 1}) {
      Element sum = 0;
      for (std::int64_t l = 0; l < n; ++l) sum += first[row * desc.a.row_stride + l * desc.a.col_stride] * b[static_cast<std::size_t>(l * desc.b.row_stride + n - 2)];
      if (d[static_cast<std::size_t>(row * n + n - 2)] != sum) return false;
    }
    return true;
  }
};

TEST_CASE("f32 and f64 in lines off 16 bytes have kernels of their own, for the operands that lie so") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    const auto kernel_of = [&](auto& cube) {
      const std::size_t before = driver().all_launches().size();
      REQUIRE(ggemm_gemm(context.get(), &cube.desc, &cube.args, nullptr) == GGEMM_OK);
      driver().wait();
      CHECK(cube.right());
      REQUIRE(driver().all_launches().size() == before + 1);
      const std::string name = driver().all_launches().back().kernel;
      const std::size_t at = name.find("_unaligned");
      return at == std::string::npos ? "" : name.substr(at);
    };
    constexpr const char* const f32 = "sm80_f32_f32_f32_tt_32x32x32_w2x2_s4_r1";
    constexpr const char* const f64 = "sm80_f64_f64_f64_tt_32x32x32_w2x2_s4_kt_r1";
    Cube<double> lines(21, GGEMM_F64, f64, 21, 1), whole(21, GGEMM_F64, f64, 22, 1), off(20, GGEMM_F64, f64, 22, 1), apart(21, GGEMM_F64, f64, 21, 2);
    Cube<float> lines32(21, GGEMM_F32, f32, 22, 1), by_cuda_cores(21, GGEMM_F32, "simt_f32_f32_f32_tt_64x64x16_w2x2_s4_r1", 21, 1);
    CHECK(kernel_of(lines) == "_unaligned");
    CHECK(kernel_of(whole) == "");
    off.args.a = off.a.data() + 1;
    CHECK(kernel_of(off) == "_unaligned_a");
    off.args.a = off.a.data(), off.desc.b.row_stride = 21;
    CHECK(kernel_of(off) == "_unaligned_b");
    CHECK(kernel_of(apart) == "_unaligned_b");  // of A elements are no neighbours
    CHECK(kernel_of(lines32) == "_unaligned");
    CHECK(kernel_of(by_cuda_cores) == "");
    // Which are those of a call, whatever a plan was told; and one kernel serves any.
    ggemm_plan* plan = nullptr;
    REQUIRE(ggemm_plan_create(context.get(), &whole.desc, &plan) == GGEMM_OK);
    std::vector<double> a = whole.a;
    a.insert(a.begin(), 0);
    driver().add_memory(a.data(), a.size() * sizeof(double));
    whole.args.a = a.data() + 1;
    std::ranges::fill(whole.d, 99.0);
    REQUIRE(ggemm_plan_run(plan, &whole.args, nullptr) == GGEMM_OK);
    driver().wait();
    CHECK(whole.right());
    CHECK(std::string(driver().all_launches().back().kernel).find("_unaligned") == std::string::npos);
    // So does what a capture finds loaded.
    Stream stream;
    stream.begin(1);
    REQUIRE(ggemm_gemm(context.get(), &whole.desc, &whole.args, stream.get()) == GGEMM_OK);
    stream.end();
    std::ranges::fill(whole.d, 99.0);
    stream.replay();
    CHECK(whole.right());
    stream.drop_graph();
    driver().remove_memory(a.data());
    ggemm_plan_destroy(plan);
  }
  machine.check_clean();
}

TEST_CASE("f32 and f64 in lines off 16 bytes are copied first where that is estimated to take less") {
  nvrtc_or_skip();
  Machine machine;
  // Of so few multiprocessors a small product takes long enough.
  driver().set_attribute(0, static_cast<int>(cuda::cu::DeviceAttribute::multiprocessor_count), 2);
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    struct Copied {
      std::int64_t lines = 0, words = 0;
      bool turned = false;
    };
    // What is copied of A; B is as A, but contiguous along its rows.
    const auto copied = [&](auto& cube) {
      const std::size_t before = driver().all_launches().size();
      const ggemm_status status = ggemm_gemm(context.get(), &cube.desc, &cube.args, nullptr);
      INFO(ggemm_last_error());
      REQUIRE(status == GGEMM_OK);
      driver().wait();
      CHECK(cube.right());
      const auto launches = driver().all_launches();
      Copied out;
      if (launches.size() == before + 1) return out;
      REQUIRE(launches.size() == before + 2);
      REQUIRE(std::string(launches[before].kernel) == "ggemm_repack_4");
      CHECK(launches[before + 1].overlaps == 0);  // the product does not wait by itself
      CHECK(std::string(launches[before + 1].kernel).find("_unaligned") == std::string::npos);
      const auto& copies = static_cast<const kernels::RepackParams*>(launches[before].parameters[0])->copies;
      CHECK(copies[1].lines == cube.n);
      return Copied{copies[0].lines, copies[0].length, copies[0].turned != 0};
    };
    const auto of = [&]<class Element>(Element, std::int64_t n, const char* config, std::int64_t stride, std::int64_t apart = 1, std::int64_t max_ctas = 0) {
      Cube<Element> cube(n, sizeof(Element) == 8 ? GGEMM_F64 : GGEMM_F32, config, stride, apart);
      cube.desc.max_ctas = static_cast<std::uint32_t>(max_ctas);
      const Copied out = copied(cube);
      return std::tuple(out.lines, out.words, out.turned);
    };
    constexpr const char* const f32 = "sm80_f32_f32_f32_tt_64x64x64_w2x2_s3_r1";
    constexpr const char* const f64 = "sm80_f64_f64_f64_tt_64x64x32_w2x2_s3_r1";
    const std::tuple<std::int64_t, std::int64_t, bool> none{};
    CHECK(of(1.0f, 385, f32, 385) == std::tuple(385, 385, false));
    CHECK(of(1.0f, 385, "sm80_f32_f32_f32_tt_64x64x64_w2x2_s3_kt_r1", 385) == std::tuple(385, 385, false));
    CHECK(of(1.0, 257, f64, 257) == std::tuple(257, 514, false));  // in words of 4 bytes
    CHECK(of(1.0f, 257, f32, 260) == none);
    CHECK(of(1.0, 257, f64, 258) == none);
    CHECK(of(1.0f, 21, f32, 21) == none);
    CHECK(of(1.0f, 257, f32, 257, 1, 2) == none);
    // A without neighbours: elements of 4 bytes are turned.
    CHECK(of(1.0f, 385, "sm80_f32_f32_f32_tt_64x64x64_w2x2_s3_r1", 385, 2) == std::tuple(385, 385, true));
    CHECK(of(1.0f, 257, "simt_f32_f32_f32_tt_64x64x16_w2x2_s4_r1", 257) == none);
    // A plan that knew of no k, and so not that A's elements would be no neighbours.
    for (const std::int64_t described : {0, 1}) {
      Cube<float> apart(257, GGEMM_F32, f32, 257, 2);
      apart.desc.k = described, apart.args.k = apart.n;
      ggemm_plan* plan = nullptr;
      REQUIRE(ggemm_plan_create(context.get(), &apart.desc, &plan) == GGEMM_OK);
      REQUIRE(ggemm_plan_run(plan, &apart.args, nullptr) == GGEMM_OK);
      driver().wait();
      CHECK(apart.right());
      ggemm_plan_destroy(plan);
    }
    // One row that repeats, and rows upside down, come as they lie.
    for (const std::int64_t stride : {0, -260}) {
      Cube<float> lines(257, GGEMM_F32, f32, 260, 1);
      lines.desc.a.row_stride = stride;
      if (stride < 0) lines.args.a = lines.a.data() - 256 * stride;
      const std::size_t before = driver().all_launches().size();
      REQUIRE(ggemm_gemm(context.get(), &lines.desc, &lines.args, nullptr) == GGEMM_OK);
      driver().wait();
      CHECK(driver().all_launches().size() == before + 1);
      CHECK(lines.right());
    }
    // Where memory has run out they come as they lie too, until some calls later it is asked for again.
    {
      const ContextPointer poor = make_context(cuda_options(no_folder));
      Cube<float> cube(385, GGEMM_F32, f32, 385, 1);
      const auto launches = [&] {
        const std::size_t before = driver().all_launches().size();
        REQUIRE(ggemm_gemm(poor.get(), &cube.desc, &cube.args, nullptr) == GGEMM_OK);
        driver().wait();
        return driver().all_launches().size() - before;
      };
      constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
      driver().fail("cuMemAllocAsync", 1, out_of_memory, 1);
      CHECK(launches() == 1);
      CHECK(driver().clear_failures() == 1);
      CHECK(cube.right());
      unsigned without = 1;
      while (launches() == 1 && without < 2 * cuda::Workspace::calls_between_wishes) ++without;
      CHECK(without == cuda::Workspace::calls_between_wishes);
      CHECK(cube.right());
    }
    // A captured stream that has no memory for copies goes without; one that has does not.
    Stream stream;
    Cube<float> cube(385, GGEMM_F32, f32, 385, 1);
    for (const std::size_t launched : {1, 2}) {
      stream.begin(1);
      const std::size_t before = driver().all_launches().size();
      REQUIRE(ggemm_gemm(context.get(), &cube.desc, &cube.args, stream.get()) == GGEMM_OK);
      stream.end();
      CHECK(driver().all_launches().size() == before + launched);
      stream.replay();
      CHECK(cube.right());
      stream.drop_graph();
      if (launched == 1) REQUIRE(ggemm_gemm(context.get(), &cube.desc, &cube.args, stream.get()) == GGEMM_OK);
      driver().wait();
    }
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("During capture workspace is not allocated, and what a graph was given stays") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    Stream stream;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p(plain_config, 1);
    ggemm_plan* plan = nullptr;
    // A plan does not know the address of A, which lies off the fast path: neither kernel nor memory for its copy are there.
    REQUIRE(ggemm_plan_create(context.get(), &p.desc, &plan) == GGEMM_OK);
    stream.begin(1);
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_ERROR_NOT_PREPARED);
    stream.end();
    stream.drop_graph();
    REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_OK);
    driver().wait();
    stream.begin(1);
    CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, stream.get()) == GGEMM_OK);
    stream.end();
    stream.drop_graph();
    ggemm_plan_destroy(plan);
  }
  machine.check_clean();
}

TEST_CASE("A plan, and ggemm_prepare, reserve the workspace of eight streams that are captured first") {
  nvrtc_or_skip();
  Machine machine;
  for (const bool planned : {true, false}) {
    const std::string no_folder;
    std::list<Stream> streams(9);
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p(plain_config);
    p.desc.a.row_stride = Bytes::k - 1;  // which tensor maps do not reach, and the description says so
    p.desc.k = Bytes::k - 1;
    const ggemm_problem problem{&p.desc, nullptr};
    ggemm_plan* plan = nullptr;
    const auto ready = [&] {
      if (!planned) return ggemm_prepare(context.get(), &problem, 1, nullptr, nullptr);
      ggemm_plan_destroy(plan);
      return ggemm_plan_create(context.get(), &p.desc, &plan);
    };
    const auto captured = [&](Stream& stream) {
      const long before = driver().calls("cuMemAllocAsync") + driver().calls("cuMemAlloc_v2");
      stream.begin(0);
      const ggemm_status status = planned ? ggemm_plan_run(plan, &p.args, stream.get()) : ggemm_gemm(context.get(), &p.desc, &p.args, stream.get());
      CHECK(driver().capture_calls() == 0);
      stream.end();
      CHECK(driver().calls("cuMemAllocAsync") + driver().calls("cuMemAlloc_v2") == before);
      return status;
    };
    REQUIRE(ready() == GGEMM_OK);
    int number = 0;
    for (Stream& stream : streams) {
      INFO("stream " << number << ": " << ggemm_last_error());
      CHECK(captured(stream) == (number++ < 8 ? GGEMM_OK : GGEMM_ERROR_NOT_PREPARED));
      stream.drop_graph();
    }
    check_sentence({"captured", "ggemm_prepare"});
    // A stream has what it took; the ninth gets some when more is reserved.
    CHECK(captured(streams.front()) == GGEMM_OK);
    streams.front().drop_graph();
    REQUIRE(ready() == GGEMM_OK);
    CHECK(captured(streams.back()) == GGEMM_OK);
    streams.back().replay();
    driver().wait();
    std::int32_t sum = 0;
    for (std::int64_t l = 0; l < p.desc.k; ++l) sum += p.a[3 * p.desc.k + l] * p.b[5 * Bytes::k + l];
    CHECK(p.d[3 * Bytes::n + 5] == sum);
    streams.back().drop_graph();
    ggemm_plan_destroy(plan);
  }
  machine.check_clean();
}

TEST_CASE("A captured stream whose workspace was enough before takes a larger block, and its graphs keep theirs") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    Stream stream;
    const ContextPointer context = make_context(cuda_options(no_folder));
    Bytes p(plain_config);
    p.desc.a.row_stride = Bytes::k - 1;
    p.desc.k = Bytes::k - 1;
    const ggemm_problem problem{&p.desc, nullptr};
    const auto call = [&](std::int64_t m) {
      p.desc.m = m;
      return ggemm_gemm(context.get(), &p.desc, &p.args, stream.get());
    };
    REQUIRE(call(1) == GGEMM_OK);
    driver().wait();
    for (const std::int64_t m : {2, 70}) {
      p.desc.m = m;
      REQUIRE(ggemm_prepare(context.get(), &problem, 1, nullptr, nullptr) == GGEMM_OK);
    }
    std::fill_n(p.d, Bytes::m * Bytes::n, 77);
    stream.begin(0);
    CHECK(call(2) == GGEMM_OK);
    CHECK(call(70) == GGEMM_OK);
    CHECK(driver().capture_calls() == 0);
    stream.end();
    CHECK(call(70) == GGEMM_OK);
    stream.replay();
    driver().wait();
    std::int32_t sum = 0;
    for (std::int64_t l = 0; l < p.desc.k; ++l) sum += p.a[69 * p.desc.k + l] * p.b[99 * Bytes::k + l];
    CHECK(p.d[69 * Bytes::n + 99] == sum);
    stream.drop_graph();
  }
  machine.check_clean();
}

TEST_CASE("Calls on several streams have their operands' copies apart, and no stream waits for another") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    constexpr int rounds = 4;
    std::list<Stream> streams(3);
    const ContextPointer context = make_context(cuda_options(no_folder));
    std::vector<std::unique_ptr<Bytes>> problems;
    for (std::size_t t = 0; t < streams.size(); ++t) {
      problems.push_back(std::make_unique<Bytes>(plain_config, 1));
      for (std::size_t i = 0; i < sizeof problems.back()->a; ++i) problems.back()->a[i] = static_cast<std::int8_t>((i + t) % 7 - 3);
    }
    const std::size_t before = driver().all_launches().size();
    const long waits = driver().calls("cuStreamWaitEvent") + driver().calls("cuStreamSynchronize");
    for (int round = 0; round < rounds; ++round) {
      auto p = problems.begin();
      for (Stream& stream : streams) {
        REQUIRE(ggemm_gemm(context.get(), &(*p)->desc, &(*p)->args, stream.get()) == GGEMM_OK);
        ++p;
      }
    }
    CHECK(driver().calls("cuStreamWaitEvent") + driver().calls("cuStreamSynchronize") == waits);
    for (const auto& p : problems) CHECK(p->right());
    std::map<void*, std::pair<char*, char*>> copies;  // from, to
    const auto launches = driver().all_launches();
    for (std::size_t i = before; i < launches.size(); ++i) {
      if (!std::string(launches[i].kernel).starts_with("ggemm_repack_")) continue;
      const kernels::CopyParams& copy = static_cast<const kernels::RepackParams*>(launches[i].parameters[0])->copies[0];
      char* const to = static_cast<char*>(copy.to);
      copies[launches[i].stream] = {to, to + copy.lines * copy.to_stride};
    }
    REQUIRE(copies.size() == streams.size());
    for (const auto& [stream, one] : copies)
      for (const auto& [another, other] : copies) CHECK((stream == another || one.second <= other.first || other.second <= one.first));
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

TEST_CASE("Calls of many threads on one stream keep their operands' copies apart") {
  nvrtc_or_skip();
  Machine machine;
  {
    const std::string no_folder;
    const ContextPointer context = make_context(cuda_options(no_folder));
    constexpr int threads = 4, rounds = 5;
    std::vector<std::unique_ptr<Bytes>> problems;
    for (int t = 0; t < threads; ++t) {
      problems.push_back(std::make_unique<Bytes>(plain_config, 1));
      for (std::size_t i = 0; i < sizeof problems.back()->a; ++i) problems.back()->a[i] = static_cast<std::int8_t>((i + static_cast<std::size_t>(t)) % 7 - 3);
    }
    REQUIRE(ggemm_gemm(context.get(), &problems[0]->desc, &problems[0]->args, nullptr) == GGEMM_OK);
    std::atomic<int> failed = 0;
    std::vector<std::thread> workers;
    for (const auto& p : problems)
      workers.emplace_back([&context, &p, &failed] {
        for (int round = 0; round < rounds; ++round) failed += ggemm_gemm(context.get(), &p->desc, &p->args, nullptr) != GGEMM_OK;
      });
    for (std::thread& worker : workers) worker.join();
    CHECK(failed == 0);
    for (const auto& p : problems) CHECK(p->right());
    CHECK(machine.faults() == "");
  }
  machine.check_clean();
}

}  // namespace ggemm::tests
