// SPDX-License-Identifier: Apache-2.0
#include "core/library.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <sys/auxv.h>

#include <cstdlib>

namespace ggemm::core {

void* open_library(const std::string& path, std::vector<std::string>& tried) {
  if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* told = dlerror();
  const std::string reason = told ? told : "cannot be opened", head = path + ": ";
  tried.push_back(reason.rfind(head, 0) == 0 ? reason : head + reason);  // the loader's text mostly begins with the path itself
  return nullptr;
}

void* loaded_library(const char* soname) { return dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); }

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

std::string library_path(const void* symbol) {
  Dl_info info{};
  return symbol && dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "";
}

std::string environment(const char* name) {
  if (getauxval(AT_SECURE)) return "";
  const char* value = std::getenv(name);
  return value ? value : "";
}

int allowed_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace ggemm::core
