// SPDX-License-Identifier: Apache-2.0
#include "common/operands.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "common/failure.hpp"

namespace ggemm::tools {

void ProductOptions::add_to(CLI::App& command) {
  add_dtype_option(command, "--dtype", dtype, "what A and B are: raw elements (NumPy's bfloat16 and float8) are of this type, all others are converted to it", GGEMM_I8);
  add_dtype_option(command, "--a-dtype", a_dtype, "likewise, of A alone", GGEMM_I8);
  add_dtype_option(command, "--b-dtype", b_dtype, "likewise, of B alone", GGEMM_I8);
  add_dtype_option(command, "--out-dtype", out_dtype, "of D; as A and B, but f32 for fp8 and i32 for i8");
  add_compute_option(command, compute);
  command.add_option("--alpha", alpha, "factor of the product")->type_name("X");
  activation.add_to(command);
  command.add_flag("--trans-a", trans_a, "the file of A holds it transposed, [k,m]");
  command.add_flag("--trans-b", trans_b, "the file of B holds it transposed, [n,k]");
  command.add_option("--config", config, "run this configuration (see `ggemm configs`)")->type_name("NAME");
  command.add_flag("--check", check, "hold the result against float64; exit code 1 if an element is over the bound");
  command.add_flag("--explain", explain, "print the problem, the configuration and why it was chosen");
}

void ProductOptions::apply(ggemm_epilogue_desc& epilogue) const {
  epilogue.activation = activation.activation;
  epilogue.activation_p0 = activation.p0.value_or(0);
  epilogue.activation_p1 = activation.p1.value_or(0);
}

void ProductOptions::apply(ReferenceProduct& reference) const {
  reference.compute = compute;
  reference.alpha = alpha;
  reference.activation = activation.activation;
  reference.p0 = activation.p0.value_or(0);
  reference.p1 = activation.p1.value_or(0);
}

Scalar make_scalar(double value, ggemm_dtype a, ggemm_dtype b, ggemm_dtype d, const char* option) {
  Scalar scalar{};
  if (a == GGEMM_F64 || b == GGEMM_F64) {
    std::memcpy(scalar.bytes, &value, sizeof value);
  } else if (a == GGEMM_I8 && b == GGEMM_I8 && d == GGEMM_I32) {
    if (value != std::rint(value) || std::fabs(value) > INT32_MAX) fail_usage("%s %g: int8 products stored as int32 take an integer", option, value);
    const auto whole = static_cast<std::int32_t>(value);
    std::memcpy(scalar.bytes, &whole, sizeof whole);
  } else {
    const auto single = static_cast<float>(value);
    std::memcpy(scalar.bytes, &single, sizeof single);
  }
  return scalar;
}

MatrixView view(const Array& array, bool transposed, std::int64_t index) {
  const std::size_t rows = array.shape.size() - 2, cols = rows + 1;
  MatrixView out;
  out.dtype = array.dtype;
  const std::int64_t first = array.offset + (rows == 1 ? index * array.strides[0] : 0);
  out.base = array.bytes.data() + first * static_cast<std::int64_t>(ggemm_dtype_size(array.dtype));
  out.rows = array.shape[transposed ? cols : rows];
  out.cols = array.shape[transposed ? rows : cols];
  out.row_stride = array.strides[transposed ? cols : rows];
  out.col_stride = array.strides[transposed ? rows : cols];
  return out;
}

void require_dimensions(const Array& array, std::size_t dimensions) {
  if (array.shape.size() == dimensions) return;
  fail_usage("%s: %zu dimensions are wanted, the array is %s", array.name.c_str(), dimensions, array.shape_text().c_str());
}

std::string described(const Array& array, bool transposed) { return array.name + (transposed ? " (transposed)" : "") + " is " + array.shape_text(); }

void print_error(const ErrorReport& report, const std::string& what) {
  std::printf("%s: error against float64: largest %.3g, %.3f of its bound, over %lld elements: %s\n", what.c_str(), report.max_error,
              report.max_share, static_cast<long long>(report.elements), report.passed() ? "pass" : "FAIL");
  if (report.passed()) return;
  std::printf("  worst at row %lld, column %lld: %.9g, not %.9g\n", static_cast<long long>(report.row), static_cast<long long>(report.col),
              report.got, report.wanted);
}

}  // namespace ggemm::tools
