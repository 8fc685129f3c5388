// SPDX-License-Identifier: Apache-2.0
// The parts of a running cluster: threads, warps, warpgroups, CTAs, and what is under way beside them.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../device/interface.hpp"
#include "races.hpp"
#include "tensor_map.hpp"

namespace emulator {

struct Cta;
struct Warp;
struct Warpgroup;

// Of a launch. Everything random comes from one, so that a seed repeats a launch.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>((static_cast<unsigned __int128>(next()) * bound) >> 64); }
  bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }

 private:
  uint64_t state_;
};

struct Fiber;

// Bulk stores that a thread closed together.
struct StoreGroup {
  int unread = 0, unwritten = 0;
  Fiber* waiter = nullptr;
};

struct AsyncCopy {
  char* to;
  const void* from;
  int bytes;
  bool on, done;
};

// What a thread waits for, put into words only when somebody asks.
struct Wait {
  const char* format = nullptr;  // of long long values; NULL: it can run
  std::array<long long, 2> values{};
  const struct SharedBarrier* barrier = nullptr;  // more to tell of
  std::string text() const;
};

struct Fiber {
  Thread* view = nullptr;
  void* stack = nullptr;  // where it was left
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Warpgroup* warpgroup = nullptr;
  int number = 0, lane = 0;  // in the CTA, in the warp
  bool exited = false, queued = false, released = false;  // released: from where it met others
  bool any = false;  // what the last barrier's vote was
  bool launch_waited = false, launch_beside = false;
  Wait waits;

  std::vector<AsyncCopy> copies;          // cp.async, oldest first
  std::vector<std::size_t> copy_groups;   // ends of the committed groups in `copies`
  std::shared_ptr<StoreGroup> open_stores = std::make_shared<StoreGroup>();
  std::deque<std::shared_ptr<StoreGroup>> store_groups;  // committed, oldest first, not yet waited for
  std::size_t warpgroup_step = 0;         // of the warpgroup's instructions, how many it has executed
  std::size_t product_groups = 0;  // that this thread has committed
  bool fenced = false;             // since it last did: by then A's registers may hold something else
  std::map<void*, struct Sums*> sums_in_flight;  // by where the registers lie

  // For races.hpp: this thread as an actor, what it knows, and the actors that are its copies and its stores (0: none yet), with their closed groups.
  std::size_t actor = 0, copy_actor = 0, store_actor = 0;
  std::uint32_t step = 0, copy_steps = 0, store_steps = 0;
  Knowledge knowledge;
};

// Lanes that meet in one instruction.
struct Meeting {
  bool open = false;
  Warp* warp = nullptr;
  const char* what = "";
  uint64_t key = 0;
  uint32_t lanes = 0, arrived = 0;
  std::array<void*, 32> out{};
  std::array<const void*, 32> a{}, b{};
  std::array<uint64_t, 32> value{};
};

struct Warp {
  Cta* cta = nullptr;
  int number = 0;
  std::array<Fiber*, 32> lanes{};
  Meeting meeting;
  double priority = 0;
};

// A warpgroup's accumulator while products use it: the threads' own registers are poisoned meanwhile.
struct Sums {
  int columns = 0;
  bool integers = false;
  std::vector<uint32_t> values;  // 64 rows of `columns`
  std::array<void*, 128> registers{};
  int users = 0;               // products that are not done
  std::size_t last_group = 0;  // that of the newest
};

struct WarpgroupStep {
  enum class Kind { fence, product, commit, wait, registers } kind;
  int argument = 0;
  Product product{};
  int arrived = 0;
  std::shared_ptr<Sums> sums;
  std::vector<const uint32_t*> a;  // of the threads, where a product has A in registers
};

struct Warpgroup {
  Cta* cta = nullptr;
  int number = 0;
  std::deque<WarpgroupStep> steps;
  std::size_t first_step = 0;  // number of steps.front()
  bool fenced = false;         // since registers were given back
  struct Work {
    Product product;
    std::shared_ptr<Sums> sums;
    std::size_t group;
    std::vector<const uint32_t*> a;
  };
  std::deque<Work> under_way;              // in order
  std::size_t open_group = 0, open_count = 0;
  std::vector<std::shared_ptr<Sums>> in_flight;
  std::vector<Fiber*> waiting;  // at an instruction of the list
  std::size_t actor = 0;
  int registers = 0;
};

struct NamedBarrier {
  int expected = 0;
  bool votes = false, any = false;  // bar.red, and whether one voted for it
  std::vector<Fiber*> arrived;
};

struct SharedBarrier {
  uint32_t arrivals = 0, pending = 0;
  int64_t bytes = 0;
  uint64_t phase = 0;
  std::vector<Fiber*> waiting;
  std::size_t actor = 0;  // the copies that it counts
  std::uint32_t steps = 0;
  Knowledge gathered, completed;  // of this phase's arrivals and those before; of the last complete phase's
  uint64_t image() const { return 0x6261727269657200ull ^ (phase << 48) ^ (static_cast<uint64_t>(pending) << 32) ^ (static_cast<uint64_t>(arrivals) << 20) ^ static_cast<uint64_t>(bytes); }
};

struct Cta {
  Index block{};
  unsigned rank = 0;
  char* window = nullptr;
  std::size_t window_bytes = 0;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  std::array<NamedBarrier, 16> named;
  std::map<uint32_t, SharedBarrier> barriers;
  std::unique_ptr<Shadow> shadow;  // where the kernel tells its accesses
  int exited = 0;
  std::map<const void*, TensorMap> maps;  // in global memory, as the copy engine has seen them
  int free_registers = 0;
  std::vector<Fiber*> want_registers;
};

}  // namespace emulator
