// Tensors that are not yet what they stand for, and the layer that they want back
// in a run below autograd.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>

#include "planwatch.h"

namespace tfx {

// WithAutograd puts the layer of autograd back for one call.
class WithAutograd {
 public:
  WithAutograd() : before_(c10::impl::tls_local_dispatch_key_set().excluded_) {
    c10::impl::LocalDispatchKeySet now = c10::impl::tls_local_dispatch_key_set();
    now.excluded_ = now.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    c10::impl::_force_tls_local_dispatch_key_set(now);
  }
  ~WithAutograd() {
    c10::impl::LocalDispatchKeySet now = c10::impl::tls_local_dispatch_key_set();
    now.excluded_ = before_;
    c10::impl::_force_tls_local_dispatch_key_set(now);
  }
  WithAutograd(const WithAutograd&) = delete;
  WithAutograd& operator=(const WithAutograd&) = delete;

 private:
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

inline bool lazy(const torch::jit::Stack& stack) {
  return std::any_of(stack.begin(), stack.end(), [](const c10::IValue& v) { return lazy(v); });
}

}  // namespace tfx
