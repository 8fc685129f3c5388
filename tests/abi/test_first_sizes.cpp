// SPDX-License-Identifier: Apache-2.0
// A program built with version 0.1 passes structs of these sizes for ever. A struct that grows keeps its number here.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstring>
#include <string>

#include "ggemm.h"

namespace {

// The init function takes the first version's size, and leaves alone the memory that the program of that time does not have.
template <class Struct>
void check(ggemm_status (*init)(Struct*, size_t), size_t first_size, const char* name) {
  INFO(name);
  struct {
    Struct known;
    unsigned char behind[16];
  } value;
  const auto bytes = [&] { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  REQUIRE(sizeof(Struct) >= first_size);
  std::memset(&value, 0xab, sizeof value);
  const std::string before = bytes();
  CHECK(init(&value.known, first_size - 1) == GGEMM_ERROR_VERSION);
  CHECK(std::string(ggemm_last_error()).find("struct_size=" + std::to_string(first_size - 1)) != std::string::npos);
  CHECK(init(nullptr, first_size) == GGEMM_ERROR_ARGUMENT);
  CHECK(bytes() == before);
  CHECK(init(&value.known, first_size) == GGEMM_OK);
  CHECK(value.known.struct_size == first_size);
  CHECK(bytes().substr(first_size) == before.substr(first_size));
}

}  // namespace

TEST_CASE("structs of version 0.1 are taken for ever") {
  static_assert(sizeof(void*) == 8);
  check(ggemm_context_options_init, 112, "ggemm_context_options");
  check(ggemm_device_info_init, 456, "ggemm_device_info");
  check(ggemm_gemm_desc_init, 232, "ggemm_gemm_desc");
  check(ggemm_gemm_args_init, 88, "ggemm_gemm_args");
  check(ggemm_grouped_desc_init, 528, "ggemm_grouped_desc");
  check(ggemm_grouped_args_init, 64, "ggemm_grouped_args");
  check(ggemm_config_init, 152, "ggemm_config");
  check(ggemm_tune_options_init, 64, "ggemm_tune_options");
  check(ggemm_tune_result_init, 144, "ggemm_tune_result");
  check(ggemm_tile_grid_init, 96, "ggemm_tile_grid");
  check(ggemm_tile_init, 64, "ggemm_tile");
}
