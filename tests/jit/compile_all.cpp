// SPDX-License-Identifier: Apache-2.0
// Compiles the shipped kernels by the real NVRTC for every architecture, and fails on a warning, a spill (but of the largest tiles), local
// memory that is no spill, clusters that the binary does not have as the configuration says, boxes that are asked for lane by lane, or bits that differ between two compiles.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "complaints.hpp"
#include "core/error.hpp"
#include "core/library.hpp"
#include "core/problem.hpp"
#include "jit/jit.hpp"
#include "jit/render.hpp"
#include "select/space.hpp"
#include "select/table.hpp"

using namespace ggemm;

namespace {

constexpr const char* usage = R"(Usage: ggemm_compile_all [options]
Compiles the shipped kernels by NVRTC (GGEMM_NVRTC, else searched for) and reports warnings, spills and compiles that are not repeatable.

  --sample N     about N kernels: every configuration on every architecture at least once, with dtypes, layouts, forms and epilogues
                 taking turns (default, 120)
  --names        every configuration by name, so with every dtype and layout, plain and grouped, on every architecture: some 14000 kernels
  --all          every configuration with every dtype, layout, form and epilogue
  --arch A,B     only these architectures
  --kernel A,B   of all kernels those of these names, or, where there is none, those whose name contains it; prints what ptxas says
  --part I/N     of those that the other options say every Nth, from the Ith
  --threads N    compiles at once (default: the cores allowed)
  --list         print the names and compile nothing
  --help
Exit code: 0 all is well, 1 a kernel failed, 2 wrong arguments, 4 there is no NVRTC.
)";

// -------------------------------------------------------------------------------------------------------- what there is to compile

// Shared memory: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
struct Arch {
  const char* name;
  int capability, shared_per_block_kib, shared_per_multiprocessor_kib;
};
constexpr Arch archs[] = {{"sm_75", 75, 64, 64},    {"sm_80", 80, 163, 164},   {"sm_86", 86, 99, 100}, {"sm_89", 89, 99, 100},
                          {"sm_90a", 90, 227, 228}, {"sm_100", 100, 227, 228}, {"sm_120", 120, 99, 100}};

core::DeviceFacts facts_of(const Arch& arch) {
  core::DeviceFacts facts;
  facts.cuda = true;
  facts.compute_capability = arch.capability;
  facts.multiprocessors = 132;  // more than any cluster has CTAs
  facts.shared_per_block = arch.shared_per_block_kib * 1024;
  facts.shared_per_multiprocessor = arch.shared_per_multiprocessor_kib * 1024;
  facts.f64_slower = 2;  // as on GPUs for data centres, so that kernels of f32 as f64 are among them
  facts.arch = facts.name = arch.name;
  return facts;
}

struct Dtypes {
  ggemm_dtype a, b, d;
  ggemm_compute compute;
  ggemm_dtype c = GGEMM_DTYPE_NONE;  // D's
};
// Compiled in every layout, form and epilogue.
constexpr Dtypes main_dtypes[] = {
    {GGEMM_BF16, GGEMM_BF16, GGEMM_BF16, GGEMM_COMPUTE_DEFAULT}, {GGEMM_BF16, GGEMM_BF16, GGEMM_F32, GGEMM_COMPUTE_DEFAULT},
    {GGEMM_F16, GGEMM_F16, GGEMM_F16, GGEMM_COMPUTE_DEFAULT},    {GGEMM_F16, GGEMM_F16, GGEMM_F32, GGEMM_COMPUTE_DEFAULT},
    {GGEMM_F32, GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_TF32},       {GGEMM_F32, GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_DEFAULT},
    {GGEMM_F32, GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_F32_ACCURATE},
    {GGEMM_F64, GGEMM_F64, GGEMM_F64, GGEMM_COMPUTE_DEFAULT},    {GGEMM_I8, GGEMM_I8, GGEMM_I32, GGEMM_COMPUTE_DEFAULT},
    {GGEMM_I8, GGEMM_I8, GGEMM_I8, GGEMM_COMPUTE_DEFAULT},       {GGEMM_E4M3, GGEMM_E4M3, GGEMM_BF16, GGEMM_COMPUTE_DEFAULT},
    {GGEMM_E4M3, GGEMM_E4M3, GGEMM_E4M3, GGEMM_COMPUTE_DEFAULT}, {GGEMM_E5M2, GGEMM_E5M2, GGEMM_E5M2, GGEMM_COMPUTE_DEFAULT}};

// Without and with activation and bias; scales; gated pairs. i32 epilogues have no gelu and take relu for it; they and f64 have no scales, and they have no gate.
struct Epilogue {
  bool activation;
  ggemm_bias bias;
  ggemm_scale_kind scale_a = GGEMM_SCALE_NONE, scale_b = GGEMM_SCALE_NONE;
  ggemm_gate gate = GGEMM_GATE_NONE;
};
constexpr Epilogue epilogues[] = {{false, GGEMM_BIAS_NONE},
                                  {true, GGEMM_BIAS_NONE},
                                  {false, GGEMM_BIAS_PER_COLUMN},
                                  {true, GGEMM_BIAS_PER_ROW},
                                  {false, GGEMM_BIAS_NONE, GGEMM_SCALE_TENSOR, GGEMM_SCALE_TENSOR, GGEMM_GATE_HALVES},
                                  {true, GGEMM_BIAS_PER_COLUMN, GGEMM_SCALE_VECTOR, GGEMM_SCALE_VECTOR, GGEMM_GATE_INTERLEAVED},
                                  {false, GGEMM_BIAS_NONE, GGEMM_SCALE_BLOCK_1X128, GGEMM_SCALE_BLOCK_128X128},
                                  {true, GGEMM_BIAS_PER_ROW, GGEMM_SCALE_BLOCK_128X128, GGEMM_SCALE_BLOCK_1X128, GGEMM_GATE_HALVES},
                                  {true, GGEMM_BIAS_PER_COLUMN, GGEMM_SCALE_VECTOR, GGEMM_SCALE_VECTOR, GGEMM_GATE_HALVES},
                                  {false, GGEMM_BIAS_NONE, GGEMM_SCALE_BLOCK_1X128, GGEMM_SCALE_BLOCK_128X128, GGEMM_GATE_HALVES}};
constexpr int epilogue_count = sizeof epilogues / sizeof epilogues[0];

// Plain, grouped, and with rows of D, of A and D, that lie where an index says; by the copy engine alone; groups whose D lies along m, as those of a ragged m may (of most others the transposed product is computed); and with operands in lines off 16 bytes.
struct Form {
  int grouped;
  bool by_engine = false;
  core::Major major_d = core::Major::k;
  std::uint8_t unaligned = 0;
};
constexpr Form forms[] = {{0}, {core::grouped_call}, {core::grouped_call | core::scattered_rows}, {core::grouped_call | core::scattered_rows | core::gathered_rows}, {0, true}, {core::grouped_call, true}, {core::grouped_call | core::batch_groups}, {core::grouped_call | core::batch_groups, true}, {core::grouped_call, false, core::Major::mn}, {0, false, core::Major::k, core::operand_a}, {0, false, core::Major::k, core::operand_b}, {0, false, core::Major::k, core::operand_a | core::operand_b}, {core::grouped_call | core::batch_groups, false, core::Major::k, core::operand_a | core::operand_b}};
constexpr int form_count = sizeof forms / sizeof forms[0];

// One way to fill in a problem's type.
struct Variant {
  core::ProblemType type;
  int layout, form, epilogue;
};

Variant variant(const Dtypes& dtypes, int layout, int form, int epilogue) {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.n = desc.k = 64;
  desc.a.dtype = dtypes.a, desc.b.dtype = dtypes.b, desc.c.dtype = dtypes.c, desc.d.dtype = dtypes.d;
  desc.compute = dtypes.compute;
  const auto along_rows = [](ggemm_matrix& matrix) { matrix.row_stride = 1, matrix.col_stride = 64; };
  if (layout & 1) along_rows(desc.a);
  if (layout & 2) along_rows(desc.b);
  const bool int_epilogue = dtypes.a == GGEMM_I8 && dtypes.b == GGEMM_I8 && dtypes.d == GGEMM_I32;
  if (epilogues[epilogue].activation) desc.epilogue.activation = int_epilogue ? GGEMM_ACTIVATION_RELU : GGEMM_ACTIVATION_GELU;
  desc.epilogue.bias = epilogues[epilogue].bias;
  if (!int_epilogue) desc.epilogue.gate = epilogues[epilogue].gate;
  if (!int_epilogue && dtypes.a != GGEMM_F64 && dtypes.b != GGEMM_F64) desc.scale_a.kind = epilogues[epilogue].scale_a, desc.scale_b.kind = epilogues[epilogue].scale_b;
  Variant out{core::check_problem(desc).type, layout, form, epilogue};
  out.type.grouped = static_cast<std::uint8_t>(forms[form].grouped), out.type.by_engine = forms[form].by_engine, out.type.major_d = forms[form].major_d, out.type.unreachable = forms[form].unaligned;
  return out;
}

// The main dtypes in all variants; then every pair of A and B with every D once, the other parts taking turns.
std::vector<Variant> all_variants() {
  std::vector<Variant> out;
  for (const Dtypes& dtypes : main_dtypes)
    for (int i = 0; i < 4 * form_count * epilogue_count; ++i) out.push_back(variant(dtypes, i % 4, i / 4 % form_count, i / 4 / form_count));
  int place = 0;
  for (int a = GGEMM_F64; a <= GGEMM_I8; ++a) {
    for (int b = GGEMM_F64; b <= GGEMM_I8; ++b) {
      for (int d = GGEMM_F64; d <= GGEMM_I32; ++d, ++place) {
        Dtypes dtypes{static_cast<ggemm_dtype>(a), static_cast<ggemm_dtype>(b), static_cast<ggemm_dtype>(d), GGEMM_COMPUTE_DEFAULT, static_cast<ggemm_dtype>(1 + place * 5 % 8)};
        const bool int_epilogue = a == GGEMM_I8 && b == GGEMM_I8 && d == GGEMM_I32;  // takes C as i32
        if (int_epilogue) dtypes.c = GGEMM_I32;
        out.push_back(variant(dtypes, place % 4, place / 4 % form_count, place / 3 % epilogue_count));
      }
    }
  }
  return out;
}

// Groups whose lines of D wait, in all layouts: few kernels, so that they take no turns with others.
std::vector<Variant> lines_variants() {
  std::vector<Variant> out;
  for (const Dtypes& dtypes : main_dtypes)
    for (int layout = 0; layout < 4; ++layout) {
      out.push_back(variant(dtypes, layout, 1, 0));
      out.back().type.lines_wait = 1;
    }
  return out;
}

// By the copy engine alone only kernels of sm90 are other ones, but for slices of k; in lines off 16 bytes those of f64's products; and there is no batch with pairs of halves or scales by blocks.
bool made(const core::ProblemType& type, const core::Config& config, const core::DeviceFacts& facts) {
  if (config.family == core::Family::host || (type.by_engine && (config.family != core::Family::sm90 || config.slices > core::tail_slices))) return false;
  if (type.lines_wait && !core::lines_may_wait(type, config)) return false;
  if (type.unreachable && core::unaligned_operands(core::compiled(type, config.family), config) != type.unreachable) return false;
  if ((type.grouped & core::batch_groups) && (type.gate == GGEMM_GATE_HALVES || core::scaled_by_blocks(type))) return false;
  return !select::illegal(type, config, facts);
}

struct Task {
  const Arch* arch;
  core::ProblemType type;
  core::Config config;
  jit::Request request() const { return jit::render(core::compiled(type, config.family), config, select::min_ctas(type, config), select::tile_notes(type, config), arch->name); }
  std::string label() const { return arch->name + (" " + request().name); }
};

std::vector<Task> all_tasks(const std::vector<const Arch*>& chosen) {
  std::vector<Task> out;
  std::vector<Variant> variants = all_variants();
  for (const Variant& v : lines_variants()) variants.push_back(v);
  for (const Arch* arch : chosen) {
    const core::DeviceFacts facts = facts_of(*arch);
    for (const Variant& v : variants)
      for (const core::Config& config : select::table(v.type))
        if (made(v.type, config, facts)) out.push_back({arch, v.type, config});
  }
  return out;
}

// The first of each configuration's name, plain and grouped.
std::vector<Task> named_tasks(const std::vector<const Arch*>& chosen) {
  std::vector<Task> out;
  std::set<std::string> taken;
  for (Task& task : all_tasks(chosen))
    if (taken.insert(task.arch->name + (" " + core::kernel_name(task.type, task.config)) + (task.type.grouped & core::batch_groups ? " batch" : task.type.grouped ? " grouped" : "") + (task.type.by_engine ? " by engine" : "") + (task.type.lines_wait ? " lines" : "") + (task.type.unreachable ? " unaligned " + std::to_string(task.type.unreachable) : "")).second) out.push_back(std::move(task));
  return out;
}

// What a kernel is made of, for taking turns: dtypes, layout, form, epilogue, and some of them in pairs; of each family by itself.
std::array<std::array<int, 4>, 9> parts_of(const Variant& v, core::Family family) {
  const int f = static_cast<int>(family), a = v.type.a + 10 * v.type.compute;
  return {{{0, f, a, 0}, {1, f, v.type.b, 0}, {2, f, v.type.d, 0}, {3, f, v.layout, 0}, {4, f, v.form, 0}, {5, f, v.epilogue, 0}, {6, f, a, v.layout}, {7, f, a, v.form}, {8, f, v.form, v.epilogue}}};
}

// A configuration whatever the type, as tables of different types have it: its depth in bytes where it is so in the table, and without stages.
core::Config shape_of(const core::ProblemType& type, core::Config config) {
  const bool tensor = config.family == core::Family::sm80 || config.family == core::Family::sm90;
  if (tensor) config.tile_k = static_cast<std::uint16_t>(config.tile_k * select::operand_size(type, config.family));
  config.stages = 0;
  return config;
}

// Of groups of bf16 whose lines of D wait, each shape in one layout.
std::vector<Task> sample_of_lines(const std::vector<const Arch*>& chosen) {
  std::vector<Task> out;
  const std::vector<Variant> variants = lines_variants();
  std::vector<core::Config> taken;
  for (const Arch* arch : chosen)
    for (const core::Config& config : select::table(variants[0].type)) {
      const core::Config shape = shape_of(variants[0].type, config);
      const Variant& v = variants[taken.size() % 4];
      for (const core::Config& other : select::table(v.type))
        if (shape_of(v.type, other) == shape && made(v.type, other, facts_of(*arch)) && std::ranges::find(taken, shape) == taken.end()) taken.push_back(shape), out.push_back({arch, v.type, other});
    }
  return out;
}

// Takes shapes of the tables and architectures in turn, each time with the legal variant whose parts were used least so far.
std::vector<Task> sample_tasks(const std::vector<const Arch*>& chosen, std::size_t count) {
  std::vector<Task> out;
  const std::vector<Variant> variants = all_variants();
  // Of each shape, in the tables' order, the variants that have it, and how.
  struct Use {
    std::size_t variant;
    core::Config config;
  };
  std::vector<std::pair<core::Config, std::vector<Use>>> shapes;
  for (std::size_t i = 0; i < variants.size(); ++i)
    for (const core::Config& config : select::table(variants[i].type)) {
      if (config.family == core::Family::host) continue;
      const core::Config shape = shape_of(variants[i].type, config);
      auto at = std::find_if(shapes.begin(), shapes.end(), [&](const auto& s) { return s.first == shape; });
      if (at == shapes.end()) at = shapes.insert(at, {shape, {}});
      at->second.push_back({i, config});
    }
  std::map<std::array<int, 4>, int> used;
  std::set<std::string> taken;
  // Null if there is none left.
  const auto choose = [&](const Arch& arch, const std::vector<Use>& uses) {
    const Use* best = nullptr;
    int least = 0;
    for (const Use& use : uses) {
      const Variant& v = variants[use.variant];
      if (!made(v.type, use.config, facts_of(arch))) continue;
      int cost = 0;
      for (const auto& part : parts_of(v, use.config.family)) cost += used[part];
      if (best && cost >= least) continue;
      if (!taken.contains(Task{&arch, v.type, use.config}.label())) best = &use, least = cost;
    }
    return best;
  };
  for (bool first = true, more = true; more && (first || out.size() < count); first = false) {
    more = false;
    for (const auto& [shape, uses] : shapes) {
      for (const Arch* arch : chosen) {
        if (!first && out.size() >= count) return out;  // the first turn is always made to its end
        const Use* const use = choose(*arch, uses);
        if (!use) continue;
        more = true;
        const Variant& v = variants[use->variant];
        out.push_back({arch, v.type, use->config});
        taken.insert(out.back().label());
        for (const auto& part : parts_of(v, use->config.family)) ++used[part];
      }
    }
  }
  return out;
}

// ------------------------------------------------------------------------------------------------------------------- compiling

// most_shared: bytes of static shared memory that the library counts with.
struct Listed : jit::Request {
  std::int64_t most_shared = INT64_MAX;
};

struct Result {
  std::string complaint;  // "" if all is well
  std::string log;
  double seconds = 0;
  int registers = 0, stack_bytes = 0;
};

// 1: the request has no such define.
int number(const jit::Request& request, const char* name) {
  for (const auto& [define, value] : request.defines)
    if (define == name) return std::stoi(value);
  return 1;
}

// The CTAs of a cluster that a binary tells the driver of, by an attribute of three words (cuobjdump: EIATTR_CTA_PER_CLUSTER) of which the kernels' last two are 1; 0: it tells of none.
int clusters_of(const jit::Cubin& cubin) {
  for (char ctas = 1; ctas <= 16; ++ctas)
    if (cubin.bytes.find(std::string{4, 0x3d, 12, 0, ctas, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}) != std::string::npos) return ctas;
  return 0;
}

// A word of a binary at a byte; 0 behind its end.
template <class Word>
Word word_at(const std::string& bytes, std::uint64_t at) {
  Word word = 0;
  if (at + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// Boxes that the copy engine is asked for; and those by a loop over lanes: where ptxas takes their place for other in each lane it is brought to uniform registers behind a predicate, right before the instruction. By sm_90's machine code of
// 16 bytes an instruction (nvdisasm: UTMALDG, R2UR), whose sections the ELF header tells.
struct Boxes {
  int all = 0, by_lane = 0;
};
Boxes boxes_of(const jit::Cubin& cubin) {
  constexpr std::uint64_t executable = 4;  // a section's flag
  const std::string& bytes = cubin.bytes;
  const auto headers = word_at<std::uint64_t>(bytes, 0x28), size = std::uint64_t(word_at<std::uint16_t>(bytes, 0x3a));
  Boxes out;
  for (std::uint64_t section = 0; section < word_at<std::uint16_t>(bytes, 0x3c); ++section) {
    const std::uint64_t header = headers + section * size, first = word_at<std::uint64_t>(bytes, header + 0x18), end = first + word_at<std::uint64_t>(bytes, header + 0x20);
    if (!(word_at<std::uint64_t>(bytes, header + 8) & executable)) continue;
    for (std::uint64_t at = first; at < end; at += 16) {
      const auto is = [&bytes](std::uint64_t place, unsigned mask, unsigned code) { return (word_at<std::uint32_t>(bytes, place) & mask) == code; };
      if (!is(at, 0x1ff, 0x1b4)) continue;
      constexpr std::uint64_t near = 10;  // instructions
      bool moved = false;
      for (std::uint64_t before = 1; before <= near && at >= first + 16 * before; ++before) moved |= is(at - 16 * before, 0xfff, 0x2ca) && !is(at - 16 * before, 0xf000, 0x7000);
      ++out.all, out.by_lane += moved;
    }
  }
  return out;
}

Result compile(const jit::Jit& jit, const Listed& request, bool twice) {
  Result out;
  try {
    const jit::Cubin cubin = jit.get(request);
    out.log = cubin.log;
    out.seconds = cubin.seconds;
    out.registers = tests::number_before(cubin.log, " registers");
    out.stack_bytes = tests::number_before(cubin.log, " bytes stack frame");
    const auto add = [&](const std::string& what) { out.complaint += (what.empty() || out.complaint.empty() ? "" : "\n") + what; };
    add(tests::complaints(cubin.log));
    const int shared = tests::number_before(cubin.log, " bytes smem");
    if (shared == 0 && request.name.starts_with("ggemm_sm90") && request.name.find("grouped") != std::string::npos) add("the log says nothing of shared memory:\n" + cubin.log);
    if (shared > request.most_shared) add(std::to_string(shared) + " bytes of static shared memory, where " + std::to_string(request.most_shared) + " are counted");
    // One CTA is none, so that a launch says how its CTAs are dealt.
    const int ctas = request.root == "sm90.cu" ? number(request, "GG_CLUSTER_M") * number(request, "GG_CLUSTER_N") * number(request, "GG_CLUSTER_K") : 1;
    if (const int told = clusters_of(cubin); told != (ctas == 1 ? 0 : ctas)) add("the binary tells of clusters of " + std::to_string(told) + " CTAs, where the configuration has " + std::to_string(ctas));
    if (request.root == "sm90.cu") {
      const Boxes boxes = boxes_of(cubin);
      if (boxes.all == 0) add("no box is found in the binary");
      if (boxes.by_lane) add(std::to_string(boxes.by_lane) + " boxes are asked for lane by lane");
    }
    if (twice && jit.get(request).bytes != cubin.bytes) add("a second compile gives other bits");
  } catch (const core::Error& error) {
    out.complaint = error.text();
  }
  return out;
}

struct Totals {
  int compiled = 0, failed = 0, with_stack = 0, registers = 0;
  double seconds = 0;
};

// Runs the tasks on all threads and prints each failure, progress at most every half minute.
class Work {
 public:
  Work(const jit::Jit& jit, const std::vector<Listed>& tasks, bool print_logs) : jit_(jit), tasks_(tasks), print_logs_(print_logs) {}

  void run(int threads) {
    std::vector<std::jthread> pool;
    for (int i = 0; i < threads; ++i) pool.emplace_back([this] { work(); });
  }
  // One line an architecture; how many failed.
  int report() const {
    std::printf("%-8s %9s %7s %9s %10s %11s\n", "arch", "compiled", "failed", "seconds", "registers", "with stack");
    int failed = 0;
    for (const Arch& arch : archs) {
      const auto found = totals_.find(arch.name);
      if (found == totals_.end()) continue;
      const Totals& t = found->second;
      std::printf("%-8s %9d %7d %9.1f %10d %11d\n", arch.name, t.compiled, t.failed, t.seconds, t.registers, t.with_stack);
      failed += t.failed;
    }
    std::printf("%zu kernels, %d failed, %zu withheld for a spill (%d were compiled twice, to compare the bits)\n", tasks_.size(), failed, withheld_, repeated_.load());
    // More would mean that the largest tiles no longer fit at all.
    if (withheld_ * 20 > tasks_.size()) std::printf("FAILED: more than one in twenty withheld\n"), ++failed;
    return failed;
  }

 private:
  static constexpr std::size_t repeat_every = 16;

  void work() {
    for (std::size_t i; (i = next_++) < tasks_.size();) {
      const Listed& request = tasks_[i];
      const bool twice = i % repeat_every == 0;
      repeated_ += twice;
      const Result result = compile(jit_, request, twice);
      std::lock_guard lock(mutex_);
      count(request, result);
    }
  }
  static int sums_a_thread(const jit::Request& request) {
    const auto define = [&](const char* name) { return number(request, name); };
    const bool fp8 = define("GG_A") == GGEMM_E4M3 || define("GG_A") == GGEMM_E5M2;
    const bool promoted = request.root == "sm90.cu" && ((fp8 && define("GG_COMPUTE") != GGEMM_COMPUTE_FP8_FAST) || define("GG_COMPUTE") == GGEMM_COMPUTE_F32_ACCURATE);
    return (promoted ? 2 : 1) * define("GG_BM") * define("GG_BN") / (32 * define("GG_WARPS_M") * define("GG_WARPS_N"));  // two sets of them where they are promoted
  }
  void count(const jit::Request& request, const Result& result) {
    Totals& t = totals_[request.arch];
    ++t.compiled, ++done_;
    t.seconds += result.seconds;
    t.registers = std::max(t.registers, result.registers);
    t.with_stack += result.stack_bytes > 0;
    if (print_logs_) std::printf("%s %s\n%s\n", request.arch.c_str(), request.name.c_str(), result.log.c_str());
    // The engine passes over a kernel that spills; larger tiles are offered all the same, as most of their kernels do not.
    if (tests::only_spills(result.complaint) && sums_a_thread(request) >= 64) {
      ++withheld_;
      std::printf("withheld %s %s: %s\n", request.arch.c_str(), request.name.c_str(), result.complaint.c_str());
    } else if (!result.complaint.empty()) {
      ++t.failed, ++failed_;
      std::printf("FAILED %s %s (%d registers)\n%s\n  again: ggemm_compile_all --arch %s --kernel %s\n", request.arch.c_str(), request.name.c_str(), result.registers, result.complaint.c_str(),
                  request.arch.c_str(), request.name.c_str());
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - printed_ > std::chrono::seconds(30)) {
      std::printf("%zu of %zu compiled, %zu failed\n", done_, tasks_.size(), failed_);
      printed_ = now;
    }
    std::fflush(stdout);
  }

  const jit::Jit& jit_;
  const std::vector<Listed>& tasks_;
  const bool print_logs_;
  std::size_t withheld_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<int> repeated_ = 0;
  std::mutex mutex_;
  std::map<std::string, Totals> totals_;
  std::size_t done_ = 0, failed_ = 0;
  std::chrono::steady_clock::time_point printed_ = std::chrono::steady_clock::now();
};

// --------------------------------------------------------------------------------------------------------------------- arguments

struct Arguments {
  bool all = false, names = false, list = false;
  std::size_t sample = 120;
  std::vector<const Arch*> archs;
  std::vector<std::string> kernels;
  std::size_t part = 1, part_count = 1;
  int threads = core::allowed_threads();
};

[[noreturn]] void wrong(const std::string& what) {
  std::fprintf(stderr, "ggemm_compile_all: %s (see --help)\n", what.c_str());
  std::exit(2);
}

int positive(const char* option, const char* value) {
  char* end = nullptr;
  const long number = std::strtol(value, &end, 10);
  if (*end || number < 1 || number > 1000000) wrong(std::string(option) + " " + value + " is not a number from 1 to 1000000");
  return static_cast<int>(number);
}

std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) out.push_back(name);
  return out;
}

void read_part(const std::string& value, Arguments& out) {
  const std::size_t slash = value.find('/');
  if (slash == std::string::npos) wrong("--part " + value + " is not I/N");
  out.part = static_cast<std::size_t>(positive("--part", value.substr(0, slash).c_str()));
  out.part_count = static_cast<std::size_t>(positive("--part", value.c_str() + slash + 1));
  if (out.part > out.part_count) wrong("there is no --part " + value);
}

std::vector<const Arch*> read_archs(const std::string& value) {
  std::vector<const Arch*> out;
  for (const std::string& name : parts(value)) {
    const Arch* const found = std::find_if(std::begin(archs), std::end(archs), [&](const Arch& arch) { return name == arch.name; });
    if (found == std::end(archs)) wrong("there is no architecture " + name);
    out.push_back(found);
  }
  return out;
}

Arguments read_arguments(int count, char** values) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string option = values[i];
    const auto value = [&]() -> const char* { return i + 1 < count ? values[++i] : (wrong(option + " needs a value"), nullptr); };
    if (option == "--help") std::exit(std::fputs(usage, stdout) < 0);
    else if (option == "--all") out.all = true;
    else if (option == "--names") out.names = true;
    else if (option == "--list") out.list = true;
    else if (option == "--sample") out.sample = static_cast<std::size_t>(positive("--sample", value()));
    else if (option == "--part") read_part(value(), out);
    else if (option == "--threads") out.threads = positive("--threads", value());
    else if (option == "--arch") out.archs = read_archs(value());
    else if (option == "--kernel") out.kernels = parts(value());
    else wrong("unknown argument '" + option + "'");
  }
  if (out.archs.empty())
    for (const Arch& arch : archs) out.archs.push_back(&arch);
  return out;
}

std::vector<Listed> all_chosen(const Arguments& arguments) {
  // Those that no configuration names.
  std::vector<Listed> all;
  for (const Arch* arch : arguments.archs) {
    all.push_back({jit::render_check(arch->name)});
    all.push_back({jit::render_flush(arch->name)});
    all.push_back({jit::render_sum(GGEMM_F32, GGEMM_BF16, arch->name)});
    if (arch->capability == 90) {
      all.push_back({jit::render_prepare(arch->name)});
      for (const int size : {1, 2, 4}) all.push_back({jit::render_repack_groups(size, arch->name)});
    }
    for (const int size : {1, 2, 4}) all.push_back({jit::render_repack(size, arch->name)});
    all.push_back({jit::render_split(arch->name)});
  }
  const bool some = arguments.kernels.empty() && !arguments.all;
  std::vector<Task> tasks = !some ? all_tasks(arguments.archs) : arguments.names ? named_tasks(arguments.archs) : sample_tasks(arguments.archs, arguments.sample);
  if (some && !arguments.names)
    for (Task& task : sample_of_lines(arguments.archs)) tasks.push_back(std::move(task));
  for (const Task& task : tasks) {
    all.push_back({task.request(), select::static_shared_bytes(task.type, task.config)});
    if (task.config.slices > core::tail_slices) all.push_back({jit::render_sum_pieces(task.type, task.config, task.arch->name)});
  }
  if (arguments.kernels.empty()) return all;
  std::vector<Listed> out;
  std::set<std::string> taken;  // rows of the table may have one kernel
  for (const std::string& name : arguments.kernels) {
    if (name.empty()) wrong("--kernel has a part without a name");
    std::vector<Listed> exact, containing;
    for (const Listed& task : all) {
      if (task.name == name) exact.push_back(task);
      if (task.name.find(name) != std::string::npos) containing.push_back(task);
    }
    if (containing.empty()) wrong("no kernel's name contains " + name);
    for (Listed& task : exact.empty() ? containing : exact)
      if (taken.insert(jit::cubin_key(task)).second) out.push_back(std::move(task));
  }
  return out;
}

std::vector<Listed> chosen_tasks(const Arguments& arguments) {
  std::vector<Listed> all = all_chosen(arguments), out;
  if (arguments.part_count == 1) return all;
  // Each has its share of each family on each architecture, whose turns would else go with the parts'.
  std::stable_sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) { return std::tie(a.root, a.arch) < std::tie(b.root, b.arch); });
  for (std::size_t i = arguments.part - 1; i < all.size(); i += arguments.part_count) out.push_back(std::move(all[i]));
  if (out.empty()) wrong("of " + std::to_string(all.size()) + " kernels there is none in that part");
  return out;
}

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = read_arguments(count, values);
  const std::vector<Listed> tasks = chosen_tasks(arguments);
  if (arguments.list) {
    for (const jit::Request& task : tasks) std::printf("%s %s\n", task.arch.c_str(), task.name.c_str());
    return 0;
  }
  const jit::Options options{core::environment("GGEMM_NVRTC"), 0, true};
  const jit::NvrtcReport nvrtc = jit::diagnose(options);
  if (!nvrtc.found) {
    std::printf("skipped: needs NVRTC: install it with `pip install nvidia-cuda-nvrtc` and set GGEMM_NVRTC to its libnvrtc.so.13\n%s\n", nvrtc.detail.c_str());
    return core::environment("CI").empty() ? 4 : 1;
  }
  std::printf("NVRTC %s, %zu kernels, %d at once\n", nvrtc.version.c_str(), tasks.size(), arguments.threads);
  std::fflush(stdout);
  const core::Log log;
  const jit::Jit jit(options, nullptr, log);
  Work work(jit, tasks, !arguments.kernels.empty());
  work.run(arguments.threads);
  return work.report() ? 1 : 0;
}
