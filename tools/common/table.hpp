// SPDX-License-Identifier: Apache-2.0
// Tables and a progress bar in plain text.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace ggemm::tools {

// Columns as wide as their widest cell; numbers to the right, words to the left.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() < 2; }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// printf-style into a string.
std::string format(const char* format, ...) __attribute__((format(printf, 1, 2)));
// "1.2 GB", "340 MB", "12 KB": decimal units.
std::string bytes_text(double bytes);
// "12.3 us", "4.56 ms", "1.23 s".
std::string seconds_text(double seconds);

// One line on stderr that is drawn over itself; silent where stderr is no terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  void show(std::size_t done, std::size_t total, const std::string& what);
  void clear();

 private:
  bool terminal_;
  bool drawn_ = false;
};

}  // namespace ggemm::tools
