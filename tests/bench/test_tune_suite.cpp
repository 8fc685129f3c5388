// SPDX-License-Identifier: Apache-2.0
#include "bench/tune_suite.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "common/failure.hpp"

using namespace ggemm::bench;

namespace {

TunedRow sample(const std::string& name, const std::string& category, double model_us, double best_us) {
  TunedRow row = row_of<TunedRow>(single_case("plain", "bf16", "nt", {1024, 768, 512}));
  row.name = name, row.category = category;
  row.key = "GPU X | key of " + name;
  row.model = "model_of_" + name, row.model_us = model_us;
  row.best = "best_of_" + name, row.best_us = best_us;
  row.seconds = 1.5;
  row.candidates = {{row.model, model_us, ""}, {row.best, best_us, ""}, {"slow", 0, "wrong result"}};
  row.device = "GPU X", row.date = "2026-01-02T03:04:05Z", row.commit = "abc";
  return row;
}

}  // namespace

TEST_CASE("a tuning's row has its fields and comes back whole") {
  TunedRow row = sample("one", "mid", 12.5, 10.25);
  for (int shared = 0; shared < 2; shared++) {
    if (shared) row.seconds.reset();
    const nlohmann::ordered_json json = to_json(row);
    std::vector<std::string> names;
    for (const auto& [name, value] : json.items()) names.push_back(name);
    CHECK(names == std::vector<std::string>{"suite", "category", "case", "dtype", "layout", "m", "n", "k", "key", "model", "model_us", "best", "best_us", "seconds", "candidates", "device", "date", "commit"});
    CHECK(json["seconds"].is_null() == (shared == 1));
    CHECK(json["candidates"][1]["us"] == 10.25);
    CHECK(json["candidates"][2]["rejected"] == "wrong result");
    TunedRow read;
    read_row(nlohmann::json::parse(json.dump()), read);
    CHECK(to_json(read).dump() == json.dump());
  }
}

TEST_CASE("tunings are summed up by category, with the worst first") {
  std::vector<TunedRow> rows{sample("alike", "mid", 10, 10), sample("worse", "mid", 12.1, 10), sample("worst", "odd", 20, 10)};
  rows[2].seconds = 2.5;
  rows.push_back(sample("shared", "odd", 10, 10));
  rows.back().seconds.reset();
  const std::string report = tuning_report(rows);
  INFO(report);
  CHECK(report.find("1.100  1.210") != std::string::npos);  // sqrt(1 * 1.21)
  CHECK(report.find("1.414  2.000") != std::string::npos);
  CHECK(report.find("1.247  2.000") != std::string::npos);  // of all four
  CHECK(report.find("model_of_worst") < report.find("model_of_worse"));
  CHECK(report.find("model_of_worse") < report.find("model_of_alike"));
  CHECK(report.find("3 tunings: median 1.50 s, longest 2.50 s") != std::string::npos);
}

TEST_CASE("records are merged by key, sorted, and what is none is refused") {
  const std::string first = merged_records("", {sample("b", "mid", 2, 1), sample("a", "mid", 2, 1)});
  CHECK(first == "# 2 tuning records, by `ggemm tune --suite`; the latest of 2026-01-02T03:04:05Z at abc.\nGPU X | key of a\tbest_of_a\nGPU X | key of b\tbest_of_b\n");
  TunedRow newer = sample("a", "mid", 2, 1);
  newer.best = "better";
  const std::string second = merged_records(first, {newer, sample("c", "mid", 2, 1)});
  CHECK(second.substr(second.find('\n') + 1) == "GPU X | key of a\tbetter\nGPU X | key of b\tbest_of_b\nGPU X | key of c\tbest_of_c\n");
  // Where the model's choice is as good, there is none, nor the one of before.
  const std::string commented = merged_records("# Of 5 tuning records, by `ggemm tune --suite`, the best.\n" + second, {});
  CHECK(commented.substr(commented.find('\n') + 1) == "# Of 5 tuning records, by `ggemm tune --suite`, the best.\n" + second.substr(second.find('\n') + 1));
  const std::string third = merged_records(second, {sample("c", "mid", 1.01, 1), sample("d", "mid", 1, 1)});
  CHECK(third.substr(third.find('\n') + 1) == "GPU X | key of a\tbetter\nGPU X | key of b\tbest_of_b\n");
  // Nor does one of an unknown spread serve where another is as good as the best.
  const std::string unknown = "GPU X | key of a\tof_all\n";
  TunedRow known = sample("a", "mid", 1, 1);
  known.key += " spread 5";
  const std::string fourth = merged_records(unknown, {known});
  CHECK(fourth.substr(fourth.find('\n') + 1) == unknown + "GPU X | key of a spread 5\tbest_of_a\n");
  known.best = "of_all";
  CHECK(merged_records(fourth, {known}).find("spread") == std::string::npos);
  CHECK_THROWS_AS(merged_records("a line without a tab\n", {}), ggemm::tools::Failure);
}
