// The key of a shape class: what of its inputs the course of a plan depends on.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "value.h"

namespace tfx {

// describe adds a value to the key of the shape class. A value that is none of
// those that shapes depend on makes no class.
inline bool describe(const c10::IValue& v, std::vector<int64_t>& key) {
  if (v.isTensor()) {
    const at::Tensor& t = v.toTensor();
    if (!t.defined() || t.layout() != c10::kStrided || t.unsafeGetTensorImpl()->is_nested() || t.unsafeGetTensorImpl()->is_python_dispatch()) return false;
    key.push_back(static_cast<int64_t>(t.key_set().raw_repr()));
    key.push_back(static_cast<int64_t>(t.scalar_type()) << 32 | static_cast<int64_t>(t.device().type()) << 16 | t.dim() << 1 | t.is_inference());
    for (const int64_t n : t.sizes()) key.push_back(n);
    for (const int64_t n : t.strides()) key.push_back(n);
    key.push_back(t.requires_grad() << 1 | t.unsafeGetTensorImpl()->is_wrapped_number());
    return true;
  }
  key.push_back(-1);
  if (v.isNone()) return key.push_back(0), true;
  if (v.isInt()) return key.push_back(1), key.push_back(v.toInt()), true;
  if (v.isBool()) return key.push_back(2), key.push_back(v.toBool()), true;
  if (v.isDouble()) return key.push_back(3), key.push_back(static_cast<int64_t>(as_word(v.toDouble()))), true;
  if (v.isCapsule()) return key.push_back(4), true;
  if (v.isTuple() || v.isList()) {
    const auto each = [&](const auto& items) {
      key.push_back(5);
      key.push_back(static_cast<int64_t>(items.size()));
      for (const auto& item : items) {
        if (!describe(item, key)) return false;
      }
      return true;
    };
    return v.isTuple() ? each(v.toTupleRef().elements()) : each(v.toListRef());
  }
  return false;
}

}  // namespace tfx
