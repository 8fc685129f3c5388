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
  ggemm_add_conformance_test("all modes, few cases" --cases 60 --grouped-cases 30 --work 30000)
else()
  ggemm_add_conformance_test("5,000 exact products" --mode exact --cases 3500 --grouped-cases 1500 --work 250000)
  ggemm_add_conformance_test("real products within the bound" --mode real --cases 1000 --grouped-cases 400 --work 250000)
  ggemm_add_conformance_test("operands at unmapped pages" --mode guard --cases 500 --grouped-cases 250 --work 250000)
  ggemm_add_conformance_test("degenerate products and every configuration" --mode degenerate,configs)
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
  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/gpu/run.sh ${CMAKE_CURRENT_SOURCE_DIR}/gpu/report.py ${suite}/
  DEPENDS ${suite_programs} ggemm
  VERBATIM)
