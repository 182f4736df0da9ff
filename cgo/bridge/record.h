// Recording: the operators that one thread calls, whatever code calls them.
//
// As they were called they are seen by a boxed fallback of a dispatch key that
// nothing else uses, above all others. What they bottom out in is seen where
// Python's make_fx sees it, below autograd and functionalization: libtorch hands
// operators to the innermost TorchDispatchMode of the thread there, and this is
// one that is not of Python.
#pragma once

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/PyInterpreter.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <memory>
#include <unordered_set>

#include "bare.h"
#include "describe.h"
#include "error.h"
#include "value.h"

namespace tfx {

// A Mode is the stack of dispatch modes of this thread, set for a scope.
class Mode {
 public:
  explicit Mode(c10::impl::TorchDispatchModeTLS inside) : outside_(c10::impl::TorchDispatchModeTLS::get_state()) {
    c10::impl::TorchDispatchModeTLS::set_state(std::move(inside));
  }
  ~Mode() { c10::impl::TorchDispatchModeTLS::set_state(std::move(outside_)); }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;
  const c10::impl::TorchDispatchModeTLS& outside() const { return outside_; }

 private:
  c10::impl::TorchDispatchModeTLS outside_;
};

// A Recording is what one thread has called since it began. It keeps every tensor
// that it saw: an address that comes back would be taken for the same tensor.
class Recording {
 public:
  static constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

  static std::unique_ptr<Recording>& current() {
    static thread_local std::unique_ptr<Recording> r;
    return r;
  }

  explicit Recording(uint32_t flags) : flags_(flags) {}

  // derive says that t depends on what varies from run to run.
  void derive(const at::Tensor& t) {
    if (!t.defined()) return;
    held_.push_back(t);
    derived_.insert(t.unsafeGetTensorImpl());
  }

  // check_read refuses the reading of elements that vary, where this thread records:
  // of these the graph could not check that they are the same.
  static void check_read(const at::Tensor& t) {
    const Recording* r = current().get();
    if (r != nullptr && r->derived(t)) refuse("reading elements");
  }

  bool derived(const at::Tensor& t) const { return t.defined() && derived_.count(t.unsafeGetTensorImpl()) != 0; }
  bool functional() const { return (flags_ & TFX_RECORD_FUNCTIONAL) != 0; }
  bool leaves() const { return (flags_ & TFX_RECORD_LEAF) != 0; }
  bool bare() const { return (flags_ & TFX_RECORD_BARE) != 0; }
  bool reads() const { return (flags_ & TFX_RECORD_READS) != 0; }

  // fallback sees an operator as it was called.
  static void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
    Recording* r = current().get();
    if (r == nullptr) return op.redispatchBoxed(below, stack);
    r->call(op, stack, [&] {
      c10::impl::ExcludeDispatchKeyGuard whole(kKey);  // and not its parts
      op.redispatchBoxed(below, stack);
    });
  }

  // claim makes a tensor without elements say that it is on the CPU.
  void claim(const at::Tensor& t) { without_.claim(t); }

  // leaf sees an operator below autograd. libtorch has excluded the keys above.
  static void leaf(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Mode plain({});
    Recording* r = current().get();
    if (r == nullptr) return op.callBoxed(*stack);
    if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
      Mode again(plain.outside());  // its parts are seen
      return op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
    }
    const auto run = [&] {
      if (!r->bare()) return op.callBoxed(*stack);
      r->without_.run(op, stack, [&] { op.callBoxed(*stack); });
    };
    if (!r->leaves()) return run();  // a part of an operator that was seen
    r->call(op, stack, run);
  }

  size_t size() const { return events_.size(); }

  void write(Writer& out) {
    out.head(TFX_LIST, events_.size());
    for (Event& e : events_) {
      out.head(TFX_TUPLE, 4);
      out.str(e.op);
      out.head(TFX_TUPLE, e.args.size());
      for (auto& v : e.args) out.value(std::move(v));
      out.head(TFX_TUPLE, e.results.size());
      for (auto& v : e.results) out.value(std::move(v));
      out.head(TFX_LIST, e.facts.size());
      for (const auto& f : e.facts) {
        out.head(TFX_INTS, f.size());
        for (const uint64_t i : f) out.word(i);
      }
    }
  }

 private:
  struct Event {
    std::string op;
    std::vector<c10::IValue> args, results;
    std::vector<std::vector<uint64_t>> facts;  // of each tensor in results after the call, as describe gives them
  };

  template <class F>
  void call(const c10::OperatorHandle& op, torch::jit::Stack* stack, F&& run) {
    const size_t nargs = op.schema().arguments().size(), nresults = op.schema().returns().size();
    Event e;
    e.op = op.schema().name();
    if (!op.schema().overload_name().empty()) e.op += "." + op.schema().overload_name();
    bool varies = op.hasTag(at::Tag::nondeterministic_seeded);
    e.args.reserve(nargs);
    for (auto it = stack->end() - static_cast<ptrdiff_t>(nargs); it != stack->end(); ++it) {
      each(*it, [&](const at::Tensor& t) {
        varies = varies || derived(t);
        if (t.defined() && at::functorch::isBatchedTensor(t)) {
          C10_THROW_ERROR(NotImplementedError, e.op + ": expected to be recorded outside vmap, got called under vmap; record what it bottoms out in");
        }
      });
      e.args.push_back(argument(*it));
    }
    if (varies && !reads() && op.hasTag(at::Tag::data_dependent_output) && !makesTensor(op)) refuse(e.op);
    run();
    for (auto it = stack->end() - static_cast<ptrdiff_t>(nresults); it != stack->end(); ++it) {
      each(*it, [&](const at::Tensor& t) {
        if (varies) derive(t);
        auto& words = e.facts.emplace_back();
        if (t.defined() && !t.unsafeGetTensorImpl()->is_nested()) describe(t, [&](uint64_t word) { words.push_back(word); });
      });
      e.results.push_back(*it);
    }
    events_.push_back(std::move(e));
  }

  [[noreturn]] static void refuse(const std::string& what) {
    C10_THROW_ERROR(TypeError, what + ": expected no value to be read while recording, got one that depends on the inputs");
  }

  static bool makesTensor(const c10::OperatorHandle& op) {
    for (const auto& r : op.schema().returns()) {
      if (r.type()->isSubtypeOf(*c10::TensorType::get())) return true;
    }
    return false;
  }

  // argument copies a value; a number that was wrapped into a tensor is the number.
  static c10::IValue argument(const c10::IValue& v) {
    if (v.isTensor() && v.toTensor().defined() && v.toTensor().unsafeGetTensorImpl()->is_wrapped_number() && v.toTensor().is_cpu()) {
      const at::Tensor& t = v.toTensor();
      switch (t.scalar_type()) {
        case c10::kLong: return *t.const_data_ptr<int64_t>();
        case c10::kDouble: return *t.const_data_ptr<double>();
        case c10::kBool: return *t.const_data_ptr<bool>();
        case c10::kComplexDouble: return *t.const_data_ptr<c10::complex<double>>();
        default: break;
      }
    }
    if (v.isList() && !v.isTensorList()) return v.toList().copy();
    return v;
  }

  template <class F>
  static void each(const c10::IValue& v, F&& f) {
    if (v.isTensor()) return f(v.toTensor());
    if (v.isTensorList()) {
      for (const at::Tensor& t : v.toTensorVector()) f(t);
    } else if (v.isList()) {
      for (const c10::IValue& item : v.toListRef()) each(item, f);
    } else if (v.isTuple()) {
      for (const c10::IValue& item : v.toTupleRef().elements()) each(item, f);
    }
  }

  const uint32_t flags_;
  Bare without_;
  std::vector<Event> events_;
  std::vector<at::Tensor> held_;
  std::unordered_set<const c10::TensorImpl*> derived_;
};

// An Interpreter stands where libtorch expects Python's. Only dispatch is ever
// called, since no tensor here has a Python object. There is no override below:
// releases differ in what they ask for.
class Interpreter final : public c10::impl::PyInterpreterVTable {
 public:
  // mode is a stack of one dispatch mode, which hands operators to Recording::leaf.
  static c10::impl::TorchDispatchModeTLS mode() {
    static const auto* vtable = new Interpreter();
    static auto* interpreter = new c10::impl::PyInterpreter(vtable);
    const Mode aside({});
    c10::impl::TorchDispatchModeTLS::push_non_infra_mode_onto_stack(std::make_shared<c10::impl::PyObject_TorchDispatchMode>(nullptr, interpreter));
    return c10::impl::TorchDispatchModeTLS::get_state();
  }

  std::string name() const { return "torchfx"; }
  void dispatch(const c10::OperatorHandle& op, torch::jit::Stack* stack) const { Recording::leaf(op, stack); }

  void incref(PyObject*) const {}
  void decref(PyObject*) const {}
  bool try_incref(const c10::impl::PyObjectSlot&) const { return false; }
  size_t refcnt(PyObject*) const { return 0; }
  void reset_backward_hooks(const at::TensorImpl*) const {}
  void trace_gpu_event_creation(c10::DeviceType, uintptr_t) const {}
  void trace_gpu_event_deletion(c10::DeviceType, uintptr_t) const {}
  void trace_gpu_event_record(c10::DeviceType, uintptr_t, uintptr_t) const {}
  void trace_gpu_event_wait(c10::DeviceType, uintptr_t, uintptr_t) const {}
  void trace_gpu_memory_allocation(c10::DeviceType, uintptr_t) const {}
  void trace_gpu_memory_deallocation(c10::DeviceType, uintptr_t) const {}
  void trace_gpu_stream_creation(c10::DeviceType, uintptr_t) const {}
  void trace_gpu_device_synchronization(c10::DeviceType) const {}
  void trace_gpu_stream_synchronization(c10::DeviceType, uintptr_t) const {}
  void trace_gpu_event_synchronization(c10::DeviceType, uintptr_t) const {}

  // detach is asked for a further tensor of the same memory, by view.dtype say. As
  // for make_fx that is an operator, or what it returns would be known to nobody.
  c10::intrusive_ptr<at::TensorImpl> detach(const at::TensorImpl* self) const {
    static const auto* op = new c10::OperatorHandle(c10::Dispatcher::singleton().findSchemaOrThrow("aten::alias", ""));
    const at::AutoDispatchBelowADInplaceOrView below;
    torch::jit::Stack stack;
    stack.emplace_back(at::Tensor(c10::intrusive_ptr<at::TensorImpl>::unsafe_reclaim_from_nonowning(const_cast<at::TensorImpl*>(self))));
    Recording::leaf(*op, &stack);
    return stack.back().toTensor().getIntrusivePtr();
  }
  void reportErrorCallback(PyObject*, c10::DispatchKey) const { none(); }
  void python_op_registration_trampoline(const c10::OperatorHandle&, c10::DispatchKey, c10::DispatchKeySet, torch::jit::Stack*, bool, bool) const { none(); }
  void throw_abstract_impl_not_imported_error(std::string, const char*, const char*) const { none(); }
  void python_dispatcher(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*) const { none(); }
  bool is_contiguous(const at::TensorImpl*, at::MemoryFormat) const { none(); }
  c10::SymBool sym_is_contiguous(const at::TensorImpl*, at::MemoryFormat) const { none(); }
  bool is_strides_like(const at::TensorImpl*, at::MemoryFormat) const { none(); }
  bool is_non_overlapping_and_dense(const at::TensorImpl*) const { none(); }
  c10::Device device(const at::TensorImpl*) const { none(); }
  int64_t dim(const at::TensorImpl*) const { none(); }
  c10::IntArrayRef strides(const at::TensorImpl*) const { none(); }
  c10::IntArrayRef sizes(const at::TensorImpl*) const { none(); }
  c10::SymIntArrayRef sym_sizes(const at::TensorImpl*) const { none(); }
  c10::Layout layout(const at::TensorImpl*) const { none(); }
  int64_t numel(const at::TensorImpl*) const { none(); }
  c10::SymInt sym_numel(const at::TensorImpl*) const { none(); }
  c10::SymIntArrayRef sym_strides(const at::TensorImpl*) const { none(); }
  c10::SymInt sym_storage_offset(const at::TensorImpl*) const { none(); }

 private:
  [[noreturn]] static void none() { throw Fault("bridge: a tensor with a Python object, where there is no Python"); }
};

// unwrapped is the value that a tensor of a functional recording has now, which has
// no memory of its own, and any other tensor as it is.
inline at::Tensor unwrapped(at::Tensor t) {
  if (!at::functionalization::impl::isFunctionalTensor(t)) return t;
  at::functionalization::impl::sync(t);
  return at::functionalization::impl::from_functional_tensor(t);
}

// Unseen keeps what the bridge calls for itself out of a recording.
class Unseen {
 public:
  Unseen() {
    if (Recording::current() == nullptr) return;
    above_.emplace(c10::DispatchKeySet({Recording::kKey, c10::DispatchKey::Functionalize}));
    leaf_.emplace(c10::impl::TorchDispatchModeTLS());
  }

 private:
  std::optional<c10::impl::ExcludeDispatchKeyGuard> above_;
  std::optional<Mode> leaf_;
};

inline int32_t record_start(uint32_t flags, const uint64_t* inputs, uint64_t ninputs, const uint64_t* bare, uint64_t nbare, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) {
    // once for the process, since a key has one fallback and we never unload
    static const auto* registered = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerFallback(
        Recording::kKey, c10::KernelFunction::makeFromBoxedFunction<&Recording::fallback>(), "torchfx"));
    (void)registered;
    auto& current = Recording::current();
    if (current != nullptr) throw Fault("bridge: this thread is recording already");
    auto r = std::make_unique<Recording>(flags);
    for (uint64_t i = 0; i < ninputs; i++) r->derive(tensor(inputs[i]));
    for (uint64_t i = 0; i < nbare; i++) r->claim(tensor(bare[i]));
    if (flags & TFX_RECORD_FUNCTIONAL) {
      at::functionalization::impl::setFunctionalizationReapplyViewsTLS(true);
      c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::Functionalize, true);
    }
    if (flags & (TFX_RECORD_LEAF | TFX_RECORD_BARE)) c10::impl::TorchDispatchModeTLS::set_state(Interpreter::mode());
    if (!(flags & TFX_RECORD_LEAF)) {
      c10::impl::tls_set_dispatch_key_included(Recording::kKey, true);
    }
    current = std::move(r);
  });
}

inline int32_t record_stop(uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  c10::impl::tls_set_dispatch_key_included(Recording::kKey, false);
  const std::unique_ptr<Recording> r = std::move(Recording::current());
  if (r != nullptr && (r->leaves() || r->bare())) c10::impl::TorchDispatchModeTLS::set_state({});
  if (r != nullptr && r->functional()) {
    c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::Functionalize, false);
    at::functionalization::impl::setFunctionalizationReapplyViewsTLS(false);
  }
  return guarded(w, n, o, [&](Writer& out) {
    if (r == nullptr) throw Fault("bridge: this thread is not recording");
    r->write(out);
  });
}

// functional_wrap makes a tensor that stands for t while a recording is functional:
// what is written into it is a new value of it, and t stays as it is.
inline int32_t functional_wrap(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) { out.tensor(at::functionalization::impl::to_functional_tensor(tensor(t))); });
}

// functional_unwrap returns the value that such a tensor has now, and any other as it is.
inline int32_t functional_unwrap(uint64_t t, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) { out.tensor(unwrapped(tensor(t))); });
}

// recording returns how many operators this thread has recorded, -1 where it does not.
inline int64_t recording() noexcept {
  const Recording* r = Recording::current().get();
  return r == nullptr ? -1 : static_cast<int64_t>(r->size());
}

}  // namespace tfx
