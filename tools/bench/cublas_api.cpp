// SPDX-License-Identifier: Apache-2.0
#include "bench/cublas_api.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "common/table.hpp"
#include "core/library.hpp"

namespace ggemm::bench::blas {
namespace {

namespace fs = std::filesystem;

constexpr int majors[] = {13, 12};

// Folders below `parent` whose names begin with `start`.
std::vector<fs::path> folders(const fs::path& parent, const std::string& start) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().starts_with(start)) out.push_back(entry->path());
  std::sort(out.rbegin(), out.rend());
  return out;
}

std::vector<fs::path> library_folders() {
  std::vector<fs::path> out;
  for (const char* prefix : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string folder = core::environment(prefix);
    if (folder.empty()) continue;
    for (const fs::path& python : folders(fs::path(folder) / "lib", "python3"))
      for (const char* wheel : {"nvidia/cu13/lib", "nvidia/cublas/lib"}) out.push_back(python / "site-packages" / wheel);
    out.push_back(fs::path(folder) / "lib");
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string toolkit = core::environment(variable); !toolkit.empty()) out.push_back(fs::path(toolkit) / "lib64");
  out.push_back("/usr/local/cuda/lib64");
  for (const fs::path& toolkit : folders("/usr/local", "cuda-")) out.push_back(toolkit / "lib64");
  for (const fs::path& python : folders("/usr/local/lib", "python3"))
    for (const char* wheel : {"nvidia/cu13/lib", "nvidia/cublas/lib"}) out.push_back(python / "dist-packages" / wheel);
  return out;
}

void* search(const std::string& path, std::string& found, std::vector<std::string>& tried) {
  if (!path.empty()) {
    found = path;
    return core::open_library(path, tried);
  }
  std::vector<std::string> candidates;
  for (const int major : majors) candidates.push_back("libcublasLt.so." + std::to_string(major));
  const std::vector<std::string> names = candidates;
  for (const fs::path& folder : library_folders()) {
    std::error_code error;
    for (const std::string& name : names)
      if (fs::exists(folder / name, error)) candidates.push_back((folder / name).string());
  }
  for (const std::string& name : names)
    if (void* library = core::loaded_library(name.c_str())) {
      found = name;
      return library;
    }
  for (const std::string& candidate : candidates)
    if (void* library = core::open_library(candidate, tried)) {
      found = candidate;
      return library;
    }
  return nullptr;
}

template <class Function>
bool bind(void* library, Function& function, const char* name) {
  void* symbol = library ? core::find_symbol(library, name) : nullptr;
  std::memcpy(&function, &symbol, sizeof symbol);
  return symbol != nullptr;
}

// libcublas of the same version: beside libcublasLt, or by its name where that was found by name.
void open_grouped_batched(Library& out, const std::string& found) {
  const size_t at = found.rfind("libcublasLt");
  if (at == std::string::npos) return;
  std::vector<std::string> tried;
  void* library = core::open_library(found.substr(0, at) + "libcublas" + found.substr(at + std::strlen("libcublasLt")), tried);
  int (*create)(BlasHandle*) = nullptr;
  const bool all = bind(library, create, "cublasCreate_v2") && bind(library, out.set_stream, "cublasSetStream_v2") &&
                   bind(library, out.grouped_batched, "cublasGemmGroupedBatchedEx");
  if (!all || create(&out.blas_handle) != 0) {
    out.blas_handle = nullptr;
    out.grouped_batched = nullptr;
  }
}

}  // namespace

std::string Library::version_text() const { return tools::format("%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100); }

std::unique_ptr<Library> open(const std::string& path, std::string& why) {
  auto out = std::make_unique<Library>();
  std::vector<std::string> tried;
  std::string found;
  void* library = search(path, found, tried);
  if (!library) {
    why = "libcublasLt is not there";
    for (const std::string& line : tried) why += "\n  " + line;
    return nullptr;
  }
  Library& l = *out;
  const bool all = bind(library, l.create, "cublasLtCreate") && bind(library, l.get_version, "cublasLtGetVersion") &&
                   bind(library, l.desc_create, "cublasLtMatmulDescCreate") && bind(library, l.desc_destroy, "cublasLtMatmulDescDestroy") &&
                   bind(library, l.desc_set, "cublasLtMatmulDescSetAttribute") && bind(library, l.matrix_create, "cublasLtMatrixLayoutCreate") &&
                   bind(library, l.matrix_destroy, "cublasLtMatrixLayoutDestroy") &&
                   bind(library, l.matrix_set, "cublasLtMatrixLayoutSetAttribute") &&
                   bind(library, l.preference_create, "cublasLtMatmulPreferenceCreate") &&
                   bind(library, l.preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
                   bind(library, l.preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
                   bind(library, l.heuristics, "cublasLtMatmulAlgoGetHeuristic") && bind(library, l.matmul, "cublasLtMatmul");
  if (!all) {
    why = found + " lacks a function of cuBLASLt";
    return nullptr;
  }
  bind(library, l.grouped_matrix_create, "cublasLtGroupedMatrixLayoutCreate");
  if (const int status = l.create(&l.handle)) {
    why = found + ": cublasLtCreate gives status " + std::to_string(status);
    return nullptr;
  }
  l.version = l.get_version();
  l.path = core::library_path(reinterpret_cast<const void*>(l.matmul));
  open_grouped_batched(l, found);
  return out;
}

Types types_of(const Case& one) {
  const Type& type = type_named(one.dtype);
  switch (type.input) {
    case GGEMM_F64:
      return {r_64f, r_64f, r_64f, compute_64f};
    case GGEMM_F32:
      return {r_32f, r_32f, r_32f, type.compute == GGEMM_COMPUTE_TF32 ? compute_32f_tf32 : compute_32f};
    case GGEMM_F16:
      return {r_16f, one.accumulate ? r_32f : r_16f, r_32f, compute_32f};
    case GGEMM_E4M3:
      return {r_8f_e4m3, one.accumulate ? r_32f : r_16bf, r_32f, compute_32f};
    case GGEMM_I8:
      return {r_8i, r_32i, r_32i, compute_32i};
    default:
      return {r_16bf, one.accumulate ? r_32f : r_16bf, r_32f, compute_32f};
  }
}

const void* one(DataType scale) {
  static const double as_double = 1;
  static const float as_float = 1;
  static const std::int32_t as_int = 1;
  if (scale == r_64f) return &as_double;
  return scale == r_32i ? static_cast<const void*>(&as_int) : &as_float;
}

const void* zero(DataType scale) {
  static const double as_double = 0;
  static const float as_float = 0;
  static const std::int32_t as_int = 0;
  if (scale == r_64f) return &as_double;
  return scale == r_32i ? static_cast<const void*>(&as_int) : &as_float;
}

}  // namespace ggemm::bench::blas
