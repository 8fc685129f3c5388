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

void check_bytes(const Group& group, const json& j) {
  const auto want = bytes(j.at("d").at("data"));
  REQUIRE(group.d.buffer.size() == want.size());
  std::size_t at = 0;
  while (at < want.size() && group.d.buffer[at] == want[at]) ++at;
  CAPTURE(group.m, group.n, group.k, at);
  CHECK(at == want.size());
}

ggemm_epilogue_desc epilogue(const json& j, const json* group) {
  ggemm_epilogue_desc e = GGEMM_EPILOGUE_INIT_;
  e.activation = static_cast<ggemm_activation>(
      number(j.at("activation"), {"none", "relu", "leaky_relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "clamp"}));
  e.activation_p0 = j.at("p0");
  e.activation_p1 = j.at("p1");
  e.bias = static_cast<ggemm_bias>(number(j.at("bias"), {"none", "column", "row"}));
  if (e.bias && group) e.bias_dtype = dtype(group->at("bias_vector").at("dtype"));
  return e;
}

ggemm_compute compute(const json& j) { return static_cast<ggemm_compute>(number(j.at("compute"), {"default", "tf32"})); }

// The element of a scalar; NULL where there is none.
Operand scalar(const json& j) { return j.is_null() ? Operand() : Operand(j, "data"); }

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
  const ggemm_status status = ggemm_gemm(context, &desc, &args, nullptr);
  INFO(ggemm_last_error());
  REQUIRE(status == GGEMM_OK);
  check_bytes(group, j);
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
    check_bytes(operands[g], groups[g]);
  }
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
  REQUIRE(vectors.at("format") == 1);
  REQUIRE(vectors.at("cases").size() > 100);
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  options.cblas_path = "";
  ggemm_context* created = nullptr;
  REQUIRE(ggemm_context_create(&options, &created) == GGEMM_OK);
  const Context context(created);
  for (const json& j : vectors.at("cases")) {
    CAPTURE(j.at("name").get<std::string>());
    if (number(j.at("form"), {"plain", "pointers"}) == 0) run_plain(context.get(), j);
    else run_grouped(context.get(), j);
  }
}
