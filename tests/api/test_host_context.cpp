// SPDX-License-Identifier: Apache-2.0
// What belongs to a context on the host: creation, device, log, errors by thread, diagnosis, cache; and the calls that need none.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "api/guard.hpp"
#include "fixture.hpp"
#include "support/formats.hpp"
#include "support/rng.hpp"
#include "support/temp_folder.hpp"

namespace ggemm::tests {

TEST_CASE("The library says its version, features, names and sizes") {
  CHECK(ggemm_version() == GGEMM_VERSION);
  CHECK(std::string(ggemm_version_string()) ==
        std::to_string(GGEMM_VERSION_MAJOR) + "." + std::to_string(GGEMM_VERSION_MINOR) + "." + std::to_string(GGEMM_VERSION_PATCH));
  for (const char* feature : {"host", "cuda", "plain", "grouped", "tune", "prepare", "tile-order", "disk-cache", "activations", "bias"}) {
    INFO(feature);
    CHECK(ggemm_has_feature(feature) == 1);
  }
  for (const char* feature : {"", "hos", "HOST", "teleport"}) CHECK(ggemm_has_feature(feature) == 0);
  CHECK(ggemm_has_feature(nullptr) == 0);
  const std::pair<int, const char*> statuses[] = {{0, "GGEMM_OK"},
                                                  {1, "GGEMM_ERROR_ARGUMENT"},
                                                  {2, "GGEMM_ERROR_UNSUPPORTED"},
                                                  {3, "GGEMM_ERROR_NOT_PREPARED"},
                                                  {4, "GGEMM_ERROR_OUT_OF_MEMORY"},
                                                  {5, "GGEMM_ERROR_COMPILE"},
                                                  {6, "GGEMM_ERROR_LAUNCH"},
                                                  {7, "GGEMM_ERROR_DEVICE"},
                                                  {8, "GGEMM_ERROR_VERSION"},
                                                  {9, "GGEMM_ERROR_CANCELLED"},
                                                  {10, "GGEMM_ERROR_INTERNAL"},
                                                  {11, "unknown status"},
                                                  {-1, "unknown status"}};
  for (const auto& [number, name] : statuses) CHECK(std::string(ggemm_status_string(static_cast<ggemm_status>(number))) == name);
  for (int dtype = GGEMM_F64; dtype <= GGEMM_I32; ++dtype) {
    CHECK(std::string(ggemm_dtype_name(static_cast<ggemm_dtype>(dtype))) == name_of(static_cast<ggemm_dtype>(dtype)));
    CHECK(ggemm_dtype_size(static_cast<ggemm_dtype>(dtype)) == size_of(static_cast<ggemm_dtype>(dtype)));
  }
  for (const int dtype : {-1, 0, 9, 1000}) {
    CHECK(std::string(ggemm_dtype_name(static_cast<ggemm_dtype>(dtype))) == "none");
    CHECK(ggemm_dtype_size(static_cast<ggemm_dtype>(dtype)) == 0);
  }
}

TEST_CASE("Init functions give what the macros give") {
  const auto same = [](const auto& macro, auto init) {
    auto filled = macro;
    std::memset(&filled, 0xa5, sizeof filled);
    REQUIRE(init(&filled, sizeof filled) == GGEMM_OK);
    CHECK(std::memcmp(&filled, &macro, sizeof macro) == 0);
  };
  same(ggemm_context_options GGEMM_CONTEXT_OPTIONS_INIT, ggemm_context_options_init);
  same(ggemm_device_info GGEMM_DEVICE_INFO_INIT, ggemm_device_info_init);
  same(ggemm_gemm_desc GGEMM_GEMM_DESC_INIT, ggemm_gemm_desc_init);
  same(ggemm_gemm_args GGEMM_GEMM_ARGS_INIT, ggemm_gemm_args_init);
  same(ggemm_grouped_desc GGEMM_GROUPED_DESC_INIT, ggemm_grouped_desc_init);
  same(ggemm_grouped_args GGEMM_GROUPED_ARGS_INIT, ggemm_grouped_args_init);
  same(ggemm_config GGEMM_CONFIG_INIT, ggemm_config_init);
  same(ggemm_tune_options GGEMM_TUNE_OPTIONS_INIT, ggemm_tune_options_init);
  same(ggemm_tune_result GGEMM_TUNE_RESULT_INIT, ggemm_tune_result_init);
  same(ggemm_tile_grid GGEMM_TILE_GRID_INIT, ggemm_tile_grid_init);
  same(ggemm_tile GGEMM_TILE_INIT, ggemm_tile_init);
}

TEST_CASE("Sources carry what they are made from") {
  int data[4] = {};
  const ggemm_source constant = ggemm_const(-7), narrow = ggemm_i32_at(data, 12), wide = ggemm_i64_at(data, -24);
  CHECK((constant.kind == GGEMM_SOURCE_CONST && constant.value == -7 && constant.data == nullptr && constant.byte_stride == 0 &&
         constant.reserved0 == 0));
  CHECK((narrow.kind == GGEMM_SOURCE_I32 && narrow.data == data && narrow.byte_stride == 12 && narrow.value == 0 && narrow.reserved0 == 0));
  CHECK((wide.kind == GGEMM_SOURCE_I64 && wide.data == data && wide.byte_stride == -24 && wide.value == 0 && wide.reserved0 == 0));
}

TEST_CASE("Conversions agree with the definition of every type") {
  const ggemm_dtype all[] = {GGEMM_F64, GGEMM_F32, GGEMM_F16, GGEMM_BF16, GGEMM_E4M3, GGEMM_E5M2, GGEMM_I8, GGEMM_I32};
  std::vector<double> values = {0.0,      -0.0,         1.0,    -1.0,    0.5,       1.5,       2.5,     -2.5,     448,     464,     465,
                                480,      57344,        61440,  65504,   65519.9,   65520,     1e38,    -1e38,    127.5,   127.4,   -128.5,
                                -129,     2147483647.5, 4e9,    -4e9,    INFINITY,  -INFINITY, NAN,     1e-8,     0x1p-24, 0x1p-25, 0x1.8p-25,
                                0x1p-149, 0x1p-150,     0x1p-9, 0x1p-10, 0x1.8p-10, 0x1p-16,   0x1p-17, 0x1p-133, 0x1p-134};
  Rng rng(20);
  for (int i = 0; i < 20000; ++i) values.push_back(std::ldexp(rng.normal(), static_cast<int>(rng.between(-30, 20))));
  for (const ggemm_dtype from : all)
    for (const ggemm_dtype to : all) {
      INFO(name_of(from) << " to " << name_of(to));
      std::vector<unsigned char> source(values.size() * size_of(from)), got(values.size() * size_of(to), 0xee), expected(got.size());
      for (std::size_t i = 0; i < values.size(); ++i) encode(from, values[i], &source[i * size_of(from)]);
      for (std::size_t i = 0; i < values.size(); ++i) encode(to, decode(from, &source[i * size_of(from)]), &expected[i * size_of(to)]);
      REQUIRE(ggemm_convert(to, got.data(), from, source.data(), values.size()) == GGEMM_OK);
      std::size_t different = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double a = decode(to, &got[i * size_of(to)]), b = decode(to, &expected[i * size_of(to)]);
        const bool alike = (std::isnan(a) && std::isnan(b)) || std::memcmp(&got[i * size_of(to)], &expected[i * size_of(to)], size_of(to)) == 0;
        if (!alike && ++different == 1) UNSCOPED_INFO("from " << decode(from, &source[i * size_of(from)]) << ": " << a << ", not " << b);
      }
      CHECK(different == 0);
    }
  double one = 1;
  float out = 5;
  CHECK(ggemm_convert(static_cast<ggemm_dtype>(12), &out, GGEMM_F64, &one, 1) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"destination_dtype", "12"});
  CHECK(ggemm_convert(GGEMM_F32, &out, GGEMM_DTYPE_NONE, &one, 1) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"source_dtype", "0"});
  CHECK(ggemm_convert(GGEMM_F32, nullptr, GGEMM_F64, &one, 1) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"destination", "NULL"});
  CHECK(ggemm_convert(GGEMM_F32, &out, GGEMM_F64, nullptr, 1) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"source", "NULL"});
  CHECK(out == 5);
  CHECK(ggemm_convert(GGEMM_F32, nullptr, GGEMM_F64, nullptr, 0) == GGEMM_OK);
}

TEST_CASE("Conversions round to the nearest whatever the caller's rounding mode, which stays") {
  const double third = 1.0 / 3, beyond = 1 + 0x1p-30, half = 2.5;
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    float narrow[2] = {};
    std::int32_t whole = 0;
    std::uint16_t bits = 0;
    const double source[] = {third, beyond};
    std::fesetround(mode);
    const bool done = ggemm_convert(GGEMM_F32, narrow, GGEMM_F64, source, 2) == GGEMM_OK && ggemm_convert(GGEMM_I32, &whole, GGEMM_F64, &half, 1) == GGEMM_OK &&
                      ggemm_convert(GGEMM_BF16, &bits, GGEMM_F64, &third, 1) == GGEMM_OK;
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    INFO("rounding mode " << mode);
    CHECK(done);
    CHECK(after == mode);
    CHECK((narrow[0] == 0x1.555556p-2f && narrow[1] == 1.0f));
    CHECK(whole == 2);
    CHECK(bits == 0x3eab);
  }
}

TEST_CASE("A host context describes its device") {
  const ContextPointer context = host_context();
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  REQUIRE(ggemm_context_device(context.get(), &info) == GGEMM_OK);
  CHECK(info.struct_size == sizeof info);
  CHECK(info.kind == GGEMM_DEVICE_HOST);
  CHECK(info.threads == 2);
  CHECK(std::strlen(info.name) > 0);
  CHECK(info.memory_bytes > 0);
  CHECK(info.compute_capability == 0);
  CHECK(info.multiprocessors == 0);
  CHECK(info.driver_version == 0);
  CHECK(std::string(info.arch).empty());
  CHECK(std::string(info.blas).empty());
}

TEST_CASE("Wrong context options are refused by name") {
  struct Row {
    const char* title;
    void (*spoil)(ggemm_context_options&);
    std::vector<std::string> sentence;
  };
  const Row rows[] = {
      {"an unknown device kind", [](ggemm_context_options& o) { o.device = static_cast<ggemm_device_kind>(3); }, {"device", "3"}},
      {"negative threads", [](ggemm_context_options& o) { o.threads = -2; }, {"threads", "-2"}},
      {"a negative ordinal", [](ggemm_context_options& o) { o.ordinal = -1; }, {"ordinal", "-1"}},
      {"an unknown log level", [](ggemm_context_options& o) { o.log_level = static_cast<ggemm_log_level>(5); }, {"log_level", "5"}},
      {"an allocator that never frees",
       [](ggemm_context_options& o) { o.allocate = [](void*, std::size_t, void*, void**) -> std::int32_t { return 1; }; },
       {"allocate", "deallocate"}},
      {"a CUDA context for the host", [](ggemm_context_options& o) { o.cuda_context = &o; }, {"cuda_context", "device"}},
  };
  for (const Row& row : rows) {
    INFO(row.title);
    ggemm_context_options options = host_options();
    row.spoil(options);
    ggemm_context* context = nullptr;
    CHECK(ggemm_context_create(&options, &context) == GGEMM_ERROR_ARGUMENT);
    CHECK(context == nullptr);
    check_sentence(row.sentence);
    ggemm_context_destroy(context);
    int findings = 0;
    CHECK(ggemm_diagnose(&options, [](void* user, const ggemm_finding*) { ++*static_cast<int*>(user); }, &findings) == GGEMM_ERROR_ARGUMENT);
    CHECK(findings == 0);
    check_sentence(row.sentence);
  }
}

TEST_CASE("A CBLAS that cannot be loaded does not stop a context") {
  ggemm_context_options options = host_options();
  options.cblas_path = "/nonexistent/libblas.so";
  std::vector<std::string> warnings;
  options.log = [](void* user, ggemm_log_level level, const char* message) {
    if (level == GGEMM_LOG_WARNING) static_cast<std::vector<std::string>*>(user)->push_back(message);
  };
  options.log_user = &warnings;
  const ContextPointer context = make_context(options);
  PlainProblem<float> p(GGEMM_F32);
  CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  CHECK(p.d[0] == 12.0f);
  // One large enough for it, twice.
  std::vector<float> a(128 * 128, 1), d(128 * 128);
  ggemm_gemm_desc desc = p.desc;
  desc.m = desc.n = desc.k = 128;
  ggemm_gemm_args args = p.args;
  args.a = args.b = a.data(), args.d = d.data();
  for (int call = 0; call < 2; ++call) CHECK(ggemm_gemm(context.get(), &desc, &args, nullptr) == GGEMM_OK);
  CHECK(d[0] == 128.0f);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("/nonexistent/libblas.so: ") != std::string::npos);
}

TEST_CASE("Destroying nothing is allowed") {
  ggemm_context_destroy(nullptr);
  ggemm_plan_destroy(nullptr);
}

TEST_CASE("Each thread has its own last error, and success leaves it") {
  const ContextPointer context = host_context();
  PlainProblem<float> p(GGEMM_F32);
  p.desc.m = -11;
  REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_ERROR_ARGUMENT);
  const std::string mine = ggemm_last_error();
  std::string before, theirs;
  std::thread([&] {
    before = ggemm_last_error();
    PlainProblem<float> q(GGEMM_F32);
    q.desc.n = -22;
    (void)ggemm_gemm(context.get(), &q.desc, &q.args, nullptr);
    theirs = ggemm_last_error();
  }).join();
  CHECK(before.empty());
  CHECK(theirs.find("-22") != std::string::npos);
  CHECK(ggemm_last_error() == mine);
  p.desc.m = 5;
  REQUIRE(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  CHECK(ggemm_last_error() == mine);
}

TEST_CASE("What has no memory is out of memory, however the C++ library says so") {
  CHECK(api::guard([] { throw std::bad_alloc(); }) == GGEMM_ERROR_OUT_OF_MEMORY);
  CHECK(api::guard([] { std::vector<char>().reserve(SIZE_MAX); }) == GGEMM_ERROR_OUT_OF_MEMORY);
  CHECK(std::string(ggemm_last_error()) == "host memory is used up");
  CHECK(api::guard([] { throw std::runtime_error("what should not be"); }) == GGEMM_ERROR_INTERNAL);
}

TEST_CASE("Log lines go to the function that is set, at its level, and NULL stops them") {
  struct Lines {
    std::atomic<int> all{0}, too_verbose{0};
    ggemm_log_level level = GGEMM_LOG_DEBUG;
  } first, second;
  const ggemm_log_fn function = [](void* user, ggemm_log_level level, const char* message) {
    Lines& lines = *static_cast<Lines*>(user);
    ++lines.all;
    if (level > lines.level || std::strlen(message) == 0 || std::strchr(message, '\n') == message + std::strlen(message) - 1) ++lines.too_verbose;
  };
  // An unusable cache folder is worth a warning.
  ggemm_context_options options = host_options();
  options.cache_dir = "/proc/ggemm-cannot-be-made";
  options.log = function;
  options.log_user = &first;
  options.log_level = GGEMM_LOG_DEBUG;
  const ContextPointer context = make_context(options);
  CHECK(first.all > 0);
  CHECK(first.too_verbose == 0);
  const int before = first.all;
  second.level = GGEMM_LOG_ERROR;
  CHECK(ggemm_context_set_log(context.get(), function, &second, GGEMM_LOG_ERROR) == GGEMM_OK);
  PlainProblem<float> p(GGEMM_F32);
  CHECK(ggemm_gemm(context.get(), &p.desc, &p.args, nullptr) == GGEMM_OK);
  CHECK(first.all == before);
  CHECK(second.too_verbose == 0);
  CHECK(ggemm_context_set_log(context.get(), nullptr, nullptr, GGEMM_LOG_DEBUG) == GGEMM_OK);
  CHECK(ggemm_context_set_log(context.get(), function, &second, static_cast<ggemm_log_level>(17)) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"level", "17"});
}

TEST_CASE("A diagnosis reports every component once with what was tried") {
  struct Seen {
    std::vector<std::string> components;
    int incomplete = 0;
  } seen;
  const ggemm_context_options options = host_options();
  REQUIRE(ggemm_diagnose(
              &options,
              [](void* user, const ggemm_finding* f) {
                Seen& s = *static_cast<Seen*>(user);
                s.components.push_back(f->component);
                const bool whole = f->struct_size == sizeof *f && f->detail && f->advice && (f->found == 0 || f->found == 1) && (f->needed == 0 || f->needed == 1);
                if (!whole || (!f->found && (!*f->detail || !*f->advice))) ++s.incomplete;
              },
              &seen) == GGEMM_OK);
  for (const char* component : {"driver", "nvrtc", "cblas", "cache"}) {
    INFO(component);
    CHECK(std::count(seen.components.begin(), seen.components.end(), component) == 1);
  }
  CHECK(seen.incomplete == 0);
  CHECK(ggemm_diagnose(nullptr, [](void*, const ggemm_finding*) {}, nullptr) == GGEMM_OK);
}

TEST_CASE("Tuning records appear in the cache folder, are visited and cleared") {
  const TempFolder folder;
  ggemm_context_options options = host_options();
  options.cache_dir = folder.path().c_str();
  REQUIRE(::chmod(folder.path().c_str(), 0700) == 0);
  const ContextPointer context = make_context(options);
  PlainProblem<float> p(GGEMM_F32);
  const ggemm_problem problem{&p.desc, nullptr};
  ggemm_tune_options tune = GGEMM_TUNE_OPTIONS_INIT;
  tune.budget_seconds = 0.2;
  REQUIRE(ggemm_tune(context.get(), &problem, &tune, nullptr) == GGEMM_OK);
  struct Entry {
    std::string kind, name, path, nvrtc;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries;
  const ggemm_cache_fn collect = [](void* user, const ggemm_cache_entry* e) {
    CHECK(e->struct_size == sizeof *e);
    static_cast<std::vector<Entry>*>(user)->push_back({e->kind, e->name, e->path, e->nvrtc, e->bytes});
  };
  REQUIRE(ggemm_cache_visit(context.get(), collect, &entries) == GGEMM_OK);
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].kind == "tuning");
  CHECK(entries[0].nvrtc.empty());
  CHECK_FALSE(entries[0].name.empty());
  struct stat info{};
  REQUIRE(::stat(entries[0].path.c_str(), &info) == 0);
  CHECK(static_cast<std::uint64_t>(info.st_size) == entries[0].bytes);
  CHECK((info.st_mode & 0777) == 0600);
  std::size_t removed = 99;
  CHECK(ggemm_cache_clear(context.get(), "13.0", &removed) == GGEMM_OK);
  CHECK(removed == 0);
  CHECK(ggemm_cache_clear(context.get(), "", &removed) == GGEMM_ERROR_ARGUMENT);
  check_sentence({"nvrtc"});
  CHECK(ggemm_cache_clear(context.get(), nullptr, &removed) == GGEMM_OK);
  CHECK(removed == 1);
  CHECK(::stat(entries[0].path.c_str(), &info) != 0);
  entries.clear();
  CHECK(ggemm_cache_visit(context.get(), collect, &entries) == GGEMM_OK);
  CHECK(entries.empty());
}

TEST_CASE("Without a cache folder a visit sees nothing and nothing is removed") {
  const ContextPointer context = host_context();
  int seen = 0;
  CHECK(ggemm_cache_visit(context.get(), [](void* user, const ggemm_cache_entry*) { ++*static_cast<int*>(user); }, &seen) == GGEMM_OK);
  CHECK(seen == 0);
  std::size_t removed = 5;
  CHECK(ggemm_cache_clear(context.get(), nullptr, &removed) == GGEMM_OK);
  CHECK(removed == 0);
}

}  // namespace ggemm::tests
