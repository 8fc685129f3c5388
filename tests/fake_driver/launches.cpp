// SPDX-License-Identifier: Apache-2.0
// Launches, direct and by graphs: recorded, and answered by the test.
#include <chrono>
#include <cstring>

#include "emulated.hpp"
#include "state.hpp"

using namespace fake;

namespace {

// A launch as it is asked for; its parameters are read now, as a driver does.
std::shared_ptr<LaunchRecord> make_record(const cu::LaunchConfig& config, const Function& function, void** params) {
  const State& s = state();
  auto record = std::make_shared<LaunchRecord>();
  record->kernel = function.name;
  fake_launch& launch = record->launch;
  launch.kernel = record->kernel.c_str();
  const unsigned grid[3] = {config.grid_x, config.grid_y, config.grid_z}, block[3] = {config.block_x, config.block_y, config.block_z};
  std::copy_n(grid, 3, launch.grid);
  std::copy_n(block, 3, launch.block);
  launch.shared_bytes = config.shared_bytes;
  launch.stream = config.stream;
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const cu::LaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == cu::LaunchAttributeId::programmatic_stream_serialization) launch.overlaps = attribute.programmatic_stream_serialization;
    if (attribute.id == cu::LaunchAttributeId::cluster_dimension) launch.cluster = static_cast<int>(attribute.cluster.x * attribute.cluster.y * attribute.cluster.z);
  }
  launch.context = current_context();
  record->emulated = function.emulated;
  if (function.emulated) launch.parameter_count = 1, launch.parameter_bytes[0] = function.emulated->parameter_bytes;
  else if (s.parameter_sizes) launch.parameter_count = s.parameter_sizes(s.parameter_sizes_user, launch.kernel, launch.parameter_bytes);
  for (int i = 0; i < launch.parameter_count; ++i) {
    const std::size_t bytes = launch.parameter_bytes[i];
    auto copy = std::make_unique<ParameterWord[]>(bytes / sizeof(ParameterWord) + 1);
    std::memcpy(copy.get(), params[i], bytes);
    launch.parameters[i] = copy.get();
    record->copies.push_back(std::move(copy));
  }
  return record;
}

// The same launch once more: by a graph, on its stream.
std::shared_ptr<LaunchRecord> replay_of(const LaunchRecord& captured, Handle stream) {
  auto record = std::make_shared<LaunchRecord>();
  record->kernel = captured.kernel;
  record->emulated = captured.emulated;
  record->launch = captured.launch;
  record->launch.kernel = record->kernel.c_str();
  record->launch.stream = stream;
  record->launch.captured = 0;
  record->launch.replayed = 1;
  for (int i = 0; i < record->launch.parameter_count; ++i) {
    const std::size_t items = record->launch.parameter_bytes[i] / sizeof(ParameterWord) + 1;
    auto copy = std::make_unique<ParameterWord[]>(items);
    std::copy_n(captured.copies[static_cast<std::size_t>(i)].get(), items, copy.get());
    record->launch.parameters[i] = copy.get();
    record->copies.push_back(std::move(copy));
  }
  return record;
}

Worker::Work answering(std::shared_ptr<const LaunchRecord> record) {
  const State& s = state();
  if (record->emulated)
    return [work = emulating(std::move(record))](Worker& worker) {
      const auto start = std::chrono::steady_clock::now();
      work(worker);
      worker.clock_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    };
  return [record = std::move(record), answer = s.answer, user = s.answer_user](Worker& worker) {
    if (answer) worker.clock_ms += answer(user, &record->launch);
  };
}

bool sound(const cu::LaunchConfig& config, const Function& function) {
  constexpr unsigned most_grid_yz = 65535, most_threads = 1024, most_threads_z = 64;
  const auto within = [](unsigned value, unsigned most) { return value >= 1 && value <= most; };
  return within(config.grid_x, 0x7FFFFFFF) && within(config.grid_y, most_grid_yz) && within(config.grid_z, most_grid_yz) &&
         within(config.block_x, most_threads) && within(config.block_y, most_threads) && within(config.block_z, most_threads_z) &&
         config.block_x * config.block_y * config.block_z <= most_threads && config.shared_bytes <= static_cast<unsigned>(function.max_dynamic_shared) &&
         (config.attribute_count == 0 || config.attributes);
}

}  // namespace

FAKE_DRIVER Result cuLaunchKernelEx(const cu::LaunchConfig* config, cu::Function handle, void** params, void** extra) {
  Call call("cuLaunchKernelEx");
  if (call.fails()) return call.result();
  State& s = state();
  const std::shared_ptr<Function> function = find(s.functions, handle);
  if (!function) return Result::invalid_handle;
  if (find(s.modules, function->module)->context != current_context()) return Result::invalid_context;
  if (!params || extra || !sound(*config, *function)) return Result::invalid_value;
  const long registers = static_cast<long>(function->emulated ? emulator::registers_of(*function->emulated) : s.kernel_registers) * config->block_x * config->block_y * config->block_z;
  if (registers > 65536) return Result{701};  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
  std::shared_ptr<Stream> stream;
  if (const Result bad = find_stream(config->stream, stream); bad != Result::success) return bad;
  const std::shared_ptr<LaunchRecord> record = make_record(*config, *function, params);
  record->launch.captured = stream->capture != nullptr;
  const Result result = submit(config->stream, {answering(record), record});
  if (result == Result::success) s.launches.push_back(record);
  return result;
}

FAKE_DRIVER Result cuGraphLaunch(Handle graph, cu::Stream handle) {
  Call call("cuGraphLaunch");
  if (call.fails()) return call.result();
  State& s = state();
  const std::shared_ptr<Graph> object = find(s.graphs, graph);
  if (!object) return Result::invalid_handle;
  std::shared_ptr<Stream> stream;
  if (const Result bad = find_stream(handle, stream); bad != Result::success) return bad;
  if (stream->capture) return Result::stream_capture_unsupported;  // graphs within graphs are not faked
  if (const Result conflict = legacy_stream_conflict(handle, true); conflict != Result::success) return conflict;
  for (const GraphNode& node : object->nodes) {
    if (!node.launch) {
      enqueue(stream->context, *stream, node.work);
      continue;
    }
    const std::shared_ptr<LaunchRecord> record = replay_of(*node.launch, handle);
    s.launches.push_back(record);
    enqueue(stream->context, *stream, answering(record));
  }
  return Result::success;
}

FAKE_API void fake_set_parameter_sizes(fake_parameter_sizes_fn function, void* user) {
  std::lock_guard lock(state().mutex);
  state().parameter_sizes = function;
  state().parameter_sizes_user = user;
}

FAKE_API void fake_set_answer(fake_answer_fn function, void* user) {
  std::lock_guard lock(state().mutex);
  state().answer = function;
  state().answer_user = user;
}

FAKE_API long fake_launches(void) {
  std::lock_guard lock(state().mutex);
  return static_cast<long>(state().launches.size());
}

FAKE_API int fake_launch_get(long index, fake_launch* out) {
  std::lock_guard lock(state().mutex);
  const auto& launches = state().launches;
  if (index < 0 || static_cast<std::size_t>(index) >= launches.size()) return 0;
  *out = launches[static_cast<std::size_t>(index)]->launch;
  return 1;
}
