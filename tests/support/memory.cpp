// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace ggemm::tests {
namespace {

class HostMemory final : public Memory {
 public:
  Block map(std::size_t bytes) override {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), size = (bytes + page - 1) / page * page;
    void* all = mmap(nullptr, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::runtime_error("mmap of " + std::to_string(size) + " bytes failed");
    char* data = static_cast<char*>(all) + page;
    if (mprotect(data, size, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("mprotect failed");
    return {data, size, page};
  }
  void unmap(const Block& block) override { munmap(block.data - block.handle, block.size + 2 * block.handle); }
  void write(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void read(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void fill(void* to, unsigned char value, std::size_t bytes) override { std::memset(to, value, bytes); }
  void wait() override {}
  void* stream() const override { return nullptr; }
};

}  // namespace

std::unique_ptr<Memory> host_memory() { return std::make_unique<HostMemory>(); }

Slot::~Slot() {
  if (block_.data) memory_->unmap(block_);
}

char* Slot::place(std::size_t bytes, Placement placement) {
  if (bytes == 0) return nullptr;
  if (block_.data && (block_.size < bytes || memory_->exact())) {
    memory_->unmap(block_);
    block_ = {};
  }
  if (!block_.data) block_ = memory_->map(bytes);
  return placement == Placement::ends_at_guard ? block_.data + (block_.size - bytes) : block_.data;
}

}  // namespace ggemm::tests
