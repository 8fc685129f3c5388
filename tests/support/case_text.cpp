// SPDX-License-Identifier: Apache-2.0
// A case as one line, for the report of a failure.
#include <cstdio>

#include "case.hpp"
#include "formats.hpp"

namespace ggemm::tests {
namespace {

long long ll(std::int64_t v) { return v; }

std::string view_text(const char* name, ggemm_dtype dtype, const View& v) {
  char out[160];
  std::snprintf(out, sizeof out, " %s=%s[%lld,%lld]@%lld", name, name_of(dtype), ll(v.row_stride), ll(v.col_stride), ll(v.offset));
  return out;
}

std::string given_text(const Given& g) {
  if (g.packed) return "packed";
  if (g.kind == GGEMM_SOURCE_CONST) return "const";
  return (g.kind == GGEMM_SOURCE_I32 ? "i32/" : "i64/") + std::to_string(g.byte_stride);
}

std::string place_text(const GivenMatrix& g) {
  return g.pointers ? "" : "+" + (g.packed_groups ? "packed" : std::to_string(g.group_stride)) + "@" + std::to_string(g.base);
}

std::string group_text(const Case& c, const Group& g) {
  char sizes[96];
  std::snprintf(sizes, sizeof sizes, "%lldx%lldx%lld", ll(g.m), ll(g.n), ll(g.k));
  std::string out = sizes;
  out += view_text("a", c.type.a, g.a) + view_text("b", c.type.b, g.b) + view_text("d", c.type.d, g.d);
  if (c.use_of_c == UseOfC::apart) out += view_text("c", c.type.c_dtype(), g.c);
  if (c.type.scale_a) out += view_text("scale_a", GGEMM_F32, g.scale_a);
  if (c.type.scale_b) out += view_text("scale_b", GGEMM_F32, g.scale_b);
  return out;
}

constexpr const char* activations[] = {"none", "relu", "leaky_relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "clamp"};
constexpr const char* forms[] = {"pointers", "ragged m", "ragged k", "masked", "batch"};
constexpr const char* value_names[] = {"small", "full_i8", "normal", "special"};
constexpr const char* scales[] = {"nothing", "tensor", "vector", "1x128", "128x128"};
constexpr const char* gates[] = {"none", "halves", "interleaved"};
constexpr const char* placements[] = {"free", "ends at a guard page", "begins at a guard page"};

}  // namespace

std::string Case::text() const {
  char line[512];
  std::string out = type.grouped ? "grouped " + std::to_string(groups.size()) + " groups, " + forms[form] + ";" : "plain " + group_text(*this, groups[0]) + ";";
  if (type.grouped) {
    for (std::size_t i = 0; i < groups.size() && i < 4; ++i) out += " #" + std::to_string(i) + " " + group_text(*this, groups[i]) + ";";
    if (groups.size() > 4) out += " ...;";
    out += " m,n,k " + given_text(given_m) + "," + given_text(given_n) + "," + given_text(given_k);
    const GivenMatrix* matrices[] = {&given_a, &given_b, &given_c, &given_d};
    for (int i = 0; i < 4; ++i)
      out += std::string(" ") + "abcd"[i] + ":" + given_text(matrices[i]->row_stride) + "," + given_text(matrices[i]->col_stride) + place_text(*matrices[i]);
    if (form != GGEMM_GROUPS_POINTERS) out += " stored m,k " + std::to_string(stored_m) + "," + std::to_string(stored_k) + (beyond ? " and beyond" : "");
    if (type.gather) out += " gathered from " + std::to_string(given_a_index.rows) + " by " + given_text(given_a_index.given);
    if (type.scatter) out += " scattered to " + std::to_string(given_d_index.rows) + " by " + given_text(given_d_index.given) + (row_weights.empty() ? "" : ", weighted");
    if (checked) out += " checked";
    if (alpha_byte_stride || beta_byte_stride) out += " scalars of each group at " + std::to_string(alpha_byte_stride) + "," + std::to_string(beta_byte_stride) + ";";
  } else if (described_otherwise) {
    std::snprintf(line, sizeof line, " described as %lldx%lldx%lld;", ll(described_m), ll(described_n), ll(described_k));
    out += line;
  }
  std::snprintf(line, sizeof line, "%s alpha=%.9g%s beta=%.9g%s%s c=%s bias=%s%s act=%s(%g,%g) values=%s[%d,%d] spread=%g,%g %s%s%s",
                type.compute == GGEMM_COMPUTE_TF32 ? " tf32" : type.compute == GGEMM_COMPUTE_F32_ACCURATE ? " f32x3" : "", alpha, alpha_given ? "" : "(null)", beta, beta_given ? "" : "(null)",
                scalars_on_device ? " on device" : "",
                use_of_c == UseOfC::none        ? "null"
                : use_of_c == UseOfC::same_as_d ? "d"
                                                : "apart",
                type.bias == GGEMM_BIAS_NONE      ? "none"
                : type.bias == GGEMM_BIAS_PER_ROW ? "row:"
                                                  : "column:",
                type.bias == GGEMM_BIAS_NONE ? "" : name_of(type.bias_type()), activations[type.activation], type.p0, type.p1,
                value_names[static_cast<int>(values)], low, high, spread_a, spread_b, placements[static_cast<int>(placement)],
                uniform ? ", aligned, uniform" : aligned ? ", aligned" : "", through_plan ? ", through a plan" : "");
  out += line;
  if (type.compute == GGEMM_COMPUTE_FP8_FAST) out += ", fp8 fast";
  if (type.scale_a) out += std::string(", A scaled by ") + scales[type.scale_a];
  if (type.scale_b) out += std::string(", B scaled by ") + scales[type.scale_b];
  if (max_ctas) out += ", " + std::to_string(max_ctas) + " CTAs at most";
  if (type.gate) out += std::string(", gated pairs: ") + gates[type.gate];
  return out;
}

}  // namespace ggemm::tests
