// SPDX-License-Identifier: Apache-2.0
// The options that choose a device and its caches, the same in every command, and the context that they make.
#pragma once
#include <memory>
#include <string>

#include "ggemm.h"

namespace CLI {
class App;
}

namespace ggemm::tools {

struct ContextDestroy {
  void operator()(ggemm_context* context) const { ggemm_context_destroy(context); }
};
using Context = std::unique_ptr<ggemm_context, ContextDestroy>;

struct PlanDestroy {
  void operator()(ggemm_plan* plan) const { ggemm_plan_destroy(plan); }
};
using Plan = std::unique_ptr<ggemm_plan, PlanDestroy>;

struct DeviceOptions {
  ggemm_device_kind device = GGEMM_DEVICE_BEST;
  int ordinal = 0;
  int threads = 0;
  bool verbose = false;
  std::string cache_dir, nvrtc, cblas;  // "": not given
  bool memory_only = false;             // nothing is kept on disk

  void add_to(CLI::App& command);
  // The texts stay owned by this object.
  ggemm_context_options options() const;
  Context create() const;
};

ggemm_device_info device_info(const ggemm_context* context);
// "NVIDIA H200 (sm_90a)" or "host: <CPU>, 2 threads, BLAS <path>".
std::string describe(const ggemm_device_info& info);
std::string explain(const ggemm_plan* plan);
std::string config_of(const ggemm_plan* plan);

}  // namespace ggemm::tools
