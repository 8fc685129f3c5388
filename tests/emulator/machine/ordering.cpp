// SPDX-License-Identifier: Apache-2.0
// What the search for races is told: who accesses shared memory, and what hands knowledge on.
#include <algorithm>
#include <cstdio>

#include "emulation.hpp"
#include "operand.hpp"

namespace emulator {
std::size_t Emulation::new_actor(const std::string& name) {
  unit_names_.push_back(name);
  const std::size_t actor = ordinary_ + unit_names_.size() - 1;
  if (actor >= most_actors) fail(launch_failed, "the search for races knows %zu threads and units, no more", most_actors);
  return actor;
}

std::string Emulation::actor_name(std::size_t actor) const {
  if (actor >= ordinary_) return unit_names_[actor - ordinary_];
  const std::size_t threads = ctas_[0].fibers.size();
  return name(ctas_[actor / threads].fibers[actor % threads]);
}

void Emulation::next_step(Fiber& fiber) {
  if (++fiber.step > most_steps) fail(launch_failed, "the search for races counts %u steps of a thread, no more", most_steps);
  fiber.knowledge.known.learn(fiber.actor, fiber.step);
}

// Hands on what the thread knows. units_only: the order is of asynchronous accesses that it waited for, not of its own.
void Emulation::publish(Fiber& fiber, Knowledge& to, bool units_only) {
  if (!telling()) return;
  to.learn(fiber.knowledge, units_only ? ordinary_ : 0);
  next_step(fiber);
}

// A barrier of these threads.
void Emulation::publish_all(const std::vector<Fiber*>& fibers) {
  if (!telling()) return;
  Knowledge all;
  for (Fiber* fiber : fibers) publish(*fiber, all, false);
  // Each knew no more than all do together, but for the step that it has begun since.
  for (Fiber* fiber : fibers) {
    fiber->knowledge = all;
    fiber->knowledge.known.learn(fiber->actor, fiber->step);
  }
}

void Emulation::note(Cta& cta, const Fiber& fiber, uint32_t offset, std::size_t bytes, bool write, const Access& by, const char* what) {
  if (!telling()) return;
  const Epoch epoch = Epoch::make(by.actor, by.step);
  const auto add = write ? &Shadow::write : &Shadow::read;
  const Epoch other = (*cta.shadow.*add)(offset, bytes, epoch, fiber.knowledge, by.asynchronous, ordinary_);
  if (!other.word) return;
  const bool unfenced = by.asynchronous && other.actor() < ordinary_ && fiber.knowledge.known.of(other.actor()) >= other.step();
  fail(launch_failed, "%s %s %zu bytes at %u of CTA %u's shared memory, %s what %s did there%s", what, write ? "writes" : "reads", bytes, offset, cta.rank,
       unfenced ? "without a fence (fence.proxy.async) after" : "and nothing orders it after", actor_name(other.actor()).c_str(), unfenced ? "" : " (a race)");
}

void Emulation::access(const void* pointer, std::size_t bytes, bool write) {
  Cta& cta = *running_->cta;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - cta.window);
  if (offset < cta.window_bytes && bytes <= cta.window_bytes - offset) note(cta, *running_, static_cast<uint32_t>(offset), bytes, write, own_access(*running_), "the thread");
}

// cp.async is an ordinary access (PTX ISA, "Async proxy"), but done only when it is waited for.
Emulation::Access Emulation::copy_access(Fiber& fiber) {
  if (telling() && !fiber.copy_actor) fiber.copy_actor = new_actor("cp.async of " + name(fiber));
  return {fiber.copy_actor, fiber.copy_steps + 1, false};
}
Emulation::Access Emulation::store_access(Fiber& fiber) {
  if (telling() && !fiber.store_actor) fiber.store_actor = new_actor("a bulk store of " + name(fiber));
  return {fiber.store_actor, fiber.store_steps + 1, true};
}
Emulation::Access Emulation::load_access(SharedBarrier& barrier, uint32_t offset) {
  if (telling() && !barrier.actor) barrier.actor = new_actor("a copy that the mbarrier at " + std::to_string(offset) + " counts");
  return {barrier.actor, ++barrier.steps, true};
}

// A product reads its operands for each of the four warps, which must all know that they are there.
void Emulation::note_product(Warpgroup& group, const Product& product) {
  if (!telling()) return;
  if (!group.actor) group.actor = new_actor("a product (wgmma) of warpgroup " + std::to_string(group.number) + " of CTA " + std::to_string(group.cta->block.x));
  const Access by{group.actor, static_cast<uint32_t>(group.open_group + 1), true};
  for (std::size_t warp = 0; warp < 4; ++warp) {
    const Fiber& fiber = group.cta->fibers[static_cast<std::size_t>(group.number) * 128 + warp * 32];
    const auto read = [&](uint32_t offset, uint32_t, uint32_t) { note(*group.cta, fiber, offset, 16, false, by, "its warpgroup's product (wgmma)"); };
    const auto first = static_cast<uint32_t>(warp) * 16;
    if (!product.a_in_registers) each_piece(product.a, product.a_mn_major, product.descriptor_a, first, first + 16, read);
    each_piece(product.b, product.b_mn_major, product.descriptor_b, 0, static_cast<uint32_t>(product.columns), read);
  }
}

}  // namespace emulator
