// SPDX-License-Identifier: Apache-2.0
// Row-major D = A B is column-major D^T = B^T A^T: cuBLAS's first operand is our B, its second our A, its rows are our columns.
#include "bench/cublas.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "bench/cublas_scales.hpp"
#include "common/failure.hpp"

namespace ggemm::bench {
namespace {

constexpr size_t workspace_bytes = size_t{64} << 20;
constexpr int requested_heuristics = 64;

void check(int status, const char* function) {
  if (status != 0) tools::fail("%s gives status %d", function, status);
}

// The descriptions of one product, destroyed together.
class Problem {
 public:
  Problem(const blas::Library& library, const Case& one) : library_(library), types_(blas::types_of(one)), accumulate_(one.accumulate) {
    const std::string& layout = one.layout;
    check(library.desc_create(&desc, types_.compute, types_.scale), "cublasLtMatmulDescCreate");
    const std::int32_t op_first = layout[1] == 't' ? blas::op_t : blas::op_n, op_second = layout[0] == 't' ? blas::op_t : blas::op_n;
    check(library.desc_set(desc, blas::desc_transa, &op_first, sizeof op_first), "cublasLtMatmulDescSetAttribute (transa)");
    check(library.desc_set(desc, blas::desc_transb, &op_second, sizeof op_second), "cublasLtMatmulDescSetAttribute (transb)");
    check(library.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t bytes = workspace_bytes;
    check(library.preference_set(preference, blas::prefer_workspace_bytes, &bytes, sizeof bytes), "cublasLtMatmulPreferenceSetAttribute (workspace)");
  }
  ~Problem() {
    for (const blas::Matrix matrix : {first, second, result})
      if (matrix) library_.matrix_destroy(matrix);
    if (preference) library_.preference_destroy(preference);
    if (desc) library_.desc_destroy(desc);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // A row-major view is a column-major matrix with rows and columns exchanged.
  void set_views(const View& a, const View& b, const View& d) {
    const auto create = [&](blas::Matrix& matrix, blas::DataType type, const View& view) {
      check(library_.matrix_create(&matrix, type, static_cast<std::uint64_t>(view.cols), static_cast<std::uint64_t>(view.rows), view.ld),
            "cublasLtMatrixLayoutCreate");
    };
    create(first, types_.input, b);
    create(second, types_.input, a);
    create(result, types_.output, d);
  }
  void set_batch(const Layout& layout) {
    const std::int32_t count = static_cast<std::int32_t>(layout.d.size());
    const std::pair<blas::Matrix, std::int64_t> strides[] = {{first, distance(layout.b)}, {second, distance(layout.a)}, {result, distance(layout.d)}};
    for (const auto& [matrix, stride] : strides) {
      check(library_.matrix_set(matrix, blas::layout_batch_count, &count, sizeof count), "cublasLtMatrixLayoutSetAttribute (batch count)");
      check(library_.matrix_set(matrix, blas::layout_batch_stride, &stride, sizeof stride), "cublasLtMatrixLayoutSetAttribute (batch stride)");
    }
  }
  // a, b: those of our A and B; false where the library does not know such scales. `scales` owns them, and lives as long as this.
  bool set_scales(const std::shared_ptr<const LtScales>& scales, const void* a, const void* b) {
    scales_ = scales;
    const auto set = [&](int attribute, const auto& value) { return library_.desc_set(desc, attribute, &value, sizeof value) == 0; };
    const bool row = scales->scaling() == Scaling::row;
    const std::int32_t of_a = row ? blas::scale_outer_vector : blas::scale_1x128, of_b = row ? blas::scale_outer_vector : blas::scale_128x128;
    if (scales->scaling() != Scaling::tensor && !(set(blas::desc_a_scale_mode, of_b) && set(blas::desc_b_scale_mode, of_a))) return false;
    return set(blas::desc_a_scale_pointer, b) && set(blas::desc_b_scale_pointer, a);
  }
  // What the pointers allow, else an address off 16 bytes is refused.
  void set_alignments(const void* a, const void* b, const void* d) {
    const std::pair<int, const void*> given[] = {
        {blas::prefer_alignment_a, b}, {blas::prefer_alignment_b, a}, {blas::prefer_alignment_c, d}, {blas::prefer_alignment_d, d}};
    for (const auto& [attribute, pointer] : given) {
      const auto address = reinterpret_cast<std::uintptr_t>(pointer);
      const std::uint32_t alignment = static_cast<std::uint32_t>(std::min<std::uintptr_t>(256, address & (~address + 1)));
      check(library_.preference_set(preference, attribute, &alignment, sizeof alignment), "cublasLtMatmulPreferenceSetAttribute (alignment)");
    }
  }
  std::vector<blas::Heuristic> heuristics(int requested) const {
    std::vector<blas::Heuristic> out(static_cast<size_t>(requested));
    int found = 0;
    if (library_.heuristics(library_.handle, desc, first, second, result, result, preference, requested, out.data(), &found) != 0) found = 0;
    out.resize(static_cast<size_t>(found));
    std::erase_if(out, [](const blas::Heuristic& h) { return h.state != 0; });
    return out;
  }
  // a, b and d are ours; for a grouped problem, device arrays of pointers.
  void run(const blas::Algorithm& algorithm, const void* a, const void* b, void* d, const cuda::Buffer& workspace, void* stream) const {
    const void *alpha = blas::one(types_.scale), *beta = accumulate_ ? blas::one(types_.scale) : blas::zero(types_.scale);
    check(library_.matmul(library_.handle, desc, alpha, b, first, a, second, beta, d, result, d, result, &algorithm, workspace.data(),
                          workspace.size(), stream),
          "cublasLtMatmul");
  }

  blas::Desc desc = nullptr;
  blas::Preference preference = nullptr;
  blas::Matrix first = nullptr, second = nullptr, result = nullptr;

 private:
  const blas::Library& library_;
  blas::Types types_;
  bool accumulate_;
  std::shared_ptr<const LtScales> scales_;
};

}  // namespace

Cublas::Cublas(const blas::Library* library, Gpu& gpu) : library_(library), gpu_(gpu) {
  if (library) workspace_ = std::make_shared<cuda::Buffer>(gpu.device(), workspace_bytes, gpu.stream());
}

std::vector<std::vector<Peer>> Cublas::families(const Case& one, const Operands& operands) const {
  std::vector<std::vector<Peer>> out;
  if (!library_ || one.form == Form::gathered || one.form == Form::scattered) return out;
  if (!one.grouped() || one.form == Form::batch) out.push_back(algorithms(one, operands));
  if (!one.grouped()) return out;
  for (auto make : {&Cublas::loop, &Cublas::grouped_batched, &Cublas::device_grouped}) {
    Peer peer = (this->*make)(one, operands);
    if (peer.launch) out.push_back({std::move(peer)});
  }
  return out;
}

std::vector<Peer> Cublas::algorithms(const Case& one, const Operands& operands) const {
  std::vector<Peer> out;
  if (!library_) return out;
  auto problem = std::make_shared<Problem>(*library_, one);
  problem->set_views(operands.layout().a[0], operands.layout().b[0], operands.layout().d[0]);
  if (one.grouped()) problem->set_batch(operands.layout());
  if (one.scaling != Scaling::none) {
    const auto scales = LtScales::make(one, operands, gpu_);
    if (!scales || !problem->set_scales(scales, scales->a(0), scales->b(0))) return out;
  }
  const void *a = operands.a(), *b = operands.b();
  void* d = operands.d_peer();
  problem->set_alignments(a, b, d);
  for (const blas::Heuristic& heuristic : problem->heuristics(requested_heuristics))
    out.push_back({one.grouped() ? "cublaslt-batch" : "cublaslt", [=, algorithm = heuristic.algorithm, workspace = workspace_, stream = gpu_.stream()] {
                     problem->run(algorithm, a, b, d, *workspace, stream);
                   }});
  return out;
}

// One call a group, each with the algorithm that the heuristics put first for its size.
Peer Cublas::loop(const Case& one, const Operands& operands) const {
  struct Step {
    std::shared_ptr<Problem> problem;
    blas::Algorithm algorithm;
    size_t group;
    const void *a, *b;
    void* d;
  };
  std::shared_ptr<const LtScales> scales;
  if (one.scaling != Scaling::none && !(scales = LtScales::make(one, operands, gpu_))) return {};
  using Known = std::pair<std::shared_ptr<Problem>, blas::Algorithm>;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Known> by_size;
  std::vector<Step> steps;
  for (size_t g = 0; g < one.groups.size(); g++) {
    const Size& size = one.groups[g];
    if (!size.m || !size.n || !size.k) continue;
    Known& known = by_size[{size.m, size.n, size.k}];
    if (!known.first) {
      auto problem = std::make_shared<Problem>(*library_, one);
      problem->set_views(operands.layout().a[g], operands.layout().b[g], operands.layout().d[g]);
      problem->set_alignments(operands.a(g), operands.b(g), operands.d_peer(g));
      if (scales && !problem->set_scales(scales, scales->a(g), scales->b(g))) return {};
      const std::vector<blas::Heuristic> found = problem->heuristics(1);
      if (found.empty()) return {};
      known = {problem, found[0].algorithm};
    }
    steps.push_back({known.first, known.second, g, operands.a(g), operands.b(g), operands.d_peer(g)});
  }
  return {"cublaslt-loop", [steps, scales, workspace = workspace_, stream = gpu_.stream()] {
            for (const Step& step : steps) {
              if (scales) step.problem->set_scales(scales, scales->a(step.group), scales->b(step.group));
              step.problem->run(step.algorithm, step.a, step.b, step.d, *workspace, stream);
            }
          }};
}

Peer Cublas::grouped_batched(const Case& one, const Operands& operands) const {
  const Type& type = type_named(one.dtype);
  if (!library_->grouped_batched || type.input == GGEMM_E4M3 || type.input == GGEMM_I8) return {};
  struct Arrays {
    std::vector<int> op_first, op_second, m, n, k, ld_first, ld_second, ld_result, ones;
    std::vector<float> alpha, beta;
    std::vector<double> alpha_f64, beta_f64;
  };
  const size_t groups = one.groups.size();
  auto arrays = std::make_shared<Arrays>();
  arrays->op_first.assign(groups, one.layout[1] == 't' ? blas::op_t : blas::op_n);
  arrays->op_second.assign(groups, one.layout[0] == 't' ? blas::op_t : blas::op_n);
  arrays->ones.assign(groups, 1);
  const int beta = one.accumulate ? 1 : 0;
  arrays->alpha.assign(groups, 1), arrays->beta.assign(groups, static_cast<float>(beta));
  arrays->alpha_f64.assign(groups, 1), arrays->beta_f64.assign(groups, beta);
  for (size_t g = 0; g < groups; g++) {
    arrays->m.push_back(static_cast<int>(one.groups[g].n));
    arrays->n.push_back(static_cast<int>(one.groups[g].m));
    arrays->k.push_back(static_cast<int>(one.groups[g].k));
    arrays->ld_first.push_back(static_cast<int>(operands.layout().b[g].ld));
    arrays->ld_second.push_back(static_cast<int>(std::max<std::int64_t>(1, operands.layout().a[g].ld)));
    arrays->ld_result.push_back(static_cast<int>(operands.layout().d[g].ld));
  }
  const auto pointers = [&](char operand) { return static_cast<void* const*>(operands.pointers(operand)); };
  return {"cublas-grouped", [arrays, library = library_, types = blas::types_of(one), stream = gpu_.stream(), groups, a = pointers('a'),
                             b = pointers('b'), d = pointers('p')] {
            const Arrays& x = *arrays;
            const bool f64 = types.scale == blas::r_64f;
            const void* alpha = f64 ? static_cast<const void*>(x.alpha_f64.data()) : x.alpha.data();
            const void* beta = f64 ? static_cast<const void*>(x.beta_f64.data()) : x.beta.data();
            check(library->set_stream(library->blas_handle, stream), "cublasSetStream");
            check(library->grouped_batched(library->blas_handle, x.op_first.data(), x.op_second.data(), x.m.data(), x.n.data(), x.k.data(), alpha, b,
                                           types.input, x.ld_first.data(), a, types.input, x.ld_second.data(), beta, d, types.output,
                                           x.ld_result.data(), static_cast<int>(groups), x.ones.data(), types.compute),
                  "cublasGemmGroupedBatchedEx");
          }};
}

// Sizes and leading dimensions in device memory, an int32 array each.
Peer Cublas::device_grouped(const Case& one, const Operands& operands) const {
  const Type& type = type_named(one.dtype);
  const bool offered = type.input == GGEMM_BF16 || type.input == GGEMM_F16 || type.input == GGEMM_E4M3;
  if (!library_->grouped_matrix_create || !offered || one.scaling == Scaling::row) return {};  // no scales by row on Hopper
  const size_t groups = one.groups.size();
  enum List { m, n, k, ld_a, ld_b, ld_d, lists };
  std::vector<std::int32_t> numbers(lists * groups);
  std::int64_t sums[3] = {};
  for (size_t g = 0; g < groups; g++) {
    const Size& size = one.groups[g];
    const Layout& layout = operands.layout();
    const std::int64_t of_group[lists] = {size.m, size.n, size.k, layout.a[g].ld, layout.b[g].ld, layout.d[g].ld};
    for (int list = 0; list < lists; list++) numbers[static_cast<size_t>(list) * groups + g] = static_cast<std::int32_t>(of_group[list]);
    for (int i = 0; i < 3; i++) sums[i] += of_group[i];
  }
  auto memory = std::make_shared<cuda::Buffer>(gpu_.device(), numbers.size() * sizeof(std::int32_t), gpu_.stream());
  gpu_.device().copy_to_device(memory->data(), numbers.data(), memory->size(), gpu_.stream());
  gpu_.synchronize();
  const auto at = [&](List list) { return static_cast<const std::int32_t*>(memory->data()) + static_cast<size_t>(list) * groups; };

  const blas::Types types = blas::types_of(one);
  auto problem = std::make_shared<Problem>(*library_, one);
  if (one.scaling != Scaling::none) {  // one number for all groups, or an array of matrices
    const auto scales = LtScales::make(one, operands, gpu_);
    const bool tensor = one.scaling == Scaling::tensor;
    if (!scales || !problem->set_scales(scales, tensor ? scales->a(0) : scales->pointers_a(), tensor ? scales->b(0) : scales->pointers_b())) return {};
  }
  const bool ta = one.layout[0] == 't', tb = one.layout[1] == 't';
  const auto create = [&](blas::Matrix& matrix, blas::DataType data, List rows, List cols, List ld) {
    check(library_->grouped_matrix_create(&matrix, data, static_cast<int>(groups), at(rows), at(cols), at(ld)), "cublasLtGroupedMatrixLayoutCreate");
  };
  try {
    create(problem->first, types.input, tb ? k : n, tb ? n : k, ld_b);
    create(problem->second, types.input, ta ? m : k, ta ? k : m, ld_a);
    create(problem->result, types.output, n, m, ld_d);
  } catch (const tools::Failure&) {
    return {};
  }
  // Hints for the heuristics; a version that does not know one does without it.
  const std::pair<int, std::int64_t> hints[] = {
      {blas::prefer_average_k, sums[k]}, {blas::prefer_average_rows_d, sums[n]}, {blas::prefer_average_cols_d, sums[m]}};
  for (const auto& [attribute, sum] : hints) {
    const std::int64_t average = std::max<std::int64_t>(1, sum / static_cast<std::int64_t>(groups));
    const std::uint32_t narrow = static_cast<std::uint32_t>(average);
    if (library_->preference_set(problem->preference, attribute, &average, sizeof average) != 0)
      library_->preference_set(problem->preference, attribute, &narrow, sizeof narrow);
  }
  const std::vector<blas::Heuristic> found = problem->heuristics(1);
  if (found.empty()) return {};
  return {"cublaslt-grouped",
          [problem, memory, algorithm = found[0].algorithm, workspace = workspace_, stream = gpu_.stream(), a = operands.pointers('a'),
           b = operands.pointers('b'), d = const_cast<void*>(operands.pointers('p'))] { problem->run(algorithm, a, b, d, *workspace, stream); }};
}

}  // namespace ggemm::bench
