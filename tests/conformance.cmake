# SPDX-License-Identifier: Apache-2.0
# Random products against the reference: on the host as tests, on a GPU by gpu/run.sh from a folder that can be carried there.
file(GLOB conformance_sources CONFIGURE_DEPENDS conformance/*.cpp)
add_executable(ggemm_conformance ${conformance_sources})
file(GLOB gpu_sources CONFIGURE_DEPENDS gpu/*.cpp)
add_executable(ggemm_gpu_capture ${gpu_sources})
foreach(program ggemm_conformance ggemm_gpu_capture)
  target_link_libraries(${program} PRIVATE ggemm_test_support ggemm_build ggemm)
endforeach()

# ggemm_add_conformance_test(<name> <argument>...)
function(ggemm_add_conformance_test name)
  add_test(NAME "conformance: ${name}" COMMAND ggemm_conformance --device host ${ARGN})
  set_tests_properties("conformance: ${name}" PROPERTIES LABELS conformance TIMEOUT 900)
endfunction()
if(GGEMM_SANITIZE)
  ggemm_add_conformance_test("all modes, few cases" --kernels 60 --per-kernel 2 --work 30000)
else()
  ggemm_add_conformance_test("5,000 exact products" --mode kernels --values exact --kernels 1000 --per-kernel 5)
  ggemm_add_conformance_test("real products within the bound" --mode kernels --values real --kernels 600 --per-kernel 5)
  ggemm_add_conformance_test("degenerate products" --mode degenerate)
  # The way of the GPU suite through the fake driver: kernels are listed, compiled and launched, compute nothing, and must be found out.
  set(fake "conformance: kernels that compute nothing are found wrong")
  add_test(NAME ${fake} COMMAND ggemm_conformance --device cuda --memory exact --mode kernels --values exact --kernels 4 --per-kernel 4 --work 20000)
  set_tests_properties(${fake} PROPERTIES LABELS conformance TIMEOUT 900 ENVIRONMENT "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:ggemm_fake_driver>"
    PASS_REGULAR_EXPRESSION "must be exactly" SKIP_REGULAR_EXPRESSION "NVRTC, which compiles the kernels, cannot be used")
  add_dependencies(ggemm_conformance ggemm_fake_driver)
endif()

# Everything that gpu/run.sh needs, in one folder: cmake --build <build> --target ggemm_gpu_suite, then carry <build>/gpu.
set(suite ${PROJECT_BINARY_DIR}/gpu)
set(suite_programs ggemm_conformance ggemm_gpu_capture)
if(TARGET ggemm_cli)
  list(APPEND suite_programs ggemm_cli)
endif()
set(suite_commands)
foreach(program IN LISTS suite_programs)
  list(APPEND suite_commands COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:${program}> ${suite}/bin/)
endforeach()
add_custom_target(ggemm_gpu_suite
  COMMAND ${CMAKE_COMMAND} -E make_directory ${suite}/bin ${suite}/lib
  ${suite_commands}
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:ggemm> ${suite}/lib/$<TARGET_SONAME_FILE_NAME:ggemm>
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:ggemm> ${suite}/lib/libggemm.so
  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/gpu/run.sh ${CMAKE_CURRENT_SOURCE_DIR}/gpu/chosen.sh ${CMAKE_CURRENT_SOURCE_DIR}/gpu/sanitized.txt ${CMAKE_CURRENT_SOURCE_DIR}/gpu/report.py ${suite}/
  DEPENDS ${suite_programs} ggemm
  VERBATIM)
