/* SPDX-License-Identifier: Apache-2.0
 * The C interface from C++: owners that destroy, and errors that are thrown.
 *
 *   c++ raii.cpp $(pkg-config --cflags --libs ggemm) -o raii && ./raii
 *
 * Output:
 *   19 22 43 50
 *   k=-1: sizes must be 0 or more
 */
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "ggemm.h"

struct Destroy {
  void operator()(ggemm_context* context) const { ggemm_context_destroy(context); }
  void operator()(ggemm_plan* plan) const { ggemm_plan_destroy(plan); }
};
using Context = std::unique_ptr<ggemm_context, Destroy>;
using Plan = std::unique_ptr<ggemm_plan, Destroy>;

void check(ggemm_status status) {
  if (status != GGEMM_OK) throw std::runtime_error(ggemm_last_error());
}

Context host() {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  options.device = GGEMM_DEVICE_HOST;
  ggemm_context* context;
  check(ggemm_context_create(&options, &context));
  return Context(context);
}

Plan make_plan(const Context& context, const ggemm_gemm_desc& desc) {
  ggemm_plan* plan;
  check(ggemm_plan_create(context.get(), &desc, &plan));
  return Plan(plan);
}

int main() try {
  const Context context = host();
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = desc.n = desc.k = 2;
  desc.a.dtype = desc.b.dtype = desc.d.dtype = GGEMM_F64;
  const Plan plan = make_plan(context, desc); /* after its context, so it goes before it */

  const std::vector<double> A{1, 2, 3, 4}, B{5, 6, 7, 8};
  std::vector<double> D(4);
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = A.data(), args.b = B.data(), args.d = D.data();
  check(ggemm_plan_run(plan.get(), &args, nullptr));
  std::printf("%g %g %g %g\n", D[0], D[1], D[2], D[3]);

  desc.k = -1;
  make_plan(context, desc);
} catch (const std::exception& error) {
  std::puts(error.what());
}
