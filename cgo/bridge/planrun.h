// Running plans: one frame a run, one crossing a segment.
#pragma once

#include "error.h"
#include "mode.h"
#include "planargs.h"
#include "plankey.h"
#include "planlazy.h"
#include "planobserve.h"
#include "planscalar.h"

namespace tfx {

// A Runner runs a frame up to its end or to a step that Go does.
class Runner {
 public:
  explicit Runner(Frame& f) : f_(f), plan_(*f.plan) {}

  // start chooses the memory by the shapes of the inputs.
  void start() {
    f_.key.assign(1, at::get_num_threads());  // groups end where kernels split their work
    bool ok = true;
    for (const int32_t s : plan_.inputs) ok = ok && describe(f_.slots[s], f_.key);
    const Layout* now = f_.block.layout();
    if (now != nullptr && ok && now->key == f_.key && lasting(*now) && !f_.kept) return;
    if (now != nullptr) {
      for (const Place& p : now->places) f_.slots[p.slot] = c10::IValue();
      f_.groups.clear();
      f_.kept ? f_.block.abandon() : f_.block.leave();
      f_.kept = false;
    }
    if (!ok) return;
    auto known = const_cast<Plan&>(plan_).layouts.find(f_.key);
    if (known != nullptr && !lasting(*known)) return;
    if (known == nullptr) {
      f_.watch = std::make_unique<Watch>(plan_.steps.size(), plan_.slots);
      Observer(f_).inputs();
      return;
    }
    f_.groups = std::vector<GroupRun>(known->groups.size());
    f_.block.use(std::move(known));
    const auto& places = f_.block.layout()->places;
    for (size_t i = 0; i < places.size(); i++) {
      if (!places[i].granted) f_.slots[places[i].slot] = f_.block.tensors()[i];
    }
  }

  // run returns why it stopped.
  tfx_stop run() {
    for (const int64_t r : f_.regions) enter(r);
    std::optional<Paging> once;
    if (f_.watch) once.emplace(); // later runs of the class have the block instead
    const Layout* const layout = f_.block.layout();
    for (;; f_.at++) {
      if (f_.stop.load(std::memory_order_relaxed) != 0) return TFX_STOP_CANCELLED;
      const Step& s = plan_.steps[f_.at];
      bool ok = true;
      switch (s.code) {
        case TFX_STEP_CALL:
          if (layout != nullptr && layout->choices[f_.at].group >= 0) {
            grouped(layout->choices[f_.at].group);
          } else if (layout == nullptr || f_.kept) {
            ok = (s.number != 0 && number(s)) || call(s);
          } else if (layout->choices[f_.at].requests >= 0) {
            ok = granted(s);
          } else if (layout->choices[f_.at].place >= 0) {
            ok = into(s, layout->choices[f_.at]);
          } else {
            ok = (s.number != 0 && number(s)) || call(s);
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
        case TFX_STEP_DELEGATE:
          if (!(ok = delegated(s)) && f_.stop.load(std::memory_order_relaxed) != 0) return TFX_STOP_CANCELLED;
          break;
        case TFX_STEP_GO: return TFX_STOP_GO;
        case TFX_STEP_DONE: return TFX_STOP_DONE;
      }
      if (!ok) return TFX_STOP_GO;
      if (!s.frees.empty()) release(s);
    }
  }

  // resume goes on behind a step that Go has done, whose result is in its slot.
  void resume() {
    const Step& s = plan_.steps[f_.at];
    if (f_.watch) Observer(f_).foreign(s);
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

 private:
  int32_t at() const { return static_cast<int32_t>(f_.at); }

  void enter(int64_t mode) { scopes_.push_back(std::make_unique<Scope>(&plan_.modes[mode])); }

  const c10::IValue& get(const Operand& o) const { return value_of(f_, o); }

  // call tries the overloads in order, as Python does.
  bool call(const Step& s) {
    torch::jit::Stack& stack = f_.stack;
    for (size_t i = 0; i < s.overloads.size(); i++) {
      const Overload& o = s.overloads[i];
      stack.clear();
      Match m = Match::kYes;
      for (const Operand& a : o.args) {
        m = Arguments(f_).push(a, o.python);
        if (m != Match::kYes) break;
      }
      if (m == Match::kNo) continue;
      if (m == Match::kAsk) break;
      std::vector<at::Tensor> args;
      f_.overload = static_cast<int32_t>(i);
      if (f_.watch) {
        f_.watch->choose(at(), static_cast<int32_t>(i));
        for (const c10::IValue& v : stack) visit(v, [&](const at::Tensor& t) { args.push_back(t); });
      }
      std::optional<Granting> watched;
      if (f_.watch && s.plain) f_.grants.watch(), watched.emplace(f_.grants);
      {
        std::optional<WithLayers> back;
        if (plan_.below_autograd) {
          const c10::DispatchKeySet layers = o.composite ? layers_of(stack, apart(s)) : s.fresh ? WithLayers::kNone : WithLayers::kViews;
          if (!layers.empty()) back.emplace(layers);
        }
        o.op->handle.callBoxed(stack);
      }
      watched.reset();
      if (stack.size() < s.results.size()) throw Fault("bridge: an operator returned too little");
      for (size_t r = 0; r < s.results.size(); r++) set(s.results[r], s.tuples ? tuple(std::move(stack[r])) : std::move(stack[r]));
      stack.clear();
      if (f_.watch) Observer(f_).call(s, o, args);
      return true;
    }
    stack.clear();
    return false;
  }

  // apart reports whether what a step returns is memory of its own and nothing is written:
  // by its schema, and in the first run of the shape class, since einsum, say, returns
  // views that no schema tells of.
  bool apart(const Step& s) const {
    const Layout* const l = f_.block.layout();
    if (!s.fresh || !s.plain || l == nullptr) return false;
    const Choice& c = l->choices[f_.at];
    return c.overload == f_.overload && !c.shares;
  }

  // tuple makes a tuple of a list of tensors.
  static c10::IValue tuple(c10::IValue&& v) {
    if (!v.isTensorList()) return std::move(v);
    std::vector<c10::IValue> items;
    for (at::Tensor& t : v.toTensorVector()) items.emplace_back(std::move(t));
    return c10::ivalue::Tuple::create(std::move(items));
  }

  // granted calls an operator that is given planned memory for what it allocates.
  // Afterwards its results must hold what was meant for them, alone, and nobody the
  // rest. Where it is not so, an operator that keeps memory in a cache, say, nothing
  // is written to the block any more.
  bool granted(const Step& s) {
    const std::vector<Request>& requests = f_.block.layout()->requests[f_.block.layout()->choices[f_.at].requests];
    f_.grants.begin();
    for (const Request& r : requests) f_.grants.add(f_.block.granted(r), r.bytes);
    bool done = false;
    try {
      Granting now(f_.grants);
      done = call(s);
    } catch (...) {
      for (const Grants::Grant& g : f_.grants.all()) f_.kept = f_.kept || g.taken;
      throw;
    }
    for (size_t i = 0; i < requests.size(); i++) {
      const Grants::Grant& g = f_.grants.all()[i];
      if (!g.taken || g.memory == nullptr || holds(s, requests[i].result, g.memory)) continue;
      f_.kept = true;
      const_cast<Plan&>(plan_).layouts.distrust(at());
    }
    return done;
  }

  bool holds(const Step& s, int32_t result, const void* memory) const {
    if (result < 0) return false;
    const c10::IValue& v = f_.slots[s.results[result]];
    return v.isTensor() && own(v.toTensor()) && v.toTensor().const_data_ptr() == memory;
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
      } else if (Arguments(f_).push(a, o.python) != Match::kYes) {
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

  // delegated does a region's step. It reports false where the operators are to be
  // asked, which Go does, or where the run is cancelled.
  bool delegated(const Step& s) {
    RegionRun& run = f_.delegated[s.target];
    run.clear();
    for (size_t i = 1; i < s.operands.size(); i++) {
      if (!run.take(get(s.operands[i]))) return false;
    }
    if (!run.prepare(c10::static_intrusive_pointer_cast<Region>(s.operands[0].value.toCapsule()))) return false;
    if (run.outputs() != s.results.size()) throw Fault("bridge: a region of another number of results than its step has");
    const Layout* const l = f_.block.layout();
    const bool placed = l != nullptr && !f_.kept && l->choices[f_.at].place >= 0;
    for (size_t i = 0; i < s.results.size(); i++) {
      if (!placed) {
        set(s.results[i], run.output(i));
      } else if (!run.fits(i, f_.slots[s.results[i]].toTensor())) {
        throw Fault("bridge: a region whose results changed their layout within a shape class");
      }
    }
    if (!run.run([&](size_t i) -> const at::Tensor& { return f_.slots[s.results[i]].toTensor(); }, f_.scratch, &f_.stop)) return false;
    if (f_.watch) Observer(f_).region(s);
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
      out.push_back(o.place >= 0 && !f_.kept ? f_.slots[o.slot].toTensor() : at::empty_strided(o.shape.sizes, o.shape.strides, o.shape.dtype));
    }
    run.run(plan_, g, out, f_.stack, f_.stop);
    for (size_t i = 0; i < out.size(); i++) {
      if (g.outputs[i].place < 0 || f_.kept) set(g.outputs[i].slot, std::move(out[i]));
    }
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
    if (f_.watch) Observer(f_).moved(to);
  }

  // number, size and item do the steps that need no operator.
  bool number(const Step& s) {
    c10::IValue v;
    if (!arithmetic(s.number, get(s.operands[0]), get(s.operands[1]), v)) return false;
    set(s.results[0], std::move(v));
    return true;
  }

  bool size(const Step& s) {
    c10::IValue v;
    if (!fact(s.number, get(s.operands[0]), s.operands.size() == 2 ? &get(s.operands[1]) : nullptr, v)) return false;
    set(s.results[0], std::move(v));
    return true;
  }

  bool item(const Step& s) {
    c10::IValue v;
    if (!tfx::item(get(s.operands[0]), get(s.operands[1]), v)) return false;
    set(s.results[0], std::move(v));
    if (f_.watch) Observer(f_).moved(s.results[0]);
    return true;
  }

  void release(const Step& s) {
    const Layout* const l = f_.block.layout();
    for (const int32_t slot : s.frees) {
      if (l != nullptr && l->held[slot]) continue;
      f_.slots[slot] = c10::IValue();
      if (f_.watch) f_.watch->drop(at(), slot);
    }
  }

  Frame& f_;
  const Plan& plan_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

}  // namespace tfx
