// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "bench/report.hpp"
#include "common/table.hpp"

namespace ggemm::bench {
namespace {

constexpr double width = 860, height = 480, left = 70, right = 190, top = 40, bottom = 50;
constexpr const char* colours[] = {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a", "#bc4c00"};

struct Point {
  double size, rate;  // edge of the cube; TFLOP/s
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

// ggemm first, then the peers by name; "dtype layout" belongs to the name where there are several.
std::map<std::string, std::vector<Point>> lines_of(const std::vector<Entry>& entries) {
  bool several = false;
  for (const Entry& entry : entries) several |= entry.row.dtype != entries[0].row.dtype || entry.row.layout != entries[0].row.layout;
  std::map<std::string, std::vector<Point>> lines;
  for (const Entry& entry : entries) {
    if (!(entry.flops > 0) || !(entry.row.ours_us > 0)) continue;
    const double size = std::cbrt(entry.flops / 2);
    const std::string kind = several ? " " + entry.row.dtype + " " + entry.row.layout : "";
    lines[" ggemm" + kind].push_back({size, entry.flops / entry.row.ours_us * 1e-6});
    for (const auto& [name, us] : entry.row.peers) lines[name + kind].push_back({size, entry.flops / us * 1e-6});
  }
  for (auto& [name, points] : lines) std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.size < b.size; });
  return lines;
}

// A round number at or above `value`: 1, 2 or 5 times a power of ten.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (value <= factor * power) return factor * power;
  return 10 * power;
}

}  // namespace

std::string plot_svg(const std::vector<Entry>& entries, const std::string& title) {
  const auto lines = lines_of(entries);
  double least = 1e30, most = 0, fastest = 1e-9;
  for (const auto& [name, points] : lines)
    for (const Point& point : points) {
      least = std::min(least, point.size);
      most = std::max(most, point.size);
      fastest = std::max(fastest, point.rate);
    }
  if (most <= 0) least = most = 1;
  const double low = std::floor(std::log2(least) - 1e-9), high = std::max(low + 1, std::ceil(std::log2(most) + 1e-9)), step = round_up(fastest / 6),
               ceiling = step * std::ceil(fastest / step);
  const auto x = [&](double size) { return left + (width - left - right) * (std::log2(size) - low) / (high - low); };
  const auto y = [&](double rate) { return height - bottom - (height - top - bottom) * rate / ceiling; };

  std::string out =
      tools::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height);
  out += tools::format("<rect width=\"%g\" height=\"%g\" fill=\"white\"/>\n<text x=\"%g\" y=\"22\" font-size=\"14\">%s</text>\n", width, height, left,
                       escaped(title).c_str());
  for (double rate = 0; rate <= ceiling * (1 + 1e-9); rate += step)
    out += tools::format(
        "<line x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\" stroke=\"#d0d7de\"/>\n<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", left,
        y(rate), width - right, y(rate), left - 8, y(rate) + 4, rate);
  for (double power = low; power <= high; power++)
    out += tools::format(
        "<line x1=\"%.1f\" y1=\"%g\" x2=\"%.1f\" y2=\"%g\" stroke=\"#eaeef2\"/>\n<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%g</text>\n",
        x(std::exp2(power)), top, x(std::exp2(power)), height - bottom, x(std::exp2(power)), height - bottom + 18, std::exp2(power));
  out += tools::format("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">cube root of m n k</text>\n", (left + width - right) / 2, height - 12);
  out += tools::format("<text x=\"16\" y=\"%g\" text-anchor=\"middle\" transform=\"rotate(-90 16 %g)\">TFLOP/s</text>\n", height / 2, height / 2);
  size_t index = 0;
  for (const auto& [name, points] : lines) {
    const char* colour = colours[index % std::size(colours)];
    out += tools::format("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (const Point& point : points) out += tools::format("%.1f,%.1f ", x(point.size), y(point.rate));
    out += "\"/>\n";
    for (const Point& point : points)
      out += tools::format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x(point.size), y(point.rate), colour);
    const double at = top + 18 * static_cast<double>(index) + 8;
    out += tools::format("<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\" stroke=\"%s\" stroke-width=\"2\"/>\n<text x=\"%g\" y=\"%g\">%s</text>\n",
                         width - right + 12, at, width - right + 32, at, colour, width - right + 38, at + 4, escaped(name).c_str());
    index++;
  }
  return out + "</svg>\n";
}

}  // namespace ggemm::bench
