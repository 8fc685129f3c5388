// SPDX-License-Identifier: Apache-2.0
// The boundary: exceptions end here, structs of other versions are taken in here.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>
#include <variant>

#include "core/error.hpp"
#include "engine.hpp"

struct ggemm_context {
  ggemm::Engine engine;
};

struct ggemm_plan {
  ggemm::Engine& engine;
  std::variant<ggemm::core::Problem, ggemm::core::GroupedProblem> problem;
  ggemm::Prepared prepared;
  std::string record_key;  // under which tuning records of it are kept
};

namespace ggemm::api {

// Keeps this thread's text; never throws.
ggemm_status set_error(ggemm_status status, const char* text) noexcept;

// The only place that makes a status of what was thrown.
template <class Function>
ggemm_status guard(Function&& function) noexcept {
  try {
    function();
    return GGEMM_OK;
  } catch (const core::Error& error) {
    return set_error(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return set_error(GGEMM_ERROR_OUT_OF_MEMORY, "host memory is used up");
  } catch (const std::length_error&) {  // more elements than any memory holds
    return set_error(GGEMM_ERROR_OUT_OF_MEMORY, "host memory is used up");
  } catch (const std::system_error& error) {  // a thread that could not be started
    return set_error(GGEMM_ERROR_OUT_OF_MEMORY, error.what());
  } catch (const std::exception& error) {
    return set_error(GGEMM_ERROR_INTERNAL, error.what());
  } catch (...) {
    return set_error(GGEMM_ERROR_INTERNAL, "an unknown exception");
  }
}

template <class T>
T& required(T* pointer, const char* name) {
  if (!pointer) core::fail(GGEMM_ERROR_ARGUMENT, "%s is NULL", name);
  return *pointer;
}

// Bytes of the oldest version of each struct that is still taken: it may be shorter than today's.
template <class T>
constexpr std::size_t oldest_size = sizeof(T);
template <> inline constexpr std::size_t oldest_size<ggemm_gemm_desc> = offsetof(ggemm_gemm_desc, scale_a);
template <> inline constexpr std::size_t oldest_size<ggemm_gemm_args> = offsetof(ggemm_gemm_args, scale_a);
template <> inline constexpr std::size_t oldest_size<ggemm_config> = offsetof(ggemm_config, cluster_m);
template <> inline constexpr std::size_t oldest_size<ggemm_tune_result> = offsetof(ggemm_tune_result, first);
template <> inline constexpr std::size_t oldest_size<ggemm_tile_grid> = offsetof(ggemm_tile_grid, cluster_m);
template <> inline constexpr std::size_t oldest_size<ggemm_grouped_desc> = offsetof(ggemm_grouped_desc, ends);
template <> inline constexpr std::size_t oldest_size<ggemm_grouped_args> = offsetof(ggemm_grouped_args, alpha_byte_stride);

inline void check_struct_size(std::size_t size, std::size_t oldest, const char* name) {
  if (size < oldest) core::fail(GGEMM_ERROR_VERSION, "%s.struct_size=%zu < %zu: set it with the init macro or function", name, size, oldest);
}

// A caller's struct as this version knows it: what an older caller does not have is zero, which means the default; what a newer one has beyond must be zero.
// It is the caller's own where it has this version's size: a copy of what has only just been written would wait for the writes. Else it is in `storage`.
template <class T>
const T& view(const T* given, const char* name, T& storage) {
  const T& in = required(given, name);
  if (in.struct_size == sizeof(T)) return in;
  check_struct_size(in.struct_size, oldest_size<T>, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(T); i < in.struct_size; ++i)
    if (bytes[i]) core::fail(GGEMM_ERROR_VERSION, "%s.struct_size=%zu with a field beyond byte %zu set: this library (%s) does not know it", name, in.struct_size, sizeof(T), ggemm_version_string());
  storage = {};
  std::memcpy(&storage, given, std::min(in.struct_size, sizeof(T)));
  return storage;
}

template <class T>
T import(const T* given, const char* name) {
  T storage;
  return view(given, name, storage);
}

// Writes a result into a caller's struct, as much of it as the caller knows.
template <class T>
void put(T* out, T value, const char* name) {
  const std::size_t size = required(out, name).struct_size;
  check_struct_size(size, oldest_size<T>, name);
  value.struct_size = size;
  std::memcpy(out, &value, std::min(size, sizeof(T)));
}

// Sets a caller's struct to the defaults.
template <class T>
ggemm_status init(T* out, std::size_t struct_size, const T& defaults, const char* name) {
  return guard([&] {
    required(out, name);
    check_struct_size(struct_size, oldest_size<T>, name);
    if (struct_size > sizeof(T)) std::memset(reinterpret_cast<char*>(out) + sizeof(T), 0, struct_size - sizeof(T));
    T value = defaults;
    value.struct_size = struct_size;
    std::memcpy(out, &value, std::min(struct_size, sizeof(T)));
  });
}

// A problem that a caller named: one of the two.
struct ImportedProblem {
  std::variant<core::Problem, core::GroupedProblem> problem;
  Request request;
};
ImportedProblem import_problem(const ggemm_problem* problem);

ggemm_config to_public(const core::ProblemType& type, const core::Config& config);

}  // namespace ggemm::api
