# SPDX-License-Identifier: Apache-2.0
# `ggemm bench` as an archive, which the command line and the tests link: it needs ggemm's C API, and has its own copies of the driver loader and the compiler.
set(bench_kernels ${CMAKE_CURRENT_BINARY_DIR}/bench_kernels.cpp)
ggemm_embed(${bench_kernels} ${CMAKE_CURRENT_SOURCE_DIR}/bench/kernels bench/kernels.hpp ggemm::bench::kernel_files .cu .cuh)

# Looked up at each build; the file changes only when the commit does.
set(bench_commit ${CMAKE_CURRENT_BINARY_DIR}/bench_commit.cpp)
add_custom_target(
  ggemm_bench_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${bench_commit} -P ${CMAKE_CURRENT_SOURCE_DIR}/bench/commit.cmake
  BYPRODUCTS ${bench_commit}
  VERBATIM)

file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.cpp)
add_library(ggemm_bench STATIC ${bench_sources} ${bench_kernels} ${bench_commit})
add_dependencies(ggemm_bench ggemm_bench_commit)
target_link_libraries(ggemm_bench PUBLIC ggemm_tool_common)
