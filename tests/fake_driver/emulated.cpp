// SPDX-License-Identifier: Apache-2.0
#include "emulated.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace fake {
namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15ull + b;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return (z ^ z >> 31) >> 16;  // shorter to type
}

// A file of its own for an image, if only until it is mapped; its number is in its name, as the loader takes a name that it knows for the library that had it.
std::string write_image(const std::vector<char>& image, std::size_t number) {
  std::string name = (std::filesystem::temp_directory_path() / ("ggemm-kernel-" + std::to_string(getpid()) + "-" + std::to_string(number) + "-XXXXXX")).string();
  const int file = mkstemp(name.data());
  if (file < 0) return {};
  std::size_t written = 0;
  while (written < image.size()) {
    const ssize_t n = write(file, image.data() + written, image.size() - written);
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  close(file);
  if (written == image.size()) return name;
  unlink(name.c_str());
  return {};
}

// The loader also takes a file that has the number of one it mapped, and that was removed, for that one; where it does, another file gets another number.
void* open_image(const std::vector<char>& image) {
  static auto* const opened = new std::set<void*>;
  static std::size_t number = 0;
  std::vector<std::string> files;
  void* library = nullptr;
  for (int attempt = 0; attempt < 8 && !library; ++attempt) {
    files.push_back(write_image(image, number++));
    library = files.back().empty() ? nullptr : dlopen(files.back().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "fake driver: %s\n", files.back().empty() ? "an image cannot be written" : dlerror());
      break;
    }
    if (!opened->insert(library).second) library = nullptr;
  }
  if (!library && files.size() == 8) std::fprintf(stderr, "fake driver: the loader takes an image for others that it has\n");
  for (const std::string& file : files)
    if (!file.empty()) unlink(file.c_str());
  return library;
}

}  // namespace

bool is_emulated(const std::vector<char>& image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  return header.e_machine != EM_CUDA && header.e_type == ET_DYN;
}

const emulator::Kernel* load_emulated(const std::vector<char>& image) {
  static auto* const loaded = new std::map<std::vector<char>, const emulator::Kernel*>;
  const emulator::Kernel*& kernel = (*loaded)[image];
  if (kernel) return kernel;
  void* const library = open_image(image);
  auto* const get = library ? reinterpret_cast<const emulator::Kernel* (*)()>(dlsym(library, emulator::kernel_symbol)) : nullptr;
  if (get) kernel = get();
  return kernel;
}

Worker::Work emulating(std::shared_ptr<const LaunchRecord> record) {
  State& s = state();
  const std::uint64_t seed = s.emulator_launch_seed ? s.emulator_launch_seed : mixed(s.emulator_seed, static_cast<std::uint64_t>(s.emulated_launches));
  ++s.emulated_launches;
  return [record = std::move(record), seed](Worker&) {
    if (failure_of_kernels() != Result::success) return;
    const fake_launch& launch = record->launch;
    static const bool tell = std::getenv("GGEMM_EMULATOR_LOG") != nullptr;
    if (tell) std::fprintf(stderr, "emulated GPU: %s, %u CTAs, GGEMM_EMULATOR_LAUNCH_SEED=%llu\n", launch.kernel, launch.grid[0] * launch.grid[1] * launch.grid[2], static_cast<unsigned long long>(seed));
    const emulator::Failure failure = emulator::run({record->emulated, {launch.grid[0], launch.grid[1], launch.grid[2]}, {launch.block[0], launch.block[1], launch.block[2]}, launch.shared_bytes, launch.parameters[0], seed, launch.overlaps != 0});
    if (!failure.result) return;
    std::lock_guard lock(state().mutex);
    state().emulator_failure = static_cast<Result>(failure.result);
    state().emulator_text = failure.text + "\n(GGEMM_EMULATOR_LAUNCH_SEED=" + std::to_string(seed) + ")";
    std::fprintf(stderr, "emulated GPU: %s\n", state().emulator_text.c_str());
  };
}

Result failure_of_kernels() {
  std::lock_guard lock(state().mutex);
  return state().emulator_failure;
}

}  // namespace fake

FAKE_API const char* fake_emulator_failure(void) {
  std::lock_guard lock(fake::state().mutex);
  return fake::state().emulator_text.c_str();
}

FAKE_API void fake_set_emulator_seed(uint64_t seed) {
  std::lock_guard lock(fake::state().mutex);
  fake::state().emulator_seed = seed;
  fake::state().emulated_launches = 0;
}
