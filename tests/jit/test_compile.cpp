// SPDX-License-Identifier: Apache-2.0
// Compiling by the real NVRTC, and what becomes of its errors.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "complaints.hpp"
#include "core/disk.hpp"
#include "core/problem.hpp"
#include "jit/compile.hpp"
#include "jit/render.hpp"
#include "jit_support.hpp"
#include "select/space.hpp"
#include "select/table.hpp"
#include "support/temp_folder.hpp"

using namespace ggemm;
using namespace ggemm::tests;

namespace {

// Uses a header of kernels/ that lies in a folder of its own, a define, and the kernel's name.
constexpr const char* hello_text = R"(
#include "tile/types.cuh"
#include "hello/value.cuh"
extern "C" __global__ void GG_KERNEL_NAME(int* out) { out[threadIdx.x] = hello_value() + GG_ADD; }
)";
constexpr const char* hello_value_text = "__device__ inline int hello_value() { return 7; }\n";
constexpr const char* broken_text = "extern \"C\" __global__ void GG_KERNEL_NAME(int* out) {\n  out[0] = no_such_name;\n}\n";
constexpr const char* elf_magic = "\177ELF";
// Keeps 100 values alive in 32 registers.
constexpr const char* spilling_text = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) GG_KERNEL_NAME(float* x) {
  float a[100];
#pragma unroll
  for (int i = 0; i < 100; i++) a[i] = x[i * 7 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 100; i++) x[i * 7 + threadIdx.x] = a[99 - i] * a[i / 2];
}
)";

jit::Sources with_tests() {
  jit::Sources out{jit::embedded_files(), ""};
  out.files.push_back({"hello.cu", hello_text});
  out.files.push_back({"hello/value.cuh", hello_value_text});
  out.files.push_back({"broken.cu", broken_text});
  out.files.push_back({"spilling.cu", spilling_text});
  out.hash = jit::hash_of(out.files);
  return out;
}

jit::Request hello(const std::string& name = "hello_kernel") { return {name, "hello.cu", {{"GG_ADD", "35"}}, "sm_90a"}; }

}  // namespace

TEST_CASE("compile: a kernel with root-relative includes, a define and its own name becomes a cubin") {
  const auto nvrtc = nvrtc_or_skip();
  const jit::Sources sources = with_tests();
  for (const char* arch : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    INFO(arch);
    jit::Request request = hello();
    request.arch = arch;
    const jit::Cubin cubin = jit::compile(*nvrtc, request, sources.files, false);
    CHECK(cubin.bytes.starts_with(elf_magic));
    CHECK(contains(cubin.bytes, "hello_kernel"));
    CHECK(cubin.nvrtc == nvrtc->version);
    CHECK_FALSE(cubin.from_disk);
    CHECK(cubin.seconds > 0);
    CHECK(cubin.log == "");
  }
}

TEST_CASE("compile: the same request gives the same bits, another define others") {
  const auto nvrtc = nvrtc_or_skip();
  const jit::Sources sources = with_tests();
  const std::string first = jit::compile(*nvrtc, hello(), sources.files, false).bytes;
  CHECK(jit::compile(*nvrtc, hello(), sources.files, false).bytes == first);
  jit::Request other = hello();
  other.defines = {{"GG_ADD", "36"}};
  CHECK(jit::compile(*nvrtc, other, sources.files, false).bytes != first);
}

TEST_CASE("compile: a value with spaces and line ends arrives as it is") {
  const auto nvrtc = nvrtc_or_skip();
  jit::Request request = hello();
  request.defines = {{"GG_ADD", "(30 + 5)"}};
  CHECK(jit::compile(*nvrtc, request, with_tests().files, false).bytes == jit::compile(*nvrtc, hello(), with_tests().files, false).bytes);
}

TEST_CASE("compile: an error carries the kernel's name, NVRTC's version and its log with file and line") {
  const auto nvrtc = nvrtc_or_skip();
  const jit::Sources sources = with_tests();
  jit::Request request{"broken_kernel", "broken.cu", {}, "sm_90a"};
  std::string text = error_of([&] { jit::compile(*nvrtc, request, sources.files, false); }, GGEMM_ERROR_COMPILE);
  for (const std::string& part : {std::string("broken_kernel"), nvrtc->version, std::string("broken.cu(2)"), std::string("no_such_name")}) {
    INFO(text);
    CHECK(contains(text, part));
  }
  request = hello();
  request.arch = "sm_1";
  text = error_of([&] { jit::compile(*nvrtc, request, sources.files, false); }, GGEMM_ERROR_COMPILE);
  CHECK(contains(text, "sm_1"));
  request = hello();
  request.root = "absent.cu";
  text = error_of([&] { jit::compile(*nvrtc, request, sources.files, false); }, GGEMM_ERROR_INTERNAL);
  CHECK(contains(text, "absent.cu"));
}

TEST_CASE("compile: the verbose log names registers, and spills are complained of") {
  const auto nvrtc = nvrtc_or_skip();
  const jit::Sources sources = with_tests();
  const jit::Cubin calm = jit::compile(*nvrtc, hello(), sources.files, true);
  CHECK(contains(calm.log, "registers"));
  CHECK(jit::ptxas_complaint(calm.log) == "");
  const jit::Cubin spilling = jit::compile(*nvrtc, {"spilling_kernel", "spilling.cu", {}, "sm_90a"}, sources.files, true);
  INFO(spilling.log);
  CHECK(contains(jit::ptxas_complaint(spilling.log), "bytes spill stores"));
}

// The sum of f32 or f64 that is stored as fp8: by each of the families, and by those of a family's kernels that store in a way of their own.
TEST_CASE("compile: devices that convert no fp8 store it all the same") {
  const auto nvrtc = nvrtc_or_skip();
  int lines = 0;
  for (const int capability : {75, 86})
    for (const ggemm_dtype input : {GGEMM_F32, GGEMM_F64})
      for (const ggemm_dtype output : {GGEMM_E4M3, GGEMM_E5M2}) {
        ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
        desc.m = desc.n = desc.k = 64;
        desc.a.dtype = desc.b.dtype = input, desc.d.dtype = output;
        const core::ProblemType type = core::check_problem(desc).type;
        core::DeviceFacts facts;
        facts.cuda = true, facts.compute_capability = capability, facts.multiprocessors = 84;
        facts.shared_per_block = 64 * 1024, facts.shared_per_multiprocessor = 64 * 1024;
        std::set<std::pair<core::Family, bool>> compiled;
        for (const core::Config& config : select::table(type)) {
          const bool own_lines = config.family == core::Family::gemv && config.warps_m > 1;
          if (select::illegal(type, config, facts) || !compiled.insert({config.family, own_lines}).second) continue;
          const jit::Request request = jit::render(core::compiled(type, config.family), config, select::min_ctas(type, config), select::tile_notes(type, config), "sm_" + std::to_string(capability));
          INFO(request.arch << " " << request.name);
          CHECK(jit::compile(*nvrtc, request, jit::embedded_files(), false).bytes.starts_with(elf_magic));
          lines += own_lines;
        }
      }
  CHECK(lines == 4);  // (sm_75 has no kernels of gemv)
}

TEST_CASE("compile: threads compile at the same time") {
  const auto nvrtc = nvrtc_or_skip();
  const jit::Sources sources = with_tests();
  std::vector<std::string> results(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        results[i] = jit::compile(*nvrtc, hello("hello_" + std::to_string(i)), sources.files, false).bytes;
      } catch (const core::Error& error) {
        results[i] = error.text();
      }
    });
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].starts_with(elf_magic));
    CHECK(contains(results[i], "hello_" + std::to_string(i)));
    CHECK(results[i] == jit::compile(*nvrtc, hello("hello_" + std::to_string(i)), sources.files, false).bytes);
  }
}

TEST_CASE("jit: a kernel is compiled once, then read from disk, and then NVRTC is not needed") {
  nvrtc_or_skip();
  TempFolder parent;
  const core::Log log;
  const auto disk = std::make_shared<core::Disk>(core::DiskOptions{parent / "cache", "", 1 << 20}, log);
  const jit::Sources sources = with_tests();
  const jit::Options real{variable("GGEMM_NVRTC"), 0, false}, absent{parent / "no-nvrtc.so", 0, false};
  CHECK(contains(error_of([&] { jit::cached_or_compiled(absent, disk.get(), log, sources, hello()); }, GGEMM_ERROR_COMPILE), "no-nvrtc.so"));
  const jit::Cubin made = jit::cached_or_compiled(real, disk.get(), log, sources, hello());
  CHECK_FALSE(made.from_disk);
  const jit::Cubin found = jit::cached_or_compiled(absent, disk.get(), log, sources, hello());
  CHECK(found.from_disk);
  CHECK(found.bytes == made.bytes);
  CHECK(found.nvrtc == made.nvrtc);
  REQUIRE(disk->list().size() == 1);
  CHECK(disk->list()[0].kind == "cubin");
  CHECK(disk->list()[0].key == jit::cubin_key(hello(), sources.hash));
  // Anything else about the request, or other sources, is another kernel.
  const auto misses = [&](const jit::Sources& from, const jit::Request& request) {
    error_of([&] { jit::cached_or_compiled(absent, disk.get(), log, from, request); }, GGEMM_ERROR_COMPILE);
  };
  jit::Request other = hello();
  other.arch = "sm_80";
  misses(sources, other);
  misses(sources, hello("another_name"));
  jit::Sources changed = sources;
  changed.files.back().text = "";
  changed.hash = jit::hash_of(changed.files);
  misses(changed, hello());
  CHECK_FALSE(jit::cached_or_compiled(real, nullptr, log, sources, hello()).from_disk);
}

TEST_CASE("jit: a verbose compile leaves the disk cache alone") {
  nvrtc_or_skip();
  TempFolder parent;
  const core::Log log;
  const core::Disk disk({parent / "cache", "", 1 << 20}, log);
  jit::Options options{variable("GGEMM_NVRTC"), 0, true};
  CHECK(contains(jit::cached_or_compiled(options, &disk, log, with_tests(), hello()).log, "registers"));
  CHECK(disk.list().empty());
  options.verbose = false;
  jit::cached_or_compiled(options, &disk, log, with_tests(), hello());
  options.verbose = true;
  CHECK_FALSE(jit::cached_or_compiled(options, &disk, log, with_tests(), hello()).from_disk);
}

TEST_CASE("jit: class Jit compiles from the embedded sources") {
  nvrtc_or_skip();
  TempFolder parent;
  const core::Log log;
  const auto disk = std::make_shared<core::Disk>(core::DiskOptions{parent / "cache", "", 1 << 20}, log);
  const jit::Jit jit({variable("GGEMM_NVRTC"), 0, false}, disk, log);
  // A header is a program too, one without a kernel.
  const jit::Request request{"nothing", "tile/numeric.cuh", {}, "sm_90a"};
  const jit::Cubin cubin = jit.get(request);
  CHECK(cubin.bytes.starts_with(elf_magic));
  CHECK(disk->read("cubin", jit::cubin_key(request))->body == '\0' + cubin.bytes);
  CHECK(jit.get(request).from_disk);
  CHECK(jit.get(request).bytes == cubin.bytes);
}

TEST_CASE("jit: what ptxas said against a binary is kept with it, until there is another NVRTC") {
  nvrtc_or_skip();
  TempFolder parent;
  const core::Log log;
  const core::Disk disk({parent / "cache", "", 1 << 20}, log);
  const jit::Options options{variable("GGEMM_NVRTC"), 0, false};
  const auto sources = with_tests();
  const jit::Cubin made = jit::cached_or_compiled(options, &disk, log, sources, hello());
  const auto key = jit::cubin_key(hello(), sources.hash);
  const std::string body = "(C7510) wgmma" + ('\0' + made.bytes);
  REQUIRE(disk.write("cubin", key, body, made.nvrtc));
  const jit::Cubin kept = jit::cached_or_compiled(options, &disk, log, sources, hello());
  CHECK(kept.from_disk);
  CHECK(kept.complaint == "(C7510) wgmma");
  CHECK(kept.bytes == made.bytes);
  const jit::Options none{parent / "nothing", 0, false};
  CHECK(jit::cached_or_compiled(none, &disk, log, sources, hello()).complaint == "(C7510) wgmma");
  REQUIRE(disk.write("cubin", key, body, "12.3"));
  const jit::Cubin anew = jit::cached_or_compiled(options, &disk, log, sources, hello());
  CHECK_FALSE(anew.from_disk);
  CHECK(anew.complaint == "");
  CHECK(jit::cached_or_compiled(options, &disk, log, sources, hello()).from_disk);
  // One that is not laid out so is none.
  REQUIRE(disk.write("cubin", key, "an ELF", made.nvrtc));
  CHECK_FALSE(jit::cached_or_compiled(options, &disk, log, sources, hello()).from_disk);
}

TEST_CASE("jit: a damaged entry is compiled again") {
  nvrtc_or_skip();
  TempFolder parent;
  const core::Log log;
  const core::Disk disk({parent / "cache", "", 1 << 20}, log);
  const jit::Options options{variable("GGEMM_NVRTC"), 0, false};
  const std::string good = jit::cached_or_compiled(options, &disk, log, with_tests(), hello()).bytes;
  std::ofstream(disk.list().at(0).path, std::ios::binary | std::ios::in | std::ios::ate) << "x";
  const jit::Cubin again = jit::cached_or_compiled(options, &disk, log, with_tests(), hello());
  CHECK_FALSE(again.from_disk);
  CHECK(again.bytes == good);
  CHECK(jit::cached_or_compiled(options, &disk, log, with_tests(), hello()).from_disk);
}

// ------------------------------------------------------------------------------------------------------ without NVRTC

TEST_CASE("jit: the cache key tells requests apart, also where values hold line ends") {
  const auto key = [](const std::vector<std::pair<std::string, std::string>>& defines) {
    return jit::cubin_key({"n", "r.cu", defines, "sm_80"}, "hash");
  };
  CHECK(key({{"A", "1"}}) == key({{"A", "1"}}));
  CHECK(key({{"A", "1"}}) != key({{"A", "2"}}));
  CHECK(key({{"A", "1\n6 -DB=2"}}) != key({{"A", "1"}, {"B", "2"}}));
  CHECK(jit::cubin_key({"n", "r.cu", {}, "sm_80"}, "hash") != jit::cubin_key({"n", "s.cu", {}, "sm_80"}, "hash"));
  CHECK(jit::cubin_key({"n", "r.cu", {}, "sm_80"}, "hash") != jit::cubin_key({"n", "r.cu", {}, "sm_80"}, "hash2"));
  CHECK(jit::cubin_key({"n", "r.cu", {}, "sm_80"}) == jit::cubin_key({"n", "r.cu", {}, "sm_80"}, jit::embedded_hash()));
}

TEST_CASE("jit: the embedded sources are the files of kernels/, byte for byte") {
  const auto& files = jit::embedded_files();
  REQUIRE(files.size() > 3);
  CHECK(std::is_sorted(files.begin(), files.end(), [](const auto& a, const auto& b) { return std::string(a.name) < b.name; }));
  CHECK(jit::embedded_hash().size() == 32);
  CHECK(jit::embedded_hash() == jit::hash_of(files));
  const std::string source = variable("GGEMM_SOURCE_DIR");
  if (source.empty()) SKIP("needs GGEMM_SOURCE_DIR, which ctest sets");
  for (const auto& file : files) {
    INFO(file.name);
    std::ifstream stream(source + "/kernels/" + file.name, std::ios::binary);
    REQUIRE(stream);
    CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == file.text);
  }
}

TEST_CASE("jit: the sources' hash depends on names, texts and where one ends") {
  CHECK(jit::hash_of({{"a", "x"}, {"b", "y"}}) != jit::hash_of({{"a", "xy"}, {"b", ""}}));
  CHECK(jit::hash_of({{"a", "x"}}) != jit::hash_of({{"b", "x"}}));
  CHECK(jit::hash_of({{"a", "x"}}) != jit::hash_of({{"a", "y"}}));
}

TEST_CASE("jit: ptxas is heard when it spills, serialises wgmma or ignores setmaxnreg, and not else") {
  CHECK(jit::ptxas_complaint("") == "");
  CHECK(jit::ptxas_complaint("ptxas info    : 0 bytes gmem\n"
                             "ptxas info    : Compiling entry function 'foo' for 'sm_90a'\n"
                             "ptxas         .     528 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                             "ptxas info    : Used 32 registers, used 1 barriers, 528 bytes cumulative stack size\n") == "");
  CHECK(jit::ptxas_complaint("    0 bytes stack frame, 8 bytes spill stores, 0 bytes spill loads\n") ==
        "0 bytes stack frame, 8 bytes spill stores, 0 bytes spill loads");
  CHECK(jit::ptxas_complaint("    0 bytes stack frame, 0 bytes spill stores, 100 bytes spill loads") != "");
  CHECK(jit::ptxas_complaint(
            "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.\n") != "");
  CHECK(jit::ptxas_complaint(
            "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in function 'f'") != "");
  CHECK(jit::serialised_wgmma("ptxas info    : (C7508) 'setmaxnreg' ignored\nptxas info    : (C7510) wgmma.mma_async instructions are serialized\n") == "(C7510) wgmma.mma_async instructions are serialized");
  CHECK(jit::serialised_wgmma("fine\n") == "");
  CHECK(jit::ptxas_complaint("ptxas info : (C7511) a\nfine\nptxas info : (C7512) b") == "ptxas info : (C7511) a\nptxas info : (C7512) b");
  CHECK(jit::ptxas_complaint("ptxas info    : (C4001) something else") == "");
}

TEST_CASE("compile: only a spill may be let pass, and nothing beside it") {
  const std::string usual = "ptxas info    : 0 bytes gmem\nptxas info    : Function properties for foo\n", used = "ptxas info    : Used 32 registers, used 1 barriers\n";
  const auto frame = [](int bytes, int stores, int loads) {
    return "ptxas         .     " + std::to_string(bytes) + " bytes stack frame, " + std::to_string(stores) + " bytes spill stores, " + std::to_string(loads) + " bytes spill loads\n";
  };
  const std::string none = frame(0, 0, 0), spill = frame(56, 60, 60);
  CHECK(tests::complaints(usual + none + used) == "");
  CHECK_FALSE(tests::only_spills(""));
  for (const std::string& text : {spill, frame(0, 8, 0), frame(0, 0, 8), frame(8, 4, 4), spill + spill}) {
    CAPTURE(text);
    CHECK(tests::only_spills(tests::complaints(usual + text + used)));
  }
  const std::string others[] = {"ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in function 'foo'\n",
                                "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.\n",
                                "ptxas warning : Local memory used for function 'foo'\n", "ptxas error   : x\n", "kernel.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n",
                                frame(528, 0, 0)};
  for (const std::string& other : others) {
    CAPTURE(other);
    for (const std::string& log : {usual + other + none + used, usual + other + spill + used, usual + spill + other + used}) {
      CHECK(tests::complaints(log) != "");
      CHECK_FALSE(tests::only_spills(tests::complaints(log)));
    }
  }
  CHECK_FALSE(tests::only_spills(tests::complaints(usual + frame(528, 60, 60) + used)));  // an array besides
  CHECK_FALSE(tests::only_spills(tests::complaints(usual + used)));                       // nothing is known
  for (const char* other : {"a second compile gives other bits", "foo for sm_90a: nvrtcCompileProgram fails with NVRTC_ERROR_COMPILATION\nkernel.cu(3): error: x"})
    for (const std::string& both : {other + std::string(), tests::complaints(spill) + "\n" + other}) CHECK_FALSE(tests::only_spills(both));
}
