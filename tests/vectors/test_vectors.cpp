// SPDX-License-Identifier: Apache-2.0
// Runs vectors.json, the products that every binding must compute with the same bits, through the C interface on the host device.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "ggemm.h"

namespace {

using nlohmann::json;

struct DestroyContext {
  void operator()(ggemm_context* context) const { ggemm_context_destroy(context); }
};
using Context = std::unique_ptr<ggemm_context, DestroyContext>;

// The number that an enum's name stands for; names in the order of the header, the first of them numbered `first`.
int number(const json& name, std::initializer_list<const char*> names, int first = 0) {
  int value = first;
  for (const char* candidate : names) {
    if (name == candidate) return value;
    ++value;
  }
  throw std::runtime_error("unknown name " + name.dump());
}
ggemm_dtype dtype(const json& name) {
  return static_cast<ggemm_dtype>(number(name, {"f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i8", "i32"}, GGEMM_F64));
}

std::vector<unsigned char> bytes(const json& digits) {
  const auto& text = digits.get_ref<const std::string&>();
  std::vector<unsigned char> out(text.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<unsigned char>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return out;
}

// An operand's buffer, and where its element (0, 0) is.
struct Operand {
  std::vector<unsigned char> buffer;
  unsigned char* data = nullptr;

  Operand() = default;
  Operand(const json& matrix, const char* field) : buffer(bytes(matrix.at(field))) {
    data = buffer.data() + matrix.value("offset", std::int64_t{0}) * static_cast<std::int64_t>(ggemm_dtype_size(dtype(matrix.at("dtype"))));
  }
};

// One product with its memory. The vectors keep their places when a Group is moved.
struct Group {
  std::int64_t m, n, k;
  Operand a, b, c, d, bias;

  explicit Group(const json& j)
      : m(j.at("m")), n(j.at("n")), k(j.at("k")), a(j.at("a"), "data"), b(j.at("b"), "data"), d(j.at("d"), "before") {
    if (j.at("c").is_object()) c = Operand(j.at("c"), "data");
    else if (j.at("c") == "d") c.data = d.data;
    if (!j.at("bias_vector").is_null()) bias = Operand(j.at("bias_vector"), "data");
  }
};

void check_bytes(const Operand& d, const json& j) {
  const auto want = bytes(j.at("d").at("data"));
  REQUIRE(d.buffer.size() == want.size());
  std::size_t at = 0;
  while (at < want.size() && d.buffer[at] == want[at]) ++at;
  CAPTURE(at);
  CHECK(at == want.size());
}

ggemm_epilogue_desc epilogue(const json& j, const json* group) {
  ggemm_epilogue_desc e = GGEMM_EPILOGUE_INIT_;
  e.activation = static_cast<ggemm_activation>(
      number(j.at("activation"), {"none", "relu", "leaky_relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "clamp"}));
  e.activation_p0 = j.at("p0");
  e.activation_p1 = j.at("p1");
  e.bias = static_cast<ggemm_bias>(number(j.at("bias"), {"none", "column", "row"}));
  e.gate = static_cast<ggemm_gate>(number(j.at("gate"), {"none", "halves", "interleaved"}));
  if (e.bias && group) e.bias_dtype = dtype(group->at("bias_vector").at("dtype"));
  return e;
}

ggemm_compute compute(const json& j) { return static_cast<ggemm_compute>(number(j.at("compute"), {"default", "tf32", "fp8_fast", "f32x3"})); }

ggemm_scale_kind scale_kind(const json& j) {
  return static_cast<ggemm_scale_kind>(number(j.at("kind"), {"tensor", "vector", "1x128", "128x128"}, GGEMM_SCALE_TENSOR));
}

// The element of a scalar; NULL where there is none.
Operand scalar(const json& j) { return j.is_null() ? Operand() : Operand(j, "data"); }
// What a case may leave out, or have as null.
Operand optional(const json& j, const char* name) { return j.contains(name) ? scalar(j.at(name)) : Operand(); }

void run_plain(ggemm_context* context, const json& j) {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = j.at("m"), desc.n = j.at("n"), desc.k = j.at("k");
  const auto describe = [](const json& matrix) {
    return ggemm_matrix{dtype(matrix.at("dtype")), 0, matrix.at("row_stride"), matrix.at("col_stride"), 0};
  };
  desc.a = describe(j.at("a")), desc.b = describe(j.at("b")), desc.d = describe(j.at("d"));
  if (!j.at("c").is_null()) desc.c = j.at("c") == "d" ? desc.d : describe(j.at("c"));
  desc.compute = compute(j);
  desc.epilogue = epilogue(j, &j);
  const Group group(j);
  const Operand alpha = scalar(j.at("alpha")), beta = scalar(j.at("beta"));
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = group.a.data, args.b = group.b.data, args.c = group.c.data, args.d = group.d.data, args.bias = group.bias.data;
  args.alpha = alpha.data, args.beta = beta.data;
  const Operand scale_a = optional(j, "scale_a"), scale_b = optional(j, "scale_b");
  if (scale_a.data) desc.scale_a = {scale_kind(j.at("scale_a")), 0, j.at("scale_a").at("row_stride"), j.at("scale_a").at("col_stride")};
  if (scale_b.data) desc.scale_b = {scale_kind(j.at("scale_b")), 0, j.at("scale_b").at("row_stride"), j.at("scale_b").at("col_stride")};
  args.scale_a = scale_a.data, args.scale_b = scale_b.data;
  const ggemm_status status = ggemm_gemm(context, &desc, &args, nullptr);
  INFO(ggemm_last_error());
  REQUIRE(status == GGEMM_OK);
  check_bytes(group.d, j);
}

// Numbers of all groups in one array of the width that the case asks for.
class Numbers {
 public:
  Numbers(const std::string& width, std::size_t groups, std::size_t columns) : wide_(width == "i64"), columns_(columns), words_(groups * columns) {
    if (width != "i32" && width != "i64") throw std::runtime_error("unknown width " + width);
  }
  void set(std::size_t group, std::size_t column, std::int64_t value) {
    const std::size_t at = group * columns_ + column;
    if (wide_) words_[at] = value;
    else reinterpret_cast<std::int32_t*>(words_.data())[at] = static_cast<std::int32_t>(value);
  }
  ggemm_source column(std::size_t column) const {
    const std::int64_t size = wide_ ? 8 : 4, stride = size * static_cast<std::int64_t>(columns_);
    const void* first = reinterpret_cast<const char*>(words_.data()) + size * static_cast<std::int64_t>(column);
    return wide_ ? ggemm_i64_at(first, stride) : ggemm_i32_at(first, stride);
  }

 private:
  bool wide_;
  std::size_t columns_;
  std::vector<std::int64_t> words_;  // twice as many as int32 needs
};

// What a grouped description points to.
struct GroupArrays {
  std::unique_ptr<Numbers> sizes, strides;
  std::array<std::vector<void*>, 5> pointers;  // a, b, c, d, bias
};

constexpr const char* matrix_names[] = {"a", "b", "c", "d"};

void describe_sizes(const json& j, ggemm_grouped_desc& desc, GroupArrays& arrays) {
  const json& groups = j.at("groups");
  ggemm_source* const sources[] = {&desc.m, &desc.n, &desc.k};
  const char* const names[] = {"m", "n", "k"};
  if (j.at("sizes") != "const") arrays.sizes = std::make_unique<Numbers>(j.at("sizes"), groups.size(), 3);
  for (std::size_t s = 0; s < 3; ++s) {
    for (std::size_t g = 0; arrays.sizes && g < groups.size(); ++g) arrays.sizes->set(g, s, groups[g].at(names[s]));
    *sources[s] = arrays.sizes ? arrays.sizes->column(s) : ggemm_const(groups[0].at(names[s]));
  }
}

void describe_matrices(const json& j, ggemm_grouped_desc& desc, GroupArrays& arrays) {
  const json& groups = j.at("groups");
  const std::string from = j.at("strides");
  ggemm_grouped_matrix* const matrices[] = {&desc.a, &desc.b, &desc.c, &desc.d};
  if (from != "packed" && from != "const") arrays.strides = std::make_unique<Numbers>(from, groups.size(), 8);
  for (std::size_t i = 0; i < 4; ++i) {
    ggemm_grouped_matrix& matrix = *matrices[i];
    const auto member = [&](std::size_t g) -> const json& {
      const json& own = groups[g].at(matrix_names[i]);
      return own == "d" ? groups[g].at("d") : own;
    };
    if (member(0).is_null()) continue;
    matrix.dtype = dtype(member(0).at("dtype"));
    if (from == "const") {
      matrix.row_stride = ggemm_const(member(0).at("row_stride"));
      matrix.col_stride = ggemm_const(member(0).at("col_stride"));
    }
    if (!arrays.strides) continue;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      arrays.strides->set(g, 2 * i, member(g).at("row_stride"));
      arrays.strides->set(g, 2 * i + 1, member(g).at("col_stride"));
    }
    matrix.row_stride = arrays.strides->column(2 * i);
    matrix.col_stride = arrays.strides->column(2 * i + 1);
  }
}

void run_grouped(ggemm_context* context, const json& j) {
  const json& groups = j.at("groups");
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  GroupArrays arrays;
  std::vector<Group> operands(groups.begin(), groups.end());
  desc.groups = static_cast<std::int64_t>(groups.size());
  desc.compute = compute(j);
  desc.epilogue = epilogue(j, groups.empty() ? nullptr : &groups[0]);
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F32;  // for a case without groups
  if (!groups.empty()) {
    describe_sizes(j, desc, arrays);
    describe_matrices(j, desc, arrays);
  }
  for (const Group& g : operands) {
    void* const addresses[] = {g.a.data, g.b.data, g.c.data, g.d.data, g.bias.data};
    for (std::size_t i = 0; i < 5; ++i) arrays.pointers[i].push_back(addresses[i]);
  }
  const Operand alpha = scalar(j.at("alpha")), beta = scalar(j.at("beta"));
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = arrays.pointers[0].data(), args.b = arrays.pointers[1].data(), args.d = arrays.pointers[3].data();
  if (!groups.empty() && !groups[0].at("c").is_null()) args.c = arrays.pointers[2].data();
  if (desc.epilogue.bias) args.bias = arrays.pointers[4].data();
  args.alpha = alpha.data, args.beta = beta.data;
  const ggemm_status status = ggemm_grouped_gemm(context, &desc, &args, nullptr);
  INFO(ggemm_last_error());
  REQUIRE(status == GGEMM_OK);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    CAPTURE(g);
    check_bytes(operands[g].d, groups[g]);
  }
}

// One matrix of all groups, or matrices at a distance.
ggemm_grouped_matrix group_matrix(const json& j) {
  ggemm_grouped_matrix out = GGEMM_GROUPED_MATRIX_INIT_;
  out.dtype = dtype(j.at("dtype"));
  out.row_stride = ggemm_const(j.at("row_stride")), out.col_stride = ggemm_const(j.at("col_stride"));
  if (j.at("group_stride") != 0) out.group_stride = j.at("group_stride");
  return out;
}
ggemm_grouped_scale group_scale(const json& j) {
  ggemm_grouped_scale out = GGEMM_GROUPED_SCALE_INIT_;
  out.kind = scale_kind(j);
  out.row_stride = ggemm_const(j.at("row_stride")), out.col_stride = ggemm_const(j.at("col_stride"));
  if (j.at("group_stride") != 0) out.group_stride = j.at("group_stride");
  return out;
}

// int32 or int64 numbers, one behind the other.
struct Column {
  std::vector<unsigned char> numbers;
  ggemm_source source = ggemm_const(0);

  Column(const json& j, const char* name) {
    if (j.at(name).is_null()) return;
    numbers = bytes(j.at(name).at("data"));
    source = number(j.at(name).at("dtype"), {"i32", "i64"}) ? ggemm_i64_at(numbers.data(), 8) : ggemm_i32_at(numbers.data(), 4);
  }
};

void run_form(ggemm_context* context, const json& j, ggemm_grouped_form form) {
  ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
  desc.groups = j.at("groups"), desc.form = form, desc.checked = 1;
  desc.m = ggemm_const(j.at("m")), desc.n = ggemm_const(j.at("n")), desc.k = ggemm_const(j.at("k"));
  desc.a = group_matrix(j.at("a")), desc.b = group_matrix(j.at("b")), desc.d = group_matrix(j.at("d"));
  if (!j.at("c").is_null()) desc.c = j.at("c") == "d" ? desc.d : group_matrix(j.at("c"));
  desc.compute = compute(j), desc.epilogue = epilogue(j, &j);
  const Column ends(j, "ends"), counts(j, "counts"), a_index(j, "a_index"), d_index(j, "d_index");
  desc.ends = ends.source, desc.counts = counts.source;
  desc.a_index = a_index.source, desc.a_rows = j.at("a_rows"), desc.d_index = d_index.source, desc.d_rows = j.at("d_rows");
  desc.d_index_unique = j.at("d_index_unique").get<bool>();

  const Operand a(j.at("a"), "data"), b(j.at("b"), "data"), d(j.at("d"), "before"), c = j.at("c").is_object() ? Operand(j.at("c"), "data") : Operand();
  const Operand bias = optional(j, "bias_vector"), scale_a = optional(j, "scale_a"), scale_b = optional(j, "scale_b"), weights = optional(j, "row_weights");
  const Operand alpha = scalar(j.at("alpha")), beta = scalar(j.at("beta"));
  if (bias.data) desc.bias_group_stride = j.at("bias_vector").at("group_stride");
  if (bias.data && desc.bias_group_stride == 0) desc.bias_group_stride = GGEMM_PACKED;  // one vector of all groups
  if (scale_a.data) desc.scale_a = group_scale(j.at("scale_a"));
  if (scale_b.data) desc.scale_b = group_scale(j.at("scale_b"));
  desc.epilogue.scalars_on_device = alpha.data || beta.data;  // one of all groups, or one a group
  ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
  args.a = a.data, args.b = b.data, args.c = j.at("c") == "d" ? d.data : c.data, args.d = d.data, args.bias = bias.data;
  args.scale_a = scale_a.data, args.scale_b = scale_b.data, args.row_weights = weights.data, args.alpha = alpha.data, args.beta = beta.data;
  const auto step = [&](const Operand& x) { return x.buffer.size() > sizeof(float) ? std::int64_t{sizeof(float)} : 0; };
  args.alpha_byte_stride = step(alpha), args.beta_byte_stride = step(beta);
  std::int32_t found[4];
  args.status = found;
  const ggemm_status status = ggemm_grouped_gemm(context, &desc, &args, nullptr);
  INFO(ggemm_last_error());
  REQUIRE(status == GGEMM_OK);
  CHECK(found[0] == GGEMM_FAULT_NONE);
  check_bytes(d, j);
}

json read_vectors() {
  const char* source = std::getenv("GGEMM_SOURCE_DIR");
  REQUIRE(source != nullptr);
  std::ifstream file(std::string(source) + "/tests/vectors/vectors.json");
  REQUIRE(file);
  return json::parse(file);
}

}  // namespace

TEST_CASE("the host device gives the bits of the shared vectors", "[vectors]") {
  const json vectors = read_vectors();
  REQUIRE(vectors.at("format") == 2);
  REQUIRE(vectors.at("cases").size() > 100);
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  options.cblas_path = "";
  ggemm_context* created = nullptr;
  REQUIRE(ggemm_context_create(&options, &created) == GGEMM_OK);
  const Context context(created);
  for (const json& j : vectors.at("cases")) {
    CAPTURE(j.at("name").get<std::string>());
    const int form = number(j.at("form"), {"pointers", "ragged_m", "ragged_k", "masked", "batch", "plain"}, GGEMM_GROUPS_POINTERS);
    if (form > GGEMM_GROUPS_BATCH) run_plain(context.get(), j);
    else if (form == GGEMM_GROUPS_POINTERS) run_grouped(context.get(), j);
    else run_form(context.get(), j, static_cast<ggemm_grouped_form>(form));
  }
}
