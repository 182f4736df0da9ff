// Which steps may be done in a group with others: what lanes can do, what a kernel
// gives the same bits for in blocks, and what is worth it.
#pragma once

#include <ATen/Parallel.h>
#include <unistd.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "plan.h"

namespace tfx {

// is_number reports whether number (fuserun.h) reads elements of a dtype.
inline bool is_number(c10::ScalarType dtype) {
  return c10::isIntegralType(dtype, true) || dtype == c10::kFloat || dtype == c10::kDouble || dtype == c10::kHalf || dtype == c10::kBFloat16;
}

// exponential reports whether an operation has an exponential in it: lanes have that
// of float alone, and the elements that fill no vector have the C library's.
inline bool exponential(Lane code) { return code == Lane::Sigmoid || code == Lane::Silu; }

// lanes_for is how a step is done on lanes, null where it is not: all that has
// dimensions is of the dtype of the result, float or double, numbers are known,
// and a factor of the second argument is one.
inline const LaneRule* lanes_for(const Overload& o, const Point& p) {
  const LaneRule* const rule = o.lane;
  if (rule == nullptr || (p.shape.dtype != c10::kFloat && (p.shape.dtype != c10::kDouble || exponential(rule->code)))) return nullptr;
  for (const Reading& r : p.readings) {
    if (r.shape.sizes.empty() ? !is_number(r.shape.dtype) : r.shape.dtype != p.shape.dtype) return nullptr;
  }
  if (p.readings.size() != (rule->kind == LaneRule::kBinary ? 2 : 1)) return nullptr;
  if (rule->kind == LaneRule::kBinary) {
    return o.args.size() == 2 || (o.args[2].value.isScalar() && o.args[2].value.toScalar().equal(1)) ? rule : nullptr;
  }
  for (size_t i = 1; i < o.args.size(); i++) {  // of NaN, clamping makes a result of its own
    const c10::IValue& v = o.args[i].value;
    if (!v.isNone() && !(v.isScalar() && !v.toScalar().isComplex() && v.toScalar().to<double>() == v.toScalar().to<double>())) return nullptr;
  }
  return rule;
}

// nearest_for is how a step is done to the nearest float, null where it is not.
inline const Nearest* nearest_for(const Overload& o, const Point& p) {
  if (!p.direct || p.readings.size() != 1 || p.shape.dtype != c10::kFloat || p.readings[0].shape.dtype != c10::kFloat) return nullptr;
  return nearest(o.op->handle.schema().name());
}

// even names the operators whose kernels give the same bits for an element
// wherever it lies, so that blocks and the split between threads do not matter.
inline bool even(const std::string& name) {
  static const std::unordered_set<std::string> all = {
      "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::bitwise_and", "aten::bitwise_or", "aten::bitwise_xor",
      "aten::bitwise_not", "aten::ceil", "aten::floor", "aten::trunc", "aten::round", "aten::sign", "aten::signbit", "aten::isposinf", "aten::isneginf",
      "aten::where",
  };
  return all.count(name) > 0;
}

// fails reports whether an operator can fail for the values of elements: then the
// step that fails has to be known.
inline bool fails(const std::string& name, c10::ScalarType dtype) {
  static const std::unordered_set<std::string> some = {"aten::div", "aten::remainder", "aten::fmod", "aten::pow", "aten::gcd", "aten::lcm",
                                                       "aten::bitwise_left_shift", "aten::bitwise_right_shift"};
  return c10::isIntegralType(dtype, true) && some.count(name) > 0;
}

// is_even is even for a step.
inline bool is_even(const Overload& o, const Point& p) {
  const LaneRule* const lane = lanes_for(o, p);
  if (lane == nullptr) return nearest_for(o, p) != nullptr || even(o.op->handle.schema().name());
  return lane->code != Lane::Maximum && lane->code != Lane::Minimum && !exponential(lane->code);  // which NaN they give
}

inline Lane form(Lane code, LaneForm f) { return static_cast<Lane>(static_cast<uint16_t>(code) + f); }

// straight names the operators whose kernels go through memory as it lies, whatever
// the order of dimensions. Others may look at it: gelu is oneDNN's on contiguous
// tensors alone.
inline bool straight(const std::string& name) {
  static const std::unordered_set<std::string> all = {"aten::sigmoid", "aten::silu", "aten::hardsigmoid", "aten::hardswish", "aten::leaky_relu", "aten::elu",
                                                      "aten::mish", "aten::softplus", "aten::tanh", "aten::exp", "aten::maximum", "aten::minimum"};
  return all.count(name) > 0;
}

inline bool contiguous(const Shape& s) {
  int64_t dense = 1;
  for (size_t d = s.sizes.size(); d-- > 0; dense *= s.sizes[d]) {
    if (s.strides[d] != dense) return false;
  }
  return true;
}

// fuses reports whether a step whose results memory could be planned for may be in
// a group.
inline bool fuses(const Overload& o, const Point& p) {
  if (p.shape.sizes.empty() || fails(o.op->handle.schema().name(), p.shape.dtype)) return false;
  if (!p.direct && lanes_for(o, p) == nullptr) return false;
  const bool anywhere = is_even(o, p);
  if (!anywhere && !straight(o.op->handle.schema().name()) && !contiguous(p.shape)) return false;
  for (const Reading& r : p.readings) {
    const auto &sizes = r.shape.sizes, &of = p.shape.sizes;
    if (sizes.size() > of.size()) return false;
    for (size_t d = 0; d < sizes.size(); d++) {
      if (sizes[d] != 1 && sizes[d] != of[d + of.size() - sizes.size()]) return false;
    }
    if (!anywhere && r.shape.count() != 1 && !r.shape.alike(p.shape)) return false;
  }
  return !p.readings.empty();
}

// reduced is how many elements at the end a reduction makes one of, 0 where it is
// not of the kind that a group can end with: over the last dimensions of contiguous
// floating numbers, to the same dtype.
inline int64_t reduced(const Overload& o, const Point& p) {
  if (!p.direct || p.readings.size() != 1 || p.readings[0].arg != 0 || p.readings[0].shape.dtype != p.shape.dtype || !c10::isFloatingType(p.shape.dtype)) return 0;
  const auto& sizes = p.readings[0].shape.sizes;
  const c10::IValue& dims = o.args[1].value;
  if (o.args[1].kind != Operand::kConstant || !dims.isIntList() || sizes.empty()) return 0;
  const auto rank = static_cast<int64_t>(sizes.size());
  if (!contiguous(p.readings[0].shape)) return 0;
  std::vector<bool> out(sizes.size());
  for (const int64_t d : dims.toIntVector()) out[d < 0 ? d + rank : d] = true;
  int64_t n = 1, d = rank;
  while (d > 0 && out[d - 1]) n *= sizes[--d];
  for (; d > 0; d--) {
    if (out[d - 1]) return 0;
  }
  return n > 1 && n < p.readings[0].shape.count() ? n : 0;
}

// outgrows reports whether tensors do not stay in the last cache from one operator
// to the next. Below that, a kernel in blocks is called more often and saves
// nothing: memory planned for the whole is written over in place, and comes from
// that cache as fast as arithmetic needs it.
inline bool outgrows(const Shape& s) {
  static const int64_t cache = [] {
#ifdef _SC_LEVEL3_CACHE_SIZE
    const int64_t size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (size > 0) return size;
#endif
    return int64_t{16} << 20;
  }();
  return 2 * s.count() * static_cast<int64_t>(c10::elementSize(s.dtype)) > cache;
}

}  // namespace tfx
