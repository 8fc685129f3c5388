// SPDX-License-Identifier: Apache-2.0
// One problem of a suite.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ggemm.h"

namespace ggemm::bench {

// What is multiplied, by the name that the results use. tf32 and f32x3 are f32 data in the tf32 and f32_accurate compute modes.
struct Type {
  const char* name;
  ggemm_dtype input, output;
  ggemm_compute compute;
};
const std::vector<Type>& types();
// Throws tools::Failure with the names there are.
const Type& type_named(const std::string& name);

struct Size {
  std::int64_t m, n, k;
  bool operator==(const Size&) const = default;
};

// How A and B are scaled, by f32 numbers: one each; one a row of A and one a column of B; one for each 1x128 of A and each 128x128 of B.
enum class Scaling { none, tensor, row, block };
// "none", "tensor", "row", "block".
const char* scaling_name(Scaling scaling);
// Throws tools::Failure for other names.
Scaling scaling_named(const std::string& name);

// How a call is told of its groups. own: as ragged m where the groups differ in m alone and lie so, else by arrays of pointers.
enum class Form { own, masked, batch, gathered, scattered, ragged_k };
// "own", "masked", "batch", "gathered", "scattered", "ragged-k".
const char* form_name(Form form);

struct Case {
  std::string suite, category;
  std::string name;          // with dtype and layout, unique in its suite
  std::string dtype;         // of types()
  std::string layout;        // nn, nt, tn, tt: "n" is A as [m,k] and B as [k,n], "t" A as [k,m] and B as [n,k]; all row-major
  Size size{};               // plain
  std::int64_t padding = 0;  // elements added to each leading dimension
  std::int64_t offset = 0;   // elements that each base is moved up from an aligned address
  std::vector<Size> groups;  // grouped: not empty, and `size` is not used
  std::string generator;     // grouped: how the groups are made, in words

  Scaling scaling = Scaling::none;
  Form form = Form::own;
  std::int64_t rows = 0;     // masked: that each group has room for; gathered: of A; scattered: of D
  bool accumulate = false;   // D += A B, of a D in f32

  bool grouped() const { return !groups.empty(); }
  ggemm_dtype output() const;
  double flops() const;
  // Every operand moved once, scales and what is added to included; groups without rows or columns move nothing.
  double bytes() const;
};

// The same case with scales: its name ends in "_" and how they are. By blocks it is of another category, if it is plain and of e4m3.
Case scaled(Case one, Scaling scaling);

// Which mark of the project a plain or grouped case counts towards. `odd`, `longk` and `gemv` cases say so themselves.
std::string plain_category(const std::string& dtype, const std::string& layout, const Size& size);
std::string grouped_category(const std::string& dtype, const std::vector<Size>& groups);

// "1024x768x512"
std::string size_name(const Size& size);

}  // namespace ggemm::bench
