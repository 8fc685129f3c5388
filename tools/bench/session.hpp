// SPDX-License-Identifier: Apache-2.0
// A run over the cases of a suite that can stop anywhere, and another can go on: what is in its file is not done again.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/protocol.hpp"
#include "bench/results.hpp"

namespace CLI {
class App;
}

namespace ggemm::bench {

struct SessionOptions {
  std::string jsonl, commit;
  bool keep_any = false;
  double limit_s = 0;
};
// --limit; --jsonl, --keep-any, --commit. Two groups of the help.
void add_limit(CLI::App& command, SessionOptions& options, const std::string& group);
void add_results(CLI::App& command, SessionOptions& options, const std::string& group);

// "2026-01-02T03:04:05Z"
std::string utc_date();
void say(const std::string& text);  // on stderr

// What is the same for every kind of row.
class SessionBase {
 public:
  int failed() const { return failed_; }
  const Provenance& provenance() const { return provenance_; }
  const SessionOptions& options() const { return options_; }

 protected:
  SessionBase(const SessionOptions& options, Provenance made_by);
  // Does each case that is not there, while the limit lets another begin.
  void each(const std::vector<Case>& cases, const std::function<bool(const Case&)>& there, const std::function<void(const Case&)>& measure);
  void stamp(CaseRow& row) const;
  void tell_cut_off() const;

 private:
  void measure_one(const Case& one, const std::function<void(const Case&)>& measure);
  void note_failure(const std::string& text);
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

  const SessionOptions& options_;
  Provenance provenance_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int failed_ = 0;
};

template <class R>
class Session : public SessionBase {
 public:
  // made_by: the device, and how it measures; the rest is of the options, which must outlive this.
  Session(const SessionOptions& options, Provenance made_by) : SessionBase(options, std::move(made_by)), file_(options.jsonl) {
    if (file_.cut_off()) tell_cut_off();
  }

  // wanted(case): the row that is looked for. measure(case) gives it, or throws.
  void run(const std::vector<Case>& cases, const std::function<R(const Case&)>& wanted, const std::function<R(const Case&)>& measure) {
    each(cases, [&](const Case& one) { return file_.has(wanted(one), provenance()); }, [&](const Case& one) { keep(measure(one)); });
  }
  void keep(R row) {
    stamp(row);
    file_.append(row);
  }
  const RowFile<R>& file() const { return file_; }
  void compact() {
    if (!options().jsonl.empty()) file_.compact();
  }

 private:
  RowFile<R> file_;
};

}  // namespace ggemm::bench
