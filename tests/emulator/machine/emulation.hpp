// SPDX-License-Identifier: Apache-2.0
// One launch as it runs: clusters one after the other, their threads as fibers that take turns, and beside them what runs asynchronously.
#pragma once
#include <csetjmp>
#include <functional>
#include <optional>

#include "fiber.hpp"
#include "launch.hpp"
#include "parts.hpp"
#include "tensor_map.hpp"

namespace emulator {

enum class Unit : int { load, store, product, copy };  // asynchronous ones
constexpr int units = 4;

// How soon things happen in this launch, drawn from its seed.
struct Pace {
  std::array<double, units> at_once{};  // chance that a piece of work is done as soon as it is issued
  double between = 0;                   // chance of a piece of work between two threads' turns
  double yield = 0;                     // chance that a thread gives its turn away at an instruction that does not wait
  int candidates = 1;                   // threads that are looked at for the next turn; of which the warp of the highest priority gets it
  unsigned char poison = 0xff;
};

class Emulation final : public Machine {
 public:
  explicit Emulation(const Launch& launch);
  Failure run();

  void barrier(int number, int threads) override;
  bool barrier_any(int number, int threads, bool vote) override;
  void warp_barrier(uint32_t lanes) override;
  void cluster_arrive(bool release) override;
  void cluster_wait() override;
  uint64_t shuffle(Shuffle how, uint32_t lanes, uint64_t value, int argument) override;
  uint32_t ballot(uint32_t lanes, bool vote) override;

  void access(const void* pointer, std::size_t bytes, bool write) override;
  uint32_t shared_address(const void* pointer) override;
  void* shared_pointer(uint32_t address, std::size_t bytes, std::size_t alignment, const char* what) override;
  uint32_t map_to(uint32_t address, uint32_t cta) override;
  uint32_t cluster_rank() override { return running_->cta->rank; }
  uint32_t cluster_size() override { return static_cast<uint32_t>(ctas_.size()); }
  void check_global(const void* pointer, std::size_t alignment, const char* what) override;
  bool late() override { return random_.chance(0.5); }

  void barrier_init(uint32_t barrier, uint32_t arrivals) override;
  void barrier_arrive(uint32_t barrier, uint32_t expected_bytes) override;
  void barrier_expect(uint32_t barrier, uint32_t bytes) override;
  void barrier_wait(uint32_t barrier, uint32_t parity) override;
  void fence(Fence which) override;
  void set_registers(int count, bool take) override;
  void launch_wait() override { running_->launch_waited = true; }
  void launch_next() override { let_go_early_ |= launch_.overlaps && !running_->launch_waited; }
  void launch_beside() override;

  void copy_async(uint32_t shared, const void* global, int bytes, bool on) override;
  void copy_commit() override;
  void copy_wait(int pending) override;

  void tensor_prefetch(const void* map) override;
  void tensor_map_replace(void* map, const void* data, uint32_t inner) override;
  void tensor_map_replace(void* map, uint32_t dimension, uint32_t count, uint64_t stride) override;
  void tensor_map_acquire(const void* map) override;
  void tensor_load(uint32_t shared, const void* map, uint32_t barrier, const BoxPlace& at, bool multicast, uint16_t ctas) override;
  void tensor_store(const void* map, uint32_t shared, const BoxPlace& at) override;
  void bulk_store(void* global, uint32_t shared, uint32_t bytes) override;
  void store_commit() override;
  void store_wait(int pending, bool read_only) override;

  void load_matrices(uint32_t (&out)[4], uint32_t shared, bool transposed) override;
  void store_matrices(uint32_t shared, const uint32_t (&in)[4], bool transposed) override;
  void multiply(Mma kind, void* sums, const void* a, const void* b) override;

  void product_fence() override;
  void product(const Product& product, void* sums, const uint32_t* a) override;
  void product_commit() override;
  void product_wait(int pending) override;

  // Ends the launch from wherever this is called: a thread's turn does not return.
  [[noreturn]] __attribute__((format(printf, 3, 4))) void fail(int result, const char* format, ...);
  // The same for a memory fault, from its signal's handler.
  [[noreturn]] void fault(const void* address);

 private:
  // cluster.cpp
  void run_cluster(unsigned first);
  void set_up(Cta& cta, unsigned rank, unsigned number, std::size_t stack);
  void tear_down(Cta& cta);
  void schedule();
  Fiber& next_fiber();
  void resume(Fiber& fiber);
  static void enter();
  void thread_ends();
  void block();                                     // until somebody wakes this thread
  // describe: a Wait.
  template <class Condition, class Describe>
  void wait_until(Condition condition, Describe describe) {
    while (!condition()) {
      running_->waits = describe();
      block();
    }
  }
  void wait_for_release(const Wait& waits);         // the same, until somebody releases it
  void release(Fiber& fiber);
  void wake(Fiber& fiber);
  void wake(std::vector<Fiber*>& fibers);
  void maybe_yield();
  std::string name(const Fiber& fiber) const;
  std::string stuck() const;

  // asynchronous work
  struct Work {
    Unit unit;
    std::function<void()> run;
  };
  void store_later(uint32_t shared, uint32_t bytes, const char* what, std::function<std::vector<char>()> read, std::function<void(const std::vector<char>&)> write);
  void submit(Unit unit, std::function<void()> run);
  void do_some_work();
  void finish_work();

  // synchronisation.cpp
  Meeting& meet(const char* what, uint64_t key, uint32_t lanes, void* out, const void* a, const void* b, uint64_t value);
  void leave(Meeting& meeting);
  void note_matrices(const Meeting& m, bool transposed, bool write, const char* what);
  static bool expected_elsewhere(const Fiber& fiber);  // other lanes wait for this one in a meeting
  void together(const char* what, uint64_t key, uint32_t lanes, void* out, const void* a, const void* b, uint64_t value, void (*all)(Meeting&));
  SharedBarrier& barrier_at(Cta& cta, uint32_t offset, const char* what);
  void keep_image(Cta& cta, uint32_t offset, const SharedBarrier& barrier);
  void arrive_at(Cta& cta, uint32_t offset, uint32_t expected_bytes);
  void complete_bytes(Cta& cta, uint32_t offset, uint32_t bytes);
  void complete_phase(SharedBarrier& barrier);
  void arrive_at_named(int number, int threads, bool votes, bool vote);
  void release_all(NamedBarrier& barrier);
  void check_named(NamedBarrier& barrier, int number);
  void release_syncthreads(Cta& cta);
  void release_cluster_barrier();
  Cta& cta_of(uint32_t address, const char* what);
  char* window_at(Cta& cta, uint32_t offset, std::size_t bytes, std::size_t alignment, const char* what);

  // ordering.cpp: what races.hpp is told
  bool telling() const { return kernel_.tells_accesses; }
  std::size_t new_actor(const std::string& name);
  std::string actor_name(std::size_t actor) const;
  void next_step(Fiber& fiber);
  void publish(Fiber& fiber, Knowledge& to, bool units_only);
  void publish_all(const std::vector<Fiber*>& fibers);
  // How an access is made: by the thread itself, or by a unit that it hands it to.
  struct Access {
    std::size_t actor;
    std::uint32_t step;
    bool asynchronous;
  };
  Access own_access(const Fiber& fiber) const { return {fiber.actor, fiber.step, false}; }
  void note(Cta& cta, const Fiber& fiber, uint32_t offset, std::size_t bytes, bool write, const Access& access, const char* what);
  void note_product(Warpgroup& group, const Product& product);
  Access copy_access(Fiber& fiber);
  Access store_access(Fiber& fiber);
  Access load_access(SharedBarrier& barrier, uint32_t offset);

  void check_launch_waited(const char* what);  // before a thread reaches what the launch ahead may be writing

  // copies.cpp
  TensorMap map_at(const void* map, const char* what);
  TensorMap& map_to_replace(void* map);
  void load_box(Cta& cta, uint32_t shared, const TensorMap& map, const BoxPlace& at);
  void check_box(const TensorMap& map, uint32_t shared, int32_t rank, int32_t inner, const char* what);
  void do_copies(Fiber& fiber, std::size_t count);

  // products.cpp
  std::size_t warpgroup_step(WarpgroupStep::Kind kind, int argument, const Product& product, const char* what);
  WarpgroupStep& step_at(std::size_t number);
  void drop_steps(Warpgroup& group);
  void take_registers(Warpgroup& group, WarpgroupStep& step, void* sums);
  void give_back_registers(Warpgroup& group, std::size_t end);
  void do_product(Warpgroup& group);
  void read_operand(Cta& cta, Element element, bool mn_major, uint64_t descriptor, int span, float* out, bool by_k);

  const Launch& launch_;
  const Kernel& kernel_;
  Random random_;
  Pace pace_;
  Stacks stacks_;
  char* windows_ = nullptr;  // of a cluster's CTAs, with unmapped pages between
  std::size_t window_pitch_ = 0, window_bytes_ = 0;
  uint32_t dynamic_offset_ = 0;
  int registers_ = 0;
  static inline bool let_go_early_ = false;  // whether a thread of this launch said launch_next before it had waited itself
  const bool ahead_let_go_early_;            // the same of the launch ahead

  std::vector<Cta> ctas_;  // of the cluster
  std::vector<Fiber*> runnable_;
  std::vector<Work> work_;
  Fiber* running_ = nullptr;
  void* scheduler_stack_ = nullptr;
  sigjmp_buf work_end_;  // where a fault in a piece of work goes
  int live_ = 0;  // threads of the cluster
  std::vector<Fiber*> cluster_waiting_;
  int cluster_arrived_ = 0;
  uint64_t cluster_phase_ = 0;
  std::map<const Fiber*, uint64_t> cluster_tokens_;
  Knowledge cluster_gathered_, cluster_completed_;
  std::size_t ordinary_ = 0;  // actors below are threads
  std::vector<std::string> unit_names_;
  std::optional<Failure> failure_;
  std::vector<float> operand_a_, operand_b_;
};

}  // namespace emulator
