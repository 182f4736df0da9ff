// Arithmetic on the elements of a block, with the value that goes from one
// operation to the next held in vector registers. lanes.cc is compiled once for
// each instruction set that libtorch has kernels for; which of them runs is
// libtorch's choice, so that this never needs more than it does.
#pragma once

#include <cstdint>

namespace tfx {

// The operations on the accumulator. A binary one stands for five: with memory,
// with a number, with the accumulator itself, with memory on the left, and with the
// memory that is held.
#define TFX_LANE_BINARY(f) f(Add) f(Sub) f(Mul) f(Div) f(Maximum) f(Minimum) f(ClampMin) f(ClampMax)
#define TFX_LANE_UNARY(f) f(Neg) f(Abs) f(Rsqrt) f(Reciprocal)
#define TFX_LANE_EXPONENTIAL(f) f(Sigmoid) f(Silu)

enum class Lane : uint16_t {
  Load,   // from memory
  Splat,  // a number
  Store,  // to memory; the accumulator stays
  Hold,   // memory, in registers where there are enough of them; nothing is stored to it
#define TFX_LANE_NAMES(op) op, op##Number, op##Self, op##Left, op##Held,
  TFX_LANE_BINARY(TFX_LANE_NAMES)
#undef TFX_LANE_NAMES
#define TFX_LANE_NAME(op) op,
  TFX_LANE_UNARY(TFX_LANE_NAME)
  TFX_LANE_EXPONENTIAL(TFX_LANE_NAME)
#undef TFX_LANE_NAME
};

// The forms of a binary operation, to be added to its code.
enum LaneForm : uint16_t { kMemory, kNumber, kSelf, kLeft, kHeld };

struct LaneOp {
  Lane code;
  uint16_t at = 0;    // which memory
  double number = 0;  // exact for both element types
};

// A LaneLoop does code for count elements; memory i begins at mem[i]. Elements of
// different memories are in step, and a memory that is stored to may be one that
// is loaded from. The last ones that do not fill two vectors of AVX2 are done one
// by one, as libtorch's kernels do them.
using LaneLoop = void (*)(const LaneOp* code, int64_t ncode, char* const* mem, int64_t count);

// What a NearestLoop may write behind the places.
constexpr int64_t kNearestSpare = 16;

// A NearestLoop computes a function of n float32 numbers to the nearest float. It returns
// of how many it is in doubt, which are those whose true value is close to the middle
// between two floats, and writes their arguments and places to doubted and at, which have
// room for n, and at for kNearestSpare more. in and out are not the same memory.
using NearestLoop = int64_t (*)(const float* in, float* out, int64_t n, float* doubted, int32_t* at);

struct Lanes {
  LaneLoop f32, f64;
  NearestLoop exp, tanh;  // null where there are none
};

// By capability: the baseline of the platform, AVX2, AVX512. The others are absent
// where the platform has only one.
extern const Lanes lanes_DEFAULT;
extern const Lanes lanes_AVX2;
extern const Lanes lanes_AVX512;

}  // namespace tfx
