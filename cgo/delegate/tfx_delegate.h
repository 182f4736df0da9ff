// A delegate: a small library that runs regions of a graph with kernels of its
// own. This file is all that it and its callers (the Go side and the bridge)
// agree on. It is plain C, holds no type of libtorch or of the kernels' library,
// and changes only together with TFX_DELEGATE_ABI.
//
//	compile   a region's program and constants      → region, shared
//	prepare   a region for sizes, strides, threads  → shape class, shared, cached
//	run       a shape class on memory of the caller
//
// All functions may be called from any number of threads at once, on the same
// region and the same class too; none throws, none keeps a pointer that it was
// given, none allocates memory that grows with the number of runs.
#ifndef TFX_DELEGATE_H_
#define TFX_DELEGATE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TFX_DELEGATE_NOEXCEPT noexcept
#else
#define TFX_DELEGATE_NOEXCEPT
#endif

// TFX_DELEGATE_ABI is raised with every change of this file that an older
// library or program would misread.
#define TFX_DELEGATE_ABI 3

// TFX_DELEGATE_ALIGN is the alignment of the scratch block, in bytes. Inputs and
// outputs need that of their elements only.
#define TFX_DELEGATE_ALIGN 64

// TFX_DELEGATE_MAX_DIMS bounds the dimensions of a value.
#define TFX_DELEGATE_MAX_DIMS 6

// TFX_DELEGATE_MAX_LAYOUTS bounds the numbers of tfx_region_layouts.
#define TFX_DELEGATE_MAX_LAYOUTS 4

// What a function returns. The numbers are those of tfx_code in bridge/tfx.h, so
// that an error of a region is an error of the bridge.
//
// NOT_IMPLEMENTED means that the caller should run the region's plain twin: the
// delegate has no kernel for this dtype, shape or machine. A RUNTIME, TYPE or
// VALUE error means that the operators themselves would have failed.
enum tfx_delegate_code {
  TFX_DELEGATE_OK = 0,
  TFX_DELEGATE_RUNTIME = 1,          // sizes that do not go together
  TFX_DELEGATE_TYPE = 2,             // dtypes that do not go together
  TFX_DELEGATE_VALUE = 3,            // a program that says nothing sensible
  TFX_DELEGATE_NOT_IMPLEMENTED = 5,  // run the plain twin
  TFX_DELEGATE_MEMORY = 7,
  TFX_DELEGATE_INTERNAL = 10,        // a kernel failed that had been prepared
  TFX_DELEGATE_CANCELLED = 11,
};

// A tfx_delegate_error receives the message of a failure, ended by a zero and cut
// where it does not fit: "convolution 3: expected 64 channels, got 32".
typedef struct tfx_delegate_error {
  char* text;
  uint64_t size;  // bytes at text
} tfx_delegate_error;

// A tfx_delegate_buffer is a tensor: data may be null where only the shape counts.
typedef struct tfx_delegate_buffer {
  const void* data;
  const int64_t* sizes;
  const int64_t* strides;  // in elements
  int32_t dim;
  int32_t dtype;  // number of c10::ScalarType: 6 is float32, 15 bfloat16
} tfx_delegate_buffer;

// A region is compiled once and shared. Its shape classes hold what they need of
// it, so it may be released before them.
typedef struct tfx_delegate_region tfx_delegate_region;

// A tfx_delegate_shape is that of an output.
typedef struct tfx_delegate_shape {
  int64_t sizes[TFX_DELEGATE_MAX_DIMS];
  int64_t strides[TFX_DELEGATE_MAX_DIMS];  // in elements: contiguous or channels last
  int64_t bytes;                           // of the elements, without holes
  int32_t dim;
  int32_t dtype;
} tfx_delegate_shape;

// A tfx_delegate_class is what a region is for inputs of certain sizes, strides
// and dtypes and a number of threads: primitives, layouts, places in the scratch
// block. It is constant. Private fields follow.
typedef struct tfx_delegate_class {
  const tfx_delegate_shape* outputs;
  uint64_t noutputs;
  uint64_t scratch;  // bytes that a run needs besides inputs and outputs
  uint64_t nsteps;   // kernels of a run
} tfx_delegate_class;

// A tfx_delegate_layouts is how the intermediate values of a region lie, and what
// was measured to find that out. A program that names the layouts (tfx_region_layouts)
// gives the same region again without measuring.
typedef struct tfx_delegate_layouts {
  int64_t layouts;                                 // tfx_region_layouts; MEASURED as long as that is to be decided
  uint64_t nanoseconds[TFX_DELEGATE_MAX_LAYOUTS];  // by tfx_region_layouts: the shortest run with each that was tried, 0 for the others
} tfx_delegate_layouts;

// A tfx_delegate_run is the memory of one run. Outputs overlap neither inputs nor
// each other nor scratch; elements of inputs stay as they are.
typedef struct tfx_delegate_run {
  const void* const* inputs;  // in the order of the program
  void* const* outputs;       // of the class's bytes, not initialised
  void* scratch;              // of the class's size, aligned, not initialised; not kept
  const int32_t* cancel;      // null, or a flag, read between kernels: not 0 stops the run
  uint64_t* step_ns;          // null, or nsteps numbers that receive what each kernel took, in nanoseconds
} tfx_delegate_run;

typedef struct tfx_delegate_api {
  uint32_t abi;   // TFX_DELEGATE_ABI of the library
  uint32_t size;  // of this struct, in bytes
  const char* name;     // "oneDNN"
  const char* version;  // of the kernels' library: "3.2.0"

  // compile reads a program (below) of nwords words and copies the constants, the
  // tensors it names, of any strides: the caller may free them afterwards. The first
  // prepare puts them into the layouts that kernels choose, and the copy goes. The region
  // is the caller's and is given back by release.
  int32_t (*compile)(const int64_t* program, uint64_t nwords, const tfx_delegate_buffer* constants, uint64_t nconstants,
                     tfx_delegate_region** region, tfx_delegate_error* error) TFX_DELEGATE_NOEXCEPT;
  void (*retain)(tfx_delegate_region* region) TFX_DELEGATE_NOEXCEPT;
  void (*release)(tfx_delegate_region* region) TFX_DELEGATE_NOEXCEPT;

  // prepare gives the class for inputs of these sizes, strides and dtypes, run by
  // that many threads, 1 at least. Before the call *shape is null or a class of
  // this region that the caller owns: where that fits it stays and nothing else
  // happens, which takes some ten nanoseconds; else it is released. Afterwards
  // *shape is the caller's, null on an error. The region keeps the classes that
  // were used last, so sizes that come back find theirs; a new one takes
  // milliseconds for each kernel, and another thread that asks for the same waits.
  int32_t (*prepare)(tfx_delegate_region* region, const tfx_delegate_buffer* inputs, uint64_t ninputs, int32_t threads,
                     tfx_delegate_class** shape, tfx_delegate_error* error) TFX_DELEGATE_NOEXCEPT;
  void (*release_class)(tfx_delegate_class* shape) TFX_DELEGATE_NOEXCEPT;

  // run computes the outputs on the calling thread and, where the class has more
  // than one, on its OpenMP team.
  int32_t (*run)(tfx_delegate_class* shape, const tfx_delegate_run* run, tfx_delegate_error* error) TFX_DELEGATE_NOEXCEPT;

  // describe writes, as text ended by a zero and cut at size, what a class does: a
  // line for each kernel with its implementation, layouts, place and bytes, and
  // sums. It returns the bytes that the whole text needs. describe_step is the line of one.
  uint64_t (*describe)(const tfx_delegate_class* shape, char* text, uint64_t size) TFX_DELEGATE_NOEXCEPT;
  uint64_t (*describe_step)(const tfx_delegate_class* shape, uint64_t step, char* text, uint64_t size) TFX_DELEGATE_NOEXCEPT;

  // bytes counts the memory that a region holds for its constants, each layout once
  // however many classes use it.
  uint64_t (*bytes)(const tfx_delegate_region* region) TFX_DELEGATE_NOEXCEPT;

  // layouts tells how the intermediate values of a region lie, which its first prepare
  // decides for all that follow.
  void (*layouts)(const tfx_delegate_region* region, tfx_delegate_layouts* layouts) TFX_DELEGATE_NOEXCEPT;
} tfx_delegate_api;

// tfx_delegate is the one symbol of a delegate's library. It returns null only
// where the kernels' library refuses this machine.
typedef const tfx_delegate_api* (*tfx_delegate_fn)(void);

// # The program
//
// A program is a list of 64-bit words:
//
//	TFX_REGION_MAGIC, TFX_REGION_VERSION, layouts (tfx_region_layouts),
//	number of inputs, constants, nodes, outputs,
//	each node:   opcode, number of words that follow, those words
//	each output: value, memory format (tfx_region_format)
//
// Values have numbers: first the inputs, then the constants, then the nodes in
// their order, each of which gives one value and reads earlier ones only. -1 is
// a value that is not there (a bias). Floating-point words are the bits of a
// double. Fusion is the delegate's: a node says what it computes and nothing else.
// A node whose value nothing reads is an error, so is a word too few or too many.
//
// N stands for the batch, C for channels, D for the 1, 2 or 3 spatial sizes, n for their number.
#define TFX_REGION_MAGIC 0x6e6f696765725854  // "TXregion"
#define TFX_REGION_VERSION 1

// Bounds: a program beyond them is refused before anything is allocated for it.
#define TFX_REGION_MAX_NODES 16384  // and constants
#define TFX_REGION_MAX_OPERANDS 4096  // inputs, outputs, values of a CONCAT
#define TFX_REGION_MAX_GEOMETRY 1048576  // strides, paddings, kernels, groups

// How intermediate values lie.
enum tfx_region_layouts {
  TFX_LAYOUTS_MEASURED = 0,       // the faster of the last two, measured by the first prepare
  TFX_LAYOUTS_ANY = 1,            // as each kernel likes best
  TFX_LAYOUTS_CHANNELS_LAST = 2,  // channels last wherever there are spatial sizes
  TFX_LAYOUTS_BLOCKED = 3,        // channels in blocks of a register's size
};

// How an output lies.
enum tfx_region_format {
  TFX_FORMAT_CONTIGUOUS = 0,
  TFX_FORMAT_CHANNELS_LAST = 1,  // of 4 or 5 dimensions; contiguous where there are fewer
  TFX_FORMAT_FASTEST = 2,        // channels last where the kernels leave it so or blocked, else contiguous
};

enum tfx_region_op {
  // CONVOLUTION: x [N, C, D], weight [K, C/groups, kernel D], bias [K] or -1, n,
  // stride n, padding before n, padding after n, dilation n, groups → [N, K, D'].
  // weight and bias are constants.
  TFX_NODE_CONVOLUTION = 1,

  // TRANSPOSED: x [N, C, D], weight [C, K/groups, kernel D], bias or -1, n, stride n, padding n,
  // output padding n, dilation n, groups → [N, K, D'].
  TFX_NODE_TRANSPOSED = 2,

  // LINEAR: x [..., C], weight [K, C], bias [K] or -1 → [..., K]. weight and bias are constants.
  TFX_NODE_LINEAR = 3,

  // POOL: x, tfx_pool, n, kernel n, stride n, padding n, dilation n, ceil mode 0 or 1 → [N, C, D'].
  TFX_NODE_POOL = 4,

  // ADAPTIVE_POOL: x, tfx_pool, n, output D n → [N, C, output D]. Served where the windows are all alike: each
  // output size divides its input size. Output 1 is the mean or maximum of everything.
  TFX_NODE_ADAPTIVE_POOL = 5,

  // BINARY: tfx_binary, a, b → a's and b's sizes broadcast. One of them has the sizes of the result; each may be a constant.
  TFX_NODE_BINARY = 6,

  // ELTWISE: tfx_eltwise, x, alpha, beta (bits of doubles, 0 where the kind has none) → x's sizes.
  TFX_NODE_ELTWISE = 7,

  // FLATTEN: x, first and last dimension (negative from the end) → these merged into one, in row-major order.
  TFX_NODE_FLATTEN = 8,

  // RESHAPE: x, number of sizes, sizes, one of which may be -1 → the elements in row-major order.
  TFX_NODE_RESHAPE = 9,

  // CONCAT: dimension (negative from the end), number of values, values → one after the other along it.
  TFX_NODE_CONCAT = 10,

  // MATMUL: a [..., m, k], b [..., k, p], bias or -1 (constant, [p]) → [..., m, p]; leading sizes equal or broadcast.
  TFX_NODE_MATMUL = 11,

  // PERMUTE: x, number of dimensions, dimensions → as Tensor.permute.
  TFX_NODE_PERMUTE = 12,

  // SOFTMAX: x, dimension (negative from the end).
  TFX_NODE_SOFTMAX = 13,

  // LAYER_NORM: x, weight or -1, bias or -1 (constants of the last size), epsilon: over the last dimension.
  TFX_NODE_LAYER_NORM = 14,
};

enum tfx_pool {
  TFX_POOL_MAX = 1,
  TFX_POOL_AVERAGE = 2,                  // divided by the window's size, as count_include_pad=True
  TFX_POOL_AVERAGE_WITHOUT_PADDING = 3,  // by the elements of x in the window
};

enum tfx_binary {
  TFX_BINARY_ADD = 1,
  TFX_BINARY_SUB = 2,
  TFX_BINARY_MUL = 3,
  TFX_BINARY_DIV = 4,
  TFX_BINARY_MAX = 5,
  TFX_BINARY_MIN = 6,
};

// RELU, CLIP, HARDSIGMOID and EXP make a number of NaN; the others keep it.
enum tfx_eltwise {
  TFX_ELTWISE_RELU = 1,
  TFX_ELTWISE_CLIP = 2,         // min(max(x, alpha), beta): relu6, clamp, hardtanh
  TFX_ELTWISE_HARDSWISH = 3,    // x * min(max(x + 3, 0), 6) / 6
  TFX_ELTWISE_HARDSIGMOID = 4,  // min(max(x + 3, 0), 6) / 6
  TFX_ELTWISE_SIGMOID = 5,
  TFX_ELTWISE_SILU = 6,
  TFX_ELTWISE_TANH = 7,
  TFX_ELTWISE_GELU = 8,  // by erf
  TFX_ELTWISE_GELU_TANH = 9,
  TFX_ELTWISE_LEAKY_RELU = 10,  // alpha * x where x < 0
  TFX_ELTWISE_ELU = 11,         // alpha * (exp(x) - 1) where x < 0
  TFX_ELTWISE_AFFINE = 12,      // alpha * x + beta: with a number added, multiplied, divided by
  TFX_ELTWISE_ABS = 13,
  TFX_ELTWISE_SQRT = 14,
  TFX_ELTWISE_SQUARE = 15,
  TFX_ELTWISE_EXP = 16,
  TFX_ELTWISE_LOG = 17,
  TFX_ELTWISE_SOFTPLUS = 18,    // log(1 + exp(alpha * x)) / alpha
  TFX_ELTWISE_MISH = 19,
};

#ifdef __cplusplus
}
#endif

#endif  // TFX_DELEGATE_H_
