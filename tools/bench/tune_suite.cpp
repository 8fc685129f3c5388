// SPDX-License-Identifier: Apache-2.0
#include "bench/tune_suite.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/problem.hpp"
#include "bench/stats.hpp"
#include "common/failure.hpp"
#include "common/output.hpp"
#include "common/table.hpp"

namespace ggemm::bench {
namespace {

// As the library explains it.
std::string key_of(const Description& description, ggemm_context* context) {
  static const std::string head = "tuning key: ";
  std::istringstream lines(tools::explain(description.plan(context).get()));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(head)) return line.substr(head.size());
  tools::fail("this libggemm does not say a plan's tuning key");
}

class Tuner {
 public:
  Tuner(const TuneSuite& suite, ggemm_context* context, const ggemm_device_info& info) : suite_(suite), context_(context), cuda_(info.kind == GGEMM_DEVICE_CUDA), session_(suite.session, {.device = info.name}) {
    for (const TunedRow& row : session_.file().rows())
      if (counts(row, session_.provenance())) known_[row.key] = row;
    for (const Case& one : suite.cases)
      if (!session_.file().has(row_of<TunedRow>(one), session_.provenance())) ahead_.push_back(one);
  }

  std::vector<TunedRow> run() {
    session_.run(suite_.cases, row_of<TunedRow>, [this](const Case& one) { return tune(one); });
    session_.compact();
    std::vector<TunedRow> out;
    for (const Case& one : suite_.cases)
      if (const TunedRow* row = session_.file().latest(row_of<TunedRow>(one), session_.provenance())) out.push_back(*row);
    return out;
  }
  int failed() const { return session_.failed(); }

 private:
  TunedRow tune(const Case& one) {
    if (cuda_ && compiled_ == 0) compile_ahead();
    if (compiled_ > 0) compiled_--;
    const Problem problem(one);
    TunedRow row = row_of<TunedRow>(one);
    row.key = key_of(problem.description, context_);
    if (const auto found = known_.find(row.key); found != known_.end()) {
      const TunedRow& known = found->second;
      row.model = known.model, row.model_us = known.model_us, row.best = known.best, row.best_us = known.best_us, row.candidates = known.candidates;
      say("  as " + known.name);
      return row;
    }
    measure(problem.description, row);
    say(tools::format("  %s: %.2f us, the model's %s: %.2f us (%.3f), in %.2f s", row.best.c_str(), row.best_us, row.model.c_str(), row.model_us, row.model_us / row.best_us, *row.seconds));
    return known_[row.key] = row;
  }

  void measure(const Description& description, TunedRow& row) {
    ggemm_tune_options options = description.tune_options(suite_.budget_s);
    options.user = &row;
    options.function = [](void* user, const ggemm_tune_row* told) -> std::int32_t {
      std::vector<Candidate>& candidates = static_cast<TunedRow*>(user)->candidates;
      candidates.resize(std::max(candidates.size(), told->index + 1));
      candidates[told->index] = {told->config, told->microseconds, told->rejected ? told->rejected : ""};
      return 0;
    };
    ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
    const ggemm_problem problem = description.problem();
    tools::check(ggemm_tune(context_, &problem, &options, &result));
    row.best = result.best, row.best_us = result.microseconds;
    row.model = result.first, row.model_us = result.first_microseconds;
    row.seconds = result.seconds;
    for (Candidate& each : row.candidates) {  // which told of their first round
      if (each.config == row.model) each.us = row.model_us;
      if (each.config == row.best) each.us = row.best_us;
    }
  }

  // Compiles what the next cases' tunings will want, on all cores, so that nothing compiles beside what is timed. A kernel that cannot be made is the tuning's to tell.
  void compile_ahead() {
    constexpr size_t cases_at_once = 16, likely = 18;  // candidates of the tuner's own, rasters apart, and some more
    std::deque<Problem> problems;
    while (!ahead_.empty() && compiled_ < cases_at_once) {
      const Case one = std::move(ahead_.front());
      ahead_.pop_front();
      compiled_++;
      try {
        for (const std::string& config : Problem(one).description.ranked(context_, likely)) problems.emplace_back(one).description.force(config);
      } catch (const tools::Failure&) {
        // Its own tuning meets the same.
      }
    }
    std::vector<ggemm_problem> all;
    for (const Problem& each : problems) all.push_back(each.description.problem());
    tools::Progress progress;
    const auto show = [](void* user, size_t done, size_t total, const char* what) -> std::int32_t {
      static_cast<tools::Progress*>(user)->show(done, total, what);
      return 0;
    };
    ggemm_prepare(context_, all.data(), all.size(), show, &progress);
  }

  const TuneSuite& suite_;
  ggemm_context* context_;
  bool cuda_;
  Session<TunedRow> session_;
  std::map<std::string, TunedRow> known_;  // by key
  std::deque<Case> ahead_;                 // cases that are to be tuned, in their order, and are not compiled
  size_t compiled_ = 0;                    // that come next and are
};

// The file, whose text is put into `text`. Throws tools::Failure if it has lines that are no records.
LineFile records_file(const std::string& path, std::string& text) {
  return LineFile(path, [&text](const std::string& line) {
    const size_t tab = line.find('\t');
    ggemm_config config = GGEMM_CONFIG_INIT;
    const bool fits = line[0] == '#' || (tab != std::string::npos && ggemm_config_parse(line.c_str() + tab + 1, &config) == GGEMM_OK);
    if (fits) text += line + '\n';
    return fits;
  });
}

}  // namespace

nlohmann::ordered_json to_json(const TunedRow& row) {
  nlohmann::ordered_json out = case_json(row);
  out["key"] = row.key;
  out["model"] = row.model;
  out["model_us"] = rounded(row.model_us);
  out["best"] = row.best;
  out["best_us"] = rounded(row.best_us);
  out["seconds"] = row.seconds ? nlohmann::ordered_json(rounded(*row.seconds)) : nlohmann::ordered_json(nullptr);
  out["candidates"] = nlohmann::ordered_json::array();
  for (const Candidate& each : row.candidates) {
    if (each.rejected.empty()) out["candidates"].push_back({{"config", each.config}, {"us", rounded(each.us)}});
    else out["candidates"].push_back({{"config", each.config}, {"rejected", each.rejected}});
  }
  add_maker(out, row);
  return out;
}

std::string line_of(const TunedRow& row) { return to_json(row).dump(); }

void read_row(const nlohmann::json& in, TunedRow& row) {
  read_case(in, row);
  row.key = in.at("key");
  row.model = in.at("model"), row.model_us = in.at("model_us");
  row.best = in.at("best"), row.best_us = in.at("best_us");
  if (!in.at("seconds").is_null()) row.seconds = in.at("seconds").get<double>();
  for (const nlohmann::json& each : in.at("candidates")) row.candidates.push_back({each.at("config"), each.value("us", 0.0), each.value("rejected", "")});
}

bool counts(const TunedRow& row, const Provenance& provenance) { return made_by(row, provenance); }

std::string tuning_report(const std::vector<TunedRow>& rows) {
  const auto ratio = [](const TunedRow& row) { return row.model_us / row.best_us; };
  std::map<std::string, std::vector<double>> categories;
  std::vector<double> seconds;
  std::vector<const TunedRow*> order;
  for (const TunedRow& row : rows) {
    for (const std::string& name : {row.category, std::string("all")}) categories[name].push_back(ratio(row));
    if (row.seconds) seconds.push_back(*row.seconds);
    order.push_back(&row);
  }
  tools::Table means({"category", "cases", "model / best", "worst"});
  for (const auto& [name, ratios] : categories)
    means.add({name, std::to_string(ratios.size()), tools::format("%.3f", geometric_mean(ratios)), tools::format("%.3f", *std::max_element(ratios.begin(), ratios.end()))});
  std::stable_sort(order.begin(), order.end(), [&](const TunedRow* a, const TunedRow* b) { return ratio(*a) > ratio(*b); });
  order.resize(std::min<size_t>(order.size(), 10));
  tools::Table worst({"worst", "dtype", "layout", "model / best", "model us", "best us", "model", "best"});
  for (const TunedRow* row : order)
    worst.add({row->name, row->dtype, row->layout, tools::format("%.3f", ratio(*row)), tools::format("%.2f", row->model_us), tools::format("%.2f", row->best_us), row->model, row->best});
  std::string out = means.text() + "\n" + worst.text();
  if (!seconds.empty())
    out += tools::format("\n%zu tunings: median %.2f s, longest %.2f s\n", seconds.size(), median(seconds), *std::max_element(seconds.begin(), seconds.end()));
  return out;
}

std::string merged_records(const std::string& text, const std::vector<TunedRow>& rows) {
  constexpr const char* own_comment = " tuning records, by `ggemm tune --suite`";
  std::map<std::string, std::string> records;
  std::string comments;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t number = line.rfind("# ", 0) == 0 ? line.find_first_not_of("0123456789", 2) : 0;
    if (line.empty() || (number > 2 && number != std::string::npos && line.compare(number, std::strlen(own_comment), own_comment) == 0)) continue;
    if (line[0] == '#') {
      comments += line + '\n';
      continue;
    }
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) tools::fail_usage("'%s' is no record: a key, a tab, a configuration", line.c_str());
    records[line.substr(0, tab)] = line.substr(tab + 1);
  }
  std::string made;
  for (const TunedRow& row : rows) {
    // What the model chooses by itself, or as good as that, needs no record; unless one of groups of which it is not known how rows are spread would serve it.
    constexpr double worth = 1.015;
    const auto any = records.find(row.key.substr(0, row.key.rfind(" spread ")));
    const bool other = row.key.find(" spread ") != std::string::npos && any != records.end() && any->second != row.best;
    if (row.model_us > worth * row.best_us || other) records[row.key] = row.best;
    else records.erase(row.key);
    made = std::max(made, row.date + " at " + row.commit);
  }
  std::string out = tools::format("# %zu%s; the latest of %s.\n", records.size(), own_comment, made.empty() ? "no time" : made.c_str()) + comments;
  for (const auto& [key, config] : records) out += key + "\t" + config + "\n";
  return out;
}

void run_tune_suite(const TuneSuite& suite, ggemm_context* context, const ggemm_device_info& info) {
  if (tools::same_file(suite.session.jsonl, suite.records)) tools::fail_usage("--jsonl and --records name the same file");
  std::string text;
  records_file(suite.records, text);  // what is wrong with the file is better said before hours of tuning
  Tuner tuner(suite, context, info);
  const std::vector<TunedRow> rows = tuner.run();
  if (suite.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const TunedRow& row : rows) all.push_back(to_json(row));
    std::printf("%s\n", all.dump(1).c_str());
  } else {
    std::fputs(tuning_report(rows).c_str(), stdout);
  }
  if (!suite.records.empty()) {
    text.clear();
    LineFile file = records_file(suite.records, text);  // as it is now
    const std::string merged = merged_records(text, rows);
    file.replace({merged.substr(0, merged.size() - 1)});
  }
  if (tuner.failed() > 0) tools::fail("%d cases failed; their reasons are above", tuner.failed());
}

}  // namespace ggemm::bench
