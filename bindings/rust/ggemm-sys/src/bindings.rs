// SPDX-License-Identifier: Apache-2.0
// Made by `cargo run -p ggemm-bindgen` from include/ggemm.h.

pub const GGEMM_VERSION_MAJOR: i32 = 0;
pub const GGEMM_VERSION_MINOR: i32 = 1;
pub const GGEMM_VERSION_PATCH: i32 = 0;
pub const GGEMM_VERSION: i32 = 100;
pub const GGEMM_AS_DESCRIBED: i32 = -1;
/// success
pub const GGEMM_OK: ggemm_status = 0;
/// an argument is wrong: correct it
pub const GGEMM_ERROR_ARGUMENT: ggemm_status = 1;
/// a right request that this device or build cannot serve
pub const GGEMM_ERROR_UNSUPPORTED: ggemm_status = 2;
/// needs a compile or an allocation that is not allowed now (stream capture): prepare first
pub const GGEMM_ERROR_NOT_PREPARED: ggemm_status = 3;
/// host or device memory is used up
pub const GGEMM_ERROR_OUT_OF_MEMORY: ggemm_status = 4;
/// NVRTC is missing or refused a kernel; the text has its log
pub const GGEMM_ERROR_COMPILE: ggemm_status = 5;
/// the driver refused a load or a launch
pub const GGEMM_ERROR_LAUNCH: ggemm_status = 6;
/// no usable device or driver; the text lists what was tried
pub const GGEMM_ERROR_DEVICE: ggemm_status = 7;
/// caller and library are of incompatible versions
pub const GGEMM_ERROR_VERSION: ggemm_status = 8;
/// a callback asked to stop
pub const GGEMM_ERROR_CANCELLED: ggemm_status = 9;
/// a defect of ggemm: please report it
pub const GGEMM_ERROR_INTERNAL: ggemm_status = 10;
pub const GGEMM_STATUS_FORCE32: ggemm_status = 2147483647;
/// What a call came to, grouped by what the caller does next.
pub type ggemm_status = ::core::ffi::c_uint;
/// not given; C and bias then take D's dtype
pub const GGEMM_DTYPE_NONE: ggemm_dtype = 0;
/// IEEE 754 binary64
pub const GGEMM_F64: ggemm_dtype = 1;
/// IEEE 754 binary32
pub const GGEMM_F32: ggemm_dtype = 2;
/// IEEE 754 binary16
pub const GGEMM_F16: ggemm_dtype = 3;
/// the upper half of binary32
pub const GGEMM_BF16: ggemm_dtype = 4;
/// OCP 8-bit float, 4 exponent bits, no infinity, largest 448
pub const GGEMM_E4M3: ggemm_dtype = 5;
/// OCP 8-bit float, 5 exponent bits, largest finite 57344
pub const GGEMM_E5M2: ggemm_dtype = 6;
/// signed
pub const GGEMM_I8: ggemm_dtype = 7;
/// signed; C, D and bias only
pub const GGEMM_I32: ggemm_dtype = 8;
pub const GGEMM_DTYPE_FORCE32: ggemm_dtype = 2147483647;
/// Element types. The numbers are part of the ABI.
pub type ggemm_dtype = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_context {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_plan {
    _unused: [u8; 0],
}
/// the CUDA device of the given ordinal if it is usable, else the host; with cuda\_context: as GGEMM\_DEVICE\_CUDA
pub const GGEMM_DEVICE_BEST: ggemm_device_kind = 0;
/// the CUDA device of the given ordinal or cuda\_context; GGEMM\_ERROR\_DEVICE if it cannot be used
pub const GGEMM_DEVICE_CUDA: ggemm_device_kind = 1;
/// the CPU
pub const GGEMM_DEVICE_HOST: ggemm_device_kind = 2;
pub const GGEMM_DEVICE_FORCE32: ggemm_device_kind = 2147483647;
/// What a context runs on.
pub type ggemm_device_kind = ::core::ffi::c_uint;
/// so far unused: failures are told by a call's status and ggemm\_last\_error()
pub const GGEMM_LOG_ERROR: ggemm_log_level = 1;
/// soft failures, such as a cache that cannot be written or a configuration passed over because its kernel fails
pub const GGEMM_LOG_WARNING: ggemm_log_level = 2;
/// compiles, loads, tunings, and fallbacks such as the host where no CUDA device is usable
pub const GGEMM_LOG_INFO: ggemm_log_level = 3;
/// kernels read from the disk cache, and by which NVRTC others were compiled
pub const GGEMM_LOG_DEBUG: ggemm_log_level = 4;
pub const GGEMM_LOG_FORCE32: ggemm_log_level = 2147483647;
/// How urgent a line of log is. A level in the options, or of ggemm\_context\_set\_log, delivers lines of that level and of smaller numbers.
pub type ggemm_log_level = ::core::ffi::c_uint;
/** Receives a line of log, without a line end. Called from any thread that uses the context and from threads of the library, never with a lock of the
 library held. It must not use the context: it may run in the middle of making the very kernel that it would ask for. `user` is what was given with
 the function; `message` lives as long as the call.*/
pub type ggemm_log_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        level: ggemm_log_level,
        message: *const ::core::ffi::c_char,
    ),
>;
/** Allocates device memory: stores its address, a multiple of 256 bytes, and returns 0. Anything else, or a NULL address, reports "out of memory".
 Asked for tuning's scratch memory, and for the workspace that some products need (see ggemm\_gemm and ggemm\_grouped\_gemm).
 `stream` orders its use: the stream of the call that needs it; or one of the library's own, for tuning and for what plans and ggemm\_prepare
 reserve. It is never asked for on a stream while that is captured.
 Called from any thread that uses the context and from threads of the library, at times from several at once. `user` is the options'
 allocator\_user. It must not use the context. Not used by the host device.*/
pub type ggemm_allocate_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        bytes: usize,
        stream: *mut ::core::ffi::c_void,
        out_pointer: *mut *mut ::core::ffi::c_void,
    ) -> i32,
>;
/** Gives back what ggemm\_allocate\_fn gave; `bytes` are as they were then. `stream` is the one on which it was allocated, where work launched earlier
 may still use the memory; or NULL, for workspace that was reserved or kept to the context's end, which no work uses any more. It must not use the
 context.*/
pub type ggemm_deallocate_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        pointer: *mut ::core::ffi::c_void,
        bytes: usize,
        stream: *mut ::core::ffi::c_void,
    ),
>;
/** How a context is made. Every field's default is zero or NULL. Of the environment variables named here, one that is set but empty counts as not
 set; see ggemm\_context\_create for when they are read.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_context_options {
    pub struct_size: usize,
    /// 0: GGEMM\_DEVICE\_BEST
    pub device: ggemm_device_kind,
    /// CUDA device ordinal, 0 or more; not used with a cuda\_context
    pub ordinal: i32,
    /// CUcontext to use; NULL: the ordinal's primary context. Not with GGEMM\_DEVICE\_HOST
    pub cuda_context: *mut ::core::ffi::c_void,
    /** host threads for the host device and for compiling, at most: products start as many as they have use for;
 0: the cores this process may use*/
    pub threads: i32,
    /// most verbose level that is delivered; 0 with a log function: GGEMM\_LOG\_INFO
    pub log_level: ggemm_log_level,
    /// NULL: no log
    pub log: ggemm_log_fn,
    /// handed to `log`
    pub log_user: *mut ::core::ffi::c_void,
    /// NULL: the driver's stream-ordered allocator. Give both or none
    pub allocate: ggemm_allocate_fn,
    /// see `allocate`
    pub deallocate: ggemm_deallocate_fn,
    /// handed to both
    pub allocator_user: *mut ::core::ffi::c_void,
    /** NULL: $GGEMM\_CACHE\_DIR, else $XDG\_CACHE\_HOME/ggemm, else $HOME/.cache/ggemm; "": memory only. The last two only
 where the variable is an absolute path, and HOME only where it is the user's own folder and not under /tmp,
 /var/tmp or /dev/shm; if none serves: memory only*/
    pub cache_dir: *const ::core::ffi::c_char,
    /// a second folder that is only read; NULL: $GGEMM\_SHARED\_CACHE\_DIR, else none; "": none
    pub shared_cache_dir: *const ::core::ffi::c_char,
    /// 0: 1 GiB; least recently used entries go first
    pub cache_limit_bytes: u64,
    /// the NVRTC library's file; NULL: $GGEMM\_NVRTC, else searched for; "": searched for
    pub nvrtc_path: *const ::core::ffi::c_char,
    /** a CBLAS library's file; NULL: $GGEMM\_CBLAS, else searched for; "": none, own kernels only. One that is searched for
 is not used if it takes more than twice as long as own kernels for a small product, which is timed when it is
 first needed: name one, or "", where each run must have the same bits. One that is named and cannot be used is
 a warning in the log then, and own kernels are used*/
    pub cblas_path: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_context_options",
    ][::core::mem::size_of::<ggemm_context_options>() - 112usize];
    [
        "Alignment of ggemm_context_options",
    ][::core::mem::align_of::<ggemm_context_options>() - 8usize];
    [
        "Offset of field: ggemm_context_options::struct_size",
    ][::core::mem::offset_of!(ggemm_context_options, struct_size) - 0usize];
    [
        "Offset of field: ggemm_context_options::device",
    ][::core::mem::offset_of!(ggemm_context_options, device) - 8usize];
    [
        "Offset of field: ggemm_context_options::ordinal",
    ][::core::mem::offset_of!(ggemm_context_options, ordinal) - 12usize];
    [
        "Offset of field: ggemm_context_options::cuda_context",
    ][::core::mem::offset_of!(ggemm_context_options, cuda_context) - 16usize];
    [
        "Offset of field: ggemm_context_options::threads",
    ][::core::mem::offset_of!(ggemm_context_options, threads) - 24usize];
    [
        "Offset of field: ggemm_context_options::log_level",
    ][::core::mem::offset_of!(ggemm_context_options, log_level) - 28usize];
    [
        "Offset of field: ggemm_context_options::log",
    ][::core::mem::offset_of!(ggemm_context_options, log) - 32usize];
    [
        "Offset of field: ggemm_context_options::log_user",
    ][::core::mem::offset_of!(ggemm_context_options, log_user) - 40usize];
    [
        "Offset of field: ggemm_context_options::allocate",
    ][::core::mem::offset_of!(ggemm_context_options, allocate) - 48usize];
    [
        "Offset of field: ggemm_context_options::deallocate",
    ][::core::mem::offset_of!(ggemm_context_options, deallocate) - 56usize];
    [
        "Offset of field: ggemm_context_options::allocator_user",
    ][::core::mem::offset_of!(ggemm_context_options, allocator_user) - 64usize];
    [
        "Offset of field: ggemm_context_options::cache_dir",
    ][::core::mem::offset_of!(ggemm_context_options, cache_dir) - 72usize];
    [
        "Offset of field: ggemm_context_options::shared_cache_dir",
    ][::core::mem::offset_of!(ggemm_context_options, shared_cache_dir) - 80usize];
    [
        "Offset of field: ggemm_context_options::cache_limit_bytes",
    ][::core::mem::offset_of!(ggemm_context_options, cache_limit_bytes) - 88usize];
    [
        "Offset of field: ggemm_context_options::nvrtc_path",
    ][::core::mem::offset_of!(ggemm_context_options, nvrtc_path) - 96usize];
    [
        "Offset of field: ggemm_context_options::cblas_path",
    ][::core::mem::offset_of!(ggemm_context_options, cblas_path) - 104usize];
};
/// What a context runs on. Texts end in NUL and are cut to fit.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_device_info {
    pub struct_size: usize,
    /// CUDA or HOST
    pub kind: ggemm_device_kind,
    /// CUDA device ordinal; 0 on the host
    pub ordinal: i32,
    /// "NVIDIA H200", or the CPU's model
    pub name: [::core::ffi::c_char; 128usize],
    /// major \* 10 + minor; 0 on the host
    pub compute_capability: i32,
    /// 0 on the host
    pub multiprocessors: i32,
    /// host threads that the context may use
    pub threads: i32,
    /// CUDA driver's, major \* 1000 + minor \* 10; 0 on the host
    pub driver_version: i32,
    /// device memory in all; 0: not known
    pub memory_bytes: i64,
    /// L2 cache; 0 on the host
    pub l2_bytes: i64,
    /// largest per CTA; 0 on the host
    pub shared_memory_bytes: i64,
    /// what kernels are compiled for, such as "sm\_90a"; "" on the host
    pub arch: [::core::ffi::c_char; 16usize],
    /// file of the CBLAS in use on the host device; "" if none, and for CUDA
    pub blas: [::core::ffi::c_char; 256usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_device_info",
    ][::core::mem::size_of::<ggemm_device_info>() - 456usize];
    [
        "Alignment of ggemm_device_info",
    ][::core::mem::align_of::<ggemm_device_info>() - 8usize];
    [
        "Offset of field: ggemm_device_info::struct_size",
    ][::core::mem::offset_of!(ggemm_device_info, struct_size) - 0usize];
    [
        "Offset of field: ggemm_device_info::kind",
    ][::core::mem::offset_of!(ggemm_device_info, kind) - 8usize];
    [
        "Offset of field: ggemm_device_info::ordinal",
    ][::core::mem::offset_of!(ggemm_device_info, ordinal) - 12usize];
    [
        "Offset of field: ggemm_device_info::name",
    ][::core::mem::offset_of!(ggemm_device_info, name) - 16usize];
    [
        "Offset of field: ggemm_device_info::compute_capability",
    ][::core::mem::offset_of!(ggemm_device_info, compute_capability) - 144usize];
    [
        "Offset of field: ggemm_device_info::multiprocessors",
    ][::core::mem::offset_of!(ggemm_device_info, multiprocessors) - 148usize];
    [
        "Offset of field: ggemm_device_info::threads",
    ][::core::mem::offset_of!(ggemm_device_info, threads) - 152usize];
    [
        "Offset of field: ggemm_device_info::driver_version",
    ][::core::mem::offset_of!(ggemm_device_info, driver_version) - 156usize];
    [
        "Offset of field: ggemm_device_info::memory_bytes",
    ][::core::mem::offset_of!(ggemm_device_info, memory_bytes) - 160usize];
    [
        "Offset of field: ggemm_device_info::l2_bytes",
    ][::core::mem::offset_of!(ggemm_device_info, l2_bytes) - 168usize];
    [
        "Offset of field: ggemm_device_info::shared_memory_bytes",
    ][::core::mem::offset_of!(ggemm_device_info, shared_memory_bytes) - 176usize];
    [
        "Offset of field: ggemm_device_info::arch",
    ][::core::mem::offset_of!(ggemm_device_info, arch) - 184usize];
    [
        "Offset of field: ggemm_device_info::blas",
    ][::core::mem::offset_of!(ggemm_device_info, blas) - 200usize];
};
/// One finding of ggemm\_diagnose. Lifetime: the call of the function that receives it.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_finding {
    pub struct_size: usize,
    /// "driver", "device 0", "nvrtc", "host", "cblas", "cache" ...
    pub component: *const ::core::ffi::c_char,
    /// 1 or 0
    pub found: i32,
    /// 1 if something does not work without it
    pub needed: i32,
    /// version and path, or every path that was tried
    pub detail: *const ::core::ffi::c_char,
    /// what to install or set; "" when nothing is missing
    pub advice: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_finding"][::core::mem::size_of::<ggemm_finding>() - 40usize];
    ["Alignment of ggemm_finding"][::core::mem::align_of::<ggemm_finding>() - 8usize];
    [
        "Offset of field: ggemm_finding::struct_size",
    ][::core::mem::offset_of!(ggemm_finding, struct_size) - 0usize];
    [
        "Offset of field: ggemm_finding::component",
    ][::core::mem::offset_of!(ggemm_finding, component) - 8usize];
    [
        "Offset of field: ggemm_finding::found",
    ][::core::mem::offset_of!(ggemm_finding, found) - 16usize];
    [
        "Offset of field: ggemm_finding::needed",
    ][::core::mem::offset_of!(ggemm_finding, needed) - 20usize];
    [
        "Offset of field: ggemm_finding::detail",
    ][::core::mem::offset_of!(ggemm_finding, detail) - 24usize];
    [
        "Offset of field: ggemm_finding::advice",
    ][::core::mem::offset_of!(ggemm_finding, advice) - 32usize];
};
/// Receives one finding. `user` is what ggemm\_diagnose was given; `finding` and its texts live as long as the call.
pub type ggemm_finding_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, finding: *const ggemm_finding),
>;
/** A matrix: element (i, j) is at base + (i \* row\_stride + j \* col\_stride) elements. Frozen: held by value in others.
 Strides may be negative, and 0 to repeat (not in D). Where one stride is 1 or -1, the other must be at least as long as a row (a column), or 0:
 overlapping rows are refused. No two elements of D may share an address. The whole must span less than 2^63 bytes.
 Any base that is a multiple of the element's size will do; the fast path is a unit stride in either direction with bases and rows at multiples of
 16 bytes.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_matrix {
    /// must be given; of C NONE stands for D's
    pub dtype: ggemm_dtype,
    /// 0
    pub reserved0: u32,
    /// GGEMM\_PACKED, or elements; packed needs col\_stride packed or 1
    pub row_stride: i64,
    /// GGEMM\_PACKED, or elements
    pub col_stride: i64,
    /// 0
    pub reserved1: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_matrix"][::core::mem::size_of::<ggemm_matrix>() - 32usize];
    ["Alignment of ggemm_matrix"][::core::mem::align_of::<ggemm_matrix>() - 8usize];
    [
        "Offset of field: ggemm_matrix::dtype",
    ][::core::mem::offset_of!(ggemm_matrix, dtype) - 0usize];
    [
        "Offset of field: ggemm_matrix::reserved0",
    ][::core::mem::offset_of!(ggemm_matrix, reserved0) - 4usize];
    [
        "Offset of field: ggemm_matrix::row_stride",
    ][::core::mem::offset_of!(ggemm_matrix, row_stride) - 8usize];
    [
        "Offset of field: ggemm_matrix::col_stride",
    ][::core::mem::offset_of!(ggemm_matrix, col_stride) - 16usize];
    [
        "Offset of field: ggemm_matrix::reserved1",
    ][::core::mem::offset_of!(ggemm_matrix, reserved1) - 24usize];
};
/** f64 if A or B is f64; int32 (wrapping) if both are i8; else f32 products and sums. f32 inputs are exact, on CUDA cores, or as f64 on tensor cores where the GPU
 has these for it (compute capability 9.0).*/
pub const GGEMM_COMPUTE_DEFAULT: ggemm_compute = 0;
/** f32 inputs rounded to the nearest tf32 (10 explicit mantissa bits), f32 sums, on tensor cores. Of two that are as near it is the larger in
 magnitude, but in kernels of the sm90 family the even one. Needs A and B f32. The host device rounds likewise, to the larger.*/
pub const GGEMM_COMPUTE_TF32: ggemm_compute = 1;
/** fp8 products summed as fast as tensor cores can: on compute capability 9.0 they keep about 14 bits of a sum. By default (promoted) what they
 have summed is added to a sum in full f32 every 128 of k. Needs A and B e4m3 or e5m2. Other kernels, the host device and products scaled by
 blocks sum as by default.*/
pub const GGEMM_COMPUTE_FP8_FAST: ggemm_compute = 2;
/** f32 inputs with an error no larger than that of f32 products and sums, on tensor cores where they serve it: each operand is copied as three bf16
 terms, of whose products six are summed. The terms end at 2^-133: an element between 2^-110 and 0 is off by 2^-134 at most, and may count as 0.
 Needs A and B f32. Other kernels and the host device multiply as by default: products and sums of f32, or, on a device of compute capability 9.0
 whose tensor cores multiply f64 fast, of f64 that are rounded to f32 at the end. Which kernel serves depends on the sizes.

 Since 0.1*/
pub const GGEMM_COMPUTE_F32_ACCURATE: ggemm_compute = 3;
/** f32 inputs with an error no larger than that of f32 products and sums, on tensor cores where they serve it: each operand is copied as three bf16
 terms, of whose products six are summed. The terms end at 2^-133: an element between 2^-110 and 0 is off by 2^-134 at most, and may count as 0.
 Needs A and B f32. Other kernels and the host device multiply as by default: products and sums of f32, or, on a device of compute capability 9.0
 whose tensor cores multiply f64 fast, of f64 that are rounded to f32 at the end. Which kernel serves depends on the sizes.

 Since 0.1*/
pub const GGEMM_COMPUTE_FORCE32: ggemm_compute = 2147483647;
/// How A and B are multiplied.
pub type ggemm_compute = ::core::ffi::c_uint;
/// x
pub const GGEMM_ACTIVATION_NONE: ggemm_activation = 0;
/// max(x, 0); NaN stays NaN
pub const GGEMM_ACTIVATION_RELU: ggemm_activation = 1;
/// x \> 0 ? x : p0 x
pub const GGEMM_ACTIVATION_LEAKY_RELU: ggemm_activation = 2;
/// x/2 (1 + erf(x / sqrt 2)); at -infinity its limit, 0
pub const GGEMM_ACTIVATION_GELU: ggemm_activation = 3;
/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); likewise
pub const GGEMM_ACTIVATION_GELU_TANH: ggemm_activation = 4;
/// x / (1 + exp(-x)); likewise
pub const GGEMM_ACTIVATION_SILU: ggemm_activation = 5;
/// 1 / (1 + exp(-x))
pub const GGEMM_ACTIVATION_SIGMOID: ggemm_activation = 6;
/// tanh(x)
pub const GGEMM_ACTIVATION_TANH: ggemm_activation = 7;
/// min(max(x, p0), p1); NaN stays NaN
pub const GGEMM_ACTIVATION_CLAMP: ggemm_activation = 8;
pub const GGEMM_ACTIVATION_FORCE32: ggemm_activation = 2147483647;
/** The act of D = act(alpha scale A B + beta C + bias), a function of each element x.
 p0 and p1 are ggemm\_epilogue\_desc's activation\_p0 and activation\_p1.*/
pub type ggemm_activation = ::core::ffi::c_uint;
/// nothing: the arguments' bias is not looked at
pub const GGEMM_BIAS_NONE: ggemm_bias = 0;
/// bias\[j\], n elements
pub const GGEMM_BIAS_PER_COLUMN: ggemm_bias = 1;
/// bias\[i\], m elements
pub const GGEMM_BIAS_PER_ROW: ggemm_bias = 2;
pub const GGEMM_BIAS_FORCE32: ggemm_bias = 2147483647;
/// What is added to element (i, j) before the activation. The bias is contiguous.
pub type ggemm_bias = ::core::ffi::c_uint;
/// no pairs
pub const GGEMM_GATE_NONE: ggemm_gate = 0;
/// D's column j is of columns j (gate) and j + n/2 (up)
pub const GGEMM_GATE_HALVES: ggemm_gate = 1;
/// of columns 2j (gate) and 2j + 1 (up)
pub const GGEMM_GATE_INTERLEAVED: ggemm_gate = 2;
pub const GGEMM_GATE_FORCE32: ggemm_gate = 2147483647;
/** Gated pairs, as in SwiGLU (silu) and GeGLU (gelu): columns of the product come in pairs, gate first, and D = act(x\_gate) x\_up has n / 2 columns,
 where x = alpha scale A B + bias. n is the number of B's columns, and even; a bias per column has n elements. There is no C: beta must be NULL, or
 0 in host memory, and C's strides are not held against any size.*/
pub type ggemm_gate = ::core::ffi::c_uint;
/** What follows the product: D = act(alpha scale A B + beta C + bias), or the gated pairs of it. Frozen: held by value in others. Computed in f64 if
 the sums are f64, in int32 (wrapping) if the sums and D are int32 (C and bias are then i32, act is none, relu or clamp, and there is no gate),
 else in f32.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_epilogue_desc {
    /// 0: none
    pub activation: ggemm_activation,
    /// 0: none
    pub bias: ggemm_bias,
    /// NONE: D's
    pub bias_dtype: ggemm_dtype,
    /// 1: args' alpha and beta point to device memory; 0: to host memory, read before the call returns
    pub scalars_on_device: u32,
    /// leaky relu: slope, finite in f32 (f64 where that is what is summed in); clamp: low end; else not looked at, but not NaN
    pub activation_p0: f64,
    /// clamp: high end, not below the low one; likewise
    pub activation_p1: f64,
    /// 0: no gated pairs
    pub gate: ggemm_gate,
    /// 0
    pub reserved0: u32,
    /// 0
    pub reserved1: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_epilogue_desc",
    ][::core::mem::size_of::<ggemm_epilogue_desc>() - 48usize];
    [
        "Alignment of ggemm_epilogue_desc",
    ][::core::mem::align_of::<ggemm_epilogue_desc>() - 8usize];
    [
        "Offset of field: ggemm_epilogue_desc::activation",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, activation) - 0usize];
    [
        "Offset of field: ggemm_epilogue_desc::bias",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, bias) - 4usize];
    [
        "Offset of field: ggemm_epilogue_desc::bias_dtype",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, bias_dtype) - 8usize];
    [
        "Offset of field: ggemm_epilogue_desc::scalars_on_device",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, scalars_on_device) - 12usize];
    [
        "Offset of field: ggemm_epilogue_desc::activation_p0",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, activation_p0) - 16usize];
    [
        "Offset of field: ggemm_epilogue_desc::activation_p1",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, activation_p1) - 24usize];
    [
        "Offset of field: ggemm_epilogue_desc::gate",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, gate) - 32usize];
    [
        "Offset of field: ggemm_epilogue_desc::reserved0",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, reserved0) - 36usize];
    [
        "Offset of field: ggemm_epilogue_desc::reserved1",
    ][::core::mem::offset_of!(ggemm_epilogue_desc, reserved1) - 40usize];
};
/// not scaled
pub const GGEMM_SCALE_NONE: ggemm_scale_kind = 0;
/// one number
pub const GGEMM_SCALE_TENSOR: ggemm_scale_kind = 1;
/// one for each row of A, \[m,1\]; for each column of B, \[1,n\]
pub const GGEMM_SCALE_VECTOR: ggemm_scale_kind = 2;
/// one for each 128 of k of a row of A, \[m,ceil(k/128)\]; of a column of B, \[ceil(k/128),n\]
pub const GGEMM_SCALE_BLOCK_1X128: ggemm_scale_kind = 3;
/// one for each block of 128 rows of A and 128 of k, \[ceil(m/128),ceil(k/128)\]; of B, \[ceil(k/128),ceil(n/128)\]
pub const GGEMM_SCALE_BLOCK_128X128: ggemm_scale_kind = 4;
pub const GGEMM_SCALE_KIND_FORCE32: ggemm_scale_kind = 2147483647;
/** How an operand is scaled: by f32 numbers in device memory, which form a matrix of their own. Blocks along k begin at k 0, the last may be partial,
 as may the last along m or n. D = act(alpha sum(s\_a(i,kb) s\_b(kb,j) sum(a b over block kb of k)) + beta C + bias): each block's products are
 summed in f32 and then added, scaled, to an f32 sum; what does not change along k scales the whole sum once. A and B may be scaled in different
 ways; either may be scaled alone.
 Any dtypes of A and B, but f64 (its sums have more bits than the scales), and but i8 with D i32 (which stays in integers). i8 scaled by blocks is
 summed in f32.*/
pub type ggemm_scale_kind = ::core::ffi::c_uint;
/** The scales of A or B: element (i, j) of their matrix is at base + i \* row\_stride + j \* col\_stride, in f32 elements, strides as in ggemm\_matrix (0
 to repeat, packed row-major by default). The strides of a single number are not looked at. Fast: contiguous along A's rows (row\_stride 1) or B's
 columns (col\_stride 1). Frozen.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_scale {
    /// 0: not scaled
    pub kind: ggemm_scale_kind,
    /// 0
    pub reserved0: u32,
    /// f32 elements, or GGEMM\_PACKED
    pub row_stride: i64,
    /// f32 elements, or GGEMM\_PACKED
    pub col_stride: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_scale"][::core::mem::size_of::<ggemm_scale>() - 24usize];
    ["Alignment of ggemm_scale"][::core::mem::align_of::<ggemm_scale>() - 8usize];
    [
        "Offset of field: ggemm_scale::kind",
    ][::core::mem::offset_of!(ggemm_scale, kind) - 0usize];
    [
        "Offset of field: ggemm_scale::reserved0",
    ][::core::mem::offset_of!(ggemm_scale, reserved0) - 4usize];
    [
        "Offset of field: ggemm_scale::row_stride",
    ][::core::mem::offset_of!(ggemm_scale, row_stride) - 8usize];
    [
        "Offset of field: ggemm_scale::col_stride",
    ][::core::mem::offset_of!(ggemm_scale, col_stride) - 16usize];
};
/// D\[m,n\] = act(alpha scale A\[m,k\] B\[k,n\] + beta C\[m,n\] + bias); with gated pairs D is \[m,n/2\].
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_gemm_desc {
    pub struct_size: usize,
    /// 0 or more
    pub m: i64,
    /// 0 or more
    pub n: i64,
    /// 0 or more
    pub k: i64,
    /// c.dtype NONE: D's
    pub a: ggemm_matrix,
    /// c.dtype NONE: D's
    pub b: ggemm_matrix,
    /// c.dtype NONE: D's
    pub c: ggemm_matrix,
    /// c.dtype NONE: D's
    pub d: ggemm_matrix,
    /// what follows the product
    pub epilogue: ggemm_epilogue_desc,
    /// 0: GGEMM\_COMPUTE\_DEFAULT
    pub compute: ggemm_compute,
    /// 0
    pub reserved0: u32,
    /// force this configuration (a name, see ggemm\_config); NULL: chosen
    pub config: *const ::core::ffi::c_char,
    /// the caller's own key: only tuning records made under it are used, whatever the sizes; NULL: the library's key
    pub tune_key: *const ::core::ffi::c_char,
    /// of A and of B
    pub scale_a: ggemm_scale,
    /// of A and of B
    pub scale_b: ggemm_scale,
    /** CTAs at most that multiply at once, each of which takes a multiprocessor or a part of one, so that other work may
 run beside; 0: as many as the device holds. Clusters of more CTAs are not taken. The launches that may come
 before, short ones that copy operands or look at groups, have CTAs of their own. Never changes a result beyond
 rounding. The host device does not look at it*/
    pub max_ctas: i32,
    /// 0
    pub reserved1: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_gemm_desc"][::core::mem::size_of::<ggemm_gemm_desc>() - 288usize];
    [
        "Alignment of ggemm_gemm_desc",
    ][::core::mem::align_of::<ggemm_gemm_desc>() - 8usize];
    [
        "Offset of field: ggemm_gemm_desc::struct_size",
    ][::core::mem::offset_of!(ggemm_gemm_desc, struct_size) - 0usize];
    [
        "Offset of field: ggemm_gemm_desc::m",
    ][::core::mem::offset_of!(ggemm_gemm_desc, m) - 8usize];
    [
        "Offset of field: ggemm_gemm_desc::n",
    ][::core::mem::offset_of!(ggemm_gemm_desc, n) - 16usize];
    [
        "Offset of field: ggemm_gemm_desc::k",
    ][::core::mem::offset_of!(ggemm_gemm_desc, k) - 24usize];
    [
        "Offset of field: ggemm_gemm_desc::a",
    ][::core::mem::offset_of!(ggemm_gemm_desc, a) - 32usize];
    [
        "Offset of field: ggemm_gemm_desc::b",
    ][::core::mem::offset_of!(ggemm_gemm_desc, b) - 64usize];
    [
        "Offset of field: ggemm_gemm_desc::c",
    ][::core::mem::offset_of!(ggemm_gemm_desc, c) - 96usize];
    [
        "Offset of field: ggemm_gemm_desc::d",
    ][::core::mem::offset_of!(ggemm_gemm_desc, d) - 128usize];
    [
        "Offset of field: ggemm_gemm_desc::epilogue",
    ][::core::mem::offset_of!(ggemm_gemm_desc, epilogue) - 160usize];
    [
        "Offset of field: ggemm_gemm_desc::compute",
    ][::core::mem::offset_of!(ggemm_gemm_desc, compute) - 208usize];
    [
        "Offset of field: ggemm_gemm_desc::reserved0",
    ][::core::mem::offset_of!(ggemm_gemm_desc, reserved0) - 212usize];
    [
        "Offset of field: ggemm_gemm_desc::config",
    ][::core::mem::offset_of!(ggemm_gemm_desc, config) - 216usize];
    [
        "Offset of field: ggemm_gemm_desc::tune_key",
    ][::core::mem::offset_of!(ggemm_gemm_desc, tune_key) - 224usize];
    [
        "Offset of field: ggemm_gemm_desc::scale_a",
    ][::core::mem::offset_of!(ggemm_gemm_desc, scale_a) - 232usize];
    [
        "Offset of field: ggemm_gemm_desc::scale_b",
    ][::core::mem::offset_of!(ggemm_gemm_desc, scale_b) - 256usize];
    [
        "Offset of field: ggemm_gemm_desc::max_ctas",
    ][::core::mem::offset_of!(ggemm_gemm_desc, max_ctas) - 280usize];
    [
        "Offset of field: ggemm_gemm_desc::reserved1",
    ][::core::mem::offset_of!(ggemm_gemm_desc, reserved1) - 284usize];
};
/// The operands of one call.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_gemm_args {
    pub struct_size: usize,
    /// device memory; may be NULL when m, n or k is 0
    pub a: *const ::core::ffi::c_void,
    /// likewise
    pub b: *const ::core::ffi::c_void,
    /** may be NULL if beta is 0, unless beta is in device memory; may be d itself, with the same strides and dtype, else must not
 overlap it*/
    pub c: *const ::core::ffi::c_void,
    /// must not overlap a, b, bias, scales or a scalar in device memory; may be NULL when m or n is 0
    pub d: *mut ::core::ffi::c_void,
    /// may be NULL when the description has none, or m or n is 0
    pub bias: *const ::core::ffi::c_void,
    /** f32; f64 where the sums are f64; i32 where the epilogue is int32. NULL: 1. 0 is a factor like others: NaN and infinity in A
 and B stay*/
    pub alpha: *const ::core::ffi::c_void,
    /// likewise; NULL: 0. Where it is 0, C is not read
    pub beta: *const ::core::ffi::c_void,
    /// GGEMM\_AS\_DESCRIBED, or this call's size; packed strides follow
    pub m: i64,
    /// GGEMM\_AS\_DESCRIBED, or this call's size; packed strides follow
    pub n: i64,
    /// GGEMM\_AS\_DESCRIBED, or this call's size; packed strides follow
    pub k: i64,
    /// f32, device memory; may be NULL when the description has none, or m, n or k is 0: then it is not looked at
    pub scale_a: *const ::core::ffi::c_void,
    /// likewise
    pub scale_b: *const ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_gemm_args"][::core::mem::size_of::<ggemm_gemm_args>() - 104usize];
    [
        "Alignment of ggemm_gemm_args",
    ][::core::mem::align_of::<ggemm_gemm_args>() - 8usize];
    [
        "Offset of field: ggemm_gemm_args::struct_size",
    ][::core::mem::offset_of!(ggemm_gemm_args, struct_size) - 0usize];
    [
        "Offset of field: ggemm_gemm_args::a",
    ][::core::mem::offset_of!(ggemm_gemm_args, a) - 8usize];
    [
        "Offset of field: ggemm_gemm_args::b",
    ][::core::mem::offset_of!(ggemm_gemm_args, b) - 16usize];
    [
        "Offset of field: ggemm_gemm_args::c",
    ][::core::mem::offset_of!(ggemm_gemm_args, c) - 24usize];
    [
        "Offset of field: ggemm_gemm_args::d",
    ][::core::mem::offset_of!(ggemm_gemm_args, d) - 32usize];
    [
        "Offset of field: ggemm_gemm_args::bias",
    ][::core::mem::offset_of!(ggemm_gemm_args, bias) - 40usize];
    [
        "Offset of field: ggemm_gemm_args::alpha",
    ][::core::mem::offset_of!(ggemm_gemm_args, alpha) - 48usize];
    [
        "Offset of field: ggemm_gemm_args::beta",
    ][::core::mem::offset_of!(ggemm_gemm_args, beta) - 56usize];
    [
        "Offset of field: ggemm_gemm_args::m",
    ][::core::mem::offset_of!(ggemm_gemm_args, m) - 64usize];
    [
        "Offset of field: ggemm_gemm_args::n",
    ][::core::mem::offset_of!(ggemm_gemm_args, n) - 72usize];
    [
        "Offset of field: ggemm_gemm_args::k",
    ][::core::mem::offset_of!(ggemm_gemm_args, k) - 80usize];
    [
        "Offset of field: ggemm_gemm_args::scale_a",
    ][::core::mem::offset_of!(ggemm_gemm_args, scale_a) - 88usize];
    [
        "Offset of field: ggemm_gemm_args::scale_b",
    ][::core::mem::offset_of!(ggemm_gemm_args, scale_b) - 96usize];
};
/// `value`, for every group
pub const GGEMM_SOURCE_CONST: ggemm_source_kind = 0;
/// group g's is the int32 at data + g \* byte\_stride
pub const GGEMM_SOURCE_I32: ggemm_source_kind = 1;
/// likewise int64
pub const GGEMM_SOURCE_I64: ggemm_source_kind = 2;
pub const GGEMM_SOURCE_FORCE32: ggemm_source_kind = 2147483647;
/// Where a ggemm\_source has its number.
pub type ggemm_source_kind = ::core::ffi::c_uint;
/// Where a per-group number comes from. Frozen: held by value in others.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_source {
    /** device memory, aligned to the number's size, as is byte\_stride; read when the launch runs, so it must stay as it is
 until then*/
    pub data: *const ::core::ffi::c_void,
    /// bytes from one group's number to the next one's
    pub byte_stride: i64,
    /// of a constant, of which `data` and byte\_stride are not looked at; else not looked at itself
    pub value: i64,
    /// 0: a constant
    pub kind: ggemm_source_kind,
    /// 0
    pub reserved0: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_source"][::core::mem::size_of::<ggemm_source>() - 32usize];
    ["Alignment of ggemm_source"][::core::mem::align_of::<ggemm_source>() - 8usize];
    [
        "Offset of field: ggemm_source::data",
    ][::core::mem::offset_of!(ggemm_source, data) - 0usize];
    [
        "Offset of field: ggemm_source::byte_stride",
    ][::core::mem::offset_of!(ggemm_source, byte_stride) - 8usize];
    [
        "Offset of field: ggemm_source::value",
    ][::core::mem::offset_of!(ggemm_source, value) - 16usize];
    [
        "Offset of field: ggemm_source::kind",
    ][::core::mem::offset_of!(ggemm_source, kind) - 24usize];
    [
        "Offset of field: ggemm_source::reserved0",
    ][::core::mem::offset_of!(ggemm_source, reserved0) - 28usize];
};
/// a, b, c, d and bias in the arguments are device arrays of one pointer a group.
pub const GGEMM_GROUPS_POINTERS: ggemm_grouped_form = 0;
/** Tokens sorted by expert: D\_g = act(alpha\_g scale\_g A\_g B\_g + beta\_g C\_g + bias\_g) for the rows of group g, which are those from the end of group
 g - 1 (the first: 0) to the end of group g of matrices A \[m,k\], C and D \[m,n\]. `m` is a constant, the rows of these matrices in all; n and k are
 constants; `ends` has each group's end. Equal ends make an empty group. Rows behind the last end belong to no group: of D they are not written.
 No padding between groups is needed, and any strides will do.*/
pub const GGEMM_GROUPS_RAGGED_M: ggemm_grouped_form = 1;
/** Weight gradients: D\_g \[m,n\] = act(alpha\_g scale\_g A\_g B\_g + beta\_g C\_g + bias\_g), where A\_g is columns and B\_g is rows from the end of group
 g - 1 (the first: 0) to the end of group g of matrices A \[m,k\] and B \[k,n\]. `k` is a constant, the depth of these matrices in all; m and n are
 constants; `ends` has each group's end. A group of depth 0 is as one with k 0. To accumulate, let C be D and beta 1.*/
pub const GGEMM_GROUPS_RAGGED_K: ggemm_grouped_form = 2;
/** Room for `m` rows in each group, of which as many count as `counts` says: A\_g \[m,k\], C\_g and D\_g \[m,n\]. `m` is a constant; a count above it
 counts as it. Rows of A and C behind the count are not used, though A's may be read, and of D not written.*/
pub const GGEMM_GROUPS_MASKED: ggemm_grouped_form = 3;
/** Every matrix at `group\_stride` from the one before. Sizes may be a group's own; then the distances must be given. Where all sizes and strides are
 constants, a CUDA device runs it as fast as plain products of these sizes: of sm\_90a if C is not read, lines, bases and distances are at multiples
 of 16 bytes, and max\_ctas and checked mode are not asked for.*/
pub const GGEMM_GROUPS_BATCH: ggemm_grouped_form = 4;
/** Every matrix at `group\_stride` from the one before. Sizes may be a group's own; then the distances must be given. Where all sizes and strides are
 constants, a CUDA device runs it as fast as plain products of these sizes: of sm\_90a if C is not read, lines, bases and distances are at multiples
 of 16 bytes, and max\_ctas and checked mode are not asked for.*/
pub const GGEMM_GROUPED_FORM_FORCE32: ggemm_grouped_form = 2147483647;
/** How the operands of the groups are given. In the first form each operand is an array of pointers. In the others it is one pointer to memory that
 holds all groups, unless the operand's `pointers` says otherwise; what is said here of D holds for C too.
 | form     | a group's size                          | A                     | B                     | D                     |
 | -------- | --------------------------------------- | --------------------- | --------------------- | --------------------- |
 | POINTERS | m, n, k: sources                        | pointers              | pointers              | pointers              |
 | RAGGED\_M | m from `ends`; n, k constant            | one matrix \[m,k\]      | group\_stride/pointers | one matrix \[m,n\]      |
 | RAGGED\_K | k from `ends`; m, n constant            | one matrix \[m,k\]      | one matrix \[k,n\]      | group\_stride/pointers |
 | MASKED   | m from `counts`, `m` at most; n, k      | group\_stride/pointers | group\_stride/pointers | group\_stride/pointers |
 | BATCH    | m, n, k: sources                        | group\_stride/pointers | group\_stride/pointers | group\_stride/pointers |*/
pub type ggemm_grouped_form = ::core::ffi::c_uint;
/** A matrix of each group. A stride that is a constant GGEMM\_PACKED follows the matrix's shape: the group's own sizes, but in ragged and masked forms
 the sizes in all, or that there is room for, as the description's constants give them. A stride from memory is taken as it is. Frozen.
 The fast path needs unit strides as constants (GGEMM\_PACKED is one): a kernel is compiled for the direction that is contiguous.
 The matrices of a ragged form that hold all groups have constant strides, by the same rules as a ggemm\_matrix.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_grouped_matrix {
    /// as in ggemm\_matrix
    pub dtype: ggemm_dtype,
    /** 1: in the arguments it is a device array of one pointer a group, whatever the form. Not for what is one
 matrix. The first form takes 0 too*/
    pub pointers: u32,
    /// elements, or a constant GGEMM\_PACKED
    pub row_stride: ggemm_source,
    /// elements, or a constant GGEMM\_PACKED
    pub col_stride: ggemm_source,
    /** elements from one group's first element to the next one's; 0: all groups share it (not D). GGEMM\_PACKED:
 rows or columns times the longer stride, so that groups follow each other; needs constant sizes and
 strides. D's groups lie apart, or take turns, as rows of each group in one matrix. Not looked at with
 pointers and in what is one matrix: there it is GGEMM\_PACKED or 0*/
    pub group_stride: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_grouped_matrix",
    ][::core::mem::size_of::<ggemm_grouped_matrix>() - 80usize];
    [
        "Alignment of ggemm_grouped_matrix",
    ][::core::mem::align_of::<ggemm_grouped_matrix>() - 8usize];
    [
        "Offset of field: ggemm_grouped_matrix::dtype",
    ][::core::mem::offset_of!(ggemm_grouped_matrix, dtype) - 0usize];
    [
        "Offset of field: ggemm_grouped_matrix::pointers",
    ][::core::mem::offset_of!(ggemm_grouped_matrix, pointers) - 4usize];
    [
        "Offset of field: ggemm_grouped_matrix::row_stride",
    ][::core::mem::offset_of!(ggemm_grouped_matrix, row_stride) - 8usize];
    [
        "Offset of field: ggemm_grouped_matrix::col_stride",
    ][::core::mem::offset_of!(ggemm_grouped_matrix, col_stride) - 40usize];
    [
        "Offset of field: ggemm_grouped_matrix::group_stride",
    ][::core::mem::offset_of!(ggemm_grouped_matrix, group_stride) - 72usize];
};
/** The scales of each group's A or B. Frozen.
 TENSOR: f32 numbers, `group\_stride` apart in every form (GGEMM\_PACKED: 1; 0: one for all groups), unless `pointers` is set. Strides are
 ignored.
 The other kinds: a matrix of each group, of the shape that ggemm\_scale\_kind says, given as a ggemm\_grouped\_matrix is, by the same form. What the
 groups share along a ragged index is one matrix here too, unless `pointers` is set. RAGGED\_M: A's scales, of which each group has its own rows, or
 rows of blocks. RAGGED\_K: A's and B's scales by blocks, of which each group has its own blocks along k (VECTOR scales do not change along k: they
 are a group's own).
 Blocks begin anew with each group. Where there are blocks along the ragged index, and group g begins there at start\_g, its first block is
 start\_g / 128 + g, rounded down, with group\_stride GGEMM\_PACKED: so each group has room for a partial block, and the matrix has size / 128 + groups
 blocks. With group\_stride 0, for groups that all begin at multiples of 128, it is start\_g / 128.
 With a\_index, A's scales VECTOR and BLOCK\_1X128 are those of A's rows: one matrix \[a\_rows,...\], in which rows are found by the index as A's are,
 so that `pointers` must be 0. BLOCK\_128X128 is refused.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_grouped_scale {
    /// 0: not scaled
    pub kind: ggemm_scale_kind,
    /// as in ggemm\_grouped\_matrix, but that the matrices of a ragged form may be given so too
    pub pointers: u32,
    /// f32 elements, or a constant GGEMM\_PACKED
    pub row_stride: ggemm_source,
    /// f32 elements, or a constant GGEMM\_PACKED
    pub col_stride: ggemm_source,
    /// as in ggemm\_grouped\_matrix, and see above
    pub group_stride: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_grouped_scale",
    ][::core::mem::size_of::<ggemm_grouped_scale>() - 80usize];
    [
        "Alignment of ggemm_grouped_scale",
    ][::core::mem::align_of::<ggemm_grouped_scale>() - 8usize];
    [
        "Offset of field: ggemm_grouped_scale::kind",
    ][::core::mem::offset_of!(ggemm_grouped_scale, kind) - 0usize];
    [
        "Offset of field: ggemm_grouped_scale::pointers",
    ][::core::mem::offset_of!(ggemm_grouped_scale, pointers) - 4usize];
    [
        "Offset of field: ggemm_grouped_scale::row_stride",
    ][::core::mem::offset_of!(ggemm_grouped_scale, row_stride) - 8usize];
    [
        "Offset of field: ggemm_grouped_scale::col_stride",
    ][::core::mem::offset_of!(ggemm_grouped_scale, col_stride) - 40usize];
    [
        "Offset of field: ggemm_grouped_scale::group_stride",
    ][::core::mem::offset_of!(ggemm_grouped_scale, group_stride) - 72usize];
};
/** For each group g: D\_g\[m\_g,n\_g\] = act(alpha\_g scale\_g A\_g B\_g + beta\_g C\_g + bias\_g), in one call; with gated pairs D\_g is \[m\_g,n\_g/2\].
 A group with m or n 0 is empty: its pointers are not looked at. With k 0, D\_g = act(alpha\_g 0 + beta\_g C\_g + bias\_g), as in ggemm\_gemm, and the
 pointers of A, B and their scales are not looked at.
 A size or count below 0 in memory counts as 0; as a constant it is GGEMM\_ERROR\_ARGUMENT. An end below 0 counts as 0, one above the size in all as
 that, and a group that ends before it begins is empty: whatever the ends are, nothing outside the matrices is touched. (Rows of D that two groups
 claim, as the ends fall and rise again, hold the result of either.) The host device checks the pointers and strides of every group before it
 writes anything; a CUDA device reads them only when the launch runs, and can refuse nothing then, but for checked mode.
 Limits on a CUDA device: all groups together have fewer than 2^31 - 2^17 tiles of the configuration, k is below 2^31 tiles; a group's m, n and k,
 where they are in memory, are 2^31 - 4096 at most, which checked mode does not tell.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_grouped_desc {
    pub struct_size: usize,
    /// 0 to 2^31 - 33
    pub groups: i64,
    /// how the operands are given; 0: GGEMM\_GROUPS\_POINTERS
    pub form: ggemm_grouped_form,
    /// 0: GGEMM\_COMPUTE\_DEFAULT
    pub compute: ggemm_compute,
    /// sizes, as the form says
    pub m: ggemm_source,
    /// sizes, as the form says
    pub n: ggemm_source,
    /// sizes, as the form says
    pub k: ggemm_source,
    /// c.dtype NONE: D's
    pub a: ggemm_grouped_matrix,
    /// c.dtype NONE: D's
    pub b: ggemm_grouped_matrix,
    /// c.dtype NONE: D's
    pub c: ggemm_grouped_matrix,
    /// c.dtype NONE: D's
    pub d: ggemm_grouped_matrix,
    /// of every group
    pub epilogue: ggemm_epilogue_desc,
    /** mean sizes of a group, for the choice of configuration; 0: not known. Never change a result beyond
 rounding. RAGGED\_M with expected\_largest\_m: the mean of groups that have rows is the better hint,
 for then m / expected\_m of them are taken to have some*/
    pub expected_m: i64,
    /** mean sizes of a group, for the choice of configuration; 0: not known. Never change a result beyond
 rounding. RAGGED\_M with expected\_largest\_m: the mean of groups that have rows is the better hint,
 for then m / expected\_m of them are taken to have some*/
    pub expected_n: i64,
    /** mean sizes of a group, for the choice of configuration; 0: not known. Never change a result beyond
 rounding. RAGGED\_M with expected\_largest\_m: the mean of groups that have rows is the better hint,
 for then m / expected\_m of them are taken to have some*/
    pub expected_k: i64,
    /// as in ggemm\_gemm\_desc
    pub config: *const ::core::ffi::c_char,
    /// as in ggemm\_gemm\_desc
    pub tune_key: *const ::core::ffi::c_char,
    /// RAGGED\_M, RAGGED\_K: where each group ends, in device memory, as torch's `offs`; else a constant 0
    pub ends: ggemm_source,
    /// MASKED: rows of each group that count; else a constant 0
    pub counts: ggemm_source,
    /** elements from one group's bias to the next one's; 0: all groups share it; GGEMM\_PACKED: its length. A bias per row
 in RAGGED\_M is one of m elements, beside D's rows*/
    pub bias_group_stride: i64,
    /** 1: in the arguments the bias is a device array of one pointer a group, whatever the form. The first form takes 0
 too*/
    pub bias_pointers: u32,
    /// 1: checked mode, see ggemm\_fault. For every form
    pub checked: u32,
    /** RAGGED\_M: not a constant 0: A is \[a\_rows,k\], and row i of the groups' order is its row a\_index\[i\], an int32 or int64
 a row, byte\_stride apart, m of them. An index outside 0 to a\_rows - 1 stands for a row of zeros*/
    pub a_index: ggemm_source,
    /// with a\_index; else 0
    pub a_rows: i64,
    /** RAGGED\_M: not a constant 0: D is \[d\_rows,n\] (\[d\_rows,n/2\] of pairs), and row i of the groups' order goes to its row
 d\_index\[i\], likewise; it is left out where that is outside 0 to d\_rows - 1. C stays in the groups' order, and is not
 D. Rows that go to one row of D are added up, in their order, in the type that the epilogue computes in (on a CUDA
 device in workspace of m rows of n f32, f64 or i32, by a launch after the product's); rows of D that none goes to
 are not written*/
    pub d_index: ggemm_source,
    /// with d\_index; else 0
    pub d_rows: i64,
    /** 1: no two rows go to one row of D, which is then stored at once. Where it is not true, D's row holds the result of
 either*/
    pub d_index_unique: u32,
    /// 0
    pub reserved0: u32,
    /// of A and of B
    pub scale_a: ggemm_grouped_scale,
    /// of A and of B
    pub scale_b: ggemm_grouped_scale,
    /// as in ggemm\_gemm\_desc
    pub max_ctas: i32,
    /// 0
    pub reserved1: u32,
    /** beside expected\_m: rows of the largest group; 0: not known. As expected\_m (groups, or those that have rows, are alike),
 or as all groups' rows (one has them all), or between*/
    pub expected_largest_m: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_grouped_desc",
    ][::core::mem::size_of::<ggemm_grouped_desc>() - 872usize];
    [
        "Alignment of ggemm_grouped_desc",
    ][::core::mem::align_of::<ggemm_grouped_desc>() - 8usize];
    [
        "Offset of field: ggemm_grouped_desc::struct_size",
    ][::core::mem::offset_of!(ggemm_grouped_desc, struct_size) - 0usize];
    [
        "Offset of field: ggemm_grouped_desc::groups",
    ][::core::mem::offset_of!(ggemm_grouped_desc, groups) - 8usize];
    [
        "Offset of field: ggemm_grouped_desc::form",
    ][::core::mem::offset_of!(ggemm_grouped_desc, form) - 16usize];
    [
        "Offset of field: ggemm_grouped_desc::compute",
    ][::core::mem::offset_of!(ggemm_grouped_desc, compute) - 20usize];
    [
        "Offset of field: ggemm_grouped_desc::m",
    ][::core::mem::offset_of!(ggemm_grouped_desc, m) - 24usize];
    [
        "Offset of field: ggemm_grouped_desc::n",
    ][::core::mem::offset_of!(ggemm_grouped_desc, n) - 56usize];
    [
        "Offset of field: ggemm_grouped_desc::k",
    ][::core::mem::offset_of!(ggemm_grouped_desc, k) - 88usize];
    [
        "Offset of field: ggemm_grouped_desc::a",
    ][::core::mem::offset_of!(ggemm_grouped_desc, a) - 120usize];
    [
        "Offset of field: ggemm_grouped_desc::b",
    ][::core::mem::offset_of!(ggemm_grouped_desc, b) - 200usize];
    [
        "Offset of field: ggemm_grouped_desc::c",
    ][::core::mem::offset_of!(ggemm_grouped_desc, c) - 280usize];
    [
        "Offset of field: ggemm_grouped_desc::d",
    ][::core::mem::offset_of!(ggemm_grouped_desc, d) - 360usize];
    [
        "Offset of field: ggemm_grouped_desc::epilogue",
    ][::core::mem::offset_of!(ggemm_grouped_desc, epilogue) - 440usize];
    [
        "Offset of field: ggemm_grouped_desc::expected_m",
    ][::core::mem::offset_of!(ggemm_grouped_desc, expected_m) - 488usize];
    [
        "Offset of field: ggemm_grouped_desc::expected_n",
    ][::core::mem::offset_of!(ggemm_grouped_desc, expected_n) - 496usize];
    [
        "Offset of field: ggemm_grouped_desc::expected_k",
    ][::core::mem::offset_of!(ggemm_grouped_desc, expected_k) - 504usize];
    [
        "Offset of field: ggemm_grouped_desc::config",
    ][::core::mem::offset_of!(ggemm_grouped_desc, config) - 512usize];
    [
        "Offset of field: ggemm_grouped_desc::tune_key",
    ][::core::mem::offset_of!(ggemm_grouped_desc, tune_key) - 520usize];
    [
        "Offset of field: ggemm_grouped_desc::ends",
    ][::core::mem::offset_of!(ggemm_grouped_desc, ends) - 528usize];
    [
        "Offset of field: ggemm_grouped_desc::counts",
    ][::core::mem::offset_of!(ggemm_grouped_desc, counts) - 560usize];
    [
        "Offset of field: ggemm_grouped_desc::bias_group_stride",
    ][::core::mem::offset_of!(ggemm_grouped_desc, bias_group_stride) - 592usize];
    [
        "Offset of field: ggemm_grouped_desc::bias_pointers",
    ][::core::mem::offset_of!(ggemm_grouped_desc, bias_pointers) - 600usize];
    [
        "Offset of field: ggemm_grouped_desc::checked",
    ][::core::mem::offset_of!(ggemm_grouped_desc, checked) - 604usize];
    [
        "Offset of field: ggemm_grouped_desc::a_index",
    ][::core::mem::offset_of!(ggemm_grouped_desc, a_index) - 608usize];
    [
        "Offset of field: ggemm_grouped_desc::a_rows",
    ][::core::mem::offset_of!(ggemm_grouped_desc, a_rows) - 640usize];
    [
        "Offset of field: ggemm_grouped_desc::d_index",
    ][::core::mem::offset_of!(ggemm_grouped_desc, d_index) - 648usize];
    [
        "Offset of field: ggemm_grouped_desc::d_rows",
    ][::core::mem::offset_of!(ggemm_grouped_desc, d_rows) - 680usize];
    [
        "Offset of field: ggemm_grouped_desc::d_index_unique",
    ][::core::mem::offset_of!(ggemm_grouped_desc, d_index_unique) - 688usize];
    [
        "Offset of field: ggemm_grouped_desc::reserved0",
    ][::core::mem::offset_of!(ggemm_grouped_desc, reserved0) - 692usize];
    [
        "Offset of field: ggemm_grouped_desc::scale_a",
    ][::core::mem::offset_of!(ggemm_grouped_desc, scale_a) - 696usize];
    [
        "Offset of field: ggemm_grouped_desc::scale_b",
    ][::core::mem::offset_of!(ggemm_grouped_desc, scale_b) - 776usize];
    [
        "Offset of field: ggemm_grouped_desc::max_ctas",
    ][::core::mem::offset_of!(ggemm_grouped_desc, max_ctas) - 856usize];
    [
        "Offset of field: ggemm_grouped_desc::reserved1",
    ][::core::mem::offset_of!(ggemm_grouped_desc, reserved1) - 860usize];
    [
        "Offset of field: ggemm_grouped_desc::expected_largest_m",
    ][::core::mem::offset_of!(ggemm_grouped_desc, expected_largest_m) - 864usize];
};
/// nothing is wrong
pub const GGEMM_FAULT_NONE: ggemm_fault = 0;
/// a size or count is below 0, a count above the room, or n is odd with gated pairs
pub const GGEMM_FAULT_SIZE: ggemm_fault = 1;
/// a group ends before it begins, or above the size in all
pub const GGEMM_FAULT_END: ggemm_fault = 2;
/// a pointer that is followed is NULL
pub const GGEMM_FAULT_NULL: ggemm_fault = 3;
/// a pointer is not a multiple of its element's size
pub const GGEMM_FAULT_ALIGN: ggemm_fault = 4;
/// elements of D coincide: a stride is 0, or too short for the rows or columns that it leads over
pub const GGEMM_FAULT_STRIDE: ggemm_fault = 5;
/// a matrix spans 2^63 bytes or more
pub const GGEMM_FAULT_SPAN: ggemm_fault = 6;
/// an index of a row of A or D is not below its number of rows. (One below 0 is none: it stands for no row.)
pub const GGEMM_FAULT_INDEX: ggemm_fault = 7;
pub const GGEMM_FAULT_FORCE32: ggemm_fault = 2147483647;
/** What checked mode finds wrong with the numbers and pointers of groups in device memory. It looks at all of them before anything is computed, in a
 launch of its own on a CUDA device, and writes four int32 to `status` in the arguments, in stream order: the fault, the group, the ggemm\_field,
 and for an index the row in the groups' order (all 0: none found). They are of the lowest group that is wrong. D is then not written at all, for
 no group; the host device returns GGEMM\_ERROR\_ARGUMENT too.*/
pub type ggemm_fault = ::core::ffi::c_uint;
/// nothing is wrong
pub const GGEMM_FIELD_NONE: ggemm_field = 0;
/// m, a count, or an end of RAGGED\_M
pub const GGEMM_FIELD_M: ggemm_field = 1;
/// n
pub const GGEMM_FIELD_N: ggemm_field = 2;
/// k, or an end of RAGGED\_K
pub const GGEMM_FIELD_K: ggemm_field = 3;
/// A, or with GGEMM\_FAULT\_INDEX a\_index
pub const GGEMM_FIELD_A: ggemm_field = 4;
/// B
pub const GGEMM_FIELD_B: ggemm_field = 5;
/// C
pub const GGEMM_FIELD_C: ggemm_field = 6;
/// D, or with GGEMM\_FAULT\_INDEX d\_index
pub const GGEMM_FIELD_D: ggemm_field = 7;
/// the bias
pub const GGEMM_FIELD_BIAS: ggemm_field = 8;
/// A's scales
pub const GGEMM_FIELD_SCALE_A: ggemm_field = 9;
/// B's scales
pub const GGEMM_FIELD_SCALE_B: ggemm_field = 10;
pub const GGEMM_FIELD_FORCE32: ggemm_field = 2147483647;
/// Which number or operand of the group a ggemm\_fault is about.
pub type ggemm_field = ::core::ffi::c_uint;
/** The operands of one grouped call, in device memory: a matrix aligned to its element, or a device array of `groups` pointers, aligned to 8 bytes,
 to such matrices, as the description says. No group's D may overlap another's, nor any group's A, B, bias or scales, nor another group's C.
 Refused is what the description shows: elements or groups of D that share an address, where all sizes and strides are constants; and a D that is
 no array of pointers and begins where A or B does, or overlaps A, B or C where both leave nothing out. Of a group whose sizes or strides are
 in memory, the host device and checked mode find strides of D by which its elements share an address. Not checked at all: pointers of different
 groups or operands against each other, groups of D whose sizes or strides are in memory against each other, operands with gaps, and D against
 bias, scales, weights, scalars, the arrays of numbers and pointers, and the status word.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_grouped_args {
    pub struct_size: usize,
    /// const void\* const\[groups\], or the matrix; may be NULL when groups is 0, or a constant size in the description is
    pub a: *const ::core::ffi::c_void,
    /// likewise
    pub b: *const ::core::ffi::c_void,
    /** likewise; may be NULL if beta is 0, unless beta is in device memory; it, or its pointers, may be d's, as in
 ggemm\_gemm\_args*/
    pub c: *const ::core::ffi::c_void,
    /// void\* const\[groups\], or the matrix; the matrices are written
    pub d: *const ::core::ffi::c_void,
    /// likewise an array of pointers, or the bias; may be NULL when the description has none
    pub bias: *const ::core::ffi::c_void,
    /// one scalar for all groups, as in ggemm\_gemm\_args; or one a group
    pub alpha: *const ::core::ffi::c_void,
    /// likewise
    pub beta: *const ::core::ffi::c_void,
    /// bytes from one group's alpha to the next one's, in device memory (scalars\_on\_device); 0: one for all
    pub alpha_byte_stride: i64,
    /// likewise
    pub beta_byte_stride: i64,
    /** with d\_index: m elements of f32, one for each row of the groups' order, which it is multiplied by after activation
 and gate; NULL: none, as it must be where i8 products are stored as i32*/
    pub row_weights: *const ::core::ffi::c_void,
    /// in checked mode: int32\[4\], aligned to 4 bytes; see ggemm\_fault. Else not looked at
    pub status: *mut ::core::ffi::c_void,
    /** const float\* const\[groups\], or the scales; may be NULL when the description has none, groups is 0, or a constant
 size is*/
    pub scale_a: *const ::core::ffi::c_void,
    /// likewise
    pub scale_b: *const ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_grouped_args",
    ][::core::mem::size_of::<ggemm_grouped_args>() - 112usize];
    [
        "Alignment of ggemm_grouped_args",
    ][::core::mem::align_of::<ggemm_grouped_args>() - 8usize];
    [
        "Offset of field: ggemm_grouped_args::struct_size",
    ][::core::mem::offset_of!(ggemm_grouped_args, struct_size) - 0usize];
    [
        "Offset of field: ggemm_grouped_args::a",
    ][::core::mem::offset_of!(ggemm_grouped_args, a) - 8usize];
    [
        "Offset of field: ggemm_grouped_args::b",
    ][::core::mem::offset_of!(ggemm_grouped_args, b) - 16usize];
    [
        "Offset of field: ggemm_grouped_args::c",
    ][::core::mem::offset_of!(ggemm_grouped_args, c) - 24usize];
    [
        "Offset of field: ggemm_grouped_args::d",
    ][::core::mem::offset_of!(ggemm_grouped_args, d) - 32usize];
    [
        "Offset of field: ggemm_grouped_args::bias",
    ][::core::mem::offset_of!(ggemm_grouped_args, bias) - 40usize];
    [
        "Offset of field: ggemm_grouped_args::alpha",
    ][::core::mem::offset_of!(ggemm_grouped_args, alpha) - 48usize];
    [
        "Offset of field: ggemm_grouped_args::beta",
    ][::core::mem::offset_of!(ggemm_grouped_args, beta) - 56usize];
    [
        "Offset of field: ggemm_grouped_args::alpha_byte_stride",
    ][::core::mem::offset_of!(ggemm_grouped_args, alpha_byte_stride) - 64usize];
    [
        "Offset of field: ggemm_grouped_args::beta_byte_stride",
    ][::core::mem::offset_of!(ggemm_grouped_args, beta_byte_stride) - 72usize];
    [
        "Offset of field: ggemm_grouped_args::row_weights",
    ][::core::mem::offset_of!(ggemm_grouped_args, row_weights) - 80usize];
    [
        "Offset of field: ggemm_grouped_args::status",
    ][::core::mem::offset_of!(ggemm_grouped_args, status) - 88usize];
    [
        "Offset of field: ggemm_grouped_args::scale_a",
    ][::core::mem::offset_of!(ggemm_grouped_args, scale_a) - 96usize];
    [
        "Offset of field: ggemm_grouped_args::scale_b",
    ][::core::mem::offset_of!(ggemm_grouped_args, scale_b) - 104usize];
};
/** One way to run a problem. The name is unique and readable. Its parts in their order, those in brackets only where they say something:
 family\_A\_B\_sums\_layout\_BMxBNxBK\_wMxN\[xT\]\_sS\[\_cMxN\[xK\]\]\[\_kN or \_kt\]\[\_mR\]\[\_swap\]\_rR
 | part       | meaning                                                                                                                          |
 | ---------- | -------------------------------------------------------------------------------------------------------------------------------- |
 | family     | kernel family: simt, sm80, sm90, gemv; or host, whose names end at the layout                                                    |
 | A, B, sums | their dtypes; tf32 and f32x3 for A and B: f32 under GGEMM\_COMPUTE\_TF32 and GGEMM\_COMPUTE\_F32\_ACCURATE                            |
 | layout     | two letters: A's t (contiguous along k) or n (along m), and B's n (contiguous along k) or t (along n)                            |
 | BMxBNxBK   | CTA tile: rows and columns of the product, and depth along k, in elements                                                        |
 | wMxN       | warps that multiply, down and across the tile; gemv: N warps, each of which has all of the tile and a part of k; or, where M is  |
 |            | above 1, M warps, each of which has rows of its own (of a tile of fewer rows than columns: columns)                              |
 | xT         | sm90: T teams of so many warps take turns at tiles, one storing while the other multiplies; T is 2                               |
 | sS         | slots (stages) of the shared-memory ring; gemv: steps that a thread has under way                                                |
 | cMxN       | CTAs of a cluster, down and across D; in every name of the sm90 family, and in no other                                          |
 | xK         | K CTAs share a tile along k, so that the cluster has M x N x K of them; plain problems only                                      |
 | kN         | sm90: k is cut into N slices (fewer if it is too short), each for a cluster of its own; plain problems only                      |
 | kt         | k is cut only for the tiles of the last wave, which does not fill the device, by sm90 at times with those of the wave before     |
 | mR         | sm90: groups of more than R rows are computed beside, by a kernel of larger tiles that the library chooses by the sizes expected |
 | swap       | sm90: the product is computed transposed, with n on the tensor cores' rows                                                       |
 | rR         | raster group: R rows of tiles are walked together                                                                                |
 Such as "sm80\_bf16\_bf16\_f32\_tn\_128x256x64\_w2x4\_s3\_r8", "sm90\_bf16\_bf16\_f32\_tn\_128x256x64\_w8x1\_s4\_c2x1\_kt\_r8",
 "sm90\_bf16\_bf16\_f32\_tn\_64x64x64\_w4x1\_s8\_c1x1x4\_r1", "sm90\_bf16\_bf16\_f32\_tn\_128x128x64\_w8x1\_s6\_c2x1\_k33\_r1",
 "sm90\_bf16\_bf16\_f32\_tn\_128x128x64\_w4x1x2\_s6\_c2x1\_r8" and "sm90\_bf16\_bf16\_f32\_tn\_64x128x64\_w1x8\_s8\_c1x1\_m64\_swap\_r8".
 What is described with a D that is contiguous along m alone (a column-major one) is computed as D' = B' A', with D' in rows: names are of that
 product, whose A is B transposed, and tuning records too (under a tune\_key of the caller's own each orientation has its own); the numbers of a
 ggemm\_config of such a problem are D's all the same (`swapped`). ggemm\_plan\_explain says where it is so. Gated pairs are not; of groups those are
 whose m and n are constants, but for the forms of ragged and masked rows, rows by an index, checked mode, and packed rows of A, or of its scales by
 blocks, whose length (k) only the device knows.
 Where k is shared or cut (xK, kN, kt) the sums are added up in a fixed order, so that a device gives the same bits each time. But with kt, how k
 is cut, and so the rounding, depends on how many clusters (CTAs) the device holds at once, or `max\_ctas` allows. xK and kN are not taken with max\_ctas.
 Groups are cut (kt) only if they differ in m alone and are 256 at most; how then depends on the rows of all of them. kt is not taken with a\_index,
 in checked mode or with mR; neither of these by groups of which all is constant; and of simt and sm80 not in groups, with max\_ctas or with scales by blocks. Names of gemv have none of the three.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_config {
    pub struct_size: usize,
    /// as above
    pub name: [::core::ffi::c_char; 96usize],
    /// "simt", "sm80", "sm90", "gemv", "host"; of the last, the numbers below are all 0
    pub family: [::core::ffi::c_char; 16usize],
    /// CTA tile: rows, columns, depth along k
    pub tile_m: i32,
    /// CTA tile: rows, columns, depth along k
    pub tile_n: i32,
    /// CTA tile: rows, columns, depth along k
    pub tile_k: i32,
    /// warps that multiply, down and across the tile; of one team
    pub warps_m: i32,
    /// warps that multiply, down and across the tile; of one team
    pub warps_n: i32,
    /// slots of the shared-memory ring
    pub stages: i32,
    /** rows of tiles that are walked together, for L2 (Triton's GROUP\_SIZE\_M); what a row is there: see
 ggemm\_tile\_at*/
    pub raster: i32,
    /** of a grouped problem: groups of more rows than this are computed beside, by a kernel of larger tiles; 0: by the
 same as all*/
    pub large_above: i32,
    /// CTAs of a cluster down and across D; 0 in the families that form none
    pub cluster_m: i32,
    /// CTAs of a cluster down and across D; 0 in the families that form none
    pub cluster_n: i32,
    /** 1: the product is computed transposed, by "swap" in its name or, without it, as D is contiguous along m alone;
 the tile, warps and cluster above are those of D all the same*/
    pub swapped: i32,
    /// CTAs of a cluster that share a tile along k, 1 where none do; 0 in the families that form no clusters
    pub cluster_k: i32,
    /** slices that k is cut into, each for a cluster of its own; 1: only the last tiles are cut ("kt"); 0 where k is
 not cut*/
    pub slices: i32,
    /** 2: so many teams of these warps take turns at tiles, one storing while the other multiplies; 0: one team has
 them all*/
    pub teams: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_config"][::core::mem::size_of::<ggemm_config>() - 176usize];
    ["Alignment of ggemm_config"][::core::mem::align_of::<ggemm_config>() - 8usize];
    [
        "Offset of field: ggemm_config::struct_size",
    ][::core::mem::offset_of!(ggemm_config, struct_size) - 0usize];
    [
        "Offset of field: ggemm_config::name",
    ][::core::mem::offset_of!(ggemm_config, name) - 8usize];
    [
        "Offset of field: ggemm_config::family",
    ][::core::mem::offset_of!(ggemm_config, family) - 104usize];
    [
        "Offset of field: ggemm_config::tile_m",
    ][::core::mem::offset_of!(ggemm_config, tile_m) - 120usize];
    [
        "Offset of field: ggemm_config::tile_n",
    ][::core::mem::offset_of!(ggemm_config, tile_n) - 124usize];
    [
        "Offset of field: ggemm_config::tile_k",
    ][::core::mem::offset_of!(ggemm_config, tile_k) - 128usize];
    [
        "Offset of field: ggemm_config::warps_m",
    ][::core::mem::offset_of!(ggemm_config, warps_m) - 132usize];
    [
        "Offset of field: ggemm_config::warps_n",
    ][::core::mem::offset_of!(ggemm_config, warps_n) - 136usize];
    [
        "Offset of field: ggemm_config::stages",
    ][::core::mem::offset_of!(ggemm_config, stages) - 140usize];
    [
        "Offset of field: ggemm_config::raster",
    ][::core::mem::offset_of!(ggemm_config, raster) - 144usize];
    [
        "Offset of field: ggemm_config::large_above",
    ][::core::mem::offset_of!(ggemm_config, large_above) - 148usize];
    [
        "Offset of field: ggemm_config::cluster_m",
    ][::core::mem::offset_of!(ggemm_config, cluster_m) - 152usize];
    [
        "Offset of field: ggemm_config::cluster_n",
    ][::core::mem::offset_of!(ggemm_config, cluster_n) - 156usize];
    [
        "Offset of field: ggemm_config::swapped",
    ][::core::mem::offset_of!(ggemm_config, swapped) - 160usize];
    [
        "Offset of field: ggemm_config::cluster_k",
    ][::core::mem::offset_of!(ggemm_config, cluster_k) - 164usize];
    [
        "Offset of field: ggemm_config::slices",
    ][::core::mem::offset_of!(ggemm_config, slices) - 168usize];
    [
        "Offset of field: ggemm_config::teams",
    ][::core::mem::offset_of!(ggemm_config, teams) - 172usize];
};
/// Names a problem, plain or grouped: exactly one pointer is set. Frozen.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_problem {
    /// a plain problem, or NULL
    pub gemm: *const ggemm_gemm_desc,
    /// a grouped problem, or NULL
    pub grouped: *const ggemm_grouped_desc,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_problem"][::core::mem::size_of::<ggemm_problem>() - 16usize];
    ["Alignment of ggemm_problem"][::core::mem::align_of::<ggemm_problem>() - 8usize];
    [
        "Offset of field: ggemm_problem::gemm",
    ][::core::mem::offset_of!(ggemm_problem, gemm) - 0usize];
    [
        "Offset of field: ggemm_problem::grouped",
    ][::core::mem::offset_of!(ggemm_problem, grouped) - 8usize];
};
/** Progress of a long call: `done` of `total`, what was just finished ("" if it failed). Return 0 to go on, anything else to cancel. Called from the
 calling thread only. `what` lives as long as the call.*/
pub type ggemm_progress_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        done: usize,
        total: usize,
        what: *const ::core::ffi::c_char,
    ) -> i32,
>;
/// One candidate of a tuning. Lifetime: the call of the function that receives it.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_tune_row {
    pub struct_size: usize,
    /// the candidate's number, from 0, and how many there are
    pub index: usize,
    /// the candidate's number, from 0, and how many there are
    pub total: usize,
    /// its name
    pub config: *const ::core::ffi::c_char,
    /// of one launch, median of the round; 0 if it was not timed
    pub microseconds: f64,
    /// 10^12 operations a second: 2 m n k, summed over groups, over the time; 0 if it was not timed
    pub tflops: f64,
    /// why it cannot win; NULL if it can
    pub rejected: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_tune_row"][::core::mem::size_of::<ggemm_tune_row>() - 56usize];
    ["Alignment of ggemm_tune_row"][::core::mem::align_of::<ggemm_tune_row>() - 8usize];
    [
        "Offset of field: ggemm_tune_row::struct_size",
    ][::core::mem::offset_of!(ggemm_tune_row, struct_size) - 0usize];
    [
        "Offset of field: ggemm_tune_row::index",
    ][::core::mem::offset_of!(ggemm_tune_row, index) - 8usize];
    [
        "Offset of field: ggemm_tune_row::total",
    ][::core::mem::offset_of!(ggemm_tune_row, total) - 16usize];
    [
        "Offset of field: ggemm_tune_row::config",
    ][::core::mem::offset_of!(ggemm_tune_row, config) - 24usize];
    [
        "Offset of field: ggemm_tune_row::microseconds",
    ][::core::mem::offset_of!(ggemm_tune_row, microseconds) - 32usize];
    [
        "Offset of field: ggemm_tune_row::tflops",
    ][::core::mem::offset_of!(ggemm_tune_row, tflops) - 40usize];
    [
        "Offset of field: ggemm_tune_row::rejected",
    ][::core::mem::offset_of!(ggemm_tune_row, rejected) - 48usize];
};
/** Receives each candidate as it is finished, and again, with the reason, if it fails when it is timed once more. Return 0 to go on, anything else to
 stop with what is known.*/
pub type ggemm_tune_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        row: *const ggemm_tune_row,
    ) -> i32,
>;
/// How ggemm\_tune goes about it. Every field's default is zero or NULL.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_tune_options {
    pub struct_size: usize,
    /** time allowed, 0 or more; 0: 10 s. No candidate but the first is begun after it, but the one under way is
 finished*/
    pub budget_seconds: f64,
    /// `config\_count` candidates by name; 0 of them: the library's own
    pub configs: *const *const ::core::ffi::c_char,
    /// see `configs`
    pub config_count: usize,
    /** grouped: m, n, k of each of `sample\_groups` groups, 0 or more, in host memory. What the description says of
 each group by a constant (but 0) is no other here; n of gated pairs is even. NULL: the description's
 constants, else its expected\_\*, of which an odd n of pairs is taken for an even one*/
    pub sample_sizes: *const i64,
    /// 0 with sample\_sizes NULL, else 1 or more
    pub sample_groups: usize,
    /// receives each candidate; may be NULL
    pub function: ggemm_tune_fn,
    /// handed to `function`
    pub user: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_tune_options",
    ][::core::mem::size_of::<ggemm_tune_options>() - 64usize];
    [
        "Alignment of ggemm_tune_options",
    ][::core::mem::align_of::<ggemm_tune_options>() - 8usize];
    [
        "Offset of field: ggemm_tune_options::struct_size",
    ][::core::mem::offset_of!(ggemm_tune_options, struct_size) - 0usize];
    [
        "Offset of field: ggemm_tune_options::budget_seconds",
    ][::core::mem::offset_of!(ggemm_tune_options, budget_seconds) - 8usize];
    [
        "Offset of field: ggemm_tune_options::configs",
    ][::core::mem::offset_of!(ggemm_tune_options, configs) - 16usize];
    [
        "Offset of field: ggemm_tune_options::config_count",
    ][::core::mem::offset_of!(ggemm_tune_options, config_count) - 24usize];
    [
        "Offset of field: ggemm_tune_options::sample_sizes",
    ][::core::mem::offset_of!(ggemm_tune_options, sample_sizes) - 32usize];
    [
        "Offset of field: ggemm_tune_options::sample_groups",
    ][::core::mem::offset_of!(ggemm_tune_options, sample_groups) - 40usize];
    [
        "Offset of field: ggemm_tune_options::function",
    ][::core::mem::offset_of!(ggemm_tune_options, function) - 48usize];
    [
        "Offset of field: ggemm_tune_options::user",
    ][::core::mem::offset_of!(ggemm_tune_options, user) - 56usize];
};
/// What ggemm\_tune found.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_tune_result {
    pub struct_size: usize,
    /// name of the fastest configuration, as in ggemm\_config; of two within 1% the earlier candidate
    pub best: [::core::ffi::c_char; 96usize],
    /// its time: of one launch, median of up to three rounds
    pub microseconds: f64,
    /// its rate, as in ggemm\_tune\_row
    pub tflops: f64,
    /// that tuning took, compiles included
    pub seconds: f64,
    /// candidates that are right and were timed, and all others: those that failed, were wrong or were not tried
    pub timed: usize,
    /// candidates that are right and were timed, and all others: those that failed, were wrong or were not tried
    pub rejected: usize,
    /// the first candidate that can win; of the library's own, as a rule what is chosen without a record
    pub first: [::core::ffi::c_char; 96usize],
    /// its time: rows tell only that of their first round
    pub first_microseconds: f64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of ggemm_tune_result",
    ][::core::mem::size_of::<ggemm_tune_result>() - 248usize];
    [
        "Alignment of ggemm_tune_result",
    ][::core::mem::align_of::<ggemm_tune_result>() - 8usize];
    [
        "Offset of field: ggemm_tune_result::struct_size",
    ][::core::mem::offset_of!(ggemm_tune_result, struct_size) - 0usize];
    [
        "Offset of field: ggemm_tune_result::best",
    ][::core::mem::offset_of!(ggemm_tune_result, best) - 8usize];
    [
        "Offset of field: ggemm_tune_result::microseconds",
    ][::core::mem::offset_of!(ggemm_tune_result, microseconds) - 104usize];
    [
        "Offset of field: ggemm_tune_result::tflops",
    ][::core::mem::offset_of!(ggemm_tune_result, tflops) - 112usize];
    [
        "Offset of field: ggemm_tune_result::seconds",
    ][::core::mem::offset_of!(ggemm_tune_result, seconds) - 120usize];
    [
        "Offset of field: ggemm_tune_result::timed",
    ][::core::mem::offset_of!(ggemm_tune_result, timed) - 128usize];
    [
        "Offset of field: ggemm_tune_result::rejected",
    ][::core::mem::offset_of!(ggemm_tune_result, rejected) - 136usize];
    [
        "Offset of field: ggemm_tune_result::first",
    ][::core::mem::offset_of!(ggemm_tune_result, first) - 144usize];
    [
        "Offset of field: ggemm_tune_result::first_microseconds",
    ][::core::mem::offset_of!(ggemm_tune_result, first_microseconds) - 240usize];
};
/** The tiles of a problem under a configuration. For a plain problem groups is 1 and m, n are constants. Sources are read from host memory, when the
 function is called; a size below 0 there counts as 0, as in a product.*/
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_tile_grid {
    pub struct_size: usize,
    /// 0 or more
    pub groups: i64,
    /// of each group
    pub m: ggemm_source,
    /// of each group
    pub n: ggemm_source,
    /// rows and columns of a tile, 1 and up
    pub tile_m: i32,
    /// rows and columns of a tile, 1 and up
    pub tile_n: i32,
    /// 1 and up
    pub raster: i32,
    /// 0
    pub reserved0: i32,
    /// as in ggemm\_config; 0: 1
    pub cluster_m: i32,
    /// as in ggemm\_config; 0: 1
    pub cluster_n: i32,
    /// as in ggemm\_config
    pub swapped: i32,
    /// 0
    pub reserved1: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_tile_grid"][::core::mem::size_of::<ggemm_tile_grid>() - 112usize];
    [
        "Alignment of ggemm_tile_grid",
    ][::core::mem::align_of::<ggemm_tile_grid>() - 8usize];
    [
        "Offset of field: ggemm_tile_grid::struct_size",
    ][::core::mem::offset_of!(ggemm_tile_grid, struct_size) - 0usize];
    [
        "Offset of field: ggemm_tile_grid::groups",
    ][::core::mem::offset_of!(ggemm_tile_grid, groups) - 8usize];
    [
        "Offset of field: ggemm_tile_grid::m",
    ][::core::mem::offset_of!(ggemm_tile_grid, m) - 16usize];
    [
        "Offset of field: ggemm_tile_grid::n",
    ][::core::mem::offset_of!(ggemm_tile_grid, n) - 48usize];
    [
        "Offset of field: ggemm_tile_grid::tile_m",
    ][::core::mem::offset_of!(ggemm_tile_grid, tile_m) - 80usize];
    [
        "Offset of field: ggemm_tile_grid::tile_n",
    ][::core::mem::offset_of!(ggemm_tile_grid, tile_n) - 84usize];
    [
        "Offset of field: ggemm_tile_grid::raster",
    ][::core::mem::offset_of!(ggemm_tile_grid, raster) - 88usize];
    [
        "Offset of field: ggemm_tile_grid::reserved0",
    ][::core::mem::offset_of!(ggemm_tile_grid, reserved0) - 92usize];
    [
        "Offset of field: ggemm_tile_grid::cluster_m",
    ][::core::mem::offset_of!(ggemm_tile_grid, cluster_m) - 96usize];
    [
        "Offset of field: ggemm_tile_grid::cluster_n",
    ][::core::mem::offset_of!(ggemm_tile_grid, cluster_n) - 100usize];
    [
        "Offset of field: ggemm_tile_grid::swapped",
    ][::core::mem::offset_of!(ggemm_tile_grid, swapped) - 104usize];
    [
        "Offset of field: ggemm_tile_grid::reserved1",
    ][::core::mem::offset_of!(ggemm_tile_grid, reserved1) - 108usize];
};
/// One tile of a grid: its group, its place among the group's tiles, and the rows and columns of D\_g that it covers.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_tile {
    pub struct_size: usize,
    /// from 0
    pub group: i64,
    /// in tiles, from 0
    pub tile_row: i64,
    /// in tiles, from 0
    pub tile_col: i64,
    /// half open, cut at m; with clusters both may be m: nothing
    pub row_begin: i64,
    /// half open, cut at m; with clusters both may be m: nothing
    pub row_end: i64,
    /// likewise, at n
    pub col_begin: i64,
    /// likewise, at n
    pub col_end: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_tile"][::core::mem::size_of::<ggemm_tile>() - 64usize];
    ["Alignment of ggemm_tile"][::core::mem::align_of::<ggemm_tile>() - 8usize];
    [
        "Offset of field: ggemm_tile::struct_size",
    ][::core::mem::offset_of!(ggemm_tile, struct_size) - 0usize];
    [
        "Offset of field: ggemm_tile::group",
    ][::core::mem::offset_of!(ggemm_tile, group) - 8usize];
    [
        "Offset of field: ggemm_tile::tile_row",
    ][::core::mem::offset_of!(ggemm_tile, tile_row) - 16usize];
    [
        "Offset of field: ggemm_tile::tile_col",
    ][::core::mem::offset_of!(ggemm_tile, tile_col) - 24usize];
    [
        "Offset of field: ggemm_tile::row_begin",
    ][::core::mem::offset_of!(ggemm_tile, row_begin) - 32usize];
    [
        "Offset of field: ggemm_tile::row_end",
    ][::core::mem::offset_of!(ggemm_tile, row_end) - 40usize];
    [
        "Offset of field: ggemm_tile::col_begin",
    ][::core::mem::offset_of!(ggemm_tile, col_begin) - 48usize];
    [
        "Offset of field: ggemm_tile::col_end",
    ][::core::mem::offset_of!(ggemm_tile, col_end) - 56usize];
};
/// One entry of the disk cache. Lifetime: the call of the function that receives it.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ggemm_cache_entry {
    pub struct_size: usize,
    /// "cubin" or "tuning"
    pub kind: *const ::core::ffi::c_char,
    /// kernel or problem
    pub name: *const ::core::ffi::c_char,
    /// of the file
    pub path: *const ::core::ffi::c_char,
    /// version of the NVRTC that made it; "" for tuning records
    pub nvrtc: *const ::core::ffi::c_char,
    /// of the file
    pub bytes: u64,
    /// seconds since 1970
    pub last_used: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ggemm_cache_entry"][::core::mem::size_of::<ggemm_cache_entry>() - 56usize];
    [
        "Alignment of ggemm_cache_entry",
    ][::core::mem::align_of::<ggemm_cache_entry>() - 8usize];
    [
        "Offset of field: ggemm_cache_entry::struct_size",
    ][::core::mem::offset_of!(ggemm_cache_entry, struct_size) - 0usize];
    [
        "Offset of field: ggemm_cache_entry::kind",
    ][::core::mem::offset_of!(ggemm_cache_entry, kind) - 8usize];
    [
        "Offset of field: ggemm_cache_entry::name",
    ][::core::mem::offset_of!(ggemm_cache_entry, name) - 16usize];
    [
        "Offset of field: ggemm_cache_entry::path",
    ][::core::mem::offset_of!(ggemm_cache_entry, path) - 24usize];
    [
        "Offset of field: ggemm_cache_entry::nvrtc",
    ][::core::mem::offset_of!(ggemm_cache_entry, nvrtc) - 32usize];
    [
        "Offset of field: ggemm_cache_entry::bytes",
    ][::core::mem::offset_of!(ggemm_cache_entry, bytes) - 40usize];
    [
        "Offset of field: ggemm_cache_entry::last_used",
    ][::core::mem::offset_of!(ggemm_cache_entry, last_used) - 48usize];
};
/// Receives one entry. `user` is what ggemm\_cache\_visit was given; `entry` and its texts live as long as the call.
pub type ggemm_cache_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, entry: *const ggemm_cache_entry),
>;
extern "C" {
    /** The name of a status, such as "GGEMM\_ERROR\_ARGUMENT". Static, never NULL.

 Parameter status any number: "unknown status" where it is no ggemm\_status.

 Since 0.1*/
    pub fn ggemm_status_string(status: ggemm_status) -> *const ::core::ffi::c_char;
    /** This thread's text about its last failed call: names the field and the values. "" if none failed yet.

 Lifetime: valid until this thread's next call that fails.

 Since 0.1*/
    pub fn ggemm_last_error() -> *const ::core::ffi::c_char;
    /** The library's GGEMM\_VERSION; compare it with the header's.

 Since 0.1*/
    pub fn ggemm_version() -> i32;
    /** The library's version as text, such as "0.1.0".

 Since 0.1*/
    pub fn ggemm_version_string() -> *const ::core::ffi::c_char;
    /** 1 if this build of the library has the named feature, 0 if not. Names so far: "host", "cuda", "plain", "grouped", "grouped-forms", "row-index",
 "checked", "tune", "prepare", "tile-order", "disk-cache", "activations", "bias", "scales", "gated-pairs", "max-ctas".

 Parameter name as written above; other names and NULL give 0.

 Since 0.1*/
    pub fn ggemm_has_feature(name: *const ::core::ffi::c_char) -> i32;
    /** "f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i8" or "i32". Static, never NULL.

 Parameter dtype any number: "none" for GGEMM\_DTYPE\_NONE and where it is no ggemm\_dtype.

 Since 0.1*/
    pub fn ggemm_dtype_name(dtype: ggemm_dtype) -> *const ::core::ffi::c_char;
    /** Bytes of one element.

 Parameter dtype any number: 0 for GGEMM\_DTYPE\_NONE and where it is no ggemm\_dtype.

 Since 0.1*/
    pub fn ggemm_dtype_size(dtype: ggemm_dtype) -> usize;
    /** destination\[i\] = source\[i\], converted as the products convert theirs: rounded to nearest even; i8, i32 and the fp8 types saturate (NaN becomes 0
 in integers, stays NaN in floats); f16 and bf16 overflow to infinity. The thread's rounding mode plays no part.

 Shapes: both have `count` elements.

 Memory: host, aligned to the element; `source` and `destination` must not overlap; may be NULL when count is 0.

 Parameter destination\_dtype dtype of the result.

 Parameter destination receives it.

 Parameter source\_dtype dtype of what is converted.

 Parameter source what is converted.

 Parameter count elements, 0 included.

 Returns GGEMM\_ERROR\_ARGUMENT a dtype is unknown or NONE, or a pointer is NULL and count is not 0.

 Since 0.1*/
    pub fn ggemm_convert(
        destination_dtype: ggemm_dtype,
        destination: *mut ::core::ffi::c_void,
        source_dtype: ggemm_dtype,
        source: *const ::core::ffi::c_void,
        count: usize,
    ) -> ggemm_status;
    /** Sets the defaults. Every \*\_init function does so for its struct.

 Parameter options receives them.

 Parameter struct\_size the struct's sizeof as the caller knows it; so many bytes are written.

 Since 0.1*/
    pub fn ggemm_context_options_init(
        options: *mut ggemm_context_options,
        struct_size: usize,
    ) -> ggemm_status;
    /** Makes a context.
 The environment variables that the options name are read here and by ggemm\_diagnose, and at no other time. GGEMM\_LIBCUDA, the file of a driver
 library that is tried before libcuda.so.1, is read when the process first opens the driver: by the first of these two calls that looks for a CUDA
 device, and again by later ones as long as none has found one. The folders that are searched for NVRTC ($VIRTUAL\_ENV, $CONDA\_PREFIX, $CUDA\_HOME
 and $CUDA\_PATH; not relative ones) are read when NVRTC is first needed: to compile a kernel, or by ggemm\_diagnose. A variable that is set but
 empty counts as not set, and programs that run with raised privileges (AT\_SECURE) read none at all.

 Memory: host; the texts of the options are copied.

 Capture: allowed; the device's primary context is retained without disturbing a capture.

 Lifetime: until ggemm\_context\_destroy; plans of it must be destroyed first. A context with a CUDA device does not survive fork().

 Parameter options NULL: all defaults, the best device there is.

 Parameter out\_context receives the context; NULL on failure.

 Returns GGEMM\_ERROR\_ARGUMENT an option is out of range, one of allocate and deallocate is missing, cuda\_context is no CUcontext, or it is given
 for the host.

 Returns GGEMM\_ERROR\_DEVICE a CUDA device was demanded (by `device`, or by `cuda\_context`) and cannot be used; the text lists every library and
 device tried.

 Since 0.1*/
    pub fn ggemm_context_create(
        options: *const ggemm_context_options,
        out_context: *mut *mut ggemm_context,
    ) -> ggemm_status;
    /** Destroys a context and unloads its kernels.

 Stream: work that was launched must be complete, and graphs that captured it must not be launched again.

 Capture: not during one.

 Parameter context may be NULL.

 Since 0.1*/
    pub fn ggemm_context_destroy(context: *mut ggemm_context);
    /** Sets the defaults.

 Parameter info receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_device_info_init(
        info: *mut ggemm_device_info,
        struct_size: usize,
    ) -> ggemm_status;
    /** Describes the context's device.

 Units: as the fields say.

 Parameter context the context.

 Parameter out\_info with struct\_size set.

 Since 0.1*/
    pub fn ggemm_context_device(
        context: *const ggemm_context,
        out_info: *mut ggemm_device_info,
    ) -> ggemm_status;
    /** Replaces the log function.

 Threads: any; a line in flight may still reach the former one after the return.

 Parameter context the context.

 Parameter log NULL: no log.

 Parameter user handed to `log`.

 Parameter level most verbose level that is delivered; 0: GGEMM\_LOG\_INFO.

 Since 0.1*/
    pub fn ggemm_context_set_log(
        context: *mut ggemm_context,
        log: ggemm_log_fn,
        user: *mut ::core::ffi::c_void,
        level: ggemm_log_level,
    ) -> ggemm_status;
    /** Looks for everything that a context with these options could use and reports each part, found or not. What is missing is a finding, not a failure.

 Lifetime: `function` is called before the return only.

 Parameter options NULL: all defaults.

 Parameter function called once a finding, from this thread.

 Parameter user handed to `function`.

 Returns GGEMM\_ERROR\_ARGUMENT as ggemm\_context\_create: then nothing is reported.

 Since 0.1*/
    pub fn ggemm_diagnose(
        options: *const ggemm_context_options,
        function: ggemm_finding_fn,
        user: *mut ::core::ffi::c_void,
    ) -> ggemm_status;
    /** Sets the defaults: packed row-major, no dtypes yet, sizes 0.

 Parameter desc receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_gemm_desc_init(
        desc: *mut ggemm_gemm_desc,
        struct_size: usize,
    ) -> ggemm_status;
    /** Sets the defaults: no pointers, the description's sizes.

 Parameter args receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_gemm_args_init(
        args: *mut ggemm_gemm_args,
        struct_size: usize,
    ) -> ggemm_status;
    /** The same number for every group.

 Parameter value the number.

 Since 0.1*/
    pub fn ggemm_const(value: i64) -> ggemm_source;
    /** An int32 a group.

 Parameter data group 0's, in device memory.

 Parameter byte\_stride bytes from one group's to the next one's.

 Since 0.1*/
    pub fn ggemm_i32_at(
        data: *const ::core::ffi::c_void,
        byte_stride: i64,
    ) -> ggemm_source;
    /** An int64 a group.

 Parameter data group 0's, in device memory.

 Parameter byte\_stride bytes from one group's to the next one's.

 Since 0.1*/
    pub fn ggemm_i64_at(
        data: *const ::core::ffi::c_void,
        byte_stride: i64,
    ) -> ggemm_source;
    /** Sets the defaults: no groups, constant sizes 0, packed row-major, no dtypes yet.

 Parameter desc receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_grouped_desc_init(
        desc: *mut ggemm_grouped_desc,
        struct_size: usize,
    ) -> ggemm_status;
    /** Sets the defaults: no pointers.

 Parameter args receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_grouped_args_init(
        args: *mut ggemm_grouped_args,
        struct_size: usize,
    ) -> ggemm_status;
    /** D = act(alpha scale A B + beta C + bias), or the gated pairs of it.

 Shapes: A \[m,k\], B \[k,n\], C and D \[m,n\] (D \[m,n/2\] with gated pairs), bias \[n\] or \[m\], scales as ggemm\_scale\_kind says; any size, 0 included: with
 m or n 0 nothing happens, with k 0 D = act(alpha 0 + beta C + bias): act(beta C + bias), but NaN where alpha is infinite or NaN.

 Units: strides and sizes in elements.

 Memory: operands in device memory, aligned to their elements; D overlaps no other operand, but may be C. (Refused is a D that begins where A, B or
 scales do, or overlaps A, B or C where both leave nothing out; other overlaps are not looked for.) Nothing outside D's elements is written,
 nothing before an operand's first element or behind its last one is read. `desc`, `args` and scalars in host memory are read before the return.

 Stream: asynchronous on `stream` (a CUstream of the context's device; NULL is the legacy default stream) for CUDA; complete on return for the
 host, where `stream` is ignored.

 Capture: allowed. Meanwhile nothing is compiled or loaded and no device memory is allocated: if a kernel that the call needs is not loaded, or the
 stream's workspace is too small, the call is GGEMM\_ERROR\_NOT\_PREPARED.
 Workspace is device memory of the context's, kept for each stream, that some products need: where k is cut ("kN" and "kt", see ggemm\_config) sums
 meet in it, and operands off the fast path (see ggemm\_matrix) or of GGEMM\_COMPUTE\_F32\_ACCURATE may be copied to it first. It grows outside capture
 only. A captured stream that has too little takes, for good, some of what ggemm\_prepare and plans reserve.
 A graph uses this memory whenever it is replayed. So its replays must not run beside other calls on the stream that was captured, nor beside
 replays of other graphs that were captured on it.
 A stream's workspace stays with the context until that is destroyed, also after the stream is: keep streams, rather than make one for each
 request. One that gets the handle of a stream that was destroyed is the same stream to the context: it goes on with that one's workspace, and
 graphs that were captured on either are graphs that were captured on it.

 Threads: any. The first call of a problem class compiles or loads its kernel, once for all threads that ask; later ones are a look-up and a
 launch. Calls that read C, or whose D (of groups A and B too) is not at multiples of 16 bytes, may be a class of their own beside others of the
 same description: one whose beta was 0 does not prepare a captured one whose is not.

 Parameter context its device runs the product.

 Parameter desc the problem.

 Parameter args the operands, and other sizes if they are given.

 Parameter stream see above.

 Returns GGEMM\_ERROR\_ARGUMENT a field is wrong: the text names it and its values.

 Returns GGEMM\_ERROR\_UNSUPPORTED no kernel serves this on this device, or the forced configuration does not: the text has the reasons. 2^31 tiles
 or more.

 Returns GGEMM\_ERROR\_NOT\_PREPARED the stream is being captured and the kernel is not loaded, or its workspace is too small.

 Returns GGEMM\_ERROR\_COMPILE NVRTC is missing or refused the kernel.

 Returns GGEMM\_ERROR\_LAUNCH the driver refused to load or launch it. GGEMM\_ERROR\_OUT\_OF\_MEMORY and GGEMM\_ERROR\_DEVICE where the driver says so.

 Since 0.1*/
    pub fn ggemm_gemm(
        context: *mut ggemm_context,
        desc: *const ggemm_gemm_desc,
        args: *const ggemm_gemm_args,
        stream: *mut ::core::ffi::c_void,
    ) -> ggemm_status;
    /** For every group D\_g = act(alpha\_g scale\_g A\_g B\_g + beta\_g C\_g + bias\_g), in one launch (or a few, however many groups there are) whose sizes,
 strides, ends, counts and pointers are read on the device when it runs.

 Shapes: A\_g \[m\_g,k\_g\], B\_g \[k\_g,n\_g\], C\_g and D\_g \[m\_g,n\_g\], bias\_g \[n\_g\] or \[m\_g\], gated pairs and scales as in ggemm\_gemm; any sizes, 0
 included; 0 groups are nothing. Of an odd n\_g with gated pairs a CUDA device leaves the last column out; the host device refuses it. How they lie:
 ggemm\_grouped\_form.

 Units: strides, sizes, ends and counts in elements, byte strides in bytes.

 Memory: arrays of pointers, sizes, ends, counts, strides and scalars, and what the pointers name, in device memory; they must stay as they are
 until the launch has run.
 The whole of a matrix that holds all groups may be read, rows that no group has included; of D nothing but the groups' elements is written, and in
 checked mode the status word.

 Stream: as ggemm\_gemm.

 Capture: allowed, as in ggemm\_gemm. A captured call may be replayed with other sizes, ends, counts, strides and pointers in the same arrays.
 Some workspace is needed, and reserved by ggemm\_prepare and plans: by the kernels of the sm90 family some 680 bytes a group; by those with "kt" in
 their names (see ggemm\_config) 128 KiB a multiprocessor at most besides (those that ggemm\_config\_get lists); and for the sums that d\_index makes,
 as is said there.
 Some only helps, and is not reserved: the sm90 family copies operands off the fast path (see ggemm\_grouped\_matrix) to it if there is room. How
 much that takes is found out by the first two calls of the kind (types, layouts, sizes within an octave or so). Operands that find no room are
 gathered instead, which is slower and gives the same bits; operands that all groups share always are, and rows of A by index (nearly as fast as in
 order if they are whole vectors of 16 bytes). A captured call makes do with what its stream has, and never fails for want of this memory.

 Threads: as ggemm\_gemm.

 Parameter context its device runs the products.

 Parameter desc the problem.

 Parameter args the arrays of operands.

 Parameter stream as in ggemm\_gemm.

 Returns as ggemm\_gemm; what a group's own numbers and pointers have wrong is seen on the host device only, and in checked mode told by the status
 word.

 Since 0.1*/
    pub fn ggemm_grouped_gemm(
        context: *mut ggemm_context,
        desc: *const ggemm_grouped_desc,
        args: *const ggemm_grouped_args,
        stream: *mut ::core::ffi::c_void,
    ) -> ggemm_status;
    /** Chooses a configuration for the problem, compiles or loads its kernel, and binds both. The sizes of the description make the choice; a run may
 bring others.

 Capture: there is no stream to ask about, so it compiles, loads and allocates even while one is captured, and leaves the capture intact. What
 workspace the problem takes is reserved for streams that are captured before they had as much: for 8 of them, or as many as 64 MiB serve, but for
 one at least; each further plan, and ggemm\_prepare, makes up for what was taken. It is freed with the context.

 Lifetime: until ggemm\_plan\_destroy, which must come before the context's end. `desc` and its texts are not looked at after the return; device
 arrays that a grouped description names are looked at by every run.

 Parameter context must outlive the plan.

 Parameter desc the problem.

 Parameter out\_plan receives the plan; NULL on failure.

 Returns as ggemm\_gemm, but for GGEMM\_ERROR\_NOT\_PREPARED.

 Since 0.1*/
    pub fn ggemm_plan_create(
        context: *mut ggemm_context,
        desc: *const ggemm_gemm_desc,
        out_plan: *mut *mut ggemm_plan,
    ) -> ggemm_status;
    /** As ggemm\_plan\_create, for a grouped problem.

 Parameter context must outlive the plan.

 Parameter desc the problem.

 Parameter out\_plan receives the plan; NULL on failure.

 Since 0.1*/
    pub fn ggemm_plan_create_grouped(
        context: *mut ggemm_context,
        desc: *const ggemm_grouped_desc,
        out_plan: *mut *mut ggemm_plan,
    ) -> ggemm_status;
    /** D = act(alpha scale A B + beta C + bias), as ggemm\_gemm would, with the args' sizes if they are given. Never compiles, unless the addresses (or
 the strides that follow the args' sizes) are less aligned than the description let expect: a plan reckons with bases at multiples of 16 bytes.
 Such a run is as a call of ggemm\_gemm.

 Shapes, Units, Memory, Stream: as ggemm\_gemm.

 Capture: allowed. Where operands are as aligned as described and sizes no larger, it is GGEMM\_ERROR\_NOT\_PREPARED only if more streams are captured
 than workspace is reserved for.

 Threads: any; one plan may run in many at once.

 Parameter plan of a plain problem.

 Parameter args the operands, and other sizes if they are given.

 Parameter stream as in ggemm\_gemm.

 Returns GGEMM\_ERROR\_ARGUMENT also if the plan is of a grouped problem.

 Returns as ggemm\_gemm; GGEMM\_ERROR\_COMPILE only where it may compile.

 Since 0.1*/
    pub fn ggemm_plan_run(
        plan: *const ggemm_plan,
        args: *const ggemm_gemm_args,
        stream: *mut ::core::ffi::c_void,
    ) -> ggemm_status;
    /** For every group D\_g = act(alpha\_g scale\_g A\_g B\_g + beta\_g C\_g + bias\_g), as ggemm\_grouped\_gemm would. Never compiles.

 Shapes, Units, Memory, Stream, Capture: as ggemm\_grouped\_gemm.

 Threads: any; one plan may run in many at once.

 Parameter plan of a grouped problem.

 Parameter args the arrays of operands.

 Parameter stream as in ggemm\_gemm.

 Returns GGEMM\_ERROR\_ARGUMENT also if the plan is of a plain problem.

 Returns as ggemm\_grouped\_gemm, but for GGEMM\_ERROR\_COMPILE.

 Since 0.1*/
    pub fn ggemm_plan_run_grouped(
        plan: *const ggemm_plan,
        args: *const ggemm_grouped_args,
        stream: *mut ::core::ffi::c_void,
    ) -> ggemm_status;
    /** Writes why the plan is as it is: problem, configuration and where it came from (forced, tuned, shipped record, model), kernel, its registers and
 shared memory. For people: the wording may change.

 Parameter plan the plan.

 Parameter buffer receives the text, cut to `size` bytes with the final NUL; may be NULL when size is 0.

 Parameter size bytes of `buffer`.

 Parameter out\_size receives the bytes needed with the NUL; may be NULL.

 Since 0.1*/
    pub fn ggemm_plan_explain(
        plan: *const ggemm_plan,
        buffer: *mut ::core::ffi::c_char,
        size: usize,
        out_size: *mut usize,
    ) -> ggemm_status;
    /** Destroys a plan.

 Stream: work that it launched may still run.

 Parameter plan may be NULL.

 Since 0.1*/
    pub fn ggemm_plan_destroy(plan: *mut ggemm_plan);
    /** Sets the defaults.

 Parameter config receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_config_init(
        config: *mut ggemm_config,
        struct_size: usize,
    ) -> ggemm_status;
    /** How many configurations of the library's table are legal for the problem on the context's device. A description's own `config` plays no part.

 Parameter context its device decides what is legal.

 Parameter problem the problem.

 Parameter out\_count receives how many; 0 is no failure.

 Returns GGEMM\_ERROR\_ARGUMENT the description is wrong.

 Since 0.1*/
    pub fn ggemm_config_count(
        context: *mut ggemm_context,
        problem: *const ggemm_problem,
        out_count: *mut usize,
    ) -> ggemm_status;
    /** The index-th legal configuration, best estimate first.

 Parameter context as in ggemm\_config\_count.

 Parameter problem likewise.

 Parameter index from 0.

 Parameter out\_config with struct\_size set.

 Returns GGEMM\_ERROR\_ARGUMENT the description is wrong, or index is past the end.

 Since 0.1*/
    pub fn ggemm_config_get(
        context: *mut ggemm_context,
        problem: *const ggemm_problem,
        index: usize,
        out_config: *mut ggemm_config,
    ) -> ggemm_status;
    /** Reads a name. Says nothing about whether it is legal for a problem; its numbers are of the product that it is a name for.

 Parameter name a configuration's name.

 Parameter out\_config with struct\_size set.

 Returns GGEMM\_ERROR\_ARGUMENT it is no name; the text has the part that is wrong.

 Since 0.1*/
    pub fn ggemm_config_parse(
        name: *const ::core::ffi::c_char,
        out_config: *mut ggemm_config,
    ) -> ggemm_status;
    /** The configuration that a plan is bound to.

 Parameter plan the plan.

 Parameter out\_config with struct\_size set.

 Since 0.1*/
    pub fn ggemm_plan_config(
        plan: *const ggemm_plan,
        out_config: *mut ggemm_config,
    ) -> ggemm_status;
    /** Compiles and loads the kernels of many problems at once, in as many threads as the context may use, and reserves workspace as plans do; runs
 nothing. A problem that fails does not stop the others.

 Capture: as ggemm\_plan\_create: it compiles, loads and allocates, and leaves captures intact.

 Parameter context for whose device.

 Parameter problems `count` of them; may be NULL when count is 0.

 Parameter count how many.

 Parameter progress may be NULL.

 Parameter user handed to `progress`.

 Returns GGEMM\_ERROR\_CANCELLED what was finished by then stays.

 Returns as ggemm\_plan\_create, of the problem that failed first. A description that is wrong is found before anything is compiled.

 Since 0.1*/
    pub fn ggemm_prepare(
        context: *mut ggemm_context,
        problems: *const ggemm_problem,
        count: usize,
        progress: ggemm_progress_fn,
        user: *mut ::core::ffi::c_void,
    ) -> ggemm_status;
    /** Sets the defaults.

 Parameter options receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_tune_options_init(
        options: *mut ggemm_tune_options,
        struct_size: usize,
    ) -> ggemm_status;
    /** Sets the defaults.

 Parameter result receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_tune_result_init(
        result: *mut ggemm_tune_result,
        struct_size: usize,
    ) -> ggemm_status;
    /** Measures candidates for a problem on scratch memory with random data, each one verified against the reference before it may win, and records the
 best: later calls of the same class use it, in this process and, through the disk cache, in later ones. Plans keep the configuration that they
 have.

 Units: as the fields say.

 Memory: A, B, D, bias and scales of the problem's sizes, and for groups of the sample's, allocated for the time of the call; the caller's operands
 are not touched.

 Stream: one of the library's own; complete on return.

 Capture: GGEMM\_ERROR\_NOT\_PREPARED while a stream is captured that the default stream waits for. Other captures are left intact, but spoil the
 times.

 Threads: any; but what else the device does meanwhile is in the times.

 Parameter context for whose device.

 Parameter problem what to tune for; its own `config` plays no part.

 Parameter options NULL: defaults.

 Parameter out\_result may be NULL; else with struct\_size set.

 Returns GGEMM\_ERROR\_ARGUMENT there is nothing to tune: groups, or m or n of a plain product, is 0, the sample has no group or only empty ones, or
 a grouped problem has neither sample\_sizes nor all of expected\_\*. k may be 0, and tflops are then. All arguments are looked at before
 anything is compiled. A single candidate is verified, timed and recorded all the same.

 Returns GGEMM\_ERROR\_UNSUPPORTED no candidate was legal and right; the text lists each one's reason. Or a name in options.configs is not legal for
 the problem: nothing is tried then.

 Returns GGEMM\_ERROR\_COMPILE, GGEMM\_ERROR\_LAUNCH what every measurement needs cannot be compiled or loaded; of a candidate it is its reason.

 Returns GGEMM\_ERROR\_CANCELLED options.function asked to stop before any candidate was right.

 Returns GGEMM\_ERROR\_OUT\_OF\_MEMORY the scratch memory cannot be had.

 Since 0.1*/
    pub fn ggemm_tune(
        context: *mut ggemm_context,
        problem: *const ggemm_problem,
        options: *const ggemm_tune_options,
        out_result: *mut ggemm_tune_result,
    ) -> ggemm_status;
    /** Sets the defaults: one group, sizes 0, no tile sizes yet, raster 1.

 Parameter grid receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_tile_grid_init(
        grid: *mut ggemm_tile_grid,
        struct_size: usize,
    ) -> ggemm_status;
    /** Sets the defaults.

 Parameter tile receives them.

 Parameter struct\_size as in ggemm\_context\_options\_init.

 Since 0.1*/
    pub fn ggemm_tile_init(tile: *mut ggemm_tile, struct_size: usize) -> ggemm_status;
    /** How many programs (Triton's word) the grid has: one a tile, so the sum over the groups of ceil(m / tile\_m) ceil(n / tile\_n). With clusters these
 are rounded up to whole ones: tiles past the edge of D are counted, and are empty.

 Parameter grid the grid.

 Parameter out\_count receives how many.

 Returns GGEMM\_ERROR\_ARGUMENT a field is out of range, or there are 2^63 or more.

 Since 0.1*/
    pub fn ggemm_tile_count(
        grid: *const ggemm_tile_grid,
        out_count: *mut i64,
    ) -> ggemm_status;
    /** Which tile the pid-th program computes: the very arithmetic of the kernels. In a raster group, tiles go down the rows first:
 pid\_m = first + (pid mod programs in a group) mod group size, pid\_n = (pid mod programs in a group) / group size; the last group may be smaller.
 Where CTAs form clusters, the above numbers whole clusters, pid divided by its CTAs: cluster tiles of cluster\_m x cluster\_n tiles, raster of their
 rows at a time. The remainder is the CTA's place in the cluster, down the rows first. Clusters of 2 x 1 turn where a single row of tiles is left
 over: they take two tiles of it side by side, and are walked with the rows above them, two columns at a time. CTAs and clusters that share a tile
 along k are one program. Where the product is swapped, rows and columns change places in all of this: columns go first.
 A kernel that starts fewer CTAs than there are programs (grouped ones but for batches of simt, sm80 and gemv, those of the sm90 family, and all with max\_ctas) has each go on in steps of
 their number: the first of 132 computes the tiles of pid 0, 132, 264 and so on. Where k is cut for the tiles that are left over ("kt"), each of
 the last tiles may be several CTAs'.
 Where larger groups have a kernel of their own ("m64"), this tells of the smaller tiles alone: leave groups of more than large\_above rows out of
 the grid. A CTA of the smaller tiles takes the next one when it is free.

 Parameter grid the grid.

 Parameter pid counts from 0 through all groups.

 Parameter out\_tile with struct\_size set.

 Returns GGEMM\_ERROR\_ARGUMENT also if pid is negative or past the end.

 Since 0.1*/
    pub fn ggemm_tile_at(
        grid: *const ggemm_tile_grid,
        pid: i64,
        out_tile: *mut ggemm_tile,
    ) -> ggemm_status;
    /** Calls the function for each entry of the context's own cache folder, from this thread; unreadable entries are passed over. Without a folder there
 is none.

 Parameter context whose folder.

 Parameter function called once an entry.

 Parameter user handed to `function`.

 Since 0.1*/
    pub fn ggemm_cache_visit(
        context: *mut ggemm_context,
        function: ggemm_cache_fn,
        user: *mut ::core::ffi::c_void,
    ) -> ggemm_status;
    /** Removes entries from the context's own cache folder. Kernels that are loaded stay; with the tuning records, what was chosen by them is forgotten
 too.

 Parameter context whose folder.

 Parameter nvrtc only cubins made by this NVRTC version, such as "13.0"; NULL: all cubins and tuning records.

 Parameter out\_removed receives how many; may be NULL.

 Returns GGEMM\_ERROR\_ARGUMENT also if `nvrtc` is "".

 Since 0.1*/
    pub fn ggemm_cache_clear(
        context: *mut ggemm_context,
        nvrtc: *const ::core::ffi::c_char,
        out_removed: *mut usize,
    ) -> ggemm_status;
}
