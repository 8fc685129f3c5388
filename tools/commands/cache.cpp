// SPDX-License-Identifier: Apache-2.0
// ggemm cache: what the disk cache holds, where it is, and making room.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "commands.hpp"
#include "common/cache_folder.hpp"
#include "common/context.hpp"
#include "common/failure.hpp"
#include "common/table.hpp"

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

// Of the folder, which is not made by being asked for; NULL where there is none yet. It is the same for every device, so none is asked for. Throws Failure if it is there and not used.
Context context_of(const CacheFolder& folder) {
  if (!folder.is_there) return nullptr;
  if (!folder.problem.empty()) fail_file("%s", folder.problem.c_str());
  DeviceOptions options;
  options.device = GGEMM_DEVICE_HOST;
  options.cache_dir = folder.path;
  return options.create();
}

std::vector<Entry> entries_of(ggemm_context* context) {
  std::vector<Entry> entries;
  if (context) check(ggemm_cache_visit(context, collect, &entries));
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.last_used > b.last_used; });
  return entries;
}

std::string place(const CacheFolder& folder) { return folder.path.empty() ? "no folder: memory only" : folder.path + (folder.is_there ? "" : ", which is not there yet"); }

std::string date(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm local{};
  char text[32] = "";
  if (localtime_r(&time, &local)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return text;
}

void list(const Options& options) {
  const CacheFolder folder = look_at_cache(options.device);
  const std::vector<Entry> entries = entries_of(context_of(folder).get());
  if (options.json) {
    nlohmann::ordered_json out{{"folder", folder.path}, {"entries", nlohmann::ordered_json::array()}};
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
  std::printf("%zu entries, %s, in %s\n", entries.size(), bytes_text(double(total)).c_str(), place(folder).c_str());
}

void clear(const Options& options) {
  if (options.nvrtc && options.nvrtc->empty()) fail_usage("--nvrtc: a version of NVRTC such as 13.0 is wanted");
  const CacheFolder folder = look_at_cache(options.device);
  const Context context = context_of(folder);
  std::set<std::string> versions;  // that might have been meant
  for (const Entry& entry : entries_of(context.get()))
    if (!entry.nvrtc.empty()) versions.insert(entry.nvrtc);
  std::size_t removed = 0;
  if (context) check(ggemm_cache_clear(context.get(), options.nvrtc ? options.nvrtc->c_str() : nullptr, &removed));
  if (options.json) {
    std::printf("%s\n", nlohmann::ordered_json{{"folder", folder.path}, {"removed", removed}}.dump(2).c_str());
  } else if (removed == 0 && options.nvrtc) {
    std::string others;
    for (const std::string& version : versions) others += (others.empty() ? "; there are kernels of " : ", ") + version;
    std::printf("nothing removed: no kernel of NVRTC %s in %s%s\n", options.nvrtc->c_str(), place(folder).c_str(), others.c_str());
  } else {
    std::printf("%zu entries removed from %s\n", removed, place(folder).c_str());
  }
}

void path(const Options& options) {
  const std::string where = look_at_cache(options.device).path;
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
