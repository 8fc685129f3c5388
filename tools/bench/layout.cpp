// SPDX-License-Identifier: Apache-2.0
#include "bench/layout.hpp"

#include <algorithm>
#include <utility>

#include "bench/random.hpp"
#include "common/failure.hpp"

namespace ggemm::bench {
namespace {

constexpr std::int64_t scale_block = 128, scale_line = 4;  // a line of scales begins at a multiple of 16 bytes, as cuBLASLt wants it

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
std::int64_t blocks(std::int64_t size) { return rounded_up(size, scale_block) / scale_block; }
std::int64_t aligned(std::int64_t elements) { return rounded_up(elements, 256); }

// How the groups' matrices of one operand lie: each at an aligned place, one behind the other without a gap, or all in one matrix.
enum class Place { apart, joined, shared };

void place(Place how, const Case& one, std::vector<View>& views, std::int64_t& used, std::int64_t rows, std::int64_t cols, std::int64_t room) {
  const std::int64_t ld = cols + one.padding, elements = room * ld + one.offset;
  if (how == Place::shared && !views.empty()) {
    views.push_back(views.front());
    return;
  }
  views.push_back({used + one.offset, rows, cols, ld});
  used += how == Place::joined ? elements : aligned(elements);
}

// Whether the groups differ in m alone, if at all.
bool differ_in_m(const std::vector<Size>& groups) {
  return std::all_of(groups.begin(), groups.end(), [&groups](const Size& s) { return s.n == groups[0].n && s.k == groups[0].k; });
}

// Which row of `rows` each of `count` rows is: each as often as any other, in ascending order within a group, as a router has them.
std::vector<std::int32_t> drawn_index(std::int64_t count, std::int64_t rows, const std::vector<std::int32_t>& ends) {
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < count; i++) out.push_back(static_cast<std::int32_t>(i % rows));
  for (std::uint64_t i = out.size(); i > 1; i--) std::swap(out[i - 1], out[mixed(11, i) % i]);
  std::int32_t begin = 0;
  for (const std::int32_t end : ends) std::sort(out.begin() + std::exchange(begin, end), out.begin() + end);
  return out;
}

// By blocks A's scales are contiguous along m and B's along k, as DeepGEMM and cuBLASLt take them.
void lay_out_scales(const Case& one, Layout& out) {
  const std::vector<Size> groups = one.grouped() ? one.groups : std::vector<Size>{one.size};
  const bool by_block = one.scaling == Scaling::block;
  if (one.scaling == Scaling::tensor) {
    out.scale_a.assign(groups.size(), {});
    out.scale_b.assign(groups.size(), {});
    out.scales_a = out.scales_b = 1;
    return;
  }
  const bool masked = one.form == Form::masked;
  if (one.grouped() && !masked && !ragged_rows(one, out)) tools::fail_usage("%s: scales of groups that do not differ in m alone are not laid out", one.name.c_str());
  std::int64_t rows = 0, first = 0;  // of A's scales, or of a room of them; of a group
  for (const Size& s : groups) rows += s.m;
  if (masked) rows = one.rows;
  for (const Size& s : groups) {
    const std::int64_t line_a = rounded_up(rows, scale_line), deep = blocks(s.k), line_b = rounded_up(by_block ? deep : s.n, scale_line);
    const std::int64_t in_a = line_a * (by_block ? deep : 1), in_b = line_b * (by_block ? blocks(s.n) : 1);
    out.scale_a.push_back({masked ? out.scales_a : first, 1, by_block ? line_a : 0, 1, scale_block});
    out.scale_b.push_back(by_block ? ScaleView{out.scales_b, 1, line_b, scale_block, scale_block} : ScaleView{out.scales_b, 0, 1, 1, 1});
    out.scales_a = masked ? out.scales_a + in_a : in_a;
    out.scales_b += in_b;
    first += s.m;
  }
}

}  // namespace

Layout lay_out(const Case& one) {
  Layout out;
  const std::vector<Size> groups = one.grouped() ? one.groups : std::vector<Size>{one.size};
  const bool ta = one.layout[0] == 't', tb = one.layout[1] == 't', ragged_k = one.form == Form::ragged_k;
  const bool gathered = one.form == Form::gathered, scattered = one.form == Form::scattered, masked = one.form == Form::masked;
  // Tokens of all experts lie one behind the other, as a layer has them, whatever their length is a multiple of.
  const bool ragged_m = one.form == Form::own && groups.size() > 1 && !ta && differ_in_m(groups);
  const Place place_a = gathered ? Place::shared : scattered || ragged_k || ragged_m ? Place::joined : Place::apart;
  const Place place_b = ragged_k ? Place::joined : Place::apart;
  const Place place_d = scattered ? Place::shared : gathered || ragged_m ? Place::joined : Place::apart;
  for (const Size& s : groups) {
    const std::int64_t rows_a = gathered ? one.rows : ta ? s.k : s.m, rows_b = tb ? s.n : s.k, rows_d = scattered ? one.rows : s.m;
    place(place_a, one, out.a, out.elements_a, rows_a, ta ? s.m : s.k, masked ? one.rows : rows_a);
    place(place_b, one, out.b, out.elements_b, rows_b, tb ? s.k : s.n, rows_b);
    place(place_d, one, out.d, out.elements_d, rows_d, s.n, masked ? one.rows : rows_d);
  }
  if (gathered || scattered) {
    const std::vector<std::int32_t> ends = group_ends(one);
    out.index = drawn_index(ends.back(), one.rows, ends);
  }
  if (one.scaling != Scaling::none) lay_out_scales(one, out);
  return out;
}

std::vector<std::int32_t> group_sizes(const Case& one) {
  std::vector<std::int32_t> out;
  for (const Size& size : one.groups)
    for (const std::int64_t value : {size.m, size.n, size.k}) out.push_back(static_cast<std::int32_t>(value));
  return out;
}

std::vector<std::int32_t> group_lds(const Layout& layout) {
  std::vector<std::int32_t> out;
  for (size_t g = 0; g < layout.a.size(); g++)
    for (const std::int64_t value : {layout.a[g].ld, layout.b[g].ld, layout.d[g].ld}) out.push_back(static_cast<std::int32_t>(value));
  return out;
}

std::vector<std::int32_t> group_ends(const Case& one) {
  std::vector<std::int32_t> out;
  std::int64_t end = 0;
  for (const Size& size : one.groups) out.push_back(static_cast<std::int32_t>(end += one.form == Form::ragged_k ? size.k : size.m));
  return out;
}

bool ragged_rows(const Case& one, const Layout& layout) {
  if (one.form != Form::own || one.groups.size() < 2 || one.layout[0] == 't' || !differ_in_m(one.groups)) return false;
  const std::vector<std::int32_t> ends = group_ends(one);
  for (size_t g = 1; g < one.groups.size(); g++) {
    const auto follows = [&](const std::vector<View>& views) { return views[g].base == views[0].base + ends[g - 1] * views[0].ld && views[g].ld == views[0].ld; };
    const auto& b = layout.b;
    if (!follows(layout.a) || !follows(layout.d)) return false;
    if (b[g].ld != b[0].ld || b[g].base - b[g - 1].base != distance(b)) return false;
  }
  return true;
}

std::int64_t distance(const std::vector<View>& views) { return views.size() > 1 ? views[1].base - views[0].base : 0; }

}  // namespace ggemm::bench
