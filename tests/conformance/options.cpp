// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "support/formats.hpp"

namespace ggemm::tests {
namespace {

constexpr const char* help =
    R"(ggemm_conformance: random and degenerate products through the public interface, held against a float64 or exact reference.

  --device host|cuda      the device (host)
  --ordinal N             CUDA device ordinal (0)
  --mode LIST             of exact, real, guard, configs, degenerate, separated by commas, or all (all)
                            exact       integers whose result is known to the last bit, in every output type
                            real        normal data, NaN, infinities, denormals; the element-wise bound
                            guard       exact, with every operand against an unmapped page
                            configs     guard, with every configuration of every type and layout at least twice
                            degenerate  a fixed list of corner cases
  --cases N               plain cases of each of exact, real and guard (500)
  --grouped-cases N       grouped cases likewise (200)
  --kind plain|grouped|both
  --seed S                (1)
  --case I                only case I
  --family simt|sm80|host|any   only configurations of this family (any)
  --config NAME           only this configuration, where it is legal
  --dtype NAME            only this type of A and B: f64 f32 tf32 f16 bf16 e4m3 e5m2 i8
  --per-class N           cases in a row that share a kernel (1 on the host, 8 on CUDA)
  --work N                multiply-adds of a case, at most (1048576)
  --workers N             host threads that run and check cases (the cores, at most 16)
  --time-limit S          seconds for all modes together, shared out evenly (none)
  --memory arena|exact    arena: mapped memory between unmapped pages; exact: one plain allocation an operand, for compute-sanitizer (arena)
  --big                   operands of more than 2^31 elements, among the degenerate cases
  --json FILE             counts as JSON
Exit code: 0 if all is right, 1 if a case failed, 2 if the command line is wrong or the device cannot be used.
)";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "ggemm_conformance: %s (see --help)\n", why.c_str());
  std::exit(2);
}

double number(const std::string& key, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || value < 0) refuse(key + "=" + text + " is not a number of 0 or more");
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

const std::string& one_of(const std::string& key, const std::string& value, const std::vector<std::string>& allowed) {
  for (const std::string& a : allowed)
    if (a == value) return value;
  refuse(key + "=" + value + " is not among the choices");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  const std::vector<std::string> all_modes = o.modes;
  using Set = std::function<void(const std::string&, const std::string&)>;
  const std::map<std::string, Set> with_value = {
      {"--device", [&](auto& k, auto& v) { o.cuda = one_of(k, v, {"host", "cuda"}) == "cuda"; }},
      {"--ordinal", [&](auto& k, auto& v) { o.ordinal = static_cast<int>(number(k, v)); }},
      {"--mode",
       [&](auto& k, auto& v) {
         if (v == "all") return;
         o.modes = split(v);
         for (const auto& mode : o.modes) one_of(k, mode, all_modes);
       }},
      {"--cases", [&](auto& k, auto& v) { o.cases = static_cast<std::int64_t>(number(k, v)); }},
      {"--grouped-cases", [&](auto& k, auto& v) { o.grouped_cases = static_cast<std::int64_t>(number(k, v)); }},
      {"--kind", [&](auto& k, auto& v) { one_of(k, v, {"plain", "grouped", "both"}), o.plain = v != "grouped", o.grouped = v != "plain"; }},
      {"--seed", [&](auto& k, auto& v) { o.seed = static_cast<std::uint64_t>(number(k, v)); }},
      {"--case", [&](auto& k, auto& v) { o.only_case = static_cast<std::int64_t>(number(k, v)); }},
      {"--family", [&](auto& k, auto& v) { o.family = one_of(k, v, {"simt", "sm80", "host", "any"}); }},
      {"--config", [&](auto&, auto& v) { o.config = v; }},
      {"--dtype", [&](auto& k, auto& v) { o.dtype = one_of(k, v, {"f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "i8"}); }},
      {"--per-class", [&](auto& k, auto& v) { o.per_class = static_cast<int>(number(k, v)); }},
      {"--work", [&](auto& k, auto& v) { o.work = number(k, v); }},
      {"--workers", [&](auto& k, auto& v) { o.workers = static_cast<int>(number(k, v)); }},
      {"--time-limit", [&](auto& k, auto& v) { o.time_limit = number(k, v); }},
      {"--memory", [&](auto& k, auto& v) { o.exact_memory = one_of(k, v, {"arena", "exact"}) == "exact"; }},
      {"--json", [&](auto&, auto& v) { o.json = v; }},
  };
  for (int i = 1; i < argc; ++i) {
    std::string key = argv[i], value;
    if (key == "--help" || key == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    }
    if (key == "--big") {
      o.big = true;
      continue;
    }
    const std::size_t equals = key.find('=');
    const bool joined = equals != std::string::npos;
    if (joined) value = key.substr(equals + 1), key.resize(equals);
    const auto found = with_value.find(key);
    if (found == with_value.end()) refuse(key + " is not an option");
    if (!joined && ++i >= argc) refuse(key + " needs a value");
    found->second(key, joined ? value : argv[i]);
  }
  if (o.per_class == 0) o.per_class = o.cuda ? 8 : 1;
  return o;
}

std::string repeat_command(const Options& o, const std::string& mode, bool grouped, std::int64_t number) {
  char text[400];
  std::snprintf(text, sizeof text, "ggemm_conformance --device %s --mode %s --kind %s --seed %llu --case %lld --per-class %d --work %.0f --family %s",
                o.cuda ? "cuda" : "host", mode.c_str(), grouped ? "grouped" : "plain", static_cast<unsigned long long>(o.seed),
                static_cast<long long>(number), o.per_class, o.work, o.family.c_str());
  std::string out = text;
  if (!o.dtype.empty()) out += " --dtype " + o.dtype;
  if (!o.config.empty()) out += " --config " + o.config;
  if (o.exact_memory) out += " --memory exact";
  if (o.big) out += " --big";
  return out;
}

}  // namespace ggemm::tests
