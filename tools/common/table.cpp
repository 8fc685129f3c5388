// SPDX-License-Identifier: Apache-2.0
#include "common/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdio>

namespace ggemm::tools {
namespace {

constexpr std::size_t bar_width = 30, what_width = 60;

bool is_number(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) ||
                           (cell.size() > 1 && cell[0] == '-' && std::isdigit(static_cast<unsigned char>(cell[1]))));
}

}  // namespace

std::string format(const char* format, ...) {
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  const int size = std::vsnprintf(nullptr, 0, format, list);
  va_end(list);
  std::string out(size > 0 ? std::size_t(size) : 0, '\0');
  std::vsnprintf(out.data(), out.size() + 1, format, again);
  va_end(again);
  return out;
}

std::string Table::text() const {
  std::size_t columns = 0;
  for (const auto& row : rows_) columns = std::max(columns, row.size());
  std::vector<std::size_t> width(columns, 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  // A column is one of numbers if its first filled cell below the head is.
  std::vector<bool> right(columns, false);
  for (std::size_t i = 0; i < columns; ++i) {
    const auto filled =
        std::find_if(rows_.begin() + 1, rows_.end(), [i](const auto& row) { return i < row.size() && !row[i].empty() && row[i] != "-"; });
    right[i] = filled != rows_.end() && is_number((*filled)[i]);
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(width[i] - row[i].size(), ' ');
      line += (i ? "  " : "") + (right[i] ? pad + row[i] : row[i] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return format("%.1f GB", bytes / 1e9);
  if (bytes >= 1e6) return format("%.1f MB", bytes / 1e6);
  return bytes >= 1e3 ? format("%.1f KB", bytes / 1e3) : format("%.0f B", bytes);
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return format("%.1f us", seconds * 1e6);
  return seconds < 1 ? format("%.2f ms", seconds * 1e3) : format("%.2f s", seconds);
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void Progress::show(std::size_t done, std::size_t total, const std::string& what) {
  if (!terminal_ || total == 0) return;
  const std::size_t filled = bar_width * std::min(done, total) / total;
  std::fprintf(stderr, "\r\x1b[K[%s%s] %zu/%zu %s", std::string(filled, '#').c_str(), std::string(bar_width - filled, '.').c_str(), done, total,
               what.substr(0, what_width).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace ggemm::tools
