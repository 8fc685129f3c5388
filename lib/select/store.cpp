// SPDX-License-Identifier: Apache-2.0
#include "select/store.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>

#include "core/error.hpp"

namespace ggemm::select {
namespace {

bool is_name(const std::string& text) {
  try {
    core::parse_config(text);
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

// Microseconds as format writes them; 0 if it is no time.
double time_of(std::string_view text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, std::chars_format::fixed);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(out) && out > 0 ? out : 0;
}

// Where what is computed goes takes no other kernel to be best. Of groups that are checked, and where CTAs are limited, fewer configurations are legal.
std::string form_of(const core::ProblemType& type) {
  std::string out = !type.grouped ? "plain" : type.grouped & core::gathered_rows ? "grouped gather" : type.grouped & core::batch_groups ? "grouped batch" : "grouped";
  if (type.grouped & core::checked_groups) out += " checked";
  if (type.limited) out += " limited";
  return out;
}

}  // namespace

std::string record_key(const core::ProblemKey& key, const char* tune_key, const core::DeviceFacts& facts) {
  const core::ProblemType& t = key.type;
  std::string sizes = tune_key ? std::string(t.transposed ? "transposed, own key " : "own key ") + tune_key
                               : core::text("groups %lld m %lld n %lld k %lld", static_cast<long long>(key.groups), static_cast<long long>(key.m), static_cast<long long>(key.n), static_cast<long long>(key.k));
  if (key.skew && !tune_key) sizes += core::text(" spread %lld", static_cast<long long>(key.skew));
  std::string epilogue;
  if (t.scale_a || t.scale_b) epilogue += core::text(" scales %s %s", core::scale_name(t.scale_a), core::scale_name(t.scale_b));
  if (t.gate) epilogue += core::text(" gate %s", core::gate_name(t.gate));
  return core::text("%s | %s | %d multiprocessors | %s %s %s %s %s compute %d layout %c%c%c%s%s %s | %s", facts.name.c_str(), facts.arch.c_str(), facts.multiprocessors, core::dtype_name(t.a), core::dtype_name(t.b),
                    core::dtype_name(t.c), core::dtype_name(t.d), core::sum_name(t.sum), t.compute, t.major_a == core::Major::k ? 't' : 'n', t.major_b == core::Major::k ? 'n' : 't', t.major_d == core::Major::k ? 'n' : 't', t.unreachable ? core::text(" unaligned %d", t.unreachable).c_str() : "", epilogue.c_str(), form_of(t).c_str(),
                    sizes.c_str());
}

std::string format(const Record& record) {
  std::string out = "ggemm-tuning 1\nbest " + record.best + "\n";
  for (const Measured& m : record.measured) {
    char number[64];  // printf would write the decimal point of the program's locale
    const auto [end, error] = std::to_chars(number, number + sizeof number, m.microseconds, std::chars_format::fixed, 3);
    if (error == std::errc()) out.append(m.config).append(" ").append(number, end).append("\n");
  }
  return out;
}

std::optional<Record> parse(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  if (!text.ends_with('\n') || !std::getline(in, line) || line != "ggemm-tuning 1") return std::nullopt;
  if (!std::getline(in, line) || !line.starts_with("best ")) return std::nullopt;
  Record record{line.substr(5), {}};
  if (!is_name(record.best)) return std::nullopt;
  while (std::getline(in, line)) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) return std::nullopt;
    const Measured one{line.substr(0, space), time_of(std::string_view(line).substr(space + 1))};
    if (one.microseconds == 0 || !is_name(one.config)) return std::nullopt;
    record.measured.push_back(one);
  }
  const auto is_best = [&](const Measured& m) { return m.config == record.best; };
  if (!record.measured.empty() && std::none_of(record.measured.begin(), record.measured.end(), is_best)) return std::nullopt;
  return record;
}

std::optional<Record> Store::find(const std::string& key) {
  constexpr std::size_t most_records = 4096;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = records_.find(key); found != records_.end()) return found->second;
  }
  std::optional<Record> record;
  if (const auto entry = disk_.read("tuning", key)) record = parse(entry->body);
  if (const auto best = record ? std::nullopt : shipped_.find(key)) record = Record{std::string(*best), {}, true};
  std::lock_guard lock(mutex_);
  // A caller whose sizes never repeat must not fill memory: what was not found may be looked for again.
  if (records_.size() >= most_records) std::erase_if(records_, [](const auto& known) { return !known.second; });
  return records_.emplace(key, record).first->second;
}

void Store::keep(const std::string& key, const Record& record) {
  {
    std::lock_guard lock(mutex_);
    records_[key] = record;
  }
  disk_.write("tuning", key, format(record), "");
}

void Store::clear() {
  std::lock_guard lock(mutex_);
  records_.clear();
}

}  // namespace ggemm::select
