// What there is to know of a tensor without reading it, as words.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tfx {

enum info_flag { kDefined = 1, kRequiresGrad = 2, kConj = 4, kNeg = 8, kInference = 16, kWrapped = 32, kContiguous = 64, kHasStorage = 128, kHasStrides = 256 };

// describe gives word() flags, dtype, device kind and index, layout, offset, number
// of elements, bytes of the storage, dimensions, sizes, and strides where the
// layout has some; for an undefined tensor one word of no flags.
template <class F>
void describe(const at::Tensor& t, F&& word) {
  if (!t.defined()) return word(0);
  const bool strided = t.layout() == c10::kStrided && !t.unsafeGetTensorImpl()->is_nested();
  const bool storage = t.has_storage();
  uint64_t flags = kDefined;
  if (t.requires_grad()) flags |= kRequiresGrad;
  if (t.is_conj()) flags |= kConj;
  if (t.is_neg()) flags |= kNeg;
  if (t.is_inference()) flags |= kInference;
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) flags |= kWrapped;
  if (strided && t.is_contiguous()) flags |= kContiguous;
  if (storage) flags |= kHasStorage;
  if (strided) flags |= kHasStrides;
  const auto sizes = t.sizes();
  word(flags);
  word(static_cast<int64_t>(t.scalar_type()));
  word(static_cast<int64_t>(t.device().type()));
  word(static_cast<int64_t>(t.device().index()));
  word(static_cast<int64_t>(t.layout()));
  word(storage ? t.storage_offset() : 0);
  word(t.numel());
  word(storage ? t.storage().nbytes() : 0);
  word(sizes.size());
  for (const int64_t s : sizes) word(s);
  if (strided) {
    for (const int64_t s : t.strides()) word(s);
  }
}

}  // namespace tfx
