// The layers that a run below autograd leaves out, and which calls want them back.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>

#include "planwatch.h"

namespace tfx {

// A WithLayers puts layers back for one call: that which notes of what a tensor is a
// view and counts what is written, for operators that return views of their arguments or
// write them, and for composite ones to which something requires gradients: so does a
// view of it inside them, and matmul chooses by that; and for composite operators on
// lazy tensors autograd, too. What other operators do inside, nobody sees.
class WithLayers {
 public:
  static constexpr c10::DispatchKeySet kNone{};
  static constexpr c10::DispatchKeySet kViews{c10::DispatchKey::ADInplaceOrView};
  static constexpr c10::DispatchKeySet kAll = c10::autograd_dispatch_keyset_with_ADInplaceOrView;

  explicit WithLayers(c10::DispatchKeySet layers) : before_(c10::impl::tls_local_dispatch_key_set().excluded_) {
    exclude(before_ - layers);
  }
  ~WithLayers() { exclude(before_); }
  WithLayers(const WithLayers&) = delete;
  WithLayers& operator=(const WithLayers&) = delete;

 private:
  static void exclude(c10::DispatchKeySet keys) {
    c10::impl::LocalDispatchKeySet now = c10::impl::tls_local_dispatch_key_set();
    now.excluded_ = keys;
    c10::impl::_force_tls_local_dispatch_key_set(now);
  }

  const c10::DispatchKeySet before_;
};

// lazy reports whether a tensor among the arguments has its conjugation, sign or
// zeros outstanding. The layers that make them good lie between autograd and the
// kernels: a composite operator, which autograd takes apart, is otherwise given
// copies instead of the tensors, and what should be a view of them is none.
inline bool lazy(const c10::IValue& v) {
  bool found = false;
  visit(v, [&](const at::Tensor& t) {
    found = found || t.key_set().has_any(c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor}));
  });
  return found;
}

// layers_of are the layers that a composite operator wants back for its arguments. Its
// results are memory of their own, or are not known to be.
inline c10::DispatchKeySet layers_of(const torch::jit::Stack& args, bool own) {
  bool differentiable = false;
  for (const c10::IValue& v : args) {
    if (lazy(v)) return WithLayers::kAll;
    if (own) visit(v, [&](const at::Tensor& t) { differentiable = differentiable || t.requires_grad(); });
  }
  return own && !differentiable ? WithLayers::kNone : WithLayers::kViews;
}

}  // namespace tfx
