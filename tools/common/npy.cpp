// SPDX-License-Identifier: Apache-2.0
#include "common/npy.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>

#include "common/failure.hpp"

namespace ggemm::tools {
namespace {

struct FileClose {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileClose>;

// The header's dict is a Python literal of three known keys.
struct Header {
  std::string descr;  // "<f4"
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Header parse() {
    Header header;
    int seen = 0;
    expect('{');
    while (peek() != '}') {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') fail_file("%s: structured arrays are not supported", path_.c_str());
        header.descr = quoted();
        seen |= 1;
      } else if (key == "fortran_order") {
        header.fortran = boolean();
        seen |= 2;
      } else if (key == "shape") {
        header.shape = tuple();
        seen |= 4;
      } else {
        damaged();
      }
      if (peek() == ',') ++at_;
    }
    if (seen != 7) damaged();
    return header;
  }

 private:
  [[noreturn]] void damaged() const { fail_file("%s: the .npy header cannot be understood", path_.c_str()); }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : (damaged(), '\0');
  }
  void expect(char wanted) {
    if (peek() != wanted) damaged();
    ++at_;
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') damaged();
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) damaged();
    const std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    damaged();
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> out;
    expect('(');
    while (peek() != ')') {
      std::int64_t value = 0;
      if (!std::isdigit(static_cast<unsigned char>(text_[at_]))) damaged();
      for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
        if (__builtin_mul_overflow(value, std::int64_t(10), &value) || __builtin_add_overflow(value, std::int64_t(text_[at_] - '0'), &value)) damaged();
      }
      out.push_back(value);
      if (peek() == ',') ++at_;
    }
    ++at_;
    return out;
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

void read_exactly(std::FILE* file, void* destination, std::size_t bytes, const std::string& path) {
  if (std::fread(destination, 1, bytes, file) == bytes) return;
  fail_file("%s: %s", path.c_str(), std::ferror(file) ? std::strerror(errno) : "the file is too short");
}

Header read_header(std::FILE* file, const std::string& path) {
  unsigned char start[8];
  if (std::fread(start, 1, sizeof start, file) != sizeof start || std::memcmp(start, "\x93NUMPY", 6) != 0) {
    fail_file("%s: not a .npy file", path.c_str());
  }
  const int version = start[6];
  if (version < 1 || version > 3) fail_file("%s: .npy format version %d is not supported (1 to 3 are)", path.c_str(), version);
  unsigned char length[4] = {};
  read_exactly(file, length, version == 1 ? 2 : 4, path);
  const std::size_t size = length[0] | std::size_t(length[1]) << 8 | std::size_t(length[2]) << 16 | std::size_t(length[3]) << 24;
  if (size > (std::size_t(1) << 20)) fail_file("%s: the .npy header says that it is %zu bytes long", path.c_str(), size);
  std::string text(size, '\0');
  read_exactly(file, text.data(), size, path);
  return HeaderParser(text, path).parse();
}

// Elements of the shape, with the bytes checked against overflow.
std::int64_t checked_count(const Header& header, std::int64_t element, const std::string& path) {
  std::int64_t count = 1, bytes = 0;
  for (const std::int64_t extent : header.shape) {
    if (__builtin_mul_overflow(count, extent, &count)) fail_file("%s: the shape in the header is too large", path.c_str());
  }
  if (__builtin_mul_overflow(count, element, &bytes)) fail_file("%s: the shape in the header is too large", path.c_str());
  return count;
}

struct Raw {
  Header header;
  std::int64_t count = 0;
  int element = 0;  // bytes
  char kind = 0;    // 'f', 'i', 'u', 'b' or 'V', which are raw
  std::vector<char> bytes;
};

Raw read_raw(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_file("%s: %s", path.c_str(), std::strerror(errno));
  Raw raw;
  raw.header = read_header(file.get(), path);
  const std::string& descr = raw.header.descr;
  const auto refuse = [&] {
    fail_file("%s: elements of type '%s' are not supported: floating point of 2, 4 and 8 bytes, integers, bool, and raw elements of 1 and 2 bytes (V1, V2) are", path.c_str(), descr.c_str());
  };
  if (descr.size() != 3) refuse();
  raw.kind = descr[1];
  raw.element = descr[2] - '0';
  constexpr std::string_view sizes[] = {"f1248", "i1248", "u1248", "b1", "V12"};  // f1: ml_dtypes writes float8_e5m2 so
  if (std::none_of(std::begin(sizes), std::end(sizes), [&](std::string_view each) { return each[0] == raw.kind && each.find(descr[2], 1) != each.npos; })) refuse();
  if (descr[0] == '>' && raw.element > 1) fail_file("%s: big-endian elements ('%s') are not supported", path.c_str(), descr.c_str());
  raw.count = checked_count(raw.header, raw.element, path);
  const std::size_t wanted = std::size_t(raw.count) * std::size_t(raw.element);
  // The header alone must not make this allocate: the file's size is looked at first.
  const long data_at = std::ftell(file.get());
  if (data_at >= 0 && std::fseek(file.get(), 0, SEEK_END) == 0) {
    const long end = std::ftell(file.get());
    if (end < data_at || std::size_t(end - data_at) < wanted) {
      fail_file("%s: the header promises %zu bytes of elements, the file has %ld", path.c_str(), wanted, end - data_at);
    }
    if (std::fseek(file.get(), data_at, SEEK_SET) != 0) fail_file("%s: %s", path.c_str(), std::strerror(errno));
  }
  raw.bytes.resize(wanted);
  read_exactly(file.get(), raw.bytes.data(), wanted, path);
  return raw;
}

// What the file itself says; NONE for raw elements and for integers that no operand has.
ggemm_dtype stored_dtype(const Raw& raw) {
  if (raw.kind == 'f') {
    switch (raw.element) {
      case 8: return GGEMM_F64;
      case 4: return GGEMM_F32;
      case 2: return GGEMM_F16;
      case 1: return GGEMM_E5M2;
    }
  }
  if (raw.kind == 'i' && raw.element == 1) return GGEMM_I8;
  if (raw.kind == 'i' && raw.element == 4) return GGEMM_I32;
  return GGEMM_DTYPE_NONE;
}

const char* descr_of(ggemm_dtype dtype) {
  switch (dtype) {
    case GGEMM_F64: return "<f8";
    case GGEMM_F32: return "<f4";
    case GGEMM_F16: return "<f2";
    case GGEMM_BF16: return "<V2";
    case GGEMM_E4M3:
    case GGEMM_E5M2: return "|V1";
    case GGEMM_I8: return "|i1";
    case GGEMM_I32: return "<i4";
    default: return nullptr;
  }
}

std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& shape, bool fortran) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran ? i : shape.size() - 1 - i;
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

// Of integers and booleans. Unsigned ones of 8 bytes wrap past INT64_MAX.
std::int64_t integer_at(const Raw& raw, std::size_t i) {
  std::uint64_t value = 0;
  std::memcpy(&value, raw.bytes.data() + i * std::size_t(raw.element), std::size_t(raw.element));
  const int unused = 64 - 8 * raw.element;
  return raw.kind == 'i' ? static_cast<std::int64_t>(value << unused) >> unused : static_cast<std::int64_t>(value);
}

// What a dtype of integers does not hold is an error, where a floating one rounds.
void convert_integers(const Raw& raw, ggemm_dtype dtype, char* out, const std::string& path) {
  std::vector<double> values(static_cast<std::size_t>(raw.count));
  const double most = dtype == GGEMM_I8 ? INT8_MAX : dtype == GGEMM_I32 ? INT32_MAX : INFINITY;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t value = integer_at(raw, i);
    values[i] = raw.kind == 'i' ? double(value) : double(static_cast<std::uint64_t>(value));
    if (values[i] > most || values[i] < -most - 1) fail_usage("%s: element %zu is %.0f, which %s does not hold", path.c_str(), i, values[i], ggemm_dtype_name(dtype));
  }
  check(ggemm_convert(dtype, out, GGEMM_F64, values.data(), values.size()));
}

// The elements taken as the dtype if they are raw, else converted to it. Unsigned integers are raw where NumPy has no elements of that dtype.
Array array_of(Raw raw, ggemm_dtype dtype, const std::string& path) {
  Array array;
  array.name = path;
  array.dtype = dtype;
  array.shape = raw.header.shape;
  array.strides = packed_strides(array.shape, raw.header.fortran);
  const ggemm_dtype stored = stored_dtype(raw);
  const bool fits = ggemm_dtype_size(dtype) == std::size_t(raw.element), foreign = dtype == GGEMM_BF16 || dtype == GGEMM_E4M3 || dtype == GGEMM_E5M2;
  if (raw.kind == 'V' && !fits)
    fail_usage("%s: the elements are raw and of %d bytes ('%s'): they cannot be %s", path.c_str(), raw.element, raw.header.descr.c_str(), ggemm_dtype_name(dtype));
  if (raw.kind == 'V' || dtype == stored || (raw.kind == 'u' && foreign && fits)) {
    array.bytes = std::move(raw.bytes);
    return array;
  }
  array.bytes.resize(std::size_t(raw.count) * ggemm_dtype_size(dtype));
  if (raw.kind == 'f') check(ggemm_convert(dtype, array.bytes.data(), stored, raw.bytes.data(), std::size_t(raw.count)));
  else convert_integers(raw, dtype, array.bytes.data(), path);
  return array;
}

}  // namespace

std::int64_t Array::count() const {
  std::int64_t out = 1;
  for (const std::int64_t extent : shape) out *= extent;
  return out;
}

std::string Array::shape_text() const {
  std::string out;
  for (const std::int64_t extent : shape) out += (out.empty() ? "" : "x") + std::to_string(extent);
  return shape.empty() ? "a scalar" : out;
}

Array make_array(ggemm_dtype dtype, std::vector<std::int64_t> shape) {
  Array array;
  array.dtype = dtype;
  array.shape = std::move(shape);
  array.strides = packed_strides(array.shape, false);
  array.bytes.resize(std::size_t(array.count()) * ggemm_dtype_size(dtype));
  return array;
}

Array read_operand(const std::string& path, ggemm_dtype dtype, const char* option) {
  Raw raw = read_raw(path);
  const char* descr = raw.header.descr.c_str();
  const ggemm_dtype stored = stored_dtype(raw);
  if (dtype == GGEMM_DTYPE_NONE) {
    const bool opaque = raw.kind == 'V' || (raw.kind == 'u' && raw.element <= 2);
    if (opaque) fail_usage("%s: the elements are raw ('%s'): say what they are with %s, such as %s", path.c_str(), descr, option, raw.element == 2 ? "bf16" : "e4m3 or e5m2");
    if (stored == GGEMM_DTYPE_NONE || stored == GGEMM_I32)
      fail_usage("%s: the elements are of type '%s', which A and B cannot be: say what to convert them to with %s, such as f32", path.c_str(), descr, option);
    dtype = stored;
  }
  return array_of(std::move(raw), dtype, path);
}

Array read_npy(const std::string& path, ggemm_dtype otherwise) {
  Raw raw = read_raw(path);
  const ggemm_dtype stored = stored_dtype(raw);
  return array_of(std::move(raw), stored == GGEMM_DTYPE_NONE ? otherwise : stored, path);
}

std::vector<std::int64_t> read_npy_integers(const std::string& path) {
  const Raw raw = read_raw(path);
  if (raw.kind != 'i' && raw.kind != 'u') fail_usage("%s: integers are wanted, the file has '%s'", path.c_str(), raw.header.descr.c_str());
  if (raw.header.shape.size() != 1) fail_usage("%s: one dimension is wanted, the file has %zu", path.c_str(), raw.header.shape.size());
  std::vector<std::int64_t> out(static_cast<std::size_t>(raw.count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = integer_at(raw, i);
    if (raw.kind == 'u' && out[i] < 0) fail_usage("%s: element %zu is too large", path.c_str(), i);
  }
  return out;
}

void write_npy(const std::string& path, const Array& array) {
  std::string header = std::string("{'descr': '") + descr_of(array.dtype) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : array.shape) header += std::to_string(extent) + (array.shape.size() == 1 ? "," : ", ");
  if (array.shape.size() > 1) header.resize(header.size() - 2);
  header += "), }";
  // The elements begin at a multiple of 64 bytes, so that the file can be mapped.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const std::string start = std::string("\x93NUMPY\x01\x00", 8) + char(header.size() & 0xff) + char(header.size() >> 8);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) fail_file("%s: %s", path.c_str(), std::strerror(errno));
  const auto put = [file](const void* data, std::size_t bytes) { return bytes == 0 || std::fwrite(data, 1, bytes, file) == bytes; };
  const bool written = put(start.data(), start.size()) && put(header.data(), header.size()) && put(array.bytes.data(), array.bytes.size());
  const int reason = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) fail_file("%s: %s", path.c_str(), std::strerror(written ? errno : reason));
}

}  // namespace ggemm::tools
