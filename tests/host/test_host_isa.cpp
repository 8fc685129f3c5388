// SPDX-License-Identifier: Apache-2.0
// The inner loops of every instruction set that this CPU has: rows of elements against numeric.cuh, panels, whole products.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "host/isa.hpp"
#include "host_case.hpp"
#include "tile/numeric.cuh"

using namespace ggemm;
using namespace ggemm::tests;
using kernels::i64;

namespace {

bool same(float a, float b) { return std::isnan(a) ? std::isnan(b) : std::memcmp(&a, &b, 4) == 0; }

// Every code of a format, in rows of odd lengths with unit and other strides, as numeric.cuh decodes it.
template <class Element>
void check_load(const host::Isa& isa, ggemm_dtype dtype) {
  constexpr unsigned codes = sizeof(Element) == 1 ? 256 : 65536;
  std::vector<Element> row(3 * codes);
  for (const i64 stride : {1, 3, -1}) {
    for (unsigned code = 0; code < codes; ++code)
      row[static_cast<std::size_t>(stride > 0 ? code * stride : codes - 1 - code)].bits = static_cast<decltype(Element::bits)>(code);
    const Element* first = stride > 0 ? row.data() : row.data() + codes - 1;
    int wrong = 0;
    for (const i64 length : {1, 7, 8, 9, 31, 65}) {
      std::vector<float> single(static_cast<std::size_t>(length));
      std::vector<double> twice(static_cast<std::size_t>(length));
      for (i64 at = 0; at + length <= codes; at += length) {
        isa.f32.load[dtype](single.data(), first + at * stride, stride, length);
        isa.f64.load[dtype](twice.data(), first + at * stride, stride, length);
        for (i64 i = 0; i < length; ++i) {
          const float wanted = kernels::to_sum<float>(first[(at + i) * stride]);
          wrong += !same(single[static_cast<std::size_t>(i)], wanted) || !same(static_cast<float>(twice[static_cast<std::size_t>(i)]), wanted);
        }
      }
    }
    INFO(isa.name << ", stride " << stride);
    CHECK(wrong == 0);
  }
}

template <class Element, class V>
void check_store(const host::StoreRow<V> store, const std::vector<V>& values) {
  const auto count = static_cast<i64>(values.size());
  for (const i64 stride : {1, 2}) {
    std::vector<Element> out(values.size() * 2);
    int wrong = 0;
    for (i64 at = 0, length = 1; at + length <= count; at += length, length = length % 40 + 1)
      store(out.data() + at * stride, stride, values.data() + at, length);
    i64 stored = 0;
    for (i64 at = 0, length = 1; at + length <= count; at += length, length = length % 40 + 1) stored = at + length;
    for (i64 i = 0; i < stored; ++i) {
      const Element wanted = kernels::Store<Element>::from(values[static_cast<std::size_t>(i)]);
      wrong += std::memcmp(&out[static_cast<std::size_t>(i * stride)], &wanted, sizeof(Element)) != 0;
    }
    CHECK(wrong == 0);
  }
}

template <class V>
void check_stores(const host::Kernels<V>& loops, const std::vector<V>& values) {
  check_store<kernels::F16>(loops.store[GGEMM_F16], values);
  check_store<kernels::Bf16>(loops.store[GGEMM_BF16], values);
  check_store<kernels::E4m3>(loops.store[GGEMM_E4M3], values);
  check_store<kernels::E5m2>(loops.store[GGEMM_E5M2], values);
  check_store<kernels::i8>(loops.store[GGEMM_I8], values);
  check_store<kernels::i32>(loops.store[GGEMM_I32], values);
}

template <class T>
void check_panels(const host::PanelWriter<T>& writer) {
  const i64 width = writer.width;
  for (const i64 depth : {1, 3, 4, 5, 8, 30}) {
    for (i64 count = 1; count <= width; ++count) {
      const i64 ld = depth + 2;
      std::vector<T> rows(static_cast<std::size_t>(count * ld)), panel(static_cast<std::size_t>(width * depth), T(99));
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<T>(i + 1);
      writer.from_rows(panel.data(), rows.data(), ld, count, depth);
      int wrong = 0;
      for (i64 k = 0; k < depth; ++k)
        for (i64 r = 0; r < width; ++r)
          wrong += panel[static_cast<std::size_t>(k * width + r)] != (r < count ? static_cast<T>(r * ld + k + 1) : T(0));
      CHECK(wrong == 0);
    }
    const i64 count = 2 * width + 3;
    std::vector<T> panels(static_cast<std::size_t>(3 * width * depth), T(99)), slice(static_cast<std::size_t>(count));
    int wrong = 0;
    for (i64 k = 0; k < depth; ++k) {
      for (i64 i = 0; i < count; ++i) slice[static_cast<std::size_t>(i)] = static_cast<T>(k * 1000 + i);
      writer.from_slice(panels.data(), slice.data(), count, depth, k);
    }
    for (i64 i = 0; i < 3 * width; ++i) {
      for (i64 k = 0; k < depth; ++k) {
        const T got = panels[static_cast<std::size_t>(i / width * width * depth + k * width + i % width)];
        wrong += got != (i < count ? static_cast<T>(k * 1000 + i) : T(0));
      }
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("host isa: the portable loops are always there, and come last") {
  REQUIRE(!host::usable_isas().empty());
  CHECK(std::string(host::usable_isas().back()->name) == "baseline");
}

#if defined(__x86_64__)
// The system's own list of what the CPU has: a set that is missed here would skip tests, and cost the user speed, with no other sign.
TEST_CASE("host isa: each instruction set that the CPU has is used") {
  std::string line, flags;
  for (std::ifstream info("/proc/cpuinfo"); flags.empty() && std::getline(info, line);)
    if (line.rfind("flags", 0) == 0) flags = line + " ";
  REQUIRE(flags != "");
  const auto has = [&](const char* flag) { return flags.find(" " + std::string(flag) + " ") != std::string::npos; };
  const bool avx2 = has("avx2") && has("fma") && has("f16c");
  std::vector<std::string> wanted = {"baseline"}, got;
  if (avx2) wanted.insert(wanted.begin(), "avx2");
  if (avx2 && has("avx512f") && has("avx512bw")) wanted.insert(wanted.begin(), "avx512");
  for (const host::Isa* isa : host::usable_isas()) got.push_back(isa->name);
  CHECK(got == wanted);
}
#endif

TEST_CASE("host isa: rows are converted as numeric.cuh converts single elements") {
  std::vector<float> floats;
  for (std::uint64_t bits = 0; bits < (std::uint64_t(1) << 32); bits += 20011)
    floats.push_back(kernels::bit_cast<float>(static_cast<kernels::u32>(bits)));
  for (unsigned code = 0; code < 0x7c00; ++code) {  // each f16 and the midpoint above it
    const float low = kernels::F16Format::decode(code), high = kernels::F16Format::decode(code + 1);
    for (const float value : {low, -low}) floats.push_back(value);
    const float middle = std::isinf(high) ? 65520.0f : low / 2 + high / 2;
    for (const float value : {std::nextafter(middle, 0.0f), middle, -std::nextafter(middle, 1e9f)}) floats.push_back(value);
  }
  for (const kernels::u32 bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff812345u, 0x7fffffffu}) floats.push_back(kernels::bit_cast<float>(bits));
  const std::vector<double> doubles(floats.begin(), floats.end());
  for (const host::Isa* isa : host::usable_isas()) {
    INFO(isa->name);
    check_load<kernels::F16>(*isa, GGEMM_F16);
    check_load<kernels::Bf16>(*isa, GGEMM_BF16);
    check_load<kernels::E4m3>(*isa, GGEMM_E4M3);
    check_load<kernels::E5m2>(*isa, GGEMM_E5M2);
    check_stores(isa->f32, floats);
    check_stores(isa->f64, doubles);
    std::vector<float> rounded(floats.size());
    isa->f32.load[host::load_tf32](rounded.data(), floats.data(), 1, static_cast<i64>(floats.size()));
    int wrong = 0;
    for (std::size_t i = 0; i < floats.size(); ++i) wrong += !same(rounded[i], kernels::round_tf32(floats[i]));
    CHECK(wrong == 0);
  }
}

TEST_CASE("host isa: panels hold the elements of one k together, and 0 past the edge") {
  for (const host::Isa* isa : host::usable_isas()) {
    INFO(isa->name);
    check_panels(isa->f32.a);
    check_panels(isa->f32.b);
    check_panels(isa->f64.a);
    check_panels(isa->f64.b);
    check_panels(isa->int32.a);
    check_panels(isa->int32.b);
  }
}

TEST_CASE("host isa: each instruction set computes random products rightly") {
  for (const host::Isa* isa : host::usable_isas()) {
    for (std::uint64_t i = 0; i < 300; ++i) {
      Rng random(mix(seed_of_run() + 4000, i));
      HostCase x = random_case(random, i % 3 != 0, 100);
      INFO(isa->name << ", " << again("host isa: each instruction set*", i) << "\n" << x.text());
      run_by(*isa, x.type(), x.params());
      REQUIRE(x.judge() == "");
    }
  }
}

TEST_CASE("host isa: AVX2 and AVX-512 give the same bits") {
  const host::Isa* both[2] = {};
  for (const host::Isa* isa : host::usable_isas()) {
    if (!std::strcmp(isa->name, "avx512")) both[0] = isa;
    if (!std::strcmp(isa->name, "avx2")) both[1] = isa;
  }
  if (!both[0] || !both[1]) SKIP("needs a CPU with AVX2 and AVX-512");
  for (std::uint64_t i = 0; i < 200; ++i) {
    Rng random(mix(seed_of_run() + 5000, i));
    HostCase x = random_case(random, false, 120);
    INFO(again("host isa: AVX2 and AVX-512*", i) << "\n" << x.text());
    run_by(*both[0], x.type(), x.params());
    const auto wanted = x.d.bytes;
    x.restore();
    run_by(*both[1], x.type(), x.params());
    REQUIRE(x.d.bytes == wanted);
  }
}
