// Where libtorch's CPU memory comes from: its own allocator, but for what a plan has
// planned and for what lasts.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
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

// Paging makes large memory that its thread allocates whole pages, for what goes soon
// and would leave holes in C's heap that nothing fills. What is given back meanwhile is
// used again, since fresh pages cost a fault each, but never so that there is more
// memory at once than without that.
class Paging {
 public:
  Paging() : before_(current()) { current() = this; }
  ~Paging() {
    current() = before_;
    for (const auto& [size, p] : kept_) Pages::get().give(p);
  }
  Paging(const Paging&) = delete;
  Paging& operator=(const Paging&) = delete;

  // The one of the thread, null outside.
  static Paging*& current() {
    static thread_local Paging* now = nullptr;
    return now;
  }

  void* take(size_t n) {
    n = Pages::whole(n);
    const auto fits = kept_.lower_bound(n);
    if (fits != kept_.end() && fits->first <= n + n / 4) {
      void* const p = fits->second;
      count(fits->first);
      spare_ -= fits->first;
      kept_.erase(fits);
      return p;
    }
    count(n);
    while (!kept_.empty() && used_ + spare_ > most_) {
      const auto largest = std::prev(kept_.end());
      spare_ -= largest->first;
      Pages::get().give(largest->second);
      kept_.erase(largest);
    }
    return Pages::get().take(n, false);
  }

  // give keeps pages for the next who asks.
  void give(void* p) {
    const size_t n = Pages::get().size(p);
    if (n == 0) return;
    used_ -= std::min(used_, n);  // it may be older
    spare_ += n;
    kept_.emplace(n, p);
  }

 private:
  void count(size_t n) {
    used_ += n;
    most_ = std::max(most_, used_);
  }

  Paging* const before_;
  std::multimap<size_t, void*> kept_;  // by size
  size_t used_ = 0, spare_ = 0, most_ = 0;
};

// A Room is memory of whole pages that grows and is used again, a block's say. It
// comes from libtorch's allocator where there are no pages.
class Room {
 public:
  Room() = default;
  ~Room() { release(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // of is memory of n bytes at least. What was there is lost where it grows.
  char* of(uint64_t n) {
    if (n > size_) {
      release(); // or both would be there at once
      pages_ = static_cast<char*>(Pages::get().take(n, true));
      if (pages_ == nullptr) heap_ = c10::GetCPUAllocator()->allocate(n);
      size_ = n;
    }
    return pages_ != nullptr ? pages_ : static_cast<char*>(heap_.get());
  }

  // pages is the memory where it is pages, null otherwise.
  char* pages() const { return pages_; }

  // abandon leaves the memory for good to somebody who has kept a part of it.
  void abandon() {
    pages_ = nullptr;
    release();
  }

 private:
  void release() {
    if (pages_ != nullptr) Pages::get().drop(pages_);
    pages_ = nullptr;
    heap_.clear();
    size_ = 0;
  }

  char* pages_ = nullptr;
  c10::DataPtr heap_;
  uint64_t size_ = 0;
};

// An Allocator is libtorch's for the CPU, with grants and whole pages before it.
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
    Grants* const g = n > 0 ? Grants::current() : nullptr;
    const bool watching = g != nullptr && g->watching();
    if (g != nullptr && !watching) {
      if (void* const p = g->take(n)) return {p, p, &end_grant, c10::Device(c10::kCPU)};
    }
    void* p = pages(n);
    if (p == nullptr && !watching) return before_->allocate(n);
    if (p == nullptr) p = before_->allocate(n).release_context();
    if (watching) g->note(p, n);
    return {p, p, &release, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t n) const override { default_copy_data(to, from, n); }

 private:
  explicit Allocator(c10::Allocator* before) : before_(before) {}

  static constexpr size_t kLarge = 64 << 10;

  // pages is fresh memory of whole pages for those who are to have it, null for others.
  static void* pages(size_t n) {
    if (n < kLarge) return nullptr;
    if (Paging* const now = Paging::current(); now != nullptr) return now->take(n);
    return lasting().load(std::memory_order_relaxed) > 0 ? Pages::get().take(n, false) : nullptr;
  }

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
    if (!Pages::get().holds(p)) return get()->before_->raw_deleter()(p);
    Paging* const now = Paging::current();
    now != nullptr ? now->give(p) : Pages::get().give(p);
  }

  c10::Allocator* const before_;
};

// allocate_lasting begins, with 1, and ends, with -1, the allocation of what lasts.
inline void allocate_lasting(int32_t by) noexcept { Allocator::lasting() += by; }

}  // namespace tfx
