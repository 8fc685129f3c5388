// SPDX-License-Identifier: Apache-2.0
// The rows of a benchmark and the file that keeps them: one JSON object a line, so that a run can stop anywhere and another can go on.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/case.hpp"

namespace ggemm::bench {

struct Row {
  std::string suite, category, name, dtype, layout;
  Size size{};
  std::string groups;  // grouped: the generator's words, and then no size
  std::string config;
  double ours_us = 0;
  std::optional<double> limit_us;
  std::map<std::string, double> peers;  // name -> us
  std::optional<double> ratio;          // paired, best peer / ours; none where no peer ran
  std::optional<int> sm_mhz;
  std::string device, date, commit;
};

// A row with all that is known of the case before it ran.
Row row_for(const Case& one);

nlohmann::ordered_json to_json(const Row& row);
// Throws nlohmann's exceptions for anything that is not a row.
Row from_json(const nlohmann::json& json);

// What makes two rows measurements of the same thing.
std::string row_key(const Row& row);

// What a run measures with: a row counts as done only if it was measured with the same.
struct Provenance {
  std::string commit, device;
  std::string config;     // forced by the user; "": chosen
  bool keep_any = false;  // rows of any commit and device count
};

class ResultFile {
 public:
  // Reads what is there; a file that does not exist is empty. Lines that are no rows are passed over and counted. "": nothing is kept on disk.
  explicit ResultFile(std::string path);
  const std::vector<Row>& rows() const { return rows_; }
  int bad_lines() const { return bad_lines_; }

  bool has(const Row& wanted, const Provenance& provenance) const;
  // Adds the row here and at the end of the file, complete on return. Throws tools::Failure.
  void append(const Row& row);
  // Writes the file anew with the latest row of each key. Throws tools::Failure; the old file stays then.
  void compact();

 private:
  std::string path_;
  std::vector<Row> rows_;
  int bad_lines_ = 0;
  bool torn_ = false;  // the last line has no end: a run was cut off in it
};

}  // namespace ggemm::bench
