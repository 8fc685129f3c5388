// SPDX-License-Identifier: Apache-2.0
// Tuning records: which configuration was fastest for a problem on a device, with what was measured. In memory, one small text file each on disk, and those that came with the
// library.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/config.hpp"
#include "core/disk.hpp"
#include "core/key.hpp"
#include "select/shipped.hpp"

namespace ggemm::select {

struct Measured {
  std::string config;
  double microseconds;
};
struct Record {
  std::string best;
  std::vector<Measured> measured;
  bool shipped = false;  // it came with the library
};

// The text that a record is kept under. With a key of the caller's own it has no sizes.
std::string record_key(const core::ProblemKey& key, const char* tune_key, const core::DeviceFacts& facts);

// The text form: "ggemm-tuning 1", "best <config>", then "<config> <microseconds>" a line, the best among them if there are any. parse gives nothing for
// anything else: a name that is none, or a time that is not above 0 and finite, spoils the whole.
std::string format(const Record& record);
std::optional<Record> parse(const std::string& text);

// Thread-safe.
class Store {
 public:
  // shipped: outlives this.
  explicit Store(const core::Disk& disk, const Shipped& shipped = select::shipped()) : disk_(disk), shipped_(shipped) {}
  // What was kept before; looks on disk once for each key; what came with the library is last.
  std::optional<Record> find(const std::string& key);
  void keep(const std::string& key, const Record& record);
  void clear();

 private:
  const core::Disk& disk_;
  const Shipped& shipped_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::optional<Record>> records_;
};

}  // namespace ggemm::select
