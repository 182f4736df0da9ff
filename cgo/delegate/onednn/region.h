// Regions: a program, its constants, and the shape classes that were asked for
// last.
#pragma once

#include <array>

#include "kernels.h"
#include "measure.h"

namespace tfxd {

class Region {
 public:
  Region(const int64_t* words, uint64_t nwords, const tfx_delegate_buffer* constants, uint64_t nconstants)
      : program_(ProgramReader(words, nwords).read()), constants_(constants, nconstants), layouts_(program_.layouts) {
    if (static_cast<uint64_t>(program_.nconstants) != nconstants) {
      fail(TFX_DELEGATE_VALUE, "constants: expected ", program_.nconstants, ", got ", nconstants);
    }
    bytes_ = constants_.bytes();
  }

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // prepare returns the class for the inputs, retained.
  Class* prepare(const tfx_delegate_buffer* inputs, uint64_t n, int32_t threads) {
    if (n != static_cast<uint64_t>(program_.ninputs)) fail(TFX_DELEGATE_VALUE, "inputs: expected ", program_.ninputs, ", got ", n);
    if (threads < 1 || threads > kThreads) fail(TFX_DELEGATE_VALUE, "threads: expected 1 to ", kThreads, ", got ", threads);
    if (Class* c = find(inputs, n, threads)) return c;
    const std::lock_guard building(building_);
    if (Class* c = find(inputs, n, threads)) return c;  // another thread has built it meanwhile
    std::unique_ptr<Class> made = build(inputs, n, threads);
    constants_.settle();
    bytes_.store(constants_.bytes(), std::memory_order_relaxed);
    return keep(std::move(made));
  }

  // tell says how values lie, and what was measured for it.
  void tell(tfx_delegate_layouts* out) const {
    out->layouts = layouts_.load(std::memory_order_acquire);
    for (size_t i = 0; i < nanoseconds_.size(); i++) out->nanoseconds[i] = nanoseconds_[i].load(std::memory_order_relaxed);
  }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  // kClasses bounds the shapes that a region remembers.
  static constexpr size_t kClasses = 64;
  static constexpr int32_t kThreads = 1024;

  ~Region() {
    for (Class* c : classes_) c->release();
  }

  Class* find(const tfx_delegate_buffer* inputs, uint64_t n, int32_t threads) {
    const std::lock_guard lock(mutex_);
    for (Class* c : classes_) {
      if (!c->key.fits(inputs, n, threads)) continue;
      c->used.store(++clock_, std::memory_order_relaxed);
      c->retain();
      return c;
    }
    return nullptr;
  }

  Class* keep(std::unique_ptr<Class> made) {
    Class* c = made.release();
    const std::lock_guard lock(mutex_);
    if (classes_.size() == kClasses) {
      auto oldest = std::min_element(classes_.begin(), classes_.end(), [](const Class* a, const Class* b) { return a->used.load() < b->used.load(); });
      (*oldest)->release();
      *oldest = c;
    } else {
      classes_.push_back(c);
    }
    c->used.store(++clock_, std::memory_order_relaxed);
    c->retain();
    return c;
  }

  std::unique_ptr<Class> build(const tfx_delegate_buffer* inputs, uint64_t n, int32_t threads) {
    std::vector<Shape> in, constant;
    std::vector<Md> layouts;
    Key key{{}, threads};
    for (uint64_t i = 0; i < n; i++) {
      const auto& b = inputs[i];
      if (b.dim < 1 || b.dim > TFX_DELEGATE_MAX_DIMS) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "input ", i, ": expected 1 to ", TFX_DELEGATE_MAX_DIMS, " dimensions, got ", b.dim);
      Shape s{Dims(b.sizes, b.sizes + b.dim), type_of(b.dtype, "input", i)};
      for (int64_t d : s.dims) {
        if (d < 1) fail(TFX_DELEGATE_NOT_IMPLEMENTED, "input ", i, ": expected elements, got sizes ", s.dims);
      }
      count(s.dims);
      const Dims strides(b.strides, b.strides + b.dim);
      layouts.push_back(given(s, strides));
      key.inputs.push_back({s.dims, strides, b.dtype});
      in.push_back(std::move(s));
    }
    for (size_t i = 0; i < constants_.size(); i++) constant.push_back(constants_.shape(i));
    const Threads team(threads);
    const std::vector<Shape> shapes = Shapes(program_, in, constant).infer();
    const auto with = [&](int64_t policy) {
      std::unique_ptr<Class> c = Builder(program_, shapes, layouts, constants_, policy).build();
      c->key = key;
      return c;
    };
    if (layouts_ == TFX_LAYOUTS_MEASURED && !spatial()) layouts_ = TFX_LAYOUTS_ANY;
    if (layouts_ != TFX_LAYOUTS_MEASURED) return with(layouts_);
    auto blocked = with(TFX_LAYOUTS_BLOCKED), last = with(TFX_LAYOUTS_CHANNELS_LAST);
    const std::optional<Times> times = compare(*blocked, *last);
    const bool block = times && times->faster();
    if (times) {
      nanoseconds_[TFX_LAYOUTS_BLOCKED].store(times->a, std::memory_order_relaxed);
      nanoseconds_[TFX_LAYOUTS_CHANNELS_LAST].store(times->b, std::memory_order_relaxed);
    }
    layouts_.store(block ? TFX_LAYOUTS_BLOCKED : TFX_LAYOUTS_CHANNELS_LAST, std::memory_order_release);
    (block ? last : blocked).reset();
    forget_kernels();
    return std::move(block ? blocked : last);
  }

  // spatial reports whether there are kernels to which a policy of layouts matters.
  bool spatial() const {
    return std::any_of(program_.nodes.begin(), program_.nodes.end(), [](const Node& n) {
      return n.op == TFX_NODE_CONVOLUTION || n.op == TFX_NODE_TRANSPOSED || n.op == TFX_NODE_POOL || n.op == TFX_NODE_ADAPTIVE_POOL || n.op == TFX_NODE_CONCAT;
    });
  }

  const Program program_;
  Constants constants_;
  std::atomic<int64_t> layouts_;  // decided by the first class
  std::array<std::atomic<uint64_t>, TFX_DELEGATE_MAX_LAYOUTS> nanoseconds_{};  // what was measured for that, by layouts
  std::atomic<int64_t> refs_{1};
  std::atomic<uint64_t> bytes_{0};
  std::mutex building_;  // constants_, and who writes layouts_
  std::mutex mutex_;     // classes_, clock_
  std::vector<Class*> classes_;
  uint64_t clock_ = 0;
};

}  // namespace tfxd
