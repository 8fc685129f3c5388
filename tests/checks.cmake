# SPDX-License-Identifier: Apache-2.0
# Tests that are commands: the header, the ABI, the installed tree, the order of the layers, the examples.
set(python ${Python3_EXECUTABLE})

# --------------------------------------------------------------------------------------------------------- the header
set(strict -fsyntax-only -pedantic-errors -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}/include)
foreach(standard c99 c11 c17)
  add_test(NAME "abi: the header is ${standard}" COMMAND ${CMAKE_C_COMPILER} -std=${standard} ${strict} ${CMAKE_CURRENT_SOURCE_DIR}/abi/header.c)
endforeach()
add_test(NAME "abi: the header is c++20" COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 ${strict} -x c++ ${CMAKE_CURRENT_SOURCE_DIR}/abi/header.c)

# ------------------------------------------------------------------------------------------------------------- the ABI
add_test(NAME "abi: the library exports what symbols.txt lists"
         COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/abi/symbols.py --library $<TARGET_FILE:ggemm>)
add_test(NAME "abi: every function of the header is exported, and nothing else"
         COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/abi/symbols.py --library $<TARGET_FILE:ggemm> --header ${PROJECT_SOURCE_DIR}/include/ggemm.h)
add_test(NAME "abi: structs and enums are laid out as layout.txt says"
         COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/abi/layout.py --header ${PROJECT_SOURCE_DIR}/include/ggemm.h --cc ${CMAKE_C_COMPILER})
add_test(NAME "abi: the layout check finds what it looks for" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/abi/test_layout.py)
add_test(NAME "abi: the library needs only libc, libm, libstdc++, libgcc_s and the loader"
         COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/abi/needed.py --library $<TARGET_FILE:ggemm>)

add_test(NAME "abi: what the first header says holds still" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/abi/first.py
         --header ${PROJECT_SOURCE_DIR}/include/ggemm.h --cc ${CMAKE_C_COMPILER})
add_executable(ggemm_old_client abi/old_client.c)
set_target_properties(ggemm_old_client PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
target_compile_options(ggemm_old_client PRIVATE -Wall -Wextra -pedantic $<$<BOOL:${GGEMM_WERROR}>:-Werror>)
target_link_libraries(ggemm_old_client PRIVATE $<TARGET_LINKER_FILE:ggemm>)  # but not today's header
add_dependencies(ggemm_old_client ggemm)
set_target_properties(ggemm_old_client PROPERTIES BUILD_RPATH $<TARGET_FILE_DIR:ggemm>)
add_test(NAME "abi: a program built with the first header runs with this library" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/examples/expect.py
         ${CMAKE_CURRENT_SOURCE_DIR}/abi/old_client.c $<TARGET_FILE:ggemm_old_client>)

# --------------------------------------------------------------------------------------------------- order of the layers
add_test(NAME "lint: includes go one way" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/lint/includes.py ${PROJECT_SOURCE_DIR})
add_test(NAME "lint: the include check finds what it looks for" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/lint/test_includes.py)
file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.sh ${CMAKE_CURRENT_SOURCE_DIR}/*.sh ${CMAKE_CURRENT_SOURCE_DIR}/*/*.sh)
add_test(NAME "lint: the shell scripts parse" COMMAND bash -c "for script; do bash -n \"$script\" || exit 1; done" lint
         ${scripts} ${PROJECT_SOURCE_DIR}/.ci/run)

# ------------------------------------------------------------------------------------------------------------- examples
# Every block of C and C++ of docs/c.md stands in one of them, and those of README.md in readme.c.
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/examples/*.c ${PROJECT_SOURCE_DIR}/docs/examples/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/examples/*.c)
foreach(source IN LISTS examples)
  get_filename_component(example ${source} NAME_WE)
  add_executable(ggemm_example_${example} ${source})
  set_target_properties(ggemm_example_${example} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
  target_compile_options(ggemm_example_${example} PRIVATE -Wall -Wextra -pedantic $<$<BOOL:${GGEMM_WERROR}>:-Werror>)
  target_link_options(ggemm_example_${example} PRIVATE LINKER:--as-needed)
  if(example STREQUAL dlopen)
    target_include_directories(ggemm_example_dlopen PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(ggemm_example_dlopen PRIVATE ${CMAKE_DL_LIBS})
  else()
    target_link_libraries(ggemm_example_${example} PRIVATE ggemm)
  endif()
  add_test(NAME "examples: ${example}" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/examples/expect.py
           ${source} $<TARGET_FILE:ggemm_example_${example}> $<TARGET_FILE:ggemm>)
endforeach()
foreach(language c cpp)
  add_test(NAME "examples: the blocks of ${language} in docs/c.md" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/bindings/snippets.py
           check ${PROJECT_SOURCE_DIR}/docs/c.md ${language} ${examples})
endforeach()
add_test(NAME "examples: the blocks of c in README.md" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/bindings/snippets.py
         check ${PROJECT_SOURCE_DIR}/README.md c ${examples})

# -------------------------------------------------------------------------------------- the comparison with torch and Triton
if(TARGET ggemm_cli)
  add_test(NAME "peers: cases, protocol and results of the comparison with torch and Triton" COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/peers/test_peers.py)
  set_tests_properties("peers: cases, protocol and results of the comparison with torch and Triton" PROPERTIES ENVIRONMENT "GGEMM=$<TARGET_FILE:ggemm_cli>")
endif()

# ------------------------------------------------------------------------------------------------------ the installed tree
# Their projects are configured with this build's generator: there may be no other.
if(GGEMM_INSTALL)
  add_test(NAME "install: a moved tree serves pkg-config, dlopen and CMake"
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/check.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_COMMAND} ${CMAKE_C_COMPILER} ${python})
  set_tests_properties("install: a moved tree serves pkg-config, dlopen and CMake" PROPERTIES SKIP_RETURN_CODE 4 ENVIRONMENT "CMAKE_GENERATOR=${CMAKE_GENERATOR}")
endif()
add_test(NAME "install: the project builds as a part of another"
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/subproject.sh ${CMAKE_CURRENT_BINARY_DIR}/subproject ${PROJECT_SOURCE_DIR} ${CMAKE_COMMAND})
set_tests_properties("install: the project builds as a part of another" PROPERTIES ENVIRONMENT "CMAKE_GENERATOR=${CMAKE_GENERATOR}")
add_test(NAME "install: the library compiles for aarch64" COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/aarch64.sh ${CMAKE_CURRENT_BINARY_DIR}/aarch64 ${PROJECT_SOURCE_DIR} ${CMAKE_COMMAND})
set_tests_properties("install: the library compiles for aarch64" PROPERTIES LABELS slow SKIP_RETURN_CODE 4 PROCESSORS 2 TIMEOUT 900 ENVIRONMENT "CMAKE_GENERATOR=${CMAKE_GENERATOR}")
