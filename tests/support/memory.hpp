// SPDX-License-Identifier: Apache-2.0
// Memory of a device under test, in blocks with unmapped pages on both sides.
#pragma once
#include <cstddef>
#include <memory>

#include "case.hpp"

namespace ggemm::tests {

struct Block {
  char* data = nullptr;
  std::size_t size = 0;    // usable bytes
  std::size_t handle = 0;  // the memory's own
};

class Memory {
 public:
  virtual ~Memory() = default;
  virtual Block map(std::size_t bytes) = 0;  // at least `bytes`; throws std::runtime_error
  virtual void unmap(const Block& block) = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;  // complete on return
  virtual void read(void* to, const void* from, std::size_t bytes) = 0;   // after all work on stream()
  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;
  virtual void wait() = 0;           // for stream(); throws if the device reports an error
  virtual void* stream() const = 0;  // for the calls under test
  // Blocks are exactly as long as asked for and not kept, for tools that watch every allocation.
  virtual bool exact() const { return false; }
};

std::unique_ptr<Memory> host_memory();
// The calling thread's. exact: plain allocations of the driver, else mapped ones. Throws std::runtime_error if there is no driver or device.
std::unique_ptr<Memory> cuda_memory(int ordinal, bool exact);

// One operand's place, kept from case to case.
class Slot {
 public:
  explicit Slot(Memory& memory) : memory_(&memory) {}
  Slot(Slot&& other) noexcept : memory_(other.memory_), block_(other.block_) { other.block_ = {}; }
  Slot& operator=(Slot&&) = delete;
  ~Slot();
  // NULL for 0 bytes. A former address is no longer valid.
  char* place(std::size_t bytes, Placement placement);

 private:
  Memory* memory_;
  Block block_;
};

}  // namespace ggemm::tests
