// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

namespace ggemm::tests {
namespace {

constexpr const char* help =
    R"(ggemm_conformance: random and degenerate products through the public interface, held against a float64 or exact reference.

  --device host|cuda      the device (host)
  --ordinal N             CUDA device ordinal (0)
  --mode LIST             of kernels and degenerate, separated by a comma (both)
                            kernels     kernels drawn from all that the library has for this device: family, types, layouts and configuration, output,
                                        epilogue, plain or grouped; each is prepared and then runs many random products: any sizes and strides,
                                        misaligned operands, operands against unmapped pages
                            degenerate  a fixed list of corner cases
  --seed S                (1)
  --budget S              seconds for all modes together; kernels are drawn until it is used up (none)
  --kernels N             at most N kernels (100 on the host; without a limit on CUDA, where --budget is then needed)
  --per-kernel N          random products of each kernel (40)
  --values exact|real|both  exact: integers whose result is known to the last bit, in every output type;
                            real: normal data, NaN, infinities, denormals under the element-wise bound (both)
  --first-kernel N        begin with kernel N of the seed, where an earlier run ended
  --shard I/N             only kernels, or corner cases, whose number is I modulo N: the part of one of N processes
  --kernel N, --case I    only kernel N, only product I of it (or only degenerate case I), which is described
  --kind plain|grouped|both
  --rows any|by-index|gathered|scattered  by-index: only kernels that find rows of A, or of D, where an index says; gathered: of A; scattered: of D (any)
  --epilogue any|bare|gated|halves  bare: alpha, beta and C alone, D of A's type, of bf16 for fp8, or the sums', rows in order, no scales but --scales; gated: pairs of columns are one; halves: pairs of both halves (any)
  --scales any|whole|A,B  whole: none by blocks; A, B: none, tensor, vector, 1x128 or 128x128, of A and of B (any)
  --family NAME           only this family of kernels
  --config NAME           only this configuration, where it is legal; for plain products it need not be in the library's table
  --dtype NAME            only this type of A and B: f64 f32 tf32 f32x3 f16 bf16 e4m3 e5m2 i8 mixed
  --sizes LIST            MxNxK, separated by commas: the sizes of every random product; one a group, the first where it is plain
  --repeat N              run every product N times (1); on the emulated GPU each run has another order of events
  --work N                multiply-adds of a product, at most (2^18 on the host; 2^22 on CUDA, where one in each kernel may be larger)
  --workers N             host threads that prepare kernels, run and check products (the cores, at most 32)
  --memory arena|exact    arena: mapped memory between unmapped pages; exact: one plain allocation an operand, for compute-sanitizer (arena)
  --until-wrong           no more products once one was wrong
  --big                   operands of more than 2^31 elements, among the degenerate cases
  --list-families         print the families that the device has kernels of, and end
  --json FILE             counts as JSON
A product is a function of the seed, the numbers of kernel and product, and the library's table of configurations.
Exit code: 0 if all is right, 1 if a case failed, 2 if the command line is wrong or the device cannot be used.
)";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "ggemm_conformance: %s (see --help)\n", why.c_str());
  std::exit(2);
}

double number(const std::string& key, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= 0)) refuse(key + "=" + text + " is not a number of 0 or more");
  return value;
}
std::int64_t whole(const std::string& key, const std::string& text) { return static_cast<std::int64_t>(number(key, text)); }

const std::string& one_of(const std::string& key, const std::string& value, const std::vector<std::string>& allowed) {
  for (const std::string& a : allowed)
    if (a == value) return value;
  refuse(key + "=" + value + " is not among the choices");
}

void read_shard(const std::string& text, Options& o) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) refuse("--shard=" + text + " is not I/N");
  o.shard = whole("--shard", text.substr(0, slash));
  o.shards = whole("--shard", text.substr(slash + 1));
  if (o.shard >= o.shards) refuse("--shard=" + text + ": I must be below N");
}

void read_sizes(const std::string& text, Options& o) {
  o.sizes.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size()), first = text.find('x', begin), second = first == std::string::npos ? first : text.find('x', first + 1);
    if (second >= end) refuse("--sizes=" + text + " is not MxNxK, ...");
    o.sizes.push_back({whole("--sizes", text.substr(begin, first - begin)), whole("--sizes", text.substr(first + 1, second - first - 1)), whole("--sizes", text.substr(second + 1, end - second - 1))});
    begin = end + 1;
  }
}

std::string sizes_text(const std::vector<Size>& sizes) {
  std::string out;
  for (const Size& s : sizes) out += (out.empty() ? "" : ",") + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
  return out;
}

const std::vector<std::string> scale_names = {"none", "tensor", "vector", "1x128", "128x128"};  // by ggemm_scale_kind

void read_scales(const std::string& key, const std::string& text, Options& o) {
  o.scales.clear();
  o.no_blocks = text == "whole";
  if (text == "any" || o.no_blocks) return;
  const std::size_t comma = std::min(text.find(','), text.size());
  for (const std::string& name : {text.substr(0, comma), text.substr(std::min(comma + 1, text.size()))})
    o.scales.push_back(static_cast<ggemm_scale_kind>(std::find(scale_names.begin(), scale_names.end(), one_of(key, name, scale_names)) - scale_names.begin()));
}

void read_modes(const std::string& text, Options& o) {
  o.kernels = o.degenerate = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    (one_of("--mode", text.substr(begin, end - begin), {"kernels", "degenerate"}) == "kernels" ? o.kernels : o.degenerate) = true;
    begin = end + 1;
  }
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  using Set = std::function<void(const std::string&, const std::string&)>;
  const std::map<std::string, Set> with_value = {
      {"--device", [&](auto& k, auto& v) { o.cuda = one_of(k, v, {"host", "cuda"}) == "cuda"; }},
      {"--ordinal", [&](auto& k, auto& v) { o.ordinal = static_cast<int>(whole(k, v)); }},
      {"--mode", [&](auto&, auto& v) { read_modes(v, o); }},
      {"--seed", [&](auto& k, auto& v) { o.seed = static_cast<std::uint64_t>(whole(k, v)); }},
      {"--budget", [&](auto& k, auto& v) { o.budget = number(k, v); }},
      {"--kernels", [&](auto& k, auto& v) { o.kernel_count = whole(k, v); }},
      {"--per-kernel", [&](auto& k, auto& v) { o.per_kernel = whole(k, v); }},
      {"--values", [&](auto& k, auto& v) { one_of(k, v, {"exact", "real", "both"}), o.exact = v != "real", o.real = v != "exact"; }},
      {"--first-kernel", [&](auto& k, auto& v) { o.first_kernel = whole(k, v); }},
      {"--shard", [&](auto&, auto& v) { read_shard(v, o); }},
      {"--kernel", [&](auto& k, auto& v) { o.only_kernel = whole(k, v); }},
      {"--case", [&](auto& k, auto& v) { o.only_case = whole(k, v); }},
      {"--rows", [&](auto& k, auto& v) { one_of(k, v, {"any", "by-index", "gathered", "scattered"}), o.by_index = v == "by-index", o.gathered = v == "gathered", o.scattered = v == "scattered"; }},
      {"--kind", [&](auto& k, auto& v) { one_of(k, v, {"plain", "grouped", "both"}), o.plain = v != "grouped", o.grouped = v != "plain"; }},
      {"--epilogue", [&](auto& k, auto& v) { one_of(k, v, {"any", "bare", "gated", "halves"}), o.bare = v == "bare", o.gated = v == "gated", o.halves = v == "halves"; }},
      {"--scales", [&](auto& k, auto& v) { read_scales(k, v, o); }},
      {"--family", [&](auto&, auto& v) { o.family = v; }},
      {"--config", [&](auto&, auto& v) { o.config = v; }},
      {"--dtype", [&](auto& k, auto& v) { o.dtype = one_of(k, v, {"f64", "f32", "tf32", "f32x3", "f16", "bf16", "e4m3", "e5m2", "i8", "mixed"}); }},
      {"--sizes", [&](auto&, auto& v) { read_sizes(v, o); }},
      {"--repeat", [&](auto& k, auto& v) { o.repeats = static_cast<int>(whole(k, v)); }},
      {"--work", [&](auto& k, auto& v) { o.work = number(k, v); }},
      {"--workers", [&](auto& k, auto& v) { o.workers = static_cast<int>(whole(k, v)); }},
      {"--memory", [&](auto& k, auto& v) { o.exact_memory = one_of(k, v, {"arena", "exact"}) == "exact"; }},
      {"--json", [&](auto&, auto& v) { o.json = v; }},
  };
  const std::map<std::string, bool*> flags = {{"--big", &o.big}, {"--until-wrong", &o.until_wrong}, {"--list-families", &o.list_families}};
  for (int i = 1; i < argc; ++i) {
    std::string key = argv[i], value;
    if (key == "--help" || key == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    }
    if (const auto flag = flags.find(key); flag != flags.end()) {
      *flag->second = true;
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
  if (o.kernel_count == 0 && !o.cuda) o.kernel_count = 100;
  if (o.kernels && o.kernel_count == 0 && o.budget == 0 && o.only_kernel < 0 && !o.list_families) refuse("--budget or --kernels must say how many kernels to draw");
  if (o.work == 0) o.work = o.cuda ? 1 << 22 : 1 << 18;
  return o;
}

namespace {

std::string repeat_start(const Options& o, const char* mode, const std::string& family) {
  char text[200];
  std::snprintf(text, sizeof text, "ggemm_conformance --device %s --mode %s --seed %llu", o.cuda ? "cuda" : "host", mode,
                static_cast<unsigned long long>(o.seed));
  return text + (family.empty() ? "" : " --family " + family) + (o.dtype.empty() ? "" : " --dtype " + o.dtype) +
         (o.config.empty() ? "" : " --config " + o.config) + (o.exact_memory ? " --memory exact" : "") + (o.sizes.empty() ? "" : " --sizes " + sizes_text(o.sizes)) + (o.repeats == 1 ? "" : " --repeat " + std::to_string(o.repeats));
}

}  // namespace

std::string repeat_kernel_case(const Options& o, std::int64_t kernel, std::int64_t number) {
  char text[200];
  std::snprintf(text, sizeof text, " --kernel %lld --case %lld --work %.0f", static_cast<long long>(kernel), static_cast<long long>(number), o.work);
  std::string out = repeat_start(o, "kernels", o.family) + text;
  if (o.exact != o.real) out += o.exact ? " --values exact" : " --values real";
  if (o.by_index || o.gathered || o.scattered) out += o.by_index ? " --rows by-index" : o.gathered ? " --rows gathered" : " --rows scattered";
  if (o.bare || o.gated || o.halves) out += o.bare ? " --epilogue bare" : o.gated ? " --epilogue gated" : " --epilogue halves";
  if (o.no_blocks) out += " --scales whole";
  if (!o.scales.empty()) out += " --scales " + scale_names[o.scales[0]] + "," + scale_names[o.scales[1]];
  if (o.plain != o.grouped) out += o.plain ? " --kind plain" : " --kind grouped";
  return out;
}

std::string repeat_degenerate_case(const Options& o, std::int64_t number) {
  return repeat_start(o, "degenerate", o.family) + " --case " + std::to_string(number) + (o.big ? " --big" : "");
}

}  // namespace ggemm::tests
