// What a plan does itself with numbers, sizes and containers, as Python does. A
// function that returns false leaves the step to Go.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "tfx.h"

namespace tfx {

// truth_of is 0 or 1, and -1 where Go has to find out.
inline int truth_of(const c10::IValue& v) {
  if (v.isBool()) return v.toBool();
  if (v.isInt()) return v.toInt() != 0;
  if (v.isDouble()) return v.toDouble() != 0;
  if (v.isTensor() && v.toTensor().defined() && v.toTensor().device().is_cpu() && v.toTensor().layout() == c10::kStrided &&
      v.toTensor().scalar_type() == c10::kBool && v.toTensor().numel() == 1) {
    return *static_cast<const bool*>(v.toTensor().const_data_ptr());
  }
  return -1;
}

// compare compares two numbers.
template <class T>
bool compare(uint32_t number, T a, T b, c10::IValue& r) {
  switch (number) {
    case TFX_EQ: r = a == b; break;
    case TFX_NE: r = a != b; break;
    case TFX_LT: r = a < b; break;
    case TFX_LE: r = a <= b; break;
    case TFX_GT: r = a > b; break;
    case TFX_GE: r = a >= b; break;
    default: return false;
  }
  return true;
}

inline bool integers(uint32_t number, int64_t a, int64_t b, c10::IValue& result) {
  int64_t r = 0;
  switch (number) {
    case TFX_ADD: if (__builtin_add_overflow(a, b, &r)) return false; break;
    case TFX_SUB: if (__builtin_sub_overflow(a, b, &r)) return false; break;
    case TFX_MUL: if (__builtin_mul_overflow(a, b, &r)) return false; break;
    case TFX_FLOORDIV:
      if (b == 0 || (a == INT64_MIN && b == -1)) return false;
      r = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
      break;
    case TFX_MOD:
      if (b == 0 || b == -1) return false;
      r = a % b;
      if (r != 0 && ((r < 0) != (b < 0))) r += b;
      break;
    case TFX_MAX: r = std::max(a, b); break;
    case TFX_MIN: r = std::min(a, b); break;
    default: return compare(number, a, b, result);
  }
  result = r;
  return true;
}

inline bool floats(uint32_t number, double a, double b, c10::IValue& result) {
  double r = 0;
  switch (number) {
    case TFX_ADD: r = a + b; break;
    case TFX_SUB: r = a - b; break;
    case TFX_MUL: r = a * b; break;
    case TFX_DIV:
      if (b == 0) return false;
      r = a / b;
      break;
    case TFX_FLOORDIV:
    case TFX_MOD:
    case TFX_MAX:
    case TFX_MIN: return false;
    default: return compare(number, a, b, result);
  }
  result = r;
  return true;
}

// arithmetic is Python's on two integers, or on two floats where that is the
// machine's. What would not fit, or fail, is left to Go.
inline bool arithmetic(uint32_t number, const c10::IValue& a, const c10::IValue& b, c10::IValue& result) {
  if (a.isInt() && b.isInt()) return integers(number, a.toInt(), b.toInt(), result);
  if ((a.isDouble() && (b.isDouble() || b.isInt())) || (a.isInt() && b.isDouble())) {
    constexpr int64_t kExact = int64_t{1} << 53;
    for (const c10::IValue* v : {&a, &b}) {
      if (v->isInt() && (v->toInt() > kExact || v->toInt() < -kExact)) return false;
    }
    return floats(number, a.isInt() ? static_cast<double>(a.toInt()) : a.toDouble(), b.isInt() ? static_cast<double>(b.toInt()) : b.toDouble(), result);
  }
  return false;
}

// fact reads the shape, a number or, with a dimension, a size or stride of a tensor.
inline bool fact(uint32_t what, const c10::IValue& v, const c10::IValue* dimension, c10::IValue& result) {
  if (!v.isTensor() || v.toTensor().unsafeGetTensorImpl()->is_nested()) return false;
  const at::Tensor& t = v.toTensor();
  switch (what) {
    case TFX_DIMS: result = t.dim(); return true;
    case TFX_NUMEL: result = t.numel(); return true;
    case TFX_OFFSET:
      if (!t.has_storage()) return false;
      result = t.storage_offset();
      return true;
    case TFX_SHAPE: {
      std::vector<c10::IValue> items;
      for (const int64_t n : t.sizes()) items.emplace_back(n);
      result = c10::ivalue::Tuple::create(std::move(items));
      return true;
    }
  }
  if (dimension == nullptr || t.layout() != c10::kStrided || !dimension->isInt()) return false;
  int64_t dim = dimension->toInt();
  if (dim < 0) dim += t.dim();
  if (dim < 0 || dim >= t.dim()) return false;
  result = what == TFX_SIZE ? t.size(dim) : t.stride(dim);
  return true;
}

// item is container[index].
inline bool item(const c10::IValue& v, const c10::IValue& index, c10::IValue& result) {
  if (!index.isInt() || !(v.isTuple() || v.isList())) return false;
  const int64_t n = v.isTuple() ? static_cast<int64_t>(v.toTupleRef().elements().size()) : static_cast<int64_t>(v.toListRef().size());
  int64_t i = index.toInt();
  if (i < 0) i += n;
  if (i < 0 || i >= n) return false;
  result = v.isTuple() ? v.toTupleRef().elements()[i] : v.toListRef()[i];
  return true;
}

}  // namespace tfx
