// SPDX-License-Identifier: Apache-2.0
#include "bench/session.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <new>

#include "bench/commit.hpp"
#include "common/failure.hpp"
#include "common/names.hpp"
#include "common/table.hpp"
#include "core/error.hpp"

namespace ggemm::bench {

void add_limit(CLI::App& command, SessionOptions& o, const std::string& group) {
  command.add_option("--limit", o.limit_s, "start no case that would end later than this; 0: no limit")
      ->check(tools::at_least(0))
      ->type_name("SECONDS")
      ->group(group);
}

void add_results(CLI::App& command, SessionOptions& o, const std::string& group) {
  command.add_option("--jsonl", o.jsonl, "file of results, a row a line: each is added as it is measured, in place of one of the same case, device, commit and choice of configuration; what is there is not measured again")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--keep-any", o.keep_any, "rows of other commits and devices count as there")->group(group);
  command.add_option("--commit", o.commit, "what the rows say; the one that this was built from if not given")->type_name("TEXT")->group(group);
}

std::string utc_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

SessionBase::SessionBase(const SessionOptions& options, Provenance made_by) : options_(options), provenance_(std::move(made_by)) {
  provenance_.commit = options.commit.empty() ? built_commit() : options.commit;
  provenance_.keep_any = options.keep_any;
}

void SessionBase::each(const std::vector<Case>& cases, const std::function<bool(const Case&)>& there, const std::function<void(const Case&)>& measure) {
  Deadline deadline(options_.limit_s);
  size_t left = 0;
  for (size_t i = 0; i < cases.size(); i++) {
    const Case& one = cases[i];
    const std::string what =
        tools::format("[%zu/%zu] %s/%s %s %s", i + 1, cases.size(), one.category.c_str(), one.name.c_str(), one.dtype.c_str(), one.layout.c_str());
    const double begin = elapsed();
    if (there(one)) {
      say(what + ": there already");
    } else if (!deadline.allows_another(begin)) {
      left++;
    } else {
      say(what);
      measure_one(one, measure);
      deadline.finished(elapsed() - begin);
    }
  }
  if (left > 0) say(tools::format("--limit %g: %zu cases are left for a later run", options_.limit_s, left));
}

// A case that cannot be computed does not end the run: the others still count.
void SessionBase::measure_one(const Case& one, const std::function<void(const Case&)>& measure) {
  try {
    measure(one);
  } catch (const tools::Failure& failure) {
    note_failure(failure.what());
    if (failure.code() == tools::exit_file) throw;
  } catch (const core::Error& error) {
    note_failure(error.text());
    if (error.status() != GGEMM_ERROR_OUT_OF_MEMORY) throw;  // after a failed launch nothing on the device works any more
  } catch (const std::bad_alloc&) {
    note_failure("memory is used up");
  }
}

void SessionBase::note_failure(const std::string& text) {
  failed_++;
  say("  failed: " + text);
}

void SessionBase::stamp(CaseRow& row) const {
  row.device = provenance_.device;
  row.commit = provenance_.commit;
  row.date = utc_date();
}

void SessionBase::tell_cut_off() const { say(tools::format("%s: the last line was cut off, and is dropped", options_.jsonl.c_str())); }

}  // namespace ggemm::bench
