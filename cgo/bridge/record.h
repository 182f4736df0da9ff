// Recording: the operators that one thread calls, seen below everything that can
// call one. It is a boxed fallback of a dispatch key that nothing else uses and
// that is switched on for one thread at a time.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <memory>
#include <unordered_set>

#include "describe.h"
#include "error.h"
#include "value.h"

namespace tfx {

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

  // check_read refuses the reading of elements that vary, where this thread records.
  static void check_read(const at::Tensor& t) {
    const Recording* r = current().get();
    if (r != nullptr && !r->reads() && r->derived(t)) refuse("reading elements");
  }

  bool derived(const at::Tensor& t) const { return t.defined() && derived_.count(t.unsafeGetTensorImpl()) != 0; }
  bool reads() const { return (flags_ & TFX_RECORD_READS) != 0; }

  static void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    Recording* r = current().get();
    const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
    if (r == nullptr) return op.redispatchBoxed(below, stack);
    if ((r->flags_ & TFX_RECORD_LEAF) != 0 && op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
      // made of other operators: they are seen, since the key stays on
      return op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
    }
    r->call(op, below, stack);
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

  void call(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack) {
    const size_t nargs = op.schema().arguments().size(), nresults = op.schema().returns().size();
    Event e;
    e.op = op.schema().name();
    if (!op.schema().overload_name().empty()) e.op += "." + op.schema().overload_name();
    bool varies = op.hasTag(at::Tag::nondeterministic_seeded);
    e.args.reserve(nargs);
    for (auto it = stack->end() - static_cast<ptrdiff_t>(nargs); it != stack->end(); ++it) {
      each(*it, [&](const at::Tensor& t) { varies = varies || derived(t); });
      e.args.push_back(argument(*it));
    }
    if (varies && !reads() && op.hasTag(at::Tag::data_dependent_output) && !makesTensor(op)) refuse(e.op);
    {
      c10::impl::ExcludeDispatchKeyGuard whole(kKey);  // and not its parts
      op.redispatchBoxed(below, stack);
    }
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
  std::vector<Event> events_;
  std::vector<at::Tensor> held_;
  std::unordered_set<const c10::TensorImpl*> derived_;
};

// Unseen keeps what the bridge calls for itself out of a recording.
class Unseen {
 public:
  Unseen() : guard_(Recording::kKey) {}

 private:
  c10::impl::ExcludeDispatchKeyGuard guard_;
};

inline int32_t record_start(uint32_t flags, const uint64_t* inputs, uint64_t ninputs, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) {
    // once for the process, since a key has one fallback and we never unload
    static const auto* registered = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerFallback(
        Recording::kKey, c10::KernelFunction::makeFromBoxedFunction<&Recording::fallback>(), "torchfx"));
    (void)registered;
    auto& current = Recording::current();
    if (current != nullptr) throw Fault("bridge: this thread is recording already");
    auto r = std::make_unique<Recording>(flags);
    for (uint64_t i = 0; i < ninputs; i++) r->derive(tensor(inputs[i]));
    current = std::move(r);
    c10::impl::tls_set_dispatch_key_included(Recording::kKey, true);
  });
}

inline int32_t record_stop(uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  c10::impl::tls_set_dispatch_key_included(Recording::kKey, false);
  const std::unique_ptr<Recording> r = std::move(Recording::current());
  return guarded(w, n, o, [&](Writer& out) {
    if (r == nullptr) throw Fault("bridge: this thread is not recording");
    r->write(out);
  });
}

// recording returns how many operators this thread has recorded, -1 where it does not.
inline int64_t recording() noexcept {
  const Recording* r = Recording::current().get();
  return r == nullptr ? -1 : static_cast<int64_t>(r->size());
}

}  // namespace tfx
