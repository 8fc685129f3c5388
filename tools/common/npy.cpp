// SPDX-License-Identifier: Apache-2.0
#include "common/npy.hpp"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
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
  char kind = 0;    // 'f', 'i', 'u', 'V' ...
  std::vector<char> bytes;
};

Raw read_raw(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_file("%s: %s", path.c_str(), std::strerror(errno));
  Raw raw;
  raw.header = read_header(file.get(), path);
  const std::string& descr = raw.header.descr;
  if (descr.size() < 3 || descr.size() > 5) fail_file("%s: elements of type '%s' are not supported", path.c_str(), descr.c_str());
  raw.kind = descr[1];
  for (const char digit : descr.substr(2)) {
    if (!std::isdigit(static_cast<unsigned char>(digit))) fail_file("%s: elements of type '%s' are not supported", path.c_str(), descr.c_str());
    raw.element = raw.element * 10 + (digit - '0');
  }
  if (descr[0] == '>' && raw.element > 1) fail_file("%s: big-endian elements ('%s') are not supported", path.c_str(), descr.c_str());
  if (raw.element < 1 || raw.element > 8) fail_file("%s: elements of type '%s' are not supported", path.c_str(), descr.c_str());
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

// What the file itself says; NONE for raw elements.
ggemm_dtype stored_dtype(const Raw& raw) {
  if (raw.kind == 'f') {
    switch (raw.element) {
      case 8: return GGEMM_F64;
      case 4: return GGEMM_F32;
      case 2: return GGEMM_F16;
      case 1: return GGEMM_E5M2;  // ml_dtypes writes float8_e5m2 so
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

Array read_npy(const std::string& path, ggemm_dtype dtype, ggemm_dtype raw_dtype) {
  Raw raw = read_raw(path);
  Array array;
  array.name = path;
  array.shape = raw.header.shape;
  array.strides = packed_strides(array.shape, raw.header.fortran);
  const ggemm_dtype stored = stored_dtype(raw);
  if (stored == GGEMM_DTYPE_NONE) {
    const bool bare = raw.kind == 'V' || raw.kind == 'u';
    const char* descr = raw.header.descr.c_str();
    if (!bare || raw.element > 2) fail_file("%s: elements of type '%s' are not supported", path.c_str(), descr);
    if (dtype == GGEMM_DTYPE_NONE) dtype = raw_dtype;
    if (dtype == GGEMM_DTYPE_NONE) {
      fail_usage("%s: the elements are raw ('%s'): say what they are with --dtype %s", path.c_str(), descr, raw.element == 2 ? "bf16" : "e4m3 or e5m2");
    }
    if (ggemm_dtype_size(dtype) != std::size_t(raw.element)) {
      fail_usage("%s: the elements are raw and of %d bytes ('%s'): they cannot be %s", path.c_str(), raw.element, descr, ggemm_dtype_name(dtype));
    }
    array.dtype = dtype;
    array.bytes = std::move(raw.bytes);
  } else if (dtype == GGEMM_DTYPE_NONE || dtype == stored) {
    array.dtype = stored;
    array.bytes = std::move(raw.bytes);
  } else {
    array.dtype = dtype;
    array.bytes.resize(std::size_t(raw.count) * ggemm_dtype_size(dtype));
    check(ggemm_convert(dtype, array.bytes.data(), stored, raw.bytes.data(), std::size_t(raw.count)));
  }
  return array;
}

std::vector<std::int64_t> read_npy_integers(const std::string& path) {
  const Raw raw = read_raw(path);
  if (raw.kind != 'i' && raw.kind != 'u') fail_usage("%s: integers are wanted, the file has '%s'", path.c_str(), raw.header.descr.c_str());
  if (raw.header.shape.size() != 1) fail_usage("%s: one dimension is wanted, the file has %zu", path.c_str(), raw.header.shape.size());
  std::vector<std::int64_t> out(static_cast<std::size_t>(raw.count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, raw.bytes.data() + i * std::size_t(raw.element), std::size_t(raw.element));
    const int unused = 64 - 8 * raw.element;
    if (raw.kind == 'i') {
      out[i] = static_cast<std::int64_t>(value << unused) >> unused;
    } else if (value > std::uint64_t(INT64_MAX)) {
      fail_usage("%s: element %zu is too large", path.c_str(), i);
    } else {
      out[i] = static_cast<std::int64_t>(value);
    }
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
