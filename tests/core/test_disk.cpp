// SPDX-License-Identifier: Apache-2.0
// The disk cache: what it keeps, what it drops, and what it makes of damage.
#include <fcntl.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "core/cache_folder.hpp"
#include "core/disk_support.hpp"
#include "core/hash.hpp"
#include "support/child.hpp"

using namespace ggemm;
using namespace ggemm::tests;
namespace fs = std::filesystem;

namespace {

void set_age(const std::string& path, std::int64_t seconds) {
  const timespec when{::time(nullptr) - seconds, 0};
  const timespec times[2] = {when, when};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

std::string some_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string out(count, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

}  // namespace

TEST_CASE("hash128 is XXH3-128 in canonical order, however the bytes are split") {
  CHECK(core::hexadecimal(core::hash128({})) == "99aa06d3014798d86001c324468d497f");  // published value for no bytes
  CHECK(core::hash128({"abc", "", "def"}) == core::hash128({"abcdef"}));
  CHECK(core::hash128({"abc"}) != core::hash128({"abd"}));
  CHECK(core::hash128({"abc"}) != core::hash128({"abc"}, 1));
}

TEST_CASE("disk: what was written is read again, by this object and by another") {
  Cache cache;
  CHECK(cache.disk.problem() == "");
  CHECK(cache.disk.folder() == cache.options.folder);
  CHECK_FALSE(cache.disk.read("cubin", "key"));
  const std::string body("bo\0dy", 5);
  REQUIRE(cache.disk.write("cubin", "key", body, "13.5"));
  const core::Disk other(cache.options, cache.warnings.log());
  for (const core::Disk* disk : {&std::as_const(cache.disk), &other}) {
    const auto entry = disk->read("cubin", "key");
    REQUIRE(entry);
    CHECK(entry->body == body);
    CHECK(entry->maker == "13.5");
  }
  CHECK_FALSE(cache.disk.read("tuning", "key"));
  CHECK_FALSE(cache.disk.read("cubin", "key2"));
  REQUIRE(cache.disk.write("cubin", "key", "", ""));
  CHECK(cache.disk.read("cubin", "key")->body == "");
  CHECK(cache.warnings.count() == 0);
}

TEST_CASE("disk: the folder is 0700 and its parents are made, files are 0600, and no temporary is left") {
  TempFolder parent;
  Warnings warnings;
  const std::string folder = parent / "a/b/cache";
  const mode_t umask_before = ::umask(0);
  const core::Disk disk({folder, "", 1 << 20}, warnings.log());
  const bool written = disk.write("cubin", "key", "body", "");
  ::umask(umask_before);
  REQUIRE(written);
  struct stat about{};
  for (const std::string& made : {parent / "a", parent / "a/b", folder}) {
    REQUIRE(::stat(made.c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0700);
  }
  REQUIRE(names_in(folder).size() == 1);
  REQUIRE(::stat((folder + '/' + names_in(folder)[0]).c_str(), &about) == 0);
  CHECK((about.st_mode & 07777) == 0600);
}

TEST_CASE("disk: entries are removed by key, by maker, and all together, and other people's files stay") {
  Cache cache;
  replace(cache.options.folder + "/notes.txt", "mine");
  replace(cache.options.folder + "/photo-0123456789abcdef0123456789abcdef", "mine");
  REQUIRE(cache.disk.write("cubin", "a", "1", "13.0"));
  REQUIRE(cache.disk.write("cubin", "b", "2", "13.5"));
  REQUIRE(cache.disk.write("cubin", "c", "3", "13.5"));
  REQUIRE(cache.disk.write("tuning", "a", "4", ""));
  CHECK(cache.disk.remove("cubin", "c"));
  CHECK_FALSE(cache.disk.remove("cubin", "c"));
  CHECK(cache.disk.clear("13.5") == 1);
  CHECK_FALSE(cache.disk.read("cubin", "b"));
  CHECK(cache.disk.read("cubin", "a"));
  CHECK(cache.disk.clear(std::nullopt) == 2);
  CHECK(cache.disk.list().empty());
  CHECK(names_in(cache.options.folder).size() == 2);
}

TEST_CASE("disk: the listing names kind, key, maker, size, file and time of the sound entries, last used first") {
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "line\nline", "12345", "13.5"));
  REQUIRE(cache.disk.write("tuning", "t", "6", ""));
  REQUIRE(cache.disk.write("cubin", "broken", "7", ""));
  set_age(cache.file("line\nline"), 100);
  replace(cache.file("broken"), "nonsense");
  const auto list = cache.disk.list();
  REQUIRE(list.size() == 2);
  CHECK(list[0].kind == "tuning");
  CHECK(list[1].kind == "cubin");
  CHECK(list[1].key == "line\nline");
  CHECK(list[1].maker == "13.5");
  CHECK(list[1].path == cache.file("line\nline"));
  CHECK(list[1].bytes == fs::file_size(cache.file("line\nline")));
  CHECK(std::abs(list[1].last_used - (::time(nullptr) - 100)) <= 5);
}

TEST_CASE("disk: two keys with one file name are told apart by the key in the file") {
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "one", "1", ""));
  fs::copy_file(cache.file("one"), cache.file("two"));
  CHECK_FALSE(cache.disk.read("cubin", "two"));
  REQUIRE(cache.disk.write("cubin", "two", "2", ""));
  CHECK(cache.disk.read("cubin", "two")->body == "2");
}

TEST_CASE("disk: the least recently used entries go when the limit is passed") {
  TempFolder parent;
  Warnings warnings;
  const std::string body(1000, 'x'), folder = parent / "cache";
  const auto file = [&](const char* key) { return folder + '/' + core::entry_file_name("cubin", key); };
  const core::Disk disk({folder, "", 4500}, warnings.log());  // four entries, not five
  int age = 400;
  for (const char* key : {"a", "b", "c", "d"}) {
    REQUIRE(disk.write("cubin", key, body, ""));
    set_age(file(key), age);
    age -= 100;
  }
  REQUIRE(disk.read("cubin", "a"));  // now the last used
  REQUIRE(disk.write("cubin", "e", body, ""));
  CHECK(disk.read("cubin", "a"));
  CHECK_FALSE(disk.read("cubin", "b"));
  CHECK(disk.read("cubin", "c"));
  CHECK(disk.read("cubin", "d"));
  CHECK(disk.read("cubin", "e"));
  // Another object, which has not counted what is there, keeps the limit too.
  for (const char* key : {"a", "c", "d", "e"}) set_age(file(key), 10);
  set_age(file("d"), 20);
  const core::Disk other({folder, "", 4500}, warnings.log());
  REQUIRE(other.write("cubin", "f", body, ""));
  CHECK_FALSE(other.read("cubin", "d"));
  CHECK(other.list().size() == 4);
  CHECK_FALSE(other.write("cubin", "large", std::string(5000, 'x'), ""));
  CHECK(warnings.mention("more than the limit"));
  CHECK(other.list().size() == 4);
}

TEST_CASE("disk: temporaries of dead processes and old ones are swept, those of live ones stay") {
  Cache cache;
  std::string dead;
  {
    // A name made by a process that is gone.
    const std::string note = cache.parent / "name";
    REQUIRE(wait_for(start_child([&] {
              std::ofstream(note) << core::temporary_name();
              return 0;
            })) == 0);
    dead = content(note);
  }
  const std::string live = core::temporary_name(), old = core::temporary_name(), elsewhere = ".tmp-0000000000000000-1-1.ggemm",
                    foreign = ".tmp-other";
  for (const std::string& name : {dead, live, old, elsewhere, foreign}) replace(cache.options.folder + '/' + name, "x");
  set_age(cache.options.folder + '/' + old, 3700);
  set_age(cache.options.folder + '/' + foreign, 3700);
  REQUIRE(cache.disk.write("cubin", "key", "body", ""));
  CHECK_FALSE(fs::exists(cache.options.folder + '/' + dead));
  CHECK_FALSE(fs::exists(cache.options.folder + '/' + old));
  CHECK(fs::exists(cache.options.folder + '/' + live));
  CHECK(fs::exists(cache.options.folder + '/' + elsewhere));  // of another machine, where its writer may live
  CHECK(fs::exists(cache.options.folder + '/' + foreign));    // not ours
}

TEST_CASE("disk: every truncation of an entry is found, dropped and healed") {
  Cache cache;
  const std::string body = some_bytes(100, 1);
  REQUIRE(cache.disk.write("cubin", "key", body, "13.5"));
  const std::string whole = content(cache.file("key"));
  REQUIRE(whole.size() > core::entry_header_bytes + 100);
  for (std::size_t length = 0; length <= whole.size() + 1; ++length) {
    if (length == whole.size()) continue;
    INFO("length " << length << " of " << whole.size());
    replace(cache.file("key"), length < whole.size() ? whole.substr(0, length) : whole + 'x');
    REQUIRE_FALSE(cache.disk.read("cubin", "key"));
    REQUIRE_FALSE(fs::exists(cache.file("key")));
  }
  REQUIRE(cache.disk.write("cubin", "key", body, "13.5"));
  CHECK(cache.disk.read("cubin", "key")->body == body);
  CHECK(content(cache.file("key")) == whole);
}

TEST_CASE("disk: every flipped bit of the header is found, dropped and healed") {
  Cache cache;
  const std::string body = some_bytes(100, 2);
  REQUIRE(cache.disk.write("cubin", "key", body, "13.5"));
  const std::string whole = content(cache.file("key"));
  for (std::size_t bit = 0; bit < 8 * core::entry_header_bytes; ++bit) {
    INFO("bit " << bit);
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    replace(cache.file("key"), damaged);
    REQUIRE_FALSE(cache.disk.read("cubin", "key"));
    REQUIRE_FALSE(fs::exists(cache.file("key")));
  }
  REQUIRE(cache.disk.write("cubin", "key", body, "13.5"));
  CHECK(cache.disk.read("cubin", "key")->body == body);
}

TEST_CASE("disk: 10,000 random flips after the header are found, and random files are no entries") {
  const unsigned seed = 20;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string body = some_bytes(5000, seed);
  const std::string whole = core::entry_head({"cubin", "13.5", "key text", body}) + body;
  core::EntryParts parts;
  REQUIRE(core::parse_entry(whole, parts) == nullptr);
  CHECK(parts.body == body);
  CHECK(parts.kind == "cubin");
  CHECK(parts.maker == "13.5");
  CHECK(parts.key == "key text");
  std::string damaged = whole;
  for (int i = 0; i < 10000; ++i) {
    const std::size_t at = core::entry_header_bytes + random() % (whole.size() - core::entry_header_bytes);
    const char flip = static_cast<char>(1 << random() % 8);
    damaged[at] = static_cast<char>(damaged[at] ^ flip);
    if (!core::parse_entry(damaged, parts)) FAIL("flip " << i << " at byte " << at << " is not noticed");
    damaged[at] = static_cast<char>(damaged[at] ^ flip);
  }
  for (int i = 0; i < 10000; ++i) {
    // Keeps the magic and the schema, so that the lengths are reached.
    std::string file = whole.substr(0, 12) + some_bytes(random() % 100, static_cast<unsigned>(random()));
    if (!core::parse_entry(file, parts)) FAIL("random file " << i << " passes for an entry");
  }
}

TEST_CASE("disk: flips in files are found, dropped and healed") {
  Cache cache;
  const unsigned seed = 21;
  std::mt19937 random(seed);
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key " + std::to_string(i), body = some_bytes(1 + random() % 3000, static_cast<unsigned>(random()));
    INFO("seed " << seed << ", file " << i);
    REQUIRE(cache.disk.write("cubin", key, body, "13.5"));
    std::string bytes = content(cache.file(key));
    const std::size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    replace(cache.file(key), bytes);
    REQUIRE_FALSE(cache.disk.read("cubin", key));
    REQUIRE(cache.disk.write("cubin", key, body, "13.5"));
    REQUIRE(cache.disk.read("cubin", key)->body == body);
  }
}

TEST_CASE("disk: a shared folder is read and never changed, and the own folder comes first") {
  Cache cache, common;
  REQUIRE(common.disk.write("cubin", "both", "shared", ""));
  REQUIRE(common.disk.write("cubin", "key", "shared", "13.0"));
  REQUIRE(common.disk.write("cubin", "broken", "shared", ""));
  const std::string broken = "nonsense";
  replace(common.file("broken"), broken);
  set_age(common.file("key"), 1000);
  core::DiskOptions options = cache.options;
  options.shared_folder = common.options.folder;
  const core::Disk disk(options, cache.warnings.log());
  REQUIRE(disk.write("cubin", "both", "own", ""));
  CHECK(disk.read("cubin", "both")->body == "own");
  CHECK(disk.read("cubin", "key")->body == "shared");
  CHECK(disk.read("cubin", "key")->maker == "13.0");
  CHECK_FALSE(disk.read("cubin", "broken"));
  CHECK(content(common.file("broken")) == broken);
  struct stat about{};
  REQUIRE(::stat(common.file("key").c_str(), &about) == 0);
  CHECK(::time(nullptr) - about.st_mtime >= 1000);
  CHECK(disk.list().size() == 1);
  CHECK(disk.clear(std::nullopt) == 1);
  CHECK(disk.read("cubin", "both")->body == "shared");
  // Also for a program that has no folder of its own.
  options.folder = "";
  const core::Disk reader(options, cache.warnings.log());
  CHECK(reader.read("cubin", "key")->body == "shared");
  CHECK_FALSE(reader.write("cubin", "new", "x", ""));
}
