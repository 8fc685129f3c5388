// SPDX-License-Identifier: Apache-2.0
#include "jit/nvrtc.hpp"

#include <string.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"
#include "core/library.hpp"
#include "core/single_flight.hpp"

namespace ggemm::jit {
namespace {

namespace fs = std::filesystem;

constexpr int majors[] = {13, 12};  // that can compile C++20, newest first
constexpr int oldest_major = 12, oldest_minor = 3;  // of those whose kernels are good (docs/design.md)

std::string soname(int major) { return "libnvrtc.so." + std::to_string(major); }

// Subfolders of `folder` whose names begin with `start`, the newest version first.
std::vector<fs::path> versions_in(const fs::path& folder, const std::string& start) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().starts_with(start)) out.push_back(entry->path());
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) { return strverscmp(a.c_str(), b.c_str()) > 0; });
  return out;
}

class Candidates {
 public:
  void add_soname() {
    for (const int major : majors) add(soname(major));
  }
  // Only what is there: the list is shown to people.
  void add_folder(const fs::path& folder) {
    std::error_code error;
    for (const int major : majors)
      if (const fs::path file = folder / soname(major); fs::exists(file, error)) add(file.lexically_normal().string());
  }
  // Where pip's wheels of CUDA 13 and 12 put it.
  void add_site_packages(const fs::path& packages) {
    add_folder(packages / "nvidia/cu13/lib");
    add_folder(packages / "nvidia/cuda_nvrtc/lib");
  }
  void add_python_prefix(const fs::path& prefix) {
    for (const fs::path& python : versions_in(prefix / "lib", "python3")) {
      add_site_packages(python / "site-packages");
      add_site_packages(python / "dist-packages");
    }
  }
  void add_toolkit(const fs::path& toolkit) {
    for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) add_folder(toolkit / lib);
  }
  std::vector<std::string> take() { return std::move(paths_); }

 private:
  void add(std::string path) {
    if (std::find(paths_.begin(), paths_.end(), path) == paths_.end()) paths_.push_back(std::move(path));
  }
  std::vector<std::string> paths_;
};

// A folder named by the environment, or "" if it is unset or relative: that would be whatever lies in the current folder.
fs::path environment_folder(const char* name) {
  const std::string value = core::environment(name);
  return value.starts_with('/') ? value : "";
}

template <class Function>
bool bind(void* library, const char* name, Function& function, const std::string& path, std::vector<std::string>& tried) {
  function = reinterpret_cast<Function>(core::find_symbol(library, name));
  if (!function) tried.push_back(path + ": has no " + name);
  return function != nullptr;
}

bool bind_all(void* library, Nvrtc& out, const std::string& path, std::vector<std::string>& tried) {
  return bind(library, "nvrtcVersion", out.get_version, path, tried) && bind(library, "nvrtcGetErrorString", out.error_string, path, tried) &&
         bind(library, "nvrtcGetNumSupportedArchs", out.arch_count, path, tried) && bind(library, "nvrtcGetSupportedArchs", out.archs, path, tried) &&
         bind(library, "nvrtcCreateProgram", out.create, path, tried) && bind(library, "nvrtcDestroyProgram", out.destroy, path, tried) &&
         bind(library, "nvrtcCompileProgram", out.compile, path, tried) && bind(library, "nvrtcGetProgramLogSize", out.log_size, path, tried) &&
         bind(library, "nvrtcGetProgramLog", out.log, path, tried) && bind(library, "nvrtcGetCUBINSize", out.cubin_size, path, tried) &&
         bind(library, "nvrtcGetCUBIN", out.cubin, path, tried);
}

// NVRTC opens its builtins by a bare name when it first compiles, and pip's wheel has no RUNPATH that leads there: what is loaded already is found
// by that name.
bool load_builtins(const Nvrtc& nvrtc, std::vector<std::string>& tried) {
  const std::string name = "libnvrtc-builtins.so." + nvrtc.version;
  if (core::loaded_library(name.c_str())) return true;
  std::vector<std::string> unseen;
  const fs::path beside = fs::path(nvrtc.path).parent_path() / name;
  if (core::open_library(beside.string(), unseen) || core::open_library(name, unseen)) return true;
  tried.push_back(nvrtc.path + ": its " + name + " cannot be opened: " + unseen.front());
  return false;
}

bool newer_than_driver(int major, int driver_version) { return driver_version > 0 && major > driver_version / 1000; }

std::string newer_text(const std::string& path, const std::string& version, int driver_version) {
  return core::text("%s: NVRTC %s is newer than the driver, which supports CUDA %d.%d", path.c_str(), version.c_str(), driver_version / 1000,
                    driver_version % 1000 / 10);
}

// One that cannot say is let try.
bool compiles_for(const Nvrtc& nvrtc, int compute_capability) {
  int count = 0;
  if (nvrtc.arch_count(&count) || count <= 0) return true;
  std::vector<int> archs(static_cast<std::size_t>(count));
  return nvrtc.archs(archs.data()) || std::find(archs.begin(), archs.end(), compute_capability) != archs.end();
}

struct Search {
  int driver_version, compute_capability;  // 0: any
  Nvrtc found{};
  std::vector<std::string> tried{};  // what was passed over, and why
  bool another_device = false;       // one of them does not compile for this one
};

// Takes an opened library if it is a complete NVRTC that suits driver and device.
bool take(void* library, const std::string& path, Search& s) {
  Nvrtc& out = s.found;
  if (!bind_all(library, out, path, s.tried)) return false;
  if (const int result = out.get_version(&out.major, &out.minor)) {
    s.tried.push_back(path + ": nvrtcVersion fails: " + out.error_string(result));
    return false;
  }
  out.version = core::text("%d.%d", out.major, out.minor);
  const std::string file = core::library_path(reinterpret_cast<const void*>(out.get_version));
  out.path = file.empty() ? path : file;
  if (newer_than_driver(out.major, s.driver_version)) {
    s.tried.push_back(newer_text(path, out.version, s.driver_version));
    return false;
  }
  if (out.major < oldest_major || (out.major == oldest_major && out.minor < oldest_minor)) {
    s.tried.push_back(core::text("%s: NVRTC %s is older than %d.%d", path.c_str(), out.version.c_str(), oldest_major, oldest_minor));
    return false;
  }
  if (s.compute_capability && !compiles_for(out, s.compute_capability)) {
    s.tried.push_back(core::text("%s: NVRTC %s does not compile for compute capability %d.%d", path.c_str(), out.version.c_str(), s.compute_capability / 10, s.compute_capability % 10));
    s.another_device = true;
    return false;
  }
  return load_builtins(out, s.tried);
}

bool open_and_take(const std::string& path, Search& s) {
  void* library = core::open_library(path, s.tried);
  return library && take(library, path, s);
}

bool take_first(Search& s) {
  for (const int major : majors)
    if (void* library = core::loaded_library(soname(major).c_str()))
      if (take(library, soname(major) + " (loaded already)", s)) return true;
  for (const std::string& path : nvrtc_candidates()) {
    // Its name tells the major version, which spares loading 100 MB for nothing.
    const std::size_t dot = path.rfind('.');
    const std::string major = path.substr(dot + 1);
    if (newer_than_driver(std::stoi(major), s.driver_version)) {
      s.tried.push_back(newer_text(path, major, s.driver_version));
    } else if (open_and_take(path, s)) {
      return true;
    }
  }
  return false;
}

Nvrtc load(const std::string& path, Search s) {
  if (path.empty() ? take_first(s) : open_and_take(path, s)) return s.found;
  std::string list;
  for (const std::string& line : s.tried) list += "\n  " + line;
  const bool driver_12 = s.driver_version > 0 && s.driver_version < 13000;
  const std::string device = s.another_device ? core::text(", and one that knows compute capability %d.%d", s.compute_capability / 10, s.compute_capability % 10) : "";
  core::fail(
      GGEMM_ERROR_COMPILE,
      "NVRTC, which compiles the kernels, cannot be used. Tried:%s\nInstall it with `pip install %snvidia-cuda-nvrtc%s` or with the CUDA toolkit%s (%d.%d or newer%s), "
      "or give the path of libnvrtc.so in GGEMM_NVRTC.",
      list.c_str(), s.another_device ? "--upgrade " : "", driver_12 ? "-cu12" : "", driver_12 ? " 12" : "", oldest_major, oldest_minor, device.c_str());
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  Candidates out;
  out.add_soname();
  if (const fs::path venv = environment_folder("VIRTUAL_ENV"); !venv.empty()) out.add_python_prefix(venv);
  if (const fs::path conda = environment_folder("CONDA_PREFIX"); !conda.empty()) {
    out.add_folder(conda / "lib");
    out.add_python_prefix(conda);
  }
  std::error_code error;
  // When this library is part of a wheel, NVIDIA's wheels are its neighbours: site-packages/ggemm/libggemm.so or one folder deeper.
  if (const fs::path self = core::library_path(reinterpret_cast<const void*>(&load_nvrtc)); self.is_absolute()) {
    const fs::path here = self.parent_path();
    out.add_site_packages(here.parent_path());
    out.add_site_packages(here.parent_path().parent_path());
  }
  // A Python program that was started without activating its environment: <prefix>/bin/python3.
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error && program.filename().string().starts_with("python")) out.add_python_prefix(program.parent_path().parent_path());
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const fs::path toolkit = environment_folder(name); !toolkit.empty()) out.add_toolkit(toolkit);
  out.add_toolkit("/usr/local/cuda");
  for (const fs::path& toolkit : versions_in("/usr/local", "cuda-")) out.add_toolkit(toolkit);
  return out.take();
}

std::shared_ptr<const Nvrtc> load_nvrtc(const std::string& path, int driver_version, int compute_capability) {
  // Never destroyed: threads may still compile while the process ends.
  static auto* const loaded = new core::SingleFlight<std::string, Nvrtc>;
  return loaded->get(core::text("%d %d %s", driver_version / 1000, compute_capability, path.c_str()), [&] { return load(path, {driver_version, compute_capability}); });
}

}  // namespace ggemm::jit
