// The way to a delegate's library. Its functions are reached by pointer, which cgo
// cannot call, and take pointers to pointers, which Go may not give; these
// functions do both.
#ifndef TFX_DELEGATE_OPEN_H_
#define TFX_DELEGATE_OPEN_H_

#include <stddef.h>

#include "delegate/tfx_delegate.h"

// tfx_open_delegate loads the library at path and returns its table, or NULL with
// a reason in msg. It refuses a library that brings a second OpenMP runtime into
// the process: two teams of threads would fight for the processors, and a number
// of threads set in one means nothing in the other.
const tfx_delegate_api* tfx_open_delegate(const char* path, char* msg, size_t n);

// Tensors cross as words: for each dtype, dimensions, address, sizes, strides.

int32_t tfx_region_compile(const tfx_delegate_api* api, const int64_t* program, uint64_t nwords, const int64_t* constants, uint64_t nconstants,
                           tfx_delegate_region** region, char* msg, size_t n);
int32_t tfx_region_prepare(const tfx_delegate_api* api, tfx_delegate_region* region, const int64_t* inputs, uint64_t ninputs, int32_t threads,
                           tfx_delegate_class** shape, char* msg, size_t n);
int32_t tfx_region_run(const tfx_delegate_api* api, tfx_delegate_class* shape, const int64_t* inputs, const int64_t* outputs, void* scratch,
                       const int32_t* cancel, uint64_t* step_ns, char* msg, size_t n);

// tfx_delegate_cancel sets the flag that a run reads.
static inline void tfx_delegate_cancel(int32_t* flag) { __atomic_store_n(flag, 1, __ATOMIC_RELAXED); }

static inline void tfx_region_retain(const tfx_delegate_api* api, void* region) { api->retain((tfx_delegate_region*)region); }
static inline void tfx_region_release(const tfx_delegate_api* api, void* region) { api->release((tfx_delegate_region*)region); }
static inline void tfx_class_release(const tfx_delegate_api* api, void* shape) { api->release_class((tfx_delegate_class*)shape); }
static inline void tfx_region_tell_layouts(const tfx_delegate_api* api, const tfx_delegate_region* region, tfx_delegate_layouts* layouts) {
  api->layouts(region, layouts);
}
static inline uint64_t tfx_region_bytes(const tfx_delegate_api* api, tfx_delegate_region* region) { return api->bytes(region); }
static inline uint64_t tfx_class_describe(const tfx_delegate_api* api, const tfx_delegate_class* shape, char* text, uint64_t size) {
  return api->describe(shape, text, size);
}
static inline uint64_t tfx_class_describe_step(const tfx_delegate_api* api, const tfx_delegate_class* shape, uint64_t step, char* text, uint64_t size) {
  return api->describe_step(shape, step, text, size);
}

#endif  // TFX_DELEGATE_OPEN_H_
