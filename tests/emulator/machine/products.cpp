// SPDX-License-Identifier: Apache-2.0
// Tensor-core products: of a warp (mma.sync), and of a warpgroup beside its threads (wgmma); a warpgroup's registers.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emulation.hpp"
#include "operand.hpp"

namespace emulator {
namespace {

constexpr uint32_t poisoned = 0x7fd0dead;  // registers that products may yet write; a NaN as f32
constexpr std::size_t group_threads = 128;

// Row and column of a thread's sum (PTX ISA, "Register fragments for wgmma.mma_async").
std::size_t row_of(std::size_t thread, std::size_t i) { return 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2); }
std::size_t column_of(std::size_t thread, std::size_t i) { return 8 * (i / 4) + 2 * (thread % 4) + i % 2; }

constexpr const char* name_of(WarpgroupStep::Kind kind) {
  switch (kind) {
    case WarpgroupStep::Kind::fence: return "wgmma.fence";
    case WarpgroupStep::Kind::product: return "wgmma.mma_async";
    case WarpgroupStep::Kind::commit: return "wgmma.commit_group";
    case WarpgroupStep::Kind::wait: return "wgmma.wait_group";
    case WarpgroupStep::Kind::registers: break;
  }
  return "setmaxnreg";
}

// ------------------------------------------------------------------------------------------------------- products of a warp

// The shapes of 16 rows and 8 columns whose k spans 32 bytes; see kernels/ptx/mma.cuh for which lane holds what.
template <Element element>
void multiply_wide(const Meeting& m) {
  using Word = std::conditional_t<bytes_of(element) == 1, uint8_t, std::conditional_t<bytes_of(element) == 2, uint16_t, uint32_t>>;
  using Sum = std::conditional_t<element == Element::i8, int32_t, float>;
  using Number = std::conditional_t<element == Element::i8, int32_t, double>;  // in which integers wrap
  constexpr std::size_t in_word = 4 / sizeof(Word), depth = 8 * in_word;
  const auto number = [](const void* registers, std::size_t index) {
    if constexpr (element == Element::i8) return static_cast<Number>(static_cast<const int8_t*>(registers)[index]);
    else return static_cast<Number>(decode(element, static_cast<const Word*>(registers)[index]));
  };
  Number a[16][depth], b[depth][8];
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t g = lane / 4, t = lane % 4;
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t e = 0; e < in_word; ++e) {
        a[g + r % 2 * 8][(t + r / 2 * 4) * in_word + e] = number(m.a[lane], r * in_word + e);
        if (r < 2) b[(t + r * 4) * in_word + e][g] = number(m.b[lane], r * in_word + e);
      }
  }
  for (std::size_t row = 0; row < 16; ++row) {
    Number sums[8];
    const auto at = [&](std::size_t column) -> Sum& { return static_cast<Sum*>(m.out[row % 8 * 4 + column / 2])[row / 8 * 2 + column % 2]; };
    for (std::size_t column = 0; column < 8; ++column) sums[column] = static_cast<Number>(at(column));
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t column = 0; column < 8; ++column) {
        if constexpr (element == Element::i8) sums[column] = static_cast<Number>(static_cast<uint32_t>(sums[column]) + static_cast<uint32_t>(a[row][k] * b[k][column]));
        else sums[column] += a[row][k] * b[k][column];
      }
    for (std::size_t column = 0; column < 8; ++column) at(column) = static_cast<Sum>(sums[column]);
  }
}

// Rows lane / 4 and, if there are 16, 8 more; of k, lane % 4 and, if it is 8 deep, 4 more: registers count the rows first.
template <std::size_t ROWS, std::size_t DEPTH>
void multiply_f64(const Meeting& m) {
  constexpr std::size_t high = ROWS / 8;
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 2 * high; ++i) {
      double& sum = static_cast<double*>(m.out[lane])[i];
      for (std::size_t k = 0; k < DEPTH; ++k)
        sum = __builtin_fma(static_cast<const double*>(m.a[lane / 4 * 4 + k % 4])[i / 2 + k / 4 * high], static_cast<const double*>(m.b[(lane % 4 * 2 + i % 2) * 4 + k % 4])[k / 4], sum);
    }
}

}  // namespace

void Emulation::multiply(Mma kind, void* sums, const void* a, const void* b) {
  together("mma.sync", static_cast<uint64_t>(kind), 0xffffffffu, sums, a, b, 0, [](Meeting& m) {
    switch (static_cast<Mma>(m.key)) {
      case Mma::f16: return multiply_wide<Element::f16>(m);
      case Mma::bf16: return multiply_wide<Element::bf16>(m);
      case Mma::tf32: return multiply_wide<Element::tf32>(m);
      case Mma::i8: return multiply_wide<Element::i8>(m);
      case Mma::f64: return multiply_f64<8, 4>(m);
      case Mma::f64_rows16: return multiply_f64<16, 4>(m);
      case Mma::f64_rows16_deep8: return multiply_f64<16, 8>(m);
      case Mma::f64_rows16_deep16: return multiply_f64<16, 16>(m);
    }
  });
}

// ------------------------------------------------------------------------------------- what a warpgroup executes together

// The instructions of a warpgroup are a list that each of its threads goes through at its own pace. Answers this one's number.
std::size_t Emulation::warpgroup_step(WarpgroupStep::Kind kind, int argument, const Product& product, const char* what) {
  Fiber& fiber = *running_;
  Warpgroup& group = *fiber.warpgroup;
  if (expected_elsewhere(fiber)) {
    // Lanes that have gone through this one already may be ahead.
    const Meeting& meeting = fiber.warp->meeting;
    for (std::size_t lane = 0; lane < 32; ++lane)
      if ((meeting.arrived >> lane & 1) && fiber.warp->lanes[lane]->warpgroup_step <= fiber.warpgroup_step)
        fail(illegal_instruction, "%s, while other lanes of the warp are at %s", what, meeting.what);
  }
  if (static_cast<std::size_t>(group.number) * group_threads + group_threads > group.cta->fibers.size()) fail(illegal_instruction, "%s in an incomplete warpgroup", what);
  const std::size_t number = fiber.warpgroup_step++;
  if (number == group.first_step + group.steps.size()) group.steps.push_back({kind, argument, product, 0, nullptr, {}});
  WarpgroupStep& step = group.steps[number - group.first_step];
  if (step.kind != kind) fail(illegal_instruction, "%s, where other threads of the warpgroup execute %s", what, name_of(step.kind));
  if (step.argument != argument || !(step.product == product)) fail(illegal_instruction, "%s with other arguments than other threads of the warpgroup", what);
  ++step.arrived;
  return number;
}

WarpgroupStep& Emulation::step_at(std::size_t number) {
  Warpgroup& group = *running_->warpgroup;
  return group.steps[number - group.first_step];
}

// Forgets the steps that all have gone through.
void Emulation::drop_steps(Warpgroup& group) {
  const std::size_t begin = static_cast<std::size_t>(group.number) * group_threads;
  std::size_t least = SIZE_MAX;
  for (std::size_t i = begin; i < begin + group_threads; ++i) least = std::min(least, group.cta->fibers[i].warpgroup_step);
  for (; group.first_step + 1 < least; ++group.first_step) group.steps.pop_front();
}

void Emulation::set_registers(int count, bool take) {
  Fiber& fiber = *running_;
  Warpgroup& group = *fiber.warpgroup;
  Cta& cta = *fiber.cta;
  const char* const what = take ? "setmaxnreg.inc" : "setmaxnreg.dec";
  if (count < 24 || count > 256 || count % 8 != 0) fail(illegal_instruction, "%s %d: multiples of 8 from 24 to 256", what, count);
  const std::size_t number = warpgroup_step(WarpgroupStep::Kind::registers, take ? count : -count, {}, what);
  const auto all_there = [&] { return step_at(number).arrived == static_cast<int>(group_threads); };
  if (all_there() && !take) {
    if (count > group.registers) fail(illegal_instruction, "%s %d of a warpgroup that has %d registers a thread", what, count, group.registers);
    cta.free_registers += group.registers - count;
    group.registers = count;
    wake(cta.want_registers);
  }
  if (all_there()) wake(group.waiting);
  wait_until(
      [&] {
        if (!all_there()) {
          group.waiting.push_back(&fiber);
          return false;
        }
        if (group.registers == count) return true;
        if (cta.free_registers < count - group.registers) {
          cta.want_registers.push_back(&fiber);
          return false;
        }
        cta.free_registers -= count - group.registers;
        group.registers = count;
        return true;
      },
      [&] { return Wait{"setmaxnreg to %lld (%lld registers a thread are free)", {count, cta.free_registers}, nullptr}; });
}

void Emulation::product_fence() {
  warpgroup_step(WarpgroupStep::Kind::fence, 0, {}, "wgmma.fence");
  // Of the step's first thread: what the others execute next comes later in the list anyhow.
  running_->warpgroup->fenced = running_->fenced = true;
  maybe_yield();
}

// The registers of this thread become the product's: they hold nothing that may be read until a wait gives them back.
void Emulation::take_registers(Warpgroup& group, WarpgroupStep& step, void* registers) {
  Fiber& fiber = *running_;
  const std::size_t thread = static_cast<std::size_t>(fiber.number) % group_threads, count = static_cast<std::size_t>(step.product.columns) / 2;
  const bool integers = step.product.a == Element::i8;
  const auto held = fiber.sums_in_flight.find(registers);
  if (!step.sums) {
    if (held != fiber.sums_in_flight.end()) {
      const auto same = std::find_if(group.in_flight.begin(), group.in_flight.end(), [&](const auto& sums) { return sums.get() == held->second; });
      step.sums = *same;
      if (step.sums->columns != step.product.columns) fail(launch_failed, "wgmma.mma_async of %d columns into registers that one of %d still uses", step.product.columns, step.sums->columns);
    } else {
      if (!group.fenced) fail(launch_failed, "wgmma.mma_async without a wgmma.fence since its registers were last given back");
      step.sums = std::make_shared<Sums>();
      step.sums->columns = step.product.columns, step.sums->integers = integers;
      step.sums->values.resize(64 * static_cast<std::size_t>(step.product.columns));
      group.in_flight.push_back(step.sums);
    }
    ++step.sums->users;
    step.sums->last_group = fiber.product_groups;  // others may not have committed as many yet
  }
  if ((held != fiber.sums_in_flight.end()) != (step.sums->registers[thread] != nullptr)) fail(launch_failed, "wgmma.mma_async: not the same registers as in the warpgroup's other threads");
  if (held != fiber.sums_in_flight.end()) return;
  fiber.sums_in_flight[registers] = step.sums.get();
  step.sums->registers[thread] = registers;
  auto* const words = static_cast<uint32_t*>(registers);
  for (std::size_t i = 0; i < count; ++i) step.sums->values[row_of(thread, i) * static_cast<std::size_t>(step.product.columns) + column_of(thread, i)] = words[i];
  std::fill(words, words + count, poisoned);
}

void Emulation::product(const Product& product, void* registers, const uint32_t* a) {
  const std::size_t number = warpgroup_step(WarpgroupStep::Kind::product, 0, product, "wgmma.mma_async");
  Warpgroup& group = *running_->warpgroup;
  WarpgroupStep& step = step_at(number);
  take_registers(group, step, registers);
  if (a) {
    if (!running_->fenced) fail(launch_failed, "wgmma.mma_async with A in registers, without a wgmma.fence since products were last committed");
    step.a.resize(group_threads);
    step.a[static_cast<std::size_t>(running_->number) % group_threads] = a;
  }
  if (step.arrived == static_cast<int>(group_threads)) {
    note_product(group, product);
    group.under_way.push_back({product, step.sums, group.open_group, step.a});
    ++group.open_count;
    submit(Unit::product, [this, &group] { do_product(group); });
  }
  maybe_yield();
}

void Emulation::product_commit() {
  const std::size_t number = warpgroup_step(WarpgroupStep::Kind::commit, 0, {}, "wgmma.commit_group");
  Warpgroup& group = *running_->warpgroup;
  ++running_->product_groups;
  running_->fenced = false;
  if (step_at(number).arrived == static_cast<int>(group_threads)) ++group.open_group;
  maybe_yield();
}

void Emulation::product_wait(int pending) {
  Fiber& fiber = *running_;
  Warpgroup& group = *fiber.warpgroup;
  const std::size_t number = warpgroup_step(WarpgroupStep::Kind::wait, pending, {}, "wgmma.wait_group");
  if (step_at(number).arrived == static_cast<int>(group_threads)) wake(group.waiting);
  // All are here, so that none has committed more: all but the newest `pending` groups.
  wait_until(
      [&] {
        const bool all_there = step_at(number).arrived == static_cast<int>(group_threads);
        if (all_there && (group.under_way.empty() || group.under_way.front().group + static_cast<std::size_t>(pending) >= group.open_group)) return true;
        group.waiting.push_back(&fiber);
        return false;
      },
      [&] { return Wait{"wgmma.wait_group %lld (%lld of 128 threads are there)", {pending, step_at(number).arrived}, nullptr}; });
  if (telling() && group.actor && group.open_group > static_cast<std::size_t>(pending))
    fiber.knowledge.known.learn(group.actor, static_cast<uint32_t>(group.open_group) - static_cast<uint32_t>(pending));
  // The first of them that gets here gives the registers back for all.
  give_back_registers(group, group.open_group - std::min(group.open_group, static_cast<std::size_t>(pending)));
  drop_steps(group);
}

// Sums of groups before `end`, which are done, go back to the threads' registers.
void Emulation::give_back_registers(Warpgroup& group, std::size_t end) {
  const std::size_t first = static_cast<std::size_t>(group.number) * group_threads;
  std::erase_if(group.in_flight, [&](const std::shared_ptr<Sums>& sums) {
    if (sums->last_group >= end) return false;
    const std::size_t count = static_cast<std::size_t>(sums->columns) / 2;
    for (std::size_t thread = 0; thread < group_threads; ++thread) {
      auto* const words = static_cast<uint32_t*>(sums->registers[thread]);
      for (std::size_t i = 0; i < count; ++i) {
        if (words[i] != poisoned) fail(launch_failed, "thread %zu of the warpgroup wrote registers that a product (wgmma) under way writes", thread);
        words[i] = sums->values[row_of(thread, i) * static_cast<std::size_t>(sums->columns) + column_of(thread, i)];
      }
      group.cta->fibers[first + thread].sums_in_flight.erase(words);
    }
    group.fenced = false;
    return true;
  });
}

// ------------------------------------------------------------------------------------------------- products of a warpgroup

// `span` rows of A or columns of B, 32 bytes of k, element (i, k) to out[i][k], or to out[k][i] if by_k.
void Emulation::read_operand(Cta& cta, Element element, bool mn_major, uint64_t descriptor, int span, float* out, bool by_k) {
  const auto bytes = static_cast<uint32_t>(bytes_of(element)), depth = 32 / bytes, size = static_cast<uint32_t>(span);
  each_piece(element, mn_major, descriptor, 0, size, [&](uint32_t offset, uint32_t i, uint32_t k) {
    if (offset < reserved_shared || offset + 16 > cta.window_bytes) fail(illegal_address, "wgmma.mma_async reads %u of %zu bytes of shared memory", offset, cta.window_bytes);
    for (uint32_t e = 0; e < 16 / bytes; ++e, ++(mn_major ? i : k)) {
      uint32_t bits = 0;
      std::memcpy(&bits, cta.window + offset + e * bytes, bytes);
      if (i < size) out[by_k ? k * size + i : i * depth + k] = decode(element, bits);
    }
  });
}

void Emulation::do_product(Warpgroup& group) {
  const Warpgroup::Work work = std::move(group.under_way.front());
  group.under_way.pop_front();
  const Product& p = work.product;
  Cta& cta = *group.cta;
  for (const uint64_t descriptor : {p.a_in_registers ? p.descriptor_b : p.descriptor_a, p.descriptor_b})
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0) fail(illegal_instruction, "wgmma.mma_async: the emulator knows operands swizzled over 128 bytes, at multiples of 1024 bytes");
  const int depth = 32 / bytes_of(p.a);
  operand_a_.resize(64 * 32);
  operand_b_.resize(32 * 256);
  if (p.a_in_registers) {
    // As mma.sync has it, 16 rows a warp (PTX ISA, "Register fragments for wgmma.mma_async").
    for (std::size_t thread = 0; thread < group_threads; ++thread)
      for (std::size_t i = 0; i < 4; ++i) operand_a_[(row_of(thread, 0) + i % 2 * 8) * static_cast<std::size_t>(depth) + thread % 4 + i / 2 * 4] = decode(p.a, work.a[thread][i]);
  } else {
    read_operand(cta, p.a, p.a_mn_major, p.descriptor_a, 64, operand_a_.data(), false);
  }
  read_operand(cta, p.b, p.b_mn_major, p.descriptor_b, p.columns, operand_b_.data(), true);
  if (work.sums->integers) {
    std::vector<int8_t> a(64 * 32), b(32 * 256);
    std::copy(operand_a_.begin(), operand_a_.end(), a.begin());
    std::copy(operand_b_.begin(), operand_b_.begin() + 32 * p.columns, b.begin());
    emulator::multiply(64, p.columns, depth, a.data(), b.data(), p.add, reinterpret_cast<int32_t*>(work.sums->values.data()));
  } else if (bytes_of(p.a) == 1) {
    // Of two types the smaller exponents, by which less is cut: what a type's denormals cost is not looked at.
    constexpr int smallest = -14;  // of e5m2
    emulator::multiply_in_14_bits(64, p.columns, depth, operand_a_.data(), operand_b_.data(), p.add, reinterpret_cast<float*>(work.sums->values.data()), smallest);
  } else {
    emulator::multiply(64, p.columns, depth, operand_a_.data(), operand_b_.data(), p.add, reinterpret_cast<float*>(work.sums->values.data()));
  }
  --work.sums->users;
  wake(group.waiting);
}

}  // namespace emulator
