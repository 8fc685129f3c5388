// SPDX-License-Identifier: Apache-2.0
#include "host/host_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>
#include <vector>

#include "core/error.hpp"
#include "core/float_environment.hpp"
#include "host/blas.hpp"
#include "host/groups.hpp"
#include "host/pool.hpp"
#include "host/product.hpp"
#include "host/scatter.hpp"
#include "scheduler/group_params.cuh"

namespace ggemm::host {
namespace {

constexpr double worth_threads = 1 << 20;  // multiply-adds; waking workers costs about as much as half of these

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "CPU";
}

core::DeviceFacts host_facts(int threads) {
  core::DeviceFacts facts;
  facts.threads = threads;
  facts.name = cpu_name();
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) facts.memory_bytes = static_cast<std::int64_t>(pages) * page;
  return facts;
}

}  // namespace

struct HostDevice::Impl {
  Impl(int threads, const char* cblas_path, const core::Log* log)
      : facts(host_facts(threads)),
        isa(*usable_isas().front()),
        blas(cblas_path, [this](core::Sum sum, i64 n, const void* a, const void* b, void* d) {
          const auto multiply = sum == core::Sum::f64 ? multiply_squares<double> : multiply_squares<float>;
          pool.get().run(1, [&](Scratch& scratch) { multiply(isa, n, a, b, d, scratch); });
        }, log),
        pool(threads, scratch_bytes) {}

  template <class T, class V> void run(const core::ProblemType& type, const kernels::GemmParams& params);
  template <class T, class V> void run_blas(const core::ProblemType& type, const kernels::GemmParams& params, const BlasCall& call);
  template <class T, class V> void run_groups(const core::ProblemType& type, const kernels::GroupedParams& params, i64 filled);
  template <class T, class V> void run_scattered(const core::ProblemType& type, const kernels::GroupedParams& params, i64 filled);
  int participants(i64 tiles, double work) const { return work < worth_threads ? 1 : static_cast<int>(std::min<i64>(facts.threads, tiles)); }
  template <class Compute> void share(i64 tiles, double work, const Compute& compute);
  template <class Compute> void share(Pool::Taken& scratch, i64 tiles, double work, const Compute& compute);

  const core::DeviceFacts facts;
  const Isa& isa;
  Blas blas;
  PoolHolder pool;
};

// compute(tile, scratch) for every tile, in ascending order of their starts.
template <class Compute>
void HostDevice::Impl::share(i64 tiles, double work, const Compute& compute) {
  if (tiles == 0) return;
  Pool::Taken scratch(pool.get(), participants(tiles, work));
  share(scratch, tiles, work, compute);
}
template <class Compute>
void HostDevice::Impl::share(Pool::Taken& taken, i64 tiles, double work, const Compute& compute) {
  std::atomic<i64> next{0};
  taken.run(participants(tiles, work), [&](Scratch& scratch) {
    for (i64 tile; (tile = next.fetch_add(1, std::memory_order_relaxed)) < tiles;) compute(tile, scratch);
  });
}

template <class T, class V>
void HostDevice::Impl::run(const core::ProblemType& given_type, const kernels::GemmParams& given) {
  core::ProblemType type = given_type;
  const kernels::GemmParams params = turned_if_better(type, given, isa.kernels<T>().b.width);
  if constexpr (!std::is_same_v<T, i32>) {
    const auto call = blas_call(type, params);
    if (call && blas.found()) return run_blas<T, V>(type, params, *call);
  }
  const Product<T, V> product(isa, type, params, facts.threads);
  share(product.tiles(), product.work(), [&](i64 tile, Scratch& scratch) { product.compute(tile, scratch); });
}

// CBLAS writes its sums to D itself where they are of D's dtype and nothing else is added, and the epilogue follows in place; else to a panel, which the
// epilogue takes them from. What memory the epilogue needs is taken first: a call that fails leaves D as it was.
template <class T, class V>
void HostDevice::Impl::run_blas(const core::ProblemType& type, const kernels::GemmParams& params, const BlasCall& call) {
  constexpr int own = std::is_same_v<T, double> ? GGEMM_F64 : GGEMM_F32;
  constexpr i64 panel_elements = i64(1) << 22, panel_columns = i64(1) << 14;
  const Epilogue<V> epilogue(isa, type, params);
  const auto across_of = [](const Block& block) { return kernels::ceil_div(block.columns, max_columns<T>); };
  const auto tiles_of = [&](const Block& block) { return across_of(block) * kernels::ceil_div(block.rows, max_rows<T>); };
  const auto work_of = [](const Block& block) { return 16.0 * static_cast<double>(block.rows) * static_cast<double>(block.columns); };
  const auto scratch_for = [&](const Block& block) { return Pool::Taken(pool.get(), participants(tiles_of(block), work_of(block))); };
  const auto finish = [&](Pool::Taken& taken, T* sums, i64 ld, const Block& block) {
    const i64 across = across_of(block);
    share(taken, tiles_of(block), work_of(block), [&](i64 tile, Scratch& scratch) {
      const i64 r = tile / across * max_rows<T>, c = tile % across * max_columns<T>;
      const Block part{block.row + r, block.column + c, std::min(max_rows<T>, block.rows - r), std::min(max_columns<T>, block.columns - c)};
      epilogue.finish(sums + r * ld + c, ld, part, Workspace<T, V>(scratch.data()));
    });
  };
  const i64 ldd = params.d.row_stride;
  if (type.d == own && !epilogue.reads_c() && params.d.col_stride == 1 && ldd >= params.n && ldd <= INT32_MAX && ldd * params.m <= INT32_MAX) {
    const Block whole{0, 0, params.m, params.n};
    T* const d = static_cast<T*>(const_cast<void*>(params.d.data));
    if (epilogue.trivial()) return blas.multiply(type.sum, call, whole, d, ldd);
    Pool::Taken taken = scratch_for(whole);
    blas.multiply(type.sum, call, whole, d, ldd);
    return finish(taken, d, ldd, whole);
  }
  const i64 columns = std::min(params.n, panel_columns), rows = std::min(params.m, panel_elements / columns);
  const std::unique_ptr<T[]> panel(new (std::nothrow) T[static_cast<std::size_t>(rows * columns)]);
  if (!panel) core::fail(GGEMM_ERROR_OUT_OF_MEMORY, "no %lld bytes of memory for a panel of sums", rows * columns * static_cast<i64>(sizeof(T)));
  Pool::Taken taken = scratch_for({0, 0, rows, columns});
  for (i64 row = 0; row < params.m; row += rows) {
    for (i64 column = 0; column < params.n; column += columns) {
      const Block block{row, column, std::min(rows, params.m - row), std::min(columns, params.n - column)};
      blas.multiply(type.sum, call, block, panel.get(), block.columns);
      finish(taken, panel.get(), block.columns, block);
    }
  }
}

// All groups' tiles are one list, so that a large group keeps every thread busy and small ones cost no wake-up each. Of each group that is not empty
// only its place in the list is kept; its product is made again for each tile, which is cheap beside one.
template <class T, class V>
void HostDevice::Impl::run_groups(const core::ProblemType& given_type, const kernels::GroupedParams& grouped, i64 filled) {
  struct Share {
    i64 group, end;  // `end` tiles are of this group and all before it
  };
  constexpr i64 few = 256;  // take no memory from the heap
  Share on_stack[few];
  std::vector<Share> on_heap(static_cast<std::size_t>(filled > few ? filled : 0));
  Share* const shares = filled > few ? on_heap.data() : on_stack;
  // A lone group is cut for all threads; many share them.
  const int threads = static_cast<int>(std::max<i64>(1, facts.threads / std::max<i64>(1, filled)));
  const auto product_of = [&](i64 group) {
    core::ProblemType type = given_type;
    kernels::GemmParams params = kernels::group_params(grouped, group, core::group_shape(type));
    if (type.grouped & core::gathered_rows) return Product<T, V>(isa, type, params, threads, kernels::group_rows(grouped, group).a_index);
    params = turned_if_better(type, params, isa.kernels<T>().b.width);
    return Product<T, V>(isa, type, params, threads);
  };
  i64 tiles = 0, found = 0;
  double work = 0;
  for (i64 g = 0; g < grouped.groups && found < filled; ++g) {
    const Product<T, V> product = product_of(g);
    if (product.tiles() == 0) continue;
    if (__builtin_add_overflow(tiles, product.tiles(), &tiles)) core::fail(GGEMM_ERROR_ARGUMENT, "the groups have more than 2^63 tiles in all");
    shares[found++] = {g, tiles};
    work += product.work();
  }
  share(tiles, work, [&](i64 tile, Scratch& scratch) {
    const Share* const at = std::upper_bound(shares, shares + found, tile, [](i64 value, const Share& s) { return value < s.end; });
    product_of(at->group).compute(tile - (at == shares ? 0 : at[-1].end), scratch);
  });
}

template <class T, class V>
void HostDevice::Impl::run_scattered(const core::ProblemType& type, const kernels::GroupedParams& params, i64 filled) {
  if (!(type.grouped & core::scattered_rows)) return run_groups<T, V>(type, params, filled);
  const Scatter<V> scatter(isa, type, params);
  run_groups<T, V>(scatter.type(), scatter.params(), filled);
  share(scatter.rows(), scatter.work(), [&](i64 row, Scratch& scratch) { scatter.store(row, Workspace<T, V>(scratch.data()).values, max_columns<T>); });
}

HostDevice::HostDevice(int threads, const char* cblas_path, const core::Log* log) : impl_(std::make_unique<Impl>(std::max(1, threads), cblas_path, log)) {}
HostDevice::~HostDevice() = default;

const core::DeviceFacts& HostDevice::facts() const { return impl_->facts; }
std::string HostDevice::blas() const { return impl_->blas.path(); }
std::string HostDevice::blas_tried() const { return impl_->blas.tried(); }

void HostDevice::run(const core::ProblemType& type, const kernels::GemmParams& params) const {
  if (params.m <= 0 || params.n <= 0) return;
  check_c(type, params);
  const core::DefaultFloatEnvironment environment;  // as workers have
  switch (type.sum) {
    case core::Sum::f32: return impl_->run<float, float>(type, params);
    case core::Sum::f64: return impl_->run<double, double>(type, params);
    case core::Sum::i32: return type.d == GGEMM_I32 ? impl_->run<i32, i32>(type, params) : impl_->run<i32, float>(type, params);
  }
}

void HostDevice::run(const core::ProblemType& type, const kernels::GroupedParams& params) const {
  const i64 filled = check_groups(type, params);
  const core::DefaultFloatEnvironment environment;  // as workers have
  switch (type.sum) {
    case core::Sum::f32: return impl_->run_scattered<float, float>(type, params, filled);
    case core::Sum::f64: return impl_->run_scattered<double, double>(type, params, filled);
    case core::Sum::i32: return type.d == GGEMM_I32 ? impl_->run_scattered<i32, i32>(type, params, filled) : impl_->run_scattered<i32, float>(type, params, filled);
  }
}

}  // namespace ggemm::host
