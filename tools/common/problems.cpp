// SPDX-License-Identifier: Apache-2.0
#include "common/problems.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "common/failure.hpp"
#include "common/mean_size.hpp"
#include "common/names.hpp"
#include "common/table.hpp"

namespace ggemm::tools {
namespace {

bool is_layout(const std::string& word) { return word.size() == 2 && (word[0] == 'n' || word[0] == 't') && (word[1] == 'n' || word[1] == 't'); }

ggemm_dtype find_dtype(const std::string& word) {
  for (int number = GGEMM_F64; number <= GGEMM_I32; ++number)
    if (word == ggemm_dtype_name(static_cast<ggemm_dtype>(number))) return static_cast<ggemm_dtype>(number);
  return GGEMM_DTYPE_NONE;
}

ProblemSize read_size(std::string word, const std::string& where) {
  std::replace(word.begin(), word.end(), ',', 'x');
  const std::vector<std::int64_t> extents = parse_extents(word, 3, where.c_str());
  return {extents[0], extents[1], extents[2]};
}

// "4096 4096 4096 f16 nn" or "grouped: 128,512,256 64,512,256 bf16".
ProblemSpec read_line(const std::string& line, const std::string& where, const ProblemSpec& defaults) {
  ProblemSpec spec = defaults;
  std::istringstream words(line);
  std::vector<std::string> numbers;
  for (std::string word; words >> word;) {
    if (word == "grouped:" && numbers.empty() && spec.sizes.empty()) {
      spec.grouped = true;
    } else if (is_layout(word)) {
      spec.layout = word;
    } else if (const ggemm_dtype dtype = find_dtype(word); dtype != GGEMM_DTYPE_NONE) {
      spec.dtype = dtype;
    } else if (spec.grouped) {
      spec.sizes.push_back(read_size(word, where));
    } else {
      numbers.push_back(word);
    }
  }
  if (spec.grouped) return spec;
  if (numbers.size() != 3) fail_usage("%s: '%s' is neither `M N K [dtype] [layout]` nor `grouped: M,N,K M,N,K ...`", where.c_str(), line.c_str());
  spec.sizes = {read_size(numbers[0] + "x" + numbers[1] + "x" + numbers[2], where)};
  return spec;
}

}  // namespace

const char* const suite_help =
    "A suite is a text file of one problem a line: `M N K [dtype] [layout]` or `grouped: M,N,K M,N,K ... [dtype] [layout]`; # begins a comment.\n"
    "Layouts say how A and B are stored: nn is A [m,k] and B [k,n], t is transposed, so that nt is A [m,k] and B [n,k].";

std::string ProblemSpec::text() const {
  std::string out = grouped ? format("grouped, %zu groups", sizes.size())
                            : format("%lldx%lldx%lld", (long long)sizes[0].m, (long long)sizes[0].n, (long long)sizes[0].k);
  out += std::string(" ") + (compute == GGEMM_COMPUTE_TF32 ? "tf32" : compute == GGEMM_COMPUTE_F32_ACCURATE ? "f32x3" : ggemm_dtype_name(dtype)) + " " + layout;
  return out_dtype == GGEMM_DTYPE_NONE ? out : out + " -> " + ggemm_dtype_name(out_dtype);
}

ggemm_problem ProblemSpec::problem() {
  const ggemm_dtype out = out_dtype == GGEMM_DTYPE_NONE ? default_out_dtype(dtype, dtype) : out_dtype;
  if (grouped) {
    fill_grouped();
    grouped_.a.dtype = grouped_.b.dtype = dtype;
    grouped_.d.dtype = out;
    grouped_.compute = compute;
    return {nullptr, &grouped_};
  }
  gemm_.m = sizes[0].m;
  gemm_.n = sizes[0].n;
  gemm_.k = sizes[0].k;
  gemm_.a.dtype = gemm_.b.dtype = dtype;
  gemm_.d.dtype = out;
  gemm_.compute = compute;
  // Stored transposed: down a column is contiguous.
  if (layout[0] == 't') {
    gemm_.a.row_stride = 1;
    gemm_.a.col_stride = std::max<std::int64_t>(1, gemm_.m);
  }
  if (layout[1] == 't') {
    gemm_.b.row_stride = 1;
    gemm_.b.col_stride = std::max<std::int64_t>(1, gemm_.k);
  }
  return {&gemm_, nullptr};
}

// Nothing runs on these sources: tuning and listing take the samples and the expected sizes.
void ProblemSpec::fill_grouped() {
  const auto count = static_cast<std::int64_t>(sizes.size());
  samples_.clear();
  std::int64_t m = 0, n = 0, k = 0;
  for (const ProblemSize& size : sizes) {
    samples_.insert(samples_.end(), {size.m, size.n, size.k});
    m += size.m;
    n += size.n;
    k += size.k;
  }
  grouped_.groups = count;
  if (count == 0) return;
  grouped_.expected_m = mean_size(m, count);
  grouped_.expected_n = mean_size(n, count);
  grouped_.expected_k = mean_size(k, count);
  const std::int64_t bytes = 3 * sizeof(std::int64_t);
  grouped_.m = ggemm_i64_at(samples_.data(), bytes);
  grouped_.n = ggemm_i64_at(samples_.data() + 1, bytes);
  grouped_.k = ggemm_i64_at(samples_.data() + 2, bytes);
  if (layout[0] == 't') {
    grouped_.a.row_stride = ggemm_const(1);
    grouped_.a.col_stride = grouped_.m;
  }
  if (layout[1] == 't') {
    grouped_.b.row_stride = ggemm_const(1);
    grouped_.b.col_stride = grouped_.k;
  }
}

bool is_named_suite(const std::string& suite) { return suite == "plain" || suite == "grouped" || suite == "quick"; }

void ProblemOptions::add_to(CLI::App& command) {
  command.add_option("--gemm", gemm, "a plain problem")->type_name("MxNxK")->expected(1, -1);
  command.add_option("--grouped", grouped, "a grouped problem: the sizes of its groups, separated by commas")
      ->type_name("MxNxK,MxNxK")
      ->expected(1, -1);
  command.add_option("--suite", suite, "file of problems, one a line; tune: or plain, grouped, quick")->type_name("FILE");
  add_dtype_option(command, "--dtype", dtype, "of A and B", GGEMM_I8)->default_str("bf16");
  add_dtype_option(command, "--out-dtype", out_dtype, "of D; as A and B, but f32 for fp8 and i32 for i8");
  command.add_option("--layout", layout, "how A and B are stored: nn, nt, tn or tt")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}).description(""))
      ->type_name("LAYOUT")
      ->default_str("nt");
  add_compute_option(command, compute);
}

std::vector<ProblemSpec> ProblemOptions::specs() const {
  ProblemSpec defaults;
  defaults.dtype = dtype;
  defaults.out_dtype = out_dtype;
  defaults.layout = layout;
  defaults.compute = compute;
  std::vector<ProblemSpec> out;
  for (const std::string& text : gemm) {
    out.push_back(defaults);
    out.back().sizes = {read_size(text, "--gemm")};
  }
  for (const std::string& text : grouped) {
    out.push_back(defaults);
    out.back().grouped = true;
    for (const std::string& word : split(text, ',')) out.back().sizes.push_back(read_size(word, "--grouped"));
  }
  if (!suite.empty()) {
    std::ifstream file(suite);
    const int reason = errno;
    if (!file && is_named_suite(suite)) fail_usage("--suite %s: a file of problems is wanted; the suites of `ggemm bench` are for it and for `ggemm tune`", suite.c_str());
    if (!file) fail_file("%s: %s", suite.c_str(), std::strerror(reason));
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      line.resize(std::min(line.find('#'), line.size()));
      if (std::all_of(line.begin(), line.end(), [](unsigned char c) { return std::isspace(c); })) continue;
      out.push_back(read_line(line, suite + ":" + std::to_string(number), defaults));
    }
    if (file.bad()) fail_file("%s: cannot be read", suite.c_str());
  }
  if (out.empty()) fail_usage("no problem given: say --gemm MxNxK, --grouped MxNxK,MxNxK or --suite FILE");
  return out;
}

}  // namespace ggemm::tools
