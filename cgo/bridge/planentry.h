// Plans and frames as Go calls them.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>

#include "error.h"
#include "plandevice.h"
#include "planrun.h"

namespace tfx {

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
    std::optional<at::AutoDispatchBelowADInplaceOrView> below;
    if (f.plan->below_autograd) below.emplace();
    put(f, in, nin);
    if (f.plan->device) return DeviceRun(f, m).run(*run, out);
    Runner runner(f);
    if (run->resume != 0) {
      runner.resume();
    } else {
      f.at = run->at;
      runner.start();
    }
    run->stop = runner.run();
    if (run->stop == TFX_STOP_DONE) runner.finish();
    give_stopped(f, *run, out);
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

// frame_graphs writes for each shape class of a frame on a device how often it ran
// step by step, what has become of it, and why it is not captured.
inline int32_t frame_graphs(uint64_t frame, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    for (const GraphClass& c : reinterpret_cast<Frame*>(frame)->device.classes.all()) {
      out.head(TFX_INT);
      out.word(static_cast<uint64_t>(c.runs));
      out.head(TFX_INT);
      out.word(c.state);
      out.str(c.why);
    }
  });
}

// plan_layouts writes for each shape class the bytes of its block, the key, the
// places, the overloads that were chosen and the groups.
inline int32_t plan_layouts(uint64_t plan, uint64_t* w, uint64_t n, tfx_out* o) noexcept {
  return guarded(w, n, o, [&](Writer& out) {
    const auto all = const_cast<Plan&>(**reinterpret_cast<PlanHandle*>(plan)).layouts.all();
    out.word(all.size());
    for (const auto& l : all) {
      out.word(l->bytes);
      out.word(l->key.size());
      for (const int64_t x : l->key) out.word(x);
      out.word(l->places.size());
      for (const Place& p : l->places) {
        for (const int64_t x : {int64_t{p.step}, int64_t{p.slot}, int64_t{p.first}, int64_t{p.last}}) out.word(x);
        out.word(p.offset);
        out.word(p.bytes);
        out.word(static_cast<int64_t>(p.dtype));
        out.word(int64_t{p.granted});
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
        out.word(g.threads);
        out.word(int64_t{g.scratches});
        out.word(g.stages.size());
        for (const Stage& s : g.stages) {
          out.word(int64_t{s.dtype != c10::ScalarType::Undefined ? 0 : s.nearest == nullptr ? 1 : 2});
          out.word(int64_t{s.ops});
        }
      }
    }
  });
}

}  // namespace tfx
