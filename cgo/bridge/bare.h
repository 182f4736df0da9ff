// Recording without elements: tensors that say that they are on the CPU, and have
// none. They are those of the device meta under another name, as Python's fake
// tensors are: code that chooses by the device, and libtorch's composite operators
// do, chooses as it would with elements; what they bottom out in is asked of the
// kernels of the device meta.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <unordered_map>
#include <vector>

#include "error.h"

namespace tfx {

// throws is whether a storage throws where its memory is asked for. Releases before 2.15
// can set it and not take it back; an explicit instantiation may name what is private.
bool& throws(c10::StorageImpl& s);
template <bool c10::StorageImpl::*Flag>
struct Throws {
  friend bool& throws(c10::StorageImpl& s) { return s.*Flag; }
};
template struct Throws<&c10::StorageImpl::throw_on_immutable_data_ptr_>;

class Bare {
 public:
  Bare() = default;
  ~Bare() {
    for (const at::Tensor& t : claimed_) name(t, c10::kMeta);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  // claim makes a tensor of the device meta say that it is on the CPU, until this ends.
  void claim(const at::Tensor& t) {
    if (!t.defined() || !plain(t) || !t.is_meta()) return;
    name(t, c10::kCPU);
    claimed_.push_back(t);
  }

  // run calls op, and computes nothing where an argument has no elements. A tensor
  // that has some stands aside for one that has not; what is made of no tensor is made
  // without. Only a number stays one, and so do tensors that are made of such alone.
  template <class F>
  void run(const c10::OperatorHandle& op, torch::jit::Stack* stack, F&& call) {
    const size_t nargs = op.schema().arguments().size(), nresults = op.schema().returns().size();
    std::vector<at::Tensor> named, whole;
    const auto first = [&](size_t n) { return stack->end() - static_cast<ptrdiff_t>(n); };
    for (auto it = first(nargs); it != stack->end(); ++it) {
      each(*it, [&](const at::Tensor& t) {
        if (t.defined()) (claims(t) || t.is_meta() ? named : whole).push_back(t);
        return t;
      });
    }
    if (named.empty() && (!whole.empty() || op.schema().name() == "aten::scalar_tensor")) return call();
    const Unnamed unnamed(named);
    for (size_t i = 0; i < nargs; i++) {
      c10::IValue& v = *(first(nargs) + static_cast<ptrdiff_t>(i));
      const bool device = op.schema().arguments()[i].name() == "device";
      if (v.isDevice() || (device && v.isNone() && named.empty())) v = c10::Device(c10::kMeta);
      v = each(v, [&](const at::Tensor& t) { return bare(t); });
    }
    call();
    std::vector<at::Tensor> made;
    for (auto it = first(nresults); it != stack->end(); ++it) {
      *it = each(*it, [&](const at::Tensor& t) {
        const auto of = t.defined() ? whole_.find(t.unsafeGetTensorImpl()) : whole_.end();
        if (of != whole_.end()) return of->second;  // it was written
        if (t.defined() && t.is_meta() && plain(t)) made.push_back(t);
        return t;
      });
    }
    for (const at::Tensor& t : made) {
      if (!is(named, t)) claim(t);
    }
  }

 private:
  // An Unnamed scope has tensors on the device meta again.
  class Unnamed {
   public:
    explicit Unnamed(const std::vector<at::Tensor>& tensors) {
      for (const at::Tensor& t : tensors) {
        if (!claims(t)) continue;
        name(t, c10::kMeta);
        tensors_.push_back(t);
      }
    }
    ~Unnamed() {
      for (const at::Tensor& t : tensors_) name(t, c10::kCPU);
    }
    Unnamed(const Unnamed&) = delete;
    Unnamed& operator=(const Unnamed&) = delete;

   private:
    std::vector<at::Tensor> tensors_;
  };

  // Impl reaches the device of a tensor.
  struct Impl : c10::TensorImpl {
    static std::optional<c10::Device>& device(c10::TensorImpl* impl) { return impl->*(&Impl::device_opt_); }
  };

  static bool plain(const at::Tensor& t) { return t.layout() == c10::kStrided && t.has_storage(); }

  static bool claims(const at::Tensor& t) { return plain(t) && t.is_cpu() && t.storage().device().is_meta(); }

  static bool is(const std::vector<at::Tensor>& tensors, const at::Tensor& t) {
    for (const at::Tensor& other : tensors) {
      if (other.is_same(t)) return true;
    }
    return false;
  }

  static void name(const at::Tensor& t, c10::DeviceType device) {
    c10::TensorImpl* impl = t.unsafeGetTensorImpl();
    impl->_change_backend_component_keys(device);
    Impl::device(impl) = device;
    close(*t.storage().unsafeGetStorageImpl(), device != c10::kMeta);
  }

  // close makes code fail that reads elements itself, past the dispatcher. Kernels of
  // the device meta do not, but for comparing addresses, which they may.
  static void close(c10::StorageImpl& s, bool on) {
    if (on) {
      s.release_data_and_set_meta_custom_data_ptr_error_msg_("expected a tensor with elements, got one that is recorded without");
    } else {
      throws(s) = false;
    }
  }

  // bare is a tensor without the elements of t.
  at::Tensor bare(const at::Tensor& t) {
    if (!t.defined() || t.is_meta() || !plain(t) || t.unsafeGetTensorImpl()->is_wrapped_number()) return t;
    at::Tensor& made = bare_[t.unsafeGetTensorImpl()];
    if (!made.defined()) {
      made = at::empty_strided(t.sizes(), t.strides(), t.options().device(c10::kMeta));
      whole_[made.unsafeGetTensorImpl()] = t;
    }
    return made;
  }

  // each is v with f of its tensors.
  template <class F>
  static c10::IValue each(const c10::IValue& v, F&& f) {
    if (v.isTensor()) return f(v.toTensor());
    if (v.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : v.toTensorVector()) list.push_back(f(t));
      return list;
    }
    if (v.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& t : v.toOptionalTensorVector()) list.push_back(t.has_value() ? std::optional(f(*t)) : std::nullopt);
      return list;
    }
    return v;
  }

  std::vector<at::Tensor> claimed_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> bare_;   // by what has elements
  std::unordered_map<const c10::TensorImpl*, at::Tensor> whole_;  // and back
};

}  // namespace tfx
