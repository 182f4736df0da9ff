// Shape classes: steps over slots, and how a run of them goes. A class does not
// change; what a run needs for itself is a frame, of which a few are kept.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include "memory.h"

namespace tfxd {

// A Key is what a class was made for.
struct Key {
  struct Input {
    Dims sizes, strides;
    int32_t dtype;
  };
  std::vector<Input> inputs;
  int32_t threads;

  bool fits(const tfx_delegate_buffer* in, uint64_t n, int32_t with) const {
    if (with != threads || n != inputs.size()) return false;
    for (uint64_t i = 0; i < n; i++) {
      const Input& k = inputs[i];
      if (in[i].dtype != k.dtype || static_cast<size_t>(in[i].dim) != k.sizes.size()) return false;
      for (size_t d = 0; d < k.sizes.size(); d++) {
        if (in[i].sizes[d] != k.sizes[d] || (in[i].strides[d] != k.strides[d] && k.sizes[d] != 1)) return false;
      }
    }
    return true;
  }
};

// A Frame holds the memory objects of one run at a time.
struct Frame {
  dnnl::stream stream{engine()};
  std::vector<dnnl::memory> memories;  // by slot
  std::vector<dnnl_exec_arg_t> args;   // of all steps, one after the other
  const void* scratch = nullptr;       // where the scratch slots point
};

class Class : public tfx_delegate_class {
 public:
  Key key;
  std::vector<tfx_delegate_shape> shapes;
  std::vector<Place> places;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<std::shared_ptr<Packed>> packed;  // by the index of a constant place
  std::atomic<uint64_t> used{0};                // when it was asked for last, by the region's clock

  // finish is called once the steps are complete.
  void finish() {
    frames_.reserve(kFrames);  // so that giving one back cannot fail
    for (size_t s = 0; s < steps.size(); s++) {
      first_arg_.push_back(nargs_);
      nargs_ += steps[s].args.size();
      for (const auto& [arg, slot] : steps[s].args) {
        Place& p = places[slots[slot].place];
        if (p.first < 0) p.first = static_cast<int>(s);
        p.last = static_cast<int>(s);
      }
    }
    first_arg_.push_back(nargs_);
    for (size_t i = 0; i < slots.size(); i++) {
      const Place& p = places[slots[i].place];
      if (p.first < 0) continue;  // a view that nobody reads
      if (p.kind == Place::kScratch) scratch_slots_.push_back(static_cast<int>(i));
      if (p.kind == Place::kInput || p.kind == Place::kOutput) border_slots_.push_back(static_cast<int>(i));
    }
    tfx_delegate_class::scratch = lay_out(places);
    tfx_delegate_class::outputs = shapes.data();
    tfx_delegate_class::noutputs = shapes.size();
    tfx_delegate_class::nsteps = steps.size();
  }

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // run reports whether it came to the end.
  bool run(const tfx_delegate_run& r) {
    if (tfx_delegate_class::scratch > 0 && (r.scratch == nullptr || reinterpret_cast<uintptr_t>(r.scratch) % TFX_DELEGATE_ALIGN != 0)) {
      fail(TFX_DELEGATE_VALUE, "scratch: expected ", tfx_delegate_class::scratch, " bytes aligned to ", TFX_DELEGATE_ALIGN, ", got ", r.scratch);
    }
    Held frame(*this);
    point(*frame, r);
    const Threads threads(key.threads);
    for (size_t s = 0; s < steps.size(); s++) {
      if (r.cancel != nullptr && __atomic_load_n(r.cancel, __ATOMIC_RELAXED) != 0) return false;
      const auto start = r.step_ns == nullptr ? std::chrono::steady_clock::time_point{} : std::chrono::steady_clock::now();
      const size_t first = first_arg_[s];
      const dnnl_status_t status = dnnl_primitive_execute(steps[s].primitive.get(), frame->stream.get(), static_cast<int>(first_arg_[s + 1] - first), frame->args.data() + first);
      if (status != dnnl_success) fail(TFX_DELEGATE_INTERNAL, steps[s].what, ": oneDNN ", steps[s].kernel, " failed with status ", static_cast<int>(status));
      if (r.step_ns != nullptr) r.step_ns[s] = static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
    }
    return true;
  }

 private:
  // kFrames bounds those that wait for the next run.
  static constexpr size_t kFrames = 16;

  // Held is a frame taken for one run.
  class Held {
   public:
    explicit Held(Class& c) : class_(c), frame_(c.take()) {}
    ~Held() { class_.put(std::move(frame_)); }
    Frame& operator*() { return *frame_; }
    Frame* operator->() { return frame_.get(); }

   private:
    Class& class_;
    std::unique_ptr<Frame> frame_;
  };

  std::unique_ptr<Frame> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!frames_.empty()) {
        auto f = std::move(frames_.back());
        frames_.pop_back();
        return f;
      }
    }
    auto f = std::make_unique<Frame>();
    f->memories.reserve(slots.size());
    for (const Slot& s : slots) {
      const Place& p = places[s.place];
      void* data = p.kind == Place::kConstant ? packed[static_cast<size_t>(p.index)]->block.data() : DNNL_MEMORY_NONE;
      f->memories.emplace_back(s.md, engine(), data);
    }
    f->args.reserve(nargs_);
    for (const Step& step : steps) {
      for (const auto& [arg, slot] : step.args) f->args.push_back({arg, f->memories[static_cast<size_t>(slot)].get()});
    }
    return f;
  }

  void put(std::unique_ptr<Frame> f) noexcept {
    const std::lock_guard lock(mutex_);
    if (frames_.size() < kFrames) frames_.push_back(std::move(f));
  }

  void point(Frame& f, const tfx_delegate_run& r) const {
    for (int i : border_slots_) {
      const Place& p = places[slots[i].place];
      void* data = p.kind == Place::kInput ? const_cast<void*>(r.inputs[p.index]) : r.outputs[p.index];
      dnnl_memory_set_data_handle(f.memories[static_cast<size_t>(i)].get(), data);
    }
    if (f.scratch == r.scratch) return;
    for (int i : scratch_slots_) {
      dnnl_memory_set_data_handle(f.memories[static_cast<size_t>(i)].get(), static_cast<char*>(r.scratch) + places[slots[i].place].offset);
    }
    f.scratch = r.scratch;
  }

  std::atomic<int64_t> refs_{1};
  std::vector<size_t> first_arg_;  // of each step, and their number
  size_t nargs_ = 0;
  std::vector<int> scratch_slots_, border_slots_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace tfxd
