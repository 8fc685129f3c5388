/* SPDX-License-Identifier: Apache-2.0
 * Compiled as C99, C11, C17 and C++20 with every warning an error: the header alone, each init macro, the size of the enums. */
#include "ggemm.h"

#define CHECK(name, condition) typedef char check_##name[(condition) ? 1 : -1]
CHECK(status_is_32_bit, sizeof(ggemm_status) == 4);
CHECK(dtype_is_32_bit, sizeof(ggemm_dtype) == 4);
CHECK(activation_is_32_bit, sizeof(ggemm_activation) == 4);

int main(void) {
  ggemm_context_options options = GGEMM_CONTEXT_OPTIONS_INIT;
  ggemm_device_info info = GGEMM_DEVICE_INFO_INIT;
  ggemm_gemm_desc desc = GGEMM_GEMM_DESC_INIT;
  ggemm_gemm_args args = GGEMM_GEMM_ARGS_INIT;
  ggemm_grouped_desc grouped = GGEMM_GROUPED_DESC_INIT;
  ggemm_grouped_args grouped_args = GGEMM_GROUPED_ARGS_INIT;
  ggemm_config config = GGEMM_CONFIG_INIT;
  ggemm_tune_options tune = GGEMM_TUNE_OPTIONS_INIT;
  ggemm_tune_result result = GGEMM_TUNE_RESULT_INIT;
  ggemm_tile_grid grid = GGEMM_TILE_GRID_INIT;
  ggemm_tile tile = GGEMM_TILE_INIT;
  return (int)(options.struct_size + info.struct_size + desc.struct_size + args.struct_size + grouped.struct_size + grouped_args.struct_size +
               config.struct_size + tune.struct_size + result.struct_size + grid.struct_size + tile.struct_size);
}
