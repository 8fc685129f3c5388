// SPDX-License-Identifier: Apache-2.0
// The part of the cuBLAS and cuBLASLt ABI that the benchmark uses, declared by ourselves; both libraries are opened at run time.
// https://docs.nvidia.com/cuda/cublas: cublasLtMatmul, cublasGemmGroupedBatchedEx
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/case.hpp"

namespace ggemm::bench::blas {

using Handle = struct OpaqueLtHandle*;
using Desc = struct OpaqueLtDesc*;
using Matrix = struct OpaqueLtMatrix*;
using Preference = struct OpaqueLtPreference*;
using BlasHandle = struct OpaqueBlasHandle*;

enum DataType : int { r_32f = 0, r_64f = 1, r_16f = 2, r_8i = 3, r_32i = 10, r_16bf = 14, r_8f_e4m3 = 28 };  // cudaDataType
enum ComputeType : int { compute_32f = 68, compute_64f = 70, compute_32i = 72, compute_32f_tf32 = 77 };      // cublasComputeType_t
enum Operation : int { op_n = 0, op_t = 1 };
enum DescAttribute : int { desc_transa = 3, desc_transb = 4, desc_a_scale_pointer = 17, desc_b_scale_pointer = 18, desc_a_scale_mode = 31, desc_b_scale_mode = 32 };
enum LayoutAttribute : int { layout_batch_count = 5, layout_batch_stride = 6 };
enum ScaleMode : int { scale_outer_vector = 3, scale_1x128 = 4, scale_128x128 = 5 };  // since 12.9, on Hopper; one number, which is older, is the default
enum PreferenceAttribute : int {
  prefer_workspace_bytes = 1,
  prefer_alignment_a = 5,
  prefer_alignment_b = 6,
  prefer_alignment_c = 7,
  prefer_alignment_d = 8,
  prefer_average_k = 13,  // grouped
  prefer_average_rows_d = 14,
  prefer_average_cols_d = 15,
};

struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int state;  // 0: usable
  float waves;
  int reserved[4];
};

struct Library {
  std::string path;
  std::size_t version = 0;

  int (*create)(Handle*);
  std::size_t (*get_version)();
  int (*desc_create)(Desc*, int compute, int scale);
  int (*desc_destroy)(Desc);
  int (*desc_set)(Desc, int attribute, const void*, std::size_t);
  int (*matrix_create)(Matrix*, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld);
  int (*matrix_destroy)(Matrix);
  int (*matrix_set)(Matrix, int attribute, const void*, std::size_t);
  int (*preference_create)(Preference*);
  int (*preference_destroy)(Preference);
  int (*preference_set)(Preference, int attribute, const void*, std::size_t);
  int (*heuristics)(Handle, Desc, Matrix a, Matrix b, Matrix c, Matrix d, Preference, int requested, Heuristic*, int* found);
  int (*matmul)(Handle, Desc, const void* alpha, const void* a, Matrix, const void* b, Matrix, const void* beta, const void* c, Matrix, void* d,
                Matrix, const Algorithm*, void* workspace, std::size_t workspace_bytes, void* stream);
  // NULL before 13.1: rows, columns and leading dimensions are int32 arrays in device memory.
  int (*grouped_matrix_create)(Matrix*, int type, int groups, const void* rows, const void* cols, const void* ld);
  Handle handle = nullptr;

  // NULL where there is no libcublas beside it.
  int (*set_stream)(BlasHandle, void*);
  int (*grouped_batched)(BlasHandle, const int* transa, const int* transb, const int* m, const int* n, const int* k, const void* alphas,
                         const void* const* a, int type_a, const int* lda, const void* const* b, int type_b, const int* ldb, const void* betas,
                         void* const* c, int type_c, const int* ldc, int groups, const int* group_sizes, int compute);
  BlasHandle blas_handle = nullptr;

  std::string version_text() const;
};

// `path`: libcublasLt's file, or "" to search: loaded already, the dynamic loader, pip's wheels, $CUDA_HOME. NULL with the reason in `why`.
// The CUDA context to use must be current.
std::unique_ptr<Library> open(const std::string& path, std::string& why);

struct Types {
  DataType input, output, scale;
  ComputeType compute;
};
Types types_of(const Case& one);

// 1 and 0 in a scale type, in static memory.
const void* one(DataType scale);
const void* zero(DataType scale);

}  // namespace ggemm::bench::blas
