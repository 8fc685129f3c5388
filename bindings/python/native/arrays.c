/* SPDX-License-Identifier: Apache-2.0 */
#include "arrays.h"

#include <string.h>

#include "ggemm.h"

/* ------------------------------------------------------------------------------------- DLPack 1.x, as its standard lays it out */
typedef struct DlTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides; /* NULL: packed */
  uint64_t byte_offset;
} DlTensor;

typedef struct DlVersioned { /* in a capsule "dltensor_versioned"; in a capsule "dltensor" there is a DlTensor */
  uint32_t major, minor;
  void* manager;
  void* deleter;
  uint64_t flags; /* 1: read only */
  DlTensor tensor;
} DlVersioned;

typedef struct DlExchange {
  uint32_t major, minor;
  const void* previous;
  void *allocate, *managed_from_object, *managed_to_object;
  int (*tensor_from_object)(void* object, DlTensor* out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
} DlExchange;

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_E4M3 = 10, DL_E5M2 = 12 };

static int32_t dl_dtype(const DlTensor* t) {
  if (t->lanes != 1) return 0;
  switch (t->code << 8 | t->bits) {
    case DL_FLOAT << 8 | 64: return GGEMM_F64;
    case DL_FLOAT << 8 | 32: return GGEMM_F32;
    case DL_FLOAT << 8 | 16: return GGEMM_F16;
    case DL_BFLOAT << 8 | 16: return GGEMM_BF16;
    case DL_E4M3 << 8 | 8: return GGEMM_E4M3;
    case DL_E5M2 << 8 | 8: return GGEMM_E5M2;
    case DL_INT << 8 | 8: return GGEMM_I8;
    case DL_INT << 8 | 32: return GGEMM_I32;
    case DL_INT << 8 | 64:
    case DL_UINT << 8 | 64: return DTYPE_I64;
    default: return 0;
  }
}

static int from_dl(const DlTensor* t, Array* out) {
  switch (t->device_type) {
    case DL_CPU:
    case DL_CUDA_HOST: out->device = HOST; break;
    case DL_CUDA:
    case DL_CUDA_MANAGED: out->device = t->device_id; break;
    default: PyErr_Format(PyExc_TypeError, "DLPack device type %d is neither the CPU nor CUDA", (int)t->device_type); return -1;
  }
  out->data = t->data ? (char*)t->data + t->byte_offset : NULL;
  out->dtype = dl_dtype(t);
  out->ndim = t->ndim;
  out->flags = 0;
  int64_t packed = 1;
  for (int32_t i = t->ndim - 1; i >= 0; --i) {
    if (i < MAX_NDIM) {
      out->shape[i] = t->shape[i];
      out->strides[i] = t->strides ? t->strides[i] : packed;
    }
    packed *= t->shape[i];
  }
  return 0;
}

int arrays_from_capsule(PyObject* capsule, Array* out) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    const DlVersioned* v = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (v->major != 1) {
      PyErr_Format(PyExc_BufferError, "DLPack version %u is not known", (unsigned)v->major);
      return -1;
    }
    if (from_dl(&v->tensor, out)) return -1;
    if (v->flags & 1) out->flags |= FLAG_READ_ONLY;
    return 0;
  }
  const DlTensor* tensor = PyCapsule_GetPointer(capsule, "dltensor");
  return tensor ? from_dl(tensor, out) : -1;
}

/* ------------------------------------------------------------------------------------------------------ kinds of arrays */
typedef enum Kind { KIND_OTHER, KIND_EXCHANGE, KIND_NUMPY, KIND_CUPY, KIND_WRAPPER } Kind;
typedef struct KnownType {
  PyObject* type;
  Kind kind;
  const DlExchange* exchange;
  int tells_packed; /* of cupy: has _c_contiguous */
} KnownType;

enum { DTYPES_SEEN = 8 };
static struct {
  PyObject *fallback, *numpy_type, *dtypes, *cupy_stream, *grad_enabled;
  PyObject* seen[DTYPES_SEEN]; /* dtypes and their numbers, by identity: most are single objects */
  int32_t seen_numbers[DTYPES_SEEN];
  int seen_count;
  PyObject *array_struct, *dtype, *requires_grad, *data, *ptr, *device_id, *shape, *strides, *packed; /* names */
  KnownType types[16];
  int type_count;
} state;

int arrays_setup(PyObject* fallback, PyObject* numpy_type, PyObject* dtypes) {
  Py_INCREF(state.fallback = fallback);
  Py_INCREF(state.numpy_type = numpy_type);
  Py_INCREF(state.dtypes = dtypes);
  const struct { PyObject** to; const char* text; } names[] = {
      {&state.array_struct, "__array_struct__"}, {&state.dtype, "dtype"},         {&state.requires_grad, "requires_grad"}, {&state.data, "data"},
      {&state.ptr, "ptr"},                       {&state.device_id, "device_id"}, {&state.shape, "shape"},                 {&state.strides, "strides"},
      {&state.packed, "_c_contiguous"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (!(*names[i].to = PyUnicode_InternFromString(names[i].text))) return -1;
  return 0;
}

/* The exchange functions that a type offers; NULL where it has none of a version that is known. */
static const DlExchange* exchange_of(PyObject* type) {
  PyObject* capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  const DlExchange* exchange = capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api") ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
  Py_XDECREF(capsule);
  PyErr_Clear();
  while (exchange && exchange->major != 1) exchange = exchange->previous;
  return exchange && exchange->tensor_from_object && exchange->current_stream ? exchange : NULL;
}

static int is_cupy(PyObject* type) {
  PyObject* module = PyObject_GetAttrString(type, "__module__");
  PyObject* name = PyObject_GetAttrString(type, "__name__");
  const int yes = module && name && PyUnicode_Check(module) && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "ndarray") == 0 &&
                  (PyUnicode_CompareWithASCIIString(module, "cupy") == 0 || PyUnicode_CompareWithASCIIString(module, "cupy._core.core") == 0);
  Py_XDECREF(module);
  Py_XDECREF(name);
  PyErr_Clear();
  return yes;
}

static KnownType known_type(PyObject* object) {
  PyObject* type = (PyObject*)Py_TYPE(object);
  for (int i = 0; i < state.type_count; ++i)
    if (state.types[i].type == type) return state.types[i];
  KnownType known = {type, KIND_OTHER, NULL, 0};
  const int masked = PyObject_HasAttrString(type, "mask"); /* numpy's masked arrays are more than their memory */
  if (type == (PyObject*)&PyList_Type || type == (PyObject*)&PyTuple_Type || PyObject_HasAttrString(type, "holds_arrays")) known.kind = KIND_WRAPPER;
  else if (PyType_IsSubtype((PyTypeObject*)type, (PyTypeObject*)state.numpy_type)) known.kind = masked ? KIND_OTHER : KIND_NUMPY;
  else if ((known.exchange = exchange_of(type))) known.kind = KIND_EXCHANGE;
  else if (is_cupy(type)) known.kind = KIND_CUPY, known.tells_packed = PyObject_HasAttrString(type, "_c_contiguous");
  if (state.type_count < (int)(sizeof state.types / sizeof *state.types)) { /* for good: a type's address must not become another's */
    Py_INCREF(type);
    state.types[state.type_count++] = known;
  }
  return known;
}

/* --------------------------------------------------------------------------------------------------------------- readers */
/* The number of a numpy dtype, 0 for those that ggemm does not know; -1 with an error. */
static int32_t dtype_of(PyObject* object) {
  PyObject* dtype = PyObject_GetAttr(object, state.dtype);
  if (!dtype) return -1;
  int32_t found = -1;
  for (int i = 0; i < state.seen_count && found < 0; ++i)
    if (state.seen[i] == dtype) found = state.seen_numbers[i];
  if (found < 0) {
    PyObject* number = PyDict_GetItemWithError(state.dtypes, dtype);
    if (number) found = (int32_t)PyLong_AsLong(number);
    else if (!PyErr_Occurred()) found = 0;
    if (number && state.seen_count < DTYPES_SEEN) {
      Py_INCREF(state.seen[state.seen_count] = dtype);
      state.seen_numbers[state.seen_count++] = found;
    }
  }
  Py_DECREF(dtype);
  return found;
}

static void set_stride(Array* out, int dimension, int64_t bytes, int64_t size) {
  out->strides[dimension] = size ? bytes / size : 0;
  if (size && bytes % size) out->flags |= FLAG_PART_STRIDE;
}

static void set_packed(Array* out) {
  int64_t step = 1;
  for (int i = out->ndim - 1; i >= 0; --i) {
    out->strides[i] = step;
    step *= out->shape[i];
  }
}

static int read_exchange(PyObject* object, const DlExchange* exchange, Array* out) {
  DlTensor tensor;
  if (exchange->tensor_from_object(object, &tensor) || from_dl(&tensor, out)) return -1;
  if (tensor.code == DL_INT) return 0; /* of integers there are no gradients */
  PyObject* grad = PyObject_GetAttr(object, state.requires_grad);
  if (grad == Py_True) out->flags |= FLAG_NEEDS_GRAD;
  if (!grad) PyErr_Clear();
  Py_XDECREF(grad);
  return 0;
}

static int read_numpy(PyObject* object, Array* out) {
  struct { /* numpy's PyArrayInterface */
    int two, nd;
    char kind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void* data;
  } const* array;
  if ((out->dtype = dtype_of(object)) < 0) return -1;
  PyObject* capsule = PyObject_GetAttr(object, state.array_struct);
  if (!capsule) return -1;
  array = PyCapsule_GetPointer(capsule, NULL);
  if (array) {
    out->data = array->data;
    out->device = HOST;
    out->ndim = array->nd;
    out->flags = array->flags & 0x400 ? 0 : FLAG_READ_ONLY;
    for (int i = 0; i < array->nd && i < MAX_NDIM; ++i) {
      out->shape[i] = array->shape[i];
      set_stride(out, i, array->strides[i], array->itemsize);
    }
  }
  Py_DECREF(capsule);
  return array ? 0 : -1;
}

/* An integer attribute; -1 with an error if there is none. */
static long long integer(PyObject* object, PyObject* name) {
  PyObject* value = PyObject_GetAttr(object, name);
  const long long number = value ? PyLong_AsLongLong(value) : -1;
  Py_XDECREF(value);
  return number;
}

/* A tuple of integers into `out`; its length, or -1 with an error. */
static int integers(PyObject* tuple, int64_t* out) {
  if (!tuple || !PyTuple_Check(tuple)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "shape and strides must be tuples");
    return -1;
  }
  const int count = (int)PyTuple_Size(tuple);
  for (int i = 0; i < count && i < MAX_NDIM; ++i) out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
  return PyErr_Occurred() ? -1 : count;
}

/* Whether strides need not be read, which takes as long as all the rest: cupy makes a tuple of them. */
static int known_packed(PyObject* object) {
  PyObject* packed = PyObject_GetAttr(object, state.packed);
  if (!packed) PyErr_Clear();
  Py_XDECREF(packed);
  return packed == Py_True;
}

static int read_cupy(PyObject* object, int tells_packed, Array* out) {
  int result = -1;
  int64_t bytes[MAX_NDIM];
  PyObject* memory = PyObject_GetAttr(object, state.data);
  PyObject* shape = PyObject_GetAttr(object, state.shape);
  PyObject* strides = NULL;
  out->flags = 0;
  if (!memory || !shape || (out->dtype = dtype_of(object)) < 0 || (out->ndim = integers(shape, out->shape)) < 0) goto done;
  if (tells_packed && out->ndim <= MAX_NDIM && known_packed(object)) {
    set_packed(out);
  } else {
    strides = PyObject_GetAttr(object, state.strides);
    if (integers(strides, bytes) < 0) goto done;
    const int64_t size = out->dtype == DTYPE_I64 ? 8 : (int64_t)ggemm_dtype_size((ggemm_dtype)out->dtype);
    for (int i = 0; i < out->ndim && i < MAX_NDIM; ++i) set_stride(out, i, bytes[i], size);
  }
  out->data = (void*)(uintptr_t)integer(memory, state.ptr);
  out->device = (int32_t)integer(memory, state.device_id);
  result = PyErr_Occurred() ? -1 : 0;
done:
  Py_XDECREF(memory);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return result;
}

static int read_other(PyObject* object, Reading* out) {
  PyObject *shape, *strides, *owner, *stream, *data, *reply = PyObject_CallFunctionObjArgs(state.fallback, object, NULL);
  Array* a = &out->array;
  int ok = reply && PyArg_ParseTuple(reply, "(OiiiiOOO)O", &data, &a->dtype, &a->device, &a->flags, &a->ndim, &shape, &strides, &owner, &stream);
  if (ok) {
    a->data = PyLong_AsVoidPtr(data);
    ok = !PyErr_Occurred() && integers(shape, a->shape) >= 0 && integers(strides, a->strides) >= 0;
  }
  if (ok && stream != Py_None) {
    out->has_stream = 1;
    out->stream = PyLong_AsVoidPtr(stream);
    ok = !PyErr_Occurred();
  }
  if (ok) Py_INCREF(out->owner = owner);
  Py_XDECREF(reply);
  return ok ? 0 : -1;
}

static int read_kind(KnownType known, PyObject* object, Reading* out) {
  switch (known.kind) {
    case KIND_EXCHANGE: return read_exchange(object, known.exchange, &out->array);
    case KIND_NUMPY: return read_numpy(object, &out->array);
    case KIND_CUPY: return read_cupy(object, known.tells_packed, &out->array);
    default: return read_other(object, out);
  }
}

/* Strides of what has no elements mean nothing, and libraries, versions even, differ in what they say: so that all such are alike. */
static void settle_empty(Array* a) {
  for (int i = 0; i < a->ndim && a->ndim <= MAX_NDIM; ++i)
    if (a->shape[i] == 0) {
      set_packed(a);
      a->flags &= ~FLAG_PART_STRIDE;
      return;
    }
}

static int read_known(KnownType known, PyObject* object, Reading* out) {
  memset(out, 0, sizeof *out);
  out->object = object;
  out->exchange = known.exchange;
  out->is_cupy = known.kind == KIND_CUPY;
  if (read_kind(known, object, out)) return -1;
  settle_empty(&out->array);
  return 0;
}

int arrays_read(PyObject* object, Reading* out) { return read_known(known_type(object), object, out); }

int arrays_try(PyObject* object, Reading* out) {
  const KnownType known = known_type(object);
  if (known.kind != KIND_WRAPPER && !read_known(known, object, out)) return 1;
  PyErr_Clear();
  return 0;
}

void arrays_release(Reading* reading) { Py_CLEAR(reading->owner); }

int arrays_grad_enabled(void) {
  if (!state.grad_enabled) {
    PyObject* torch = PyImport_ImportModule("torch");
    state.grad_enabled = torch ? PyObject_GetAttrString(torch, "is_grad_enabled") : NULL;
    Py_XDECREF(torch);
    if (!state.grad_enabled) return -1;
  }
  PyObject* reply = PyObject_CallNoArgs(state.grad_enabled);
  Py_XDECREF(reply);
  return reply ? reply == Py_True : -1;
}

int arrays_stream(const Reading* reading, void** out_stream) {
  if (reading->has_stream) {
    *out_stream = reading->stream;
    return 1;
  }
  const DlExchange* exchange = reading->exchange;
  if (exchange) return exchange->current_stream(DL_CUDA, reading->array.device, out_stream) ? -1 : 1;
  if (!reading->is_cupy) return 0;
  if (!state.cupy_stream) {
    PyObject* module = PyImport_ImportModule("cupy.cuda");
    state.cupy_stream = module ? PyObject_GetAttrString(module, "get_current_stream") : NULL;
    Py_XDECREF(module);
    if (!state.cupy_stream) return -1;
  }
  PyObject* stream = PyObject_CallFunction(state.cupy_stream, "i", (int)reading->array.device);
  if (!stream) return -1;
  *out_stream = (void*)(uintptr_t)integer(stream, state.ptr);
  Py_DECREF(stream);
  return PyErr_Occurred() ? -1 : 1;
}

PyObject* arrays_tuple(const Array* a, PyObject* owner) {
  const int n = a->ndim < MAX_NDIM ? a->ndim : MAX_NDIM;
  PyObject* shape = PyTuple_New(n);
  PyObject* strides = PyTuple_New(n);
  for (int i = 0; i < n && shape && strides; ++i) {
    PyTuple_SetItem(shape, i, PyLong_FromLongLong(a->shape[i]));
    PyTuple_SetItem(strides, i, PyLong_FromLongLong(a->strides[i]));
  }
  if (!shape || !strides) {
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return NULL;
  }
  return Py_BuildValue("NiiiiNNO", PyLong_FromVoidPtr(a->data), (int)a->dtype, (int)a->device, (int)a->flags, (int)a->ndim, shape, strides, owner);
}
