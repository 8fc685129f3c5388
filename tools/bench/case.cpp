// SPDX-License-Identifier: Apache-2.0
#include "bench/case.hpp"

#include <algorithm>
#include <cmath>

#include "common/failure.hpp"

namespace ggemm::bench {

const std::vector<Type>& types() {
  static const std::vector<Type> all{
      {"bf16", GGEMM_BF16, GGEMM_BF16, GGEMM_COMPUTE_DEFAULT}, {"f16", GGEMM_F16, GGEMM_F16, GGEMM_COMPUTE_DEFAULT},
      {"e4m3", GGEMM_E4M3, GGEMM_BF16, GGEMM_COMPUTE_DEFAULT}, {"i8", GGEMM_I8, GGEMM_I32, GGEMM_COMPUTE_DEFAULT},
      {"tf32", GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_TF32},      {"f32", GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_DEFAULT},
      {"f64", GGEMM_F64, GGEMM_F64, GGEMM_COMPUTE_DEFAULT},    {"f32x3", GGEMM_F32, GGEMM_F32, GGEMM_COMPUTE_F32_ACCURATE},
  };
  return all;
}

const Type& type_named(const std::string& name) {
  std::string names;
  for (const Type& type : types()) {
    if (name == type.name) return type;
    names += std::string(names.empty() ? "" : ", ") + type.name;
  }
  tools::fail_usage("dtype %s is not known: use one of %s", name.c_str(), names.c_str());
}

const char* scaling_name(Scaling scaling) {
  static const char* const names[] = {"none", "tensor", "row", "block"};
  return names[static_cast<int>(scaling)];
}

Scaling scaling_named(const std::string& name) {
  for (const Scaling scaling : {Scaling::none, Scaling::tensor, Scaling::row, Scaling::block})
    if (name == scaling_name(scaling)) return scaling;
  tools::fail_usage("scaling %s is not known: use one of none, tensor, row, block", name.c_str());
}

const char* form_name(Form form) {
  static const char* const names[] = {"own", "masked", "batch", "gathered", "scattered", "ragged-k"};
  return names[static_cast<int>(form)];
}

ggemm_dtype Case::output() const { return accumulate ? GGEMM_F32 : type_named(dtype).output; }

double Case::flops() const {
  if (!grouped()) return 2.0 * size.m * size.n * size.k;
  double sum = 0;
  for (const Size& group : groups) sum += 2.0 * group.m * group.n * group.k;
  return sum;
}

double Case::bytes() const {
  const double in = static_cast<double>(ggemm_dtype_size(type_named(dtype).input)), out = static_cast<double>(ggemm_dtype_size(output())) * (accumulate ? 2 : 1);
  const auto blocks = [](std::int64_t length) { return std::ceil(static_cast<double>(length) / 128); };
  const auto scales = [&](const Size& s) {
    if (scaling == Scaling::row) return static_cast<double>(s.m + s.n);
    return scaling == Scaling::block ? blocks(s.k) * (static_cast<double>(s.m) + blocks(s.n)) : 0.0;
  };
  const auto of = [&](const Size& s) {
    if (!s.m || !s.n) return 0.0;
    const double rows_a = form == Form::gathered ? 0 : s.m, rows_d = form == Form::scattered ? 0 : s.m;
    return in * s.k * (rows_a + s.n) + out * rows_d * s.n + sizeof(float) * scales(s);
  };
  if (!grouped()) return of(size);
  double sum = 0;
  for (const Size& group : groups) sum += of(group);
  if (form == Form::gathered) sum += in * rows * groups[0].k;
  if (form == Form::scattered) sum += out * rows * groups[0].n;
  return sum;
}

Case scaled(Case one, Scaling scaling) {
  one.scaling = scaling;
  if (scaling == Scaling::none) return one;
  one.name += std::string("_") + scaling_name(scaling);
  if (scaling == Scaling::block && !one.grouped() && one.dtype == "e4m3") one.category = "fp8-block";
  return one;
}

std::string plain_category(const std::string& dtype, const std::string& layout, const Size& size) {
  if (dtype == "f32") return "fp32";
  if (dtype == "f32x3") return "f32-accurate";
  if (dtype == "f64") return "fp64";
  if (dtype == "tf32") return "tf32";
  if (dtype == "e4m3") return layout == "nt" ? "fp8" : "layouts8";
  if (dtype == "i8") return layout == "nt" ? "int8" : "layouts8";
  const auto [least, most] = std::minmax({size.m, size.n, size.k});
  if (size.k >= 16384 && size.m <= 512 && size.n <= 512) return "longk";
  if (size.m <= 128) return "decode";
  return least < 1024 || most <= 2048 || size.n == 2112 ? "mid" : "large";
}

std::string grouped_category(const std::string& dtype, const std::vector<Size>& groups) {
  if (dtype == "e4m3") return "grouped-fp8";
  const bool ragged = std::all_of(groups.begin(), groups.end(), [&](const Size& s) { return s.n == groups[0].n && s.k == groups[0].k; });
  if (!ragged) return "grouped-general";
  std::int64_t rows = 0;
  for (const Size& group : groups) rows += group.m;
  return rows < 32 * static_cast<std::int64_t>(groups.size()) ? "grouped-decode" : "grouped-ragged";
}

std::string size_name(const Size& size) { return std::to_string(size.m) + "x" + std::to_string(size.n) + "x" + std::to_string(size.k); }

}  // namespace ggemm::bench
