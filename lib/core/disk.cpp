// SPDX-License-Identifier: Apache-2.0
#include "core/disk.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <mutex>

#include "core/cache_folder.hpp"
#include "core/entry.hpp"
#include "core/io.hpp"

namespace ggemm::core {
namespace {

// After so many writes of our own the folder is looked through again, because other processes write to it too.
constexpr int writes_between_scans = 64;

enum class State { sound, absent, refused, damaged };

// One file that was read. `parts` are views into `bytes`, so it stays where it is.
struct Loaded {
  State state = State::refused;
  io::File file;
  std::string bytes, why;
  EntryParts parts;
  struct stat about{};

  Loaded() = default;
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
};

void load(int folder, const std::string& name, uid_t owner, Loaded& out) {
  out.file = io::open_at(folder, name.c_str(), O_RDONLY);
  if (!out.file) {
    out.state = errno == ENOENT ? State::absent : State::refused;
    out.why = errno == ELOOP ? "it is a symbolic link" : "it cannot be opened: " + io::reason();
    return;
  }
  if (!io::status(out.file.get(), out.about)) {
    out.why = "it cannot be examined: " + io::reason();
  } else if (!S_ISREG(out.about.st_mode)) {
    out.why = "it is not a regular file";
  } else if (out.about.st_uid != owner) {
    out.why = text("it belongs to user %u, not to user %u", static_cast<unsigned>(out.about.st_uid), static_cast<unsigned>(owner));
  } else if (out.about.st_mode & 022) {
    out.why = text("it can be written by others (mode %03o)", static_cast<unsigned>(out.about.st_mode & 0777));
  } else if (out.about.st_size < 0 || static_cast<std::uint64_t>(out.about.st_size) > entry_limit_bytes) {
    out.state = State::damaged;
    out.why = "it is too large";
  } else {
    out.bytes.resize(static_cast<std::size_t>(out.about.st_size));
    if (!io::read_all(out.file.get(), out.bytes)) {
      out.why = "it cannot be read: " + io::reason();
      return;
    }
    const char* wrong = parse_entry(out.bytes, out.parts);
    out.state = wrong ? State::damaged : State::sound;
    out.why = wrong ? wrong : "";
  }
}

std::int64_t now_seconds() { return static_cast<std::int64_t>(::time(nullptr)); }

// False with errno set; the temporary is gone then, unless even that failed.
bool publish(int folder, const std::string& name, const EntryParts& parts) {
  const std::string temporary = temporary_name(), head = entry_head(parts);
  io::File file = io::open_at(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file) return false;
  // The mode is set again because the umask may have taken the owner's rights away.
  if (io::set_mode(file.get(), 0600) && io::write_all(file.get(), head) && io::write_all(file.get(), parts.body) && io::sync(file.get()) &&
      file.close() && io::rename_at(folder, temporary.c_str(), name.c_str())) {
    // Without this the entry may be missing after a crash, never torn: no reason to give it up.
    io::sync(folder);
    return true;
  }
  const int error = errno;
  io::unlink_at(folder, temporary.c_str());
  errno = error;
  return false;
}

}  // namespace

struct Disk::Impl {
  DiskOptions options;
  const Log& log;

  mutable std::mutex mutex;  // guards what follows; held for no transfer of data
  std::shared_ptr<const CacheFolder> own, shared;
  std::uint64_t used_bytes = 0;  // an estimate: other processes write too
  int writes_until_scan = 0;

  Impl(DiskOptions given, const Log& to) : options(std::move(given)), log(to) {}

  void warn(const std::string& sentence) const { log.write(GGEMM_LOG_WARNING, "disk cache: %s", sentence.c_str()); }

  std::string path(const std::string& name) const { return options.folder + '/' + name; }

  // The own folder, opened again if it was removed or its server forgot it. NULL: memory only.
  std::shared_ptr<const CacheFolder> folder() {
    std::unique_lock lock(mutex);
    if (!own || !own->file) return nullptr;
    struct stat about{};
    if (io::status(own->file.get(), about) && about.st_nlink > 0) return own;
    auto again = std::make_shared<const CacheFolder>(open_own_folder(options.folder));
    own = again;
    writes_until_scan = 0;
    lock.unlock();
    if (again->file) return again;
    warn(again->problem);
    return nullptr;
  }

  std::shared_ptr<const CacheFolder> shared_folder() const {
    std::lock_guard lock(mutex);
    return shared && shared->file ? shared : nullptr;
  }

  std::optional<Entry> read(const CacheFolder& from, bool is_own, std::string_view kind, std::string_view key) const {
    const std::string name = entry_file_name(kind, key);
    Loaded found;
    load(from.file.get(), name, from.owner, found);
    if (found.state == State::absent) return std::nullopt;
    const std::string where = (is_own ? options.folder : options.shared_folder) + '/' + name;
    if (found.state == State::damaged && is_own) {
      warn(where + " is dropped: " + found.why);
      io::unlink_at(from.file.get(), name.c_str());
      return std::nullopt;
    }
    if (found.state != State::sound) {
      warn(where + " is not used: " + found.why);
      return std::nullopt;
    }
    if (found.parts.kind != kind || found.parts.key != key) return std::nullopt;  // two keys with one hash
    if (is_own) io::touch(found.file.get());                                      // may fail on a read-only file system, which is no loss
    return Entry{std::string(found.parts.body), std::string(found.parts.maker)};
  }

  bool write(const EntryParts& parts) {
    const auto to = folder();
    if (!to) return false;
    const std::string name = entry_file_name(parts.kind, parts.key);
    const std::uint64_t bytes = entry_header_bytes + parts.kind.size() + parts.maker.size() + parts.key.size() + parts.body.size();
    if (bytes > std::min(options.limit_bytes, entry_limit_bytes)) {
      warn(path(name) + text(" is not kept: %llu bytes are more than the limit of %llu", static_cast<unsigned long long>(bytes),
                             static_cast<unsigned long long>(std::min(options.limit_bytes, entry_limit_bytes))));
      return false;
    }
    if (!publish(to->file.get(), name, parts)) {
      warn(path(name) + " cannot be written: " + io::reason());
      return false;
    }
    if (scan_is_due(bytes)) scan(*to, name);
    return true;
  }

  bool scan_is_due(std::uint64_t written) {
    std::lock_guard lock(mutex);
    used_bytes += written;
    return --writes_until_scan < 0 || used_bytes > options.limit_bytes;
  }

  // Removes what crashed writers left, then the least recently used entries until the rest fits. The entry just written stays.
  void scan(const CacheFolder& in, const std::string& just_written) {
    struct Used {
      std::string name;
      std::uint64_t bytes;
      timespec when;
    };
    std::vector<std::string> names;
    if (!io::names_in(in.file.get(), names)) return warn(options.folder + " cannot be listed: " + io::reason());
    std::vector<Used> entries;
    std::uint64_t total = 0;
    for (std::string& name : names) {
      struct stat about{};
      const bool entry = is_entry_file_name(name);
      if ((!entry && name.front() != '.') || !io::status_at(in.file.get(), name.c_str(), about) || !S_ISREG(about.st_mode)) continue;
      if (entry) {
        total += static_cast<std::uint64_t>(about.st_size);
        entries.push_back({std::move(name), static_cast<std::uint64_t>(about.st_size), about.st_mtim});
      } else if (is_stale_temporary(name, about.st_mtim.tv_sec, now_seconds())) {
        io::unlink_at(in.file.get(), name.c_str());
      }
    }
    std::sort(entries.begin(), entries.end(), [](const Used& a, const Used& b) {
      return a.when.tv_sec != b.when.tv_sec ? a.when.tv_sec < b.when.tv_sec : a.when.tv_nsec < b.when.tv_nsec;
    });
    for (const Used& entry : entries) {
      if (total <= options.limit_bytes) break;
      if (entry.name == just_written) continue;
      if (!io::unlink_at(in.file.get(), entry.name.c_str()) && errno != ENOENT) {
        warn(path(entry.name) + " cannot be removed: " + io::reason());
        continue;
      }
      total -= entry.bytes;
    }
    std::lock_guard lock(mutex);
    used_bytes = total;
    writes_until_scan = writes_between_scans;
  }

  // The names of all files that are named as entries.
  std::vector<std::string> entry_names(const CacheFolder& in) const {
    std::vector<std::string> names;
    if (!io::names_in(in.file.get(), names)) warn(options.folder + " cannot be listed: " + io::reason());
    std::erase_if(names, [](const std::string& name) { return !is_entry_file_name(name); });
    return names;
  }

  // Every failure of the cache is soft, running out of memory included.
  template <class Result, class Call>
  Result softly(const char* what, Result otherwise, Call call) const {
    try {
      return call();
    } catch (const std::exception& error) {
      log.write(GGEMM_LOG_WARNING, "disk cache: %s failed: %s", what, error.what());
      return otherwise;
    }
  }
};

Disk::Disk(DiskOptions options, const Log& log) : impl_(std::make_unique<Impl>(std::move(options), log)) {
  for (std::string* folder : {&impl_->options.folder, &impl_->options.shared_folder}) {
    std::error_code error;
    // Absolute, because it may have to be opened again when the program has changed its folder.
    if (const auto absolute = std::filesystem::absolute(*folder, error); !folder->empty() && !error) *folder = absolute.string();
  }
  if (!impl_->options.folder.empty()) {
    impl_->own = std::make_shared<const CacheFolder>(open_own_folder(impl_->options.folder));
    if (!impl_->own->problem.empty()) impl_->warn(impl_->own->problem + "; compiled kernels are kept in memory only");
  }
  if (!impl_->options.shared_folder.empty()) {
    impl_->shared = std::make_shared<const CacheFolder>(open_shared_folder(impl_->options.shared_folder));
    if (!impl_->shared->problem.empty()) impl_->warn(impl_->shared->problem);
  }
}

Disk::~Disk() = default;

std::optional<Disk::Entry> Disk::read(std::string_view kind, std::string_view key) const {
  return impl_->softly("a read", std::optional<Entry>(), [&]() -> std::optional<Entry> {
    if (const auto own = impl_->folder())
      if (auto entry = impl_->read(*own, true, kind, key)) return entry;
    if (const auto shared = impl_->shared_folder()) return impl_->read(*shared, false, kind, key);
    return std::nullopt;
  });
}

bool Disk::write(std::string_view kind, std::string_view key, std::string_view body, std::string_view maker) const {
  return impl_->softly("a write", false, [&] { return impl_->write({kind, maker, key, body}); });
}

bool Disk::remove(std::string_view kind, std::string_view key) const {
  return impl_->softly("a removal", false, [&] {
    const auto own = impl_->folder();
    return own && io::unlink_at(own->file.get(), entry_file_name(kind, key).c_str());
  });
}

std::vector<Disk::Listing> Disk::list() const {
  return impl_->softly("a listing", std::vector<Listing>(), [&] {
    std::vector<Listing> out;
    const auto own = impl_->folder();
    if (!own) return out;
    for (const std::string& name : impl_->entry_names(*own)) {
      Loaded found;
      load(own->file.get(), name, own->owner, found);
      if (found.state != State::sound) continue;
      out.push_back({std::string(found.parts.kind), std::string(found.parts.key), impl_->path(name), std::string(found.parts.maker),
                     found.bytes.size(), static_cast<std::int64_t>(found.about.st_mtim.tv_sec)});
    }
    std::sort(out.begin(), out.end(), [](const Listing& a, const Listing& b) { return a.last_used > b.last_used; });
    return out;
  });
}

std::size_t Disk::clear(std::optional<std::string_view> maker) const {
  return impl_->softly("a removal", std::size_t(0), [&] {
    std::size_t removed = 0;
    const auto own = impl_->folder();
    if (!own) return removed;
    for (const std::string& name : impl_->entry_names(*own)) {
      Loaded found;
      if (maker) load(own->file.get(), name, own->owner, found);
      if (maker && (found.state != State::sound || found.parts.maker != *maker)) continue;
      if (io::unlink_at(own->file.get(), name.c_str())) removed++;
    }
    return removed;
  });
}

std::string Disk::folder() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->own && impl_->own->file ? impl_->options.folder : "";
}

std::string Disk::problem() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->own ? impl_->own->problem : "no folder is set";
}

}  // namespace ggemm::core
