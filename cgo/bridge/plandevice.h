// Runs of a plan on a device.
//
// A run belongs to one stream, which the mode names: its memory comes from the
// stream's part of the allocator, and nothing in it waits for the device but the end
// of the run. Arguments on the CPU go through pinned memory. The host waits once, for
// an event behind the last copy, so that results are there when they are handed out
// and a fault is told to the run that made it.
//
// Where graphs are asked for, a shape class is captured after it has run three times,
// and replayed from then on.
#pragma once

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"
#include "planrun.h"

namespace tfx {

// mapped is v with each defined tensor in it replaced by f of it.
template <class F>
c10::IValue mapped(const c10::IValue& v, F&& f) {
  if (v.isTensor()) return v.toTensor().defined() ? c10::IValue(f(v.toTensor())) : v;
  if (v.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& t : v.toTensorVector()) list.push_back(t.defined() ? f(t) : t);
    return list;
  }
  if (v.isTuple()) {
    std::vector<c10::IValue> items;
    for (const c10::IValue& item : v.toTupleRef().elements()) items.push_back(mapped(item, f));
    return c10::ivalue::Tuple::create(std::move(items));
  }
  if (v.isList() && !v.isIntList() && !v.isDoubleList() && !v.isBoolList()) {
    const auto from = v.toList();
    c10::impl::GenericList list(from.elementType());
    for (size_t i = 0; i < from.size(); i++) list.push_back(mapped(from.get(i), f));
    return list;
  }
  if (v.isGenericDict()) {
    const auto from = v.toGenericDict();
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    for (const auto& entry : from) dict.insert(entry.key(), mapped(entry.value(), f));
    return dict;
  }
  return v;
}

class DeviceRun {
 public:
  DeviceRun(Frame& f, const tfx_mode* m) : f_(f), plan_(*f.plan), d_(f.device), stream_(stream(m)), guard_(stream_.device_type()) {
    if (stream_.device() != *plan_.device) throw Fault("bridge: a plan is run on the stream of another device");
  }

  void run(tfx_run& run, Writer& out) {
    try {
      run.resume != 0 ? steps(run, out) : start(run, out);
    } catch (...) {
      // What the stream was given may still use the frame's memory.
      try {
        guard_.synchronizeStream(stream_);
      } catch (...) {
      }
      throw;
    }
  }

 private:
  static constexpr int64_t kWarmUp = 3;  // libraries choose kernels and make handles, which no capture may hold

  static c10::Stream stream(const tfx_mode* m) {
    if (m == nullptr || (m->flags & TFX_STREAM) == 0) throw Fault("bridge: a plan on a device is run without a stream");
    return stream_of(*m);
  }

  void start(tfx_run& run, Writer& out) {
    d_.clear();
    f_.at = run.at;
    GraphClass* const c = graph_class();
    if (c != nullptr && c->state == TFX_GRAPH_CAPTURED) {
      fill(*c);
      return replay(*c, run, out);
    }
    const bool due = c != nullptr && c->state == TFX_GRAPH_WARMING && c->runs >= kWarmUp && d_.classes.captured() < plan_.graphs;
    for (const int32_t s : plan_.inputs) {
      f_.slots[s] = mapped(f_.slots[s], [&](const at::Tensor& t) { return stage(t, due); });
    }
    if (due && capture(*c)) return replay(*c, run, out);
    steps(run, out);
  }

  // graph_class is that of the arguments, nullptr where nothing is captured.
  GraphClass* graph_class() {
    if (plan_.graphs == 0 || graphs_of(stream_.device_type()).load() == nullptr) return nullptr;
    std::vector<int64_t> key;
    for (const int32_t s : plan_.inputs) {
      if (!describe(f_.slots[s], key)) return nullptr;
    }
    key.push_back(plan_.inputs.empty());  // a key of something
    d_.key = std::move(key);
    return &d_.classes.of(d_.key);
  }

  // steps does the run, or what is left of it, step by step.
  void steps(tfx_run& run, Writer& out) {
    {
      std::shared_lock<std::shared_mutex> lock(captures());
      Runner runner(f_);
      if (run.resume != 0) runner.resume();
      run.stop = runner.run();
    }
    if (run.stop == TFX_STOP_GO) d_.asked = true;
    if (run.stop != TFX_STOP_DONE) return give_stopped(f_, run, out);
    for (const int32_t s : plan_.steps[f_.at].slots) {
      f_.slots[s] = mapped(f_.slots[s], [&](const at::Tensor& t) { return handed(t); });
    }
    wait();
    note(write_back());
    d_.clear();  // arguments are the caller's
    give_stopped(f_, run, out);
  }

  // note tells the shape class of a run that is done.
  void note(bool wrote) {
    if (d_.key.empty()) return;
    GraphClass& c = d_.classes.of(d_.key);
    c.runs++;
    if (c.state != TFX_GRAPH_WARMING) return;
    if (wrote) c.refuse("it writes into an argument");
    if (d_.asked) c.refuse("a step of it is done by Go");
  }

  // stage returns an argument as the run sees it, in memory of the run's own where
  // own says so or it comes from the CPU.
  at::Tensor stage(const at::Tensor& t, bool own) {
    c10::InferenceMode ordinary(false);  // or it had no version, which tells whether it was written
    Grad none(false);
    at::Tensor copy = t;
    if (t.is_cpu()) {
      if (t.unsafeGetTensorImpl()->is_wrapped_number()) return t;  // a number among tensors has no device
      copy = t.layout() == c10::kStrided ? at::empty_like(t, t.options().device(*plan_.device), at::MemoryFormat::Preserve) : t.to(*plan_.device);
      if (t.layout() == c10::kStrided) copy.copy_(pinned(t), true);
    } else {
      TORCH_CHECK(t.device() == *plan_.device, "expected arguments on the CPU or on ", *plan_.device, ", got one on ", t.device());
      take(t);
      if (own) copy = t.clone();
    }
    if (copy.is_same(t)) {
      d_.staged.push_back({at::Tensor(), t, version(t)});
    } else {
      if (t.requires_grad()) copy.set_requires_grad(true);
      d_.staged.push_back({t, copy, version(copy)});
    }
    return copy;
  }

  // pinned returns t in memory from which the device copies by itself. The allocator
  // of such memory gives it to nobody else before the copy is done.
  static at::Tensor pinned(const at::Tensor& t) {
    if (t.numel() == 0 || t.is_pinned()) return t;
    at::Tensor p = at::empty_like(t, t.options().pinned_memory(true), at::MemoryFormat::Preserve);
    p.copy_(t);
    return p;
  }

  // take makes a tensor of the device's usual stream one that this stream may read.
  void take(const at::Tensor& t) {
    if (!usual_) {
      c10::Event before(stream_.device_type());
      before.record(guard_.getDefaultStream(stream_.device()));
      before.block(stream_);
      usual_ = true;
    }
    share(t, stream_);
  }

  // share says that a stream uses t's memory besides the one that it was made on.
  void share(const at::Tensor& t, const c10::Stream& s) const {
    if (t.has_storage() && t.layout() == c10::kStrided) guard_.recordDataPtrOnStream(t.storage().data_ptr(), s);
  }

  static uint32_t version(const at::Tensor& t) {
    return t.is_inference() ? 0 : t.unsafeGetTensorImpl()->version_counter().current_version();
  }

  // handed returns a result as the caller gets it: in pinned memory of the CPU, or on
  // the device for everybody's use.
  at::Tensor handed(const at::Tensor& t) const {
    if (t.device() != *plan_.device) return t;
    if (plan_.host_results) {
      if (t.layout() != c10::kStrided) return t.to(c10::Device(c10::kCPU));
      at::Tensor host = at::empty_like(t, t.options().device(c10::kCPU).pinned_memory(true), at::MemoryFormat::Preserve);
      return host.copy_(t, true);
    }
    share(t, guard_.getDefaultStream(stream_.device()));
    return t;
  }

  void wait() {
    if (!d_.done) d_.done.emplace(stream_.device_type());
    d_.done->record(stream_);
    d_.done->synchronize();
  }

  // write_back gives arguments that the program has written into their new elements
  // and reports whether there were any.
  bool write_back() {
    bool wrote = false;
    for (Staged& s : d_.staged) {
      if (version(s.copy) == s.version) continue;
      wrote = true;
      if (s.host.defined()) s.host.copy_(s.copy);
    }
    return wrote;
  }

  // capture makes the graph of a shape class, whose arguments are staged. Where it
  // returns false, the class is refused, nothing has been done and the frame is as
  // before.
  bool capture(GraphClass& c) {
    std::vector<c10::IValue> inputs;
    for (const int32_t s : plan_.inputs) inputs.push_back(f_.slots[s]);
    const int64_t first = f_.at;
    std::string why = unfit(inputs, "an argument");
    if (why.empty()) why = captured(c);
    if (why.empty()) {
      c.inputs = std::move(inputs);
      c.state = TFX_GRAPH_CAPTURED;
      return true;
    }
    if (f_.stop.load(std::memory_order_relaxed) == 0) c.refuse(why.substr(0, why.find('\n')));
    empty();
    f_.at = first;
    for (size_t i = 0; i < inputs.size(); i++) f_.slots[plan_.inputs[i]] = std::move(inputs[i]);
    return false;
  }

  // captured runs the steps into a graph and returns what keeps it from being used.
  std::string captured(GraphClass& c) {
    std::unique_lock<std::shared_mutex> lock(captures());
    try {
      auto graph = graphs_of(stream_.device_type()).load()->begin(d_.classes.pool);
      {
        Runner runner(f_);
        if (runner.run() != TFX_STOP_DONE) return "a step of it is done by Go";
      }
      graph->end();
      for (const Staged& s : d_.staged) {
        if (version(s.copy) != s.version) return "it writes into an argument";
      }
      std::vector<c10::IValue> outputs;
      for (const int32_t s : plan_.steps[f_.at].slots) outputs.push_back(f_.slots[s]);
      std::string why = unfit(outputs, "a result");
      if (why.empty() && !plan_.host_results) why = tied(outputs);
      if (!why.empty()) return why;
      c.graph = std::move(graph);
      c.outputs = std::move(outputs);
      return "";
    } catch (const c10::Error& e) {
      return std::string("its capture failed: ") + e.what_without_backtrace();
    } catch (const std::exception& e) {
      return std::string("its capture failed: ") + e.what();
    }
  }

  // unfit says what is wrong with tensors that a graph is to read or give.
  std::string unfit(const std::vector<c10::IValue>& values, const char* which) const {
    std::string why;
    for (const c10::IValue& v : values) {
      visit(v, [&](const at::Tensor& t) {
        if (!t.defined()) return;
        if (t.device() != *plan_.device) why = std::string(which) + " is not on the device";
        else if (t.layout() != c10::kStrided) why = std::string(which) + " is not strided";
        else if (!t.unsafeGetTensorImpl()->is_non_overlapping_and_dense_or_false()) why = std::string(which) + " is not dense";
      });
    }
    return why;
  }

  // tied says whether results share memory with each other or with something that
  // lasts: copies of them would not.
  std::string tied(const std::vector<c10::IValue>& outputs) const {
    std::vector<const c10::StorageImpl*> taken;
    const auto add = [&](const at::Tensor& t) {
      if (t.defined() && t.has_storage()) taken.push_back(t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
    };
    const auto constants = [&](const auto& self, const std::vector<Operand>& list) -> void {
      for (const Operand& o : list) {
        if (o.kind == Operand::kConstant) visit(o.value, add);
        if (o.kind == Operand::kList) self(self, *o.items);
      }
    };
    for (const Step& s : plan_.steps) {
      constants(constants, s.operands);
      for (const Overload& o : s.overloads) constants(constants, o.args);
    }
    for (const Staged& s : d_.staged) add(s.copy);
    bool found = false;
    for (const c10::IValue& v : outputs) {
      visit(v, [&](const at::Tensor& t) {
        if (!t.defined() || !t.has_storage()) return;
        const auto* const storage = t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
        found = found || std::find(taken.begin(), taken.end(), storage) != taken.end();
        add(t);
      });
    }
    return found ? "a result shares memory with another, an argument or a constant" : "";
  }

  // fill copies the arguments to where the graph of their class reads them.
  void fill(GraphClass& c) {
    for (size_t i = 0; i < c.inputs.size(); i++) {
      std::vector<at::Tensor> to;
      visit(c.inputs[i], [&](const at::Tensor& t) { to.push_back(t); });
      size_t k = 0;
      visit(f_.slots[plan_.inputs[i]], [&](const at::Tensor& t) {
        if (k == to.size()) throw Fault("bridge: arguments of another structure than their shape class has");
        if (!t.is_cpu()) take(t);
        to[k++].copy_(t.is_cpu() ? pinned(t) : t, true);
      });
    }
  }

  // replay runs a graph and hands over copies of what it gives.
  void replay(GraphClass& c, tfx_run& run, Writer& out) {
    c.graph->replay();
    empty();
    f_.at = static_cast<int64_t>(plan_.steps.size()) - 1;
    const auto& slots = plan_.steps.back().slots;
    for (size_t i = 0; i < slots.size(); i++) {
      f_.slots[slots[i]] = mapped(c.outputs[i], [&](const at::Tensor& t) { return handed(plan_.host_results ? t : t.clone()); });
    }
    wait();
    run.stop = TFX_STOP_DONE;
    give_stopped(f_, run, out);
  }

  // empty takes everything out of the frame.
  void empty() {
    for (c10::IValue& v : f_.slots) v = c10::IValue();
    f_.stack.clear();
    f_.regions.clear();
    d_.staged.clear();
  }

  Frame& f_;
  const Plan& plan_;
  FrameDevice& d_;
  const c10::Stream stream_;
  const c10::impl::VirtualGuardImpl guard_;
  bool usual_ = false;  // this stream has waited for the usual one
};

}  // namespace tfx
