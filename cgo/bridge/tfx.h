// The C face of the bridge: what the Go side and the C++ side agree on, and
// nothing else. It is plain C, holds no libtorch type, and changes only together
// with TFX_ABI.
#ifndef TFX_H_
#define TFX_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TFX_NOEXCEPT noexcept
#else
#define TFX_NOEXCEPT
#endif

// TFX_ABI is raised with every change of this file that an older library or
// program would misread.
#define TFX_ABI 17

// TFX_BRIDGE_VERSION is for people.
#define TFX_BRIDGE_VERSION "0.1.0"

// Values cross as a stream of 64-bit words. A value is a head word, the kind in
// its low 8 bits and a count above them, and what the kind says after it. The
// stream holds no pointer to the caller's memory, so it may live on a Go stack.
enum tfx_kind {
  TFX_NONE = 0,
  TFX_TENSOR = 1,      // handle; in results a word with the bytes it alone owns follows
  TFX_UNDEFINED = 2,   // a tensor that is not there, which is not None
  TFX_INT = 3,         // int64
  TFX_UINT = 4,        // uint64, where int64 does not hold it
  TFX_FLOAT = 5,       // bits of a double
  TFX_BOOL = 6,        // the count is 0 or 1
  TFX_COMPLEX = 7,     // bits of two doubles
  TFX_STR = 8,         // count bytes, padded to whole words
  TFX_DEVICE = 9,      // kind and index as int64
  TFX_GENERATOR = 10,  // handle
  TFX_OBJECT = 11,     // handle; in results the type's name follows as TFX_STR
  TFX_TENSORS = 12,    // count handles, 0 for None; in results a word of bytes after each
  TFX_INTS = 13,       // count int64
  TFX_FLOATS = 14,     // count doubles
  TFX_BOOLS = 15,      // count words of 0 or 1
  TFX_LIST = 16,       // count values
  TFX_TUPLE = 17,      // count values
  TFX_DICT = 18,       // count keys and values, alternating
  TFX_ABSENT = 19,     // to a plan: a value that stays on the caller's side
  TFX_WRAPPED = 20,    // a number follows: a tensor of it whose dtype gives way, as Python makes of one among tensors
};

// How a prepared call makes an argument of its operator, from the slots of each call. A
// word says so: the kind, the slot from bit 8 on, and from bit 32 on how many slots.
enum tfx_argument {
  TFX_ARG_CONSTANT = 1,  // always the value that follows, in words
  TFX_ARG_TENSOR = 2,    // handle
  TFX_ARG_INT = 3,       // int64
  TFX_ARG_FLOAT = 4,     // bits of a double
  TFX_ARG_REAL = 5,      // int64, for a float
  TFX_ARG_BOOL = 6,      // 0 or 1
  TFX_ARG_DEVICE = 7,    // kind, and from bit 8 on the index
  TFX_ARG_GENERATOR = 8, // handle
  TFX_ARG_STR = 9,       // where its bytes are among the slots, and from bit 32 on how many
  TFX_ARG_INTS = 10,     // where its int64s are, and from bit 32 on how many
  TFX_ARG_TENSORS = 11,  // where its handles are, and from bit 32 on how many
  TFX_ARG_ROW = 12,      // count slots, each an int64 of a list
  TFX_ARG_TIMES = 13,    // an int64, count times in a list
  TFX_ARG_WRAPPED = 64,  // added to INT, FLOAT or BOOL: the tensor of it whose dtype gives way
};

// What a function returns. The classes of Python's exceptions, by C++ type.
enum tfx_code {
  TFX_OK = 0,
  TFX_RUNTIME = 1,
  TFX_TYPE = 2,
  TFX_VALUE = 3,
  TFX_INDEX = 4,
  TFX_NOT_IMPLEMENTED = 5,
  TFX_LINALG = 6,
  TFX_MEMORY = 7,
  TFX_ACCELERATOR = 8,  // the context of the device may be lost
  TFX_SYNTAX = 9,
  TFX_INTERNAL = 10,  // the two sides of the bridge disagree: a bug here
};

// tfx_out receives results or the message of a failure, in the same crossing.
// The caller gives n words at w. After a call, used counts the words that were
// written, or the bytes of the message; when they did not fit, heap holds them
// instead and is freed by tfx_api.free.
typedef struct tfx_out {
  uint64_t used;
  uint64_t heap;
  int32_t code;  // of call_prepared, which returns none: that costs a caller in Go two calls
} tfx_out;

// TFX_SMALL is how many bytes a tensor may keep at most for its caller to give it back
// with the next call.
#define TFX_SMALL 1024

// tfx_mode is what a call needs of libtorch's per-thread state. It is set inside
// the entry and restored before it returns.
#define TFX_MAX_VMAP 8
typedef struct tfx_mode {
  uint32_t flags;
  int32_t threads;  // intra-op, 1 at least
  int32_t autocast_device;
  int32_t autocast_dtype;
  int32_t vmap_levels;
  int32_t reserved;
  int64_t vmap_size[TFX_MAX_VMAP];
  int64_t vmap_randomness[TFX_MAX_VMAP];
  int32_t device;  // kind and index in c10's numbers
  int32_t device_index;
  int64_t stream;  // on that device, as stream_new has named it
} tfx_mode;

enum tfx_flag {
  TFX_GRAD = 1,
  TFX_INFERENCE = 2,
  TFX_AUTOCAST = 4,           // autocast_device and autocast_dtype are set
  TFX_AUTOCAST_ENABLED = 8,   // on or off, as autocast(enabled=False) inside another
  TFX_AUTOCAST_NO_CACHE = 16,
  TFX_STREAM = 32,  // device, device_index and stream are set
};

// What the steps of a plan do. See plan.h for how they are written.
enum tfx_step {
  TFX_STEP_CALL = 1,   // an operator: the first of the overloads that takes the operands, or arithmetic on two numbers
  TFX_STEP_GO = 2,     // something that the caller does; gives its slots
  TFX_STEP_DONE = 3,   // the end; gives its slots
  TFX_STEP_MOVE = 4,   // operands to slots
  TFX_STEP_JUMP = 5,
  TFX_STEP_UNLESS = 6, // jumps where the operand is false
  TFX_STEP_SIZE = 7,   // a fact about a tensor
  TFX_STEP_ITEM = 8,   // container[index]
  TFX_STEP_ENTER = 9,  // a mode for the steps up to LEAVE
  TFX_STEP_LEAVE = 10,
  TFX_STEP_DELEGATE = 11,  // a region, the first operand, on tensors, the others
};

enum tfx_step_flag {
  TFX_PLAIN = 1,      // the layout of the results follows from that of the plan's inputs
  TFX_POINTWISE = 2,  // element by element
  TFX_HIDES = 4,      // a result may hold its arguments
  TFX_TUPLES = 8,     // lists of tensors among the results become tuples
  TFX_WRITES = 16,    // memory of an argument is written, of a slot's or of a constant's
  TFX_FRESH = 32,     // no result shares memory with an argument, and none is written
};

enum tfx_number {
  TFX_ADD = 1, TFX_SUB, TFX_MUL, TFX_DIV, TFX_FLOORDIV, TFX_MOD, TFX_MAX, TFX_MIN, TFX_EQ, TFX_NE, TFX_LT, TFX_LE, TFX_GT, TFX_GE
};

enum tfx_fact { TFX_SIZE = 1, TFX_STRIDE, TFX_DIMS, TFX_NUMEL, TFX_OFFSET, TFX_SHAPE };

// Why a run of a plan has stopped.
typedef enum tfx_stop {
  TFX_STOP_DONE = 0,
  TFX_STOP_GO = 1,  // at a step that the caller does: a GO, or operands that only the caller understands
  TFX_STOP_CANCELLED = 2,
} tfx_stop;

// tfx_run says where a run begins, and afterwards where and why it stopped; on an
// error, where it failed.
typedef struct tfx_run {
  int64_t at;      // step
  int32_t resume;  // whether the step that it stopped at was done by the caller
  int32_t stop;    // tfx_stop
  int64_t overload;  // the last one that was called, for the text of an error
} tfx_run;

// What a recording is asked for.
enum tfx_record_flag {
  TFX_RECORD_LEAF = 1,   // operators that are made of others give way to them
  TFX_RECORD_READS = 2,  // values that depend on the inputs may be read
  TFX_RECORD_FUNCTIONAL = 4,  // with leaves: writes become new values
  TFX_RECORD_BARE = 8,  // nothing is computed
};

// What has become of a shape class of a plan on a device.
enum tfx_graph_state {
  TFX_GRAPH_WARMING = 0,   // runs step by step
  TFX_GRAPH_CAPTURED = 1,  // is replayed
  TFX_GRAPH_REFUSED = 2,   // runs step by step for good
};

// tfx_api is the function table. No function keeps a pointer that it was given,
// except from_memory its memory; none calls back; none throws. mode may be null:
// no gradients, one thread.
typedef struct tfx_api {
  uint32_t abi;
  uint32_t size;               // of this struct
  const char* bridge_version;
  const char* torch_compiled;  // the headers' version, "2.15.0"
  uint64_t (*torch_running)(void) TFX_NOEXCEPT;  // the loaded library's: major<<56 | minor<<48 | patch<<40
  const volatile uint64_t* released;             // how many from_memory storages wait to be collected

  void (*free)(uint64_t heap) TFX_NOEXCEPT;

  // operators
  int32_t (*find)(const char* name, uint64_t len, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // INT handle, STR schema, STR tags; NONE where there is no such operator
  int32_t (*list)(uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;                                  // STR: schema TAB tags NEWLINE, for each
  int32_t (*has_kernel)(uint64_t op, int32_t device_kind) TFX_NOEXCEPT;
  int32_t (*call)(uint64_t op, const tfx_mode* m, const uint64_t* args, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*sequence)(const uint64_t* code, uint64_t ncode, const uint64_t* in, uint64_t nin, const int32_t* stop, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // see sequence.h
  int32_t (*prepare)(uint64_t op, const uint64_t* args, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // one word: handle, the same for the same, never freed
  void (*call_prepared)(uint64_t prepared, const uint64_t* slots, uint64_t nslots, const uint64_t* last, uint64_t nlast, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // in the default mode; last: tensors that are released where it succeeds, 0 for none; bit 63 of the bytes of a result: it is small
  int32_t (*open_library)(const char* path, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;

  // tensors
  void (*tensor_retain)(uint64_t t) TFX_NOEXCEPT;
  void (*tensor_release)(uint64_t t) TFX_NOEXCEPT;
  int32_t (*tensor_info)(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // plain words, see info in tensor.h
  int32_t (*tensor_new)(int32_t dtype, const int64_t* sizes, uint64_t ndim, const void* data, uint64_t nbytes, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*tensor_from_memory)(int32_t dtype, void* mem, uint64_t nbytes, const int64_t* sizes, const int64_t* strides, uint64_t ndim, int64_t offset, uint64_t id, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*tensor_view)(uint64_t base, int32_t dtype, const int64_t* sizes, const int64_t* strides, uint64_t ndim, int64_t offset, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*tensor_bytes)(const tfx_mode* m, uint64_t t, void* dst, uint64_t cap, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // one word: bytes copied
  int32_t (*tensor_data)(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;                            // one word: address
  int32_t (*wrapped_number)(const uint64_t* arg, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*is_alias)(uint64_t a, uint64_t b) TFX_NOEXCEPT;
  uint64_t (*collect)(uint64_t* ids, uint64_t n) TFX_NOEXCEPT;  // ids of storages that libtorch dropped since

  // functorch
  int32_t (*add_batch_dim)(const tfx_mode* m, uint64_t t, int64_t dim, int64_t level, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*remove_batch_dim)(const tfx_mode* m, uint64_t t, int64_t level, int64_t batch, int64_t out_dim, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;

  // recording, by the calling thread and of what it calls itself
  int32_t (*record_start)(uint32_t flags, const uint64_t* inputs, uint64_t ninputs, const uint64_t* bare, uint64_t nbare, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // inputs: tensors that vary; bare: those without elements
  int32_t (*record_stop)(uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // LIST of TUPLE: STR operator, TUPLE arguments, TUPLE results, LIST of INTS: tensor_info of each tensor in results
  int32_t (*functional_wrap)(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*functional_unwrap)(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int64_t (*recording)(void) TFX_NOEXCEPT;  // how many so far, -1 where the thread does not record

  // TorchScript, whose modules are objects
  int32_t (*script_load)(const char* path, int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*script_methods)(uint64_t m, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*script_state)(uint64_t m, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*script_attribute)(uint64_t m, const char* name, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*script_graph)(uint64_t m, const char* method, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*script_train)(uint64_t m, int32_t on, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*script_call)(uint64_t m, const tfx_mode* mode, const char* method, const uint64_t* args, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;

  // programs that AOTInductor compiled, which are objects
  int32_t (*aoti_load)(const char* path, const char* model, int64_t runners, int32_t device, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*aoti_metadata)(uint64_t p, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*aoti_spec)(uint64_t p, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*aoti_run)(uint64_t p, const tfx_mode* mode, const uint64_t* inputs, uint64_t ninputs, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;

  // regions that a delegate has compiled, see delegate/tfx_delegate.h, which are objects
  int32_t (*region_new)(uint64_t api, uint64_t region, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*region_run)(uint64_t region, const tfx_mode* mode, const uint64_t* inputs, uint64_t ninputs, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;

  // generators and objects
  int32_t (*generator_new)(uint64_t seed, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*generator_seed)(uint64_t g, uint64_t seed, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;      // g 0: the default ones of all devices
  int32_t (*generator_get_seed)(uint64_t g, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // one word
  int32_t (*generator_state)(uint64_t g, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;     // a tensor of bytes
  int32_t (*generator_set_state)(uint64_t g, uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  void (*generator_release)(uint64_t g) TFX_NOEXCEPT;
  void (*object_release)(uint64_t obj) TFX_NOEXCEPT;

  // devices, by c10's numbers of kinds
  int32_t (*open_cuda)(const char* path, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // INT devices
  int32_t (*open_graphs)(const char* path, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // the second library, see graphs.h
  int32_t (*device_count)(int32_t kind) TFX_NOEXCEPT;
  int32_t (*stream_new)(int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // one word: its number on the device; the device is ready afterwards
  int32_t (*device_synchronize)(int32_t kind, int32_t index, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*device_memory)(int32_t kind, int32_t index, int32_t trim, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // words: bytes allocated, their peak, reserved, inactive; trim: gives back what is not used, before

  // the process
  int32_t (*info)(uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;                        // STR: key TAB value lines, then the build configuration
  int32_t (*warnings)(uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;                    // STR, one NUL-ended text each; emptied
  int32_t (*set_deterministic)(int32_t on, int32_t warn_only, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  void (*trim)(void) TFX_NOEXCEPT;  // gives memory that nobody uses back to the system
  void (*allocate_lasting)(int32_t by) TFX_NOEXCEPT;  // 1 begins and -1 ends that large memory is whole pages

  // plans
  int32_t (*plan_new)(const uint64_t* words, uint64_t nwords, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // one word: handle
  void (*plan_release)(uint64_t plan) TFX_NOEXCEPT;
  int32_t (*plan_layouts)(uint64_t plan, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*frame_new)(uint64_t plan, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // one word: handle; keeps the plan
  void (*frame_release)(uint64_t frame) TFX_NOEXCEPT;
  void (*frame_clear)(uint64_t frame) TFX_NOEXCEPT;
  void (*frame_stop)(uint64_t frame) TFX_NOEXCEPT;  // from any thread
  int32_t (*frame_run)(uint64_t frame, const tfx_mode* m, const uint64_t* in, uint64_t nin, tfx_run* run, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*frame_put)(uint64_t frame, const uint64_t* in, uint64_t nin, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*frame_values)(uint64_t frame, const uint64_t* slots, uint64_t nslots, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;
  int32_t (*frame_graphs)(uint64_t frame, uint64_t* w, uint64_t n, tfx_out* o) TFX_NOEXCEPT;  // for each shape class: INT runs, INT tfx_graph_state, STR why it was refused
} tfx_api;

// tfx_get_api is the only symbol of the library.
typedef const tfx_api* (*tfx_get_api_fn)(void);

#ifdef __cplusplus
}
#endif
#endif  // TFX_H_
