// SPDX-License-Identifier: Apache-2.0
// The disk cache among links, other owners, open permissions, raised privileges and missing homes.
#include <sys/auxv.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "core/disk_support.hpp"
#include "support/child.hpp"

using namespace ggemm;
using namespace ggemm::tests;
namespace fs = std::filesystem;

namespace {

constexpr unsigned nobody = 65534;

// Sets environment variables and puts the old ones back.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<const char*, std::string>> values) {
    for (const char* name : {"GGEMM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
      const char* old = std::getenv(name);
      before_.emplace_back(name, old ? std::optional<std::string>(old) : std::nullopt);
      ::unsetenv(name);
    }
    for (const auto& [name, value] : values) ::setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : before_) value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

// The folder is refused with these words, nothing is read from it or written to it, and calls are harmless.
void check_refused(const std::string& folder, const std::string& words) {
  Warnings warnings;
  const core::Disk disk({folder, "", 1 << 20}, warnings.log());
  CHECK(disk.folder() == "");
  INFO("problem: " << disk.problem());
  CHECK(disk.problem().find(words) != std::string::npos);
  CHECK(warnings.mention(words));
  CHECK_FALSE(disk.write("cubin", "new", "body", ""));
  CHECK_FALSE(disk.read("cubin", "key"));
  CHECK_FALSE(disk.remove("cubin", "key"));
  CHECK(disk.list().empty());
  CHECK(disk.clear(std::nullopt) == 0);
}

}  // namespace

TEST_CASE("disk safety: a symbolic link in the place of the folder is not followed") {
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "key", "body", ""));
  const std::string link = cache.parent / "link";
  fs::create_directory_symlink(cache.options.folder, link);
  check_refused(link, "symbolic link");
  check_refused(link + "/", "symbolic link");
  check_refused(link + "/.", "symbolic link");
  Warnings warnings;
  const core::Disk disk({"", link, 1 << 20}, warnings.log());
  CHECK_FALSE(disk.read("cubin", "key"));
  CHECK(warnings.mention("symbolic link"));
  CHECK(cache.disk.list().size() == 1);
}

TEST_CASE("disk safety: a folder that others may write is not used") {
  for (const mode_t mode : {0777, 0770, 01777, 0707}) {
    Cache cache;
    REQUIRE(cache.disk.write("cubin", "key", "body", ""));
    REQUIRE(::chmod(cache.options.folder.c_str(), mode) == 0);
    INFO("mode " << mode);
    check_refused(cache.options.folder, "can be written by others");
    Warnings warnings;
    const core::Disk disk({"", cache.options.folder, 1 << 20}, warnings.log());
    CHECK_FALSE(disk.read("cubin", "key"));
    CHECK(cache.disk.problem() == "");  // opened before: the check is made once
  }
}

TEST_CASE("disk safety: a file in the place of the folder, or of its parent, is an ordinary refusal") {
  TempFolder parent;
  replace(parent / "file", "x");
  check_refused(parent / "file", "cannot be opened");
  check_refused(parent / "file/cache", "cannot be opened");
}

TEST_CASE("disk safety: an entry that is a link, a pipe, a folder or open to others is not read, and a write replaces it where it can") {
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "target", "body", ""));
  const std::string entry = cache.file("key");
  const auto refused = [&](const std::string& words) {
    CHECK_FALSE(cache.disk.read("cubin", "key"));
    CHECK(cache.warnings.mention(words));
  };
  SECTION("link") {
    const std::string victim = cache.parent / "victim";
    replace(victim, content(cache.file("target")));
    fs::create_symlink(victim, entry);
    refused("symbolic link");
    REQUIRE(cache.disk.write("cubin", "key", "new", ""));
    CHECK(fs::is_regular_file(fs::symlink_status(entry)));
    CHECK(content(victim) == content(cache.file("target")));  // not written through the link
    CHECK(cache.disk.read("cubin", "key")->body == "new");
  }
  SECTION("pipe") {
    REQUIRE(::mkfifo(entry.c_str(), 0600) == 0);
    refused("not a regular file");
    REQUIRE(cache.disk.write("cubin", "key", "new", ""));
    CHECK(cache.disk.read("cubin", "key")->body == "new");
  }
  SECTION("folder") {
    fs::create_directory(entry);
    refused("not a regular file");
    CHECK_FALSE(cache.disk.write("cubin", "key", "new", ""));
    CHECK(names_in(cache.options.folder).size() == 2);  // the temporary is gone
  }
  SECTION("open to others") {
    REQUIRE(cache.disk.write("cubin", "key", "old", ""));
    REQUIRE(::chmod(entry.c_str(), 0666) == 0);
    refused("can be written by others");
    REQUIRE(cache.disk.write("cubin", "key", "new", ""));
    CHECK(cache.disk.read("cubin", "key")->body == "new");
  }
}

TEST_CASE("disk safety: a folder or an entry of another owner is not used") {
  if (::geteuid() != 0) SKIP("needs root, to give files to another user: run the tests in a container");
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "key", "body", ""));
  REQUIRE(::chown(cache.file("key").c_str(), nobody, nobody) == 0);
  CHECK_FALSE(cache.disk.read("cubin", "key"));
  CHECK(cache.warnings.mention("belongs to user 65534"));
  Warnings warnings;
  const core::Disk shared({"", cache.options.folder, 1 << 20}, warnings.log());
  CHECK_FALSE(shared.read("cubin", "key"));
  CHECK(warnings.mention("belongs to user 65534"));
  REQUIRE(::chown(cache.options.folder.c_str(), nobody, nobody) == 0);
  check_refused(cache.options.folder, "belongs to user 65534");
  // As a shared folder it may be anybody's, if its files are the same user's.
  const core::Disk given({"", cache.options.folder, 1 << 20}, warnings.log());
  CHECK(given.read("cubin", "key")->body == "body");
}

TEST_CASE("disk safety: a folder swapped after it was opened redirects nothing") {
  Cache cache;
  const std::string moved = cache.parent / "moved", trap = cache.parent / "trap";
  fs::create_directory(trap);
  fs::rename(cache.options.folder, moved);
  fs::create_directory_symlink(trap, cache.options.folder);
  CHECK(cache.disk.write("cubin", "key", "body", ""));
  CHECK(names_in(trap).empty());
  CHECK(names_in(moved).size() == 1);
}

TEST_CASE("disk safety: a folder that was removed is made again") {
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "key", "body", ""));
  fs::remove_all(cache.options.folder);
  CHECK_FALSE(cache.disk.read("cubin", "key"));
  REQUIRE(cache.disk.write("cubin", "key", "body", ""));
  CHECK(cache.disk.read("cubin", "key")->body == "body");
  CHECK(cache.warnings.count() == 0);
}

TEST_CASE("disk safety: a folder that cannot be written still serves what it holds") {
  Cache cache;
  REQUIRE(cache.disk.write("cubin", "key", "body", ""));
  fs::permissions(cache.parent.path(), fs::perms(0755));
  if (::geteuid() == 0) {  // root may write everywhere, so somebody else looks
    REQUIRE(::chown(cache.options.folder.c_str(), nobody, nobody) == 0);
    REQUIRE(::chown(cache.file("key").c_str(), nobody, nobody) == 0);
  }
  REQUIRE(::chmod(cache.options.folder.c_str(), 0500) == 0);
  const int result = wait_for(start_child([&] {
    if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) return 1;
    Warnings warnings;
    const core::Disk disk(cache.options, warnings.log());
    const auto entry = disk.read("cubin", "key");
    if (!entry || entry->body != "body") return 2;
    if (disk.write("cubin", "other", "body", "")) return 3;
    if (!warnings.mention("Permission denied")) return 4;
    const core::Disk below({cache.options.folder + "/below", "", 1 << 20}, warnings.log());
    return below.folder().empty() && below.problem().find("cannot be created") != std::string::npos ? 0 : 5;
  }));
  CHECK(result == 0);
}

TEST_CASE("disk safety: without a folder everything is a miss and says why") {
  Warnings warnings;
  const core::Disk disk({"", "", 1 << 20}, warnings.log());
  CHECK(disk.folder() == "");
  CHECK(disk.problem() == "no folder is set");
  CHECK_FALSE(disk.write("cubin", "key", "body", ""));
  CHECK_FALSE(disk.read("cubin", "key"));
  CHECK(warnings.count() == 0);
}

TEST_CASE("disk safety: the default folder follows the environment and is never under /tmp by itself") {
  // A home must exist and be ours, so the tests' own folder serves where it may.
  TempFolder home;
  {
    const Environment set{{"GGEMM_CACHE_DIR", "/tmp/named"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/"}};
    CHECK(core::default_cache_folder() == "/tmp/named");
  }
  {
    const Environment set{{"XDG_CACHE_HOME", "/x"}, {"HOME", "/"}};
    CHECK(core::default_cache_folder() == "/x/ggemm");
  }
  {
    const Environment set{{"XDG_CACHE_HOME", "relative"}};
    CHECK(core::default_cache_folder() == "");
  }
  {
    const Environment set{{"HOME", "relative"}};
    CHECK(core::default_cache_folder() == "");
  }
  {
    const Environment set{{"HOME", "/no/such/home"}};
    CHECK(core::default_cache_folder() == "");
  }
  {
    const Environment set{};
    CHECK(core::default_cache_folder() == "");
  }
  for (const std::string& home_folder :
       {fs::canonical(".").string(), home.path(), home.path() + "/../" + fs::path(home.path()).filename().string()}) {
    const Environment set{{"HOME", home_folder}};
    struct stat about{};
    REQUIRE(::stat(home_folder.c_str(), &about) == 0);
    const std::string plain = fs::path(home_folder).lexically_normal().string();
    const bool allowed =
        about.st_uid == ::geteuid() && !plain.starts_with("/tmp") && !plain.starts_with("/var/tmp") && !plain.starts_with("/dev/shm");
    INFO("HOME " << home_folder);
    CHECK(core::default_cache_folder() == (allowed ? plain + "/.cache/ggemm" : ""));
  }
}

TEST_CASE("disk safety: a home that is another user's is not the default") {
  if (::geteuid() != 0) SKIP("needs root, to give files to another user: run the tests in a container");
  TempFolder home;
  REQUIRE(::chown(home.path().c_str(), nobody, nobody) == 0);
  const Environment set{{"HOME", home.path()}};
  CHECK(core::default_cache_folder() == "");
}

TEST_CASE("with raised privileges the default folder is none whatever the environment says", "[.]") {
  if (!::getauxval(AT_SECURE)) SKIP("the file system ignores the set-user-id bit: set TMPDIR to a folder on one that does not");
  CHECK(std::getenv("GGEMM_CACHE_DIR") != nullptr);
  CHECK(core::default_cache_folder() == "");
}

TEST_CASE("disk safety: under AT_SECURE there is no default folder") {
  if (::geteuid() != 0) SKIP("needs root, to make a set-user-id program: run the tests in a container");
  TempFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  const std::string program = folder / "test";
  fs::copy_file("/proc/self/exe", program);
  REQUIRE(::chmod(program.c_str(), 04755) == 0);
  const int result = run_test("with raised privileges the default folder is none whatever the environment says",
                              {{"GGEMM_CACHE_DIR", "/var/cache/x"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/"}}, program, nobody);
  if (result == 4) SKIP("the file system ignores the set-user-id bit: set TMPDIR to a folder on one that does not");
  CHECK(result == 0);
}
