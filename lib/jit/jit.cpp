// SPDX-License-Identifier: Apache-2.0
#include "jit/jit.hpp"

#include <exception>
#include <sstream>
#include <string_view>

#include "core/error.hpp"
#include "jit/compile.hpp"

namespace ggemm::jit {

struct Jit::Impl {
  Options options;
  std::shared_ptr<core::Disk> disk;
  const core::Log& log;
};

Jit::Jit(Options options, std::shared_ptr<core::Disk> disk, const core::Log& log)
    : impl_(std::make_unique<Impl>(Impl{std::move(options), std::move(disk), log})) {}

Jit::~Jit() = default;

Cubin Jit::get(const Request& request, bool anew) const {
  static const Sources sources{embedded_files(), embedded_hash()};
  return cached_or_compiled(impl_->options, impl_->disk.get(), impl_->log, sources, request, anew);
}

std::string cubin_key(const Request& request) { return cubin_key(request, embedded_hash()); }

const std::string& embedded_hash() {
  static const std::string hash = hash_of(embedded_files());
  return hash;
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// C7508, C7510, C7511 and their kin: "(C75dd)". They come as "info" with a status of success, so the code is what counts.
bool has_complaint_code(std::string_view line) {
  const std::size_t at = line.find("(C75");
  return at != std::string_view::npos && line.size() > at + 6 && is_digit(line[at + 4]) && is_digit(line[at + 5]) && line[at + 6] == ')';
}

// "8 bytes spill stores". A stack frame alone is no spill: local arrays that are indexed have one too.
bool has_spill(std::string_view line) {
  static constexpr std::string_view words = " bytes spill";
  for (std::size_t at = line.find(words); at != std::string_view::npos; at = line.find(words, at + 1)) {
    std::size_t start = at;
    while (start > 0 && is_digit(line[start - 1])) start--;
    if (line.substr(start, at - start).find_first_not_of('0') != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::string ptxas_complaint(const std::string& log) {
  std::string out, line;
  for (std::istringstream lines(log); std::getline(lines, line);)
    if (has_complaint_code(line) || has_spill(line)) out += (out.empty() ? "" : "\n") + line.substr(line.find_first_not_of(" \t"));
  return out;
}

std::string serialised_wgmma(const std::string& log) {
  std::string line;
  for (std::istringstream lines(log); std::getline(lines, line);)
    if (has_complaint_code(line) && line.find("wgmma") != std::string::npos) return line.substr(line.find("(C75"));
  return "";
}

NvrtcReport diagnose(const Options& options) {
  NvrtcReport out;
  try {
    const auto nvrtc = load_nvrtc(options.nvrtc_path, options.driver_version, options.compute_capability);
    out.found = true;
    out.version = nvrtc->version;
    out.path = nvrtc->path;
  } catch (const core::Error& error) {
    out.detail = error.text();
  } catch (const std::exception& error) {
    out.detail = error.what();
  }
  return out;
}

}  // namespace ggemm::jit
