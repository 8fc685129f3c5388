// SPDX-License-Identifier: Apache-2.0
//! The header's `*_INIT` macros, which bindgen cannot read.

use core::mem::{size_of, zeroed};

use crate::*;

/// A struct whose defaults are all zero or NULL, but for its size.
macro_rules! zero_but_size {
    ($($name:ident: $type:ident),* $(,)?) => {$(
        #[doc = concat!("Defaults of [`", stringify!($type), "`].")]
        // SAFETY: integers, arrays of them, pointers and optional functions may all be zero.
        pub const $name: $type = $type { struct_size: size_of::<$type>(), ..unsafe { zeroed() } };
    )*};
}
zero_but_size! {
    GGEMM_CONTEXT_OPTIONS_INIT: ggemm_context_options,
    GGEMM_DEVICE_INFO_INIT: ggemm_device_info,
    GGEMM_GROUPED_ARGS_INIT: ggemm_grouped_args,
    GGEMM_CONFIG_INIT: ggemm_config,
    GGEMM_TUNE_OPTIONS_INIT: ggemm_tune_options,
    GGEMM_TUNE_RESULT_INIT: ggemm_tune_result,
    GGEMM_TILE_INIT: ggemm_tile,
}

const fn source(value: i64) -> ggemm_source {
    ggemm_source { data: core::ptr::null(), byte_stride: 0, value, kind: GGEMM_SOURCE_CONST, reserved0: 0 }
}

const MATRIX: ggemm_matrix = ggemm_matrix {
    dtype: GGEMM_DTYPE_NONE,
    reserved0: 0,
    row_stride: GGEMM_PACKED,
    col_stride: GGEMM_PACKED,
    reserved1: 0,
};

const GROUPED_MATRIX: ggemm_grouped_matrix = ggemm_grouped_matrix {
    dtype: GGEMM_DTYPE_NONE,
    pointers: 0,
    row_stride: source(GGEMM_PACKED),
    col_stride: source(GGEMM_PACKED),
    group_stride: GGEMM_PACKED,
};

const SCALE: ggemm_scale =
    ggemm_scale { kind: GGEMM_SCALE_NONE, reserved0: 0, row_stride: GGEMM_PACKED, col_stride: GGEMM_PACKED };

const GROUPED_SCALE: ggemm_grouped_scale = ggemm_grouped_scale {
    kind: GGEMM_SCALE_NONE,
    pointers: 0,
    row_stride: source(GGEMM_PACKED),
    col_stride: source(GGEMM_PACKED),
    group_stride: GGEMM_PACKED,
};

/// Defaults of [`ggemm_gemm_desc`]: packed row-major, no dtypes yet, sizes 0.
pub const GGEMM_GEMM_DESC_INIT: ggemm_gemm_desc = ggemm_gemm_desc {
    struct_size: size_of::<ggemm_gemm_desc>(),
    a: MATRIX,
    b: MATRIX,
    c: MATRIX,
    d: MATRIX,
    scale_a: SCALE,
    scale_b: SCALE,
    // SAFETY: integers and pointers may all be zero.
    ..unsafe { zeroed() }
};

/// Defaults of [`ggemm_gemm_args`]: no pointers, the description's sizes.
pub const GGEMM_GEMM_ARGS_INIT: ggemm_gemm_args = ggemm_gemm_args {
    struct_size: size_of::<ggemm_gemm_args>(),
    m: GGEMM_AS_DESCRIBED as i64,
    n: GGEMM_AS_DESCRIBED as i64,
    k: GGEMM_AS_DESCRIBED as i64,
    // SAFETY: pointers may be NULL.
    ..unsafe { zeroed() }
};

/// Defaults of [`ggemm_grouped_desc`]: no groups, constant sizes 0, packed row-major, no dtypes yet.
pub const GGEMM_GROUPED_DESC_INIT: ggemm_grouped_desc = ggemm_grouped_desc {
    struct_size: size_of::<ggemm_grouped_desc>(),
    a: GROUPED_MATRIX,
    b: GROUPED_MATRIX,
    c: GROUPED_MATRIX,
    d: GROUPED_MATRIX,
    bias_group_stride: GGEMM_PACKED,
    scale_a: GROUPED_SCALE,
    scale_b: GROUPED_SCALE,
    // SAFETY: integers and pointers may all be zero.
    ..unsafe { zeroed() }
};

/// Defaults of [`ggemm_tile_grid`]: one group, no tiles yet.
pub const GGEMM_TILE_GRID_INIT: ggemm_tile_grid = ggemm_tile_grid {
    struct_size: size_of::<ggemm_tile_grid>(),
    groups: 1,
    raster: 1,
    // SAFETY: numbers may be zero, and a source that is zero is the constant 0.
    ..unsafe { zeroed() }
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The constant holds the very bytes that the library's function writes.
    macro_rules! same_as_the_library {
        ($($test:ident: $constant:ident, $init:ident),* $(,)?) => {$(
            #[test]
            fn $test() {
                let mut theirs = $constant;
                // SAFETY: the structs have no padding, so all their bytes may be written and read.
                unsafe {
                    core::ptr::from_mut(&mut theirs).cast::<u8>().write_bytes(0xa5, size_of_val(&theirs));
                    assert_eq!($init(&mut theirs, size_of_val(&theirs)), GGEMM_OK);
                    let bytes = |p: *const u8| core::slice::from_raw_parts(p, size_of_val(&theirs));
                    let ours = $constant;
                    assert_eq!(bytes(core::ptr::from_ref(&ours).cast()), bytes(core::ptr::from_ref(&theirs).cast()));
                }
            }
        )*};
    }
    same_as_the_library! {
        context_options: GGEMM_CONTEXT_OPTIONS_INIT, ggemm_context_options_init,
        device_info: GGEMM_DEVICE_INFO_INIT, ggemm_device_info_init,
        gemm_desc: GGEMM_GEMM_DESC_INIT, ggemm_gemm_desc_init,
        gemm_args: GGEMM_GEMM_ARGS_INIT, ggemm_gemm_args_init,
        grouped_desc: GGEMM_GROUPED_DESC_INIT, ggemm_grouped_desc_init,
        grouped_args: GGEMM_GROUPED_ARGS_INIT, ggemm_grouped_args_init,
        config: GGEMM_CONFIG_INIT, ggemm_config_init,
        tune_options: GGEMM_TUNE_OPTIONS_INIT, ggemm_tune_options_init,
        tune_result: GGEMM_TUNE_RESULT_INIT, ggemm_tune_result_init,
        tile_grid: GGEMM_TILE_GRID_INIT, ggemm_tile_grid_init,
        tile: GGEMM_TILE_INIT, ggemm_tile_init,
    }

    #[test]
    fn the_library_is_of_this_version() {
        // SAFETY: takes nothing.
        let version = unsafe { ggemm_version() };
        assert_eq!(version / 100, GGEMM_VERSION / 100);
    }
}
