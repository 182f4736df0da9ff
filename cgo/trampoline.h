// The Go side of the bridge calls C functions; these pass each call on to the
// function table of the library that was opened. cgo cannot call a pointer.
#ifndef TFX_TRAMPOLINE_H_
#define TFX_TRAMPOLINE_H_

#include "bridge/tfx.h"

// tfx_table is set once, by tfx_use, before any of the functions below runs.
extern const tfx_api* tfx_table;

// tfx_open loads the library at path and returns its table, or NULL with the
// dynamic loader's text in msg.
const tfx_api* tfx_open(const char* path, char* msg, size_t n);
void tfx_use(const tfx_api* table);

// tfx_find_images writes the paths of the loaded libraries of that file name into
// buf, each ended by a newline, and returns how many there are.
int tfx_find_images(const char* name, char* buf, size_t n);

// tfx_cuda_driver asks the CUDA driver, without a context, how many devices there
// are: -1 where there is no driver, -2 where it fails with *code.
int tfx_cuda_driver(int* code);

// tfx_within makes mode what this thread's calls without a mode are made in, 0 for
// the default, and returns what it was; tfx_current returns it. The number is Go's.
uintptr_t tfx_within(uintptr_t mode);
uintptr_t tfx_current(void);

// tfx_trim gives free memory of the C allocator back to the system, where it can.
void tfx_trim(void);

static inline uint64_t tfx_torch_running(void) { return tfx_table->torch_running(); }
static inline void tfx_free(uint64_t heap) { tfx_table->free(heap); }
static inline int32_t tfx_find(const char* name, uint64_t len, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->find(name, len, w, n, o);
}
static inline int32_t tfx_list(uint64_t* w, uint64_t n, tfx_out* o) { return tfx_table->list(w, n, o); }
static inline int32_t tfx_has_kernel(uint64_t op, int32_t kind) { return tfx_table->has_kernel(op, kind); }
static inline int32_t tfx_call(uint64_t op, const tfx_mode* m, const uint64_t* args, uint64_t nargs, uint64_t* w,
                               uint64_t n, tfx_out* o) {
  return tfx_table->call(op, m, args, nargs, w, n, o);
}
static inline int32_t tfx_prepare(uint64_t op, const uint64_t* args, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->prepare(op, args, nargs, w, n, o);
}
static inline void tfx_call_prepared(uint64_t p, const uint64_t* slots, uint64_t nslots, const uint64_t* last,
                                     uint64_t nlast, uint64_t* w, uint64_t n, tfx_out* o) {
  tfx_table->call_prepared(p, slots, nslots, last, nlast, w, n, o);
}
static inline int32_t tfx_sequence(const uint64_t* code, uint64_t ncode, const uint64_t* in, uint64_t nin,
                                   const int32_t* stop, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->sequence(code, ncode, in, nin, stop, w, n, o);
}
static inline int32_t tfx_open_library(const char* path, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->open_library(path, w, n, o);
}
static inline void tfx_tensor_retain(uint64_t t) { tfx_table->tensor_retain(t); }
static inline void tfx_tensor_release(uint64_t t) { tfx_table->tensor_release(t); }
static inline int32_t tfx_tensor_info(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->tensor_info(t, w, n, o);
}
static inline int32_t tfx_tensor_new(int32_t dtype, const int64_t* sizes, uint64_t ndim, const void* data,
                                     uint64_t nbytes, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->tensor_new(dtype, sizes, ndim, data, nbytes, w, n, o);
}
static inline int32_t tfx_tensor_from_memory(int32_t dtype, void* mem, uint64_t nbytes, const int64_t* sizes,
                                             const int64_t* strides, uint64_t ndim, int64_t offset, uint64_t id,
                                             uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->tensor_from_memory(dtype, mem, nbytes, sizes, strides, ndim, offset, id, w, n, o);
}
static inline int32_t tfx_tensor_view(uint64_t base, int32_t dtype, const int64_t* sizes, const int64_t* strides,
                                      uint64_t ndim, int64_t offset, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->tensor_view(base, dtype, sizes, strides, ndim, offset, w, n, o);
}
static inline int32_t tfx_tensor_bytes(const tfx_mode* m, uint64_t t, void* dst, uint64_t cap, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->tensor_bytes(m, t, dst, cap, w, n, o);
}
static inline int32_t tfx_tensor_data(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->tensor_data(t, w, n, o);
}
static inline int32_t tfx_wrapped_number(const uint64_t* arg, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->wrapped_number(arg, nargs, w, n, o);
}
static inline int32_t tfx_is_alias(uint64_t a, uint64_t b) { return tfx_table->is_alias(a, b); }
static inline uint64_t tfx_collect(uint64_t* ids, uint64_t n) { return tfx_table->collect(ids, n); }
static inline int32_t tfx_add_batch_dim(const tfx_mode* m, uint64_t t, int64_t dim, int64_t level, uint64_t* w,
                                        uint64_t n, tfx_out* o) {
  return tfx_table->add_batch_dim(m, t, dim, level, w, n, o);
}
static inline int32_t tfx_remove_batch_dim(const tfx_mode* m, uint64_t t, int64_t level, int64_t batch,
                                           int64_t out_dim, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->remove_batch_dim(m, t, level, batch, out_dim, w, n, o);
}
static inline int32_t tfx_record_start(uint32_t flags, const uint64_t* inputs, uint64_t ninputs, const uint64_t* bare, uint64_t nbare, uint64_t* w,
                                       uint64_t n, tfx_out* o) {
  return tfx_table->record_start(flags, inputs, ninputs, bare, nbare, w, n, o);
}
static inline int32_t tfx_record_stop(uint64_t* w, uint64_t n, tfx_out* o) { return tfx_table->record_stop(w, n, o); }
static inline int32_t tfx_functional_wrap(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->functional_wrap(t, w, n, o);
}
static inline int32_t tfx_functional_unwrap(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->functional_unwrap(t, w, n, o);
}
static inline int64_t tfx_recording(void) { return tfx_table->recording(); }
static inline int32_t tfx_script_load(const char* path, int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->script_load(path, kind, index, w, n, o);
}
static inline int32_t tfx_script_methods(uint64_t m, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->script_methods(m, w, n, o);
}
static inline int32_t tfx_script_state(uint64_t m, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->script_state(m, w, n, o);
}
static inline int32_t tfx_script_attribute(uint64_t m, const char* name, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->script_attribute(m, name, w, n, o);
}
static inline int32_t tfx_script_graph(uint64_t m, const char* method, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->script_graph(m, method, w, n, o);
}
static inline int32_t tfx_script_train(uint64_t m, int32_t on, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->script_train(m, on, w, n, o);
}
static inline int32_t tfx_script_call(uint64_t m, const tfx_mode* mode, const char* method, const uint64_t* args,
                                      uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->script_call(m, mode, method, args, nargs, w, n, o);
}
static inline int32_t tfx_aoti_load(const char* path, const char* model, int64_t runners, int32_t device, uint64_t* w,
                                    uint64_t n, tfx_out* o) {
  return tfx_table->aoti_load(path, model, runners, device, w, n, o);
}
static inline int32_t tfx_aoti_metadata(uint64_t p, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->aoti_metadata(p, w, n, o);
}
static inline int32_t tfx_aoti_spec(uint64_t p, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->aoti_spec(p, w, n, o);
}

static inline int32_t tfx_aoti_run(uint64_t p, const tfx_mode* mode, const uint64_t* inputs, uint64_t ninputs,
                                   uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->aoti_run(p, mode, inputs, ninputs, w, n, o);
}
static inline int32_t tfx_bridge_region_new(uint64_t api, uint64_t region, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->region_new(api, region, w, n, o);
}
static inline int32_t tfx_bridge_region_run(uint64_t r, const tfx_mode* mode, const uint64_t* inputs, uint64_t ninputs,
                                     uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->region_run(r, mode, inputs, ninputs, w, n, o);
}
static inline int32_t tfx_generator_new(uint64_t seed, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->generator_new(seed, w, n, o);
}
static inline int32_t tfx_generator_seed(uint64_t g, uint64_t seed, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->generator_seed(g, seed, w, n, o);
}
static inline int32_t tfx_generator_get_seed(uint64_t g, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->generator_get_seed(g, w, n, o);
}
static inline int32_t tfx_generator_state(uint64_t g, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->generator_state(g, w, n, o);
}
static inline int32_t tfx_generator_set_state(uint64_t g, uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->generator_set_state(g, t, w, n, o);
}
static inline void tfx_generator_release(uint64_t g) { tfx_table->generator_release(g); }
static inline void tfx_object_release(uint64_t obj) { tfx_table->object_release(obj); }
static inline int32_t tfx_open_cuda(const char* path, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->open_cuda(path, w, n, o);
}
static inline int32_t tfx_open_graphs(const char* path, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->open_graphs(path, w, n, o);
}
static inline int32_t tfx_device_count(int32_t kind) { return tfx_table->device_count(kind); }
static inline int32_t tfx_stream_new(int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->stream_new(kind, index, w, n, o);
}
static inline int32_t tfx_device_synchronize(int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->device_synchronize(kind, index, w, n, o);
}
static inline int32_t tfx_device_memory(int32_t kind, int32_t index, int32_t trim, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->device_memory(kind, index, trim, w, n, o);
}
static inline int32_t tfx_info(uint64_t* w, uint64_t n, tfx_out* o) { return tfx_table->info(w, n, o); }
static inline int32_t tfx_warnings(uint64_t* w, uint64_t n, tfx_out* o) { return tfx_table->warnings(w, n, o); }
static inline void tfx_trim_all(void) {
  tfx_table->trim();
}

static inline void tfx_allocate_lasting(int32_t by) {
  tfx_table->allocate_lasting(by);
}

static inline int32_t tfx_set_deterministic(int32_t on, int32_t warn_only, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->set_deterministic(on, warn_only, w, n, o);
}
static inline int32_t tfx_plan_new(const uint64_t* words, uint64_t nwords, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->plan_new(words, nwords, w, n, o);
}
static inline void tfx_plan_release(uint64_t plan) { tfx_table->plan_release(plan); }
static inline int32_t tfx_plan_layouts(uint64_t plan, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->plan_layouts(plan, w, n, o);
}
static inline int32_t tfx_frame_new(uint64_t plan, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->frame_new(plan, w, n, o);
}
static inline void tfx_frame_release(uint64_t frame) { tfx_table->frame_release(frame); }
static inline void tfx_frame_clear(uint64_t frame) { tfx_table->frame_clear(frame); }
static inline void tfx_frame_stop(uint64_t frame) { tfx_table->frame_stop(frame); }
static inline int32_t tfx_frame_run(uint64_t frame, const tfx_mode* m, const uint64_t* in, uint64_t nin, tfx_run* run,
                                    uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->frame_run(frame, m, in, nin, run, w, n, o);
}
static inline int32_t tfx_frame_put(uint64_t frame, const uint64_t* in, uint64_t nin, uint64_t* w, uint64_t n,
                                    tfx_out* o) {
  return tfx_table->frame_put(frame, in, nin, w, n, o);
}
static inline int32_t tfx_frame_values(uint64_t frame, const uint64_t* slots, uint64_t nslots, uint64_t* w, uint64_t n,
                                       tfx_out* o) {
  return tfx_table->frame_values(frame, slots, nslots, w, n, o);
}
static inline int32_t tfx_frame_graphs(uint64_t frame, uint64_t* w, uint64_t n, tfx_out* o) {
  return tfx_table->frame_graphs(frame, w, n, o);
}

#endif  // TFX_TRAMPOLINE_H_
