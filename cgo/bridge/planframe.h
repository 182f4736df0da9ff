// The state of one run of a plan.
#pragma once

#include <atomic>

#include "fuserun.h"
#include "plan.h"
#include "plangraphs.h"

namespace tfx {

// A Frame is the state of one run of a plan, reused for the next one.
struct Frame {
  explicit Frame(std::shared_ptr<const Plan> p) : plan(std::move(p)), slots(plan->slots), delegated(plan->regions) { stack.reserve(64); }

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
    device.clear();
    at = 0;
    stop.store(0, std::memory_order_relaxed);
  }

  const std::shared_ptr<const Plan> plan;
  std::vector<c10::IValue> slots;
  torch::jit::Stack stack;
  std::vector<int64_t> regions;  // the modes that are entered
  Block block;
  std::vector<GroupRun> groups;  // of the block's layout
  std::vector<RegionRun> delegated;  // by the targets of steps
  Room scratch;                  // of all of those, nothing between two of them
  std::unique_ptr<Watch> watch;  // in the first run of a shape class
  std::vector<int64_t> key;      // scratch
  int64_t at = 0;                // the step to run next
  int32_t overload = 0;          // the last one that was called
  std::atomic<int32_t> stop{0};
  Grants grants;
  bool kept = false;  // an operator has kept memory of the block
  FrameDevice device;            // of a plan on a device
};

// value_of is what an operand stands for in a run. A list has no value of its own.
inline const c10::IValue& value_of(const Frame& f, const Operand& o) { return o.kind == Operand::kSlot ? f.slots[o.slot] : o.value; }

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

// give_stopped hands over what a run that has stopped asks for, or its results.
inline void give_stopped(Frame& f, const tfx_run& run, Writer& out) {
  if (run.stop == TFX_STOP_CANCELLED) return;
  give(f, f.plan->steps[f.at].slots, run.stop == TFX_STOP_DONE, out);
  if (run.stop == TFX_STOP_DONE) f.regions.clear();
}

}  // namespace tfx
