// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "bench/report.hpp"
#include "bench/results.hpp"
#include "bench/suites.hpp"
#include "common/failure.hpp"

using namespace ggemm::bench;

namespace {

class TemporaryFile {
 public:
  TemporaryFile() {
    char name[] = "/tmp/ggemm-bench-XXXXXX";
    const int descriptor = mkstemp(name);
    REQUIRE(descriptor >= 0);
    close(descriptor);
    path_ = name;
    std::remove(name);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }
  std::string text() const {
    std::ifstream file(path_);
    std::stringstream out;
    out << file.rdbuf();
    return out.str();
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

 private:
  std::string path_;
};

Row sample_row(const std::string& name, double us, const std::string& commit = "abc", const std::string& device = "GPU X") {
  Row row = row_for(single_case("plain", "bf16", "nt", {1024, 768, 512}));
  row.name = name;
  row.config = "sm80_some";
  row.ours_us = us;
  row.limit_us = 5.5;
  row.peers = {{"cublaslt", 12.25}};
  row.ratio = 1.21;
  row.sm_mhz = 1755;
  row.device = device;
  row.date = "2026-01-02T03:04:05Z";
  row.commit = commit;
  return row;
}

Row from_json(const nlohmann::json& json) {
  Row row;
  read_row(json, row);
  return row;
}

}  // namespace

TEST_CASE("a row has exactly the fields that the results promise, and comes back whole") {
  const Row row = sample_row("one", 10.125);
  const auto json = to_json(row);
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  CHECK(names == std::vector<std::string>{"suite", "category", "case", "dtype", "layout", "m", "n", "k", "config", "ours_us", "limit_us", "peers",
                                          "ratio", "sm_mhz", "device", "date", "commit"});
  CHECK(json["m"] == 1024);
  CHECK(json["peers"]["cublaslt"] == 12.25);
  CHECK(to_json(from_json(nlohmann::json::parse(json.dump()))).dump() == json.dump());

  Row bare = row_for(single_case("plain", "f32", "nn", {1, 2, 3}));
  bare.ours_us = 1;
  CHECK(to_json(bare)["limit_us"].is_null());
  CHECK(to_json(bare)["ratio"].is_null());
  CHECK(to_json(bare)["sm_mhz"].is_null());
  CHECK(to_json(from_json(nlohmann::json::parse(to_json(bare).dump()))).dump() == to_json(bare).dump());
}

TEST_CASE("a grouped row names its generator in place of a size") {
  Row row = sample_row("experts", 3);
  row.groups = "experts 8, tokens 64, skewed";
  const auto json = to_json(row);
  CHECK(json["groups"] == row.groups);
  CHECK_FALSE(json.contains("m"));
  CHECK(from_json(nlohmann::json::parse(json.dump())).groups == row.groups);
}

TEST_CASE("a second run finds what the first one wrote") {
  const TemporaryFile file;
  {
    ResultFile first(file.path());
    CHECK(first.rows().empty());
    first.append(sample_row("one", 10));
    first.append(sample_row("two", 20));
  }
  const ResultFile second(file.path());
  REQUIRE(second.rows().size() == 2);
  CHECK(second.rows()[1].ours_us == 20);
  const Provenance same{"abc", "GPU X", "", false};
  CHECK(second.has(sample_row("one", 0), same));
  CHECK_FALSE(second.has(sample_row("three", 0), same));
}

TEST_CASE("a row is from the first as a later run reads it") {
  const TemporaryFile file;
  Row row = sample_row("one", 10.12344999);
  row.ratio = 0.64446;  // 0.644 to three digits, but 0.645 by way of four
  ResultFile first(file.path());
  first.append(row);
  const ResultFile second(file.path());
  REQUIRE(second.rows().size() == 1);
  CHECK(*first.rows()[0].ratio == *second.rows()[0].ratio);
  CHECK(first.rows()[0].ours_us == second.rows()[0].ours_us);
  CHECK(*second.rows()[0].ratio != *row.ratio);
}

TEST_CASE("a row counts only for the same commit and device unless any will do") {
  ResultFile rows("");
  rows.append(sample_row("one", 10));
  const Row wanted = sample_row("one", 0);
  CHECK(rows.has(wanted, {"abc", "GPU X", "", false}));
  CHECK_FALSE(rows.has(wanted, {"def", "GPU X", "", false}));
  CHECK_FALSE(rows.has(wanted, {"abc", "GPU Y", "", false}));
  CHECK(rows.has(wanted, {"def", "GPU Y", "", true}));
  CHECK(rows.has(wanted, {"abc", "GPU X", "sm80_some", false}));
  CHECK_FALSE(rows.has(wanted, {"abc", "GPU X", "sm80_other", true}));
  Row other_layout = wanted;
  other_layout.layout = "nn";
  CHECK_FALSE(rows.has(other_layout, {"abc", "GPU X", "", false}));
}

TEST_CASE("a last line that was cut off is passed over, and the next row takes its place") {
  const TemporaryFile file;
  const std::string whole = to_json(sample_row("one", 10)).dump();
  for (const char* begin : {"", "\n"}) {
    file.write(begin + whole + "\n" + whole.substr(0, 40));
    {
      ResultFile rows(file.path());
      CHECK(rows.rows().size() == 1);
      CHECK(rows.cut_off());
      rows.append(sample_row("two", 20));
      rows.append(sample_row("three", 30));
    }
    const ResultFile again(file.path());
    CHECK_FALSE(again.cut_off());
    REQUIRE(again.rows().size() == 3);
    CHECK(again.rows()[1].name == "two");
    CHECK(again.rows()[2].name == "three");
  }
}

TEST_CASE("a file of something else is refused, and stays as it is") {
  const TemporaryFile file;
  const std::string whole = to_json(sample_row("one", 10)).dump();
  for (const std::string& text : {std::string("name,us\nfirst,1\n"), whole + "\n{\"suite\": \"plain\"}\n" + whole + "\n", std::string("\0\1\n\n", 4), std::string("[]\n"),
                                  // One line without an end, which is not what a row that was cut off looks like.
                                  std::string("a note"), std::string("\x7f" "ELF\0\1", 6), std::string("{\"suite\":\"plain\"}"), whole + "\na note"}) {
    file.write(text);
    try {
      ResultFile rows(file.path());
      FAIL("nothing was thrown");
    } catch (const ggemm::tools::Failure& failure) {
      CHECK(failure.code() == ggemm::tools::exit_file);
      CHECK(std::string(failure.what()).find(file.path()) != std::string::npos);
    }
    std::ifstream now(file.path(), std::ios::binary);
    CHECK(std::string(std::istreambuf_iterator<char>(now), {}) == text);
  }
}

TEST_CASE("a last line without an end is still a row, and nothing is glued to it") {
  const TemporaryFile file;
  file.write(to_json(sample_row("one", 10)).dump());
  ResultFile rows(file.path());
  CHECK(rows.rows().size() == 1);
  rows.append(sample_row("two", 20));
  CHECK(ResultFile(file.path()).rows().size() == 2);
}

TEST_CASE("a row lacks nothing that is asked for, or it does not count") {
  Row row = sample_row("one", 10);
  const Provenance library{.commit = "abc", .device = "GPU X"};
  Provenance peers = library, tuned = library, forced = library;
  peers.peers = true, tuned.tune = true, forced.config = row.config;
  CHECK((counts(row, library) && counts(row, peers) && counts(row, forced) && !counts(row, tuned)));
  row.alone = true;
  CHECK((counts(row, library) && !counts(row, peers)));
  row.choice = "tuned";
  CHECK((counts(row, tuned) && counts(row, forced) && !counts(row, library)));
  row.choice = "forced";
  CHECK((counts(row, forced) && !counts(row, tuned) && !counts(row, library)));
  for (const std::string choice : {"tuned", "forced"}) {
    row.choice = choice;
    const Row back = from_json(nlohmann::json::parse(to_json(row).dump()));
    CHECK((back.choice == choice && back.alone));
  }
}

TEST_CASE("of several rows of a case the latest that counts is told") {
  ResultFile rows("");
  for (const auto& [us, commit, device] : {std::tuple(1.0, "abc", "GPU X"), std::tuple(2.0, "abc", "GPU X"), std::tuple(3.0, "def", "GPU X"), std::tuple(4.0, "abc", "GPU Y")})
    rows.append(sample_row("one", us, commit, device));
  const Row wanted = sample_row("one", 0);
  REQUIRE(rows.latest(wanted, {"abc", "GPU X"}));
  CHECK(rows.latest(wanted, {"abc", "GPU X"})->ours_us == 2);
  CHECK(rows.latest(wanted, {"def", "GPU X"})->ours_us == 3);
  CHECK_FALSE(rows.latest(wanted, {"def", "GPU Y"}));
}

TEST_CASE("compacting keeps the latest row of each case, device, commit and choice, in the order of the first") {
  const TemporaryFile file;
  ResultFile rows(file.path());
  const auto add = [&](double us, const char* commit, const char* device, const char* choice = "", const char* config = "sm80_some", bool alone = false) {
    Row row = sample_row("one", us, commit, device);
    row.choice = choice, row.config = config, row.alone = alone;
    rows.append(row);
  };
  add(1, "old", "GPU X", "", "sm80_some", true);
  add(2, "new", "GPU X");
  add(3, "new", "GPU Y");
  add(4, "new", "GPU X", "tuned");
  add(5, "new", "GPU X", "forced", "sm80_one");
  add(6, "new", "GPU X", "forced", "sm80_other");
  add(7, "old", "GPU X");  // takes the place of the one without peers
  add(8, "new", "GPU X", "tuned", "sm80_other");
  rows.append(sample_row("two", 9));
  rows.compact();
  const ResultFile again(file.path());
  std::vector<double> left;
  for (const Row& row : again.rows()) left.push_back(row.ours_us);
  CHECK(left == std::vector<double>{7, 2, 3, 8, 5, 6, 9});
}

TEST_CASE("compacting leaves lines as they are, and a file that has nothing to drop") {
  const TemporaryFile file;
  nlohmann::ordered_json more = to_json(sample_row("one", 10));
  more["note"] = "of another program";
  file.write(more.dump() + "\n" + to_json(sample_row("two", 20)).dump() + "\n");
  struct stat before {}, after{};
  REQUIRE(stat(file.path().c_str(), &before) == 0);
  ResultFile rows(file.path());
  rows.compact();
  REQUIRE(stat(file.path().c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  rows.append(sample_row("two", 21));
  rows.compact();
  CHECK(file.text() == more.dump() + "\n" + to_json(sample_row("two", 21)).dump() + "\n");
}

TEST_CASE("compacting follows a link, keeps the file's mode, and touches no other file") {
  const TemporaryFile file, link;
  file.write("");
  REQUIRE(chmod(file.path().c_str(), 0600) == 0);
  REQUIRE(symlink(file.path().c_str(), link.path().c_str()) == 0);
  const std::string other = file.path() + ".new";
  std::ofstream(other) << "another's";
  ResultFile rows(link.path());
  for (const double us : {1.0, 2.0}) rows.append(sample_row("one", us));
  rows.compact();
  struct stat found {};
  REQUIRE(lstat(link.path().c_str(), &found) == 0);
  CHECK(S_ISLNK(found.st_mode));
  REQUIRE(stat(file.path().c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  CHECK(file.text() == to_json(sample_row("one", 2)).dump() + "\n");
  std::stringstream left;
  left << std::ifstream(other).rdbuf();
  CHECK(left.str() == "another's");
  std::remove(other.c_str());
}

TEST_CASE("a file of results that cannot be written is an error of its own kind") {
  for (const std::string path : {"/nonexistent-folder/results.jsonl", "/", "/dev/full"}) {
    try {
      ResultFile rows(path);
      FAIL("nothing was thrown");
    } catch (const ggemm::tools::Failure& failure) {
      CHECK(failure.code() == ggemm::tools::exit_file);
      CHECK(std::string(failure.what()).find(path) != std::string::npos);
    }
  }
}

TEST_CASE("reports show the share of the limit, the best peer and the sums by category") {
  Row slow = sample_row("two", 11);
  slow.peers = {{"cublaslt", 13.0}, {"cublas-grouped", 9.0}};
  slow.ratio = 0.8;
  const std::vector<Entry> entries{{sample_row("one", 11), 2.2e9}, {slow, 2.2e9}};
  const std::string table = report(entries, Format::table);
  CHECK(table.find("0.50") != std::string::npos);  // 5.5 us of 11
  CHECK(table.find("cublas-grouped") != std::string::npos);
  CHECK(table.find("0.984") != std::string::npos);  // the geometric mean of 1.21 and 0.8
  CHECK(table.find("200") != std::string::npos);    // TFLOP/s
  const std::string markdown = report(entries, Format::markdown);
  CHECK(markdown.rfind("| category | case |", 0) == 0);
  CHECK(markdown.find("\n| --- | --- |") != std::string::npos);
  const std::string csv = report(entries, Format::csv);
  CHECK(csv.rfind("category,case,dtype", 0) == 0);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  const auto json = nlohmann::json::parse(report(entries, Format::json));
  REQUIRE(json.size() == 2);
  CHECK(json[1]["peers"]["cublas-grouped"] == 9.0);
}

TEST_CASE("a plot has one line a provider and escapes what it prints") {
  std::vector<Entry> entries;
  for (const std::int64_t s : {256, 1024, 4096}) {
    Row row = sample_row("square", 10.0 * static_cast<double>(s));
    row.peers = {{"a<b", 12.0 * static_cast<double>(s)}};
    entries.push_back({row, 2.0 * static_cast<double>(s * s * s)});
  }
  const std::string svg = plot_svg(entries, "x & y");
  CHECK(svg.rfind("<svg", 0) == 0);
  CHECK(svg.find("x &amp; y") != std::string::npos);
  CHECK(svg.find("a&lt;b") != std::string::npos);
  CHECK(svg.find("a<b") == std::string::npos);
  size_t lines = 0;
  for (size_t at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1)) lines++;
  CHECK(lines == 2);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(plot_svg({}, "empty").find("</svg>") != std::string::npos);
}
