# SPDX-License-Identifier: Apache-2.0
# What the library's targets have in common.

find_package(Threads REQUIRED)

# Flags of every target of this project: ggemm_build is linked privately and is not installed.
add_library(ggemm_build INTERFACE)
target_compile_features(ggemm_build INTERFACE cxx_std_20)
target_include_directories(ggemm_build INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/kernels)
target_compile_options(ggemm_build INTERFACE -Wall -Wextra $<$<BOOL:${GGEMM_WERROR}>:-Werror> $<$<CONFIG:Release>:-O2>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(ggemm_build INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)  # g++ 13 sees them where there are none
endif()
target_link_libraries(ggemm_build INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
if(GGEMM_SANITIZE)
  # A number that no enumerator has is a caller's mistake, which the library reports: not for the sanitizer to end the program over.
  target_compile_options(ggemm_build INTERFACE -fsanitize=${GGEMM_SANITIZE} -fno-sanitize=enum -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(ggemm_build INTERFACE -fsanitize=${GGEMM_SANITIZE})
endif()

# xxHash is used as a header; nothing of it is linked.
function(ggemm_find_xxhash)
  find_path(GGEMM_XXHASH_INCLUDE_DIR xxhash.h DOC "Folder of xxhash.h")
  if(NOT GGEMM_XXHASH_INCLUDE_DIR)
    message(FATAL_ERROR "ggemm needs the header xxhash.h: install libxxhash-dev (Debian, Ubuntu) or xxhash-devel (Fedora), "
                        "or set -DGGEMM_XXHASH_INCLUDE_DIR=<folder>")
  endif()
  target_include_directories(ggemm_build SYSTEM INTERFACE ${GGEMM_XXHASH_INCLUDE_DIR})
endfunction()

# ggemm_embed(<output.cpp> <folder> <header> <function> <suffix>...): writes all files of a folder with these suffixes into one C++ file, as the function that the
# header declares. Made again when one of them changes, appears or goes.
function(ggemm_embed output folder header function)
  list(TRANSFORM ARGN PREPEND ${folder}/* OUTPUT_VARIABLE patterns)
  string(REPLACE ";" "," suffixes "${ARGN}")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  # The list of names is itself a dependency: a removed file makes the output stale too.
  file(GENERATE OUTPUT ${output}.list CONTENT "${files}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DSUFFIXES=${suffixes} -DHEADER=${header} -DFUNCTION=${function} -DOUTPUT=${output} -P ${script}
    DEPENDS ${script} ${files} ${output}.list
    COMMENT "Embedding ${folder}"
    VERBATIM)
endfunction()

# ggemm_add_layer(<name> <pattern>...): one layer of lib/ as an object library.
function(ggemm_add_layer name)
  file(GLOB sources CONFIGURE_DEPENDS LIST_DIRECTORIES false RELATIVE ${PROJECT_SOURCE_DIR} ${ARGN})
  add_library(ggemm_layer_${name} OBJECT ${sources})
  target_link_libraries(ggemm_layer_${name} PRIVATE ggemm_build)
  set_target_properties(ggemm_layer_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# ggemm_add_archive(<target> <layer>...): a static library of layers, never installed.
function(ggemm_add_archive target)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:ggemm_layer_\\1>" OUTPUT_VARIABLE objects)
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${objects})
  target_link_libraries(${target} PUBLIC ggemm_build)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
