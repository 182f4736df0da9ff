// Where libtorch's CPU memory comes from: its own allocator, but for what a plan has
// planned and for what lasts.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <vector>

#include "pages.h"

namespace tfx {

// Grants is planned memory that an operator is given while it runs, on the thread
// that runs it. An operator without an out variant allocates its results itself, and
// what it needs on the way: it is given planned memory where it asks for so many
// bytes. What it asks for is learned from a call that is watched, whose memory is
// ordinary.
class Grants {
 public:
  struct Grant {
    void* memory;
    size_t bytes;
    bool taken;
  };

  // The grants of the thread, null outside of such an operator.
  static Grants*& current() {
    static thread_local Grants* now = nullptr;
    return now;
  }

  void watch() { begin(true); }
  void begin() { begin(false); }
  bool watching() const { return watching_; }

  void add(void* memory, size_t bytes) { list_.push_back({memory, bytes, false}); }

  void* take(size_t bytes) {
    for (Grant& g : list_) {
      if (g.taken || g.bytes != bytes) continue;
      g.taken = true;
      return g.memory;
    }
    return nullptr;
  }

  // note notes memory that a watched call has asked for. Where it has given back as
  // much before, that is what it would be given again.
  void note(void* memory, size_t bytes) {
    for (Grant& g : list_) {
      if (g.taken || g.bytes != bytes) continue;
      g.memory = memory;
      g.taken = true;
      return;
    }
    if (list_.size() < kMost) list_.push_back({memory, bytes, true});
  }

  bool give(void* memory) {
    for (Grant& g : list_) {
      if (g.memory != memory || !g.taken) continue;
      g.taken = false;
      return true;
    }
    return false;
  }

  const std::vector<Grant>& all() const { return list_; }

 private:
  static constexpr size_t kMost = 16;  // it is searched

  void begin(bool watching) {
    list_.clear();
    watching_ = watching;
  }

  std::vector<Grant> list_;
  bool watching_ = false;
};

// Granting makes grants those of the thread.
class Granting {
 public:
  explicit Granting(Grants& g) { Grants::current() = &g; }
  ~Granting() { Grants::current() = nullptr; }
  Granting(const Granting&) = delete;
  Granting& operator=(const Granting&) = delete;
};

// An Allocator is libtorch's for the CPU, with grants and lasting memory before it.
class Allocator final : public c10::Allocator {
 public:
  // install puts it before the one that libtorch has. It is for the whole process, as
  // that one is.
  static void install() {
    static auto* const own = new Allocator(c10::GetCPUAllocator());
    get() = own;
    c10::SetCPUAllocator(own, /*priority=*/1);
  }

  // lasting counts those who allocate what will stay, weights say. Such memory is
  // whole pages, so that freeing what they were made from leaves no holes.
  static std::atomic<int64_t>& lasting() {
    static std::atomic<int64_t> n{0};
    return n;
  }

  c10::DataPtr allocate(size_t n) override {
    if (Grants* const g = Grants::current(); g != nullptr && n > 0) {
      if (g->watching()) {
        void* const p = before_->allocate(n).release_context();
        g->note(p, n);
        return {p, p, &release, c10::Device(c10::kCPU)};
      }
      if (void* const p = g->take(n)) return {p, p, &end_grant, c10::Device(c10::kCPU)};
    }
    if (n >= kLarge && lasting().load(std::memory_order_relaxed) > 0) {
      if (void* const p = Pages::get().take(n, false)) return {p, p, &release, c10::Device(c10::kCPU)};
    }
    return before_->allocate(n);
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t n) const override { default_copy_data(to, from, n); }

 private:
  explicit Allocator(c10::Allocator* before) : before_(before) {}

  static constexpr size_t kLarge = 64 << 10;

  static Allocator*& get() {
    static Allocator* own = nullptr;
    return own;
  }

  // end_grant lets planned memory be free again: for the operator that is running,
  // where it was none of its results. The block's it is in any case.
  static void end_grant(void* p) {
    if (Grants* const g = Grants::current(); g != nullptr) g->give(p);
  }

  static void release(void* p) {
    end_grant(p);
    Pages::get().holds(p) ? Pages::get().give(p) : get()->before_->raw_deleter()(p);
  }

  c10::Allocator* const before_;
};

// allocate_lasting begins, with 1, and ends, with -1, the allocation of what lasts.
inline void allocate_lasting(int32_t by) noexcept { Allocator::lasting() += by; }

}  // namespace tfx
