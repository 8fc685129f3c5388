// SPDX-License-Identifier: Apache-2.0
// CUDA C++ made ready for g++.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "emulator/nvrtc/source.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace emulator;

TEST_CASE("shared variables become references into the window") {
  CHECK(with_shared_variables("  extern __shared__ __align__(1024) char shared[];\n") == "  char* const shared = static_cast<char*>(::emulator::dynamic_shared());\n");
  CHECK(with_shared_variables("  __shared__ i64 stride;\n") == "  auto& stride = ::emulator::static_shared<i64, decltype([] {})>();\n");
  CHECK(with_shared_variables("__shared__ Word tile[SPAN * PITCH];") == "auto& tile = ::emulator::static_shared<Word[SPAN * PITCH], decltype([] {})>();");
  CHECK(with_shared_variables("__shared__ Pair<int, 3> a[2][4];") == "auto& a = ::emulator::static_shared<Pair<int, 3>[2][4], decltype([] {})>();");
  CHECK(with_shared_variables("int unshared;") == "int unshared;");
}

TEST_CASE("a kernel's bounds and cluster are part of its description") {
  const std::string text = kernel_description("extern \"C\" __global__ void __cluster_dims__(F(2), 1, 1) __launch_bounds__(32 * (A + B), C) NAME(const __grid_constant__ P p) {\n  f(p);\n}\n");
  CHECK_THAT(text, ContainsSubstring("emulator_bounds[2] = {32 * (A + B), C}, emulator_cluster[3] = {F(2), 1, 1};"));
  CHECK_THAT(text, ContainsSubstring("describe(&NAME, EMULATOR_TEXT(NAME)"));
  CHECK(kernel_description("int f() { return 1; }") == "");
}
