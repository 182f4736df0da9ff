// Running plans: one frame a run, one crossing a segment.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/scalar_tensor.h>

#include <atomic>

#include "error.h"
#include "fuserun.h"
#include "mode.h"
#include "plan.h"

namespace tfx {

// A Frame is the state of one run of a plan, reused for the next one.
struct Frame {
  explicit Frame(std::shared_ptr<const Plan> p) : plan(std::move(p)), slots(plan->slots) { stack.reserve(64); }

  // clear empties the frame after a run, also one that was given up half-way.
  void clear() {
    const Layout* const l = block.layout();
    for (int32_t s = 0; s < plan->slots; s++) {
      if (l == nullptr || !l->held[s]) slots[s] = c10::IValue();
    }
    stack.clear();
    regions.clear();
    for (GroupRun& g : groups) g.clear();
    watch.reset();
    at = 0;
    stop.store(0, std::memory_order_relaxed);
  }

  const std::shared_ptr<const Plan> plan;
  std::vector<c10::IValue> slots;
  torch::jit::Stack stack;
  std::vector<int64_t> regions;  // the modes that are entered
  Block block;
  std::vector<GroupRun> groups;  // of the block's layout
  std::unique_ptr<Watch> watch;  // in the first run of a shape class
  std::vector<int64_t> key;      // scratch
  int64_t at = 0;                // the step to run next
  int32_t overload = 0;          // the last one that was called
  std::atomic<int32_t> stop{0};
};

// A Runner runs a frame up to its end or to a step that Go does.
class Runner {
 public:
  explicit Runner(Frame& f) : f_(f), plan_(*f.plan) {}

  // start chooses the memory by the shapes of the inputs.
  void start() {
    f_.key.assign(1, at::get_num_threads());  // groups end where kernels split their work
    bool ok = true;
    for (const int32_t s : plan_.inputs) ok = ok && describe(f_.slots[s]);
    const Layout* now = f_.block.layout();
    if (now != nullptr && ok && now->key == f_.key && lasting(*now)) return;
    if (now != nullptr) {
      for (const Place& p : now->places) f_.slots[p.slot] = c10::IValue();
      f_.groups.clear();
      f_.block.leave();
    }
    if (!ok) return;
    auto known = const_cast<Plan&>(plan_).layouts.find(f_.key);
    if (known != nullptr && !lasting(*known)) return;
    if (known == nullptr) {
      f_.watch = std::make_unique<Watch>(plan_.steps.size(), plan_.slots);
      for (const int32_t s : plan_.inputs) {
        f_.watch->put(0, s, f_.slots[s]);
        f_.watch->escape(f_.slots[s]);
      }
      return;
    }
    f_.groups = std::vector<GroupRun>(known->groups.size());
    f_.block.use(std::move(known));
    const auto& places = f_.block.layout()->places;
    for (size_t i = 0; i < places.size(); i++) f_.slots[places[i].slot] = f_.block.tensors()[i];
  }

  // run returns why it stopped.
  tfx_stop run() {
    for (const int64_t r : f_.regions) enter(r);
    const Layout* const layout = f_.block.layout();
    for (;; f_.at++) {
      if (f_.stop.load(std::memory_order_relaxed) != 0) return TFX_STOP_CANCELLED;
      const Step& s = plan_.steps[f_.at];
      bool ok = true;
      switch (s.code) {
        case TFX_STEP_CALL:
          if (layout != nullptr && layout->choices[f_.at].group >= 0) {
            grouped(layout->choices[f_.at].group);
          } else if (layout != nullptr && layout->choices[f_.at].place >= 0) {
            ok = into(s, layout->choices[f_.at]);
          } else {
            ok = (s.number != 0 && arithmetic(s)) || call(s);
          }
          break;
        case TFX_STEP_MOVE:
          for (size_t i = 0; i < s.results.size(); i++) move(s.results[i], s.operands[i]);
          break;
        case TFX_STEP_JUMP: release(s); f_.at = s.target - 1; continue;
        case TFX_STEP_UNLESS: {
          const int truth = truth_of(get(s.operands[0]));
          if (truth < 0) return TFX_STOP_GO;
          release(s);
          if (truth == 0) f_.at = s.target - 1;
          continue;
        }
        case TFX_STEP_SIZE: ok = size(s); break;
        case TFX_STEP_ITEM: ok = item(s); break;
        case TFX_STEP_ENTER:
          f_.regions.push_back(s.target);
          enter(s.target);
          break;
        case TFX_STEP_LEAVE:
          f_.regions.pop_back();
          scopes_.pop_back();
          break;
        case TFX_STEP_GO: return TFX_STOP_GO;
        case TFX_STEP_DONE: return TFX_STOP_DONE;
      }
      if (!ok) return TFX_STOP_GO;
      if (!s.frees.empty()) release(s);
    }
  }

  // resume puts the result of a step that Go has done into its slot and goes on
  // behind it. What Go was given, it may have kept.
  void resume() {
    const Step& s = plan_.steps[f_.at];
    if (f_.watch) {
      for (const int32_t g : s.slots) f_.watch->escape(f_.slots[g]);
      each_slot(s, [&](int32_t g) { f_.watch->escape(f_.slots[g]); });
      for (const int32_t r : s.results) {
        f_.watch->put(at(), r, f_.slots[r]);
        f_.watch->escape(f_.slots[r]);
      }
    }
    const bool jumps = s.code == TFX_STEP_UNLESS && truth_of(f_.slots[s.results[0]]) == 0;
    release(s);
    f_.at = jumps ? s.target : f_.at + 1;
  }

  // finish ends a run that is done: of the first one of a shape class, the memory
  // is planned.
  void finish() {
    if (!f_.watch) return;
    std::vector<Group> groups;
    if (plan_.fusion != Fusion::kNone) groups = Fuser(plan_, f_.watch->points()).groups();
    const_cast<Plan&>(plan_).layouts.add(f_.watch->layout(f_.key, std::move(groups)));
    f_.watch.reset();
  }

  // each_slot calls f with the slots that a step reads.
  template <class F>
  static void each_slot(const Step& s, F&& f) {
    const auto walk = [&](const auto& self, const std::vector<Operand>& list) -> void {
      for (const Operand& o : list) {
        if (o.kind == Operand::kSlot) f(o.slot);
        if (o.kind == Operand::kList) self(self, *o.items);
      }
    };
    walk(walk, s.operands);
    for (const Overload& o : s.overloads) walk(walk, o.args);
  }

 private:
  enum Match { kYes, kNo, kAsk };  // kAsk: Python might take it, in a way that is left to Go

  int32_t at() const { return static_cast<int32_t>(f_.at); }

  void enter(int64_t mode) { scopes_.push_back(std::make_unique<Scope>(&plan_.modes[mode])); }

  const c10::IValue& get(const Operand& o) const { return o.kind == Operand::kSlot ? f_.slots[o.slot] : o.value; }

  // call tries the overloads in order, as Python does.
  bool call(const Step& s) {
    torch::jit::Stack& stack = f_.stack;
    for (size_t i = 0; i < s.overloads.size(); i++) {
      const Overload& o = s.overloads[i];
      stack.clear();
      Match m = kYes;
      for (const Operand& a : o.args) {
        m = push(a, o.python);
        if (m != kYes) break;
      }
      if (m == kNo) continue;
      if (m == kAsk) break;
      std::vector<at::Tensor> args;
      f_.overload = static_cast<int32_t>(i);
      if (f_.watch) {
        f_.watch->choose(at(), static_cast<int32_t>(i));
        for (const c10::IValue& v : stack) visit(v, [&](const at::Tensor& t) { args.push_back(t); });
      }
      if (o.composite && plan_.below_autograd && lazy(stack)) {
        WithAutograd above;
        o.op->handle.callBoxed(stack);
      } else {
        o.op->handle.callBoxed(stack);
      }
      if (stack.size() < s.results.size()) throw Fault("bridge: an operator returned too little");
      for (size_t r = 0; r < s.results.size(); r++) set(s.results[r], s.tuples ? tuple(std::move(stack[r])) : std::move(stack[r]));
      stack.clear();
      if (f_.watch) observe(s, o, args);
      return true;
    }
    stack.clear();
    return false;
  }

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
  static bool lazy(const torch::jit::Stack& stack) {
    bool found = false;
    for (const c10::IValue& v : stack) {
      visit(v, [&](const at::Tensor& t) {
        found = found || t.key_set().has_any(c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor}));
      });
    }
    return found;
  }

  // tuple makes a tuple of a list of tensors.
  static c10::IValue tuple(c10::IValue&& v) {
    if (!v.isTensorList()) return std::move(v);
    std::vector<c10::IValue> items;
    for (at::Tensor& t : v.toTensorVector()) items.emplace_back(std::move(t));
    return c10::ivalue::Tuple::create(std::move(items));
  }

  // into calls the form of the operator that writes to planned memory. The slots
  // of its results hold the tensors there already.
  bool into(const Step& s, const Choice& c) {
    const Overload& o = s.overloads[c.overload];
    torch::jit::Stack& stack = f_.stack;
    for (const Operand& a : o.args) {
      if (a.kind == Operand::kConstant) {
        stack.push_back(a.value);
      } else if (a.want == Want::kTensor && a.kind == Operand::kSlot && f_.slots[a.slot].isTensor()) {
        stack.push_back(f_.slots[a.slot]);
      } else if (push(a, o.python) != kYes) {
        stack.clear();
        return false;
      }
    }
    for (const int32_t r : s.results) stack.push_back(f_.slots[r]);
    f_.overload = c.overload;
    o.kernel->callBoxed(o.out->handle, c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    stack.clear();
    return true;
  }

  // lasting reports whether the constants that groups read still are as they were
  // when the groups were formed.
  bool lasting(const Layout& l) const {
    for (const Group& g : l.groups) {
      for (const Input& i : g.inputs) {
        if (i.slot < 0 && !i.shape.describes(plan_.steps[i.step].overloads[i.overload].args[i.arg].value.toTensor())) return false;
      }
    }
    return true;
  }

  // grouped does what a step of a group is to do at its place: take what it reads,
  // and run the group if it is the last one.
  void grouped(int32_t index) {
    const Group& g = f_.block.layout()->groups[index];
    GroupRun& run = f_.groups[index];
    run.take(plan_, g, f_.slots, at());
    if (at() != g.at()) return;
    std::vector<at::Tensor> out;
    for (const Output& o : g.outputs) {
      out.push_back(o.place >= 0 ? f_.slots[o.slot].toTensor() : at::empty_strided(o.shape.sizes, o.shape.strides, o.shape.dtype));
    }
    run.run(plan_, g, out, f_.stack, f_.stop);
    for (size_t i = 0; i < out.size(); i++) {
      if (g.outputs[i].place < 0) set(g.outputs[i].slot, std::move(out[i]));
    }
  }

  // note tells the watch of a step that may be in a group.
  void note(const Step& s, const Overload& o, bool direct) {
    Point p{at(), f_.overload, s.results[0], Shape(f_.slots[s.results[0]].toTensor()), -1, direct, 0, {}};
    for (size_t i = 0; i < o.args.size(); i++) {
      const Operand& a = o.args[i];
      if (a.kind == Operand::kList) return;
      const c10::IValue& v = get(a);
      if (v.isTensor()) {
        p.readings.push_back({static_cast<int32_t>(i), a.kind == Operand::kSlot ? a.slot : -1, Shape(v.toTensor()), {}});
      } else if (a.kind == Operand::kSlot) {
        return;
      }
    }
    if (o.reduces) {
      if ((p.reduces = reduced(o, p)) != 0) f_.watch->point(std::move(p));
    } else if (fuses(o, p)) {
      f_.watch->point(std::move(p));
    }
  }

  // observe tells the watch what a call did.
  void observe(const Step& s, const Overload& o, const std::vector<at::Tensor>& args) {
    Watch& w = *f_.watch;
    bool planned = s.plain && !s.results.empty();
    bool hidden = s.opaque;
    for (const int32_t r : s.results) {
      visit(f_.slots[r], [&](const at::Tensor& t) { hidden = hidden || !t.has_storage(); });
      planned = planned && f_.slots[r].isTensor() && own(f_.slots[r].toTensor()) && !plan_.pinned[r];
    }
    for (const at::Tensor& t : args) {
      planned = planned && t.defined() && ordinary(t);
      if (hidden) w.escape(t);
    }
    for (const int32_t r : s.written) w.escape(f_.slots[r]);
    for (const int32_t r : s.results) {
      w.put(at(), r, f_.slots[r]);
      if (plan_.pinned[r]) w.escape(f_.slots[r]);
    }
    const bool single = s.results.size() == 1;
    const bool alone = planned && o.out != nullptr;
    const bool together = planned && plan_.fusion != Fusion::kNone && (o.pointwise || o.reduces) && single && !hidden && !o.composite && s.written.empty() && (alone || o.lane != nullptr);
    if (alone || together) w.results(at(), s.results, f_.slots, s.pointwise && single, s.frees, args);
    if (together && w.planned(s.results[0])) note(s, o, alone);
    if (!alone && together && !w.noted(at())) w.withdraw(s.results[0]);
  }

  // own reports whether t is ordinary memory that nothing else refers to.
  static bool own(const at::Tensor& t) {
    return t.defined() && plain(t) && t.use_count() == 1 && t.unsafeGetTensorImpl()->unsafe_storage().use_count() == 1 && t.numel() > 0;
  }

  // set stores a result. An undefined tensor is None, as it is for Go.
  void set(int32_t slot, c10::IValue&& v) {
    if (f_.watch) f_.watch->drop(at(), slot);
    if (v.isTensor() && !v.toTensor().defined()) {
      f_.slots[slot] = c10::IValue();
    } else {
      f_.slots[slot] = std::move(v);
    }
  }

  void move(int32_t to, const Operand& from) {
    set(to, c10::IValue(get(from)));
    if (!f_.watch) return;
    f_.watch->put(at(), to, f_.slots[to]);
    if (plan_.pinned[to]) f_.watch->escape(f_.slots[to]);
  }

  void release(const Step& s) {
    const Layout* const l = f_.block.layout();
    for (const int32_t slot : s.frees) {
      if (l != nullptr && l->held[slot]) continue;
      f_.slots[slot] = c10::IValue();
      if (f_.watch) f_.watch->drop(at(), slot);
    }
  }

  // push puts one argument on the stack.
  Match push(const Operand& a, bool python) {
    switch (a.kind) {
      case Operand::kConstant: f_.stack.push_back(a.value); return kYes;
      case Operand::kSlot: return push(a, f_.slots[a.slot], python);
      case Operand::kList: return push_items(a, a.items->size(), [&](size_t i) -> const c10::IValue& { return get((*a.items)[i]); });
    }
    return kAsk;
  }

  Match push(const Operand& a, const c10::IValue& v, bool python) {
    torch::jit::Stack& s = f_.stack;
    const auto give = [&](bool ok) {
      if (!ok) return v.isCapsule() || v.isTensor() || !python ? kAsk : kNo;
      s.push_back(v);
      return kYes;
    };
    if (v.isNone()) return a.optional ? give(true) : give(false);
    switch (a.want) {
      case Want::kTensor: {
        if (v.isTensor()) return give(true);
        if (v.isCapsule()) return kAsk;
        if (!v.isScalar()) return give(false);
        if (a.strict) return kNo;
        s.push_back(wrapped(v.toScalar()));
        return kYes;
      }
      case Want::kInt: return give(v.isInt());
      case Want::kFloat:
        if (v.isBool()) return kAsk;
        if (v.isInt()) {
          s.push_back(static_cast<double>(v.toInt()));
          return kYes;
        }
        return give(v.isDouble());
      case Want::kBool: return give(v.isBool());
      case Want::kNumber:
        if (a.strict && v.isTensor()) return kNo;
        return give(v.isScalar() && !v.isTensor());
      case Want::kString: return give(v.isString());
      case Want::kDevice: return give(v.isDevice());
      case Want::kTensors:
        if (v.isTensorList()) return give(true);
        return v.isList() || v.isTuple() ? list_of(a, v) : give(false);
      case Want::kOptionalTensors: return v.isList() || v.isTuple() ? list_of(a, v) : give(false);
      case Want::kInts:
        if (v.isIntList()) return give(a.fixed <= 1 || static_cast<int64_t>(v.toListRef().size()) == a.fixed);
        return v.isList() || v.isTuple() ? list_of(a, v) : kAsk;
      case Want::kFloats: return give(v.isDoubleList());
      case Want::kBools: return give(v.isBoolList());
      case Want::kOther: break;
    }
    if (v.isCustomClass() || v.isObject() || v.isGenerator()) return give(true);
    return kAsk;
  }

  // list_of takes a list or tuple of any values, as the shape of a tensor is.
  Match list_of(const Operand& a, const c10::IValue& v) {
    if (v.isTuple()) {
      const auto& items = v.toTupleRef().elements();
      return push_items(a, items.size(), [&](size_t i) -> const c10::IValue& { return items[i]; });
    }
    const auto items = v.toListRef();
    return push_items(a, items.size(), [&](size_t i) -> const c10::IValue& { return items[i]; });
  }

  // push_items puts a list on the stack, of n items that get returns.
  template <class F>
  Match push_items(const Operand& a, size_t n, F&& get) {
    if (a.fixed > 1 && static_cast<int64_t>(n) != a.fixed) return kAsk;
    const auto collect = [&](auto list, auto&& take) {
      list.reserve(n);
      for (size_t i = 0; i < n; i++) {
        if (!take(list, get(i))) return kAsk;
      }
      f_.stack.push_back(std::move(list));
      return kYes;
    };
    switch (a.want) {
      case Want::kTensors:
        return collect(c10::List<at::Tensor>(), [](auto& list, const c10::IValue& v) { return v.isTensor() && (list.push_back(v.toTensor()), true); });
      case Want::kOptionalTensors:
        return collect(c10::List<std::optional<at::Tensor>>(), [](auto& list, const c10::IValue& v) {
          if (v.isNone()) return list.push_back(std::nullopt), true;
          return v.isTensor() && (list.push_back(v.toTensor()), true);
        });
      case Want::kInts:
        return collect(c10::List<int64_t>(), [](auto& list, const c10::IValue& v) { return v.isInt() && (list.push_back(v.toInt()), true); });
      default: return kAsk;
    }
  }

  // truth_of is 0 or 1, and -1 where Go has to find out.
  static int truth_of(const c10::IValue& v) {
    if (v.isBool()) return v.toBool();
    if (v.isInt()) return v.toInt() != 0;
    if (v.isDouble()) return v.toDouble() != 0;
    if (v.isTensor() && v.toTensor().defined() && v.toTensor().device().is_cpu() && v.toTensor().layout() == c10::kStrided &&
        v.toTensor().scalar_type() == c10::kBool && v.toTensor().numel() == 1) {
      return *static_cast<const bool*>(v.toTensor().const_data_ptr());
    }
    return -1;
  }

  // arithmetic is Python's on two integers, or on two floats where that is the
  // machine's. What would not fit, or fail, is left to Go.
  bool arithmetic(const Step& s) {
    const c10::IValue& a = get(s.operands[0]);
    const c10::IValue& b = get(s.operands[1]);
    if (a.isInt() && b.isInt()) return integers(s, a.toInt(), b.toInt());
    if ((a.isDouble() && (b.isDouble() || b.isInt())) || (a.isInt() && b.isDouble())) {
      constexpr int64_t kExact = int64_t{1} << 53;
      for (const c10::IValue* v : {&a, &b}) {
        if (v->isInt() && (v->toInt() > kExact || v->toInt() < -kExact)) return false;
      }
      return floats(s, a.isInt() ? static_cast<double>(a.toInt()) : a.toDouble(), b.isInt() ? static_cast<double>(b.toInt()) : b.toDouble());
    }
    return false;
  }

  bool integers(const Step& s, int64_t a, int64_t b) {
    int64_t r = 0;
    switch (s.number) {
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
      default: return compare(s, a, b);
    }
    set(s.results[0], r);
    return true;
  }

  bool floats(const Step& s, double a, double b) {
    double r = 0;
    switch (s.number) {
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
      default: return compare(s, a, b);
    }
    set(s.results[0], r);
    return true;
  }

  template <class T>
  bool compare(const Step& s, T a, T b) {
    bool r;
    switch (s.number) {
      case TFX_EQ: r = a == b; break;
      case TFX_NE: r = a != b; break;
      case TFX_LT: r = a < b; break;
      case TFX_LE: r = a <= b; break;
      case TFX_GT: r = a > b; break;
      case TFX_GE: r = a >= b; break;
      default: return false;
    }
    set(s.results[0], r);
    return true;
  }

  // size reads a fact about a tensor.
  bool size(const Step& s) {
    const c10::IValue& v = get(s.operands[0]);
    if (!v.isTensor() || v.toTensor().unsafeGetTensorImpl()->is_nested()) return false;
    const at::Tensor& t = v.toTensor();
    const bool strided = t.layout() == c10::kStrided;
    switch (s.number) {
      case TFX_DIMS: set(s.results[0], t.dim()); return true;
      case TFX_NUMEL: set(s.results[0], t.numel()); return true;
      case TFX_OFFSET:
        if (!t.has_storage()) return false;
        set(s.results[0], t.storage_offset());
        return true;
      case TFX_SHAPE: {
        std::vector<c10::IValue> items;
        for (const int64_t n : t.sizes()) items.emplace_back(n);
        set(s.results[0], c10::ivalue::Tuple::create(std::move(items)));
        return true;
      }
    }
    if (s.operands.size() != 2 || !strided || !get(s.operands[1]).isInt()) return false;
    int64_t dim = get(s.operands[1]).toInt();
    if (dim < 0) dim += t.dim();
    if (dim < 0 || dim >= t.dim()) return false;
    set(s.results[0], s.number == TFX_SIZE ? t.size(dim) : t.stride(dim));
    return true;
  }

  // item is container[index].
  bool item(const Step& s) {
    const c10::IValue& v = get(s.operands[0]);
    const c10::IValue& index = get(s.operands[1]);
    if (!index.isInt() || !(v.isTuple() || v.isList())) return false;
    const int64_t n = v.isTuple() ? static_cast<int64_t>(v.toTupleRef().elements().size()) : static_cast<int64_t>(v.toListRef().size());
    int64_t i = index.toInt();
    if (i < 0) i += n;
    if (i < 0 || i >= n) return false;
    const int32_t r = s.results[0];
    set(r, v.isTuple() ? c10::IValue(v.toTupleRef().elements()[i]) : c10::IValue(v.toListRef()[i]));
    if (f_.watch) {
      f_.watch->put(at(), r, f_.slots[r]);
      if (plan_.pinned[r]) f_.watch->escape(f_.slots[r]);
    }
    return true;
  }

  // describe adds a value to the key of the shape class. A value that is none of
  // those that shapes depend on makes no class.
  bool describe(const c10::IValue& v) {
    auto& key = f_.key;
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
          if (!describe(item)) return false;
        }
        return true;
      };
      return v.isTuple() ? each(v.toTupleRef().elements()) : each(v.toListRef());
    }
    return false;
  }

  Frame& f_;
  const Plan& plan_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

// A PlanHandle is what Go holds of a plan; its frames hold the plan, too.
using PlanHandle = std::shared_ptr<const Plan>;

inline int32_t plan_new(const uint64_t* words, uint64_t nwords, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    auto plan = PlanReader(words, nwords).plan();
    out.word(reinterpret_cast<uint64_t>(new PlanHandle(std::move(plan))));
  });
}

inline void plan_release(uint64_t plan) noexcept { delete reinterpret_cast<PlanHandle*>(plan); }

inline int32_t frame_new(uint64_t plan, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) { out.word(reinterpret_cast<uint64_t>(new Frame(*reinterpret_cast<PlanHandle*>(plan)))); });
}

inline void frame_release(uint64_t frame) noexcept { delete reinterpret_cast<Frame*>(frame); }
inline void frame_clear(uint64_t frame) noexcept { reinterpret_cast<Frame*>(frame)->clear(); }
inline void frame_stop(uint64_t frame) noexcept { reinterpret_cast<Frame*>(frame)->stop.store(1, std::memory_order_relaxed); }

// give hands slots over. Those of a run that is done are moved, so that what a
// result alone owns is known.
inline void give(Frame& f, const std::vector<int32_t>& slots, bool move, Writer& out) {
  for (const int32_t s : slots) {
    if (move) {
      c10::IValue v = std::move(f.slots[s]);
      f.slots[s] = c10::IValue();
      v.isCapsule() ? out.head(TFX_ABSENT) : out.value(std::move(v));
    } else {
      f.slots[s].isCapsule() ? out.head(TFX_ABSENT) : out.value(c10::IValue(f.slots[s]));
    }
  }
}

inline void put(Frame& f, const uint64_t* in, uint64_t nin) {
  Reader values(in, nin);
  while (!values.done()) {
    const uint64_t s = values.raw();
    if (s >= f.slots.size()) throw Fault("bridge: a slot that the plan does not have");
    f.slots[s] = values.any(absent());
  }
}

inline int32_t frame_put(uint64_t frame, const uint64_t* in, uint64_t nin, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer&) { put(*reinterpret_cast<Frame*>(frame), in, nin); });
}

// frame_run puts values into slots, the words being slot and value alternately,
// and runs. Its words are what the step that it stopped at asks for, or at the
// end the results.
inline int32_t frame_run(uint64_t frame, const tfx_mode* m, const uint64_t* in, uint64_t nin, tfx_run* run, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  Frame& f = *reinterpret_cast<Frame*>(frame);
  const int32_t code = guarded(w, n, o, [&](Writer& out) {
    Scope scope(m);
    std::optional<at::AutoDispatchBelowAutograd> below;
    if (f.plan->below_autograd) below.emplace();
    put(f, in, nin);
    Runner runner(f);
    if (run->resume != 0) {
      runner.resume();
    } else {
      f.at = run->at;
      runner.start();
    }
    run->stop = runner.run();
    if (run->stop == TFX_STOP_DONE) {
      runner.finish();
      give(f, f.plan->steps[f.at].slots, true, out);
      f.regions.clear();
    } else if (run->stop == TFX_STOP_GO) {
      give(f, f.plan->steps[f.at].slots, false, out);
    }
  });
  run->at = f.at;
  run->overload = f.overload;
  if (code != TFX_OK) f.stack.clear();
  return code;
}

// frame_values hands over the slots that the step reads at which a run stands.
inline int32_t frame_values(uint64_t frame, const uint64_t* slots, uint64_t nslots, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  Frame& f = *reinterpret_cast<Frame*>(frame);
  return guarded(w, n, o, [&](Writer& out) {
    std::vector<int32_t> list;
    for (uint64_t i = 0; i < nslots; i++) {
      if (slots[i] >= f.slots.size()) throw Fault("bridge: a slot that the plan does not have");
      list.push_back(static_cast<int32_t>(slots[i]));
    }
    give(f, list, false, out);
  });
}

// plan_layouts writes for each shape class the bytes of its block, the key, and
// the places.
inline int32_t plan_layouts(uint64_t plan, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const auto all = const_cast<Plan&>(**reinterpret_cast<PlanHandle*>(plan)).layouts.all();
    out.word(all.size());
    for (const auto& l : all) {
      out.word(l->bytes);
      out.word(l->places.size());
      for (const Place& p : l->places) {
        for (const int64_t x : {int64_t{p.step}, int64_t{p.slot}, int64_t{p.first}, int64_t{p.last}}) out.word(x);
        out.word(p.offset);
        out.word(p.bytes);
        out.word(static_cast<int64_t>(p.dtype));
        out.word(p.sizes.size());
        for (const int64_t x : p.sizes) out.word(x);
      }
      out.word(l->choices.size());
      for (const Choice& c : l->choices) out.word(static_cast<int64_t>(c.overload));
      out.word(l->groups.size());
      for (const Group& g : l->groups) {
        out.word(g.steps.size());
        for (const int32_t step : g.steps) out.word(int64_t{step});
        out.word(g.outputs.size());
        for (const Output& o : g.outputs) out.word(int64_t{o.slot});
        out.word(g.blocks);
        out.word(g.block());
        out.word(int64_t{g.scratches});
        out.word(g.stages.size());
        for (const Stage& s : g.stages) {
          out.word(static_cast<int64_t>(s.dtype == c10::ScalarType::Undefined));
          out.word(int64_t{s.ops});
        }
      }
    }
  });
}

}  // namespace tfx
