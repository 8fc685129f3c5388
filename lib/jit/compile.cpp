// SPDX-License-Identifier: Apache-2.0
#include "jit/compile.hpp"

#include <chrono>
#include <cstring>
#include <new>
#include <string_view>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace ggemm::jit {
namespace {

// Of the key's text and of what a cubin in the cache means. Raise it when the way of compiling changes in a way that the key does not show.
constexpr int cubin_schema = 2;
constexpr const char* cubin_kind = "cubin";

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The options that decide about the result.
std::vector<std::string> compile_options(const Request& request) {
  std::vector<std::string> out = {"--gpu-architecture=" + request.arch, "--std=c++20", "-DGG_KERNEL_NAME=" + request.name};
  for (const auto& [name, value] : request.defines) out.push_back("-D" + name + '=' + value);
  return out;
}

// A program of NVRTC's that is destroyed at the end of its scope.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const Request& request, const std::vector<EmbeddedFile>& files)
      : nvrtc_(nvrtc), name_(request.name + " for " + request.arch) {
    const char* root = nullptr;
    std::vector<const char*> names, texts;
    for (const EmbeddedFile& file : files) {
      if (request.root == file.name) {
        root = file.text;
      } else {
        names.push_back(file.name);
        texts.push_back(file.text);
      }
    }
    if (!root) core::fail(GGEMM_ERROR_INTERNAL, "%s: there is no kernel source \"%s\"", name_.c_str(), request.root.c_str());
    check("nvrtcCreateProgram", nvrtc.create(&program_, root, request.root.c_str(), static_cast<int>(names.size()), texts.data(), names.data()));
  }
  ~Program() { nvrtc_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int result = nvrtc_.compile(program_, static_cast<int>(pointers.size()), pointers.data());
    check("nvrtcCompileProgram", result, result ? '\n' + log() : "");
  }
  std::string cubin() const {
    std::size_t bytes = 0;
    check("nvrtcGetCUBINSize", nvrtc_.cubin_size(program_, &bytes));
    std::string out(bytes, '\0');
    check("nvrtcGetCUBIN", nvrtc_.cubin(program_, out.data()));
    if (out.empty())
      core::fail(GGEMM_ERROR_COMPILE, "%s: NVRTC %s (%s) made an empty binary", name_.c_str(), nvrtc_.version.c_str(), nvrtc_.path.c_str());
    return out;
  }
  // "" if there is none; a log that cannot be had is no failure of its own.
  std::string log() const {
    std::size_t bytes = 0;
    if (nvrtc_.log_size(program_, &bytes) != 0 || bytes == 0) return "";
    std::string out(bytes, '\0');
    if (nvrtc_.log(program_, out.data()) != 0) return "";
    out.resize(std::strlen(out.c_str()));  // the size counts the NUL
    while (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
  }

 private:
  void check(const char* call, int result, const std::string& more = "") const {
    if (result != 0)
      core::fail(GGEMM_ERROR_COMPILE, "%s: %s of NVRTC %s (%s) fails with %s%s", name_.c_str(), call, nvrtc_.version.c_str(), nvrtc_.path.c_str(),
                 nvrtc_.error_string(result), more.c_str());
  }

  const Nvrtc& nvrtc_;
  std::string name_;  // of the kernel, for errors
  NvrtcProgram* program_ = nullptr;
};

// Whether what an NVRTC made badly might be made better by the one that is here now.
bool another_nvrtc(const Options& options, const std::string& maker) {
  try {
    return load_nvrtc(options.nvrtc_path, options.driver_version, options.compute_capability)->version != maker;
  } catch (const core::Error&) {
    return false;  // there is none
  }
}

}  // namespace

std::string hash_of(const std::vector<EmbeddedFile>& files) {
  std::string all;
  for (const EmbeddedFile& file : files) all.append(core::text("%s %zu\n", file.name, std::strlen(file.text))).append(file.text);
  return core::hexadecimal(core::hash128({all}));
}

std::string cubin_key(const Request& request, const std::string& sources_hash) {
  std::string key = core::text("cubin %d\nsources %s\nroot %s\n", cubin_schema, sources_hash.c_str(), request.root.c_str());
  // With lengths, because a value may hold line ends.
  for (const std::string& option : compile_options(request)) key += core::text("%zu %s\n", option.size(), option.c_str());
  return key;
}

Cubin compile(const Nvrtc& nvrtc, const Request& request, const std::vector<EmbeddedFile>& files, bool verbose) {
  const Stopwatch watch;
  std::vector<std::string> options = compile_options(request);
  // From 12.9 on NVRTC keeps a cache of its own in ~/.nv, for which it starts the driver. Ours is enough, and no compile may touch a device.
  if (nvrtc.major > 12 || (nvrtc.major == 12 && nvrtc.minor >= 9)) options.push_back("--no-cache");
  if (verbose) options.push_back("--ptxas-options=-v");
  Program program(nvrtc, request, files);
  program.compile(options);
  Cubin out;
  out.bytes = program.cubin();
  out.nvrtc = nvrtc.version;
  out.log = program.log();
  out.complaint = serialised_wgmma(out.log);
  out.seconds = watch.seconds();
  return out;
}

Cubin cached_or_compiled(const Options& options, const core::Disk* disk, const core::Log& log, const Sources& sources, const Request& request, bool anew) {
  const Stopwatch watch;
  const bool use_disk = disk && !options.verbose;
  const std::string key = cubin_key(request, sources.hash);
  if (use_disk && !anew) {
    auto entry = disk->read(cubin_kind, key);
    // What ptxas said against it comes before the binary.
    const std::size_t end = entry ? entry->body.find('\0') : std::string::npos;
    if (end != std::string::npos) {
      Cubin out;
      out.complaint = entry->body.substr(0, end);
      entry->body.erase(0, end + 1);
      out.bytes = std::move(entry->body);
      out.nvrtc = std::move(entry->maker);
      out.from_disk = true;
      if (out.complaint.empty() || !another_nvrtc(options, out.nvrtc)) {
        log.write(GGEMM_LOG_DEBUG, "%s: read from the disk cache", request.name.c_str());
        out.seconds = watch.seconds();
        return out;
      }
    }
  }
  const auto nvrtc = load_nvrtc(options.nvrtc_path, options.driver_version, options.compute_capability);
  Cubin out = compile(*nvrtc, request, sources.files, options.verbose);
  log.write(GGEMM_LOG_DEBUG, "%s: compiled by NVRTC %s in %.0f ms", request.name.c_str(), out.nvrtc.c_str(), out.seconds * 1e3);
  if (use_disk) try {
      disk->write(cubin_kind, key, out.complaint + '\0' + out.bytes, out.nvrtc);
    } catch (const std::bad_alloc&) {
      // It is compiled anew next time.
    }
  out.seconds = watch.seconds();
  return out;
}

}  // namespace ggemm::jit
