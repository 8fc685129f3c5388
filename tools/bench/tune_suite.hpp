// SPDX-License-Identifier: Apache-2.0
// `ggemm tune --suite NAME`: tunes the cases of a benchmark's suite.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bench/session.hpp"
#include "bench/suites.hpp"

namespace ggemm::bench {

struct Candidate {
  std::string config;
  double us = 0;         // of its first round, but for the model's and the best; 0: not timed
  std::string rejected;  // why it cannot win; "" if it can
};

// What a tuning came to.
struct TunedRow : CaseRow {
  std::string key;  // of the record
  std::string model, best;
  double model_us = 0, best_us = 0;
  std::optional<double> seconds;  // that the tuning took; none where another case has the same key
  std::vector<Candidate> candidates;
};
nlohmann::ordered_json to_json(const TunedRow& row);
std::string line_of(const TunedRow& row);
void read_row(const nlohmann::json& json, TunedRow& row);
bool counts(const TunedRow& row, const Provenance& provenance);

// Geometric means of model's pick over best by category, the worst ten, and how long a tuning took.
std::string tuning_report(const std::vector<TunedRow>& rows);

// The text of a file of records, one a line (key, tab, configuration), sorted: what `text` has, with the rows' in place of those of their keys, or none
// where the model's choice is as good. Its comments stay, at the top.
// Throws tools::Failure for a text that is none.
std::string merged_records(const std::string& text, const std::vector<TunedRow>& rows);

struct TuneSuite {
  std::vector<Case> cases;
  double budget_s = 10;  // for each tuning
  SessionOptions session;
  std::string records;  // file to merge the best into; "": none
  bool json = false;
};
void run_tune_suite(const TuneSuite& suite, ggemm_context* context, const ggemm_device_info& info);

}  // namespace ggemm::bench
