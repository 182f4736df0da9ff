// Fusing: neighbouring pointwise steps of a plan whose results have one shape and
// layout become a group, which is done block by block, so that what goes from one
// operator to the next stays in cache or in registers. Groups are formed per
// shape class, after its first run, when every dtype, shape and stride is known.
//
// Bits are those of eager code by construction. An operator in a group is either
// one of the few whose vector code is known (lanes.h), or the very kernel that
// eager code runs, given the block as it would be given the whole. Such a kernel
// computes the elements that fill no vector another way, so that blocks have to
// end where its vectors end.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "nearest.h"

namespace tfx {

// A Shape is what is known of a tensor in a shape class.
struct Shape {
  std::vector<int64_t> sizes, strides;
  c10::ScalarType dtype = c10::ScalarType::Undefined;

  Shape() = default;
  explicit Shape(const at::Tensor& t) : sizes(t.sizes().vec()), strides(t.strides().vec()), dtype(t.scalar_type()) {}

  int64_t count() const { return c10::multiply_integers(sizes); }
  bool alike(const Shape& o) const { return sizes == o.sizes && strides == o.strides; }
  bool describes(const at::Tensor& t) const { return t.scalar_type() == dtype && t.sizes() == sizes && t.strides() == strides; }
};

// A Reading is an argument of a Point that is a tensor.
struct Reading {
  int32_t arg;
  int32_t slot;  // -1 for a constant
  Shape shape;
  std::vector<int32_t> buffers;  // of the watch, that it looks at
};

// A Point is a step that may be in a group: a pointwise one, or a reduction over
// the last dimensions of what a group makes.
struct Point {
  int32_t step, overload, slot;
  Shape shape;  // of the result
  int32_t buffer;
  bool direct;  // it can write to planned memory by itself
  int64_t reduces = 0;  // elements at the end that it makes one of, 0 where it is pointwise
  std::vector<Reading> readings;
};

// A Memory is what an operator in a group reads or writes: the first ones are the
// inputs, then come the results, and then scratch.
struct Input {
  int32_t step, overload, arg;  // where it is first read
  int32_t slot;                 // -1 for a constant
  Shape shape;
  bool scalar = false;           // of one element
  std::vector<int64_t> strides;  // over the group's sizes
  int32_t spread = -1;           // the scratch that holds it for lanes, where it is not in step
};

struct Output {
  int32_t slot, step;
  int32_t place = -1;  // of the layout; -1 for a tensor of its own
  Shape shape;
  int64_t per = 1;  // elements of the group for one of it
};

// A Number is the value of an operation on lanes that a tensor of one element has.
struct Number {
  int32_t at;  // the operation
  int32_t input;
};

// A Stage is lanes, or one kernel, or what is done to the nearest float.
struct Stage {
  c10::ScalarType dtype = c10::ScalarType::Undefined;  // of lanes
  std::vector<LaneOp> lanes;
  std::vector<Number> numbers;
  int32_t step = 0, overload = 0;  // of a kernel
  std::vector<int32_t> args;  // memories, -1 for a constant of the step
  std::vector<c10::ScalarType> dtypes;
  int32_t result = 0;
  c10::ScalarType made = c10::ScalarType::Undefined;
  int64_t reduces = 0;               // as of the point
  const Nearest* nearest = nullptr;  // that is done instead of the kernel
  int32_t from = 0;                  // the memory that it reads
  int32_t ops = 0;  // operators of the graph
};

struct Group {
  std::vector<int32_t> steps;  // in order; the last one runs the group
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Stage> stages;
  int32_t scratches = 0;
  std::vector<int64_t> sizes;  // outermost first; results are dense over them
  int64_t width = 0;           // bytes of the largest element
  size_t axis = 0;             // the size that blocks are cut from
  int64_t share = 0;           // of it that blocks are cut from together
  int64_t rows = 0;            // of it in a block
  int64_t inner = 1;           // elements of a row
  int64_t blocks = 0;          // some of which may be empty, at the end
  int64_t threads = 1;         // that do them, each as many, one after the other

  int32_t at() const { return steps.back(); }
  int64_t block() const { return rows * inner; }
};

}  // namespace tfx
