// SPDX-License-Identifier: Apache-2.0
#include "select/store.hpp"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "devices.hpp"
#include "support/temp_folder.hpp"

using namespace ggemm;
using namespace ggemm::tests;
using select::Measured;
using select::Record;
using select::Store;

namespace {

const Record record = {"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", {{"sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", 12.5}, {"simt_bf16_bf16_f32_tn_64x64x16_w2x2_s2_r1", 1234.567}}};
const char* const record_text =
    "ggemm-tuning 1\n"
    "best sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8\n"
    "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8 12.500\n"
    "simt_bf16_bf16_f32_tn_64x64x16_w2x2_s2_r1 1234.567\n";

bool same(const Record& a, const Record& b) {
  if (a.best != b.best || a.measured.size() != b.measured.size()) return false;
  for (std::size_t i = 0; i < a.measured.size(); ++i)
    if (a.measured[i].config != b.measured[i].config || a.measured[i].microseconds != b.measured[i].microseconds) return false;
  return true;
}

core::ProblemKey key_of(const core::ProblemType& type, std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t k) {
  core::ProblemKey key;
  key.type = type, key.groups = groups, key.m = m, key.n = n, key.k = k;
  return key;
}

// A disk cache in a folder of its own.
struct Folder {
  TempFolder parent{Where::memory};
  core::Log log;
  core::Disk disk{{parent / "cache", "", std::uint64_t(1) << 30}, log};
};

}  // namespace

TEST_CASE("store: a record's text is readable and is read back as it was") {
  CHECK(select::format(record) == record_text);
  const auto read = select::parse(record_text);
  REQUIRE(read);
  CHECK(same(*read, record));
  const Record bare{"host_f32_f32_f32_tt", {}};
  CHECK(select::format(bare) == "ggemm-tuning 1\nbest host_f32_f32_f32_tt\n");
  CHECK(same(select::parse(select::format(bare)).value(), bare));
  for (const double microseconds : {0.001, 2.25, 99999999.125}) {
    const Record one{bare.best, {{bare.best, microseconds}}};
    CHECK(same(select::parse(select::format(one)).value(), one));
  }
}

TEST_CASE("store: a text that is damaged is no record") {
  const std::string head = "ggemm-tuning 1\n", a = "host_f32_f32_f32_tt", b = "host_f32_f32_f32_nt", best = head + "best " + a + "\n";
  REQUIRE(select::parse(best + a + " 1.0\n" + b + " 2.0\n"));
  const std::string damaged[] = {
      "", "\n", "\x7f" "ELF", head, "ggemm-tuning 1",
      // the first two lines
      "ggemm-tuning 2\nbest " + a + "\n", "ggemm-tuning 1\r\nbest " + a + "\r\n", " " + best, head + "worst " + a + "\n" + a + " 1.0\n", head + "best" + a + "\n", head + "best  " + a + "\n",
      head + a + " 1.0\nbest " + a + "\n", head + "best \n", head + "best a\n", head + "best " + a + " \n", head + "best " + a,
      // a line of a time
      best + a + "\n", best + a + " \n", best + a + " x\n", best + a + " 1.0x\n", best + a + " 1.0 2.0\n", best + a + "  1.0\n", best + a + " 1,0\n", best + a + " 1.0", best + a + " 1.0\n\n" + a + " 2.0\n",
      best + "a 1.0\n" + a + " 1.0\n", best + " 1.0\n",
      // what is no time
      best + a + " nan\n", best + a + " -nan\n", best + a + " inf\n", best + a + " infinity\n", best + a + " -inf\n", best + a + " -1.0\n", best + a + " 0\n", best + a + " -0.0\n", best + a + " 0.000\n",
      best + a + " +1.0\n", best + a + " 1e3\n", best + a + " 0x1p3\n", best + a + " " + std::string(400, '9') + "\n",
      // the best is not among those measured
      best + b + " 1.0\n",
  };
  for (const std::string& text : damaged) {
    INFO(text);
    CHECK_FALSE(select::parse(text));
  }
}

TEST_CASE("store: a text that was cut short is no record, but where it ends with a line") {
  const std::string whole = record_text;
  std::vector<std::size_t> lengths;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto read = select::parse(whole.substr(0, length));
    if (!read) continue;
    lengths.push_back(length);
    CHECK(select::format(*read) == whole.substr(0, length));
  }
  const std::size_t second_line = whole.find('\n', whole.find("best ")) + 1, third_line = whole.find('\n', second_line) + 1;
  CHECK(lengths == std::vector<std::size_t>{second_line, third_line});
}

TEST_CASE("store: a text with a byte changed, put in or left out is no record, or one of sound names and times") {
  const std::string whole = record_text;
  int refused = 0, taken = 0;
  const auto look = [&](const std::string& text) {
    const auto read = select::parse(text);
    if (!read) return void(++refused);
    ++taken;
    bool sound = read->measured.empty();
    for (const Measured& m : read->measured) {
      if (!(m.microseconds > 0 && m.microseconds < 1e8)) FAIL_CHECK(m.microseconds << " us in\n" << text);
      CHECK_NOTHROW(core::parse_config(m.config));
      sound = sound || m.config == read->best;
    }
    CHECK_NOTHROW(core::parse_config(read->best));
    if (!sound) FAIL_CHECK(text);
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = whole;
      text[at] = static_cast<char>(byte);
      if (text != whole) look(text);
      look(whole.substr(0, at) + static_cast<char>(byte) + whole.substr(at));
    }
    look(whole.substr(0, at) + whole.substr(at + 1));
  }
  CHECK(refused > 80000);
  CHECK(taken > 100);  // another digit of a time, or of the name of one that is not the best
}

TEST_CASE("store: what is kept is found, again after the memory is cleared, and by another store on the same folder") {
  Folder folder;
  Store store(folder.disk);
  CHECK_FALSE(store.find("a problem"));
  store.keep("a problem", record);
  CHECK(same(store.find("a problem").value(), record));
  CHECK_FALSE(store.find("another problem"));
  store.clear();
  CHECK(same(store.find("a problem").value(), record));
  Store other(folder.disk);
  CHECK(same(other.find("a problem").value(), record));
  const core::Disk again({folder.parent / "cache", "", std::uint64_t(1) << 30}, folder.log);
  Store later(again);
  CHECK(same(later.find("a problem").value(), record));
  CHECK_FALSE(later.find("another problem"));
}

TEST_CASE("store: a newer record takes an older one's place, in memory and on disk") {
  Folder folder;
  Store store(folder.disk);
  store.keep("a problem", record);
  const Record newer{"host_f32_f32_f32_tt", {{"host_f32_f32_f32_tt", 3}}};
  store.keep("a problem", newer);
  CHECK(same(store.find("a problem").value(), newer));
  Store other(folder.disk);
  CHECK(same(other.find("a problem").value(), newer));
  CHECK(folder.disk.list().size() == 1);
}

TEST_CASE("store: the disk is asked once for each key") {
  Folder folder;
  Store store(folder.disk), other(folder.disk);
  CHECK_FALSE(store.find("a problem"));
  other.keep("a problem", record);
  CHECK_FALSE(store.find("a problem"));  // known not to be there
  store.clear();
  CHECK(store.find("a problem"));
  REQUIRE(folder.disk.clear(std::nullopt) == 1);
  CHECK(store.find("a problem"));  // known to be there
}

TEST_CASE("store: an entry on disk that is no record is passed over, and can be replaced") {
  Folder folder;
  Store store(folder.disk);
  for (const char* const text : {"", "rubbish", "ggemm-tuning 9\nbest a\n"}) {
    REQUIRE(folder.disk.write("tuning", "a problem", text, ""));
    store.clear();
    CHECK_FALSE(store.find("a problem"));
  }
  REQUIRE(folder.disk.write("cubin", "another problem", record_text, ""));  // of another kind
  CHECK_FALSE(store.find("another problem"));
  store.keep("a problem", record);
  store.clear();
  CHECK(same(store.find("a problem").value(), record));
}

TEST_CASE("store: without a folder records last as long as the store") {
  const core::Log log;
  const core::Disk disk({"", "", 0}, log);
  Store store(disk);
  store.keep("a problem", record);
  CHECK(same(store.find("a problem").value(), record));
  store.clear();
  CHECK_FALSE(store.find("a problem"));
}

TEST_CASE("store: keys that are looked for and not found do not push out the records") {
  const core::Log log;
  const core::Disk disk({"", "", 0}, log);
  Store store(disk);
  for (int i = 0; i < 10; ++i) store.keep("kept " + std::to_string(i), record);
  for (int i = 0; i < 20000; ++i)
    if (store.find("never kept " + std::to_string(i))) FAIL_CHECK(i);
  for (int i = 0; i < 10; ++i) CHECK(store.find("kept " + std::to_string(i)));
}

TEST_CASE("store: threads may look and keep at once") {
  Folder folder;
  Store store(folder.disk);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&store, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = "problem " + std::to_string(i % 10);
        if (i % 4 == t) store.keep(key, record);
        store.find(key);
        if (i % 25 == 24) store.clear();
      }
    });
  threads.clear();
  store.clear();
  for (int i = 0; i < 10; ++i) {
    const auto found = store.find("problem " + std::to_string(i));
    REQUIRE(found);
    CHECK(same(*found, record));
  }
}

TEST_CASE("store: a record's key tells devices, types and sizes apart") {
  const core::DeviceFacts facts = device(90);
  const core::ProblemKey base = key_of(type_of(GGEMM_BF16), 1, 512, 1024, 2048);
  std::set<std::string> keys = {select::record_key(base, nullptr, facts)};
  const auto differs = [&](const core::ProblemKey& key, const core::DeviceFacts& on) {
    const std::string text = select::record_key(key, nullptr, on);
    INFO(text);
    CHECK(keys.insert(text).second);
    CHECK(text.find('\n') == std::string::npos);
  };
  const std::pair<const char*, std::function<void(core::ProblemKey&)>> changes[] = {
      {"groups", [](core::ProblemKey& k) { k.groups = 2; }},
      {"m", [](core::ProblemKey& k) { k.m = 576; }},
      {"n", [](core::ProblemKey& k) { k.n = 512; }},
      {"k", [](core::ProblemKey& k) { k.k = 1024; }},
      {"A", [](core::ProblemKey& k) { k.type.a = GGEMM_F16; }},
      {"B", [](core::ProblemKey& k) { k.type.b = GGEMM_F16; }},
      {"C", [](core::ProblemKey& k) { k.type.c = GGEMM_F32; }},
      {"D", [](core::ProblemKey& k) { k.type.d = GGEMM_F32; }},
      {"sums", [](core::ProblemKey& k) { k.type.sum = core::Sum::f64; }},
      {"compute", [](core::ProblemKey& k) { k.type.compute = GGEMM_COMPUTE_TF32; }},
      {"layout of A", [](core::ProblemKey& k) { k.type.major_a = core::Major::mn; }},
      {"layout of B", [](core::ProblemKey& k) { k.type.major_b = core::Major::mn; }},
      {"form", [](core::ProblemKey& k) { k.type.grouped = 1; }},
      {"skew", [](core::ProblemKey& k) { k.skew = 1; }},
      {"another skew", [](core::ProblemKey& k) { k.skew = 5; }},
  };
  for (const auto& [title, change] : changes) {
    INFO(title);
    core::ProblemKey key = base;
    change(key);
    differs(key, facts);
  }
  core::DeviceFacts other = facts;
  other.name = "another chip";
  differs(base, other);
  other = facts;
  other.multiprocessors = 114;
  differs(base, other);
  other = facts;
  other.arch = "sm_100";
  differs(base, other);
  // the driver's version and the memory's size have no bearing
  other = facts;
  other.driver_version = 12080, other.memory_bytes = 1;
  CHECK(select::record_key(base, nullptr, other) == *keys.find(select::record_key(base, nullptr, facts)));
}

TEST_CASE("store: with a key of the caller's own the sizes do not count, the type and the device do") {
  const core::DeviceFacts facts = device(90);
  const core::ProblemType type = type_of(GGEMM_BF16);
  const std::string own = select::record_key(key_of(type, 1, 512, 1024, 2048), "decode", facts);
  CHECK(select::record_key(key_of(type, 1, 16, 16, 16), "decode", facts) == own);
  CHECK(own.find("decode") != std::string::npos);
  CHECK(select::record_key(key_of(type, 1, 512, 1024, 2048), "prefill", facts) != own);
  CHECK(select::record_key(key_of(type, 1, 512, 1024, 2048), nullptr, facts) != own);
  CHECK(select::record_key(key_of(type_of(GGEMM_F16), 1, 512, 1024, 2048), "decode", facts) != own);
  CHECK(select::record_key(key_of(type, 1, 512, 1024, 2048), "decode", device(80)) != own);
  // no text of the caller's looks like the library's own sizes
  CHECK(select::record_key(key_of(type, 1, 1, 1, 1), "groups 1 m 1 n 1 k 1", facts) != select::record_key(key_of(type, 1, 1, 1, 1), nullptr, facts));
}
