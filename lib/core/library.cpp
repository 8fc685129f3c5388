// SPDX-License-Identifier: Apache-2.0
#include "core/library.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

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
  // The system refuses a set that is smaller than its own, whose size it does not tell.
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cpus), [](cpu_set_t* p) { CPU_FREE(p); });
    if (!set) break;
    if (sched_getaffinity(0, bytes, set.get()) == 0) return std::max(1, CPU_COUNT_S(bytes, set.get()));
    if (errno != EINVAL) break;
  }
  return 1;
}

}  // namespace ggemm::core
