// SPDX-License-Identifier: Apache-2.0
// Finds accesses to shared memory that nothing orders: two of the same byte, one of them a write, where no chain of barriers leads from one to the other (as
// FastTrack does: Flanagan and Freund, PLDI 2009). What is found does not depend on the order in which the accesses happened to be done.
//
// Who accesses is an actor: a thread, or a unit that works beside it (the copies onto a barrier, a thread's stores, a warpgroup's products). Every actor
// counts its steps; a history says up to which step of every other actor it knows. Barriers hand histories on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulator {

// Up to which step each actor is known. What is missing counts as 0.
class History {
 public:
  std::uint32_t of(std::size_t actor) const { return actor < steps_.size() ? steps_[actor] : 0; }
  void learn(std::size_t actor, std::uint32_t step);
  void learn(const History& other, std::size_t first = 0);  // of actors from `first` on

 private:
  std::vector<std::uint32_t> steps_;
};

// What a thread knows, and what of it the asynchronous units may rely on (PTX ISA, "Async proxy"): the rest of ordinary writes waits for a proxy fence.
struct Knowledge {
  History known, fenced;
  void learn(const Knowledge& other, std::size_t first = 0) {
    known.learn(other.known, first);
    fenced.learn(other.fenced, first);
  }
};

// An actor and its step, in one word.
struct Epoch {
  static constexpr int actor_bits = 13, step_bits = 32 - actor_bits;
  std::uint32_t word = 0;  // 0: none
  static Epoch make(std::size_t actor, std::uint32_t step) { return {static_cast<std::uint32_t>(actor) << step_bits | step}; }
  std::size_t actor() const { return word >> step_bits; }
  std::uint32_t step() const { return word & ((1u << step_bits) - 1); }
};
constexpr std::uint32_t most_steps = (1u << Epoch::step_bits) - 1;
constexpr std::size_t most_actors = std::size_t(1) << Epoch::actor_bits;

// Who last wrote each byte of a CTA's shared memory, and who has read it since.
class Shadow {
 public:
  explicit Shadow(std::size_t bytes) : writers_(bytes), readers_(bytes) {}

  // An access by `by`, which knows what `knowledge` says. unordered: the former access that it should have known; 0 if there is none. Asynchronous accesses
  // must know ordinary writes (of actors below `ordinary`) by way of a fence.
  Epoch read(std::size_t at, std::size_t bytes, Epoch by, const Knowledge& knowledge, bool asynchronous, std::size_t ordinary);
  Epoch write(std::size_t at, std::size_t bytes, Epoch by, const Knowledge& knowledge, bool asynchronous, std::size_t ordinary);

 private:
  // Readers of a byte: one epoch, or the number of a set.
  struct Readers {
    std::uint32_t word = 0;
    bool many = false;
    bool operator==(const Readers&) const = default;
  };
  struct Set {
    std::vector<std::uint32_t> epochs;
    std::size_t bytes = 0;  // that refer to it
  };
  static bool knows(const History& history, Epoch epoch) { return history.of(epoch.actor()) >= epoch.step(); }
  Readers with(Readers former, std::size_t bytes, Epoch by, const History& known);
  void leave(Readers readers, std::size_t bytes);
  bool any_reader(Readers readers, std::size_t first) const;  // among actors from `first` on
  Epoch unknown_reader(Readers readers, Epoch by, const History& known) const;

  std::vector<std::uint32_t> writers_;
  std::vector<Readers> readers_;
  std::vector<Set> sets_;
  std::vector<std::uint32_t> free_sets_;
};

}  // namespace emulator
