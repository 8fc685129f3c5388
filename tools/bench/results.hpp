// SPDX-License-Identifier: Apache-2.0
// The rows of a benchmark and the file that keeps them: one JSON object a line, so that a run can stop anywhere and another can go on.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/case.hpp"

namespace ggemm::bench {

// What every row says: the case, and what measured it.
struct CaseRow {
  std::string suite, category, name, dtype, layout;
  Size size{};
  std::string groups;  // grouped: the generator's words, and then no size
  std::string device, date, commit;
};
// A row with all that is known of the case before it ran.
template <class R>
R row_of(const Case& one) {
  R row;
  row.suite = one.suite, row.category = one.category, row.name = one.name;
  row.dtype = one.dtype, row.layout = one.layout;
  row.size = one.size, row.groups = one.generator;
  return row;
}
// The case of a row, whatever measured it.
std::string row_key(const CaseRow& row);
// What makes two rows measurements of the same thing, so that the later one takes the place of the other: the case, the device and the commit.
std::string measurement(const CaseRow& row);

// The fields of a case go before those of a measurement, what measured it behind them. read_case throws nlohmann's exceptions.
nlohmann::ordered_json case_json(const CaseRow& row);
void add_maker(nlohmann::ordered_json& json, const CaseRow& row);
void read_case(const nlohmann::json& json, CaseRow& row);
double rounded(double value);  // four digits after the point

// A product's time, beside its peers'.
struct Row : CaseRow {
  std::string config;
  std::string choice;  // what chose it, other than the library: "tuned" for this run, or "forced" by its name; else ""
  bool alone = false;  // no peer was asked for
  double ours_us = 0;
  std::optional<double> limit_us;
  std::map<std::string, double> peers;  // name -> us
  std::optional<double> ratio;          // paired, best peer / ours; none where no peer ran
  std::optional<int> sm_mhz;
};
inline Row row_for(const Case& one) { return row_of<Row>(one); }
// And what chose the configuration (that one itself, if it was forced). A row with peers takes the place of one without, as it says all that that one does.
std::string measurement(const Row& row);

nlohmann::ordered_json to_json(const Row& row);
std::string line_of(const Row& row);  // of the file
// Throws nlohmann's exceptions for anything that is not a row.
void read_row(const nlohmann::json& json, Row& row);
// False, whatever `read` has done of it, for a line that is not JSON, or of which it throws nlohmann's exceptions.
bool read_line(const std::string& line, const std::function<void(const nlohmann::json&)>& read);

// What a run measures with: a row counts as done only if it was measured with the same.
struct Provenance {
  std::string commit{}, device{};
  std::string config{};   // forced by the user; "": chosen
  bool keep_any = false;  // rows of any commit and device count
  bool tune = false, peers = false;  // asked for
};
bool made_by(const CaseRow& row, const Provenance& provenance);
bool counts(const Row& row, const Provenance& provenance);

// A text file that grows by lines.
class LineFile {
 public:
  // Reads what is there; a file that does not exist is empty. "": nothing is kept on disk. read: says whether a line is one of such a file's: one that is not is a Failure, and so is a file that cannot be
  // written, so that neither is found out after hours, nor what is another's lost; but a last line that is the beginning of a row was cut off: it is passed over, and the next takes its place.
  LineFile(std::string path, const std::function<bool(const std::string&)>& read);
  bool cut_off() const { return cut_off_; }
  // Complete on return. Throws tools::Failure.
  void append(const std::string& line);
  // Writes the file anew, where a link leads to. Throws tools::Failure; the old file stays then.
  void replace(const std::vector<std::string>& lines);

 private:
  std::string path_;
  bool unended_ = false;  // the last line is whole, but for its end
  bool cut_off_ = false;  // it is not: a run ended in it
  std::uintmax_t whole_ = 0;  // bytes before it
};

// R: a CaseRow with line_of, read_row, measurement and counts.
template <class R>
class RowFile {
 public:
  explicit RowFile(std::string path) : file_(std::move(path), [this](const std::string& line) { return read(line); }) {}
  const std::vector<R>& rows() const { return rows_; }
  bool cut_off() const { return file_.cut_off(); }

  // The latest row of what is wanted that counts; nullptr if there is none.
  const R* latest(const CaseRow& wanted, const Provenance& provenance) const {
    const std::string key = row_key(wanted);
    const auto found = std::find_if(rows_.rbegin(), rows_.rend(), [&](const R& row) { return row_key(row) == key && counts(row, provenance); });
    return found == rows_.rend() ? nullptr : &*found;
  }
  bool has(const CaseRow& wanted, const Provenance& provenance) const { return latest(wanted, provenance) != nullptr; }
  // Adds the row here, as a later run reads it, and at the end of the file. Throws tools::Failure.
  void append(const R& row) {
    const std::string line = line_of(row);
    read(line);
    file_.append(line);
  }
  // Leaves the latest row of each measurement, in the order of the first, and its line as it was. Throws tools::Failure.
  void compact() {
    std::vector<size_t> latest;
    std::map<std::string, size_t> place;
    for (size_t i = 0; i < rows_.size(); i++) {
      const auto [found, is_new] = place.try_emplace(measurement(rows_[i]), latest.size());
      if (is_new) latest.push_back(i);
      else latest[found->second] = i;
    }
    if (latest.size() == rows_.size() && !file_.cut_off()) return;
    std::vector<R> rows;
    std::vector<std::string> lines;
    for (const size_t i : latest) rows.push_back(std::move(rows_[i])), lines.push_back(std::move(lines_[i]));
    rows_ = std::move(rows), lines_ = std::move(lines);
    file_.replace(lines_);
  }

 private:
  bool read(const std::string& line) {
    R row;
    if (!read_line(line, [&row](const nlohmann::json& json) { read_row(json, row); })) return false;
    rows_.push_back(std::move(row));
    lines_.push_back(line);
    return true;
  }
  std::vector<R> rows_;
  std::vector<std::string> lines_;  // as they are in the file, which may say more
  LineFile file_;  // the last, as it fills the others
};
using ResultFile = RowFile<Row>;

}  // namespace ggemm::bench
