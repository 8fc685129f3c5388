// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "fake_driver/groups.hpp"
#include "host/groups.hpp"
#include "lines.cuh"
#include "params.cuh"
#include "scheduler/group_params.cuh"

namespace ggemm::tests {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Cuts `end` off, if it is there.
bool cut(std::string& text, const std::string& end) {
  if (!ends_with(text, end)) return false;
  text.resize(text.size() - end.size());
  return true;
}

bool by_tensor_maps(const std::string& kernel) { return kernel.starts_with("ggemm_sm90_"); }

bool swapped(const std::string& kernel) { return kernel.find("_swap_") != std::string::npos; }

// Sums of slices of k lie in workspace until another launch has added them up, which alone writes D.
bool leaves_sums(const std::string& kernel) {
  return by_tensor_maps(kernel) && kernel.find("_k_") != std::string::npos && !ends_with(kernel, "_sum_pieces");
}

bool prepares(const std::string& kernel) { return kernel == "ggemm_prepare"; }

bool repacks_groups(const std::string& kernel) { return kernel.starts_with("ggemm_repack_groups_"); }
bool repacks(const std::string& kernel) { return kernel.starts_with("ggemm_repack_") && !repacks_groups(kernel); }

// Copies an operand as kernels/repack.cu does.
void repack(const std::string& kernel, const kernels::CopyParams& p) {
  if (!p.blocks) return;
  const auto size = static_cast<std::size_t>(kernel.at(std::strlen("ggemm_repack_")) - '0');
  for (std::int64_t line = 0; line < p.lines; ++line)
    for (std::int64_t at = 0; at < p.length; ++at)
      std::memcpy(static_cast<char*>(p.to) + (line * p.to_stride + at) * static_cast<std::int64_t>(size),
                  static_cast<const char*>(p.from) + (line * p.line_stride + at * p.element_stride) * static_cast<std::int64_t>(size), size);
}

constexpr const char* checker = "ggemm_check";

// Checks as kernels/check.cu does.
void check_groups(const kernels::CheckParams& p) { host::find_fault(p.groups, p.checks).tell(p.status); }

constexpr const char* flusher = "ggemm_flush";

bool sums(const std::string& kernel) { return kernel == "ggemm_sum_rows_f32_f32"; }

// Adds up rows as kernels/sum_rows.cu does, of f32.
void sum_rows(const kernels::SumParams& p) {
  if (p.status && *p.status) return;
  std::int64_t count = 0;
  for (std::int64_t g = 0; g < p.groups; ++g) count = std::max<std::int64_t>(count, kernels::read_end(p.ends, g));
  const auto* const values = static_cast<const float*>(p.values);
  for (std::int64_t row = 0; row < p.rows.d_index.value; ++row)
    for (std::int64_t j = 0; j < p.columns; ++j) {
      bool any = false;
      float sum = 0;
      for (std::int64_t i = 0; i < count; ++i)
        if (kernels::read_row(p.rows.d_index, i) == row) sum = std::fma(p.rows.weights ? p.rows.weights[i] : 1.0f, values[i * p.columns + j], sum), any = true;
      if (any) static_cast<float*>(const_cast<void*>(p.d.data))[row * p.d.row_stride + j * p.d.col_stride] = sum;
    }
}

// What there is to compute for a grouped kernel, which looks at no status but its own.
kernels::GroupedParams live_params(const kernels::GroupedParams& given) {
  kernels::GroupedParams params = given;
  params.groups = kernels::live_groups(given), params.status = nullptr;
  return params;
}

// The product that a plain kernel was asked for, as the caller described it.
kernels::GemmParams plain_params(const std::string& kernel, const void* parameters) {
  if (!by_tensor_maps(kernel)) return static_cast<const kernels::PlainParams*>(parameters)->problem;
  const kernels::GemmParams& params = static_cast<const kernels::TensorParams*>(parameters)->problem;
  return swapped(kernel) ? kernels::transposed(params) : params;
}

// What the kernel that runs before a grouped one finds out: each group's product, that copies would take so many bytes, and whether there are lines of D that threads store.
void prepare(const kernels::PrepareParams& p, std::uint64_t copied_bytes, bool lines) {
  if (p.copies.note && lines) std::atomic_ref(p.copies.note->lines).store(1, std::memory_order_relaxed);  // the host may read it
  if (p.copies.note && copied_bytes > static_cast<std::uint64_t>(p.copies.room_bytes)) (p.copies.copies ? p.copies.note->bytes : p.copies.note->met) = p.copies.copies ? copied_bytes : 1;
  const bool live = kernels::live_groups(p.problem) > 0;
  for (std::int64_t g = 0; g < p.problem.groups; ++g) {
    const kernels::GemmParams problem = live ? kernels::group_params(p.problem, g) : kernels::GemmParams{};
    const bool two = p.large_above >= 0, large = two && problem.m > p.large_above;
    kernels::GroupFacts& facts = p.records[g].facts;
    facts.problem = problem;
    // Of the operands as they lie; what has room for copies does not matter here.
    const kernels::PrepareKernel& kernel = p.kernels[large];
    const kernels::GemmParams seen = kernel.swap ? kernels::transposed(problem) : problem;
    const auto lines = [&](int part, const kernels::Matrix& matrix, std::int64_t rows, std::int64_t columns) { return kernels::lines_of(matrix, rows, columns, kernel.by_columns[part]); };
    facts.reach = (kernels::reachable(lines(0, seen.a, seen.m, seen.k), kernel.sizes[0]) ? 1 : 0) | (kernels::reachable(lines(1, seen.b, seen.k, seen.n), kernel.sizes[1]) ? 2 : 0);
    facts.store = kernel.boxes ? kernels::store_way(lines(2, seen.d, seen.m, seen.n), kernel.sizes[2]) : kernels::TensorStore::threads;
    p.kernels[large].tiles[g].count = 1;
    if (two) p.kernels[!large].tiles[g] = {};
  }
  *p.taken = 0;
}

// Kernels for calls by the copy engine alone have no code for C, nor for lines that it does not reach; those of groups for lines that wait none for C. reach: as GroupFacts'.
void require_way(const core::ProblemType& type, const kernels::GemmParams& p, kernels::TensorStore store, int reach) {
  if ((type.by_engine || type.lines_wait) && (p.epilogue.beta.pointer || p.epilogue.beta.bits)) throw std::runtime_error("C is read");
  if (!type.by_engine) return;
  if (store != kernels::TensorStore::boxes && store != kernels::TensorStore::inner_boxes) throw std::runtime_error("there are elements of D that threads would store");
  if (reach != 3) throw std::runtime_error("there are operands that threads would gather");
}

}  // namespace

core::ProblemType type_of_kernel(const std::string& symbol) {
  std::string rest = symbol;
  if (!rest.starts_with("ggemm_")) throw std::runtime_error(symbol + " is none of the library's");  // streams run on threads of their own, where no assertion may stand
  rest.erase(0, 6);
  cut(rest, "_sum_pieces");
  const bool unaligned_a = cut(rest, "_unaligned_a"), unaligned_b = cut(rest, "_unaligned_b"), unaligned = cut(rest, "_unaligned");
  const bool lines = cut(rest, "_lines"), by_engine = cut(rest, "_by_engine"), columns = cut(rest, "_columns"), grouped = cut(rest, "_grouped"), batch = cut(rest, "_batch"), scatter = cut(rest, "_scatter"), gather = cut(rest, "_gather");
  const int bias = cut(rest, "_bias_column") ? GGEMM_BIAS_PER_COLUMN : cut(rest, "_bias_row") ? GGEMM_BIAS_PER_ROW : GGEMM_BIAS_NONE;
  int activation = GGEMM_ACTIVATION_NONE;
  // The longer name first: "gelu_tanh" ends like "tanh".
  for (const int candidate : {GGEMM_ACTIVATION_GELU_TANH, GGEMM_ACTIVATION_LEAKY_RELU, GGEMM_ACTIVATION_RELU, GGEMM_ACTIVATION_GELU,
                              GGEMM_ACTIVATION_SILU, GGEMM_ACTIVATION_SIGMOID, GGEMM_ACTIVATION_TANH, GGEMM_ACTIVATION_CLAMP})
    if (!activation && cut(rest, std::string("_") + core::activation_name(candidate))) activation = candidate;
  const std::size_t last = rest.rfind('_');
  const std::size_t sliced = rest.find("_k_");  // such a kernel serves any number of slices
  const std::string config = sliced < last ? rest.substr(0, sliced) + "_k2" + rest.substr(sliced + 2, last - sliced - 2) : rest.substr(0, last);
  core::ProblemType type = core::parse_config(config + "_r1").type;
  for (int dtype = GGEMM_F64; dtype <= GGEMM_I32; ++dtype)
    if (rest.substr(last + 1) == core::dtype_name(dtype)) type.d = static_cast<std::uint8_t>(dtype);
  type.c = type.d;
  type.activation = static_cast<std::uint8_t>(activation);
  type.bias = static_cast<std::uint8_t>(bias);
  type.bias_dtype = bias ? type.d : 0;
  type.grouped = static_cast<std::uint8_t>((grouped ? core::grouped_call : 0) | (batch ? core::batch_groups : 0) | (gather ? core::gathered_rows : 0) | (scatter ? core::scattered_rows : 0));
  type.major_d = columns ? core::Major::mn : core::Major::k;
  type.by_engine = by_engine, type.lines_wait = lines;
  type.unreachable = static_cast<std::uint8_t>((unaligned_a || unaligned ? core::operand_a : 0) | (unaligned_b || unaligned ? core::operand_b : 0));
  return type;
}

Machine::Machine(std::vector<int> capabilities) {
  driver().reset();
  REQUIRE(driver().set_devices(capabilities.data(), static_cast<int>(capabilities.size())));
  driver().set_parameter_sizes(sizes, this);
  driver().set_answer(answer, this);
}

Machine::~Machine() { driver().reset(); }

std::string Machine::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}

void Machine::set_time(const std::string& part, double milliseconds) {
  std::lock_guard lock(mutex_);
  times_.emplace_back(part, milliseconds);
}

void Machine::check_clean() const {
  driver().wait();
  CHECK(std::string(driver().live_text()) == "");
  CHECK(driver().context_depth() == 0);
  CHECK(driver().capture_mode() == 0);
  CHECK(faults() == "");
}

int Machine::sizes(void*, const char* kernel, std::size_t* out) {
  const std::string name = kernel;
  const bool grouped = name.find("_grouped") != std::string::npos, batch = name.find("_batch") != std::string::npos, maps = by_tensor_maps(name);
  if (repacks(name)) out[0] = sizeof(kernels::RepackParams);
  else if (repacks_groups(name)) out[0] = sizeof(kernels::RepackGroupsParams);
  else if (prepares(name)) out[0] = sizeof(kernels::PrepareParams);
  else if (name == checker) out[0] = sizeof(kernels::CheckParams);
  else if (name == flusher) out[0] = sizeof(kernels::FlushParams);
  else if (sums(name)) out[0] = sizeof(kernels::SumParams);
  else if (batch && !maps) out[0] = sizeof(kernels::BatchedParams);
  else if (grouped) out[0] = maps ? sizeof(kernels::GroupedTensorParams) : sizeof(kernels::GroupedParams);
  else out[0] = maps ? sizeof(kernels::TensorParams) : sizeof(kernels::PlainParams);
  return 1;
}

double Machine::answer(void* user, const fake_launch* launch) {
  Machine& machine = *static_cast<Machine*>(user);
  const std::string kernel = launch->kernel;
  try {
    if (repacks(kernel)) {
      for (const kernels::CopyParams& copy : static_cast<const kernels::RepackParams*>(launch->parameters[0])->copies) repack(kernel, copy);
      return 1.0;
    }
    if (kernel == checker) {
      check_groups(*static_cast<const kernels::CheckParams*>(launch->parameters[0]));
      return 1.0;
    }
    if (kernel == flusher || repacks_groups(kernel)) return 1.0;
    if (sums(kernel)) {
      sum_rows(*static_cast<const kernels::SumParams*>(launch->parameters[0]));
      return 1.0;
    }
    if (prepares(kernel)) {
      prepare(*static_cast<const kernels::PrepareParams*>(launch->parameters[0]), machine.copied_bytes_, machine.lines_);
      return 1.0;
    }
    const core::ProblemType type = type_of_kernel(kernel);
    if (type.grouped & core::batch_groups && by_tensor_maps(kernel)) {
      const auto& params = *static_cast<const kernels::TensorParams*>(launch->parameters[0]);
      core::ProblemType plain = type;
      plain.grouped = 0;
      require_way(type, params.problem, params.store, 3);
      for (std::int64_t number = 0; number < products_of(params); ++number) machine.reference_.run(plain, product_of(params, number));
    } else if (type.grouped && by_tensor_maps(kernel)) {
      const auto& params = *static_cast<const kernels::GroupedTensorParams*>(launch->parameters[0]);
      core::ProblemType plain = type;
      plain.grouped = 0;
      for (std::int64_t g = 0; g < params.groups; ++g)
        if (const kernels::GroupFacts facts = facts_of(params, g); facts.problem.m > 0 && facts.problem.n > 0) {
          require_way(type, facts.problem, facts.store, facts.reach);
          machine.reference_.run(plain, facts.problem);
        }
    } else if (type.grouped & core::batch_groups) {
      const auto& params = *static_cast<const kernels::BatchedParams*>(launch->parameters[0]);
      core::ProblemType plain = type;
      plain.grouped = 0;
      for (std::int64_t number = 0; number < launch->grid[0] / params.batch.tiles.by; ++number) machine.reference_.run(plain, kernels::product_of(params.batch, params.plain.problem, number));
    } else if (type.grouped) {
      machine.reference_.run(type, live_params(*static_cast<const kernels::GroupedParams*>(launch->parameters[0])));
    } else if (!leaves_sums(kernel)) {
      const kernels::GemmParams problem = plain_params(kernel, launch->parameters[0]);
      if (by_tensor_maps(kernel)) require_way(type, problem, static_cast<const kernels::TensorParams*>(launch->parameters[0])->store, 3);  // what is not reached was copied
      machine.reference_.run(type, problem);
    }
  } catch (const std::exception& e) {
    std::lock_guard lock(machine.mutex_);
    machine.faults_ += kernel + ": " + e.what() + "\n";
  }
  std::lock_guard lock(machine.mutex_);
  for (const auto& [part, milliseconds] : machine.times_)
    if (kernel.find(part) != std::string::npos) return milliseconds;
  return 1.0;
}

ggemm_status call_and_wait(const ContextPointer& context, PlainProblem<float>& problem) {
  std::memset(problem.d.data(), 0x5a, problem.d.size() * sizeof(float));
  const ggemm_status status = ggemm_gemm(context.get(), &problem.desc, &problem.args, nullptr);
  driver().wait();
  INFO(ggemm_status_string(status) << ": " << ggemm_last_error());
  CHECK((status == GGEMM_OK ? problem.d == std::vector<float>(problem.d.size(), 12.0f) : problem.d_untouched()));
  return status;
}

void LogLines::receive(void* user, ggemm_log_level, const char* message) {
  LogLines& log = *static_cast<LogLines*>(user);
  std::lock_guard lock(log.mutex);
  log.lines.push_back(message);
}

int LogLines::count(const std::string& start) {
  std::lock_guard lock(mutex);
  return static_cast<int>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(start); }));
}

ggemm_context_options cuda_options(const std::string& cache_folder, LogLines* log) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_CUDA;
  options.threads = 2;
  options.cache_dir = cache_folder.c_str();
  options.shared_cache_dir = "";
  if (log) {
    options.log = LogLines::receive;
    options.log_user = log;
    options.log_level = GGEMM_LOG_DEBUG;
  }
  return options;
}

}  // namespace ggemm::tests
