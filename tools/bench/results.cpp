// SPDX-License-Identifier: Apache-2.0
#include "bench/results.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/failure.hpp"

namespace ggemm::bench {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::optional<double> number_or_null(const json& value) { return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>()); }

void write_line(std::FILE* file, std::string line, const std::string& path) {
  line += '\n';
  if (std::fwrite(line.data(), 1, line.size(), file) != line.size()) tools::fail_file("cannot write %s: %s", path.c_str(), std::strerror(errno));
}

std::FILE* open_to_append(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (!file) tools::fail_file("cannot write %s: %s", path.c_str(), std::strerror(errno));
  return file;
}

// Whether a run may have ended in writing this line: all rows begin alike, and whole JSON that is no row is another program's.
bool begins_row(std::string_view line) {
  constexpr std::string_view begin = "{\"suite\":\"";
  return line.substr(0, begin.size()) == begin.substr(0, line.size()) && !json::accept(line);
}

void close_file(std::FILE* file, const std::string& path) {
  const bool flushed = std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  const int reason = errno;
  if (std::fclose(file) != 0 || !flushed) tools::fail_file("cannot write %s: %s", path.c_str(), std::strerror(reason));
}

}  // namespace

// Times with four digits after the point: a tenth of a nanosecond is far below what can be measured.
double rounded(double value) { return std::round(value * 1e4) / 1e4; }

ordered_json case_json(const CaseRow& row) {
  ordered_json out;
  out["suite"] = row.suite;
  out["category"] = row.category;
  out["case"] = row.name;
  out["dtype"] = row.dtype;
  out["layout"] = row.layout;
  if (row.groups.empty()) {
    out["m"] = row.size.m;
    out["n"] = row.size.n;
    out["k"] = row.size.k;
  } else {
    out["groups"] = row.groups;
  }
  return out;
}

void add_maker(ordered_json& json, const CaseRow& row) {
  json["device"] = row.device;
  json["date"] = row.date;
  json["commit"] = row.commit;
}

void read_case(const json& in, CaseRow& row) {
  row.suite = in.at("suite");
  row.category = in.at("category");
  row.name = in.at("case");
  row.dtype = in.at("dtype");
  row.layout = in.at("layout");
  if (in.contains("groups"))
    row.groups = in.at("groups").is_string() ? in.at("groups").get<std::string>() : in.at("groups").dump();
  else
    row.size = {in.at("m"), in.at("n"), in.at("k")};
  row.device = in.at("device");
  row.date = in.at("date");
  row.commit = in.at("commit");
}

ordered_json to_json(const Row& row) {
  ordered_json out = case_json(row);
  out["config"] = row.config;
  if (!row.choice.empty()) out["choice"] = row.choice;
  if (row.alone) out["alone"] = true;
  out["ours_us"] = rounded(row.ours_us);
  out["limit_us"] = row.limit_us ? ordered_json(rounded(*row.limit_us)) : ordered_json(nullptr);
  out["peers"] = ordered_json::object();
  for (const auto& [name, us] : row.peers) out["peers"][name] = rounded(us);
  out["ratio"] = row.ratio ? ordered_json(rounded(*row.ratio)) : ordered_json(nullptr);
  out["sm_mhz"] = or_null(row.sm_mhz);
  add_maker(out, row);
  return out;
}

std::string line_of(const Row& row) { return to_json(row).dump(); }

bool read_line(const std::string& line, const std::function<void(const json&)>& read) {
  try {
    read(json::parse(line));
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

void read_row(const json& in, Row& row) {
  read_case(in, row);
  row.config = in.at("config");
  row.choice = in.value("choice", "");
  row.alone = in.value("alone", false);
  row.ours_us = in.at("ours_us");
  row.limit_us = number_or_null(in.at("limit_us"));
  for (const auto& [name, us] : in.at("peers").items()) row.peers[name] = us;
  row.ratio = number_or_null(in.at("ratio"));
  if (!in.at("sm_mhz").is_null()) row.sm_mhz = in.at("sm_mhz").get<int>();
}

std::string row_key(const CaseRow& row) {
  const std::string size = row.groups.empty() ? size_name(row.size) : row.groups;
  return row.suite + "|" + row.name + "|" + row.dtype + "|" + row.layout + "|" + size;
}

std::string measurement(const CaseRow& row) { return row_key(row) + "|" + row.device + "|" + row.commit; }
std::string measurement(const Row& row) { return measurement(static_cast<const CaseRow&>(row)) + "|" + row.choice + (row.choice == "forced" ? " " + row.config : ""); }

bool made_by(const CaseRow& row, const Provenance& provenance) { return provenance.keep_any || (row.commit == provenance.commit && row.device == provenance.device); }

// A row lacks nothing that is asked for. A forced configuration takes the same time whoever chose it; one that was forced or tuned is not what the library chooses.
bool counts(const Row& row, const Provenance& provenance) {
  const bool chosen = provenance.config.empty() ? row.choice == (provenance.tune ? "tuned" : "") : row.config == provenance.config;
  return chosen && (!row.alone || !provenance.peers) && made_by(row, provenance);
}

LineFile::LineFile(std::string path, const std::function<bool(const std::string&)>& read) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code none;
  if (std::filesystem::exists(path_, none) && !std::filesystem::is_regular_file(path_, none)) tools::fail_file("cannot write %s: it is no regular file", path_.c_str());
  std::ifstream file(path_, std::ios::binary);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const bool unended = file.eof();
    if (line.empty() || read(line)) {
      unended_ = unended && !line.empty();
      whole_ += line.size() + 1;
    } else if (unended && begins_row(line)) {
      cut_off_ = true;
    } else {
      tools::fail_file("%s: line %d is none of such a file's, which would be written anew without it; name another file", path_.c_str(), number);
    }
  }
  close_file(open_to_append(path_), path_);
}

void LineFile::append(const std::string& line) {
  if (path_.empty()) return;
  std::error_code failed;
  if (cut_off_) std::filesystem::resize_file(path_, whole_, failed);
  if (failed) tools::fail_file("cannot write %s: %s", path_.c_str(), failed.message().c_str());
  std::FILE* file = open_to_append(path_);
  if (unended_) std::fputc('\n', file);
  unended_ = cut_off_ = false;
  write_line(file, line, path_);
  close_file(file, path_);
}

void LineFile::replace(const std::vector<std::string>& lines) {
  if (path_.empty()) return;
  std::error_code none;
  const std::string target = std::filesystem::canonical(path_, none).string();  // a link stays one
  if (target.empty()) tools::fail_file("cannot replace %s: it is gone", path_.c_str());
  std::string temporary = target + ".XXXXXX";  // a name that is no other file's
  const int made = mkstemp(temporary.data());
  if (made < 0) tools::fail_file("cannot write %s: %s", temporary.c_str(), std::strerror(errno));
  try {
    std::FILE* file = fdopen(made, "w");
    struct stat old {};
    if (stat(target.c_str(), &old) == 0) fchmod(made, old.st_mode & 0777);
    for (const std::string& line : lines) write_line(file, line, temporary);
    close_file(file, temporary);
    if (std::rename(temporary.c_str(), target.c_str()) != 0) tools::fail_file("cannot replace %s: %s", path_.c_str(), std::strerror(errno));
  } catch (...) {
    std::remove(temporary.c_str());
    throw;
  }
  unended_ = cut_off_ = false;
}

}  // namespace ggemm::bench
