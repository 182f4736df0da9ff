// What the first run of a shape class tells the watch of it.
#pragma once

#include "planframe.h"

namespace tfx {

// An Observer tells the watch of a frame what its steps do.
class Observer {
 public:
  explicit Observer(Frame& f) : f_(f), watch_(*f.watch) {}

  // inputs tells of the values that the run begins with, which are the caller's.
  void inputs() {
    for (const int32_t s : f_.plan->inputs) {
      watch_.put(0, s, f_.slots[s]);
      watch_.escape(f_.slots[s]);
    }
  }

  // call tells of a call, which had these tensors among its arguments.
  void call(const Step& s, const Overload& o, const std::vector<at::Tensor>& args) {
    bool owned = s.plain && !s.results.empty();  // results are memory of their own
    bool hidden = s.opaque, pinned = false;
    for (const int32_t r : s.results) {
      visit(f_.slots[r], [&](const at::Tensor& t) { hidden = hidden || !t.has_storage(); });
      owned = owned && f_.slots[r].isTensor() && own(f_.slots[r].toTensor());
      pinned = pinned || f_.plan->pinned[r];
    }
    if (!owned) watch_.share(at());
    owned = owned && !pinned;
    bool planned = owned;  // and the CPU's kernels take the arguments as they are
    for (const at::Tensor& t : args) {
      planned = planned && t.defined() && ordinary(t);
      if (hidden) watch_.escape(t);
    }
    for (const int32_t r : s.written) watch_.write(f_.slots[r]);
    for (const int32_t r : s.results) {
      watch_.put(at(), r, f_.slots[r]);
      if (f_.plan->pinned[r]) watch_.escape(f_.slots[r]);
    }
    const bool single = s.results.size() == 1;
    const bool alone = planned && o.out != nullptr;
    const bool together = planned && f_.plan->fusion != Fusion::kNone && (o.pointwise || o.reduces) && single && !hidden && !o.composite &&
        !s.writes && (alone || o.lane != nullptr);
    const bool granted = owned && !alone && !hidden && !s.writes && const_cast<Plan&>(*f_.plan).layouts.trusts(at());
    if (alone || together || granted) watch_.results(at(), s.results, f_.slots, s.pointwise && single && alone, s.frees, args, granted);
    if (s.plain && !alone && !hidden) watch_.requests(at(), s.results, f_.slots, f_.grants);
    if (together && watch_.planned(s.results[0])) note(s, o, alone);
    if (!alone && !granted && together && !watch_.noted(at())) watch_.withdraw(s.results[0]);
  }

  // region tells of a region that its delegate has computed, whose results are new.
  void region(const Step& s) {
    bool planned = s.plain;
    for (const int32_t r : s.results) {
      planned = planned && !f_.plan->pinned[r] && own(f_.slots[r].toTensor());
      moved(r);
    }
    if (planned) watch_.results(at(), s.results, f_.slots, false, s.frees, {}, false);
  }

  // moved tells that a slot has got a value that others may have, too.
  void moved(int32_t slot) {
    watch_.put(at(), slot, f_.slots[slot]);
    if (f_.plan->pinned[slot]) watch_.escape(f_.slots[slot]);
  }

  // foreign tells of a step that Go has done. What it was given, it may have kept.
  void foreign(const Step& s) {
    for (const int32_t g : s.slots) watch_.escape(f_.slots[g]);
    each_slot(s, [&](int32_t g) { watch_.escape(f_.slots[g]); });
    for (const int32_t r : s.results) {
      watch_.put(at(), r, f_.slots[r]);
      watch_.escape(f_.slots[r]);
    }
  }

 private:
  int32_t at() const { return static_cast<int32_t>(f_.at); }

  // note tells the watch of a step that may be in a group.
  void note(const Step& s, const Overload& o, bool direct) {
    Point p{at(), f_.overload, s.results[0], Shape(f_.slots[s.results[0]].toTensor()), -1, direct, 0, {}};
    for (size_t i = 0; i < o.args.size(); i++) {
      const Operand& a = o.args[i];
      if (a.kind == Operand::kList) return;
      const c10::IValue& v = value_of(f_, a);
      if (v.isTensor()) {
        p.readings.push_back({static_cast<int32_t>(i), a.kind == Operand::kSlot ? a.slot : -1, Shape(v.toTensor()), {}});
      } else if (a.kind == Operand::kSlot) {
        return;
      }
    }
    if (o.reduces) {
      if ((p.reduces = reduced(o, p)) != 0) watch_.point(std::move(p));
    } else if (fuses(o, p)) {
      watch_.point(std::move(p));
    }
  }

  Frame& f_;
  Watch& watch_;
};

}  // namespace tfx
