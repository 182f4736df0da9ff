// How the memory of a plan is planned. The first run of a shape class allocates as
// eager code does and is watched: which results are memory of their own, how large
// they are, how long they live and what shares them. Later runs of the class let
// kernels write to planned places of one block.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "planmemory.h"

namespace tfx {

// visit calls f with every tensor in a value.
template <class F>
void visit(const c10::IValue& v, F&& f) {
  if (v.isTensor()) {
    if (v.toTensor().defined()) f(v.toTensor());
  } else if (v.isTensorList()) {
    for (const at::Tensor& t : v.toTensorVector()) f(t);
  } else if (v.isList()) {
    for (const auto& item : v.toListRef()) visit(item, f);
  } else if (v.isTuple()) {
    for (const auto& item : v.toTupleRef().elements()) visit(item, f);
  } else if (v.isGenericDict()) {
    for (const auto& entry : v.toGenericDict()) visit(entry.value(), f);
  }
}

// ordinary reports whether the CPU's kernels can be given t as it is: the layers of
// the dispatcher above them, which resolve conjugation and the like, are left out.
inline bool ordinary(const at::Tensor& t) {
  return t.layout() == c10::kStrided && t.device().is_cpu() && t.has_storage() && !t.is_quantized() && !t.unsafeGetTensorImpl()->is_python_dispatch() &&
      !t.key_set().has_any(c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor,
                                                c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::NestedTensor}));
}

// plain reports whether t is what an out variant can be given to write: an ordinary
// dense CPU tensor at the start of its storage.
inline bool plain(const at::Tensor& t) {
  const c10::TensorImpl* impl = t.unsafeGetTensorImpl();
  return ordinary(t) && !t.requires_grad() && !impl->is_wrapped_number() && t.storage_offset() == 0 && impl->is_non_overlapping_and_dense_or_false();
}

// own reports whether t is ordinary memory that nothing else refers to.
inline bool own(const at::Tensor& t) {
  return t.defined() && plain(t) && t.use_count() == 1 && t.unsafeGetTensorImpl()->unsafe_storage().use_count() == 1 && t.numel() > 0;
}

// A Watch follows the storages of one run.
class Watch {
 public:
  Watch(size_t steps, size_t slots) : choices_(steps), slots_(slots) {}

  void choose(int32_t step, int32_t overload) { choices_[step].overload = overload; }

  // share notes that results of a step are not memory of their own.
  void share(int32_t step) { choices_[step].shares = true; }

  // put notes the value that a slot has got at a step. fresh says that it is the
  // step's own result, which may be planned.
  void put(int32_t step, int32_t slot, const c10::IValue& v) {
    visit(v, [&](const at::Tensor& t) {
      if (!t.has_storage()) return;
      c10::StorageImpl* const storage = t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
      const auto found = live_.find(storage);
      int32_t b;
      if (found != live_.end()) {
        b = found->second;
      } else {
        b = fresh(step);
        buffers_[b].storage = storage;
        live_.emplace(storage, b);
      }
      buffers_[b].slots++;
      slots_[slot].push_back(b);
    });
  }

  // drop notes that a slot is emptied after a step.
  void drop(int32_t step, int32_t slot) {
    for (const int32_t b : slots_[slot]) {
      Buffer& buffer = buffers_[b];
      if (--buffer.slots > 0) continue;
      live_.erase(buffer.storage);
      buffer.last = step;
      if (!buffer.planned) unused_.push_back(b); // a loop makes them without end
    }
    slots_[slot].clear();
  }

  // escape says that the memory of a value may be seen by others or change, so
  // that it cannot be planned.
  void escape(const c10::IValue& v) {
    visit(v, [&](const at::Tensor& t) {
      if (!t.has_storage()) return;
      const auto found = live_.find(t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
      if (found != live_.end()) buffers_[found->second].escaped = true;
    });
  }

  // write says that the memory of a value is written.
  void write(const c10::IValue& v) {
    visit(v, [&](const at::Tensor& t) {
      if (!t.has_storage()) return;
      const auto found = live_.find(t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
      if (found != live_.end()) buffers_[found->second].written = true;
    });
  }

  // results notes that the results of a step, which put has noted, could be
  // written to planned memory. dying are the slots that are emptied right after
  // it, one of whose memory a pointwise operator may write its result into. granted
  // are those that the operator allocates itself.
  void results(int32_t step, const std::vector<int32_t>& slots, const std::vector<c10::IValue>& values, bool pointwise,
               const std::vector<int32_t>& dying, const std::vector<at::Tensor>& args, bool granted) {
    for (const int32_t s : slots) {
      if (slots_[s].size() != 1 || buffers_[slots_[s][0]].slots != 1) return;
    }
    choices_[step].place = static_cast<int32_t>(places_.size());
    for (size_t i = 0; i < slots.size(); i++) {
      const at::Tensor& t = values[slots[i]].toTensor();
      const int32_t b = slots_[slots[i]][0];
      Buffer& buffer = buffers_[b];
      buffer.planned = true;
      buffer.granted = granted;
      buffer.first = step;
      buffer.bytes = t.storage().nbytes();
      if (pointwise) buffer.takes = taken(b, t, dying, values, args);
      places_.push_back({step, slots[i], t.sizes().vec(), t.strides().vec(), t.scalar_type(), buffer.bytes, 0, step, step, false});
      made_.push_back(b);
    }
  }

  // requests notes what the operator of a step has asked for.
  void requests(int32_t step, const std::vector<int32_t>& slots, const std::vector<c10::IValue>& values, const Grants& asked) {
    std::vector<Request>& list = requests_[step];
    list.clear();
    for (const Grants::Grant& g : asked.all()) {
      Request r{g.taken ? Request::kElsewhere : Request::kScratch, g.bytes, 0};
      for (size_t i = 0; i < slots.size() && g.taken; i++) {
        if (values[slots[i]].isTensor() && own(values[slots[i]].toTensor()) && values[slots[i]].toTensor().const_data_ptr() == g.memory) r.result = static_cast<int32_t>(i);
      }
      list.push_back(r);
    }
  }

  // planned reports whether memory could be planned for the value of a slot.
  bool planned(int32_t slot) const { return slots_[slot].size() == 1 && buffers_[slots_[slot][0]].planned; }

  // withdraw says that it is not.
  void withdraw(int32_t slot) {
    if (planned(slot)) buffers_[slots_[slot][0]].gone = true;
  }

  bool noted(int32_t step) const { return !points_.empty() && points_.back().step == step; }

  // point notes a step that may be in a group, after results has noted it.
  void point(Point p) {
    for (Reading& r : p.readings) {
      if (r.slot < 0) continue;
      for (const int32_t b : slots_[r.slot]) {
        if (buffers_[b].planned) r.buffers.push_back(b);
      }
    }
    p.buffer = slots_[p.slot][0];
    points_.push_back(std::move(p));
  }

  const std::vector<Point>& points() const { return points_; }

  // layout plans the block. The values that are left in slots are the results of
  // the run, and escape.
  std::shared_ptr<Layout> layout(std::vector<int64_t> key, std::vector<Group> groups) {
    for (const auto& s : slots_) {
      for (const int32_t b : s) buffers_[b].escaped = true;
    }
    auto l = std::make_shared<Layout>();
    l->key = std::move(key);
    l->held.resize(slots_.size());
    l->groups = std::move(groups);
    group(*l);
    settle();
    for (size_t i = 0; i < places_.size(); i++) {
      if (!buffers_[made_[i]].planned) continue;
      Choice& c = choices_[places_[i].step];
      if (c.place == static_cast<int32_t>(i)) c.place = static_cast<int32_t>(l->places.size());
      Place p = places_[i];
      const int32_t b = root(made_[i]);
      p.first = buffers_[made_[i]].first;
      p.last = buffers_[made_[i]].last;
      p.granted = buffers_[made_[i]].granted;
      l->held[p.slot] = !p.granted;
      Chain& chain = chains_[b];
      chain.first = std::min(chain.first, p.first);
      chain.last = std::max(chain.last, p.last);
      chain.bytes = std::max(chain.bytes, p.bytes);
      chain.members.push_back(static_cast<int32_t>(l->places.size()));
      l->places.push_back(std::move(p));
    }
    for (Group& g : l->groups) {
      for (Output& o : g.outputs) o.place = choices_[o.step].place;
    }
    for (auto& [step, list] : requests_) {
      Choice& c = choices_[step];
      const bool planned = c.place >= 0 && l->places[c.place].granted;
      for (Request& r : list) {
        if (r.result >= 0 && !planned) r.result = Request::kElsewhere;
        if (r.result == Request::kScratch) scratch_.push_back({{}, step, step, r.bytes, 0, &r});
      }
    }
    place(*l);
    for (auto& [step, list] : requests_) {
      Choice& c = choices_[step];
      const auto meant = [](const Request& r) { return r.result != Request::kElsewhere; };
      if (c.group >= 0 || std::none_of(list.begin(), list.end(), meant)) continue;
      for (Request& r : list) {
        if (r.result >= 0) r.offset = l->places[c.place + r.result].offset;
      }
      c.requests = static_cast<int32_t>(l->requests.size());
      l->requests.push_back(std::move(list));
    }
    l->choices = std::move(choices_);
    return l;
  }

 private:
  struct Buffer {
    c10::StorageImpl* storage = nullptr;
    uint32_t slots = 0;
    bool planned = false, granted = false, escaped = false, written = false, gone = false, lent = false;
    int32_t first = 0, last = 0, takes = -1;
    uint64_t bytes = 0;

    // Who allocates a result himself gets memory that is as good as any.
    bool stays() const { return !escaped && !gone && (granted || !written); }
  };

  // A Chain is the places that follow each other in the same memory, or scratch.
  struct Chain {
    std::vector<int32_t> members;
    int32_t first = INT32_MAX, last = 0;
    uint64_t bytes = 0, offset = 0;
    Request* request = nullptr;  // of scratch
  };

  int32_t fresh(int32_t step) {
    int32_t b;
    if (!unused_.empty()) {
      b = unused_.back();
      unused_.pop_back();
      buffers_[b] = {};
    } else {
      b = static_cast<int32_t>(buffers_.size());
      buffers_.emplace_back();
    }
    buffers_[b].first = step;
    return b;
  }

  // taken finds a planned buffer that dies at this step and looks exactly like t,
  // and that no other argument looks at in another way.
  int32_t taken(int32_t own, const at::Tensor& t, const std::vector<int32_t>& dying, const std::vector<c10::IValue>& values, const std::vector<at::Tensor>& args) const {
    const auto alike = [&](const at::Tensor& u) {
      return u.scalar_type() == t.scalar_type() && u.storage_offset() == 0 && u.sizes() == t.sizes() && u.strides() == t.strides();
    };
    for (const int32_t s : dying) {
      if (slots_[s].size() != 1 || slots_[s][0] == own || !values[s].isTensor()) continue;
      const at::Tensor& u = values[s].toTensor();
      const Buffer& b = buffers_[slots_[s][0]];
      if (!b.planned || !b.stays() || b.slots != 1 || !alike(u)) continue;
      const bool clean = std::all_of(args.begin(), args.end(), [&](const at::Tensor& x) {
        return !x.has_storage() || x.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() != b.storage || alike(x);
      });
      if (clean) return slots_[s][0];
    }
    return -1;
  }

  // group makes groups of steps what they are for the memory: only what is read
  // outside of a group is anywhere, what the group reads is there until its last
  // step, and no result is written over an operand, which a later block may want.
  void group(const Layout& l) {
    std::vector<const Group*> of(choices_.size());
    for (size_t i = 0; i < l.groups.size(); i++) {
      for (const int32_t step : l.groups[i].steps) {
        choices_[step].group = static_cast<int32_t>(i);
        of[step] = &l.groups[i];
      }
    }
    for (const Point& p : points_) {
      Buffer& result = buffers_[p.buffer];
      const Group* const g = of[p.step];
      if (g == nullptr) {
        result.gone = !p.direct && !result.granted;
        continue;
      }
      result.granted = false;
      result.takes = -1;
      result.gone = std::none_of(g->outputs.begin(), g->outputs.end(), [&](const Output& o) { return o.slot == p.slot; });
      result.last = std::max(result.last, g->at());
      for (const Reading& r : p.readings) {
        for (const int32_t b : r.buffers) buffers_[b].last = std::max(buffers_[b].last, g->at());
      }
    }
    // Nor is a buffer that a group still reads taken by a step before its end.
    for (const Point& p : points_) {
      if (of[p.step] == nullptr) continue;
      for (const Reading& r : p.readings) {
        for (const int32_t b : r.buffers) buffers_[b].lent = true;
      }
    }
    for (const int32_t b : made_) {
      Buffer& buffer = buffers_[b];
      if (buffer.takes >= 0 && buffers_[buffer.takes].lent) buffer.takes = -1;
    }
  }

  // settle takes out the steps of which one result cannot be planned, and then
  // the chains that led through them.
  void settle() {
    for (size_t i = 0; i < places_.size();) {
      size_t n = i;
      bool ok = true;
      for (; n < places_.size() && places_[n].step == places_[i].step; n++) ok = ok && buffers_[made_[n]].stays();
      for (; i < n; i++) buffers_[made_[i]].planned = ok;
      if (!ok) choices_[places_[i - 1].step].place = -1;
    }
    for (const int32_t b : made_) {
      Buffer& buffer = buffers_[b];
      if (buffer.takes >= 0 && !buffers_[buffer.takes].planned) buffer.takes = -1;
    }
  }

  int32_t root(int32_t b) const {
    while (buffers_[b].takes >= 0) b = buffers_[b].takes;
    return b;
  }

  // place gives every chain an offset: the largest first, each at the lowest
  // place that is free for its whole life.
  void place(Layout& l) {
    constexpr uint64_t kAlign = 64;
    std::vector<Chain*> order;
    for (auto& entry : chains_) order.push_back(&entry.second);
    for (Chain& g : scratch_) order.push_back(&g);
    for (Chain* g : order) g->bytes = (g->bytes + kAlign - 1) / kAlign * kAlign;
    std::sort(order.begin(), order.end(), [](const Chain* a, const Chain* b) {
      return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
    });
    std::vector<const Chain*> placed; // by offset
    for (Chain* g : order) {
      uint64_t at = 0;
      for (const Chain* other : placed) {
        if (other->last < g->first || g->last < other->first) continue;
        if (at + g->bytes <= other->offset) break;
        at = std::max(at, other->offset + other->bytes);
      }
      g->offset = at;
      l.bytes = std::max(l.bytes, at + g->bytes);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), g, [](const Chain* a, const Chain* b) { return a->offset < b->offset; }), g);
      for (const int32_t m : g->members) l.places[m].offset = at;
      if (g->request != nullptr) g->request->offset = at;
    }
  }

  std::vector<Choice> choices_;
  std::vector<std::vector<int32_t>> slots_;  // the buffers that the value of a slot looks at
  std::vector<Buffer> buffers_;
  std::vector<int32_t> unused_;
  std::unordered_map<c10::StorageImpl*, int32_t> live_;
  std::vector<Place> places_;
  std::vector<int32_t> made_;  // the buffer of each place
  std::vector<Point> points_;
  std::unordered_map<int32_t, std::vector<Request>> requests_;
  std::unordered_map<int32_t, Chain> chains_;
  std::vector<Chain> scratch_;
};

}  // namespace tfx
