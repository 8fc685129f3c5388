/* SPDX-License-Identifier: Apache-2.0
 *
 * ggemm: plain and grouped matrix products, D = act(alpha scale A B + beta C + bias), on CUDA GPUs and on the CPU.
 *
 * This header is the whole public interface and its manual. It is C99 and valid C++.
 *
 * Conventions
 *  - Every call returns a ggemm_status unless said otherwise; on failure nothing is written to D and
 *    ggemm_last_error() holds this thread's sentence about it.
 *  - Structs that are passed by pointer begin with struct_size. Set them up with the *_INIT macro or the *_init()
 *    function. They only ever grow at the end; a field added later means its default when it is zero. The others are held
 *    by value and frozen: their size and fields stay as they are.
 *  - Sizes and strides are signed 64-bit and count elements; names that end in `_bytes` or `byte_stride` count bytes;
 *    times are in the unit that the name gives.
 *  - "Device memory" is the memory of the context's device: GPU memory for a CUDA context, ordinary memory for a host one.
 *  - No call changes the calling thread's current CUDA context, prints, or ends the process.
 *  - Unless its comment says otherwise, a call may be made from any thread at any time, also while streams are being captured, and touches no stream.
 *    What is destroyed must not be in use by another call.
 *  - Besides what its comment names, a call returns GGEMM_ERROR_ARGUMENT for a pointer that is NULL and may not be, for an enum's value that is none
 *    of its names and for a reserved word that is not 0, GGEMM_ERROR_VERSION for a struct_size that is too small and for a struct to be read with
 *    unknown fields set, and GGEMM_ERROR_OUT_OF_MEMORY when host memory is used up. (Unknown fields of a struct to be written stay as they are; *_init
 *    functions set them to 0.)
 *  - Callbacks must return normally: no exception and no longjmp may leave them.
 */
#ifndef GGEMM_H
#define GGEMM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GGEMM_API __attribute__((visibility("default")))
#else
#define GGEMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GGEMM_VERSION_MAJOR 0
#define GGEMM_VERSION_MINOR 1
#define GGEMM_VERSION_PATCH 0
/** The version of this header as one number: major * 10000 + minor * 100 + patch. */
#define GGEMM_VERSION (GGEMM_VERSION_MAJOR * 10000 + GGEMM_VERSION_MINOR * 100 + GGEMM_VERSION_PATCH)

/* ------------------------------------------------------------------------------------------------ status and errors */

/** What a call came to, grouped by what the caller does next. */
typedef enum ggemm_status {
  GGEMM_OK = 0,                  /**< success */
  GGEMM_ERROR_ARGUMENT = 1,      /**< an argument is wrong: correct it */
  GGEMM_ERROR_UNSUPPORTED = 2,   /**< a right request that this device or build cannot serve */
  GGEMM_ERROR_NOT_PREPARED = 3,  /**< needs a compile or an allocation that is not allowed now (stream capture): prepare first */
  GGEMM_ERROR_OUT_OF_MEMORY = 4, /**< host or device memory is used up */
  GGEMM_ERROR_COMPILE = 5,       /**< NVRTC is missing or refused a kernel; the text has its log */
  GGEMM_ERROR_LAUNCH = 6,        /**< the driver refused a load or a launch */
  GGEMM_ERROR_DEVICE = 7,        /**< no usable device or driver; the text lists what was tried */
  GGEMM_ERROR_VERSION = 8,       /**< caller and library are of incompatible versions */
  GGEMM_ERROR_CANCELLED = 9,     /**< a callback asked to stop */
  GGEMM_ERROR_INTERNAL = 10,     /**< a defect of ggemm: please report it */
  GGEMM_STATUS_FORCE32 = 0x7fffffff
} ggemm_status;

/** The name of a status, such as "GGEMM_ERROR_ARGUMENT". Static, never NULL.
 *  @param status any number: "unknown status" where it is no ggemm_status. @since 0.1 */
GGEMM_API const char* ggemm_status_string(ggemm_status status);

/** This thread's text about its last failed call: names the field and the values. "" if none failed yet.
 *  Lifetime: valid until this thread's next call that fails. @since 0.1 */
GGEMM_API const char* ggemm_last_error(void);

/** The library's GGEMM_VERSION; compare it with the header's. @since 0.1 */
GGEMM_API int32_t ggemm_version(void);
/** The library's version as text, such as "0.1.0". @since 0.1 */
GGEMM_API const char* ggemm_version_string(void);

/** 1 if this build of the library has the named feature, 0 if not. Names so far: "host", "cuda", "plain", "grouped", "grouped-forms", "row-index",
 *  "checked", "tune", "prepare", "tile-order", "disk-cache", "activations", "bias", "scales", "gated-pairs", "max-ctas".
 *  @param name as written above; other names and NULL give 0. @since 0.1 */
GGEMM_API int32_t ggemm_has_feature(const char* name);

/* ------------------------------------------------------------------------------------------------------------ dtypes */

/** Element types. The numbers are part of the ABI. */
typedef enum ggemm_dtype {
  GGEMM_DTYPE_NONE = 0, /**< not given; C and bias then take D's dtype */
  GGEMM_F64 = 1,  /**< IEEE 754 binary64 */
  GGEMM_F32 = 2,  /**< IEEE 754 binary32 */
  GGEMM_F16 = 3,  /**< IEEE 754 binary16 */
  GGEMM_BF16 = 4, /**< the upper half of binary32 */
  GGEMM_E4M3 = 5, /**< OCP 8-bit float, 4 exponent bits, no infinity, largest 448 */
  GGEMM_E5M2 = 6, /**< OCP 8-bit float, 5 exponent bits, largest finite 57344 */
  GGEMM_I8 = 7,   /**< signed */
  GGEMM_I32 = 8,  /**< signed; C, D and bias only */
  GGEMM_DTYPE_FORCE32 = 0x7fffffff
} ggemm_dtype;

/** "f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i8" or "i32". Static, never NULL.
 *  @param dtype any number: "none" for GGEMM_DTYPE_NONE and where it is no ggemm_dtype. @since 0.1 */
GGEMM_API const char* ggemm_dtype_name(ggemm_dtype dtype);
/** Bytes of one element.
 *  @param dtype any number: 0 for GGEMM_DTYPE_NONE and where it is no ggemm_dtype. @since 0.1 */
GGEMM_API size_t ggemm_dtype_size(ggemm_dtype dtype);

/** destination[i] = source[i], converted as the products convert theirs: rounded to nearest even; i8, i32 and the fp8 types saturate (NaN becomes 0
 *  in integers, stays NaN in floats); f16 and bf16 overflow to infinity. The thread's rounding mode plays no part.
 *  Shapes: both have `count` elements.
 *  Memory: host, aligned to the element; `source` and `destination` must not overlap; may be NULL when count is 0.
 *  @param destination_dtype dtype of the result. @param destination receives it. @param source_dtype dtype of what is converted.
 *  @param source what is converted. @param count elements, 0 included.
 *  @retval GGEMM_ERROR_ARGUMENT a dtype is unknown or NONE, or a pointer is NULL and count is not 0.
 *  @since 0.1 */
GGEMM_API ggemm_status ggemm_convert(ggemm_dtype destination_dtype, void* destination, ggemm_dtype source_dtype, const void* source, size_t count);

/* ----------------------------------------------------------------------------------------------------------- context */

/** One device with its caches and tuning state. Thread-safe. */
typedef struct ggemm_context ggemm_context;
/** A problem class bound to a kernel. Immutable and thread-safe. */
typedef struct ggemm_plan ggemm_plan;

/** What a context runs on. */
typedef enum ggemm_device_kind {
  GGEMM_DEVICE_BEST = 0, /**< the CUDA device of the given ordinal if it is usable, else the host; with cuda_context: as GGEMM_DEVICE_CUDA */
  GGEMM_DEVICE_CUDA = 1, /**< the CUDA device of the given ordinal or cuda_context; GGEMM_ERROR_DEVICE if it cannot be used */
  GGEMM_DEVICE_HOST = 2, /**< the CPU */
  GGEMM_DEVICE_FORCE32 = 0x7fffffff
} ggemm_device_kind;

/** How urgent a line of log is. A level in the options, or of ggemm_context_set_log, delivers lines of that level and of smaller numbers. */
typedef enum ggemm_log_level {
  GGEMM_LOG_ERROR = 1,   /**< so far unused: failures are told by a call's status and ggemm_last_error() */
  GGEMM_LOG_WARNING = 2, /**< soft failures, such as a cache that cannot be written or a configuration passed over because its kernel fails */
  GGEMM_LOG_INFO = 3,    /**< compiles, loads, tunings, and fallbacks such as the host where no CUDA device is usable */
  GGEMM_LOG_DEBUG = 4,   /**< kernels read from the disk cache, and by which NVRTC others were compiled */
  GGEMM_LOG_FORCE32 = 0x7fffffff
} ggemm_log_level;

/** Receives a line of log, without a line end. Called from any thread that uses the context and from threads of the library, never with a lock of the
 *  library held. It must not use the context: it may run in the middle of making the very kernel that it would ask for. `user` is what was given with
 *  the function; `message` lives as long as the call. */
typedef void (*ggemm_log_fn)(void* user, ggemm_log_level level, const char* message);
/** Allocates device memory: stores its address, a multiple of 256 bytes, and returns 0. Anything else, or a NULL address, reports "out of memory".
 *  Asked for tuning's scratch memory, and for the workspace that some products need (see ggemm_gemm and ggemm_grouped_gemm).
 *  `stream` orders its use: the stream of the call that needs it; or one of the library's own, for tuning and for what plans and ggemm_prepare
 *  reserve. It is never asked for on a stream while that is captured.
 *  Called from any thread that uses the context and from threads of the library, at times from several at once. `user` is the options'
 *  allocator_user. It must not use the context. Not used by the host device. */
typedef int32_t (*ggemm_allocate_fn)(void* user, size_t bytes, void* stream, void** out_pointer);
/** Gives back what ggemm_allocate_fn gave; `bytes` are as they were then. `stream` is the one on which it was allocated, where work launched earlier
 *  may still use the memory; or NULL, for workspace that was reserved or kept to the context's end, which no work uses any more. It must not use the
 *  context. */
typedef void (*ggemm_deallocate_fn)(void* user, void* pointer, size_t bytes, void* stream);

/** How a context is made. Every field's default is zero or NULL. Of the environment variables named here, one that is set but empty counts as not
 *  set; see ggemm_context_create for when they are read. */
typedef struct ggemm_context_options {
  size_t struct_size;
  ggemm_device_kind device;       /**< 0: GGEMM_DEVICE_BEST */
  int32_t ordinal;                /**< CUDA device ordinal, 0 or more; not used with a cuda_context */
  void* cuda_context;             /**< CUcontext to use; NULL: the ordinal's primary context. Not with GGEMM_DEVICE_HOST */
  int32_t threads;                /**< host threads for the host device and for compiling, at most: products start as many as they have use for;
                                       0: the cores this process may use */
  ggemm_log_level log_level;      /**< most verbose level that is delivered; 0 with a log function: GGEMM_LOG_INFO */
  ggemm_log_fn log;               /**< NULL: no log */
  void* log_user;                 /**< handed to `log` */
  ggemm_allocate_fn allocate;     /**< NULL: the driver's stream-ordered allocator. Give both or none */
  ggemm_deallocate_fn deallocate; /**< see `allocate` */
  void* allocator_user;           /**< handed to both */
  const char* cache_dir;          /**< NULL: $GGEMM_CACHE_DIR, else $XDG_CACHE_HOME/ggemm, else $HOME/.cache/ggemm; "": memory only. The last two only
                                       where the variable is an absolute path, and HOME only where it is the user's own folder and not under /tmp,
                                       /var/tmp or /dev/shm; if none serves: memory only */
  const char* shared_cache_dir;   /**< a second folder that is only read; NULL: $GGEMM_SHARED_CACHE_DIR, else none; "": none */
  uint64_t cache_limit_bytes;     /**< 0: 1 GiB; least recently used entries go first */
  const char* nvrtc_path;         /**< the NVRTC library's file; NULL: $GGEMM_NVRTC, else searched for; "": searched for */
  const char* cblas_path;         /**< a CBLAS library's file; NULL: $GGEMM_CBLAS, else searched for; "": none, own kernels only. One that is searched for
                                       is not used if it takes more than twice as long as own kernels for a small product, which is timed when it is
                                       first needed: name one, or "", where each run must have the same bits. One that is named and cannot be used is
                                       a warning in the log then, and own kernels are used */
} ggemm_context_options;
#define GGEMM_CONTEXT_OPTIONS_INIT \
  { sizeof(ggemm_context_options), GGEMM_DEVICE_BEST, 0, NULL, 0, (ggemm_log_level)0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL }
/** Sets the defaults. Every *_init function does so for its struct.
 *  @param options receives them. @param struct_size the struct's sizeof as the caller knows it; so many bytes are written. @since 0.1 */
GGEMM_API ggemm_status ggemm_context_options_init(ggemm_context_options* options, size_t struct_size);

/** Makes a context.
 *  The environment variables that the options name are read here and by ggemm_diagnose, and at no other time. GGEMM_LIBCUDA, the file of a driver
 *  library that is tried before libcuda.so.1, is read when the process first opens the driver: by the first of these two calls that looks for a CUDA
 *  device, and again by later ones as long as none has found one. The folders that are searched for NVRTC ($VIRTUAL_ENV, $CONDA_PREFIX, $CUDA_HOME
 *  and $CUDA_PATH; not relative ones) are read when NVRTC is first needed: to compile a kernel, or by ggemm_diagnose. A variable that is set but
 *  empty counts as not set, and programs that run with raised privileges (AT_SECURE) read none at all.
 *  Memory: host; the texts of the options are copied.
 *  Capture: allowed; the device's primary context is retained without disturbing a capture.
 *  Lifetime: until ggemm_context_destroy; plans of it must be destroyed first. A context with a CUDA device does not survive fork().
 *  @param options NULL: all defaults, the best device there is.
 *  @param out_context receives the context; NULL on failure.
 *  @retval GGEMM_ERROR_ARGUMENT an option is out of range, one of allocate and deallocate is missing, cuda_context is no CUcontext, or it is given
 *          for the host.
 *  @retval GGEMM_ERROR_DEVICE a CUDA device was demanded (by `device`, or by `cuda_context`) and cannot be used; the text lists every library and
 *          device tried.
 *  @since 0.1 */
GGEMM_API ggemm_status ggemm_context_create(const ggemm_context_options* options, ggemm_context** out_context);
/** Destroys a context and unloads its kernels.
 *  Stream: work that was launched must be complete, and graphs that captured it must not be launched again.
 *  Capture: not during one.
 *  @param context may be NULL. @since 0.1 */
GGEMM_API void ggemm_context_destroy(ggemm_context* context);

/** What a context runs on. Texts end in NUL and are cut to fit. */
typedef struct ggemm_device_info {
  size_t struct_size;
  ggemm_device_kind kind;         /**< CUDA or HOST */
  int32_t ordinal;                /**< CUDA device ordinal; 0 on the host */
  char name[128];                 /**< "NVIDIA H200", or the CPU's model */
  int32_t compute_capability;     /**< major * 10 + minor; 0 on the host */
  int32_t multiprocessors;        /**< 0 on the host */
  int32_t threads;                /**< host threads that the context may use */
  int32_t driver_version;         /**< CUDA driver's, major * 1000 + minor * 10; 0 on the host */
  int64_t memory_bytes;           /**< device memory in all; 0: not known */
  int64_t l2_bytes;               /**< L2 cache; 0 on the host */
  int64_t shared_memory_bytes;    /**< largest per CTA; 0 on the host */
  char arch[16];                  /**< what kernels are compiled for, such as "sm_90a"; "" on the host */
  char blas[256];                 /**< file of the CBLAS in use on the host device; "" if none, and for CUDA */
} ggemm_device_info;
#define GGEMM_DEVICE_INFO_INIT { sizeof(ggemm_device_info), GGEMM_DEVICE_BEST, 0, {0}, 0, 0, 0, 0, 0, 0, 0, {0}, {0} }
/** Sets the defaults. @param info receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_device_info_init(ggemm_device_info* info, size_t struct_size);
/** Describes the context's device.
 *  Units: as the fields say.
 *  @param context the context. @param out_info with struct_size set. @since 0.1 */
GGEMM_API ggemm_status ggemm_context_device(const ggemm_context* context, ggemm_device_info* out_info);
/** Replaces the log function.
 *  Threads: any; a line in flight may still reach the former one after the return.
 *  @param context the context. @param log NULL: no log. @param user handed to `log`.
 *  @param level most verbose level that is delivered; 0: GGEMM_LOG_INFO. @since 0.1 */
GGEMM_API ggemm_status ggemm_context_set_log(ggemm_context* context, ggemm_log_fn log, void* user, ggemm_log_level level);

/** One finding of ggemm_diagnose. Lifetime: the call of the function that receives it. */
typedef struct ggemm_finding {
  size_t struct_size;
  const char* component; /**< "driver", "device 0", "nvrtc", "host", "cblas", "cache" ... */
  int32_t found;         /**< 1 or 0 */
  int32_t needed;        /**< 1 if something does not work without it */
  const char* detail;    /**< version and path, or every path that was tried */
  const char* advice;    /**< what to install or set; "" when nothing is missing */
} ggemm_finding;
/** Receives one finding. `user` is what ggemm_diagnose was given; `finding` and its texts live as long as the call. */
typedef void (*ggemm_finding_fn)(void* user, const ggemm_finding* finding);
/** Looks for everything that a context with these options could use and reports each part, found or not. What is missing is a finding, not a failure.
 *  Lifetime: `function` is called before the return only.
 *  @param options NULL: all defaults. @param function called once a finding, from this thread. @param user handed to `function`.
 *  @retval GGEMM_ERROR_ARGUMENT as ggemm_context_create: then nothing is reported. @since 0.1 */
GGEMM_API ggemm_status ggemm_diagnose(const ggemm_context_options* options, ggemm_finding_fn function, void* user);

/* ----------------------------------------------------------------------------------------------------------- problems */

/** As a row stride: packed row-major, so the number of columns. As a column stride: 1. */
#define GGEMM_PACKED INT64_MIN
/** As a size in ggemm_gemm_args: the size that the description gave. */
#define GGEMM_AS_DESCRIBED (-1)

/** A matrix: element (i, j) is at base + (i * row_stride + j * col_stride) elements. Frozen: held by value in others.
 *  Strides may be negative, and 0 to repeat (not in D). Where one stride is 1 or -1, the other must be at least as long as a row (a column), or 0:
 *  overlapping rows are refused. No two elements of D may share an address. The whole must span less than 2^63 bytes.
 *  Any base that is a multiple of the element's size will do; the fast path is a unit stride in either direction with bases and rows at multiples of
 *  16 bytes. */
typedef struct ggemm_matrix {
  ggemm_dtype dtype;  /**< must be given; of C NONE stands for D's */
  uint32_t reserved0; /**< 0 */
  int64_t row_stride; /**< GGEMM_PACKED, or elements; packed needs col_stride packed or 1 */
  int64_t col_stride; /**< GGEMM_PACKED, or elements */
  int64_t reserved1;  /**< 0 */
} ggemm_matrix;

/** How A and B are multiplied. */
typedef enum ggemm_compute {
  /** f64 if A or B is f64; int32 (wrapping) if both are i8; else f32 products and sums. f32 inputs are exact, on CUDA cores, or as f64 on tensor cores where the GPU
   *  has these for it (compute capability 9.0). */
  GGEMM_COMPUTE_DEFAULT = 0,
  /** f32 inputs rounded to the nearest tf32 (10 explicit mantissa bits), f32 sums, on tensor cores. Of two that are as near it is the larger in
   *  magnitude, but in kernels of the sm90 family the even one. Needs A and B f32. The host device rounds likewise, to the larger. */
  GGEMM_COMPUTE_TF32 = 1,
  /** fp8 products summed as fast as tensor cores can: on compute capability 9.0 they keep about 14 bits of a sum. By default (promoted) what they
   *  have summed is added to a sum in full f32 every 128 of k. Needs A and B e4m3 or e5m2. Other kernels, the host device and products scaled by
   *  blocks sum as by default. */
  GGEMM_COMPUTE_FP8_FAST = 2,
  /** f32 inputs with an error no larger than that of f32 products and sums, on tensor cores where they serve it: each operand is copied as three bf16
   *  terms, of whose products six are summed. The terms end at 2^-133: an element between 2^-110 and 0 is off by 2^-134 at most, and may count as 0.
   *  Needs A and B f32. Other kernels and the host device multiply as by default: products and sums of f32, or, on a device of compute capability 9.0
   *  whose tensor cores multiply f64 fast, of f64 that are rounded to f32 at the end. Which kernel serves depends on the sizes. @since 0.1 */
  GGEMM_COMPUTE_F32_ACCURATE = 3,
  GGEMM_COMPUTE_FORCE32 = 0x7fffffff
} ggemm_compute;

/** The act of D = act(alpha scale A B + beta C + bias), a function of each element x.
 *  p0 and p1 are ggemm_epilogue_desc's activation_p0 and activation_p1. */
typedef enum ggemm_activation {
  GGEMM_ACTIVATION_NONE = 0,       /**< x */
  GGEMM_ACTIVATION_RELU = 1,       /**< max(x, 0); NaN stays NaN */
  GGEMM_ACTIVATION_LEAKY_RELU = 2, /**< x > 0 ? x : p0 x */
  GGEMM_ACTIVATION_GELU = 3,       /**< x/2 (1 + erf(x / sqrt 2)); at -infinity its limit, 0 */
  GGEMM_ACTIVATION_GELU_TANH = 4,  /**< x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); likewise */
  GGEMM_ACTIVATION_SILU = 5,       /**< x / (1 + exp(-x)); likewise */
  GGEMM_ACTIVATION_SIGMOID = 6,    /**< 1 / (1 + exp(-x)) */
  GGEMM_ACTIVATION_TANH = 7,       /**< tanh(x) */
  GGEMM_ACTIVATION_CLAMP = 8,      /**< min(max(x, p0), p1); NaN stays NaN */
  GGEMM_ACTIVATION_FORCE32 = 0x7fffffff
} ggemm_activation;

/** What is added to element (i, j) before the activation. The bias is contiguous. */
typedef enum ggemm_bias {
  GGEMM_BIAS_NONE = 0,       /**< nothing: the arguments' bias is not looked at */
  GGEMM_BIAS_PER_COLUMN = 1, /**< bias[j], n elements */
  GGEMM_BIAS_PER_ROW = 2,    /**< bias[i], m elements */
  GGEMM_BIAS_FORCE32 = 0x7fffffff
} ggemm_bias;

/** Gated pairs, as in SwiGLU (silu) and GeGLU (gelu): columns of the product come in pairs, gate first, and D = act(x_gate) x_up has n / 2 columns,
 *  where x = alpha scale A B + bias. n is the number of B's columns, and even; a bias per column has n elements. There is no C: beta must be NULL, or
 *  0 in host memory, and C's strides are not held against any size. */
typedef enum ggemm_gate {
  GGEMM_GATE_NONE = 0,        /**< no pairs */
  GGEMM_GATE_HALVES = 1,      /**< D's column j is of columns j (gate) and j + n/2 (up) */
  GGEMM_GATE_INTERLEAVED = 2, /**< of columns 2j (gate) and 2j + 1 (up) */
  GGEMM_GATE_FORCE32 = 0x7fffffff
} ggemm_gate;

/** What follows the product: D = act(alpha scale A B + beta C + bias), or the gated pairs of it. Frozen: held by value in others. Computed in f64 if
 *  the sums are f64, in int32 (wrapping) if the sums and D are int32 (C and bias are then i32, act is none, relu or clamp, and there is no gate),
 *  else in f32. */
typedef struct ggemm_epilogue_desc {
  ggemm_activation activation; /**< 0: none */
  ggemm_bias bias;             /**< 0: none */
  ggemm_dtype bias_dtype;      /**< NONE: D's */
  uint32_t scalars_on_device;  /**< 1: args' alpha and beta point to device memory; 0: to host memory, read before the call returns */
  double activation_p0;        /**< leaky relu: slope, finite in f32 (f64 where that is what is summed in); clamp: low end; else not looked at, but not NaN */
  double activation_p1;        /**< clamp: high end, not below the low one; likewise */
  ggemm_gate gate;             /**< 0: no gated pairs */
  uint32_t reserved0;          /**< 0 */
  int64_t reserved1;           /**< 0 */
} ggemm_epilogue_desc;

/** How an operand is scaled: by f32 numbers in device memory, which form a matrix of their own. Blocks along k begin at k 0, the last may be partial,
 *  as may the last along m or n. D = act(alpha sum(s_a(i,kb) s_b(kb,j) sum(a b over block kb of k)) + beta C + bias): each block's products are
 *  summed in f32 and then added, scaled, to an f32 sum; what does not change along k scales the whole sum once. A and B may be scaled in different
 *  ways; either may be scaled alone.
 *  Any dtypes of A and B, but f64 (its sums have more bits than the scales), and but i8 with D i32 (which stays in integers). i8 scaled by blocks is
 *  summed in f32. */
typedef enum ggemm_scale_kind {
  GGEMM_SCALE_NONE = 0,          /**< not scaled */
  GGEMM_SCALE_TENSOR = 1,        /**< one number */
  GGEMM_SCALE_VECTOR = 2,        /**< one for each row of A, [m,1]; for each column of B, [1,n] */
  GGEMM_SCALE_BLOCK_1X128 = 3,   /**< one for each 128 of k of a row of A, [m,ceil(k/128)]; of a column of B, [ceil(k/128),n] */
  GGEMM_SCALE_BLOCK_128X128 = 4, /**< one for each block of 128 rows of A and 128 of k, [ceil(m/128),ceil(k/128)]; of B, [ceil(k/128),ceil(n/128)] */
  GGEMM_SCALE_KIND_FORCE32 = 0x7fffffff
} ggemm_scale_kind;

/** The scales of A or B: element (i, j) of their matrix is at base + i * row_stride + j * col_stride, in f32 elements, strides as in ggemm_matrix (0
 *  to repeat, packed row-major by default). The strides of a single number are not looked at. Fast: contiguous along A's rows (row_stride 1) or B's
 *  columns (col_stride 1). Frozen. */
typedef struct ggemm_scale {
  ggemm_scale_kind kind;          /**< 0: not scaled */
  uint32_t reserved0;             /**< 0 */
  int64_t row_stride, col_stride; /**< f32 elements, or GGEMM_PACKED */
} ggemm_scale;

/** D[m,n] = act(alpha scale A[m,k] B[k,n] + beta C[m,n] + bias); with gated pairs D is [m,n/2]. */
typedef struct ggemm_gemm_desc {
  size_t struct_size;
  int64_t m, n, k;              /**< 0 or more */
  ggemm_matrix a, b, c, d;      /**< c.dtype NONE: D's */
  ggemm_epilogue_desc epilogue; /**< what follows the product */
  ggemm_compute compute;        /**< 0: GGEMM_COMPUTE_DEFAULT */
  uint32_t reserved0;           /**< 0 */
  const char* config;           /**< force this configuration (a name, see ggemm_config); NULL: chosen */
  const char* tune_key;         /**< the caller's own key: only tuning records made under it are used, whatever the sizes; NULL: the library's key */
  ggemm_scale scale_a, scale_b; /**< of A and of B */
  int32_t max_ctas;             /**< CTAs at most that multiply at once, each of which takes a multiprocessor or a part of one, so that other work may
                                     run beside; 0: as many as the device holds. Clusters of more CTAs are not taken. The launches that may come
                                     before, short ones that copy operands or look at groups, have CTAs of their own. Never changes a result beyond
                                     rounding. The host device does not look at it */
  uint32_t reserved1;           /**< 0 */
} ggemm_gemm_desc;
#define GGEMM_MATRIX_INIT_ { GGEMM_DTYPE_NONE, 0, GGEMM_PACKED, GGEMM_PACKED, 0 }
#define GGEMM_EPILOGUE_INIT_ { GGEMM_ACTIVATION_NONE, GGEMM_BIAS_NONE, GGEMM_DTYPE_NONE, 0, 0.0, 0.0, GGEMM_GATE_NONE, 0, 0 }
#define GGEMM_SCALE_INIT_ { GGEMM_SCALE_NONE, 0, GGEMM_PACKED, GGEMM_PACKED }
#define GGEMM_GEMM_DESC_INIT \
  { sizeof(ggemm_gemm_desc), 0, 0, 0, GGEMM_MATRIX_INIT_, GGEMM_MATRIX_INIT_, GGEMM_MATRIX_INIT_, GGEMM_MATRIX_INIT_, GGEMM_EPILOGUE_INIT_, GGEMM_COMPUTE_DEFAULT, 0, NULL, NULL, \
    GGEMM_SCALE_INIT_, GGEMM_SCALE_INIT_, 0, 0 }
/** Sets the defaults: packed row-major, no dtypes yet, sizes 0.
 *  @param desc receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_gemm_desc_init(ggemm_gemm_desc* desc, size_t struct_size);

/** The operands of one call. */
typedef struct ggemm_gemm_args {
  size_t struct_size;
  const void* a;     /**< device memory; may be NULL when m, n or k is 0 */
  const void* b;     /**< likewise */
  const void* c;     /**< may be NULL if beta is 0, unless beta is in device memory; may be d itself, with the same strides and dtype, else must not
                          overlap it */
  void* d;           /**< must not overlap a, b, bias, scales or a scalar in device memory; may be NULL when m or n is 0 */
  const void* bias;  /**< may be NULL when the description has none, or m or n is 0 */
  const void* alpha; /**< f32; f64 where the sums are f64; i32 where the epilogue is int32. NULL: 1. 0 is a factor like others: NaN and infinity in A
                          and B stay */
  const void* beta;  /**< likewise; NULL: 0. Where it is 0, C is not read */
  int64_t m, n, k;   /**< GGEMM_AS_DESCRIBED, or this call's size; packed strides follow */
  const void* scale_a; /**< f32, device memory; may be NULL when the description has none, or m, n or k is 0: then it is not looked at */
  const void* scale_b; /**< likewise */
} ggemm_gemm_args;
#define GGEMM_GEMM_ARGS_INIT { sizeof(ggemm_gemm_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, GGEMM_AS_DESCRIBED, GGEMM_AS_DESCRIBED, GGEMM_AS_DESCRIBED, NULL, NULL }
/** Sets the defaults: no pointers, the description's sizes.
 *  @param args receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_gemm_args_init(ggemm_gemm_args* args, size_t struct_size);

/** Where a ggemm_source has its number. */
typedef enum ggemm_source_kind {
  GGEMM_SOURCE_CONST = 0, /**< `value`, for every group */
  GGEMM_SOURCE_I32 = 1,   /**< group g's is the int32 at data + g * byte_stride */
  GGEMM_SOURCE_I64 = 2,   /**< likewise int64 */
  GGEMM_SOURCE_FORCE32 = 0x7fffffff
} ggemm_source_kind;

/** Where a per-group number comes from. Frozen: held by value in others. */
typedef struct ggemm_source {
  const void* data;       /**< device memory, aligned to the number's size, as is byte_stride; read when the launch runs, so it must stay as it is
                               until then */
  int64_t byte_stride;    /**< bytes from one group's number to the next one's */
  int64_t value;          /**< of a constant, of which `data` and byte_stride are not looked at; else not looked at itself */
  ggemm_source_kind kind; /**< 0: a constant */
  uint32_t reserved0;     /**< 0 */
} ggemm_source;
/** The same number for every group. @param value the number. @since 0.1 */
GGEMM_API ggemm_source ggemm_const(int64_t value);
/** An int32 a group. @param data group 0's, in device memory. @param byte_stride bytes from one group's to the next one's. @since 0.1 */
GGEMM_API ggemm_source ggemm_i32_at(const void* data, int64_t byte_stride);
/** An int64 a group. @param data group 0's, in device memory. @param byte_stride bytes from one group's to the next one's. @since 0.1 */
GGEMM_API ggemm_source ggemm_i64_at(const void* data, int64_t byte_stride);

/** How the operands of the groups are given. In the first form each operand is an array of pointers. In the others it is one pointer to memory that
 *  holds all groups, unless the operand's `pointers` says otherwise; what is said here of D holds for C too.
 *
 *  | form     | a group's size                          | A                     | B                     | D                     |
 *  | -------- | --------------------------------------- | --------------------- | --------------------- | --------------------- |
 *  | POINTERS | m, n, k: sources                        | pointers              | pointers              | pointers              |
 *  | RAGGED_M | m from `ends`; n, k constant            | one matrix [m,k]      | group_stride/pointers | one matrix [m,n]      |
 *  | RAGGED_K | k from `ends`; m, n constant            | one matrix [m,k]      | one matrix [k,n]      | group_stride/pointers |
 *  | MASKED   | m from `counts`, `m` at most; n, k      | group_stride/pointers | group_stride/pointers | group_stride/pointers |
 *  | BATCH    | m, n, k: sources                        | group_stride/pointers | group_stride/pointers | group_stride/pointers |
 */
typedef enum ggemm_grouped_form {
  /** a, b, c, d and bias in the arguments are device arrays of one pointer a group. */
  GGEMM_GROUPS_POINTERS = 0,
  /** Tokens sorted by expert: D_g = act(alpha_g scale_g A_g B_g + beta_g C_g + bias_g) for the rows of group g, which are those from the end of group
   *  g - 1 (the first: 0) to the end of group g of matrices A [m,k], C and D [m,n]. `m` is a constant, the rows of these matrices in all; n and k are
   *  constants; `ends` has each group's end. Equal ends make an empty group. Rows behind the last end belong to no group: of D they are not written.
   *  No padding between groups is needed, and any strides will do. */
  GGEMM_GROUPS_RAGGED_M = 1,
  /** Weight gradients: D_g [m,n] = act(alpha_g scale_g A_g B_g + beta_g C_g + bias_g), where A_g is columns and B_g is rows from the end of group
   *  g - 1 (the first: 0) to the end of group g of matrices A [m,k] and B [k,n]. `k` is a constant, the depth of these matrices in all; m and n are
   *  constants; `ends` has each group's end. A group of depth 0 is as one with k 0. To accumulate, let C be D and beta 1. */
  GGEMM_GROUPS_RAGGED_K = 2,
  /** Room for `m` rows in each group, of which as many count as `counts` says: A_g [m,k], C_g and D_g [m,n]. `m` is a constant; a count above it
   *  counts as it. Rows of A and C behind the count are not used, though A's may be read, and of D not written. */
  GGEMM_GROUPS_MASKED = 3,
  /** Every matrix at `group_stride` from the one before. Sizes may be a group's own; then the distances must be given. Where all sizes and strides are
   *  constants, a CUDA device runs it as fast as plain products of these sizes: of sm_90a if C is not read, lines, bases and distances are at multiples
   *  of 16 bytes, and max_ctas and checked mode are not asked for. */
  GGEMM_GROUPS_BATCH = 4,
  GGEMM_GROUPED_FORM_FORCE32 = 0x7fffffff
} ggemm_grouped_form;

/** A matrix of each group. A stride that is a constant GGEMM_PACKED follows the matrix's shape: the group's own sizes, but in ragged and masked forms
 *  the sizes in all, or that there is room for, as the description's constants give them. A stride from memory is taken as it is. Frozen.
 *  The fast path needs unit strides as constants (GGEMM_PACKED is one): a kernel is compiled for the direction that is contiguous.
 *  The matrices of a ragged form that hold all groups have constant strides, by the same rules as a ggemm_matrix. */
typedef struct ggemm_grouped_matrix {
  ggemm_dtype dtype;                   /**< as in ggemm_matrix */
  uint32_t pointers;                   /**< 1: in the arguments it is a device array of one pointer a group, whatever the form. Not for what is one
                                            matrix. The first form takes 0 too */
  ggemm_source row_stride, col_stride; /**< elements, or a constant GGEMM_PACKED */
  int64_t group_stride;                /**< elements from one group's first element to the next one's; 0: all groups share it (not D). GGEMM_PACKED:
                                            rows or columns times the longer stride, so that groups follow each other; needs constant sizes and
                                            strides. D's groups lie apart, or take turns, as rows of each group in one matrix. Not looked at with
                                            pointers and in what is one matrix: there it is GGEMM_PACKED or 0 */
} ggemm_grouped_matrix;

/** The scales of each group's A or B. Frozen.
 *  TENSOR: f32 numbers, `group_stride` apart in every form (GGEMM_PACKED: 1; 0: one for all groups), unless `pointers` is set. Strides are
 *  ignored.
 *  The other kinds: a matrix of each group, of the shape that ggemm_scale_kind says, given as a ggemm_grouped_matrix is, by the same form. What the
 *  groups share along a ragged index is one matrix here too, unless `pointers` is set. RAGGED_M: A's scales, of which each group has its own rows, or
 *  rows of blocks. RAGGED_K: A's and B's scales by blocks, of which each group has its own blocks along k (VECTOR scales do not change along k: they
 *  are a group's own).
 *  Blocks begin anew with each group. Where there are blocks along the ragged index, and group g begins there at start_g, its first block is
 *  start_g / 128 + g, rounded down, with group_stride GGEMM_PACKED: so each group has room for a partial block, and the matrix has size / 128 + groups
 *  blocks. With group_stride 0, for groups that all begin at multiples of 128, it is start_g / 128.
 *  With a_index, A's scales VECTOR and BLOCK_1X128 are those of A's rows: one matrix [a_rows,...], in which rows are found by the index as A's are,
 *  so that `pointers` must be 0. BLOCK_128X128 is refused. */
typedef struct ggemm_grouped_scale {
  ggemm_scale_kind kind;               /**< 0: not scaled */
  uint32_t pointers;                   /**< as in ggemm_grouped_matrix, but that the matrices of a ragged form may be given so too */
  ggemm_source row_stride, col_stride; /**< f32 elements, or a constant GGEMM_PACKED */
  int64_t group_stride;                /**< as in ggemm_grouped_matrix, and see above */
} ggemm_grouped_scale;

/** For each group g: D_g[m_g,n_g] = act(alpha_g scale_g A_g B_g + beta_g C_g + bias_g), in one call; with gated pairs D_g is [m_g,n_g/2].
 *  A group with m or n 0 is empty: its pointers are not looked at. With k 0, D_g = act(alpha_g 0 + beta_g C_g + bias_g), as in ggemm_gemm, and the
 *  pointers of A, B and their scales are not looked at.
 *  A size or count below 0 in memory counts as 0; as a constant it is GGEMM_ERROR_ARGUMENT. An end below 0 counts as 0, one above the size in all as
 *  that, and a group that ends before it begins is empty: whatever the ends are, nothing outside the matrices is touched. (Rows of D that two groups
 *  claim, as the ends fall and rise again, hold the result of either.) The host device checks the pointers and strides of every group before it
 *  writes anything; a CUDA device reads them only when the launch runs, and can refuse nothing then, but for checked mode.
 *  Limits on a CUDA device: all groups together have fewer than 2^31 - 2^17 tiles of the configuration, k is below 2^31 tiles; a group's m, n and k,
 *  where they are in memory, are 2^31 - 4096 at most, which checked mode does not tell. */
typedef struct ggemm_grouped_desc {
  size_t struct_size;
  int64_t groups; /**< 0 to 2^31 - 33 */
  ggemm_grouped_form form; /**< how the operands are given; 0: GGEMM_GROUPS_POINTERS */
  ggemm_compute compute;   /**< 0: GGEMM_COMPUTE_DEFAULT */
  ggemm_source m, n, k;    /**< sizes, as the form says */
  ggemm_grouped_matrix a, b, c, d; /**< c.dtype NONE: D's */
  ggemm_epilogue_desc epilogue;    /**< of every group */
  int64_t expected_m, expected_n, expected_k; /**< mean sizes of a group, for the choice of configuration; 0: not known. Never change a result beyond
                                                   rounding. RAGGED_M with expected_largest_m: the mean of groups that have rows is the better hint,
                                                   for then m / expected_m of them are taken to have some */
  const char* config;   /**< as in ggemm_gemm_desc */
  const char* tune_key; /**< as in ggemm_gemm_desc */
  /* From here on for other forms than GGEMM_GROUPS_POINTERS, which take a struct of at least this size. */
  ggemm_source ends;    /**< RAGGED_M, RAGGED_K: where each group ends, in device memory, as torch's `offs`; else a constant 0 */
  ggemm_source counts;  /**< MASKED: rows of each group that count; else a constant 0 */
  int64_t bias_group_stride; /**< elements from one group's bias to the next one's; 0: all groups share it; GGEMM_PACKED: its length. A bias per row
                                  in RAGGED_M is one of m elements, beside D's rows */
  uint32_t bias_pointers;    /**< 1: in the arguments the bias is a device array of one pointer a group, whatever the form. The first form takes 0
                                  too */
  uint32_t checked;          /**< 1: checked mode, see ggemm_fault. For every form */
  ggemm_source a_index;      /**< RAGGED_M: not a constant 0: A is [a_rows,k], and row i of the groups' order is its row a_index[i], an int32 or int64
                                  a row, byte_stride apart, m of them. An index outside 0 to a_rows - 1 stands for a row of zeros */
  int64_t a_rows;            /**< with a_index; else 0 */
  ggemm_source d_index;      /**< RAGGED_M: not a constant 0: D is [d_rows,n] ([d_rows,n/2] of pairs), and row i of the groups' order goes to its row
                                  d_index[i], likewise; it is left out where that is outside 0 to d_rows - 1. C stays in the groups' order, and is not
                                  D. Rows that go to one row of D are added up, in their order, in the type that the epilogue computes in (on a CUDA
                                  device in workspace of m rows of n f32, f64 or i32, by a launch after the product's); rows of D that none goes to
                                  are not written */
  int64_t d_rows;            /**< with d_index; else 0 */
  uint32_t d_index_unique;   /**< 1: no two rows go to one row of D, which is then stored at once. Where it is not true, D's row holds the result of
                                  either */
  uint32_t reserved0;        /**< 0 */
  ggemm_grouped_scale scale_a, scale_b; /**< of A and of B */
  int32_t max_ctas;   /**< as in ggemm_gemm_desc */
  uint32_t reserved1; /**< 0 */
  int64_t expected_largest_m; /**< beside expected_m: rows of the largest group; 0: not known. As expected_m (groups, or those that have rows, are alike),
                                   or as all groups' rows (one has them all), or between */
} ggemm_grouped_desc;
#define GGEMM_SOURCE_INIT_(v) { NULL, 0, (v), GGEMM_SOURCE_CONST, 0 }
#define GGEMM_GROUPED_MATRIX_INIT_ { GGEMM_DTYPE_NONE, 0, GGEMM_SOURCE_INIT_(GGEMM_PACKED), GGEMM_SOURCE_INIT_(GGEMM_PACKED), GGEMM_PACKED }
#define GGEMM_GROUPED_SCALE_INIT_ { GGEMM_SCALE_NONE, 0, GGEMM_SOURCE_INIT_(GGEMM_PACKED), GGEMM_SOURCE_INIT_(GGEMM_PACKED), GGEMM_PACKED }
#define GGEMM_GROUPED_DESC_INIT \
  { sizeof(ggemm_grouped_desc), 0, GGEMM_GROUPS_POINTERS, GGEMM_COMPUTE_DEFAULT, GGEMM_SOURCE_INIT_(0), GGEMM_SOURCE_INIT_(0), GGEMM_SOURCE_INIT_(0), \
    GGEMM_GROUPED_MATRIX_INIT_, GGEMM_GROUPED_MATRIX_INIT_, GGEMM_GROUPED_MATRIX_INIT_, GGEMM_GROUPED_MATRIX_INIT_, GGEMM_EPILOGUE_INIT_, 0, 0, 0, NULL, NULL, \
    GGEMM_SOURCE_INIT_(0), GGEMM_SOURCE_INIT_(0), GGEMM_PACKED, 0, 0, GGEMM_SOURCE_INIT_(0), 0, GGEMM_SOURCE_INIT_(0), 0, 0, 0, \
    GGEMM_GROUPED_SCALE_INIT_, GGEMM_GROUPED_SCALE_INIT_, 0, 0, 0 }
/** Sets the defaults: no groups, constant sizes 0, packed row-major, no dtypes yet.
 *  @param desc receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_grouped_desc_init(ggemm_grouped_desc* desc, size_t struct_size);

/** What checked mode finds wrong with the numbers and pointers of groups in device memory. It looks at all of them before anything is computed, in a
 *  launch of its own on a CUDA device, and writes four int32 to `status` in the arguments, in stream order: the fault, the group, the ggemm_field,
 *  and for an index the row in the groups' order (all 0: none found). They are of the lowest group that is wrong. D is then not written at all, for
 *  no group; the host device returns GGEMM_ERROR_ARGUMENT too. */
typedef enum ggemm_fault {
  GGEMM_FAULT_NONE = 0,    /**< nothing is wrong */
  GGEMM_FAULT_SIZE = 1,    /**< a size or count is below 0, a count above the room, or n is odd with gated pairs */
  GGEMM_FAULT_END = 2,     /**< a group ends before it begins, or above the size in all */
  GGEMM_FAULT_NULL = 3,    /**< a pointer that is followed is NULL */
  GGEMM_FAULT_ALIGN = 4,   /**< a pointer is not a multiple of its element's size */
  GGEMM_FAULT_STRIDE = 5,  /**< elements of D coincide: a stride is 0, or too short for the rows or columns that it leads over */
  GGEMM_FAULT_SPAN = 6,    /**< a matrix spans 2^63 bytes or more */
  GGEMM_FAULT_INDEX = 7,   /**< an index of a row of A or D is not below its number of rows. (One below 0 is none: it stands for no row.) */
  GGEMM_FAULT_FORCE32 = 0x7fffffff
} ggemm_fault;
/** Which number or operand of the group a ggemm_fault is about. */
typedef enum ggemm_field {
  GGEMM_FIELD_NONE = 0,     /**< nothing is wrong */
  GGEMM_FIELD_M = 1,        /**< m, a count, or an end of RAGGED_M */
  GGEMM_FIELD_N = 2,        /**< n */
  GGEMM_FIELD_K = 3,        /**< k, or an end of RAGGED_K */
  GGEMM_FIELD_A = 4,        /**< A, or with GGEMM_FAULT_INDEX a_index */
  GGEMM_FIELD_B = 5,        /**< B */
  GGEMM_FIELD_C = 6,        /**< C */
  GGEMM_FIELD_D = 7,        /**< D, or with GGEMM_FAULT_INDEX d_index */
  GGEMM_FIELD_BIAS = 8,     /**< the bias */
  GGEMM_FIELD_SCALE_A = 9,  /**< A's scales */
  GGEMM_FIELD_SCALE_B = 10, /**< B's scales */
  GGEMM_FIELD_FORCE32 = 0x7fffffff
} ggemm_field;

/** The operands of one grouped call, in device memory: a matrix aligned to its element, or a device array of `groups` pointers, aligned to 8 bytes,
 *  to such matrices, as the description says. No group's D may overlap another's, nor any group's A, B, bias or scales, nor another group's C.
 *  Refused is what the description shows: elements or groups of D that share an address, where all sizes and strides are constants; and a D that is
 *  no array of pointers and begins where A or B does, or overlaps A, B or C where both leave nothing out. Of a group whose sizes or strides are
 *  in memory, the host device and checked mode find strides of D by which its elements share an address. Not checked at all: pointers of different
 *  groups or operands against each other, groups of D whose sizes or strides are in memory against each other, operands with gaps, and D against
 *  bias, scales, weights, scalars, the arrays of numbers and pointers, and the status word. */
typedef struct ggemm_grouped_args {
  size_t struct_size;
  const void* a;     /**< const void* const[groups], or the matrix; may be NULL when groups is 0, or a constant size in the description is */
  const void* b;     /**< likewise */
  const void* c;     /**< likewise; may be NULL if beta is 0, unless beta is in device memory; it, or its pointers, may be d's, as in
                          ggemm_gemm_args */
  const void* d;     /**< void* const[groups], or the matrix; the matrices are written */
  const void* bias;  /**< likewise an array of pointers, or the bias; may be NULL when the description has none */
  const void* alpha; /**< one scalar for all groups, as in ggemm_gemm_args; or one a group */
  const void* beta;  /**< likewise */
  int64_t alpha_byte_stride; /**< bytes from one group's alpha to the next one's, in device memory (scalars_on_device); 0: one for all */
  int64_t beta_byte_stride;  /**< likewise */
  const void* row_weights;   /**< with d_index: m elements of f32, one for each row of the groups' order, which it is multiplied by after activation
                                  and gate; NULL: none, as it must be where i8 products are stored as i32 */
  void* status;              /**< in checked mode: int32[4], aligned to 4 bytes; see ggemm_fault. Else not looked at */
  const void* scale_a;       /**< const float* const[groups], or the scales; may be NULL when the description has none, groups is 0, or a constant
                                  size is */
  const void* scale_b;       /**< likewise */
} ggemm_grouped_args;
#define GGEMM_GROUPED_ARGS_INIT { sizeof(ggemm_grouped_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL }
/** Sets the defaults: no pointers. @param args receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_grouped_args_init(ggemm_grouped_args* args, size_t struct_size);

/* -------------------------------------------------------------------------------------------------------- one call */

/** D = act(alpha scale A B + beta C + bias), or the gated pairs of it.
 *  Shapes: A [m,k], B [k,n], C and D [m,n] (D [m,n/2] with gated pairs), bias [n] or [m], scales as ggemm_scale_kind says; any size, 0 included: with
 *  m or n 0 nothing happens, with k 0 D = act(alpha 0 + beta C + bias): act(beta C + bias), but NaN where alpha is infinite or NaN.
 *  Units: strides and sizes in elements.
 *  Memory: operands in device memory, aligned to their elements; D overlaps no other operand, but may be C. (Refused is a D that begins where A, B or
 *  scales do, or overlaps A, B or C where both leave nothing out; other overlaps are not looked for.) Nothing outside D's elements is written,
 *  nothing before an operand's first element or behind its last one is read. `desc`, `args` and scalars in host memory are read before the return.
 *  Stream: asynchronous on `stream` (a CUstream of the context's device; NULL is the legacy default stream) for CUDA; complete on return for the
 *  host, where `stream` is ignored.
 *  Capture: allowed. Meanwhile nothing is compiled or loaded and no device memory is allocated: if a kernel that the call needs is not loaded, or the
 *  stream's workspace is too small, the call is GGEMM_ERROR_NOT_PREPARED.
 *  Workspace is device memory of the context's, kept for each stream, that some products need: where k is cut ("kN" and "kt", see ggemm_config) sums
 *  meet in it, and operands off the fast path (see ggemm_matrix) or of GGEMM_COMPUTE_F32_ACCURATE may be copied to it first. It grows outside capture
 *  only. A captured stream that has too little takes, for good, some of what ggemm_prepare and plans reserve.
 *  A graph uses this memory whenever it is replayed. So its replays must not run beside other calls on the stream that was captured, nor beside
 *  replays of other graphs that were captured on it.
 *  A stream's workspace stays with the context until that is destroyed, also after the stream is: keep streams, rather than make one for each
 *  request. One that gets the handle of a stream that was destroyed is the same stream to the context: it goes on with that one's workspace, and
 *  graphs that were captured on either are graphs that were captured on it.
 *  Threads: any. The first call of a problem class compiles or loads its kernel, once for all threads that ask; later ones are a look-up and a
 *  launch. Calls that read C, or whose D (of groups A and B too) is not at multiples of 16 bytes, may be a class of their own beside others of the
 *  same description: one whose beta was 0 does not prepare a captured one whose is not.
 *  @param context its device runs the product. @param desc the problem. @param args the operands, and other sizes if they are given.
 *  @param stream see above.
 *  @retval GGEMM_ERROR_ARGUMENT a field is wrong: the text names it and its values.
 *  @retval GGEMM_ERROR_UNSUPPORTED no kernel serves this on this device, or the forced configuration does not: the text has the reasons. 2^31 tiles
 *          or more.
 *  @retval GGEMM_ERROR_NOT_PREPARED the stream is being captured and the kernel is not loaded, or its workspace is too small.
 *  @retval GGEMM_ERROR_COMPILE NVRTC is missing or refused the kernel.
 *  @retval GGEMM_ERROR_LAUNCH the driver refused to load or launch it. GGEMM_ERROR_OUT_OF_MEMORY and GGEMM_ERROR_DEVICE where the driver says so.
 *  @since 0.1 */
GGEMM_API ggemm_status ggemm_gemm(ggemm_context* context, const ggemm_gemm_desc* desc, const ggemm_gemm_args* args, void* stream);

/** For every group D_g = act(alpha_g scale_g A_g B_g + beta_g C_g + bias_g), in one launch (or a few, however many groups there are) whose sizes,
 *  strides, ends, counts and pointers are read on the device when it runs.
 *  Shapes: A_g [m_g,k_g], B_g [k_g,n_g], C_g and D_g [m_g,n_g], bias_g [n_g] or [m_g], gated pairs and scales as in ggemm_gemm; any sizes, 0
 *  included; 0 groups are nothing. Of an odd n_g with gated pairs a CUDA device leaves the last column out; the host device refuses it. How they lie:
 *  ggemm_grouped_form.
 *  Units: strides, sizes, ends and counts in elements, byte strides in bytes.
 *  Memory: arrays of pointers, sizes, ends, counts, strides and scalars, and what the pointers name, in device memory; they must stay as they are
 *  until the launch has run.
 *  The whole of a matrix that holds all groups may be read, rows that no group has included; of D nothing but the groups' elements is written, and in
 *  checked mode the status word.
 *  Stream: as ggemm_gemm.
 *  Capture: allowed, as in ggemm_gemm. A captured call may be replayed with other sizes, ends, counts, strides and pointers in the same arrays.
 *  Some workspace is needed, and reserved by ggemm_prepare and plans: by the kernels of the sm90 family some 680 bytes a group; by those with "kt" in
 *  their names (see ggemm_config) 128 KiB a multiprocessor at most besides (those that ggemm_config_get lists); and for the sums that d_index makes,
 *  as is said there.
 *  Some only helps, and is not reserved: the sm90 family copies operands off the fast path (see ggemm_grouped_matrix) to it if there is room. How
 *  much that takes is found out by the first two calls of the kind (types, layouts, sizes within an octave or so). Operands that find no room are
 *  gathered instead, which is slower and gives the same bits; operands that all groups share always are, and rows of A by index (nearly as fast as in
 *  order if they are whole vectors of 16 bytes). A captured call makes do with what its stream has, and never fails for want of this memory.
 *  Threads: as ggemm_gemm.
 *  @param context its device runs the products. @param desc the problem. @param args the arrays of operands. @param stream as in ggemm_gemm.
 *  @retval as ggemm_gemm; what a group's own numbers and pointers have wrong is seen on the host device only, and in checked mode told by the status
 *          word.
 *  @since 0.1 */
GGEMM_API ggemm_status ggemm_grouped_gemm(ggemm_context* context, const ggemm_grouped_desc* desc, const ggemm_grouped_args* args, void* stream);

/* ------------------------------------------------------------------------------------------------------------- plans */

/** Chooses a configuration for the problem, compiles or loads its kernel, and binds both. The sizes of the description make the choice; a run may
 *  bring others.
 *  Capture: there is no stream to ask about, so it compiles, loads and allocates even while one is captured, and leaves the capture intact. What
 *  workspace the problem takes is reserved for streams that are captured before they had as much: for 8 of them, or as many as 64 MiB serve, but for
 *  one at least; each further plan, and ggemm_prepare, makes up for what was taken. It is freed with the context.
 *  Lifetime: until ggemm_plan_destroy, which must come before the context's end. `desc` and its texts are not looked at after the return; device
 *  arrays that a grouped description names are looked at by every run.
 *  @param context must outlive the plan. @param desc the problem. @param out_plan receives the plan; NULL on failure.
 *  @retval as ggemm_gemm, but for GGEMM_ERROR_NOT_PREPARED.
 *  @since 0.1 */
GGEMM_API ggemm_status ggemm_plan_create(ggemm_context* context, const ggemm_gemm_desc* desc, ggemm_plan** out_plan);
/** As ggemm_plan_create, for a grouped problem.
 *  @param context must outlive the plan. @param desc the problem. @param out_plan receives the plan; NULL on failure. @since 0.1 */
GGEMM_API ggemm_status ggemm_plan_create_grouped(ggemm_context* context, const ggemm_grouped_desc* desc, ggemm_plan** out_plan);
/** D = act(alpha scale A B + beta C + bias), as ggemm_gemm would, with the args' sizes if they are given. Never compiles, unless the addresses (or
 *  the strides that follow the args' sizes) are less aligned than the description let expect: a plan reckons with bases at multiples of 16 bytes.
 *  Such a run is as a call of ggemm_gemm.
 *  Shapes, Units, Memory, Stream: as ggemm_gemm.
 *  Capture: allowed. Where operands are as aligned as described and sizes no larger, it is GGEMM_ERROR_NOT_PREPARED only if more streams are captured
 *  than workspace is reserved for.
 *  Threads: any; one plan may run in many at once.
 *  @param plan of a plain problem. @param args the operands, and other sizes if they are given. @param stream as in ggemm_gemm.
 *  @retval GGEMM_ERROR_ARGUMENT also if the plan is of a grouped problem.
 *  @retval as ggemm_gemm; GGEMM_ERROR_COMPILE only where it may compile. @since 0.1 */
GGEMM_API ggemm_status ggemm_plan_run(const ggemm_plan* plan, const ggemm_gemm_args* args, void* stream);
/** For every group D_g = act(alpha_g scale_g A_g B_g + beta_g C_g + bias_g), as ggemm_grouped_gemm would. Never compiles.
 *  Shapes, Units, Memory, Stream, Capture: as ggemm_grouped_gemm.
 *  Threads: any; one plan may run in many at once.
 *  @param plan of a grouped problem. @param args the arrays of operands. @param stream as in ggemm_gemm.
 *  @retval GGEMM_ERROR_ARGUMENT also if the plan is of a plain problem.
 *  @retval as ggemm_grouped_gemm, but for GGEMM_ERROR_COMPILE. @since 0.1 */
GGEMM_API ggemm_status ggemm_plan_run_grouped(const ggemm_plan* plan, const ggemm_grouped_args* args, void* stream);
/** Writes why the plan is as it is: problem, configuration and where it came from (forced, tuned, shipped record, model), kernel, its registers and
 *  shared memory. For people: the wording may change.
 *  @param plan the plan. @param buffer receives the text, cut to `size` bytes with the final NUL; may be NULL when size is 0.
 *  @param size bytes of `buffer`. @param out_size receives the bytes needed with the NUL; may be NULL. @since 0.1 */
GGEMM_API ggemm_status ggemm_plan_explain(const ggemm_plan* plan, char* buffer, size_t size, size_t* out_size);
/** Destroys a plan.
 *  Stream: work that it launched may still run.
 *  @param plan may be NULL. @since 0.1 */
GGEMM_API void ggemm_plan_destroy(ggemm_plan* plan);

/* ---------------------------------------------------------------------------------------------------- configurations */

/** One way to run a problem. The name is unique and readable. Its parts in their order, those in brackets only where they say something:
 *
 *      family_A_B_sums_layout_BMxBNxBK_wMxN[xT]_sS[_cMxN[xK]][_kN or _kt][_mR][_swap]_rR
 *
 *  | part       | meaning                                                                                                                          |
 *  | ---------- | -------------------------------------------------------------------------------------------------------------------------------- |
 *  | family     | kernel family: simt, sm80, sm90, gemv; or host, whose names end at the layout                                                    |
 *  | A, B, sums | their dtypes; tf32 and f32x3 for A and B: f32 under GGEMM_COMPUTE_TF32 and GGEMM_COMPUTE_F32_ACCURATE                            |
 *  | layout     | two letters: A's t (contiguous along k) or n (along m), and B's n (contiguous along k) or t (along n)                            |
 *  | BMxBNxBK   | CTA tile: rows and columns of the product, and depth along k, in elements                                                        |
 *  | wMxN       | warps that multiply, down and across the tile; gemv: N warps, each of which has all of the tile and a part of k; or, where M is  |
 *  |            | above 1, M warps, each of which has rows of its own (of a tile of fewer rows than columns: columns)                              |
 *  | xT         | sm90: T teams of so many warps take turns at tiles, one storing while the other multiplies; T is 2                               |
 *  | sS         | slots (stages) of the shared-memory ring; gemv: steps that a thread has under way                                                |
 *  | cMxN       | CTAs of a cluster, down and across D; in every name of the sm90 family, and in no other                                          |
 *  | xK         | K CTAs share a tile along k, so that the cluster has M x N x K of them; plain problems only                                      |
 *  | kN         | sm90: k is cut into N slices (fewer if it is too short), each for a cluster of its own; plain problems only                      |
 *  | kt         | k is cut only for the tiles of the last wave, which does not fill the device, by sm90 at times with those of the wave before     |
 *  | mR         | sm90: groups of more than R rows are computed beside, by a kernel of larger tiles that the library chooses by the sizes expected |
 *  | swap       | sm90: the product is computed transposed, with n on the tensor cores' rows                                                       |
 *  | rR         | raster group: R rows of tiles are walked together                                                                                |
 *
 *  Such as "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8", "sm90_bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_kt_r8",
 *  "sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s8_c1x1x4_r1", "sm90_bf16_bf16_f32_tn_128x128x64_w8x1_s6_c2x1_k33_r1",
 *  "sm90_bf16_bf16_f32_tn_128x128x64_w4x1x2_s6_c2x1_r8" and "sm90_bf16_bf16_f32_tn_64x128x64_w1x8_s8_c1x1_m64_swap_r8".
 *
 *  What is described with a D that is contiguous along m alone (a column-major one) is computed as D' = B' A', with D' in rows: names are of that
 *  product, whose A is B transposed, and tuning records too (under a tune_key of the caller's own each orientation has its own); the numbers of a
 *  ggemm_config of such a problem are D's all the same (`swapped`). ggemm_plan_explain says where it is so. Gated pairs are not; of groups those are
 *  whose m and n are constants, but for the forms of ragged and masked rows, rows by an index, checked mode, and packed rows of A, or of its scales by
 *  blocks, whose length (k) only the device knows.
 *
 *  Where k is shared or cut (xK, kN, kt) the sums are added up in a fixed order, so that a device gives the same bits each time. But with kt, how k
 *  is cut, and so the rounding, depends on how many clusters (CTAs) the device holds at once, or `max_ctas` allows. xK and kN are not taken with max_ctas.
 *  Groups are cut (kt) only if they differ in m alone and are 256 at most; how then depends on the rows of all of them. kt is not taken with a_index,
 *  in checked mode or with mR; neither of these by groups of which all is constant; and of simt and sm80 not in groups, with max_ctas or with scales by blocks. Names of gemv have none of the three. */
typedef struct ggemm_config {
  size_t struct_size;
  char name[96];                  /**< as above */
  char family[16];                /**< "simt", "sm80", "sm90", "gemv", "host"; of the last, the numbers below are all 0 */
  int32_t tile_m, tile_n, tile_k; /**< CTA tile: rows, columns, depth along k */
  int32_t warps_m, warps_n;       /**< warps that multiply, down and across the tile; of one team */
  int32_t stages;                 /**< slots of the shared-memory ring */
  int32_t raster;                 /**< rows of tiles that are walked together, for L2 (Triton's GROUP_SIZE_M); what a row is there: see
                                       ggemm_tile_at */
  int32_t large_above;            /**< of a grouped problem: groups of more rows than this are computed beside, by a kernel of larger tiles; 0: by the
                                       same as all */
  int32_t cluster_m, cluster_n;   /**< CTAs of a cluster down and across D; 0 in the families that form none */
  int32_t swapped;                /**< 1: the product is computed transposed, by "swap" in its name or, without it, as D is contiguous along m alone;
                                       the tile, warps and cluster above are those of D all the same */
  int32_t cluster_k;              /**< CTAs of a cluster that share a tile along k, 1 where none do; 0 in the families that form no clusters */
  int32_t slices;                 /**< slices that k is cut into, each for a cluster of its own; 1: only the last tiles are cut ("kt"); 0 where k is
                                       not cut */
  int32_t teams;                  /**< 2: so many teams of these warps take turns at tiles, one storing while the other multiplies; 0: one team has
                                       them all */
} ggemm_config;
#define GGEMM_CONFIG_INIT { sizeof(ggemm_config), {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** Sets the defaults. @param config receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_config_init(ggemm_config* config, size_t struct_size);

/** Names a problem, plain or grouped: exactly one pointer is set. Frozen. */
typedef struct ggemm_problem {
  const ggemm_gemm_desc* gemm;       /**< a plain problem, or NULL */
  const ggemm_grouped_desc* grouped; /**< a grouped problem, or NULL */
} ggemm_problem;

/** How many configurations of the library's table are legal for the problem on the context's device. A description's own `config` plays no part.
 *  @param context its device decides what is legal. @param problem the problem. @param out_count receives how many; 0 is no failure.
 *  @retval GGEMM_ERROR_ARGUMENT the description is wrong. @since 0.1 */
GGEMM_API ggemm_status ggemm_config_count(ggemm_context* context, const ggemm_problem* problem, size_t* out_count);
/** The index-th legal configuration, best estimate first.
 *  @param context as in ggemm_config_count. @param problem likewise. @param index from 0. @param out_config with struct_size set.
 *  @retval GGEMM_ERROR_ARGUMENT the description is wrong, or index is past the end. @since 0.1 */
GGEMM_API ggemm_status ggemm_config_get(ggemm_context* context, const ggemm_problem* problem, size_t index, ggemm_config* out_config);
/** Reads a name. Says nothing about whether it is legal for a problem; its numbers are of the product that it is a name for.
 *  @param name a configuration's name. @param out_config with struct_size set.
 *  @retval GGEMM_ERROR_ARGUMENT it is no name; the text has the part that is wrong. @since 0.1 */
GGEMM_API ggemm_status ggemm_config_parse(const char* name, ggemm_config* out_config);
/** The configuration that a plan is bound to. @param plan the plan. @param out_config with struct_size set. @since 0.1 */
GGEMM_API ggemm_status ggemm_plan_config(const ggemm_plan* plan, ggemm_config* out_config);

/* ------------------------------------------------------------------------------------------------- prepare and tune */

/** Progress of a long call: `done` of `total`, what was just finished ("" if it failed). Return 0 to go on, anything else to cancel. Called from the
 *  calling thread only. `what` lives as long as the call. */
typedef int32_t (*ggemm_progress_fn)(void* user, size_t done, size_t total, const char* what);

/** Compiles and loads the kernels of many problems at once, in as many threads as the context may use, and reserves workspace as plans do; runs
 *  nothing. A problem that fails does not stop the others.
 *  Capture: as ggemm_plan_create: it compiles, loads and allocates, and leaves captures intact.
 *  @param context for whose device. @param problems `count` of them; may be NULL when count is 0. @param count how many.
 *  @param progress may be NULL. @param user handed to `progress`.
 *  @retval GGEMM_ERROR_CANCELLED what was finished by then stays.
 *  @retval as ggemm_plan_create, of the problem that failed first. A description that is wrong is found before anything is compiled. @since 0.1 */
GGEMM_API ggemm_status ggemm_prepare(ggemm_context* context, const ggemm_problem* problems, size_t count, ggemm_progress_fn progress, void* user);

/** One candidate of a tuning. Lifetime: the call of the function that receives it. */
typedef struct ggemm_tune_row {
  size_t struct_size;
  size_t index, total;   /**< the candidate's number, from 0, and how many there are */
  const char* config;    /**< its name */
  double microseconds;   /**< of one launch, median of the round; 0 if it was not timed */
  double tflops;         /**< 10^12 operations a second: 2 m n k, summed over groups, over the time; 0 if it was not timed */
  const char* rejected;  /**< why it cannot win; NULL if it can */
} ggemm_tune_row;
/** Receives each candidate as it is finished, and again, with the reason, if it fails when it is timed once more. Return 0 to go on, anything else to
 *  stop with what is known. */
typedef int32_t (*ggemm_tune_fn)(void* user, const ggemm_tune_row* row);

/** How ggemm_tune goes about it. Every field's default is zero or NULL. */
typedef struct ggemm_tune_options {
  size_t struct_size;
  double budget_seconds;           /**< time allowed, 0 or more; 0: 10 s. No candidate but the first is begun after it, but the one under way is
                                        finished */
  const char* const* configs;      /**< `config_count` candidates by name; 0 of them: the library's own */
  size_t config_count;             /**< see `configs` */
  const int64_t* sample_sizes;     /**< grouped: m, n, k of each of `sample_groups` groups, 0 or more, in host memory. What the description says of
                                        each group by a constant (but 0) is no other here; n of gated pairs is even. NULL: the description's
                                        constants, else its expected_*, of which an odd n of pairs is taken for an even one */
  size_t sample_groups;            /**< 0 with sample_sizes NULL, else 1 or more */
  ggemm_tune_fn function;          /**< receives each candidate; may be NULL */
  void* user;                      /**< handed to `function` */
} ggemm_tune_options;
#define GGEMM_TUNE_OPTIONS_INIT { sizeof(ggemm_tune_options), 0.0, NULL, 0, NULL, 0, NULL, NULL }
/** Sets the defaults. @param options receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_tune_options_init(ggemm_tune_options* options, size_t struct_size);

/** What ggemm_tune found. */
typedef struct ggemm_tune_result {
  size_t struct_size;
  char best[96];             /**< name of the fastest configuration, as in ggemm_config; of two within 1% the earlier candidate */
  double microseconds;       /**< its time: of one launch, median of up to three rounds */
  double tflops;             /**< its rate, as in ggemm_tune_row */
  double seconds;            /**< that tuning took, compiles included */
  size_t timed, rejected;    /**< candidates that are right and were timed, and all others: those that failed, were wrong or were not tried */
  char first[96];            /**< the first candidate that can win; of the library's own, as a rule what is chosen without a record */
  double first_microseconds; /**< its time: rows tell only that of their first round */
} ggemm_tune_result;
#define GGEMM_TUNE_RESULT_INIT { sizeof(ggemm_tune_result), {0}, 0.0, 0.0, 0.0, 0, 0, {0}, 0.0 }
/** Sets the defaults. @param result receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_tune_result_init(ggemm_tune_result* result, size_t struct_size);

/** Measures candidates for a problem on scratch memory with random data, each one verified against the reference before it may win, and records the
 *  best: later calls of the same class use it, in this process and, through the disk cache, in later ones. Plans keep the configuration that they
 *  have.
 *  Units: as the fields say.
 *  Memory: A, B, D, bias and scales of the problem's sizes, and for groups of the sample's, allocated for the time of the call; the caller's operands
 *  are not touched.
 *  Stream: one of the library's own; complete on return.
 *  Capture: GGEMM_ERROR_NOT_PREPARED while a stream is captured that the default stream waits for. Other captures are left intact, but spoil the
 *  times.
 *  Threads: any; but what else the device does meanwhile is in the times.
 *  @param context for whose device. @param problem what to tune for; its own `config` plays no part. @param options NULL: defaults.
 *  @param out_result may be NULL; else with struct_size set.
 *  @retval GGEMM_ERROR_ARGUMENT there is nothing to tune: groups, or m or n of a plain product, is 0, the sample has no group or only empty ones, or
 *          a grouped problem has neither sample_sizes nor all of expected_*. k may be 0, and tflops are then. All arguments are looked at before
 *          anything is compiled. A single candidate is verified, timed and recorded all the same.
 *  @retval GGEMM_ERROR_UNSUPPORTED no candidate was legal and right; the text lists each one's reason. Or a name in options.configs is not legal for
 *          the problem: nothing is tried then.
 *  @retval GGEMM_ERROR_COMPILE, GGEMM_ERROR_LAUNCH what every measurement needs cannot be compiled or loaded; of a candidate it is its reason.
 *  @retval GGEMM_ERROR_CANCELLED options.function asked to stop before any candidate was right.
 *  @retval GGEMM_ERROR_OUT_OF_MEMORY the scratch memory cannot be had. @since 0.1 */
GGEMM_API ggemm_status ggemm_tune(ggemm_context* context, const ggemm_problem* problem, const ggemm_tune_options* options, ggemm_tune_result* out_result);

/* -------------------------------------------------------------------------------------------------------- tile order */

/** The tiles of a problem under a configuration. For a plain problem groups is 1 and m, n are constants. Sources are read from host memory, when the
 *  function is called; a size below 0 there counts as 0, as in a product. */
typedef struct ggemm_tile_grid {
  size_t struct_size;
  int64_t groups;               /**< 0 or more */
  ggemm_source m, n;            /**< of each group */
  int32_t tile_m, tile_n;       /**< rows and columns of a tile, 1 and up */
  int32_t raster;               /**< 1 and up */
  int32_t reserved0;            /**< 0 */
  int32_t cluster_m, cluster_n; /**< as in ggemm_config; 0: 1 */
  int32_t swapped;              /**< as in ggemm_config */
  int32_t reserved1;            /**< 0 */
} ggemm_tile_grid;
#define GGEMM_TILE_GRID_INIT { sizeof(ggemm_tile_grid), 1, GGEMM_SOURCE_INIT_(0), GGEMM_SOURCE_INIT_(0), 0, 0, 1, 0, 0, 0, 0, 0 }
/** Sets the defaults: one group, sizes 0, no tile sizes yet, raster 1. @param grid receives them.
 *  @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_tile_grid_init(ggemm_tile_grid* grid, size_t struct_size);

/** One tile of a grid: its group, its place among the group's tiles, and the rows and columns of D_g that it covers. */
typedef struct ggemm_tile {
  size_t struct_size;
  int64_t group;              /**< from 0 */
  int64_t tile_row, tile_col; /**< in tiles, from 0 */
  int64_t row_begin, row_end; /**< half open, cut at m; with clusters both may be m: nothing */
  int64_t col_begin, col_end; /**< likewise, at n */
} ggemm_tile;
#define GGEMM_TILE_INIT { sizeof(ggemm_tile), 0, 0, 0, 0, 0, 0, 0 }
/** Sets the defaults. @param tile receives them. @param struct_size as in ggemm_context_options_init. @since 0.1 */
GGEMM_API ggemm_status ggemm_tile_init(ggemm_tile* tile, size_t struct_size);

/** How many programs (Triton's word) the grid has: one a tile, so the sum over the groups of ceil(m / tile_m) ceil(n / tile_n). With clusters these
 *  are rounded up to whole ones: tiles past the edge of D are counted, and are empty.
 *  @param grid the grid. @param out_count receives how many. @retval GGEMM_ERROR_ARGUMENT a field is out of range, or there are 2^63 or more.
 *  @since 0.1 */
GGEMM_API ggemm_status ggemm_tile_count(const ggemm_tile_grid* grid, int64_t* out_count);
/** Which tile the pid-th program computes: the very arithmetic of the kernels. In a raster group, tiles go down the rows first:
 *  pid_m = first + (pid mod programs in a group) mod group size, pid_n = (pid mod programs in a group) / group size; the last group may be smaller.
 *  Where CTAs form clusters, the above numbers whole clusters, pid divided by its CTAs: cluster tiles of cluster_m x cluster_n tiles, raster of their
 *  rows at a time. The remainder is the CTA's place in the cluster, down the rows first. Clusters of 2 x 1 turn where a single row of tiles is left
 *  over: they take two tiles of it side by side, and are walked with the rows above them, two columns at a time. CTAs and clusters that share a tile
 *  along k are one program. Where the product is swapped, rows and columns change places in all of this: columns go first.
 *  A kernel that starts fewer CTAs than there are programs (grouped ones but for batches of simt, sm80 and gemv, those of the sm90 family, and all with max_ctas) has each go on in steps of
 *  their number: the first of 132 computes the tiles of pid 0, 132, 264 and so on. Where k is cut for the tiles that are left over ("kt"), each of
 *  the last tiles may be several CTAs'.
 *  Where larger groups have a kernel of their own ("m64"), this tells of the smaller tiles alone: leave groups of more than large_above rows out of
 *  the grid. A CTA of the smaller tiles takes the next one when it is free.
 *  @param grid the grid. @param pid counts from 0 through all groups. @param out_tile with struct_size set.
 *  @retval GGEMM_ERROR_ARGUMENT also if pid is negative or past the end. @since 0.1 */
GGEMM_API ggemm_status ggemm_tile_at(const ggemm_tile_grid* grid, int64_t pid, ggemm_tile* out_tile);

/* --------------------------------------------------------------------------------------------------------- disk cache */

/** One entry of the disk cache. Lifetime: the call of the function that receives it. */
typedef struct ggemm_cache_entry {
  size_t struct_size;
  const char* kind;   /**< "cubin" or "tuning" */
  const char* name;   /**< kernel or problem */
  const char* path;   /**< of the file */
  const char* nvrtc;  /**< version of the NVRTC that made it; "" for tuning records */
  uint64_t bytes;     /**< of the file */
  int64_t last_used;  /**< seconds since 1970 */
} ggemm_cache_entry;
/** Receives one entry. `user` is what ggemm_cache_visit was given; `entry` and its texts live as long as the call. */
typedef void (*ggemm_cache_fn)(void* user, const ggemm_cache_entry* entry);
/** Calls the function for each entry of the context's own cache folder, from this thread; unreadable entries are passed over. Without a folder there
 *  is none.
 *  @param context whose folder. @param function called once an entry. @param user handed to `function`. @since 0.1 */
GGEMM_API ggemm_status ggemm_cache_visit(ggemm_context* context, ggemm_cache_fn function, void* user);
/** Removes entries from the context's own cache folder. Kernels that are loaded stay; with the tuning records, what was chosen by them is forgotten
 *  too.
 *  @param context whose folder. @param nvrtc only cubins made by this NVRTC version, such as "13.0"; NULL: all cubins and tuning records.
 *  @param out_removed receives how many; may be NULL.
 *  @retval GGEMM_ERROR_ARGUMENT also if `nvrtc` is "". @since 0.1 */
GGEMM_API ggemm_status ggemm_cache_clear(ggemm_context* context, const char* nvrtc, size_t* out_removed);

#ifdef __cplusplus
}
#endif
#endif /* GGEMM_H */
