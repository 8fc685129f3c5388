// SPDX-License-Identifier: Apache-2.0
// ggemm gemm: one product of .npy files.
#include <cstdio>
#include <memory>

#include "commands.hpp"
#include "common/context.hpp"
#include "common/failure.hpp"
#include "common/names.hpp"
#include "common/operands.hpp"
#include "common/output.hpp"

namespace ggemm::tools {
namespace {

constexpr double check_limit = 4e9;  // multiplications of --check: some seconds on one core

struct Options {
  DeviceOptions device;
  ProductOptions product;
  std::string a, b, output, c, bias;
  double beta = 1;
  ggemm_bias bias_axis = GGEMM_BIAS_PER_COLUMN;
};

// All in ordinary memory.
struct Operands {
  Array a, b, c, bias, d;
  MatrixView va, vb, vc, vd;
};

Operands read_operands(const Options& options) {
  Operands out;
  const ProductOptions& product = options.product;
  out.a = product.read_a(options.a);
  out.b = product.read_b(options.b);
  require_dimensions(out.a, 2);
  require_dimensions(out.b, 2);
  out.va = view(out.a, product.trans_a);
  out.vb = view(out.b, product.trans_b);
  const auto ll = [](std::int64_t value) { return static_cast<long long>(value); };
  if (out.va.cols != out.vb.rows) {
    fail_usage("k differs: %s (k=%lld), %s (k=%lld)", described(out.a, product.trans_a).c_str(), ll(out.va.cols),
               described(out.b, product.trans_b).c_str(), ll(out.vb.rows));
  }
  const std::int64_t m = out.va.rows, n = out.vb.cols;
  const ggemm_dtype dtype = product.out(out.a.dtype, out.b.dtype);
  out.d = make_array(dtype, {m, n});
  out.vd = view(out.d);
  if (!options.c.empty()) {
    out.c = read_npy(options.c, dtype);
    require_dimensions(out.c, 2);
    out.vc = view(out.c);
    if (out.vc.rows != m || out.vc.cols != n) fail_usage("%s, but the product is %lldx%lld", described(out.c, false).c_str(), ll(m), ll(n));
  }
  if (!options.bias.empty()) {
    out.bias = read_npy(options.bias, dtype);
    const std::int64_t wanted = options.bias_axis == GGEMM_BIAS_PER_COLUMN ? n : m;
    require_dimensions(out.bias, 1);
    if (out.bias.shape[0] != wanted) {
      fail_usage("%s has %lld elements, but the product has %lld %s", options.bias.c_str(), ll(out.bias.shape[0]), ll(wanted),
                 options.bias_axis == GGEMM_BIAS_PER_COLUMN ? "columns" : "rows");
    }
  }
  return out;
}

ggemm_matrix matrix_of(const MatrixView& view) { return {view.dtype, 0, view.row_stride, view.col_stride, 0}; }

ggemm_gemm_desc describe_product(const Options& options, const Operands& x) {
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  desc.m = x.vd.rows;
  desc.n = x.vd.cols;
  desc.k = x.va.cols;
  desc.a = matrix_of(x.va);
  desc.b = matrix_of(x.vb);
  desc.d.dtype = x.d.dtype;
  if (x.vc.base) desc.c = matrix_of(x.vc);
  desc.compute = options.product.compute;
  options.product.apply(desc.epilogue);
  if (!options.bias.empty()) {
    desc.epilogue.bias = options.bias_axis;
    desc.epilogue.bias_dtype = x.bias.dtype;
  }
  if (!options.product.config.empty()) desc.config = options.product.config.c_str();
  return desc;
}

// Multiplies on the context's device and brings D back.
void multiply(const Options& options, ggemm_context* context, Operands& x) {
  const ggemm_gemm_desc desc = describe_product(options, x);
  ggemm_plan* made = nullptr;
  check(ggemm_plan_create(context, &desc, &made));
  const Plan plan(made);
  const auto memory = DeviceMemory::create(device_info(context));
  const auto upload = [&](const Array& array) { return DeviceBlock(*memory, array.bytes.data(), array.bytes.size()); };
  const DeviceBlock a = upload(x.a), b = upload(x.b), c = upload(x.c), bias = upload(x.bias), d = upload(x.d);
  const bool has_c = x.vc.base != nullptr;
  const Scalar alpha = make_scalar(options.product.alpha, x.a.dtype, x.b.dtype, x.d.dtype, "--alpha");
  const Scalar beta = make_scalar(has_c ? options.beta : 0, x.a.dtype, x.b.dtype, x.d.dtype, "--beta");
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  args.a = a.data();
  args.b = b.data();
  args.c = c.data();
  args.d = d.data();
  args.bias = bias.data();
  args.alpha = alpha.bytes;
  args.beta = beta.bytes;
  check(ggemm_plan_run(plan.get(), &args, nullptr));
  memory->synchronize();
  d.copy_out(x.d.bytes.data());
  if (options.product.explain) std::printf("%s\n", explain(plan.get()).c_str());
}

ErrorReport check_product(const Options& options, const Operands& x) {
  ReferenceProduct reference;
  reference.a = x.va;
  reference.b = x.vb;
  reference.c = x.vc;
  reference.d = x.vd;
  options.product.apply(reference);
  reference.beta = x.vc.base ? options.beta : 0;
  if (!options.bias.empty()) {
    reference.bias = options.bias_axis;
    reference.bias_dtype = x.bias.dtype;
    reference.bias_data = x.bias.bytes.data();
  }
  return check_rows(reference, sample_rows(x.vd.rows, x.vd.cols, x.va.cols, check_limit));
}

void run(const Options& options) {
  options.product.activation.check();
  check_output(options.output, npy_begin);
  Operands x = read_operands(options);
  const Context context = options.device.create();
  multiply(options, context.get(), x);
  write_npy(options.output, x.d);
  std::printf("%s: %s %s on %s\n", options.output.c_str(), x.d.shape_text().c_str(), ggemm_dtype_name(x.d.dtype),
              describe(device_info(context.get())).c_str());
  if (!options.product.check) return;
  const ErrorReport report = check_product(options, x);
  print_error(report, options.output);
  if (!report.passed()) throw Failure(exit_failure, "");
}

}  // namespace

void add_gemm(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("gemm", "Multiply two .npy files: D = act(alpha A B + beta C + bias)");
  command->add_option("a", options->a, "A [m,k]")->required()->type_name("A.npy");
  command->add_option("b", options->b, "B [k,n]")->required()->type_name("B.npy");
  command->add_option("-o,--output", options->output, "D [m,n]")->required()->type_name("FILE");
  CLI::Option* c = command->add_option("--c", options->c, "C [m,n]")->type_name("FILE");
  command->add_option("--beta", options->beta, "factor of C")->type_name("X")->default_str("1")->needs(c);
  CLI::Option* bias = command->add_option("--bias", options->bias, "a vector that is added")->type_name("FILE");
  command->add_option("--bias-axis", options->bias_axis, "an element of the bias for each column or each row")
      ->transform(one_of({{"column", GGEMM_BIAS_PER_COLUMN}, {"row", GGEMM_BIAS_PER_ROW}}))
      ->type_name("AXIS")
      ->default_str("column")
      ->needs(bias);
  options->product.add_to(*command);
  options->device.add_to(*command);
  command->footer("Files of any memory order are taken as they are: Fortran order becomes strides.");
  command->callback([options] { run(*options); });
}

}  // namespace ggemm::tools
