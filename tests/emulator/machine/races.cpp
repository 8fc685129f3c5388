// SPDX-License-Identifier: Apache-2.0
#include "races.hpp"

#include <algorithm>

#include "wide.hpp"

namespace emulator {
namespace {

// (What the search spends most of its time in.)
EMULATOR_WIDE void take_later(std::uint32_t* steps, const std::uint32_t* others, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) steps[i] = std::max(steps[i], others[i]);
}

}  // namespace

void History::learn(std::size_t actor, std::uint32_t step) {
  if (actor >= steps_.size()) steps_.resize(actor + 1);
  steps_[actor] = std::max(steps_[actor], step);
}

void History::learn(const History& other, std::size_t first) {
  if (other.steps_.size() > steps_.size()) steps_.resize(other.steps_.size());
  if (first < other.steps_.size()) take_later(steps_.data() + first, other.steps_.data() + first, other.steps_.size() - first);
}

Epoch Shadow::read(std::size_t at, std::size_t bytes, Epoch by, const Knowledge& knowledge, bool asynchronous, std::size_t ordinary) {
  for (std::size_t i = at; i < at + bytes;) {
    std::size_t end = i + 1;
    while (end < at + bytes && writers_[end] == writers_[i] && readers_[end] == readers_[i]) ++end;
    const Epoch writer{writers_[i]};
    if (writer.word && writer.actor() != by.actor() && !knows(asynchronous && writer.actor() < ordinary ? knowledge.fenced : knowledge.known, writer)) return writer;
    const Readers now = with(readers_[i], end - i, by, knowledge.known);
    for (; i < end; ++i) readers_[i] = now;
  }
  return {};
}

Epoch Shadow::write(std::size_t at, std::size_t bytes, Epoch by, const Knowledge& knowledge, bool asynchronous, std::size_t ordinary) {
  for (std::size_t i = at; i < at + bytes;) {
    std::size_t end = i + 1;
    while (end < at + bytes && writers_[end] == writers_[i] && readers_[end] == readers_[i]) ++end;
    if (const Epoch reader = unknown_reader(readers_[i], by, knowledge.known); reader.word) return reader;
    // Who is ordered after a reader is ordered after the write that it read, even where he was told of the reader alone. (A unit's read shows that the write
    // reached the units.)
    const Epoch writer{writers_[i]};
    if (!any_reader(readers_[i], asynchronous ? ordinary : 0) && writer.word && writer.actor() != by.actor() && !knows(asynchronous && writer.actor() < ordinary ? knowledge.fenced : knowledge.known, writer)) return writer;
    leave(readers_[i], end - i);
    for (; i < end; ++i) writers_[i] = by.word, readers_[i] = {};
  }
  return {};
}

bool Shadow::any_reader(Readers readers, std::size_t first) const {
  if (!readers.many) return readers.word && Epoch{readers.word}.actor() >= first;
  const auto& epochs = sets_[readers.word].epochs;
  return std::any_of(epochs.begin(), epochs.end(), [first](std::uint32_t word) { return Epoch{word}.actor() >= first; });
}

Epoch Shadow::unknown_reader(Readers readers, Epoch by, const History& known) const {
  const auto unknown = [&](std::uint32_t word) { return word && Epoch{word}.actor() != by.actor() && !knows(known, Epoch{word}); };
  if (!readers.many) return unknown(readers.word) ? Epoch{readers.word} : Epoch{};
  const auto& epochs = sets_[readers.word].epochs;
  const auto found = std::find_if(epochs.begin(), epochs.end(), unknown);
  return found == epochs.end() ? Epoch{} : Epoch{*found};
}

// The readers of `bytes` bytes that had these, and now `by` too. Those that `by` knows need not be kept: who is ordered after it is ordered after them.
Shadow::Readers Shadow::with(Readers former, std::size_t bytes, Epoch by, const History& known) {
  if (!former.many) {
    const Epoch one{former.word};
    if (one.word == 0 || one.actor() == by.actor() || knows(known, one)) return {by.word, false};
    std::uint32_t number = 0;
    if (free_sets_.empty()) {
      number = static_cast<std::uint32_t>(sets_.size());
      sets_.emplace_back();
    } else {
      number = free_sets_.back();
      free_sets_.pop_back();
    }
    sets_[number].epochs.assign({one.word, by.word});
    sets_[number].bytes = bytes;
    return {number, true};
  }
  const auto add = [&](std::vector<std::uint32_t>& epochs) {
    for (std::uint32_t& word : epochs)
      if (Epoch{word}.actor() == by.actor()) {
        word = by.word;
        return;
      }
    epochs.push_back(by.word);
  };
  if (sets_[former.word].bytes == bytes) {
    add(sets_[former.word].epochs);
    return former;
  }
  std::vector<std::uint32_t> epochs = sets_[former.word].epochs;
  leave(former, bytes);
  add(epochs);
  sets_.push_back({std::move(epochs), bytes});
  return {static_cast<std::uint32_t>(sets_.size() - 1), true};
}

void Shadow::leave(Readers readers, std::size_t bytes) {
  if (!readers.many) return;
  Set& set = sets_[readers.word];
  set.bytes -= bytes;
  if (set.bytes == 0) free_sets_.push_back(readers.word);
}

}  // namespace emulator
