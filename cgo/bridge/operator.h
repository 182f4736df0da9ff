// Operators: found by name, called boxed.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "error.h"
#include "lists.h"
#include "meta.h"
#include "mode.h"
#include "value.h"

namespace tfx {

// An Op is an operator that was found. It is never freed: libraries are not
// unloaded, and the program keeps what it resolved.
struct Op {
  explicit Op(c10::OperatorHandle h) : handle(h), torchs(h.schema().getNamespace() == "aten"), passed_on(torchs && passes(h)), lists_tensors(lists(h)) {
    for (const auto& a : handle.schema().arguments()) types.push_back(a.real_type());
  }

  c10::OperatorHandle handle;
  std::vector<c10::TypePtr> types;
  const bool torchs;  // of PyTorch itself
  // Whether autograd's layer does nothing else, where no gradients are recorded, than
  // to pass a call on to the layers below. Of operators of PyTorch's own it does
  // more for those that make views or write, which it counts, and for those that are
  // made of others it is gone through by each of these.
  const bool passed_on;
  const bool lists_tensors;  // it returns one list of tensors, and nothing else

 private:
  static bool lists(const c10::OperatorHandle& h) {
    const auto& returns = h.schema().returns();
    return returns.size() == 1 && returns[0].real_type()->kind() == c10::TypeKind::ListType && returns[0].real_type()->containedTypes()[0]->kind() == c10::TypeKind::TensorType;
  }

  static bool passes(const c10::OperatorHandle& h) {
    const auto& schema = h.schema();
    if (h.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) && !ends_in_kernel(schema.name().substr(std::string_view("aten::").size()))) return false;
    for (const auto& a : schema.arguments()) {
      const c10::Type& type = a.real_type()->kind() == c10::TypeKind::OptionalType ? *a.real_type()->containedTypes()[0] : *a.real_type();
      if (a.alias_info() != nullptr || type.kind() == c10::TypeKind::ListType && !numbers(type)) return false;
    }
    for (const auto& r : schema.returns()) {
      if (r.alias_info() != nullptr) return false;
    }
    return true;
  }

  // ends_in_kernel reports whether an operator that is made of others returns what a
  // kernel of one of them has made, and writes to nothing: then nobody sees that the
  // views it took on the way were not counted. A rule cannot tell: atleast_1d has the
  // schema of relu, and returns its argument. A test compares these with PyTorch's way.
  static bool ends_in_kernel(const std::string& name) {
    static constexpr std::string_view all[] = {
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "batch_norm", "layer_norm", "softmax", "log_softmax",
        "linalg_det", "linalg_eigh", "linalg_svd", "linalg_inv", "linalg_cholesky", "linalg_solve", "fft_fft", "fft_ifft", "fft_rfft", "fft_irfft",
    };
    return std::find(std::begin(all), std::end(all), name) != std::end(all);
  }

  // numbers reports whether a list holds no tensors: those would have to be looked
  // at one by one, see ordinary.
  static bool numbers(const c10::Type& list) {
    switch (list.containedTypes()[0]->kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
      case c10::TypeKind::FloatType:
      case c10::TypeKind::BoolType: return true;
      default: return false;
    }
  }
};

// Tag names by number. Releases differ in which tags they have, and C++ cannot
// ask an enum for its names: a tag that is not there fails to substitute.
class Tags {
 public:
  static const char* name(at::Tag t) {
    static const Tags all;
    const auto i = static_cast<size_t>(t);
    return i < kMost && all.names_[i] != nullptr ? all.names_[i] : "unknown";
  }

 private:
  static constexpr size_t kMost = 64;
  const char* names_[kMost] = {};

#define TFX_TAG(n)                                                                                \
  template <class T, T v = T::n>                                                                  \
  void put_##n(int) { names_[static_cast<size_t>(v)] = #n; }                                      \
  template <class T>                                                                              \
  void put_##n(...) {}
#define TFX_TAGS(X)                                                                               \
  X(core) X(cudagraph_unsafe) X(data_dependent_output) X(dynamic_output_shape) X(flexible_layout) \
  X(generated) X(inplace) X(inplace_view) X(maybe_aliasing_or_mutating)                           \
  X(needs_contiguous_strides) X(needs_exact_strides) X(needs_fixed_stride_order)                  \
  X(nondeterministic_bitwise) X(nondeterministic_seeded) X(out) X(out_variant) X(pointwise)       \
  X(pt2_compliant_tag) X(reduction) X(view_copy)
  TFX_TAGS(TFX_TAG)

  Tags() {
#define TFX_PUT(n) put_##n<at::Tag>(0);
    TFX_TAGS(TFX_PUT)
#undef TFX_PUT
  }
#undef TFX_TAG
#undef TFX_TAGS
};

inline void describe(const c10::OperatorHandle& h, std::string& schema, std::string& tags) {
  std::ostringstream text;
  text << h.schema();
  schema = text.str();
  tags.clear();
  for (const at::Tag t : h.getTags()) {
    if (!tags.empty()) tags += ',';
    tags += Tags::name(t);
  }
}

inline int32_t find(const char* name, uint64_t len, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    static std::mutex mu;
    static auto* found = new std::unordered_map<std::string, Op*>();
    const std::string full(name, len);
    const size_t colons = full.find("::");
    const size_t dot = full.find('.', colons == std::string::npos ? 0 : colons);
    const c10::OperatorName op(full.substr(0, dot), dot == std::string::npos ? "" : full.substr(dot + 1));
    const auto handle = c10::Dispatcher::singleton().findSchema(op);
    if (!handle.has_value()) return out.head(TFX_NONE);
    Op* slot;
    {
      std::lock_guard<std::mutex> lock(mu);
      auto& entry = (*found)[full];
      if (entry == nullptr) entry = new Op(*handle);
      slot = entry;
    }
    std::string schema, tags;
    describe(*handle, schema, tags);
    out.head(TFX_INT);
    out.word(reinterpret_cast<uint64_t>(slot));
    out.str(schema);
    out.str(tags);
  });
}

inline int32_t list(uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    std::string all, schema, tags;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
      const auto handle = c10::Dispatcher::singleton().findSchema(name);
      if (!handle.has_value()) continue;
      describe(*handle, schema, tags);
      all.append(schema).append("\t").append(tags).append("\n");
    }
    out.str(all);
  });
}

inline int32_t has_kernel(uint64_t op, int32_t device_kind) noexcept {
  try {
    c10::DispatchKey key;
    switch (static_cast<c10::DeviceType>(device_kind)) {
      case c10::DeviceType::CPU: key = c10::DispatchKey::CPU; break;
      case c10::DeviceType::CUDA: key = c10::DispatchKey::CUDA; break;
      case c10::DeviceType::Meta: key = c10::DispatchKey::Meta; break;
      case c10::DeviceType::MPS: key = c10::DispatchKey::MPS; break;
      case c10::DeviceType::XPU: key = c10::DispatchKey::XPU; break;
      case c10::DeviceType::XLA: key = c10::DispatchKey::XLA; break;
      case c10::DeviceType::HPU: key = c10::DispatchKey::HPU; break;
      case c10::DeviceType::MTIA: key = c10::DispatchKey::MTIA; break;
      case c10::DeviceType::PrivateUse1: key = c10::DispatchKey::PrivateUse1; break;
      default: return 0;
    }
    const auto& handle = reinterpret_cast<const Op*>(op)->handle;
    if (key == c10::DispatchKey::Meta) return meta::Table::answers(handle);
    return handle.hasComputedKernelForDispatchKey(key);
  } catch (...) {
    return 0;
  }
}

// A Thread is what calls on one thread use again and again. It is looked up once a
// call, since that goes through a function.
struct Thread {
  Thread() : one(at::get_num_threads() == 1) { watch_warnings(); }

  static Thread& current() {
    static thread_local Thread t;
    return t;
  }

  torch::jit::Stack stack;
  bool busy = false;
  // Whether kernels use one thread when called from this one. Whatever sets another
  // number here gives this one back, but for operators that are not PyTorch's.
  const bool one;
  Lists lists;
};

// A Stack borrows the thread's argument stack and leaves it empty, also when the
// operator throws. A call inside a call, from a custom operator, gets its own.
class Stack {
 public:
  explicit Stack(Thread& t) : thread_(t), mine_(!t.busy) {
    if (mine_) t.busy = true;
  }
  ~Stack() {
    if (!mine_) return;
    thread_.stack.clear();
    thread_.lists.end();
    thread_.busy = false;
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  torch::jit::Stack& operator*() { return mine_ ? thread_.stack : own_.emplace(); }

 private:
  Thread& thread_;
  std::optional<torch::jit::Stack> own_;
  const bool mine_;
};

// ordinary reports whether the dispatcher would go from the tensors among the
// arguments to autograd's layer first, and from there to the backend's kernel: the
// thread is in no mode, and no tensor is batched, lazy, sparse, or carries a tangent.
inline bool ordinary(const torch::jit::Stack& stack) {
  // autocast's keys are in every tensor, and outside its regions left out by the thread
  const uint64_t known = (c10::DispatchKeySet({c10::DispatchKey::Dense}) | c10::autograd_dispatch_keyset_with_ADInplaceOrView |
      c10::default_excluded_set).raw_repr() | ((1ULL << c10::num_backends) - 1);
  const c10::impl::LocalDispatchKeySet here = c10::impl::tls_local_dispatch_key_set();
  if (!(here.included_ == c10::default_included_set) || !(here.excluded_ == c10::default_excluded_set)) return false;
  bool any = false;
  for (const c10::IValue& v : stack) {
    if (!v.isTensor()) continue;
    const c10::TensorImpl* t = v.unsafeToTensorImpl();
    if ((t->key_set().raw_repr() & ~known) != 0 || t->autograd_meta() != nullptr && v.toTensor()._fw_grad(0).defined()) return false;
    any = true;
  }
  return any;
}

// Below leaves autograd's layer out of one call on a thread that is in no mode: what
// c10::ExcludeDispatchKeyGuard does, without a call into another library.
class Below {
 public:
  Below() { here_.set_excluded(c10::default_excluded_set | c10::autograd_dispatch_keyset_with_ADInplaceOrView); }
  ~Below() { here_.set_excluded(c10::default_excluded_set); }
  Below(const Below&) = delete;
  Below& operator=(const Below&) = delete;

 private:
  c10::impl::PODLocalDispatchKeySet& here_ = c10::impl::raw_local_dispatch_key_set;
};

// call_usual calls an operator in the default mode.
inline void call_usual(const Thread& here, const Op& op, torch::jit::Stack& stack) {
  const Grad grad(false);
  std::optional<Threads> threads;
  if (!here.one || !op.torchs) threads.emplace(1);
  std::optional<Below> below;
  if (op.passed_on && ordinary(stack)) below.emplace();
  op.handle.callBoxed(stack);
}

inline int32_t call(uint64_t handle, const tfx_mode* m, const uint64_t* args, uint64_t nargs, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const Op& op = *reinterpret_cast<const Op*>(handle);
    Thread& here = Thread::current();
    Stack borrowed(here);
    torch::jit::Stack& stack = *borrowed;
    Reader in(args, nargs);
    for (const auto& type : op.types) stack.push_back(in.value(*type));
    // The dispatcher reads the tensors on the stack before it checks anything: a
    // stack of another length would be undefined behaviour.
    if (!in.done()) throw Fault("bridge: more arguments than the schema has");
    if (m != nullptr) {
      Scope scope(m);
      op.handle.callBoxed(stack);
    } else {
      call_usual(here, op, stack);
    }
    for (auto& v : stack) out.value(std::move(v));
  });
}

inline int32_t open_library(const char* path, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) {
    watch_warnings();
    if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == nullptr) throw std::runtime_error(dlerror());
  });
}

}  // namespace tfx
