// SPDX-License-Identifier: Apache-2.0
// ggemm cache: what the disk cache holds, where it is, and making room.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "common/context.hpp"
#include "common/failure.hpp"
#include "common/table.hpp"
#include "core/disk.hpp"

namespace ggemm::tools {
namespace {

struct Options {
  DeviceOptions device;
  std::optional<std::string> nvrtc;
  bool json = false;
};

struct Entry {
  std::string kind, name, path, nvrtc;
  std::uint64_t bytes;
  std::int64_t last_used;
};

void collect(void* user, const ggemm_cache_entry* entry) {
  static_cast<std::vector<Entry>*>(user)->push_back({entry->kind, entry->name, entry->path, entry->nvrtc, entry->bytes, entry->last_used});
}

// The folder is the same for every device, so none is asked for.
Context host_context(DeviceOptions device) {
  device.device = GGEMM_DEVICE_HOST;
  return device.create();
}

std::string folder(const DeviceOptions& device) { return device.cache_dir.empty() ? core::default_cache_folder() : device.cache_dir; }

std::string date(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm local{};
  char text[32] = "";
  if (localtime_r(&time, &local)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return text;
}

void list(const Options& options) {
  const Context context = host_context(options.device);
  std::vector<Entry> entries;
  check(ggemm_cache_visit(context.get(), collect, &entries));
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.last_used > b.last_used; });
  if (options.json) {
    nlohmann::ordered_json out{{"folder", folder(options.device)}, {"entries", nlohmann::ordered_json::array()}};
    for (const Entry& e : entries)
      out["entries"].push_back(
          {{"kind", e.kind}, {"name", e.name}, {"path", e.path}, {"nvrtc", e.nvrtc}, {"bytes", e.bytes}, {"last_used", e.last_used}});
    std::printf("%s\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
    return;
  }
  Table table({"kind", "size", "last used", "nvrtc", "name"});
  std::uint64_t total = 0;
  for (const Entry& e : entries) {
    table.add({e.kind, bytes_text(double(e.bytes)), date(e.last_used), e.nvrtc.empty() ? "-" : e.nvrtc, e.name});
    total += e.bytes;
  }
  if (!table.empty()) std::fputs(table.text().c_str(), stdout);
  const std::string where = folder(options.device);
  std::printf("%zu entries, %s, in %s\n", entries.size(), bytes_text(double(total)).c_str(), where.empty() ? "no folder: memory only" : where.c_str());
}

void clear(const Options& options) {
  const Context context = host_context(options.device);
  std::size_t removed = 0;
  check(ggemm_cache_clear(context.get(), options.nvrtc ? options.nvrtc->c_str() : nullptr, &removed));
  if (options.json) {
    std::printf("%s\n", nlohmann::ordered_json{{"folder", folder(options.device)}, {"removed", removed}}.dump(2).c_str());
  } else {
    std::printf("%zu entries removed from %s\n", removed, folder(options.device).c_str());
  }
}

void path(const Options& options) {
  const std::string where = folder(options.device);
  if (options.json) {
    std::printf("%s\n", nlohmann::ordered_json{{"folder", where}}.dump(2).c_str());
    return;
  }
  if (where.empty())
    fail("there is no cache folder: neither GGEMM_CACHE_DIR, XDG_CACHE_HOME nor HOME names one that is safe, so nothing is kept on disk");
  std::printf("%s\n", where.c_str());
}

}  // namespace

void add_cache(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("cache", "The disk cache: compiled kernels and tuning records");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, void (*function)(const Options&)) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->add_flag("--json", options->json, "print JSON");
    sub->add_option("--cache-dir", options->device.cache_dir, "folder of the disk cache")->type_name("FOLDER");
    sub->callback([options, function] { function(*options); });
    return sub;
  };
  add("list", "The entries, last used first", list);
  add("clear", "Remove entries", clear)
      ->add_option("--nvrtc", options->nvrtc, "only kernels that this version of NVRTC compiled, such as 13.0; else all entries")
      ->type_name("VERSION");
  add("path", "The folder", path);
}

}  // namespace ggemm::tools
