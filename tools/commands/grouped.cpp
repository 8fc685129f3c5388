// SPDX-License-Identifier: Apache-2.0
// ggemm grouped: many products of .npy files in one call.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "commands.hpp"
#include "common/context.hpp"
#include "common/failure.hpp"
#include "common/mean_size.hpp"
#include "common/operands.hpp"
#include "common/output.hpp"

namespace ggemm::tools {
namespace {

constexpr double check_limit = 4e9;  // multiplications of --check, all groups together

struct Options {
  DeviceOptions device;
  ProductOptions product;
  std::vector<std::string> a, b;
  std::string ends, output, bias;
};

// The groups as views into a few arrays.
struct Group {
  MatrixView a, b, d;
  const Array* a_array = nullptr;
  const Array* b_array = nullptr;
  Array* d_array = nullptr;
  const char* bias = nullptr;  // in `bias` of Job
};

struct Job {
  std::vector<Array> a, b, d;
  Array bias;  // [n], or [groups, n]; no bytes without a bias
  std::vector<Group> groups;
  std::vector<std::int64_t> ends;  // of the groups' rows, where one A is split
  bool one_file = false;  // D is one array
};

long long ll(std::int64_t value) { return value; }

std::vector<Array> read_all(const std::vector<std::string>& paths, const ProductOptions& product, bool first) {
  std::vector<Array> out;
  for (const std::string& path : paths) {
    out.push_back(first ? product.read_a(path) : product.read_b(path));
    if (out.back().dtype != out.front().dtype) {
      fail_usage("%s is %s and %s is %s: the groups must agree", paths.front().c_str(), ggemm_dtype_name(out.front().dtype), path.c_str(),
                 ggemm_dtype_name(out.back().dtype));
    }
  }
  return out;
}

// The rows of one matrix A, cut at `ends`, each piece against one matrix of a 3-D B.
void split_rows(const Options& options, Job& job) {
  require_dimensions(job.a[0], 2);
  require_dimensions(job.b[0], 3);
  job.ends = read_npy_integers(options.ends);
  const std::vector<std::int64_t>& ends = job.ends;
  const Array& weights = job.b[0];
  const auto experts = static_cast<std::int64_t>(ends.size());
  if (weights.shape[0] != experts) fail_usage("%s has %lld ends, %s", options.ends.c_str(), ll(experts), described(weights, false).c_str());
  const MatrixView all = view(job.a[0], options.product.trans_a);
  std::int64_t begin = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    if (ends[std::size_t(e)] < begin || ends[std::size_t(e)] > all.rows) {
      fail_usage("%s: end %lld is %lld, after %lld and with %lld rows: ends must not fall or pass the last row", options.ends.c_str(), ll(e),
                 ll(ends[std::size_t(e)]), ll(begin), ll(all.rows));
    }
    Group group;
    group.a = all;
    group.a.rows = ends[std::size_t(e)] - begin;
    group.a.base = static_cast<const char*>(all.base) + begin * all.row_stride * static_cast<std::int64_t>(ggemm_dtype_size(all.dtype));
    group.b = view(weights, options.product.trans_b, e);
    group.a_array = &job.a[0];
    group.b_array = &weights;
    job.groups.push_back(group);
    begin = ends[std::size_t(e)];
  }
  if (begin != all.rows) fail_usage("%s: the last end is %lld, but there are %lld rows", options.ends.c_str(), ll(begin), ll(all.rows));
}

// Lists of matrices, or stacks of them; a single B serves all groups.
void pair_up(const Options& options, Job& job) {
  const bool stacked = job.a.size() == 1 && job.a[0].shape.size() == 3;
  if (!stacked)
    for (const Array& array : job.a) require_dimensions(array, 2);
  const bool b_stacked = job.b.size() == 1 && job.b[0].shape.size() == 3;
  if (!b_stacked)
    for (const Array& array : job.b) require_dimensions(array, 2);
  const std::int64_t count = stacked ? job.a[0].shape[0] : std::int64_t(job.a.size());
  const std::int64_t b_count = b_stacked ? job.b[0].shape[0] : std::int64_t(job.b.size());
  const bool shared = !b_stacked && job.b.size() == 1;
  if (!shared && b_count != count) fail_usage("--a has %lld matrices and --b has %lld", ll(count), ll(b_count));
  for (std::int64_t g = 0; g < count; ++g) {
    Group group;
    group.a_array = &job.a[stacked ? 0 : std::size_t(g)];
    group.b_array = &job.b[b_stacked || shared ? 0 : std::size_t(g)];
    group.a = view(*group.a_array, options.product.trans_a, g);
    group.b = view(*group.b_array, options.product.trans_b, g);
    job.groups.push_back(group);
  }
  job.one_file = stacked;
}

void check_inner(const Options& options, const Job& job) {
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    const Group& group = job.groups[g];
    if (group.a.cols == group.b.rows) continue;
    fail_usage("k differs in group %zu: %s (k=%lld), %s (k=%lld)", g, described(*group.a_array, options.product.trans_a).c_str(), ll(group.a.cols),
               described(*group.b_array, options.product.trans_b).c_str(), ll(group.b.rows));
  }
}

// One array for all groups where their rows follow each other or are a stack, else one a group.
void make_outputs(const Options& options, Job& job, ggemm_dtype dtype) {
  if (!options.ends.empty()) {
    const std::int64_t n = job.b[0].shape[options.product.trans_b ? 1 : 2];
    job.d.push_back(make_array(dtype, {view(job.a[0], options.product.trans_a).rows, n}));
    const MatrixView all = view(job.d[0]);
    std::int64_t begin = 0;
    for (Group& group : job.groups) {
      group.d = all;
      group.d.rows = group.a.rows;
      group.d.base = job.d[0].bytes.data() + begin * n * static_cast<std::int64_t>(ggemm_dtype_size(dtype));
      begin += group.a.rows;
    }
    job.one_file = true;
  } else if (job.one_file) {
    const std::int64_t m = job.groups.empty() ? 0 : job.groups[0].a.rows, n = job.groups.empty() ? 0 : job.groups[0].b.cols;
    job.d.push_back(make_array(dtype, {std::int64_t(job.groups.size()), m, n}));
    for (std::size_t g = 0; g < job.groups.size(); ++g) job.groups[g].d = view(job.d[0], false, std::int64_t(g));
  } else {
    for (const Group& group : job.groups) job.d.push_back(make_array(dtype, {group.a.rows, group.b.cols}));
    for (std::size_t g = 0; g < job.groups.size(); ++g) job.groups[g].d = view(job.d[g]);
  }
  for (std::size_t g = 0; g < job.groups.size(); ++g) job.groups[g].d_array = &job.d[job.one_file ? 0 : g];
}

void read_bias(const Options& options, Job& job, ggemm_dtype dtype) {
  if (options.bias.empty()) return;
  job.bias = read_npy(options.bias, dtype);
  const std::vector<std::int64_t>& shape = job.bias.shape;
  const bool each = shape.size() == 2;
  if ((shape.size() != 1 && !each) || (each && shape[0] != std::int64_t(job.groups.size()))) {
    fail_usage("%s: [n] or [%zu,n] is wanted, the array is %s", options.bias.c_str(), job.groups.size(), job.bias.shape_text().c_str());
  }
  if (each && job.bias.strides[1] != 1 && shape[1] > 1)
    fail_usage("%s: the bias of a group must be contiguous, the file is in Fortran order", options.bias.c_str());
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    Group& group = job.groups[g];
    if (shape.back() != group.b.cols)
      fail_usage("%s has %lld elements a group, but group %zu has %lld columns", options.bias.c_str(), ll(shape.back()), g, ll(group.b.cols));
    group.bias = job.bias.bytes.data() + (each ? std::int64_t(g) * job.bias.strides[0] * std::int64_t(ggemm_dtype_size(job.bias.dtype)) : 0);
  }
}

Job read_job(const Options& options) {
  Job job;
  job.a = read_all(options.a, options.product, true);
  job.b = read_all(options.b, options.product, false);
  if (!options.ends.empty()) {
    if (job.a.size() != 1 || job.b.size() != 1)
      fail_usage("--ends takes one file for --a and one for --b, not %zu and %zu", job.a.size(), job.b.size());
    split_rows(options, job);
  } else {
    pair_up(options, job);
  }
  check_inner(options, job);
  const ggemm_dtype dtype = options.product.out(job.a[0].dtype, job.b[0].dtype);
  make_outputs(options, job, dtype);
  read_bias(options, job, dtype);
  const bool numbered = options.output.find("{}") != std::string::npos;
  if (!job.one_file && !numbered && job.d.size() != 1)
    fail_usage("-o %s: %zu results need a name with {} in it, which stands for the group's number", options.output.c_str(), job.d.size());
  return job;
}

// What the device reads: sizes and strides of a group in one record.
struct Record {
  std::int64_t m, n, k, a_row, a_col, b_row, b_col, d_row, d_col;
};

// Every array of the job in device memory, and the arrays of pointers and sizes that the grouped call takes.
class DeviceJob {
 public:
  DeviceJob(DeviceMemory& memory, const Job& job) : job_(job) {
    const auto upload = [&memory](const std::vector<Array>& arrays, std::vector<DeviceBlock>& blocks) {
      for (const Array& array : arrays) blocks.emplace_back(memory, array.bytes.data(), array.bytes.size());
    };
    upload(job.a, a_);
    upload(job.b, b_);
    upload(job.d, d_);
    bias_ = DeviceBlock(memory, job.bias.bytes.data(), job.bias.bytes.size());
    std::vector<Record> records;
    std::vector<char*> pointers[4];
    for (const Group& g : job.groups) {
      records.push_back({g.d.rows, g.d.cols, g.a.cols, g.a.row_stride, g.a.col_stride, g.b.row_stride, g.b.col_stride, g.d.row_stride, g.d.col_stride});
      pointers[0].push_back(on_device(a_[std::size_t(g.a_array - job.a.data())], *g.a_array, g.a));
      pointers[1].push_back(on_device(b_[std::size_t(g.b_array - job.b.data())], *g.b_array, g.b));
      pointers[2].push_back(on_device(d_[std::size_t(g.d_array - job.d.data())], *g.d_array, g.d));
      pointers[3].push_back(g.bias && bias_.data() ? bias_.data() + (g.bias - job.bias.bytes.data()) : nullptr);
    }
    if (split()) first_ = {pointers[0][0], pointers[1][0], pointers[2][0], pointers[3][0]};
    ends_ = DeviceBlock(memory, job.ends.data(), job.ends.size() * sizeof(std::int64_t));
    records_ = DeviceBlock(memory, records.data(), records.size() * sizeof(Record));
    for (int i = 0; i < 4; ++i) pointers_[i] = DeviceBlock(memory, pointers[i].data(), pointers[i].size() * sizeof(char*));
  }

  ggemm_grouped_desc describe(const ProductOptions& product) const {
    ggemm_grouped_desc desc = GGEMM_GROUPED_DESC_INIT;
    desc.groups = static_cast<std::int64_t>(job_.groups.size());
    desc.m = field(offsetof(Record, m));
    desc.n = field(offsetof(Record, n));
    desc.k = field(offsetof(Record, k));
    desc.a = matrix(job_.a[0].dtype, &Group::a, offsetof(Record, a_row));
    desc.b = matrix(job_.b[0].dtype, &Group::b, offsetof(Record, b_row));
    desc.d = matrix(product.out(job_.a[0].dtype, job_.b[0].dtype), &Group::d, offsetof(Record, d_row));
    desc.compute = product.compute;
    product.apply(desc.epilogue);
    if (!job_.bias.shape.empty()) {
      desc.epilogue.bias = GGEMM_BIAS_PER_COLUMN;
      desc.epilogue.bias_dtype = job_.bias.dtype;
    }
    const auto mean = [this](auto value) {
      std::int64_t sum = 0, counted = 0;
      for (const Group& group : job_.groups)
        if (group.d.rows > 0 || !split()) sum += value(group), ++counted;
      return mean_size(sum, counted);
    };
    desc.expected_m = mean([](const Group& g) { return g.d.rows; });
    for (const Group& group : job_.groups) desc.expected_largest_m = std::max(desc.expected_largest_m, group.d.rows);
    desc.expected_n = mean([](const Group& g) { return g.d.cols; });
    desc.expected_k = mean([](const Group& g) { return g.a.cols; });
    if (!product.config.empty()) desc.config = product.config.c_str();
    if (split()) describe_rows(desc);
    return desc;
  }

  ggemm_grouped_args args() const {
    ggemm_grouped_args args = GGEMM_GROUPED_ARGS_INIT;
    args.a = pointers_[0].data();
    args.b = pointers_[1].data();
    args.d = pointers_[2].data();
    args.bias = job_.bias.shape.empty() ? nullptr : pointers_[3].data();
    if (split()) args.a = first_[0], args.b = first_[1], args.d = first_[2], args.bias = first_[3];
    return args;
  }

  void copy_out(std::vector<Array>& d) const {
    for (std::size_t i = 0; i < d.size(); ++i) d_[i].copy_out(d[i].bytes.data());
  }

 private:
  // Rows of one A and one D, cut at the ends.
  bool split() const { return !job_.ends.empty(); }
  void describe_rows(ggemm_grouped_desc& desc) const {
    const Group& first = job_.groups[0];
    desc.form = GGEMM_GROUPS_RAGGED_M;
    desc.m = ggemm_const(job_.ends.back()), desc.n = ggemm_const(first.b.cols), desc.k = ggemm_const(first.b.rows);
    desc.ends = ggemm_i64_at(ends_.data(), sizeof(std::int64_t));
    const auto strides = [](ggemm_grouped_matrix& matrix, const MatrixView& view) {
      matrix.row_stride = ggemm_const(view.row_stride), matrix.col_stride = ggemm_const(view.col_stride);
    };
    strides(desc.a, first.a);
    strides(desc.b, first.b);
    strides(desc.d, first.d);
    desc.b.group_stride = job_.b[0].strides[0];
    if (job_.bias.shape.size() == 1) desc.bias_group_stride = 0;
    if (job_.bias.shape.size() == 2) desc.bias_group_stride = job_.bias.strides[0];
  }
  ggemm_source field(std::size_t offset) const { return ggemm_i64_at(records_.data() + offset, sizeof(Record)); }
  // A unit stride of all groups is said as a constant: the library compiles for it.
  ggemm_grouped_matrix matrix(ggemm_dtype dtype, MatrixView Group::*member, std::size_t row_offset) const {
    const auto all_one = [&](std::int64_t MatrixView::*stride) {
      return std::all_of(job_.groups.begin(), job_.groups.end(), [&](const Group& group) { return group.*member.*stride == 1; });
    };
    ggemm_grouped_matrix out = GGEMM_GROUPED_MATRIX_INIT_;
    out.dtype = dtype;
    if (job_.groups.empty()) return out;
    out.row_stride = all_one(&MatrixView::row_stride) && !all_one(&MatrixView::col_stride) ? ggemm_const(1) : field(row_offset);
    out.col_stride = all_one(&MatrixView::col_stride) ? ggemm_const(1) : field(row_offset + sizeof(std::int64_t));
    return out;
  }

  const Job& job_;
  std::vector<DeviceBlock> a_, b_, d_;
  DeviceBlock bias_, ends_, records_, pointers_[4];
  std::array<char*, 4> first_{};  // A, B, D and bias of the first group
};

void multiply(const Options& options, ggemm_context* context, Job& job) {
  const auto memory = DeviceMemory::create(device_info(context));
  const DeviceJob device(*memory, job);
  const ggemm_grouped_desc desc = device.describe(options.product);
  ggemm_plan* made = nullptr;
  check(ggemm_plan_create_grouped(context, &desc, &made));
  const Plan plan(made);
  const Scalar alpha = make_scalar(options.product.alpha, desc.a.dtype, desc.b.dtype, desc.d.dtype, "--alpha");
  ggemm_grouped_args args = device.args();
  args.alpha = alpha.bytes;
  check(ggemm_plan_run_grouped(plan.get(), &args, nullptr));
  memory->synchronize();
  device.copy_out(job.d);
  if (options.product.explain) std::printf("%s\n", explain(plan.get()).c_str());
}

ErrorReport check_groups(const Options& options, const Job& job) {
  ErrorReport total;
  for (const Group& group : job.groups) {
    ReferenceProduct reference;
    reference.a = group.a;
    reference.b = group.b;
    reference.d = group.d;
    options.product.apply(reference);
    if (group.bias) {
      reference.bias = GGEMM_BIAS_PER_COLUMN;
      reference.bias_dtype = job.bias.dtype;
      reference.bias_data = group.bias;
    }
    total.add(check_rows(reference, sample_rows(group.d.rows, group.d.cols, group.a.cols, check_limit / double(job.groups.size()))));
  }
  return total;
}

std::string numbered(const std::string& pattern, std::size_t number) {
  const std::size_t at = pattern.find("{}");
  return at == std::string::npos ? pattern : pattern.substr(0, at) + std::to_string(number) + pattern.substr(at + 2);
}

void run(const Options& options) {
  options.product.activation.check();
  Job job = read_job(options);
  for (std::size_t i = 0; i < job.d.size(); ++i) check_output(numbered(options.output, i), npy_begin);
  const Context context = options.device.create();
  multiply(options, context.get(), job);
  for (std::size_t i = 0; i < job.d.size(); ++i) write_npy(numbered(options.output, i), job.d[i]);
  std::printf("%s: %zu groups on %s\n", options.output.c_str(), job.groups.size(), describe(device_info(context.get())).c_str());
  if (!options.product.check) return;
  const ErrorReport report = check_groups(options, job);
  print_error(report, options.output);
  if (!report.passed()) throw Failure(exit_failure, "");
}

}  // namespace

void add_grouped(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("grouped", "Multiply many pairs of matrices in one call");
  command->add_option("--a", options->a, "A of each group [m,k]; one 3-D file; or with --ends one file whose rows are split")
      ->required()
      ->type_name("FILE");
  command->add_option("--b", options->b, "B of each group [k,n]; one 3-D file; or one for all")->required()->type_name("FILE");
  command->add_option("--ends", options->ends, "integers: where each group's rows of A end; equal ends are an empty group")->type_name("FILE");
  command->add_option("-o,--output", options->output, "D; {} in the name stands for the group's number")->required()->type_name("FILE");
  command->add_option("--bias", options->bias, "added to each row: [n] for all groups or [groups,n]")->type_name("FILE");
  options->product.add_to(*command);
  options->device.add_to(*command);
  command->footer(
      "  ggemm grouped --a a0.npy a1.npy --b b0.npy b1.npy -o d{}.npy\n  ggemm grouped --a tokens.npy --b experts.npy --ends ends.npy -o d.npy");
  command->callback([options] { run(*options); });
}

}  // namespace ggemm::tools
