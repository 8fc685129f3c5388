// SPDX-License-Identifier: Apache-2.0
// The records that come with the library: how they are read and looked up, and that each is of use.
#include "select/shipped.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/error.hpp"
#include "devices.hpp"
#include "select/model.hpp"
#include "select/space.hpp"
#include "select/store.hpp"
#include "support/record_key.hpp"
#include "support/temp_folder.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using select::Shipped;
using select::Store;

namespace {

core::DeviceFacts facts_of(const RecordKey& key) {
  core::DeviceFacts facts = device(key.arch == "sm_90a" ? 90 : std::stoi(key.arch.substr(3)));
  facts.name = key.device, facts.multiprocessors = key.multiprocessors;
  return facts;
}

// What is wrong with a record; "" if the engine takes it.
std::string fault_of(const std::string& key, const std::string& name) try {
  const auto read = read_record_key(key);
  if (!read) return "this is no key";
  const core::DeviceFacts facts = facts_of(*read);
  if (select::record_key(read->problem, nullptr, facts) != key) return "the key is not as it is written today";
  if (const std::int64_t m = read->problem.m; m != (read->problem.type.grouped ? core::bucket(m) : core::rows_bucket(m))) return "no problem has so many rows in its key";
  const core::Config config = core::parse_config(name).config;
  if (core::config_name(read->problem.type, config) != name) return "the configuration is of another problem";
  return select::illegal(read->problem.type, config, facts).value_or("");
} catch (const core::Error& error) {
  return error.text();
}

core::ProblemKey key_of(const core::ProblemType& type, std::int64_t groups) {
  core::ProblemKey key;
  key.type = type, key.groups = groups, key.m = 512, key.n = 1024, key.k = 2048;
  return key;
}

}  // namespace

TEST_CASE("shipped: a line is a key, a tab and a configuration; comments and what is no record are passed over") {
  const Shipped records({"# a comment\tx\none | key\tbest\nno tab\n\nanother\tsecond", "another\tthird\nlast\tfourth\n"});
  CHECK(records.records().size() == 3);
  CHECK(records.find("one | key") == "best");
  CHECK(records.find("another") == "second");
  CHECK(records.find("last") == "fourth");
  for (const char* none : {"", "one", "no tab", "# a comment"}) CHECK_FALSE(records.find(none));
  CHECK(Shipped({"", "\n"}).records().empty());
}

TEST_CASE("shipped: what was tuned in this process comes first, then what is on disk, then what came with the library") {
  const TempFolder folder(Where::memory);
  const core::Log log;
  const core::Disk disk({folder / "cache", "", std::uint64_t(1) << 30}, log);
  const Shipped shipped({"a problem\thost_f32_f32_f32_tt\nanother\thost_f32_f32_f32_nn\n"});
  Store store(disk, shipped);
  const auto found = store.find("a problem");
  REQUIRE(found);
  CHECK((found->best == "host_f32_f32_f32_tt" && found->shipped && found->measured.empty()));
  CHECK_FALSE(store.find("a third"));
  Store other(disk, shipped);
  other.keep("a problem", {"host_f32_f32_f32_tn", {}});
  CHECK(store.find("a problem")->shipped);  // the disk is asked once
  store.clear();
  CHECK((store.find("a problem")->best == "host_f32_f32_f32_tn" && !store.find("a problem")->shipped));
  store.keep("a problem", {"host_f32_f32_f32_nt", {}});
  CHECK(store.find("a problem")->best == "host_f32_f32_f32_nt");
  REQUIRE(disk.clear(std::nullopt) == 1);
  store.clear();
  CHECK(store.find("a problem")->best == "host_f32_f32_f32_tt");
  CHECK(store.find("another")->shipped);
}

TEST_CASE("shipped: a key is read back as it was written") {
  const core::DeviceFacts facts = device(90);
  int legal = 0;
  for (const ggemm_dtype dtype : {GGEMM_F64, GGEMM_F32, GGEMM_F16, GGEMM_BF16, GGEMM_E4M3, GGEMM_E5M2, GGEMM_I8})
    for (const char* layout : {"tn", "nn", "tt", "nt"})
      for (const int form : {0, 1, 3})
        for (const int unreachable : {0, 3, 7}) {
          core::ProblemType type = type_of(dtype, layout);
          type.grouped = static_cast<std::uint8_t>(form), type.unreachable = static_cast<std::uint8_t>(unreachable);
          if (dtype == GGEMM_E4M3 && !form) type.scale_a = 2, type.scale_b = 4;
          if (dtype == GGEMM_BF16) type.gate = 1;
          if (unreachable == 7) type.major_d = core::Major::mn;
          const core::ProblemKey key = key_of(type, form ? 8 : 1);
          const std::string text = select::record_key(key, nullptr, facts);
          INFO(text);
          const auto read = read_record_key(text);
          REQUIRE(read);
          CHECK(read->problem == key);
          const select::Ranking ranking = select::rank(type, {key.groups, key.m, key.n, key.k}, facts);
          for (const auto& candidate : ranking.legal) {
            ++legal;
            CHECK(fault_of(text, core::config_name(type, candidate.config)) == "");
          }
        }
  CHECK(legal > 1000);
}

TEST_CASE("shipped: a record that is of no use is seen") {
  const core::DeviceFacts facts = device(90);
  const core::ProblemType type = type_of(GGEMM_BF16);
  const std::string key = select::record_key(key_of(type, 1), nullptr, facts), good = "sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_r8";
  CHECK(fault_of(key, good) == "");
  CHECK(fault_of(key, "sm90_f16_f16_f32_tn_128x256x64_w8x1_s4_c2x1_r8") == "the configuration is of another problem");
  CHECK(fault_of(key, "sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s9_c2x1_r8") != "");  // more stages than shared memory holds
  CHECK(fault_of(key, "sm90_bf16_bf16_f32_tn_128x256x64") != "");
  CHECK(fault_of(key + " ", good) != "");
  CHECK(fault_of("a key", good) == "this is no key");
  CHECK(fault_of(select::record_key(key_of(type, 1), "decode", facts), good) == "this is no key");  // a caller's own is never looked up here
  CHECK_FALSE(read_record_key(select::record_key(key_of(type, 1), "groups 1 m 1 n 1 k 1", facts)));
}

TEST_CASE("shipped: every record that comes with the library is taken") {
  CHECK_FALSE(select::record_files().empty());
  for (const auto& [key, config] : select::shipped().records()) {
    INFO(key << "\n" << config);
    CHECK(fault_of(std::string(key), std::string(config)) == "");
  }
  // A file has nothing else but comments, in order, and nothing twice.
  std::size_t lines = 0;
  for (const core::EmbeddedFile& file : select::record_files()) {
    std::string_view rest = file.text, before;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1 > rest.size() ? rest.size() : line.size() + 1);
      INFO(file.name << ": " << line);
      if (line.starts_with('#')) continue;
      ++lines;
      CHECK(before < line);
      before = line;
    }
  }
  CHECK(lines == select::shipped().records().size());
}
