// SPDX-License-Identifier: Apache-2.0
#include "bench/suites.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/mersenne.hpp"
#include "common/failure.hpp"

namespace ggemm::bench {
namespace {

const std::array<const char*, 4> all_layouts{"nt", "nn", "tn", "tt"};
const std::array<std::int64_t, 14> token_counts{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};

struct Layer {
  std::int64_t n, k;
};
const std::array<Layer, 4> llama_layers{{{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}}};
const std::array<Layer, 6> deepseek_layers{{{2112, 7168}, {24576, 1536}, {32768, 512}, {7168, 16384}, {4096, 7168}, {7168, 2048}}};

void add(std::vector<Case>& cases, const char* name, const char* dtype, const char* layout, const Size& size) {
  Case one = single_case("plain", dtype, layout, size);
  one.name = std::string(name) + "_" + size_name(size);
  cases.push_back(std::move(one));
}

void add_squares(std::vector<Case>& cases) {
  for (const std::int64_t s : {256, 512, 1024, 2048, 4096, 8192, 16384})
    for (const char* layout : all_layouts) {
      const bool nt = std::string(layout) == "nt";
      add(cases, "square", "bf16", layout, {s, s, s});
      if (nt || s == 4096 || s == 8192) add(cases, "square", "f16", layout, {s, s, s});
      if (nt || (s >= 2048 && s <= 8192)) {
        add(cases, "square", "e4m3", layout, {s, s, s});
        add(cases, "square", "i8", layout, {s, s, s});
      }
      if (s >= 512 && s <= 8192) add(cases, "square", "tf32", layout, {s, s, s});
      if (s >= 512 && (nt ? s <= 8192 : s == 4096)) {
        add(cases, "square", "f32", layout, {s, s, s});
        add(cases, "square", "f32x3", layout, {s, s, s});
        add(cases, "square", "f64", layout, {s, s, s});
      }
    }
}

template <size_t N>
void add_model(std::vector<Case>& cases, const std::string& model, const std::array<Layer, N>& layers) {
  for (const auto& [n, k] : layers) {
    for (const std::int64_t m : token_counts) {
      add(cases, model.c_str(), "bf16", "nt", {m, n, k});
      add(cases, model.c_str(), "e4m3", "nt", {m, n, k});
    }
    for (const std::int64_t m : {2048, 8192}) {
      add(cases, (model + "-dgrad").c_str(), "bf16", "nn", {m, k, n});  // dX[m,k] = dY[m,n] W[n,k]
      add(cases, (model + "-wgrad").c_str(), "bf16", "tn", {n, k, m});  // dW[n,k] = dY[m,n]^T X[m,k]
    }
  }
}

void add_odd(std::vector<Case>& cases) {
  const size_t begin = cases.size();
  for (const char* layout : {"nt", "nn"}) {
    for (const Size& size : {Size{1023, 1023, 1023}, Size{4095, 4095, 4095}, Size{4097, 4093, 4099}, Size{333, 777, 555}, Size{2048, 50257, 768}})
      add(cases, "odd", "bf16", layout, size);
    add(cases, "odd-lda4097", "bf16", layout, {4096, 4096, 4096});
    cases.back().padding = 1;
    add(cases, "odd-base", "bf16", layout, {4096, 4096, 4096});
    cases.back().offset = 1;  // 2 bytes
  }
  add(cases, "odd", "tf32", "nt", {4095, 4095, 4095});
  for (size_t i = begin; i < cases.size(); i++) cases[i].category = "odd";
}

// One row or column, or 8 of them, beside what decode has of them: other types and layouts, and lines of any alignment. There is no mark for these.
void add_gemv(std::vector<Case>& cases) {
  const size_t begin = cases.size();
  for (const char* dtype : {"bf16", "f32", "f64", "e4m3", "i8"}) {
    const bool decode = std::string(dtype) == "bf16" || std::string(dtype) == "e4m3";
    if (!decode) add(cases, "gemv", dtype, "nt", {1, 4096, 4096});
    add(cases, "gemv", dtype, "nn", {1, 4096, 4096});
    add(cases, "gemv", dtype, "nt", {4096, 1, 4096});
    add(cases, "gemv", dtype, "tt", {4096, 1, 4096});
  }
  add(cases, "gemv", "f32", "nt", {8, 4096, 4096});
  add(cases, "gemv", "bf16", "nt", {4096, 8, 4096});
  add(cases, "gemv", "bf16", "nt", {28672, 1, 4096});
  add(cases, "gemv", "bf16", "nt", {1, 4095, 4095});
  add(cases, "gemv", "f32", "nt", {1, 4095, 4095});
  for (size_t i = begin; i < cases.size(); i++) cases[i].category = "gemv";
}

// Sizes that no list has, drawn evenly by octaves: most of them multiples of 64 or 16, some of 8, some any; two in five with few rows, few columns, short k or long k. They tell what the lists do not: what is chosen between the sizes that
// everybody measures.
void add_survey(std::vector<Case>& cases) {
  struct Share {
    const char* dtype;
    double flops;  // a second, about
  };
  const std::array<Share, 20> shares{{{"bf16", 8e14}, {"bf16", 8e14}, {"bf16", 8e14}, {"bf16", 8e14}, {"bf16", 8e14}, {"bf16", 8e14}, {"bf16", 8e14}, {"bf16", 8e14}, {"bf16", 8e14}, {"f16", 8e14},
                                      {"e4m3", 15e14}, {"e4m3", 15e14}, {"i8", 15e14}, {"i8", 15e14}, {"tf32", 4e14}, {"tf32", 4e14}, {"f32", 5e13}, {"f32", 5e13}, {"f64", 6e13}, {"f32x3", 1.3e14}}};
  constexpr std::size_t count = 64;
  PythonRandom random(31);
  for (std::size_t drawn = 0; drawn < count;) {
    const Share& share = shares[static_cast<std::size_t>(random.randrange(0, static_cast<int>(shares.size())))];
    const char* const layout = all_layouts[static_cast<std::size_t>(random.randrange(0, 4))];
    const double grain = random.random(), kind = random.random();
    const auto length = [&](double least, double most) {
      const double x = least * std::pow(most / least, random.random()), unit = grain < 0.1 ? 1 : grain < 0.4 ? 8 : x >= 256 ? 64 : 16;
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::lround(x / unit) * unit));
    };
    Size size{length(64, 8192), length(64, 16384), length(64, 8192)};
    if (kind < 0.2) size.m = std::max<std::int64_t>(1, length(1, 192));
    else if (kind < 0.28) size.n = std::max<std::int64_t>(1, length(1, 192));
    else if (kind < 0.34) size.k = length(8, 128);
    else if (kind < 0.4) size = {length(32, 512), length(32, 512), length(16384, 131072)};
    constexpr double longest = 500e-6;  // of a launch, in seconds
    if (2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k) > longest * share.flops) continue;
    Case one = single_case("plain", share.dtype, layout, size);
    one.name = "survey_" + size_name(size), one.category = "survey";
    cases.push_back(std::move(one));
    ++drawn;
  }
}

// What programs multiply that no list above has: many shapes are thin, or have little of k or much of it for the others. There is no mark for these.
void add_programs(std::vector<Case>& cases) {
  struct Program {
    const char *name, *dtype, *layout;
    std::vector<Size> sizes;
  };
  const std::vector<Program> programs{
      // Low-rank adapters: down to the rank, up from it, and the gradient of either.
      {"lora-down", "bf16", "nt", {{8192, 16, 4096}, {8192, 32, 4096}, {8192, 64, 4096}, {4096, 16, 14336}, {2048, 16, 2048}, {65536, 16, 1024}}},
      {"lora-down", "bf16", "nn", {{8192, 16, 4096}, {4096, 64, 4096}}},
      {"lora-up", "bf16", "nt", {{8192, 4096, 16}, {8192, 4096, 64}, {2048, 14336, 16}}},
      {"lora-grad", "bf16", "tn", {{16, 4096, 8192}, {4096, 16, 8192}}},
      // One head's scores, and values weighted by them; experts' scores of tokens; words' scores.
      {"scores", "bf16", "nt", {{1024, 1024, 128}, {2048, 2048, 64}, {4096, 4096, 128}}},
      {"values", "bf16", "nn", {{2048, 128, 2048}, {4096, 128, 4096}}},
      {"router", "bf16", "nt", {{16, 64, 4096}, {64, 256, 7168}, {4096, 64, 4096}, {8192, 256, 7168}, {32768, 128, 2048}}},
      {"words", "bf16", "nt", {{1, 128256, 4096}, {8, 128256, 4096}, {64, 151936, 2048}, {1024, 128256, 2048}, {2048, 32000, 4096}}},
      // Images of 197 patches each, and convolutions as products.
      {"patches", "bf16", "nt", {{12608, 768, 768}, {12608, 768, 3072}, {12544, 3072, 768}, {25216, 2304, 768}}},
      {"patches-wgrad", "bf16", "tn", {{768, 3072, 12608}}},
      {"convolution", "bf16", "nt", {{6272, 512, 4608}, {25088, 128, 1152}, {100352, 64, 576}, {200704, 64, 147}}},
      // Small networks.
      {"dense", "f32", "nn", {{128, 10, 784}, {128, 512, 784}, {5000, 100, 784}, {1000, 1000, 1000}, {64, 64, 64}, {200, 200, 200}}},
      {"dense-wgrad", "f32", "tn", {{784, 512, 128}}},
      {"dense", "f32", "nt", {{16, 4096, 4096}, {300, 16, 300}, {20000, 32, 512}}},
      // Long rows by a small matrix; what many long vectors have in common; a matrix by a few.
      {"rotate", "bf16", "nn", {{1000000, 32, 32}, {1000000, 16, 16}, {100000, 16, 16}}},
      {"rotate", "bf16", "nt", {{262144, 128, 128}, {1048576, 64, 64}}},
      {"rotate", "f32", "nn", {{1000000, 3, 3}, {1000000, 8, 8}, {3, 1000000, 3}, {1048576, 16, 16}, {1048576, 64, 64}, {16, 1048576, 16}, {8000, 3, 3}, {8000, 8, 8}, {3, 8000, 3}}},
      {"rotate", "f64", "nn", {{1000000, 3, 3}, {1000000, 8, 8}, {3, 1000000, 3}, {1048576, 16, 16}, {8000, 3, 3}, {8000, 8, 8}, {3, 8000, 3}}},
      {"gram", "bf16", "tn", {{32, 32, 1048576}, {64, 64, 1048576}, {128, 128, 262144}, {256, 256, 262144}}},
      {"gram", "f32", "tn", {{8, 8, 1000000}, {32, 32, 1048576}, {64, 64, 262144}, {128, 128, 65536}, {256, 256, 65536}}},
      {"gram", "f64", "tn", {{8, 8, 1000000}, {32, 32, 1048576}, {64, 64, 262144}, {128, 128, 65536}}},
      {"block", "f32", "nn", {{3000, 64, 3000}, {10000, 10, 10000}, {4096, 256, 4096}}},
      {"block", "f64", "nn", {{1000, 64, 1000}, {10000, 10, 10000}}},
      // What a factorisation takes from the rest, a panel after the other; and plain ones of sizes that are no powers of two.
      {"panel", "f32", "nn", {{2000, 2000, 200}}},
      {"panel", "f64", "nn", {{2000, 2000, 200}, {4096, 4096, 64}, {4096, 4096, 128}}},
      {"panel", "f64", "nt", {{4096, 4096, 32}, {4096, 4096, 64}}},
      {"product", "f64", "nn", {{100, 100, 100}, {500, 500, 500}, {3000, 3000, 3000}}},
      // Lines off 16 bytes.
      {"product", "f64", "nn", {{101, 101, 101}, {501, 503, 499}, {1023, 1023, 1023}, {2047, 2047, 2047}, {4095, 4095, 4095}}},
      {"product", "f64", "nt", {{301, 5003, 1201}}},
      {"product", "f32", "nn", {{501, 503, 499}, {1023, 1023, 1023}, {2047, 2047, 2047}, {4095, 4095, 4095}}},
  };
  const size_t begin = cases.size();
  for (const Program& program : programs)
    for (const Size& size : program.sizes) add(cases, program.name, program.dtype, program.layout, size);
  for (size_t i = begin; i < cases.size(); i++) cases[i].category = "programs";
}

std::vector<Case> plain_suite() {
  std::vector<Case> cases;
  add_squares(cases);
  add_model(cases, "llama3-8b", llama_layers);
  add_model(cases, "dsv3", deepseek_layers);
  for (const std::int64_t s : {128, 256, 512})
    for (const std::int64_t k : {16384, 65536}) add(cases, "longk", "bf16", "nt", {s, s, k});
  add(cases, "wide", "bf16", "nt", {128, 65536, 512});
  add(cases, "thousand", "bf16", "nt", {1000, 1000, 1000});
  add_odd(cases);
  add_gemv(cases);
  append_scaled(cases);
  add_survey(cases);
  add_programs(cases);
  return cases;
}

struct Experts {
  const char* model;
  int count;
  std::int64_t n, k;
};

const char* spread_name(Spread spread) {
  switch (spread) {
    case Spread::skewed:
      return "skewed";
    case Spread::balanced:
      return "balanced";
    case Spread::zipf:
      return "zipf";
    case Spread::one:
      return "one";
    case Spread::half:
      return "half";
  }
  return "";
}

void add_groups(std::vector<Case>& cases, const std::string& name, const std::string& generator, const std::vector<Size>& groups,
                const char* layout = "nt") {
  for (const char* dtype : {"bf16", "e4m3"}) {
    Case one;
    one.suite = "grouped";
    one.category = grouped_category(dtype, groups);
    one.name = name;
    one.dtype = dtype;
    one.layout = layout;
    one.groups = groups;
    one.generator = generator;
    cases.push_back(std::move(one));
  }
}

void add_experts(std::vector<Case>& cases, const Experts& e, std::int64_t tokens, Spread spread, const std::string& name) {
  std::vector<Size> groups;
  for (const std::int64_t rows : expert_rows(e.count, tokens, spread)) groups.push_back({rows, e.n, e.k});
  add_groups(cases, name, std::string("experts ") + std::to_string(e.count) + ", tokens " + std::to_string(tokens) + ", " + spread_name(spread),
             groups);
}

// Weight gradients of a layer of experts: the tokens are the inner dimension.
void add_expert_gradients(std::vector<Case>& cases, const Experts& e, std::int64_t tokens) {
  std::vector<Size> groups;
  for (const std::int64_t rows : expert_rows(e.count, tokens, Spread::skewed)) groups.push_back({e.n, e.k, rows});
  const std::string name = std::string(e.model) + "-wgrad_t" + std::to_string(tokens);
  add_groups(cases, name, "ragged k, experts " + std::to_string(e.count) + ", tokens " + std::to_string(tokens) + ", skewed", groups, "tn");
}

// Layers of experts that are not among those above, whole or a part of the experts, with 0.5 to 32 tokens an expert, and with 32 to 2048: what is chosen between the sizes that everybody measures.
void add_expert_survey(std::vector<Case>& cases) {
  const std::array<Experts, 14> layers{{{"gpt-oss-up", 128, 5760, 2880},
                                        {"gpt-oss-down", 128, 2880, 2880},
                                        {"glm-air-up", 128, 2816, 4096},
                                        {"glm-air-down", 128, 4096, 1408},
                                        {"dsv2-lite-up", 64, 2816, 2048},
                                        {"dsv2-lite-down", 64, 2048, 1408},
                                        {"scout-up", 16, 16384, 5120},
                                        {"scout-down", 16, 5120, 8192},
                                        {"qwen3-235b-up", 128, 3072, 4096},
                                        {"qwen3-235b-down", 128, 4096, 1536},
                                        {"olmoe-up", 64, 2048, 2048},
                                        {"granite-down", 40, 1536, 512},
                                        {"phi-moe-down", 16, 4096, 6400},
                                        {"dsv3-up-8th", 4, 4096, 7168}}};
  PythonRandom random(53);
  for (const Experts& e : layers)
    for (const bool many : {false, true}) {
      const auto tokens = static_cast<std::int64_t>(e.count * (many ? 32 : 0.5) * std::pow(64, random.random()));
      const Spread spread = std::array{Spread::skewed, Spread::skewed, Spread::zipf, Spread::half}[static_cast<std::size_t>(random.randrange(0, 4))];
      const std::size_t first = cases.size();
      add_experts(cases, e, tokens, spread, std::string(e.model) + "_t" + std::to_string(tokens) + "_" + spread_name(spread));
      for (std::size_t i = first; i < cases.size(); i++) cases[i].category = "grouped-survey";
    }
}

// 64 problems whose three sizes come from generators of their own, seeded i, i + 99 and i + 7.
std::vector<Size> mixed_sizes(int begin, int end, int factor) {
  std::vector<Size> out;
  const auto draw = [&](std::uint32_t seed) { return static_cast<std::int64_t>(PythonRandom(seed).randrange(begin, end)) * factor; };
  for (std::uint32_t i = 0; i < 64; i++) out.push_back({draw(i), draw(i + 99), draw(i + 7)});
  return out;
}

std::vector<Case> grouped_suite() {
  std::vector<Case> cases;
  const Experts dsv3_up{"dsv3-up", 32, 4096, 7168}, dsv3_down{"dsv3-down", 32, 7168, 2048}, mixtral_up{"mixtral-up", 8, 28672, 4096},
      mixtral_down{"mixtral-down", 8, 4096, 14336}, qwen3_up{"qwen3-up", 128, 1536, 2048}, qwen3_down{"qwen3-down", 128, 2048, 768};
  const auto listed = [&](const Experts& e, std::int64_t tokens) {
    add_experts(cases, e, tokens, Spread::skewed, std::string(e.model) + "_t" + std::to_string(tokens));
  };
  listed(dsv3_up, 4096);
  listed(dsv3_down, 4096);
  listed(dsv3_up, 32768);
  listed(mixtral_up, 8192);
  listed(mixtral_down, 8192);
  listed(qwen3_up, 32768);
  listed(qwen3_down, 32768);
  listed(qwen3_up, 512);
  listed(dsv3_up, 256);
  add_groups(cases, "mixed64", "64 problems, sizes 64..2048 step 64", mixed_sizes(1, 33, 64));
  std::vector<Size> odd = mixed_sizes(1, 2048, 1), eights = odd;
  for (Size& s : eights)
    for (std::int64_t* v : {&s.m, &s.n, &s.k}) *v = std::max<std::int64_t>(8, *v / 8 * 8);
  add_groups(cases, "mixed64_mult8", "64 problems, multiples of 8 up to 2047", eights);
  add_groups(cases, "mixed64_odd", "64 problems, sizes 1..2047", odd);
  add_groups(cases, "square4096_x4", "4 x 4096^3", std::vector<Size>(4, {4096, 4096, 4096}));
  add_groups(cases, "cubes_1024_to_128", "1024^3, 512^3, 256^3, 128^3", {{1024, 1024, 1024}, {512, 512, 512}, {256, 256, 256}, {128, 128, 128}});
  add_groups(cases, "two_small", "192x320x128, 256x448x192", {{192, 320, 128}, {256, 448, 192}});
  for (const Experts& e : {dsv3_up, dsv3_down, mixtral_up, mixtral_down, qwen3_up, qwen3_down}) {
    for (const Spread spread : {Spread::balanced, Spread::zipf, Spread::one, Spread::half})
      for (const std::int64_t tokens : {8, 32, 128, 512, 2048, 8192, 32768})
        add_experts(cases, e, tokens, spread, std::string(e.model) + "_t" + std::to_string(tokens) + "_" + spread_name(spread));
    add_expert_gradients(cases, e, 8192);
  }
  append_scaled(cases);
  append_forms(cases);
  add_expert_survey(cases);
  return cases;
}

std::vector<Case> quick_suite() {
  const auto wanted = [](const Case& c) {
    static const char* const plain[] = {"square_1024x1024x1024", "square_4096x4096x4096", "llama3-8b_16x4096x4096", "llama3-8b_2048x28672x4096",
                                        "longk_256x256x65536"};
    static const char* const grouped[] = {"dsv3-up_t4096", "qwen3-up_t32768", "qwen3-up_t512", "mixed64", "mixed64_odd"};
    for (const char* name : plain)
      if (c.name == name && c.layout == "nt" && c.dtype == "bf16") return true;
    for (const char* name : grouped)
      if (c.name == name && c.dtype == "bf16") return true;
    const bool square = c.name == "square_4096x4096x4096", nn = c.layout == "nn", nt = c.layout == "nt";
    return (square && ((nn && c.dtype == "bf16") || (nt && (c.dtype == "e4m3" || c.dtype == "i8" || c.dtype == "tf32" || c.dtype == "f16")))) ||
           (c.name == "odd_4095x4095x4095" && nt && c.dtype == "bf16");
  };
  std::vector<Case> cases;
  for (const std::vector<Case>& all : {plain_suite(), grouped_suite()})
    for (const Case& one : all)
      if (wanted(one)) {
        cases.push_back(one);
        cases.back().suite = "quick";
      }
  return cases;
}

}  // namespace

Case single_case(const std::string& suite, const std::string& dtype, const std::string& layout, const Size& size) {
  Case one;
  one.suite = suite;
  one.dtype = type_named(dtype).name;
  one.layout = layout;
  one.size = size;
  one.name = size_name(size);
  one.category = plain_category(one.dtype, layout, size);
  return one;
}

std::vector<std::int64_t> expert_rows(int experts, std::int64_t tokens, Spread spread) {
  std::vector<double> weights(static_cast<size_t>(experts), 0.0);
  PythonRandom random(0);
  for (int i = 0; i < experts; i++) switch (spread) {
      case Spread::skewed:
        weights[i] = random.random();
        break;
      case Spread::balanced:
        weights[i] = 1;
        break;
      case Spread::zipf:
        weights[i] = 1.0 / (i + 1);
        break;
      case Spread::one:
        weights[i] = i == 0;
        break;
      case Spread::half:
        weights[i] = i % 2 == 0;
        break;
    }
  double sum = 0;
  for (const double weight : weights) sum += weight;
  std::vector<std::int64_t> rows;
  std::int64_t given = 0;
  for (const double weight : weights) {
    rows.push_back(static_cast<std::int64_t>(static_cast<double>(tokens) * weight / sum));
    given += rows.back();
  }
  if (spread == Spread::skewed || spread == Spread::one) {
    rows[0] += tokens - given;
    return rows;
  }
  for (size_t i = 0; given < tokens; i = (i + 1) % rows.size())
    if (weights[i] > 0) {
      rows[i]++;
      given++;
    }
  return rows;
}

namespace {

std::vector<Case> host_quick_suite() {
  std::vector<Case> cases;
  for (const char* dtype : {"f32", "f64", "bf16", "i8"})
    for (const std::int64_t s : {64, 256}) cases.push_back(single_case("quick", dtype, "nt", {s, s, s}));
  cases.push_back(single_case("quick", "f32", "nn", {333, 77, 155}));
  std::vector<Case> groups;
  add_groups(groups, "experts8_t64", "experts 8, tokens 64, skewed", [] {
    std::vector<Size> sizes;
    for (const std::int64_t rows : expert_rows(8, 64, Spread::skewed)) sizes.push_back({rows, 64, 96});
    return sizes;
  }());
  groups[0].suite = "quick";
  cases.push_back(groups[0]);
  return cases;
}

}  // namespace

std::vector<Case> suite_cases(const std::string& suite, bool cuda) {
  if (suite == "plain") return plain_suite();
  if (suite == "grouped") return grouped_suite();
  if (suite == "quick") return cuda ? quick_suite() : host_quick_suite();
  tools::fail_usage("suite %s is not known: use plain, grouped, host or quick", suite.c_str());
}

}  // namespace ggemm::bench
