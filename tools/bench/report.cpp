// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/stats.hpp"
#include "common/table.hpp"

namespace ggemm::bench {
namespace {

using Cells = std::vector<std::string>;

const Cells row_head{"category", "case",  "dtype",     "layout",  "config", "us",    "TFLOP/s",
                     "limit us", "share", "best peer", "peer us", "ratio",  "SM MHz"};
const Cells summary_head{"category", "cases", "with peer", "geo. mean", "worst", "wins", "ties", "losses", "mean share"};

std::string number(double value, const char* pattern) { return std::isfinite(value) ? tools::format(pattern, value) : "-"; }

double share_of(const Row& row) { return row.limit_us && row.ours_us > 0 ? *row.limit_us / row.ours_us : NAN; }

Cells row_cells(const Entry& entry) {
  const Row& row = entry.row;
  std::string peer = "-";
  double peer_us = NAN;
  for (const auto& [name, us] : row.peers)
    if (!(us >= peer_us)) {
      peer = name;
      peer_us = us;
    }
  return {row.category,
          row.name,
          row.dtype,
          row.layout,
          row.config,
          number(row.ours_us, "%.2f"),
          number(entry.flops > 0 ? entry.flops / row.ours_us * 1e-6 : NAN, "%.3g"),
          number(row.limit_us ? *row.limit_us : NAN, "%.2f"),
          number(share_of(row), "%.2f"),
          peer,
          number(peer_us, "%.2f"),
          number(row.ratio ? *row.ratio : NAN, "%.3f"),
          row.sm_mhz ? std::to_string(*row.sm_mhz) : "-"};
}

std::vector<Cells> summary(const std::vector<Entry>& entries) {
  struct Of {
    int cases = 0;
    std::vector<double> ratios, shares;
  };
  std::map<std::string, Of> categories;
  for (const Entry& entry : entries) {
    Of& of = categories[entry.row.category];
    of.cases++;
    if (entry.row.ratio) of.ratios.push_back(*entry.row.ratio);
    if (const double share = share_of(entry.row); std::isfinite(share)) of.shares.push_back(share);
  }
  std::vector<Cells> out;
  for (const auto& [name, of] : categories) {
    const Tally counted = tally(of.ratios);
    out.push_back({name, std::to_string(of.cases), std::to_string(of.ratios.size()), number(counted.mean, "%.3f"), number(counted.worst, "%.3f"),
                   std::to_string(counted.wins), std::to_string(counted.ties), std::to_string(counted.losses),
                   number(geometric_mean(of.shares), "%.2f")});
  }
  return out;
}

std::string as_table(const Cells& head, const std::vector<Cells>& rows) {
  tools::Table table(head);
  for (const Cells& row : rows) table.add(row);
  return table.text();
}

std::string as_markdown(const Cells& head, const std::vector<Cells>& rows) {
  std::string out = "|";
  for (const std::string& cell : head) out += " " + cell + " |";
  out += "\n|";
  for (size_t i = 0; i < head.size(); i++) out += " --- |";
  out += "\n";
  for (const Cells& row : rows) {
    out += "|";
    for (const std::string& cell : row) out += " " + cell + " |";
    out += "\n";
  }
  return out;
}

std::string as_csv(const Cells& head, const std::vector<Cells>& rows) {
  std::string out;
  const auto line = [&](const Cells& cells) {
    for (size_t i = 0; i < cells.size(); i++) {
      const bool quote = cells[i].find_first_of(",\"\n") != std::string::npos;
      std::string cell;
      for (const char c : cells[i]) cell += quote && c == '"' ? "\"\"" : std::string(1, c);
      out += (i ? "," : "") + (quote ? '"' + cell + '"' : cell);
    }
    out += "\n";
  };
  line(head);
  for (const Cells& row : rows) line(row);
  return out;
}

}  // namespace

std::string table_text(const Cells& head, const std::vector<Cells>& rows, Format format) {
  return format == Format::csv ? as_csv(head, rows) : format == Format::markdown ? as_markdown(head, rows) : as_table(head, rows);
}

std::string report(const std::vector<Entry>& entries, Format format) {
  if (format == Format::json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Entry& entry : entries) all.push_back(to_json(entry.row));
    return all.dump(1) + "\n";
  }
  std::vector<Cells> rows;
  for (const Entry& entry : entries) rows.push_back(row_cells(entry));
  const std::string text = table_text(row_head, rows, format);
  return format == Format::csv ? text : text + "\n" + table_text(summary_head, summary(entries), format);  // a CSV file is one table
}

}  // namespace ggemm::bench
