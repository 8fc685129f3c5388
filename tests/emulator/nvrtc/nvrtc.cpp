// SPDX-License-Identifier: Apache-2.0
// A libnvrtc.so whose compiler is g++ and whose GPU is the emulator: a "cubin" is a shared library for this machine, which the fake driver loads.
//
// Environment:
//   GGEMM_EMULATOR_CACHE  a folder of what was compiled before; unset: nothing is kept
//   GGEMM_EMULATOR_RACES  if set, kernels tell their accesses to shared memory, and the emulator finds those that no barrier orders (slower)
//   GGEMM_EMULATOR_EDIT   "file=>from=>to": a change to one of the sources, to see that it is noticed. The file must have `from` once; "file#2=>...": the second of several. Else nothing is compiled.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "source.hpp"

#define NVRTC extern "C" __attribute__((visibility("default")))

extern char** environ;

namespace {

namespace fs = std::filesystem;

enum Result : int { success = 0, out_of_memory = 1, invalid_program = 4, compilation_failed = 6, internal_error = 11 };

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out.flush()) throw fs::filesystem_error("cannot write", path, std::make_error_code(std::errc::io_error));
}

// A folder of our own that goes with its scope.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "ggemm-emulator-XXXXXX").string();
    if (!mkdtemp(name.data())) throw fs::filesystem_error("mkdtemp", name, std::make_error_code(std::errc::io_error));
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Runs a command with what it prints going to `log`; true if it ends with 0.
bool run(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  // The compiler is no part of what is tested: it must not meet the libraries that stand in for CUDA.
  std::vector<char*> variables;
  for (char** v = environ; *v; ++v)
    if (std::strncmp(*v, "LD_", 3) != 0) variables.push_back(*v);
  variables.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    write_file(log, command[0] + ": " + std::strerror(failed) + "\n");
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct Program {
  std::string name, text, log, image;
  std::vector<std::pair<std::string, std::string>> headers;

  Result compile(const std::vector<std::string>& options);

 private:
  bool edit();
  std::vector<std::string> command(const std::vector<std::string>& options) const;
};

// All of the emulator's own headers: they are part of what is compiled.
std::string device_headers() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(GGEMM_EMULATOR_DEVICE))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string all;
  for (const fs::path& file : files) all += file.string() + '\n' + read_file(file);
  return all;
}

std::vector<std::string> Program::command(const std::vector<std::string>& options) const {
  std::vector<std::string> words = {GGEMM_EMULATOR_COMPILER, "-std=c++20", "-O1", "-w", "-Wno-psabi", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing",
                                    "-fno-stack-protector", "-fno-gnu-unique", "-ffp-contract=off", "-fno-math-errno", "-include", std::string(GGEMM_EMULATOR_DEVICE) + "/cuda.hpp"};
  // g++'s instrumentation for its thread sanitizer, whose library is not linked: cuda.hpp has its functions.
  if (!environment("GGEMM_EMULATOR_RACES", "").empty()) words.insert(words.end(), {"-fsanitize=thread", "-nostdlib", "-fno-threadsafe-statics"});
  constexpr std::string_view arch = "--gpu-architecture=sm_";
  for (const std::string& option : options) {
    if (option.starts_with("-D")) words.push_back(option);
    if (option.starts_with(arch)) words.push_back("-DGG_EMULATED_ARCH=" + std::to_string(std::atoi(option.c_str() + arch.size())));
  }
  return words;
}

// GGEMM_EMULATOR_EDIT. False, with the reason in the log, if it does not fit.
bool Program::edit() {
  const std::string whole = environment("GGEMM_EMULATOR_EDIT", ""), arrow = "=>";
  if (whole.empty()) return true;
  const std::size_t first = whole.find(arrow), second = first == std::string::npos ? first : whole.find(arrow, first + arrow.size());
  if (second == std::string::npos) {
    log = "GGEMM_EMULATOR_EDIT is not file=>from=>to\n";
    return false;
  }
  const std::string place = whole.substr(0, first), file = place.substr(0, place.find('#')), from = whole.substr(first + arrow.size(), second - first - arrow.size()), to = whole.substr(second + arrow.size());
  std::string* edited = file == name ? &text : nullptr;
  for (auto& [header, content] : headers)
    if (header == file) edited = &content;
  std::vector<std::size_t> places;
  for (std::size_t at = 0; edited && !from.empty() && (at = edited->find(from, at)) != std::string::npos; at += from.size()) places.push_back(at);
  const std::size_t wanted = file == place ? 1 : std::strtoul(place.c_str() + file.size() + 1, nullptr, 10);
  const bool found = file == place ? places.size() == 1 : wanted >= 1 && wanted <= places.size();
  if (found) edited->replace(places[wanted - 1], from.size(), to);
  else log = "GGEMM_EMULATOR_EDIT: " + file + " has \"" + from + "\" " + std::to_string(places.size()) + " times\n";
  return found;
}

Result Program::compile(const std::vector<std::string>& options) {
  if (!edit()) return compilation_failed;
  std::vector<std::string> words = command(options);
  std::string all;
  for (const std::string& word : words) all += word + '\n';
  all += device_headers() + name + '\n' + text;
  // Headers of the folder ptx/ are replaced by the emulator's.
  for (const auto& [header, content] : headers)
    if (!header.starts_with("ptx/")) all += header + '\n' + content;
  const std::string cache = environment("GGEMM_EMULATOR_CACHE", "");
  const fs::path kept = fs::path(cache) / (ggemm::core::hexadecimal(ggemm::core::hash128({all})) + ".so");
  if (!cache.empty() && fs::exists(kept)) {
    image = read_file(kept);
    return success;
  }
  const std::string description = emulator::kernel_description(text);
  if (description.empty()) {
    log = name + ": no __global__ function\n";
    return compilation_failed;
  }
  const Folder folder;
  const fs::path sources = folder.path() / "kernels", root = sources / (name + ".cpp"), output = folder.path() / "kernel.so", said = folder.path() / "log";
  const auto put = [](const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    write_file(path, content);
  };
  for (const auto& [header, content] : headers)
    if (!header.starts_with("ptx/")) put(sources / header, emulator::with_shared_variables(content));
  put(root, "#line 1 \"" + name + "\"\n" + emulator::with_shared_variables(text) + description);
  for (const std::string& word : {std::string("-I") + sources.string(), std::string("-I") + GGEMM_EMULATOR_DEVICE, root.string(), std::string("-o"), output.string()}) words.push_back(word);
  const bool compiled = run(words, said);
  log = read_file(said);
  if (!compiled) return compilation_failed;
  image = read_file(output);
  if (cache.empty()) return success;
  // By renaming, for processes that look at the same time.
  fs::create_directories(cache);
  const fs::path fresh = kept.string() + '.' + folder.path().filename().string();
  write_file(fresh, image);
  fs::rename(fresh, kept);
  return success;
}

Program* of(void* handle) { return static_cast<Program*>(handle); }

Result give(const std::string& text, char* out, bool terminated) {
  std::memcpy(out, text.c_str(), text.size() + (terminated ? 1 : 0));
  return success;
}

}  // namespace

NVRTC const char* nvrtcGetErrorString(int result) {
  switch (result) {
    case success: return "NVRTC_SUCCESS";
    case out_of_memory: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case invalid_program: return "NVRTC_ERROR_INVALID_PROGRAM";
    case compilation_failed: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR_INTERNAL_ERROR";
  }
}

NVRTC int nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 0;
  return success;
}

// Those of which its GPU has what kernels ask for.
constexpr int emulated_archs[] = {75, 80, 86, 89, 90, 100, 120};
NVRTC int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(std::size(emulated_archs));
  return success;
}
NVRTC int nvrtcGetSupportedArchs(int* archs) {
  std::copy(std::begin(emulated_archs), std::end(emulated_archs), archs);
  return success;
}

NVRTC int nvrtcCreateProgram(void** out, const char* text, const char* name, int count, const char* const* texts, const char* const* names) {
  auto* program = new Program{name ? name : "default_program", text, "", "", {}};
  for (int i = 0; i < count; ++i) program->headers.emplace_back(names[i], texts[i]);
  *out = program;
  return success;
}

NVRTC int nvrtcDestroyProgram(void** program) {
  delete of(std::exchange(*program, nullptr));
  return success;
}

NVRTC int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  if (!program) return invalid_program;
  try {
    return of(program)->compile({options, options + count});
  } catch (const std::exception& e) {
    of(program)->log = std::string(e.what()) + '\n';
    return internal_error;
  }
}

NVRTC int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
  *bytes = of(program)->log.size() + 1;
  return success;
}
NVRTC int nvrtcGetProgramLog(void* program, char* out) { return give(of(program)->log, out, true); }
NVRTC int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  *bytes = of(program)->image.size();
  return success;
}
NVRTC int nvrtcGetCUBIN(void* program, char* out) { return give(of(program)->image, out, false); }
