// Memory beside C's heap: whole pages of a space of addresses that is set aside, for
// what lasts (packed weights) and for the blocks of plans. They go back to the system
// when they are given back, and leave no holes in the heap. Ranges that hold a huge page
// ask for huge ones: kernels stream through weights, and looking up the addresses of
// small pages takes a twentieth of a product's time, more in a virtual machine.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace tfx {

// Pages hands out ranges of the space. It is one for the process.
class Pages {
 public:
  static Pages& get() {
    static auto* const pages = new Pages;  // memory may be given back at the very end
    return *pages;
  }

  // take returns zeroed memory for n bytes, null where there is none left. Memory of
  // a block is given back by drop alone.
  void* take(size_t n, bool block) {
    if (base_ == nullptr || n > kSpace) return nullptr;
    n = whole(n);
    std::lock_guard<std::mutex> lock(mu_);
    for (auto i = free_.begin(); i != free_.end(); ++i) {
      const auto [start, size] = *i;
      const size_t before = n >= kHuge ? -reinterpret_cast<uintptr_t>(start) % kHuge : 0;
      if (size < before + n) continue;
      char* const at = start + before;
      if (mprotect(at, n, PROT_READ | PROT_WRITE) != 0) return nullptr;
      if (n >= kHuge) (void)madvise(at, n, MADV_HUGEPAGE);  // a system without them has small ones
      free_.erase(i);
      if (before > 0) free_.emplace(start, before);
      if (size > before + n) free_.emplace(at + n, size - before - n);
      taken_.emplace(at, Range{n, block});
      return at;
    }
    return nullptr;
  }

  // give takes memory back that is not a block's; of any other address it does nothing.
  void give(void* p) { back(p, false); }
  void drop(void* block) { back(block, true); }

  // size is that of memory that give would take back, 0 for any other address.
  size_t size(void* p) {
    std::lock_guard<std::mutex> lock(mu_);
    const auto at = taken_.find(static_cast<char*>(p));
    return at == taken_.end() || at->second.block ? 0 : at->second.size;
  }

  // whole is what n bytes take.
  static size_t whole(size_t n) { return (n + kPage - 1) / kPage * kPage; }

  bool holds(const void* p) const {
    return base_ != nullptr && static_cast<uintptr_t>(static_cast<const char*>(p) - base_) < kSpace;
  }

 private:
  static constexpr size_t kSpace = size_t{1} << 40, kPage = size_t{1} << 12, kHuge = size_t{1} << 21;

  struct Range {
    size_t size;
    bool block;
  };

  Pages() {
    void* const p = mmap(nullptr, kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return; // the process is limited: all memory comes from the heap
    base_ = static_cast<char*>(p);
    free_.emplace(base_, kSpace);
  }

  void back(void* p, bool block) {
    std::lock_guard<std::mutex> lock(mu_);
    const auto at = taken_.find(static_cast<char*>(p));
    if (at == taken_.end() || at->second.block != block) return;
    auto [start, range] = *at;
    size_t size = range.size;
    mmap(start, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    taken_.erase(at);
    auto next = free_.lower_bound(start);
    if (next != free_.end() && start + size == next->first) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == start) {
        before->second += size;
        return;
      }
    }
    free_.emplace(start, size);
  }

  char* base_ = nullptr;
  std::mutex mu_;
  std::map<char*, size_t> free_;  // by address
  std::map<char*, Range> taken_;
};

}  // namespace tfx
